"""From a dual to an incumbent: hold the sides of its support tight, then move on to a better neighbour.

Where the support of a dual in the band is tight the dual is optimal, so that the nearest such point is
faithful: one QP. Its multipliers say which sides the objective pulls against; a dual that is optimal at the
same point and leans less on those is the next to try. They also give an affine minorant for the node
(:mod:`ppsm.fidelity.bounds.duality_bound`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.duality_bound import DualityBound
from ppsm.fidelity.bounds.relaxation import Relaxation, RelaxedPoint
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.search.best_first import Incumbent
from ppsm.fidelity.tuning import TUNING


@dataclass(frozen=True, eq=False)
class Trial:
    """A dual, the parameter at which it was found, and what its node holds tight and at zero."""

    dual: DualPoint
    parameter: FloatArray
    tight: IntArray
    zero: IntArray


# Takes a faithful point, for the case that it is the best so far.
Offer = Callable[[Incumbent], None]
# How a search makes incumbents from duals: offers what it finds and returns what is proven for the node.
Lift = Callable[[Trial, Offer], float]


class Supports:
    """Solves with the supports of duals tight; what was tried in a search is not tried again."""

    def __init__(self, relaxation: Relaxation, lps: FollowerLps) -> None:
        self.core, self.relaxation, self.lps = relaxation.core, relaxation, lps
        self._tried: dict[bytes, DualityBound | None] = {}

    def lift(self, trial: Trial, offer: Offer) -> float:
        """Solve with a dual's support tight: an incumbent, a bound, and perhaps a better neighbour."""
        minorant = self._minorant(trial.dual, trial.tight, offer)
        return -INFINITY if minorant is None else minorant.value(self.lps, trial.zero)

    def _minorant(self, dual: DualPoint, tight: IntArray, offer: Offer) -> DualityBound | None:
        best: DualityBound | None = None
        for step in range(TUNING.local_steps):
            support = dual.support(self.lps.inequalities)
            held = np.union1d(support, tight)
            key = held.tobytes() + tight.tobytes()
            if key in self._tried:
                return self._tried[key] or best
            self._tried[key] = None
            # A neighbour's support can be held where it was found; of the first one nothing is known.
            if step == 0 and not self.lps.free_parameter.is_feasible(self.core, held):
                break
            point = self.relaxation.solve(held)
            if point is None:
                break
            offer(Incumbent(point.objective, point.parameter, point.columns, support))
            best = DualityBound.at(self.core, point, dual, support, tight)
            self._tried[key] = best
            neighbour = self._neighbour(point, support)
            if neighbour is None:
                break
            dual = neighbour
        return best

    def _neighbour(self, point: RelaxedPoint, support: IntArray) -> DualPoint | None:
        """Another dual that is optimal at the same point and leans less on sides that cost the objective."""
        pull = np.maximum(0.0, -point.side_multipliers)
        if pull[support].max(initial=0.0) <= TUNING.no_slack:
            return None
        slacks = self.core.follower.slacks(point.columns, self.core.rows_at(point.parameter))
        inactive = self.lps.inequalities[slacks[self.lps.inequalities] > TUNING.no_slack]
        found = self.lps.cheapest_dual(pull, inactive)
        return None if found is None or not np.isfinite(found.value) else found
