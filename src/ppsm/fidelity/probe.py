"""Cheap bounds for children: the joint relaxation linearised at its optimum, one LP for each child.

The joint objective is convex, so its tangent at the optimum is a lower bound, and the tangent splits into a
part over (answer, parameter) and a part over the duals. Holding one more side tight changes only the first,
setting one more multiplier to zero only the second; either is an LP that starts from the last basis.
"""

import numpy as np

from ppsm.arrays import INFINITY, IntArray
from ppsm.fidelity.band import DualPoint, FollowerLps
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointPoint


class Probe:
    """Bounds of the children of one node, from the tangent at its joint optimum."""

    def __init__(
        self, core: Core, lps: FollowerLps, point: JointPoint, tight: IntArray, zero: IntArray
    ) -> None:
        self.core, self._lps, self._point = core, lps, point
        self._cost = np.concatenate([point.penalty * core.follower.program.cost, point.move_slope])
        # The node's own least value rather than the point's, which is feasible up to a residual only.
        least = lps.pairs.least(core, tight, self._cost)
        at_point = float(self._cost @ np.concatenate([point.columns, point.parameter]))
        self._primal_at_point = least if np.isfinite(least) else at_point
        self._shift = core.rows_at(point.dual_weight)
        found = lps.dual(self._shift, zero, probing=True)
        self._dual_at_point = INFINITY if found is None else found.value

    def bound_if_tight(self, tight: IntArray) -> float:
        """A lower bound for the node with these sides tight."""
        least = self._lps.pairs.least(self.core, tight, self._cost)
        return self._point.bound + least - self._primal_at_point

    def bound_if_zero(self, zero: IntArray) -> float:
        """A lower bound for the node with these multipliers zero."""
        return self._bound_of(self._lps.dual(self._shift, zero, probing=True))

    def _bound_of(self, found: DualPoint | None) -> float:
        if found is None:
            return INFINITY
        return self._point.bound + self._point.penalty * (self._dual_at_point - found.value)
