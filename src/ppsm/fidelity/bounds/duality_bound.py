"""A lower bound that knows strong duality: how far any dual in the band can lift a relaxation.

At a faithful point some dual ``p`` in the band satisfies ``c'x <= g(p) + y(p)'d``. Penalise that row by
``mu >= 0``:

    sum w e^2 + mu (c'x - g(p) - y'd)

is bilinear in ``y`` and ``e``. Writing ``y`` as a mixture of the ends of its interval and splitting ``e``
alike (the perspective of the square) makes it convex at the price of ``mu^2/4 (y - low)(high - y) / w`` per
entry: quadratic in the width of the band, so next to nothing for the paper's 0.1 %. Minimising over ``p``
leaves, for every pair (mu, lambda), the affine minorant

    sum w e^2  >=  lambda'e + mu c'x - mu V_band(r) - sum [(mu low + lambda)^2 / 4w - mu low s],
    s = (mu (low + high) + 2 lambda) / 4w,   r = reference + s,

valid at every faithful point; ``V_band(r)`` is one LP. The pair is read off the QP whose sides in the
support of one dual are tight: its multipliers ``omega`` have the wrong sign where the objective pulls
against a tight side, and ``mu = max -omega_k / m_k`` is the least penalty that mends them all.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.relaxation import RelaxedPoint
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.scaled import Core


@dataclass(frozen=True, eq=False)
class DualityBound:
    """One affine minorant; its value depends on the multipliers held at zero through ``V_band(r)``."""

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
