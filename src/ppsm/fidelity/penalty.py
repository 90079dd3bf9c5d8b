"""Which penalty on the duality gap gives the best joint bound.

The bound is concave in the penalty and its derivative is known at every optimum.
"""

from dataclasses import dataclass

import numpy as np

from ppsm.fidelity.joint import JointPoint

# A penalty whose chords would cost this many times what is allowed proves nothing: branching has to.
_HOPELESS = 10.0
# How far to go while the best penalty is known to be on one side only, and when both sides are near enough.
_STEP, _NEAR_BEST = 1.5, 1.15


@dataclass
class PenaltyRange:
    """The search for the best penalty: the bound is concave in it, and its derivative is known."""

    low: JointPoint | None = None
    high: JointPoint | None = None
    last: JointPoint | None = None

    def add(self, point: JointPoint) -> None:
        """Take note of a point: its derivative says on which side of the best penalty it is."""
        self.last = point
        if point.ascent > 0:
            self.low = point
        else:
            self.high = point

    def next_after(self, point: JointPoint, allowed: float, chord_loss: float, changed: bool) -> float | None:
        """The penalty to try next, or None where another one is of no use."""
        self.add(point)
        penalty = point.penalty
        if penalty * point.gap <= allowed:
            # Strong duality holds: what is lost are chords, quadratic in the penalty, and wrong guesses of
            # which entries are held at their bounds.
            if chord_loss > allowed:
                smaller = penalty * float(np.sqrt(allowed / chord_loss))
                return smaller if self.low is None else max(smaller, 1.1 * self.low.penalty)
            return penalty if changed else None
        if self.low is None or self.high is None:
            if point.ascent <= 0:
                return penalty / 4.0
            # The loss is quadratic in the penalty.
            bearable = (f for f in (6.0, 2.0) if f**2 * chord_loss <= _HOPELESS * allowed)
            factor = next(bearable, None)
            return None if factor is None else factor * penalty
        if self.high.penalty < 1.5 * self.low.penalty:
            return None
        return float(np.sqrt(self.low.penalty * self.high.penalty))

    def towards_best(self) -> float | None:
        """The penalty at which the tangents on either side of the best one meet; None where they are near."""
        low, high = self.low, self.high
        if low is None or high is None:
            return _STEP * low.penalty if low else high.penalty / _STEP if high else None
        if high.penalty < _NEAR_BEST * low.penalty:
            return None
        rise = high.bound - low.bound + low.ascent * low.penalty - high.ascent * high.penalty
        step = 0.1 * (high.penalty - low.penalty)
        return float(np.clip(rise / (low.ascent - high.ascent), low.penalty + step, high.penalty - step))

    @property
    def shown(self) -> JointPoint | None:
        """A point at which strong duality fails, if there was one: that shows where to branch."""
        return self.low or self.last
