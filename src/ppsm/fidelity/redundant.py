"""Bounds that a follower's rows say already: they are taken away before any search.

Along a pipe pressure falls, so that where the first junction may have at most 60 bar no other one needs a
limit of 60 bar; what leaves a junction cannot be negative if nothing that arrives there is. A multiplier of
such a bound can as well be one of the rows and bounds that it follows from, and duals that say the same in
many ways are what a search over sides drowns in. Prices stay as they are as long as the parameter enters none
of these rows; so only rows without it are looked at.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from ppsm.arrays import INFINITY, BoolArray, SparseMatrix
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram

# A bound of a column: (column, whether it is the upper one).
Bound = tuple[int, bool]


def without_redundant_bounds(program: LinearProgram, parameter_map: SparseMatrix) -> LinearProgram:
    """The same program without bounds of columns that follow from what is left."""
    lengths = np.diff(program.matrix.indptr)
    usable = (np.diff(parameter_map.indptr) == 0) & (lengths > 1) & (lengths <= TUNING.longest_forcing_row)
    taken = _Taken(program)
    for row in np.flatnonzero(usable & _may_imply(program)).tolist():
        for sign in (1.0, -1.0):
            taken.look_at(row, sign)
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    for column, is_upper in taken.rests_on:
        (upper if is_upper else lower)[column] = INFINITY if is_upper else -INFINITY
    return replace(program, column_lower=lower, column_upper=upper)


def _may_imply(program: LinearProgram) -> BoolArray:
    """The rows in which, on one side, at most one column is without a bound."""
    matrix = program.matrix.tocoo()
    found = np.zeros(program.shape[0], dtype=np.bool_)
    for sign, needed in ((1.0, program.row_lower), (-1.0, -program.row_upper)):
        best = np.where(
            sign * matrix.data > 0, program.column_upper[matrix.col], program.column_lower[matrix.col]
        )
        is_open = np.bincount(matrix.row, ~np.isfinite(best), program.shape[0])
        found |= (is_open <= 1) & np.isfinite(needed)
    return found


@dataclass(eq=False)
class _Taken:
    """The bounds that were taken away, each with the bounds that it follows from, never in a circle."""

    program: LinearProgram
    rests_on: dict[Bound, list[Bound]] = field(default_factory=dict)
    _supports: defaultdict[Bound, list[Bound]] = field(default_factory=lambda: defaultdict(list))

    def look_at(self, row: int, sign: float) -> None:
        """Take away what follows from ``sign`` times a row being at least its lower end."""
        program = self.program
        needed = float(program.row_lower[row] if sign > 0 else -program.row_upper[row])
        start, end = program.matrix.indptr[row], program.matrix.indptr[row + 1]
        columns, factors = program.matrix.indices[start:end], sign * program.matrix.data[start:end]
        if not np.isfinite(needed):
            return
        bounds = [(int(column), bool(factor > 0)) for column, factor in zip(columns, factors, strict=True)]
        most = factors * np.array([self._value(bound) for bound in bounds])
        for k in range(columns.size):
            # factor x >= needed - what the others are at most
            others = float(np.delete(most, k).sum())
            asked = (int(columns[k]), bool(factors[k] < 0))
            own = self._value(asked)
            if np.isfinite(others) and np.isfinite(own) and needed - others >= factors[k] * own:
                self._take(asked, [bound for at, bound in enumerate(bounds) if at != k])

    def _value(self, bound: Bound) -> float:
        column, is_upper = bound
        return float((self.program.column_upper if is_upper else self.program.column_lower)[column])

    def _take(self, bound: Bound, follows_from: list[Bound]) -> None:
        column = bound[0]
        is_fixed = self.program.column_lower[column] == self.program.column_upper[column]
        if bound in self.rests_on or is_fixed or self._rest_on(follows_from, bound):
            return
        self.rests_on[bound] = follows_from
        for one in follows_from:
            self._supports[one].append(bound)

    def _rest_on(self, bounds: list[Bound], on: Bound) -> bool:
        """Whether one of these bounds follows from another, perhaps by several steps."""
        if on not in self._supports:
            return on in bounds
        seen, left = set(bounds), list(bounds)
        while left:
            one = left.pop()
            if one == on:
                return True
            new = [other for other in self.rests_on.get(one, ()) if other not in seen]
            seen.update(new)
            left += new
        return False
