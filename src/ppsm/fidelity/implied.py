"""What deciding one side decides with it: what a follower's rows and columns say before any search.

A multiplier is zero, or positive and then its side is tight. Both have consequences, and a search that
decides one side at a time would come upon them only after having split everything that is in series.

* *Rows.* A pipe behind a junction where nobody takes anything is empty where the pipe before it is: where the
  largest value that a row can take is the least that it must have, every column in it is at a bound.
* *Columns.* Along a way of falling pressures one multiplier is handed on from pipe to pipe: where
  stationarity of a column leaves a positive multiplier a single counterpart, that is positive as well, and
  where it leaves multipliers none at all they are zero.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from ppsm.arrays import IntArray
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING

# Positions of the sides that a node has decided.
Decided = tuple[int, ...]


class ImpliedSides:
    """What follows from a side's being tight, and from its multiplier's being positive or zero."""

    def __init__(self, core: Core) -> None:
        follower = core.follower
        pairs = [_forced_pairs(core, sign) for sign in (1.0, -1.0)]
        source, target = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        bounds = 2 * follower.program.shape[1]
        self._forces = sp.csr_array((np.ones(source.size), (source, target)), shape=(bounds, bounds))
        # From sides to bounds of columns and back; rows have none, and redundant bounds no side.
        self._bound_of = np.full(follower.sides.count, -1, dtype=np.int64)
        self._side_of = np.full(bounds, -1, dtype=np.int64)
        sides = follower.column_sides
        self._bound_of[sides] = 2 * follower.sides.index[sides] + (follower.sides.sign[sides] < 0)
        self._side_of[self._bound_of[sides]] = sides
        self._columns_of, self._sides_of = follower.stationarity, follower.stationarity.tocsr()
        self._cost, self._is_free, self._twin = (
            follower.program.cost,
            follower.sides.is_free,
            follower.sides.twin,
        )

    def tight_with(self, side: int) -> list[int]:
        """A side and all that are tight where it is."""
        bound = int(self._bound_of[side])
        if bound < 0 or self._forces.indptr[bound] == self._forces.indptr[bound + 1]:
            return [side]
        found = self._side_of[breadth_first_order(self._forces, bound, return_predecessors=False)]
        return [int(one) for one in found if one >= 0]

    def if_positive(self, tight: Decided, zero: Decided, side: int) -> tuple[Decided, Decided]:
        """What is tight and zero once a multiplier is positive."""
        return self._followed(tight, zero, [(side, True)])

    def if_zero(self, zero: Decided, side: int) -> Decided:
        """What is zero once a multiplier is."""
        return self._followed((), zero, [(side, False)])[1]

    def _followed(
        self, tight: Decided, zero: Decided, news: list[tuple[int, bool]]
    ) -> tuple[Decided, Decided]:
        """Follow news of sides, positive or zero, from column to column."""
        # As dictionaries, which keep their order: what is decided first stays first.
        all_tight, all_zero, positive = dict.fromkeys(tight), dict.fromkeys(zero), set[int]()
        while news:
            side, is_positive = news.pop()
            if side in (positive if is_positive else all_zero):
                continue
            if is_positive:
                positive.add(side)
                for forced in self.tight_with(side):
                    all_tight[forced] = None
                    if self._twin[forced] >= 0:
                        news.append((int(self._twin[forced]), False))
            else:
                all_zero[side] = None
            start, end = self._columns_of.indptr[side : side + 2]
            for column in self._columns_of.indices[start:end].tolist():
                news += self._news_of(column, positive, all_zero)
        return tuple(all_tight), tuple(all_zero)

    def _news_of(self, column: int, positive: set[int], zero: dict[int, None]) -> list[tuple[int, bool]]:
        """What stationarity of a column says of its sides: they add up to its cost."""
        start, end = self._sides_of.indptr[column : column + 2]
        sides = self._sides_of.indices[start:end].tolist()
        if end - start > TUNING.longest_forcing_row or self._is_free[sides].any():
            return []
        left = [
            (side, a)
            for side, a in zip(sides, self._sides_of.data[start:end].tolist(), strict=True)
            if side not in zero
        ]
        cost, news = float(self._cost[column]), list[tuple[int, bool]]()
        for sign in (1.0, -1.0):
            with_it = [side for side, a in left if sign * a > 0]
            against = [side for side, a in left if sign * a < 0]
            # sign * cost = what is with it - what is against it
            if sign * cost >= 0 and len(with_it) == 1 and any(side in positive for side in against):
                news.append((with_it[0], True))
            if sign * cost == 0 and not with_it:
                news += [(side, False) for side in against]
        return news


def _forced_pairs(core: Core, sign: float) -> tuple[IntArray, IntArray]:
    """Pairs (bound, bound that it forces) by what rows can be at most (``sign`` 1) or at least (-1).

    The bounds of column k are 2 k and 2 k + 1, the lower and the upper one.
    """
    program, known = core.follower.program, core.follower.known_bounds
    rows, answers = program.shape
    matrix = core.follower.free_parameter_matrix[:rows, :].tocoo()
    row, column, factor = matrix.row, matrix.col.astype(np.int64), sign * matrix.data
    lower, upper = np.append(known[0], core.lower)[column], np.append(known[1], core.upper)[column]
    needed = program.row_lower if sign > 0 else -program.row_upper
    rises = factor > 0
    best, other = np.where(rises, upper, lower), np.where(rises, lower, upper)
    is_open, is_other_open = ~np.isfinite(best), ~np.isfinite(other)
    most = factor * np.where(is_open, 0.0, best)
    others_open = np.bincount(row, is_open, rows)[row] - is_open
    reach = np.bincount(row, most, rows)[row] - most + factor * np.where(is_other_open, 0.0, other)
    size = 1.0 + np.bincount(row, np.abs(most), rows)[row]
    with np.errstate(invalid="ignore"):
        forcing = (others_open == 0) & ~is_other_open & (np.abs(reach - needed[row]) <= TUNING.forced * size)
    forcing &= (np.bincount(row, minlength=rows)[row] <= TUNING.longest_forcing_row) & (column < answers)
    at_best, at_other = 2 * column + rises, 2 * column + ~rises
    chosen = np.flatnonzero(forcing)
    # Every other entry of the same row.
    entries = sp.csr_array((np.ones(row.size), (row, np.arange(row.size))), shape=(rows, row.size))
    pairs = entries[row[chosen], :].tocoo()
    keep = (column[pairs.col] < answers) & (pairs.col != chosen[pairs.row])
    return at_other[chosen[pairs.row[keep]]], at_best[pairs.col[keep]]
