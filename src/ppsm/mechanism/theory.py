"""What can be said of a release without the secret: how far off the truth it is, what it costs the leader.

Both rest on one premise: the true vector D satisfies the public bounds and the bands that the release was
made with, at the leader's decision. Whether it does, the owner alone can see
(:mod:`ppsm.owner.distances`). Nothing here says how often it does.

Distance (theorem 4 of the paper, corrected). Where the premise holds, D competes in the fidelity problem. An
answer D^ whose distance to the measurements is within a relative gap g of the least is therefore at most
``1 / (1 - g)`` times as far from them as D is (of the squared distance in l2), and by the triangle inequality

    ||D^ - D|| <= factor ||noise||,     factor = 1 + 1 / (1 - g)  (l1),   1 + 1 / sqrt(1 - g)  (l2).

The noise is unknown, but not how large it can be: with ``P(||noise|| <= q) = 95 %`` the release lies within
``factor q`` of the truth, or the premise fails, in 95 % of all releases. That holds draw by draw, so the gap
of this very release may stand in it. A **mean** has no such bound: it would need the premise on every draw,
and predictions that are off leave the truth out of the bands as often as not. The paper bounds the mean by
``4 alpha^2``, which also lacks the dimension n and mixes a norm with its square.

Cost of privacy (theorem 5). The paper bounds the change of the leader's optimum by ``eta ||B'y||_1`` with the
duals y of the leader's coordination rows. That is a slope at one point; and it takes prices for constants,
while they answer to the leader: in ``min x, price <= 2`` with the follower ``min cheap + 3 dear, cheap + dear
= d, cheap <= x`` the slope is zero and the optimum is d. We give no first-order figure.
:mod:`ppsm.mechanism.band_game` encloses the leader's optimum over **all** vectors that satisfy the premise.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ppsm.errors import InputError

# How often a bound on the distance holds, over the noise.
CONFIDENCE = 0.95


def nearness(norm: str, gap: float) -> float | None:
    """How many times the noise a release with this gap may lie off the truth; None where nothing is known."""
    if not gap < 1.0:
        return None
    left = 1.0 - max(gap, 0.0)
    return 1.0 + 1.0 / (left if norm == "l1" else math.sqrt(left))


@dataclass(frozen=True)
class NoiseSize:
    """How large noise is: ``count`` independent Laplace numbers, each in units of its own scale."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"the noise has {self.count} numbers; expected at least 1.")

    @property
    def likely_l1(self) -> float:
        """What the sum of their sizes does not exceed in 95 % of draws: it has a gamma distribution."""
        from scipy.special import gammaincinv  # here, for a quick start

        return float(gammaincinv(self.count, CONFIDENCE))

    @property
    def likely_l2(self) -> float:
        """What their root sum of squares does not exceed in (at least) 95 % of draws.

        A square has mean 2 and variance 20; Cantelli's inequality bounds the tail of their sum. For few
        numbers the sum of their sizes is a better bound.
        """
        odds = CONFIDENCE / (1.0 - CONFIDENCE)
        by_squares = math.sqrt(2.0 * self.count + math.sqrt(20.0 * self.count * odds))
        return min(by_squares, self.likely_l1)


def size_of(noise: ArrayLike) -> float:
    """The L2 norm of noise, for the owner who knows it."""
    return float(np.linalg.norm(np.asarray(noise, dtype=np.float64)))


@dataclass(frozen=True)
class CostOfPrivacy:
    """What encloses the leader's optimum for every vector that satisfies the premise.

    An infinite side is unknown. The released vector satisfies the bands up to rounding, and often lies where
    prices jump: then its last digit decides whether it is one of them.
    """

    lowest: float
    highest: float
