"""Plans of the leader for a price pattern: commitments whose burn leaves gas prices where the pattern is.

UC beside the gas areas, with the pattern's levels asked for and its supplies and flows decided, is a MILP
whose integers are near those of its relaxation. The fewest offers that allow its output are selected. EM then
may burn more than planned, for two reasons, which two loops mend:

- Offers are of whole units. As much gas is set **aside** for what EM takes beyond the plan, and the output is
  planned again with the units as they are.
- A plant at a level of one or more must offer the block beyond its full ones, and where that is cheap EM
  takes it, whatever the plan says. In the hours in which EM did, the block is planned **full**, and other
  units are looked for.

Units that were chosen without a thought of the gas set aside pay dearly for it, so that, as long as answers
become cheaper, other units are looked for with that gas set aside from the start.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.relaxation import PowerRelaxation
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

# Takes EM's answer to a plan; says whether it is valid.
Offer = Callable[[PowerAnswer], bool]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a plan must keep to: withdrawals by area, the levels asked for, bounds of the gas columns."""

    withdrawal_mwh: FloatArray
    asked: BoolArray
    gas: tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Units:
    """Units by fleet and hour that a plan runs at levels.

    ``full`` says where (links x hours) the next block is planned full, ``aside_mwh`` the gas by place that is
    set aside.
    """

    levels: IntArray
    on: IntArray
    full: BoolArray
    aside_mwh: FloatArray


@dataclass(frozen=True, eq=False)
class Held:
    """How EM answered plans with given units: the cheapest valid answer, and gas by place set aside for it.

    The cost is infinite where none is valid. ``taken`` are links and hours in which EM first took more than
    planned of a block that must be offered.
    """

    cost_usd: float
    aside_mwh: FloatArray
    taken: BoolArray

    @property
    def valid(self) -> bool:
        """Whether an answer is."""
        return math.isfinite(self.cost_usd)


class Plans:
    """Plans of one power stress."""

    def __init__(
        self, followers: Followers, relaxation: PowerRelaxation, power_stress: float, known: list[Units]
    ) -> None:
        self._followers, self._relaxation, self._power_stress = followers, relaxation, power_stress
        self._known = known

    def offer_known(
        self, wanted: Wanted, offer: Offer, most: int, cost_below_usd: Callable[[], float]
    ) -> bool:
        """Offer EM's answers to plans with units of earlier plans, those of the nearest levels first.

        ``cost_below_usd`` says what is still of use; plans at that cost are given up. Whether one is valid.
        """
        levels = self._levels(wanted)
        nearest = sorted(self._known, key=lambda units: int(np.abs(units.levels - levels).sum()))
        found = False
        for units in nearest[:most]:
            below = cost_below_usd()
            if below <= 0:
                break
            program = self._program(wanted, units.full)
            found |= self._hold(wanted, program, units, offer, below).valid
        return found

    def offer(
        self,
        wanted: Wanted,
        relaxed: FloatArray,
        gap: float,
        seconds_left: Callable[[], float],
        offer: Offer,
        is_enough: Callable[[], bool],
    ) -> bool:
        """Offer EM's answers to plans near UC's relaxation while they get cheaper; whether one is valid."""
        case = self._followers.case
        full: BoolArray = np.zeros((len(case.links), len(case.load_shape)), dtype=bool)
        aside = np.zeros(self._relaxation.area_of_place.size)
        near: FloatArray | None = relaxed
        cheapest_usd = math.inf
        for _ in range(TUNING.replans):
            planned = self._program(self._with_aside(wanted, aside), full)
            on = None if near is None else self._committed(planned, near, gap, seconds_left())
            if on is None:
                break
            # fewer units pay for gas set aside, so that less of it may be enough
            units = Units(self._levels(wanted), on, full, aside / 2)
            # units that were found in time are worth their answer
            seconds = max(seconds_left(), TUNING.output_grace_seconds)
            held = self._hold(wanted, self._program(wanted, full), units, offer, seconds=seconds)
            is_cheaper = held.cost_usd < cheapest_usd * (1 - TUNING.worth_replanning)
            if is_cheaper:
                self._known.insert(0, replace(units, aside_mwh=held.aside_mwh))
                cheapest_usd = held.cost_usd
            new = held.taken & ~full
            is_settled = not is_cheaper if held.valid else not new.any() and (aside > 0).any()
            if is_settled or is_enough():
                break
            if held.valid or not new.any():
                aside = held.aside_mwh
            full = full | new
            near = self._relaxed(self._with_aside(wanted, aside), full, seconds_left())
        return math.isfinite(cheapest_usd)

    def _with_aside(self, wanted: Wanted, aside_mwh: FloatArray) -> Wanted:
        """What is wanted, with gas by place set aside."""
        area_of_place, withdrawal = self._relaxation.area_of_place, wanted.withdrawal_mwh
        aside = np.bincount(area_of_place, aside_mwh, withdrawal.size)
        return replace(wanted, withdrawal_mwh=withdrawal + aside)

    def _levels(self, wanted: Wanted) -> IntArray:
        return self._relaxation.asked.by_link(wanted.asked, len(self._followers.case.links))

    def _program(self, wanted: Wanted, full: BoolArray) -> LinearProgram:
        """UC beside the areas, with the block beyond the level's full wherever that is said."""
        program = self._relaxation.program_at(wanted.withdrawal_mwh, wanted.asked, wanted.gas)
        commitment, bids = self._followers.commitment, self._followers.levels
        levels = self._levels(wanted)
        needed = np.argwhere(full & (levels < bids.blocks)[:, None])
        rows, columns, values = [], [], []
        for number, (link, hour) in enumerate(needed):
            fleet = commitment.link_fleets[link]
            accepted = commitment.accepted_columns(fleet, hour)
            offered_mw = float(bids.size_mw[link, : levels[link] + 1].sum())
            rows += [number] * (accepted.size + 1)
            columns += [*accepted.tolist(), int(commitment.on_columns[fleet, hour])]
            values += [1.0 / offered_mw] * accepted.size + [-1.0]
        matrix = sp.csr_array((values, (rows, columns)), shape=(needed.shape[0], program.shape[1]))
        return program.with_rows(matrix, lower=np.zeros(needed.shape[0]))

    def _relaxed(self, wanted: Wanted, full: BoolArray, seconds: float) -> FloatArray | None:
        """The cheapest plan with parts of units, if there is one and it is found in time."""
        live = self._relaxation.live_at(self._program(wanted, full), wanted.asked, wanted.gas)
        live.stop_at(time.perf_counter() + seconds)
        return _cheapest(live)

    def _committed(
        self, program: LinearProgram, near: FloatArray, gap: float, seconds: float
    ) -> IntArray | None:
        """The units of the cheapest plan with every integer next to the relaxation's; None where none is."""
        if seconds <= 0:
            return None
        commitment = self._followers.commitment
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        whole = np.flatnonzero(commitment.is_integer)
        lower[whole] = np.maximum(lower[whole], np.floor(near[whole] + TUNING.whole))
        upper[whole] = np.minimum(upper[whole], np.ceil(near[whole] - TUNING.whole))
        limits = SolveLimits(
            gap=gap,
            seconds=seconds,
            processor_seconds=TUNING.plan_seconds,
            feasibility=TUNING.commitment_feasibility,
        )
        return commitment.solve(replace(program, column_lower=lower, column_upper=upper), limits).on

    def _hold(
        self,
        wanted: Wanted,
        program: LinearProgram,
        units: Units,
        offer: Offer,
        below_usd: float = math.inf,
        seconds: float = math.inf,
    ) -> "Held":
        """Offer the cheapest output of units, with gas set aside until EM's answer is valid or too dear."""
        columns = self._followers.commitment.on_columns.ravel()
        fixed = program.with_fixed(columns, units.on.ravel().astype(float))
        live = PersistentLp(
            self._relaxation.with_missed_gas(fixed), feasibility=TUNING.commitment_feasibility
        )
        live.stop_at(time.perf_counter() + seconds)
        levels = self._levels(wanted)
        too_little, aside = np.zeros_like(units.aside_mwh), units.aside_mwh
        taken: BoolArray = np.zeros((levels.size, units.on.shape[1]), dtype=bool)
        for number in range(TUNING.hold_rounds):
            tried = self._planned(live, wanted, aside, levels)
            if tried is None:
                break
            plan, answer = tried
            if answer.leader_cost_usd >= below_usd:
                break
            if offer(answer):
                found = Held(answer.leader_cost_usd, aside, taken)
                is_least = number == 0
                return found if is_least else self._given_back(live, wanted, levels, too_little, found, offer)
            if number == 0:
                taken = self._taken(plan, answer, levels)
            too_little = aside
            aside = np.maximum(aside, self._burnt_beyond(plan, answer) * TUNING.margin_of_over)
        return Held(math.inf, aside, taken)

    def _burnt_beyond(self, plan: FloatArray, answer: PowerAnswer) -> FloatArray:
        """What EM burns beyond a plan by place; what it burns less elsewhere in an area makes up for it."""
        relaxation = self._relaxation
        places, area = relaxation.places, relaxation.area_of_place
        beyond = places.gather @ answer.dispatch.burn_mwh - places.burn @ plan
        more = np.maximum(beyond, 0.0)
        count = relaxation.areas.count
        net, gross = np.bincount(area, beyond, count), np.bincount(area, more, count)
        share = np.divide(np.maximum(net, 0.0), gross, out=np.zeros(count), where=gross > 0)
        found: FloatArray = more * share[area]
        return found

    def _planned(
        self, live: PersistentLp, wanted: Wanted, aside_mwh: FloatArray, levels: IntArray
    ) -> tuple[FloatArray, PowerAnswer] | None:
        """The cheapest output with gas set aside, and EM's answer to it."""
        relaxation = self._relaxation
        withdrawal = self._with_aside(wanted, aside_mwh).withdrawal_mwh
        live.set_row_bounds(relaxation.balance_rows, withdrawal, withdrawal)
        live.stop_after(TUNING.output_iterations)
        columns = _cheapest(live)
        missed_mwh = math.inf if columns is None else columns[relaxation.program.shape[1] :].sum()
        if columns is None or missed_mwh > TUNING.missed:
            return None
        plan = columns[: relaxation.power_width]
        answer = self._followers.answer_to_plan(self._power_stress, plan, levels)
        return None if answer is None else (plan, answer)

    def _given_back(
        self,
        live: PersistentLp,
        wanted: Wanted,
        levels: IntArray,
        too_little_mwh: FloatArray,
        enough: Held,
        offer: Offer,
    ) -> Held:
        """Offer the same with less gas set aside, by halves between too little and enough."""
        for _ in range(TUNING.halvings):
            middle = (too_little_mwh + enough.aside_mwh) / 2
            tried = self._planned(live, wanted, middle, levels)
            if tried is not None and offer(tried[1]):
                cost = min(enough.cost_usd, tried[1].leader_cost_usd)
                enough = replace(enough, cost_usd=cost, aside_mwh=middle)
            else:
                too_little_mwh = middle
        return enough

    def _taken(self, plan: FloatArray, answer: PowerAnswer, levels: IntArray) -> BoolArray:
        """Where EM takes more than planned of plants between their first and their last level."""
        followers = self._followers
        fleets = followers.commitment.link_fleets
        planned_mw = followers.commitment.output_mw(plan)[fleets]
        more: BoolArray = answer.dispatch.output_mw[fleets] > planned_mw + TUNING.taken_mw
        between = (levels > 0) & (levels < followers.levels.blocks)
        return more & between[:, None]


def _cheapest(live: PersistentLp) -> FloatArray | None:
    """The optimal columns; None where there are none."""
    try:
        solution = live.solve(is_bounded=True)
    except SolverError:
        return None
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None
