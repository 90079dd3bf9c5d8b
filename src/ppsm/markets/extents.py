"""What is known of a convex region without asking: half-spaces that contain it, points that it contains.

Asking for an extent is an LP over UC's relaxation (0.1 s on the Northeast case). After some hundred answers
their half-spaces say as much of a new direction by an LP in a few columns, and their points say how much
asking could still gain.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class Extents:
    """Bounds on ``w'd`` over a region of nonnegative ``d`` from what was asked before."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._cuts: list[tuple[FloatArray, float]] = []
        self._points: list[FloatArray] = []
        self._live: PersistentLp | None = None

    def inherit(self, others: "Extents") -> None:
        """Take over the half-spaces of a region that contains this one; its points may lie outside."""
        for weights, value in others._cuts:
            self.cut(weights, value)

    def cut(self, weights: FloatArray, value: float) -> None:
        """Note that ``w'd <= value`` in all of the region."""
        scale = float(np.abs(weights).max(initial=0.0))
        if not (np.isfinite(value) and scale > 0.0):
            return
        self._cuts.append((weights / scale, value / scale))
        if self._live is not None:
            self._live.add_row(weights / scale, -INFINITY, value / scale)

    def hold(self, point: FloatArray) -> None:
        """Note that a point lies in the region."""
        self._points.append(point)

    def at_least(self, weights: FloatArray) -> float:
        """What some point of the region attains."""
        return max((float(point @ weights) for point in self._points), default=-INFINITY)

    def at_most(self, weights: FloatArray) -> float:
        """What no point of the half-spaces exceeds; inf where they leave it open."""
        if self._live is None:
            self._live = PersistentLp(self._program())
            self._live.use_primal_simplex()
        self._live.set_cost(-weights)
        try:
            solution = self._live.solve()
        except SolverError:
            return INFINITY
        return -solution.objective if solution.status is Status.PROVEN_OPTIMAL else INFINITY

    def _program(self) -> LinearProgram:
        rows = len(self._cuts)
        return LinearProgram(
            cost=np.zeros(self._size),
            matrix=sp.csr_array(np.array([weights for weights, _ in self._cuts]).reshape(rows, self._size)),
            row_lower=np.full(rows, -INFINITY),
            row_upper=np.array([value for _, value in self._cuts]),
            column_lower=np.zeros(self._size),
            column_upper=np.full(self._size, INFINITY),
            row_names=tuple(f"cut {number}" for number in range(rows)),
            column_names=tuple(f"place {number}" for number in range(self._size)),
        )
