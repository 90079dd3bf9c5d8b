"""Bilevel instances as the libraries exchange them: an MPS file and an auxiliary file beside it.

The MPS file (:mod:`ppsm.bilevel.files.mps`) holds the leader's objective and the columns and rows of both
levels; the auxiliary file says which of them are the follower's, and the follower's costs. Two forms of it
exist, both of the MibS solver. The **indexed** form is a list of keys with one value each:

====  =====================================================================================
N     number of lower-level columns
M     number of lower-level rows
LC    a lower-level column, counted from 0 in the order of the MPS file; N times
LR    a lower-level row, counted from 0 without the objective; M times
LO    a cost of the lower-level objective, the k-th for the column of the k-th LC; N times
OS    sense of the lower-level objective, 1 to minimise, -1 to maximise; usually the last line
IC    interdiction costs: another kind of game, refused here
IB    interdiction budget, likewise
====  =====================================================================================

The **named** form has a keyword with ``@`` on a line of its own. ``@NUMVARS`` and ``@NUMCONSTRS`` are
followed by the counts; ``@VARSBEGIN`` ... ``@VARSEND`` hold one column and its lower-level cost a line,
``@CONSTRSBEGIN`` ... ``@CONSTRSEND`` one row; ``@NAME``, ``@MPS`` and ``@LP`` are followed by names that are
not used here. The lower level always minimises. The spellings without the ``S`` (``@NUMCONSTR``,
``@CONSTRBEGIN``, ``@CONSTREND``) are in use, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ppsm.bilevel.files.lines import TextFile, number, read_text, whole_number
from ppsm.bilevel.files.mps import MpsModel, read_mps
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram

_SPELLINGS = {
    "@NUMCONSTR": "@NUMCONSTRS",
    "@CONSTRBEGIN": "@CONSTRSBEGIN",
    "@CONSTREND": "@CONSTRSEND",
}
_COUNTS = {"@NUMVARS": "N", "@NUMCONSTRS": "M"}
_LISTS = {"@VARSBEGIN": "@VARSEND", "@CONSTRSBEGIN": "@CONSTRSEND"}
_NAMES = ("@NAME", "@MPS", "@LP")


@dataclass(frozen=True)
class LowerLevel:
    """The follower's share of an MPS file: columns with their costs, and rows, by index."""

    columns: tuple[int, ...]
    costs: tuple[float, ...]
    rows: tuple[int, ...]
    maximise: bool


def read_bilevel(mps_path: str | Path, aux_path: str | Path) -> BilevelProgram:
    """Read a bilevel program from an MPS file (plain or gzipped) and its auxiliary file."""
    model = read_mps(mps_path)
    lower = read_aux(aux_path, model)
    integers = [model.column_names[column] for column in lower.columns if model.is_integer[column]]
    if integers:
        listed = ", ".join(f"'{name}'" for name in integers[:5]) + (", ..." if len(integers) > 5 else "")
        raise ModelError(
            f"{mps_path}: the lower-level columns {listed} are integer, and games with an integer follower, "
            "which has no prices, are not solved by ppsm: relax them, or use a solver for mixed-integer "
            "bilevel programs such as MibS."
        )
    return bilevel_program(model, lower)


def bilevel_program(model: MpsModel, lower: LowerLevel) -> BilevelProgram:
    """Split a model into leader and follower; costs turn their sign where a level maximises."""
    y, rows = np.array(lower.columns, dtype=np.int64), np.array(lower.rows, dtype=np.int64)
    x = np.setdiff1d(np.arange(len(model.column_names)), y)
    others = np.setdiff1d(np.arange(len(model.row_names)), rows)
    leader_sign = -1.0 if model.maximise else 1.0
    follower_sign = -1.0 if lower.maximise else 1.0
    follower = LinearProgram.from_arrays(
        cost=follower_sign * np.array(lower.costs) + 0.0,
        matrix=model.matrix[rows][:, y],
        row_lower=model.row_lower[rows],
        row_upper=model.row_upper[rows],
        column_lower=model.column_lower[y],
        column_upper=model.column_upper[y],
        row_names=[model.row_names[row] for row in rows],
        column_names=[model.column_names[column] for column in y],
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        # Adding zero turns the minus zeros of a sign change back.
        leader_cost=leader_sign * model.cost[x] + 0.0,
        response_cost=leader_sign * model.cost[y] + 0.0,
        offset=leader_sign * model.offset + 0.0,
        variable_lower=model.column_lower[x],
        variable_upper=model.column_upper[x],
        is_integer=model.is_integer[x],
        variable_names=[model.column_names[column] for column in x],
        leader_matrix=model.matrix[others][:, x],
        response_matrix=model.matrix[others][:, y],
        leader_lower=model.row_lower[others],
        leader_upper=model.row_upper[others],
        leader_row_names=[model.row_names[row] for row in others],
        coupling=model.matrix[rows][:, x],
        leader_sign=leader_sign,
        follower_sign=follower_sign,
    )


def read_aux(path: str | Path, model: MpsModel) -> LowerLevel:
    """Read an auxiliary file of either form and check it against the model of its MPS file."""
    source = read_text(path, "an auxiliary file of a bilevel instance")
    first = next(line.strip() for line in source.lines if line.strip())
    collected = _Collected(source, model)
    if first.startswith("@"):
        _read_named(source, collected)
    else:
        _refuse_interdiction(source)
        _read_indexed(source, collected)
    return collected.result()


@dataclass
class _Collected:
    """What has been read so far."""

    source: TextFile
    model: MpsModel
    counts: dict[str, int] = field(default_factory=dict)
    columns: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    sense: float | None = None

    def count(self, line: int, key: str, word: str, said: str) -> None:
        value = whole_number(word)
        if value is None or value < 0:
            raise self.source.problem(line, f"found '{word}' after {said}; expected a count, 0 or more.")
        if key in self.counts:
            raise self.source.problem(line, f"{said} appears a second time; expected it once: delete one.")
        self.counts[key] = value

    def index(self, line: int, key: str, word: str) -> None:
        what, names = ("column", self.model.column_names) if key == "LC" else ("row", self.model.row_names)
        value = whole_number(word)
        if value is None or not 0 <= value < len(names):
            raise self.source.problem(
                line,
                f"found {key} '{word}'; expected a {what}'s index from 0 to {len(names) - 1}, "
                "as counted in the MPS file without the objective.",
            )
        self.member(line, key, value)

    def member(self, line: int, key: str, value: int) -> None:
        members, what, names = (
            (self.columns, "column", self.model.column_names)
            if key == "LC"
            else (self.rows, "row", self.model.row_names)
        )
        if value in members:
            raise self.source.problem(
                line, f"{what} '{names[value]}' is listed a second time; expected it once: delete one."
            )
        members.append(value)

    def cost(self, line: int, word: str, what: str) -> None:
        value = number(word)
        if value is None:
            raise self.source.problem(line, f"found '{word}' as {what}; expected a finite number.")
        self.costs.append(value)

    def objective_sense(self, line: int, word: str) -> None:
        value = number(word)
        if value not in (1.0, -1.0):
            raise self.source.problem(line, f"found OS '{word}'; expected 1 (minimise) or -1 (maximise).")
        if self.sense is not None:
            raise self.source.problem(line, "OS appears a second time; expected it once: delete one.")
        self.sense = value

    def result(self) -> LowerLevel:
        for key, said, listed, what in (
            ("N", "N or @NUMVARS", len(self.columns), "lower-level columns"),
            ("M", "M or @NUMCONSTRS", len(self.rows), "lower-level rows"),
            ("N", "N or @NUMVARS", len(self.costs), "lower-level costs (LO)"),
        ):
            if key not in self.counts:
                raise self.source.problem(
                    None,
                    f"the number of {what} is missing; expected a line {said}: the file may be cut short.",
                )
            if self.counts[key] != listed:
                raise self.source.problem(
                    None,
                    f"found {listed} {what} where {said} announces {self.counts[key]}; "
                    "expected as many: mend the count or the list.",
                )
        if not self.columns:
            raise self.source.problem(None, "the lower level has no columns; expected at least one.")
        return LowerLevel(tuple(self.columns), tuple(self.costs), tuple(self.rows), self.sense == -1.0)


def _refuse_interdiction(source: TextFile) -> None:
    """Before anything else is read: in this form counts and indices have another meaning."""
    for line, text in enumerate(source.lines, start=1):
        for key in {"IC", "IB"}.intersection(text.split()):
            raise source.problem(
                line,
                f"found the key {key} of an interdiction game, whose MPS file holds the follower alone, and "
                "games in this form are not solved by ppsm: write the leader's columns, the rows in which "
                "they switch off the follower's, and the budget into the MPS file.",
            )


def _read_indexed(source: TextFile, collected: _Collected) -> None:
    words = ((line, word) for line, text in enumerate(source.lines, start=1) for word in text.split())
    for line, key in words:
        if key not in ("N", "M", "LC", "LR", "LO", "OS"):
            raise source.problem(line, f"found the key '{key[:40]}'; expected one of N M LC LR LO OS.")
        value = next(words, None)
        if value is None:
            raise source.problem(line, f"the file ends after {key}; expected a value: the file is cut short.")
        _take(collected, value[0], key, value[1])
    # Without this demand a file cut short before its last line would silently minimise.
    if collected.sense is None:
        raise source.problem(
            None, "the objective sense OS is missing; expected OS 1 or OS -1: the file may be cut short."
        )


def _take(collected: _Collected, line: int, key: str, word: str) -> None:
    if key in ("N", "M"):
        collected.count(line, key, word, key)
    elif key in ("LC", "LR"):
        collected.index(line, key, word)
    elif key == "LO":
        collected.cost(line, word, "a lower-level cost (LO)")
    else:
        collected.objective_sense(line, word)


def _read_named(source: TextFile, collected: _Collected) -> None:
    lines = ((line, text.strip()) for line, text in enumerate(source.lines, start=1) if text.strip())
    seen: set[str] = set()
    for line, text in lines:
        words = text.split(maxsplit=1)
        keyword = _SPELLINGS.get(words[0].upper(), words[0].upper())
        if keyword in seen:
            raise source.problem(line, f"{keyword} appears a second time; expected it once: delete one.")
        seen.add(keyword)
        if keyword in _LISTS:
            if len(words) > 1:
                raise source.problem(
                    line, f"found '{words[1][:40]}' after {keyword}; expected it on the next line."
                )
            _read_list(source, collected, keyword, line, lines)
        elif keyword in _COUNTS:
            at, word = (line, words[1]) if len(words) > 1 else _following(source, line, keyword, lines)
            collected.count(at, _COUNTS[keyword], word, keyword)
        elif keyword in _NAMES:
            if len(words) == 1:
                _following(source, line, keyword, lines)
        else:
            known = " ".join((*_COUNTS, *_LISTS, *_LISTS.values(), *_NAMES))
            raise source.problem(line, f"found '{words[0][:40]}'; expected one of {known}.")
    for keyword in _LISTS:
        if keyword not in seen:
            raise source.problem(
                None, f"{keyword} is missing; expected that list: the file may be cut short."
            )


def _following(
    source: TextFile, line: int, keyword: str, lines: Iterator[tuple[int, str]]
) -> tuple[int, str]:
    value = next(lines, None)
    if value is None or value[1].startswith("@"):
        raise source.problem(line, f"nothing follows {keyword}; expected its value on the next line.")
    return value


def _read_list(
    source: TextFile, collected: _Collected, keyword: str, start: int, lines: Iterator[tuple[int, str]]
) -> None:
    end = _LISTS[keyword]
    columns = _positions(collected.model.column_names)
    rows = _positions(collected.model.row_names)
    for line, text in lines:
        if _SPELLINGS.get(text.upper(), text.upper()) == end:
            return
        if keyword == "@CONSTRSBEGIN":
            collected.member(line, "LR", _found(source, line, text, rows, "row"))
            continue
        # A name in a fixed MPS file may hold blanks, a number never does.
        parts = text.rsplit(maxsplit=1)
        if len(parts) != 2:
            raise source.problem(
                line, f"found '{text[:40]}' alone; expected a column's name and its lower-level cost."
            )
        collected.member(line, "LC", _found(source, line, parts[0], columns, "column"))
        collected.cost(line, parts[1], f"the lower-level cost of column '{parts[0]}'")
    raise source.problem(start, f"{keyword} is not closed; expected {end}: the file is cut short.")


def _positions(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: index for index, name in enumerate(names)}


def _found(source: TextFile, line: int, name: str, positions: Mapping[str, int], what: str) -> int:
    if name not in positions:
        raise source.problem(
            line, f"{what} '{name[:60]}' is not in the MPS file; expected one of its {what}s' names."
        )
    return positions[name]
