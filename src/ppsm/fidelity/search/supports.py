"""From a dual to an incumbent: hold the sides of its support tight, then move on to a better neighbour.

Where the support of a dual in the band is tight the dual is optimal, so that the nearest such point is
faithful: one QP. Its multipliers say which sides the objective pulls against; a dual that is optimal at the
same point and leans less on those is the next to try. They also give an affine minorant for the node
(:class:`DualityBound`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.convex import Relaxation, RelaxedPoint
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.scaled import Core
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


@dataclass(frozen=True, eq=False)
class DualityBound:
    """A lower bound that knows strong duality: how far any dual in the band can lift a relaxation.

    At a faithful point some dual ``p`` in the band satisfies ``c'x <= g(p) + y(p)'d``. Penalise that row by
    ``mu >= 0``:

        sum w e^2 + mu (c'x - g(p) - y'd)

    is bilinear in ``y`` and ``e``. Writing ``y`` as a mixture of the ends of its interval and splitting ``e``
    alike (the perspective of the square) makes it convex at the price of ``mu^2/4 (y - low)(high - y) / w``
    per entry: quadratic in the width of the band, so next to nothing for the paper's 0.1 %. Minimising over
    ``p`` leaves, for every pair (mu, lambda), the affine minorant

        sum w e^2  >=  lambda'e + mu c'x - mu V_band(r) - sum [(mu low + lambda)^2 / 4w - mu low s],
        s = (mu (low + high) + 2 lambda) / 4w,   r = reference + s,

    valid at every faithful point; ``V_band(r)`` is one LP. The pair is read off the QP whose sides in the
    support of one dual are tight: its multipliers ``omega`` have the wrong sign where the objective pulls
    against a tight side, and ``mu = max -omega_k / m_k`` is the least penalty that mends them all.

    Its value depends on the multipliers held at zero through ``V_band(r)``.
    """

    penalty: float
    constant: float
    shift: FloatArray

    @classmethod
    def at(
        cls, core: Core, point: RelaxedPoint, dual: DualPoint, support: IntArray, tight: IntArray
    ) -> Self | None:
        """The minorant at the optimum of the QP with ``support`` and ``tight`` held tight.

        ``tight`` are the sides that the node itself holds tight, so their multipliers may have any sign.
        None where the band is not bounded, the distance is not a sum of squares, or no penalty is needed.
        """
        if not core.is_least_squares or not core.has_bounded_prices:
            return None
        own = support[~np.isin(support, tight)]
        penalty = float(np.max(-point.side_multipliers[own] / dual.multipliers[own], initial=0.0))
        value = float(core.follower.program.cost @ point.columns)
        return cls.of(core, point.parameter, dual.prices, penalty, value)

    @classmethod
    def of(
        cls, core: Core, parameter: FloatArray, prices: FloatArray, penalty: float, value: float
    ) -> Self | None:
        """The minorant for a penalty at a point where ``c'x`` is ``value``."""
        if not penalty > 0.0:
            return None
        low, high, weight = core.price_lower, core.price_upper, core.curvature
        move = parameter - core.reference
        slope = 2.0 * weight * move - penalty * prices
        step = (penalty * (low + high) + 2.0 * slope) / (4.0 * weight)
        ends = (penalty * low + slope) ** 2 / (4.0 * weight) - penalty * low * step
        constant = float(slope @ move) + penalty * value - float(ends.sum()) + core.constant
        return cls(penalty, constant, core.rows_at(core.reference + step))

    def value(self, lps: FollowerLps, zero: IntArray) -> float:
        """The bound when the multipliers in ``zero`` vanish; infinite where no such dual is in the band."""
        best = lps.dual(self.shift, zero)
        return INFINITY if best is None else self.constant - self.penalty * best.value


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
            neighbour = self.neighbour(point, support)
            if neighbour is None:
                break
            dual = neighbour
        return best

    def neighbour(self, point: RelaxedPoint, support: IntArray) -> DualPoint | None:
        """Another dual that is optimal at the same point and leans less on sides that cost the objective."""
        pull = np.maximum(0.0, -point.side_multipliers)
        if pull[support].max(initial=0.0) <= TUNING.no_slack:
            return None
        slacks = self.core.follower.slacks(point.columns, self.core.rows_at(point.parameter))
        inactive = self.lps.inequalities[slacks[self.lps.inequalities] > TUNING.no_slack]
        found = self.lps.cheapest_dual(pull, inactive)
        return None if found is None or not np.isfinite(found.value) else found
