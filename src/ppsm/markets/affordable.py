"""Valid answers where chasing prices finds none: commitments that dear gas supplies are not needed for.

Raising levels to what prices ask for can end with all plants off and a load that nobody serves, although
burning less would have kept gas cheap. Here the price comes first: for each price that a supplier asks,
plants take the levels of that price, dearer supplies are taken away (:func:`ppsm.markets.joint.join`), and UC
commits what the gas network can then serve. Where the network is congested a plant can still pay more; its
level is raised and UC solved again, until the answer is valid or infeasible.

This finds answers and proves nothing.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.markets.evaluate import Followers, GameAnswer
from ppsm.markets.joint import join
from ppsm.solvers.mip import SolveLimits

_GAP = 1e-4
_FEASIBILITY = 1e-7


def affordable_answers(
    followers: Followers, power_stress: float, demand_mwh: FloatArray, seconds_left: Callable[[], float]
) -> Iterator[GameAnswer]:
    """Valid answers, at most one for each price that gas suppliers ask."""
    for price in sorted({bid.price_usd_per_mwh for bid in followers.case.supplies}):
        if seconds_left() <= 0:
            return
        answer = _at_price(followers, power_stress, demand_mwh, price, seconds_left)
        if answer is not None:
            yield answer


def _at_price(
    followers: Followers,
    power_stress: float,
    demand_mwh: FloatArray,
    price_usd_per_mwh: float,
    seconds_left: Callable[[], float],
) -> GameAnswer | None:
    commitment, bids = followers.commitment, followers.levels
    levels = bids.needed(np.full(bids.count, price_usd_per_mwh))
    # every round raises a level or returns
    while seconds_left() > 0:
        program = commitment.at(power_stress, bids.least_at(levels))
        if program is None:
            return None
        joint = join(commitment, program, followers.gas.market, demand_mwh, price_usd_per_mwh)
        integer = np.zeros(joint.shape[1], dtype=bool)
        integer[: commitment.is_integer.size] = commitment.is_integer
        limits = SolveLimits(gap=_GAP, seconds=seconds_left(), feasibility=_FEASIBILITY)
        on = commitment.solve(joint, tuple(levels.tolist()), limits, integer=integer).on
        power = None if on is None else followers.power_answer(power_stress, on, levels)
        answer = None if power is None else followers.game_answer(power, demand_mwh)
        if answer is None or not answer.invalid:
            return answer
        raised = np.array([link.fleet in answer.invalid for link in followers.case.links])
        levels = np.minimum(levels + raised, bids.blocks)
    return None
