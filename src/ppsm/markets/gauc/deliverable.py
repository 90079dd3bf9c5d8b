"""Commitments whose burn the gas network can serve, also without dear gas: UC beside the region of GM.

UC alone does not know the gas network. Its burn may be undeliverable (noise can make demand negative at a
dead end, where only a plant can take the gas), or may need supply at prices that no bid covers. Putting GM's
rows ((5b) and (5c) of the paper's appendix) beside UC's, with the burn moved to the left-hand side of the
balances, keeps commitments that GM can serve; taking away supply blocks above a price keeps those that leave
prices below it. The bound of the first kind holds for every answer; the second finds answers and proves
nothing.
"""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray
from ppsm.markets.model.commitment import CommitmentOutcome
from ppsm.markets.model.followers import Followers, GameAnswer
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status


class ServableDemand:
    """Whether a gas demand can be served at all, whatever the plants burn up to all that they can.

    The least gas that is missing or too much anywhere, as one linear program.
    """

    def __init__(self, followers: Followers) -> None:
        self._market = market = followers.gas.market
        self._rows = market.balance_rows
        burn = -sp.csr_array(market.burn_to_balance)
        shape = (market.program.shape[0], burn.shape[1])
        at = sp.csr_array((burn.tocoo().data, (self._rows[burn.tocoo().row], burn.tocoo().col)), shape=shape)
        most = largest_burn_mwh(followers)
        program = market.program.with_columns(np.zeros(most.size), most, matrix=at).elastic(self._rows)
        self._live = PersistentLp(program)

    def missing_mwh(self, demand_mwh: FloatArray) -> float:
        """What cannot be balanced; zero where some burn can be served."""
        withdrawal = self._market.withdrawal_mwh(demand_mwh)
        self._live.set_row_bounds(self._rows, withdrawal, withdrawal)
        solution = self._live.solve(is_bounded=True)
        return solution.objective if solution.status is Status.PROVEN_OPTIMAL else 0.0


def largest_burn_mwh(followers: Followers) -> FloatArray:
    """All that each plant can burn in a day."""
    case, levels = followers.case, followers.levels
    hours = len(case.load_shape)
    units = np.array([case.fleets[fleet].unit_count for fleet in followers.commitment.link_fleets])
    rates = np.array([link.burn_mwh_per_mwh for link in case.links])
    most: FloatArray = rates * hours * units * levels.size_mw.sum(axis=1)
    return most


def deliverable_commitment(
    followers: Followers,
    power_stress: float,
    levels: IntArray,
    demand_mwh: FloatArray,
    *,
    gap: float,
    seconds: float,
    highest_price_usd_per_mwh: float = np.inf,
) -> CommitmentOutcome | None:
    """The cheapest commitment at some levels whose burn GM can serve from supplies up to a price.

    None where a plant that must run may not.
    """
    program = followers.commitment.at(power_stress, followers.levels.least_at(levels))
    if program is None:
        return None
    whole = with_gas_network(followers, program, demand_mwh, highest_price_usd_per_mwh)
    limits = SolveLimits(gap=gap, seconds=seconds, feasibility=TUNING.commitment_feasibility)
    return followers.commitment.solve(whole, limits)


def none_is_deliverable(
    followers: Followers, power_stress: float, demand_mwh: FloatArray, seconds: float
) -> bool:
    """A second opinion on a demand beside which no commitment, at any levels, was found."""
    program = followers.commitment.loaded(power_stress)
    return all_miss(followers, with_gas_network(followers, program, demand_mwh), seconds)


def with_gas_network(
    followers: Followers,
    program: LinearProgram,
    demand_mwh: FloatArray,
    highest_price_usd_per_mwh: float = np.inf,
) -> LinearProgram:
    """UC's program with GM's region at a demand; supply blocks above the highest price are taken away.

    GM's columns cost nothing here: gas is paid by bids.
    """
    market, burn_map = followers.gas.market, followers.commitment.burn_map
    shift = np.zeros(market.program.shape[0])
    shift[market.balance_rows] = market.withdrawal_mwh(demand_mwh)
    gas = market.program.shifted(shift)
    # balance: inflow - burn = demand
    count = market.balance_rows.size
    place = sp.csr_array(
        (np.ones(count), (market.balance_rows, np.arange(count))), shape=(gas.shape[0], count)
    )
    taken = -(place @ market.burn_to_balance @ burn_map)
    upper = gas.column_upper.copy()
    supply = market.variables.positions("supply_mwh")
    upper[supply[gas.cost[supply] > highest_price_usd_per_mwh]] = 0.0
    wider = program.with_columns(gas.column_lower, upper)
    return wider.with_rows(sp.hstack([taken, gas.matrix], format="csr"), gas.row_lower, gas.row_upper)


def all_miss(followers: Followers, program: LinearProgram, seconds: float) -> bool:
    """Whether every commitment of UC's program, alone or beside the gas network, clearly misses load or gas.

    That is the second opinion on a search that ended without any commitment: here balances may be missed, so
    that there is one, and what all miss has a bound, found on another path.
    """
    commitment, market = followers.commitment, followers.gas.market
    rows = commitment.balance_rows.ravel()
    if program.shape[0] > commitment.program.shape[0]:
        rows = np.concatenate([rows, commitment.program.shape[0] + market.balance_rows])
    limits = SolveLimits(
        gap=TUNING.missed_gap,
        seconds=max(seconds, 0.0),
        feasibility=TUNING.commitment_feasibility,
        another_path=True,
    )
    missed = commitment.solve(program.elastic(rows), limits)
    if missed.status is Status.INFEASIBLE:
        return True  # whatever is missed: the rules of the units contradict each other
    return missed.bound_usd is not None and missed.bound_usd > TUNING.missed_mwh


def affordable_answers(
    followers: Followers, power_stress: float, demand_mwh: FloatArray, seconds_left: Callable[[], float]
) -> Iterator[GameAnswer]:
    """Valid answers where chasing prices may find none, at most one for each price that gas suppliers ask.

    Raising levels to what prices ask for can end with all plants off and a load that nobody serves, although
    burning less would have kept gas cheap. Here the price comes first.
    """
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
    """Plants at the levels of a price, dearer supplies taken away, and UC of what is left.

    Where the network is congested a plant can still pay more; its level is raised and UC solved again, until
    the answer is valid or infeasible.
    """
    bids = followers.levels
    levels = bids.needed(np.full(bids.count, price_usd_per_mwh))
    # every round raises a level or returns
    while seconds_left() > 0:
        outcome = deliverable_commitment(
            followers,
            power_stress,
            levels,
            demand_mwh,
            gap=TUNING.affordable_gap,
            seconds=seconds_left(),
            highest_price_usd_per_mwh=price_usd_per_mwh,
        )
        columns = None if outcome is None else outcome.columns
        power = None if columns is None else followers.answer_to_plan(power_stress, columns, levels)
        answer = None if power is None else followers.game_answer(power, demand_mwh)
        if answer is None or not answer.invalid:
            return answer
        raised = np.array([link.fleet in answer.invalid for link in followers.case.links])
        levels = np.minimum(levels + raised, bids.blocks)
    return None
