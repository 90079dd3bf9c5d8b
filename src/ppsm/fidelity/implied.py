"""Sides that are tight or slack together: what a follower's rows say before any search.

A pipe behind a junction where nobody takes anything carries what the pipe before it carries: one is empty
exactly when the other is, and a multiplier of the one can be handed on to the other. Deciding one of two such
sides decides nothing. So a tight side takes along all that its being tight forces, row by row: where the
largest value that a row can take then is the least that it must have, every column in it is at a bound. The
other way round, a side that is slack takes along all that would force it.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from ppsm.arrays import IntArray, SparseMatrix
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING


@dataclass(frozen=True, eq=False)
class ImpliedSides:
    """Which side being tight makes which other one tight, as a graph."""

    forces: SparseMatrix
    forced_by: SparseMatrix

    @classmethod
    def of(cls, core: Core) -> "ImpliedSides":
        """Those of a problem within its public bounds."""
        count = core.follower.sides.count
        pairs = [_forced_pairs(core, sign) for sign in (1.0, -1.0)]
        source, target = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        graph = sp.csr_array((np.ones(source.size), (source, target)), shape=(count, count))
        return cls(graph, sp.csr_array(graph.T))

    def tight_with(self, side: int) -> list[int]:
        """A side and all that are tight where it is."""
        return _reached(self.forces, side)

    def slack_with(self, side: int) -> list[int]:
        """A side and all that are slack where it is."""
        return _reached(self.forced_by, side)


def _reached(graph: SparseMatrix, side: int) -> list[int]:
    if graph.indptr[side] == graph.indptr[side + 1]:
        return [side]
    found: list[int] = breadth_first_order(graph, side, return_predecessors=False).tolist()
    return found


def _forced_pairs(core: Core, sign: float) -> tuple[IntArray, IntArray]:
    """Pairs (side, side that it forces) by what rows can be at most (``sign`` 1) or at least (-1)."""
    program = core.follower.program
    matrix = core.follower.free_parameter_matrix[: program.shape[0], :].tocoo()
    row, factor = matrix.row, sign * matrix.data
    column = matrix.col.astype(np.int64)
    lower = np.concatenate([program.column_lower, core.lower])[column]
    upper = np.concatenate([program.column_upper, core.upper])[column]
    needed = program.row_lower if sign > 0 else -program.row_upper
    rises = factor > 0
    best, other = np.where(rises, upper, lower), np.where(rises, lower, upper)
    is_open = ~np.isfinite(best)
    most = np.where(is_open, 0.0, factor * np.where(is_open, 0.0, best))
    rows = program.shape[0]
    others_open = np.bincount(row, is_open, rows)[row] - is_open
    at_other = np.where(np.isfinite(other), factor * np.where(np.isfinite(other), other, 0.0), np.nan)
    reach = np.bincount(row, most, rows)[row] - most + at_other
    size = 1.0 + np.bincount(row, np.abs(most), rows)[row]
    with np.errstate(invalid="ignore"):
        forcing = (others_open == 0) & (np.abs(reach - needed[row]) <= TUNING.forced * size)
    forcing &= np.bincount(row, minlength=rows)[row] <= TUNING.longest_forcing_row
    side_at_best = _sides_at(core, column, is_upper=rises)
    side_at_other = _sides_at(core, column, is_upper=~rises)
    chosen = np.flatnonzero(forcing & (side_at_other >= 0))
    # Every other entry of the same row.
    entries = sp.csr_array((np.arange(1, row.size + 1), (row, np.arange(row.size))), shape=(rows, row.size))
    pairs = entries[row[chosen], :].tocoo()
    source, target = side_at_other[chosen[pairs.row]], side_at_best[pairs.col]
    keep = (target >= 0) & (pairs.col != chosen[pairs.row])
    return source[keep], target[keep]


def _sides_at(core: Core, column: IntArray, *, is_upper: np.ndarray) -> IntArray:
    """The inequality that bounds each column above or below, -1 where there is none."""
    sides, answers = core.follower.sides, core.follower.program.shape[1]
    places = np.full((2, answers + core.reference.size), -1, dtype=np.int64)
    of_columns = core.follower.column_sides
    places[(sides.sign[of_columns] < 0).astype(np.int64), sides.index[of_columns]] = of_columns
    return np.asarray(places[is_upper.astype(np.int64), column])
