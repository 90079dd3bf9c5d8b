"""The MPS format, fixed and free: a mixed-integer linear program as a text file.

Conventions where readers of this old format differ, and what is done here:

* Section names start in the first column, data lines with a blank; case of section names does not matter.
* The first ``N`` row is the objective, further ``N`` rows are dropped with their entries.
* The right-hand side of the objective row is the **negative** of the objective's constant.
* An integer column (between the markers ``INTORG`` and ``INTEND``) without any bound line lies in [0, 1];
  with one, the other side keeps the continuous default, 0 or infinity (as in HiGHS and COIN-OR).
* A negative ``UP`` bound without a lower one is refused: some readers take the lower bound 0 (an
  infeasible column), others minus infinity, and guessing would change the optimum.
* Bounds and right-hand sides of 1e20 and more are infinite.
* Repeated entries, a second bound for the same side and second right-hand-side vectors are refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITE_FROM, INFINITY, BoolArray, FloatArray, SparseMatrix
from ppsm.bilevel.files.lines import MpsLine, TextFile, fixed_lines, free_lines, number, read_text
from ppsm.errors import FileFormatError

_MUST_FOLLOW = {"COLUMNS": "ROWS", "RHS": "COLUMNS", "RANGES": "COLUMNS", "BOUNDS": "COLUMNS"}
_SENSES = {
    **dict.fromkeys(("MAX", "MAXIMIZE", "MAXIMISE", "MAXIMUM"), True),
    **dict.fromkeys(("MIN", "MINIMIZE", "MINIMISE", "MINIMUM"), False),
}
_WITH_VALUE = ("UP", "LO", "FX", "UI", "LI")
_WITHOUT_VALUE = ("FR", "MI", "PL", "BV")
_SEMICONTINUOUS = ("SC", "SI")


@dataclass(frozen=True, eq=False)
class MpsModel:
    """What an MPS file says: optimise ``cost' x + offset`` over rows and columns with lower and upper bounds.

    Rows and columns stand in the order of the file, the objective and other ``N`` rows left out.
    """

    name: str
    maximise: bool
    cost: FloatArray
    offset: float
    matrix: SparseMatrix
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    is_integer: BoolArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]


def read_mps(path: str | Path) -> MpsModel:
    """Read a fixed or free MPS file, plain or gzipped.

    The free form is tried first; it reads every fixed file except those with blanks inside names.
    """
    source = read_text(path, "a model in MPS format")
    try:
        return _Reader(source, free_lines(source)).model()
    except FileFormatError as problem:
        try:
            model = _Reader(source, fixed_lines(source)).model()
        except FileFormatError:
            raise problem from None
        # Without a blank in a name both forms say the same, so that the first objection stands.
        if not any(" " in name for name in (*model.row_names, *model.column_names)):
            raise
        return model


class _Reader:
    """Collects the sections of one file; every method that reads takes the line it complains about."""

    def __init__(self, source: TextFile, lines: Iterator[MpsLine]) -> None:
        self._source = source
        self._lines = lines
        self._name = ""
        self._maximise: bool | None = None
        self._objective: str | None = None
        self._dropped: set[str] = set()
        self._rows: dict[str, int] = {}
        self._row_types: list[str] = []
        self._columns: dict[str, int] = {}
        self._entries: dict[tuple[int, int], float] = {}
        self._costs: dict[int, float] = {}
        self._in_column: set[str] = set()
        self._in_marker = False
        self._right: dict[str, float] = {}
        self._ranges: dict[str, float] = {}
        self._vectors: dict[str, str] = {}
        self._bounds = _Bounds(source)

    def model(self) -> MpsModel:
        """Read all sections and put the model together."""
        self._read_sections()
        lower, upper = self._row_bounds()
        column_lower, column_upper, integer = self._bounds.arrays(tuple(self._columns))
        pairs = np.array(list(self._entries), dtype=np.int64).reshape(-1, 2)
        values = np.array(list(self._entries.values()), dtype=np.float64)
        shape = (len(self._rows), len(self._columns))
        matrix: SparseMatrix = sp.csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=shape)
        cost = np.zeros(len(self._columns))
        for column, value in self._costs.items():
            cost[column] = value
        for array in (cost, lower, upper, column_lower, column_upper, integer):
            array.setflags(write=False)
        return MpsModel(
            name=self._name,
            maximise=bool(self._maximise),
            cost=cost,
            # Zero minus, lest an absent constant become minus zero.
            offset=0.0 - self._right.get(self._objective or "", 0.0),
            matrix=matrix,
            row_lower=lower,
            row_upper=upper,
            column_lower=column_lower,
            column_upper=column_upper,
            is_integer=integer,
            row_names=tuple(self._rows),
            column_names=tuple(self._columns),
        )

    def _read_sections(self) -> None:
        seen: list[str] = []
        for line in self._lines:
            if line.is_header:
                self._open_section(line, seen)
                if line.section == "ENDATA":
                    self._check_complete(line, seen)
                    return
            else:
                self._read_data(line)
        raise self._source.problem(
            None,
            "the file ends without ENDATA; expected that line last: the file is cut short, fetch it again.",
        )

    def _open_section(self, line: MpsLine, seen: list[str]) -> None:
        section = line.section
        if section in seen:
            raise line.wrong(f"section {section} appears a second time; expected it once: merge the two.")
        before = _MUST_FOLLOW.get(section)
        if before is not None and before not in seen:
            raise line.wrong(f"section {section} comes before {before}; expected it after: reorder them.")
        if section in ("NAME", "ROWS") and any(other not in ("NAME", "OBJSENSE") for other in seen):
            raise line.wrong(f"section {section} comes after {seen[-1]}; expected it first: reorder them.")
        seen.append(section)
        if section == "NAME":
            self._name = " ".join(line.words)
        elif section == "OBJSENSE":
            if line.words:
                self._read_sense(line)
        elif line.words:
            raise line.wrong(
                f"found '{line.words[0]}' on the line of section {section}; expected nothing there: "
                "start data lines with a blank.",
            )

    def _read_data(self, line: MpsLine) -> None:
        readers = {
            "OBJSENSE": self._read_sense,
            "ROWS": self._read_row,
            "COLUMNS": self._read_column,
            "RHS": self._read_right,
            "RANGES": self._read_range,
            "BOUNDS": self._read_bound,
        }
        reader = readers.get(line.section)
        if reader is None:
            where = f"in section {line.section}" if line.section else "before the first section"
            raise line.wrong(f"found data {where}; expected a section name in the first column.")
        reader(line)

    def _read_sense(self, line: MpsLine) -> None:
        word = " ".join(line.words)
        sense = _SENSES.get(word.upper())
        if sense is None:
            raise line.wrong(f"found the objective sense '{word}'; expected MIN or MAX.")
        if self._maximise is not None:
            raise line.wrong(f"found a second objective sense '{word}'; expected one: delete the other.")
        self._maximise = sense

    def _read_row(self, line: MpsLine) -> None:
        if len(line.words) != 2:
            raise line.wrong(
                f"found {len(line.words)} words in section ROWS; expected two, the row's type and its name.",
            )
        kind, name = line.words[0].upper(), line.words[1]
        if kind not in ("N", "L", "G", "E"):
            raise line.wrong(f"row '{name}' has type '{line.words[0]}'; expected N, L, G or E.")
        if name == self._objective or name in self._dropped or name in self._rows:
            raise line.wrong(f"row '{name}' appears a second time; expected names to differ: rename one.")
        if kind != "N":
            self._rows[name] = len(self._rows)
            self._row_types.append(kind)
        elif self._objective is None:
            self._objective = name
        else:
            self._dropped.add(name)

    def _read_column(self, line: MpsLine) -> None:
        if line.is_marker:
            self._in_marker = line.words[-1].strip("'\"").upper() == "INTORG"
            return
        if len(line.words) < 3 or len(line.words) % 2 == 0:
            raise line.wrong(
                f"found {len(line.words)} words in section COLUMNS; "
                "expected a column's name and one or two pairs of row and number.",
            )
        name = line.words[0]
        if name not in self._columns:
            self._columns[name] = len(self._columns)
            self._bounds.add_column(integer=self._in_marker)
            self._in_column = set()
        elif self._columns[name] != len(self._columns) - 1:
            raise line.wrong(
                f"column '{name}' appears again after another one; expected its lines together: move them.",
            )
        for row, value in self._pairs(line, line.words[1:], infinite=False):
            self._enter(line, row, self._columns[name], value)

    def _enter(self, line: MpsLine, row: str, column: int, value: float) -> None:
        if row in self._in_column:
            name = next(reversed(self._columns))
            raise line.wrong(f"column '{name}' has a second entry in row '{row}'; expected one: delete one.")
        self._in_column.add(row)
        if row == self._objective:
            self._costs[column] = value
        elif row in self._rows:
            self._entries[self._rows[row], column] = value

    def _read_right(self, line: MpsLine) -> None:
        for row, value in self._pairs(line, self._vector(line), infinite=True):
            if row in self._right:
                raise line.wrong(f"row '{row}' has a second right-hand side; expected one: delete one.")
            if row == self._objective and abs(value) == INFINITY:
                raise line.wrong(f"the objective's constant is {value}; expected a finite number.")
            self._right[row] = value

    def _read_range(self, line: MpsLine) -> None:
        for row, value in self._pairs(line, self._vector(line), infinite=False):
            if row in self._ranges:
                raise line.wrong(f"row '{row}' has a second range; expected one: delete one.")
            self._ranges[row] = value

    def _read_bound(self, line: MpsLine) -> None:
        self._bounds.read(line, self._columns, self._vectors)

    def _vector(self, line: MpsLine) -> tuple[str, ...]:
        """Drop the vector's optional name, after checking that the section has only one vector."""
        if len(line.words) % 2 == 0:
            return line.words
        name = line.words[0]
        if self._vectors.setdefault(line.section, name) != name:
            raise line.wrong(
                f"section {line.section} holds a second vector '{name}' besides "
                f"'{self._vectors[line.section]}'; expected one: delete the other.",
            )
        return line.words[1:]

    def _pairs(self, line: MpsLine, words: tuple[str, ...], *, infinite: bool) -> Iterator[tuple[str, float]]:
        if not words:
            raise line.wrong(f"section {line.section} has a line without entries; expected row and number.")
        for row, word in zip(words[::2], words[1::2], strict=True):
            if row != self._objective and row not in self._rows and row not in self._dropped:
                raise line.wrong(f"row '{row}' is not in section ROWS; expected a row named there.")
            value = number(word, infinite=infinite)
            if value is None:
                raise line.wrong(f"found '{word}' for row '{row}'; expected a finite number.")
            yield (
                row,
                float(np.copysign(INFINITY, value)) if infinite and abs(value) >= INFINITE_FROM else value,
            )

    def _check_complete(self, line: MpsLine, seen: list[str]) -> None:
        for section in ("ROWS", "COLUMNS"):
            if section not in seen:
                raise line.wrong(f"the file has no section {section}; expected one before ENDATA.")
        if self._objective is None:
            raise line.wrong("section ROWS has no row of type N; expected the objective there.")
        if not self._columns:
            raise line.wrong("section COLUMNS is empty; expected at least one column.")
        if "OBJSENSE" in seen and self._maximise is None:
            raise line.wrong("section OBJSENSE is empty; expected MIN or MAX.")

    def _row_bounds(self) -> tuple[FloatArray, FloatArray]:
        lower = np.full(len(self._rows), -INFINITY)
        upper = np.full(len(self._rows), INFINITY)
        for (name, index), kind in zip(self._rows.items(), self._row_types, strict=True):
            right = self._right.get(name, 0.0)
            if right == {"L": -INFINITY, "G": INFINITY}.get(kind) or (kind == "E" and abs(right) == INFINITY):
                raise self._source.problem(
                    None,
                    f"row '{name}' of type {kind} has the right-hand side {right}; expected a finite number.",
                )
            lower[index], upper[index] = _interval(kind, right, self._ranges.get(name))
        return lower, upper


def _interval(kind: str, right: float, spread: float | None) -> tuple[float, float]:
    """Return a row's lower and upper bound; the sign of a range matters only on equalities."""
    if spread is None:
        return (-INFINITY if kind == "L" else right), (INFINITY if kind == "G" else right)
    if kind == "L":
        return right - abs(spread), right
    if kind == "G":
        return right, right + abs(spread)
    return (right, right + spread) if spread >= 0 else (right + spread, right)


class _Bounds:
    """Lower and upper bound of each column, None as long as no line sets it."""

    def __init__(self, source: TextFile) -> None:
        self._source = source
        self._lower: list[float | None] = []
        self._upper: list[float | None] = []
        self._integer: list[bool] = []

    def add_column(self, *, integer: bool) -> None:
        """Add a column, continuous or between the integer markers."""
        self._lower.append(None)
        self._upper.append(None)
        self._integer.append(integer)

    def read(self, line: MpsLine, columns: Mapping[str, int], vectors: dict[str, str]) -> None:
        """Read one line of the section; ``vectors`` remembers the name of its bound vector."""
        kind = line.words[0].upper()
        if kind in _SEMICONTINUOUS:
            raise line.wrong(
                f"found the semi-continuous bound {kind}; expected a linear program: use a binary column.",
            )
        if kind not in _WITH_VALUE + _WITHOUT_VALUE:
            known = " ".join(_WITH_VALUE + _WITHOUT_VALUE)
            raise line.wrong(f"found the bound type '{line.words[0]}'; expected one of {known}.")
        vector, name, word = _split(line.words[1:], kind in _WITH_VALUE, columns)
        if name is None or (kind in _WITH_VALUE and word is None):
            form = "type, bound vector, column" + (" and number" if kind in _WITH_VALUE else "")
            raise line.wrong(f"found {len(line.words)} words for a bound {kind}; expected {form}.")
        if name not in columns:
            raise line.wrong(f"column '{name}' is not in section COLUMNS; expected a column named there.")
        if vector is not None and vectors.setdefault("BOUNDS", vector) != vector:
            raise line.wrong(
                f"section BOUNDS holds a second vector '{vector}' besides '{vectors['BOUNDS']}'; "
                "expected one: delete the other.",
            )
        self._set(line, kind, columns[name], name, self._value(line, kind, name, word))

    def _value(self, line: MpsLine, kind: str, name: str, word: str | None) -> float:
        if kind not in _WITH_VALUE:
            return 0.0
        value = number(word or "", infinite=True)
        if value is None:
            raise line.wrong(f"found the bound '{word}' of column '{name}'; expected a number.")
        if abs(value) < INFINITE_FROM:
            return value
        impossible = {"UP": -1.0, "UI": -1.0, "LO": 1.0, "LI": 1.0}.get(kind)
        if kind == "FX" or np.sign(value) == impossible:
            raise line.wrong(f"column '{name}' has the bound {kind} {word}; expected a finite number.")
        return float(np.copysign(INFINITY, value))

    def _set(self, line: MpsLine, kind: str, column: int, name: str, value: float) -> None:
        sides = {
            "UP": (None, value),
            "UI": (None, value),
            "LO": (value, None),
            "LI": (value, None),
            "FX": (value, value),
            "FR": (-INFINITY, INFINITY),
            "MI": (-INFINITY, None),
            "PL": (None, INFINITY),
            "BV": (0.0, 1.0),
        }[kind]
        for side, stored, label in zip(sides, (self._lower, self._upper), ("lower", "upper"), strict=True):
            if side is None:
                continue
            if stored[column] is not None:
                raise line.wrong(
                    f"column '{name}' has a second {label} bound ({kind}); expected one: delete one."
                )
            stored[column] = side
        if kind in ("BV", "LI", "UI"):
            self._integer[column] = True

    def arrays(self, names: tuple[str, ...]) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Fill in the defaults and return lower bounds, upper bounds and which columns are integer."""
        lower = np.zeros(len(names))
        upper = np.full(len(names), INFINITY)
        for column, name in enumerate(names):
            low, high = self._lower[column], self._upper[column]
            if low is None and high is None and self._integer[column]:
                high = 1.0
            if low is None and high is not None and high < 0:
                raise self._source.problem(
                    None,
                    f"column '{name}' has the upper bound {high:g} and no lower one, which some readers take "
                    "as 0 and others as minus infinity; expected both: add a bound LO or MI.",
                )
            lower[column] = 0.0 if low is None else low
            upper[column] = INFINITY if high is None else high
            if lower[column] > upper[column]:
                raise self._source.problem(
                    None,
                    f"column '{name}' has the lower bound {lower[column]:g} above the upper bound "
                    f"{upper[column]:g}; expected lower <= upper: mend the BOUNDS section.",
                )
        return lower, upper, np.array(self._integer, dtype=np.bool_)


def _split(
    words: tuple[str, ...], has_value: bool, columns: Mapping[str, int]
) -> tuple[str | None, str | None, str | None]:
    """Tell apart bound vector, column and number; the vector's name may be missing."""
    if len(words) == 3:
        return words[0], words[1], words[2]
    if len(words) == 2 and has_value:
        return None, words[0], words[1]
    if len(words) == 2:
        # "BV vector column" or, without a vector, "BV column 1".
        return (None, words[0], None) if words[1] not in columns and words[0] in columns else (*words, None)
    if len(words) == 1 and not has_value:
        return None, words[0], None
    return None, None, None
