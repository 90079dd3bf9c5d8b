"""Cheap bounds for children: the joint relaxation linearised at its optimum, one LP for each child.

The joint objective is convex, so its tangent at the optimum is a lower bound, and the tangent splits into a
part over (answer, parameter) and a part over the duals. Holding one more side tight changes only the first,
setting one more multiplier to zero only the second; either is an LP that starts from the last basis.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, IntArray
from ppsm.fidelity.band import FollowerLps
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointPoint
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class Probe:
    """Bounds of children of nodes of one problem."""

    def __init__(self, core: Core, lps: FollowerLps) -> None:
        self.core, self._dual_lps = core, lps
        program = core.follower.program
        rows, self._answers = program.shape
        entries = core.reference.size
        matrix = sp.vstack(
            [
                sp.hstack([program.matrix, -core.follower.parameter_map]),
                sp.hstack([sp.csr_array(program.cost[None, :]), sp.csr_array((1, entries))]),
            ],
            format="csr",
        )
        width = self._answers + entries
        self._rows, self._columns = np.arange(rows), np.arange(self._answers)
        self._lp = PersistentLp(
            LinearProgram(
                cost=np.zeros(width),
                matrix=matrix,
                row_lower=np.append(program.row_lower + core.shift, core.value_lower),
                row_upper=np.append(program.row_upper + core.shift, core.value_upper),
                column_lower=np.concatenate([program.column_lower, core.lower - core.reference]),
                column_upper=np.concatenate([program.column_upper, core.upper - core.reference]),
                row_names=(*program.row_names, "value"),
                column_names=tuple(f"c{k}" for k in range(width)),
            )
        )
        self._point: JointPoint | None = None
        self._primal_at_point = 0.0
        self._dual_at_point = 0.0

    def linearise(self, point: JointPoint, zero: IntArray) -> None:
        """Take the tangent at a joint optimum of a node with these multipliers zero."""
        self._point = point
        slopes = point.penalty * self.core.follower.program.cost, point.move_slope
        self._lp.set_cost(np.concatenate(slopes))
        move = point.parameter - self.core.reference
        self._primal_at_point = float(slopes[0] @ point.columns + slopes[1] @ move)
        self._shift = self.core.rows_at(point.dual_weight)
        found = self._dual_lps.dual(self._shift, zero)
        self._dual_at_point = INFINITY if found is None else found.value

    def is_feasible(self, tight: IntArray) -> bool:
        """Whether any answer and parameter within bounds and value band hold these sides tight."""
        return self._least(tight) < INFINITY

    def bound_if_tight(self, tight: IntArray) -> float:
        """A lower bound for the node with these sides tight."""
        assert self._point is not None  # noqa: S101
        return self._point.bound + self._least(tight) - self._primal_at_point

    def bound_if_zero(self, zero: IntArray) -> float:
        """A lower bound for the node with these multipliers zero."""
        assert self._point is not None  # noqa: S101
        found = self._dual_lps.dual(self._shift, zero)
        if found is None:
            return INFINITY
        return self._point.bound + self._point.penalty * (self._dual_at_point - found.value)

    def _least(self, tight: IntArray) -> float:
        row_lower, row_upper, column_lower, column_upper = self.core.follower.bounds(
            self.core.shift, tight=tight
        )
        self._lp.set_row_bounds(self._rows, row_lower, row_upper)
        self._lp.set_column_bounds(self._columns, column_lower, column_upper)
        solution = self._lp.solve()
        if solution.status is Status.INFEASIBLE:
            return INFINITY
        return solution.objective if solution.status.has_answer else -INFINITY
