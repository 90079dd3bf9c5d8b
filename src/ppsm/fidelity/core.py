"""Problem (5) of the paper in scaled arrays, minimising: what the search solves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.fidelity.arrays import ScaledFollower

# So exact is an interior-point answer where the objective vanishes: squares of it drown in the tolerance.
_UNMOVED = 1e-6
# Points farther away than this, in units of the follower's typical quantity, are nothing but rounding.
TOO_FAR = 1e12


@dataclass(frozen=True, eq=False)
class Core:
    """``min sum curvature e^2 + slope e + weight |e| + constant`` over faithful ``d = reference + e``.

    Faithful: ``lower <= d <= upper``, ``value_lower <= V(d) <= value_upper`` and some optimal dual of V(d)
    has prices in ``[price_lower, price_upper]``; infinite limits mean that nothing is asked.
    """

    follower: ScaledFollower
    reference: FloatArray
    curvature: FloatArray
    slope: FloatArray
    weight: FloatArray
    constant: float
    lower: FloatArray
    upper: FloatArray
    value_lower: float
    value_upper: float
    price_lower: FloatArray
    price_upper: FloatArray

    @property
    def has_value_band(self) -> bool:
        """Whether the value is limited."""
        return bool(np.isfinite(self.value_lower) or np.isfinite(self.value_upper))

    @cached_property
    def has_price_band(self) -> bool:
        """Whether any price is limited."""
        return bool(np.isfinite(self.price_lower).any() or np.isfinite(self.price_upper).any())

    @cached_property
    def is_least_squares(self) -> bool:
        """Whether the distance is a weighted sum of squares around the reference, as in the paper."""
        return bool((self.curvature > 0).all() and not self.slope.any() and not self.weight.any())

    @cached_property
    def shift(self) -> FloatArray:
        """What the reference adds to the rows' right-hand sides."""
        return np.asarray(self.follower.parameter_map @ self.reference)

    def rows_at(self, parameter: FloatArray) -> FloatArray:
        """What a parameter vector adds to the rows' right-hand sides."""
        return np.asarray(self.follower.parameter_map @ parameter)

    def objective(self, parameter: FloatArray) -> float:
        """The distance of a parameter vector."""
        move = parameter - self.reference
        terms = self.curvature * move**2 + self.slope * move + self.weight * np.abs(move)
        return float(terms.sum()) + self.constant

    def snapped(self, parameter: FloatArray) -> FloatArray:
        """The reference itself, within bounds, where an interior-point answer is nothing but that."""
        clipped = np.clip(self.reference, self.lower, self.upper)
        return clipped if np.abs(parameter - clipped).max(initial=0.0) < _UNMOVED else parameter

    @cached_property
    def least(self) -> float:
        """The distance of the nearest vector within the public bounds: no faithful one is nearer."""
        centre = self.reference
        if self.slope.any():
            # w |e| + k e^2 + s e is convex in each e: zero, or the stationary point on either side, clipped.
            curved = np.where(self.curvature > 0, self.curvature, 1.0)
            stationary = (
                -np.sign(self.slope) * np.maximum(0.0, np.abs(self.slope) - self.weight) / (2 * curved)
            )
            centre = centre + np.where(self.curvature > 0, stationary, 0.0)
        return self.objective(np.clip(centre, self.lower, self.upper))

    @cached_property
    def negligible(self) -> float:
        """An objective below this is rounding: moves of 1e-7 of the follower's typical quantity."""
        return float(1e-14 * (self.curvature.sum() + 1.0) + 1e-7 * self.weight.sum())
