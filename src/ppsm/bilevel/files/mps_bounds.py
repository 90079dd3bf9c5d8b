"""The BOUNDS section of an MPS file and the bounds of columns that it does not mention."""

from collections.abc import Mapping

import numpy as np

from ppsm.arrays import INFINITE_FROM, INFINITY, BoolArray, FloatArray
from ppsm.bilevel.files.mps_lines import MpsLine
from ppsm.bilevel.files.text_file import TextFile, number
from ppsm.errors import FileFormatError

_WITH_VALUE = ("UP", "LO", "FX", "UI", "LI")
_WITHOUT_VALUE = ("FR", "MI", "PL", "BV")
_SEMICONTINUOUS = ("SC", "SI")


class Bounds:
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
            raise self._wrong(
                line,
                f"found the semi-continuous bound {kind}; expected a linear program: use a binary column.",
            )
        if kind not in _WITH_VALUE + _WITHOUT_VALUE:
            known = " ".join(_WITH_VALUE + _WITHOUT_VALUE)
            raise self._wrong(line, f"found the bound type '{line.words[0]}'; expected one of {known}.")
        vector, name, word = _split(line.words[1:], kind in _WITH_VALUE, columns)
        if name is None or (kind in _WITH_VALUE and word is None):
            form = "type, bound vector, column" + (" and number" if kind in _WITH_VALUE else "")
            raise self._wrong(line, f"found {len(line.words)} words for a bound {kind}; expected {form}.")
        if name not in columns:
            raise self._wrong(
                line, f"column '{name}' is not in section COLUMNS; expected a column named there."
            )
        if vector is not None and vectors.setdefault("BOUNDS", vector) != vector:
            raise self._wrong(
                line,
                f"section BOUNDS holds a second vector '{vector}' besides '{vectors['BOUNDS']}'; "
                "expected one: delete the other.",
            )
        self._set(line, kind, columns[name], name, self._value(line, kind, name, word))

    def _value(self, line: MpsLine, kind: str, name: str, word: str | None) -> float:
        if kind not in _WITH_VALUE:
            return 0.0
        value = number(word or "", infinite=True)
        if value is None:
            raise self._wrong(line, f"found the bound '{word}' of column '{name}'; expected a number.")
        if abs(value) < INFINITE_FROM:
            return value
        impossible = {"UP": -1.0, "UI": -1.0, "LO": 1.0, "LI": 1.0}.get(kind)
        if kind == "FX" or np.sign(value) == impossible:
            raise self._wrong(line, f"column '{name}' has the bound {kind} {word}; expected a finite number.")
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
                raise self._wrong(
                    line, f"column '{name}' has a second {label} bound ({kind}); expected one: delete one."
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

    def _wrong(self, line: MpsLine, sentence: str) -> FileFormatError:
        return self._source.problem(line.number, sentence)


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
