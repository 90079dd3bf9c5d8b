"""Lower bounds that need no solver's word: weak duality, computed here.

For any row multipliers p the cost of every point of an LP is at least ``sum_i p_i b_i + sum_j r_j x_j`` with
``r = c - A' p``, each row at the side and each column at the bound that its sign asks for; with ``c = 0`` a
positive number proves that the LP is empty (Farkas). So the verdicts of a solver only suggest the proof.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.tuning import TUNING
from ppsm.program import LinearProgram


@dataclass(frozen=True, eq=False)
class Box:
    """Sides of the rows and bounds of the columns of an LP."""

    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray

    @classmethod
    def of(cls, program: LinearProgram) -> "Box":
        """Those of a program as it is."""
        return cls(program.row_lower, program.row_upper, program.column_lower, program.column_upper)


class WeakDuality:
    """Proofs about one matrix, whatever the sides, bounds and costs are."""

    def __init__(self, matrix: SparseMatrix) -> None:
        self._transposed: SparseMatrix = sp.csr_array(matrix.T)
        self._sizes = abs(self._transposed)

    def bound(self, prices: FloatArray, cost: FloatArray, box: Box, exact: float = TUNING.rounding) -> float:
        """What every point in the box costs at least, minus infinity where these prices prove nothing.

        A reduced cost on a column without the bound that its sign asks for is taken for zero up to ``exact``
        and the rounding of its terms; one on a column that has this bound always counts in full.
        """
        # A price on a side that has no bound proves nothing: without it the bound is valid.
        sided = np.where(prices > 0, np.isfinite(box.row_lower), np.isfinite(box.row_upper))
        prices = np.where(sided, prices, 0.0)
        reduced = cost - self._transposed @ prices
        size = np.abs(cost) + self._sizes @ np.abs(prices)
        is_open = ~np.isfinite(np.where(reduced > 0, box.column_lower, box.column_upper))
        is_nothing = np.abs(reduced) <= exact + TUNING.last_digits * size
        reduced = np.where(is_open & is_nothing, 0.0, reduced)
        rows = _least(prices, box.row_lower, box.row_upper)
        return rows + _least(reduced, box.column_lower, box.column_upper)

    def proves_empty(self, ray: FloatArray | None, box: Box) -> bool:
        """Whether multipliers prove that no point is in the box; their sign is found here."""
        if ray is None:
            return False
        ray = ray / max(float(np.abs(ray).max(initial=0.0)), 1e-300)
        nothing = np.zeros(self._transposed.shape[0])
        return any(self.bound(sign * ray, nothing, box) > TUNING.clearly for sign in (1.0, -1.0))


def _least(weights: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """The least value of ``weights' z`` over a box; minus infinity where a weighted side is open."""
    ends = np.where(weights > 0, lower, upper)
    used = weights != 0
    return float(weights[used] @ ends[used]) if np.isfinite(ends[used]).all() else -INFINITY
