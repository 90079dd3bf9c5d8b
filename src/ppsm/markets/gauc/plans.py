"""Plans of the leader for a price pattern: commitments whose burn leaves gas prices where the pattern is.

UC beside the gas areas, with the pattern's levels asked for and its supplies and flows decided, is a MILP
whose integers are near those of its relaxation. The fewest offers that allow its output are selected. EM then
may burn more than planned, for two reasons, which two loops mend:

- Offers are of whole units. As much gas is set **aside** for what EM takes beyond the plan, and the output is
  planned again with the units as they are.
- A plant at a level of one or more must offer the block beyond its full ones, and where that is cheap EM
  takes it, whatever the plan says. In the hours in which EM did, the block is planned **full**, and other
  units are looked for.
"""

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
    """Units by fleet and hour that a plan runs, and where (links x hours) the next block is planned full."""

    on: IntArray
    full: BoolArray


class Plans:
    """Plans of one power stress."""

    def __init__(
        self, followers: Followers, relaxation: PowerRelaxation, power_stress: float, known: list[Units]
    ) -> None:
        self._followers, self._relaxation, self._power_stress = followers, relaxation, power_stress
        self._known = known

    def offer_known(self, wanted: Wanted, offer: Offer, is_enough: Callable[[], bool], most: int) -> bool:
        """Offer EM's answers to plans with units of earlier plans, the latest first; whether one is valid."""
        found = False
        for units in self._known[:most]:
            if is_enough():
                break
            found |= self._hold(wanted, self._program(wanted, units.full), units.on, offer) is None
        return found

    def offer(self, wanted: Wanted, gap: float, seconds_left: Callable[[], float], offer: Offer) -> bool:
        """Offer EM's answers to plans; whether one is valid."""
        case = self._followers.case
        full: BoolArray = np.zeros((len(case.links), len(case.load_shape)), dtype=bool)
        for _ in range(TUNING.replans):
            program = self._program(wanted, full)
            on = self._committed(program, gap, seconds_left())
            if on is None:
                return False
            taken = self._hold(wanted, program, on, offer)
            if taken is None:
                self._known.insert(0, Units(on, full))
                return True
            if not (taken & ~full).any():
                return False
            full = full | taken
        return False

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

    def _committed(self, program: LinearProgram, gap: float, seconds: float) -> IntArray | None:
        """The units of the cheapest plan with every integer next to the relaxation's; None where none is."""
        relaxed = _cheapest(PersistentLp(program, feasibility=TUNING.commitment_feasibility))
        if relaxed is None or seconds <= 0:
            return None
        commitment = self._followers.commitment
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        whole = np.flatnonzero(commitment.is_integer)
        lower[whole] = np.maximum(lower[whole], np.floor(relaxed[whole] + TUNING.whole))
        upper[whole] = np.minimum(upper[whole], np.ceil(relaxed[whole] - TUNING.whole))
        seconds = min(seconds, TUNING.plan_seconds)
        limits = SolveLimits(gap=gap, seconds=seconds, feasibility=TUNING.commitment_feasibility)
        return commitment.solve(replace(program, column_lower=lower, column_upper=upper), limits).on

    def _hold(self, wanted: Wanted, program: LinearProgram, on: IntArray, offer: Offer) -> BoolArray | None:
        """Offer the cheapest output of these units, with gas set aside until EM's answer is valid.

        None where one is valid, else the links and hours in which EM took more of a block that must be
        offered than was planned at first.
        """
        fixed = program.with_fixed(self._followers.commitment.on_columns.ravel(), on.ravel().astype(float))
        live = PersistentLp(fixed, feasibility=TUNING.commitment_feasibility)
        levels = self._levels(wanted)
        too_little = aside = np.zeros(wanted.withdrawal_mwh.size)
        taken: BoolArray = np.zeros((levels.size, on.shape[1]), dtype=bool)
        for number in range(TUNING.hold_rounds):
            tried = self._planned(live, wanted.withdrawal_mwh + aside, levels)
            if tried is None:
                return taken
            plan, answer = tried
            if offer(answer):
                self._give_back(live, wanted.withdrawal_mwh, levels, (too_little, aside), offer)
                return None
            if number == 0:
                taken = self._taken(plan, answer, levels)
            places = self._relaxation.places
            over = np.maximum(places.gather @ answer.dispatch.burn_mwh - places.burn @ plan, 0.0)
            more = np.bincount(self._relaxation.area_of_place, over, aside.size)
            too_little, aside = aside, np.maximum(aside, more * TUNING.margin_of_over)
        return taken

    def _planned(
        self, live: PersistentLp, withdrawal_mwh: FloatArray, levels: IntArray
    ) -> tuple[FloatArray, PowerAnswer] | None:
        """The cheapest output at withdrawals, and EM's answer to it."""
        live.set_row_bounds(self._relaxation.balance_rows, withdrawal_mwh, withdrawal_mwh)
        live.stop_at(time.perf_counter() + TUNING.output_seconds)
        columns = _cheapest(live)
        if columns is None:
            return None
        plan = columns[: self._relaxation.power_width]
        answer = self._followers.answer_to_plan(self._power_stress, plan, levels)
        return None if answer is None else (plan, answer)

    def _give_back(
        self,
        live: PersistentLp,
        withdrawal_mwh: FloatArray,
        levels: IntArray,
        aside: tuple[FloatArray, FloatArray],
        offer: Offer,
    ) -> None:
        """Offer the same with less gas set aside, between too little and enough, by halves."""
        too_little, enough = aside
        for _ in range(TUNING.halvings if enough.any() else 0):
            middle = (too_little + enough) / 2
            tried = self._planned(live, withdrawal_mwh + middle, levels)
            is_valid = tried is not None and offer(tried[1])
            too_little, enough = (too_little, middle) if is_valid else (middle, enough)

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
