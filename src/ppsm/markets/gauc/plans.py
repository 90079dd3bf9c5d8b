"""Plans of the leader for a price pattern: commitments whose burn leaves gas prices where the pattern is.

UC beside the gas areas, with the pattern's levels asked for and its supplies and flows decided, is a MILP
whose integers are near those of its relaxation. The fewest offers that allow its output are selected. They
are of whole units, so that EM may burn a little more than planned: as much gas is set **aside** for that, and
the output is planned again, with the units as they are, or with others where these leave no room.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.relaxation import PowerRelaxation
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.tuning import TUNING
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


class Plans:
    """Plans of one power stress."""

    def __init__(self, followers: Followers, relaxation: PowerRelaxation, power_stress: float) -> None:
        self._followers, self._relaxation, self._power_stress = followers, relaxation, power_stress
        self._units: list[IntArray] = []

    def offer_known(self, wanted: Wanted, offer: Offer, is_enough: Callable[[], bool]) -> bool:
        """Offer EM's answers to plans with units of earlier plans, the latest first; whether one is valid."""
        found = False
        for units in self._units[: TUNING.units_tried]:
            if is_enough():
                break
            found |= self._hold(wanted, units, offer) is None
        return found

    def offer(self, wanted: Wanted, gap: float, seconds_left: Callable[[], float], offer: Offer) -> bool:
        """Offer EM's answers to plans; whether one is valid."""
        aside = np.zeros(wanted.withdrawal_mwh.size)
        for _ in range(TUNING.replans):
            units = self._committed(wanted, aside, gap, seconds_left())
            if units is None:
                return False
            needed = self._hold(wanted, units, offer)
            if needed is None:
                self._units.insert(0, units)
                return True
            aside = np.maximum(aside, needed)
        return False

    def _committed(self, wanted: Wanted, aside: FloatArray, gap: float, seconds: float) -> IntArray | None:
        """The units of the cheapest plan with every integer next to the relaxation's; None where none is."""
        withdrawal = wanted.withdrawal_mwh + aside
        relaxed = self._relaxation.solve(withdrawal, wanted.asked, wanted.gas)
        if relaxed is None or not relaxed.is_served or seconds <= 0:
            return None
        commitment = self._followers.commitment
        program = self._relaxation.program_at(withdrawal, wanted.asked, wanted.gas)
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        whole = np.flatnonzero(commitment.is_integer)
        lower[whole] = np.maximum(lower[whole], np.floor(relaxed.columns[whole] + TUNING.whole))
        upper[whole] = np.minimum(upper[whole], np.ceil(relaxed.columns[whole] - TUNING.whole))
        seconds = min(seconds, TUNING.plan_seconds)
        limits = SolveLimits(gap=gap, seconds=seconds, feasibility=TUNING.commitment_feasibility)
        return commitment.solve(replace(program, column_lower=lower, column_upper=upper), limits).on

    def _hold(self, wanted: Wanted, units: IntArray, offer: Offer) -> FloatArray | None:
        """Offer the cheapest output of these units, with gas set aside until EM's answer is valid.

        None where one is valid, else the gas to set aside by area.
        """
        followers, relaxation = self._followers, self._relaxation
        program = relaxation.program_at(wanted.withdrawal_mwh, wanted.asked, wanted.gas)
        fixed = program.with_fixed(followers.commitment.on_columns.ravel(), units.ravel().astype(float))
        live = PersistentLp(fixed, feasibility=TUNING.commitment_feasibility)
        levels = relaxation.asked.by_link(wanted.asked, len(followers.case.links))
        aside = np.zeros(wanted.withdrawal_mwh.size)
        for _ in range(TUNING.hold_rounds):
            plan = self._planned(live, wanted.withdrawal_mwh + aside)
            answer = None if plan is None else followers.answer_to_plan(self._power_stress, plan, levels)
            if plan is None or answer is None:
                return aside
            if offer(answer):
                self._give_back(live, wanted, aside, levels, offer)
                return None
            places = relaxation.places
            over = np.maximum(places.gather @ answer.dispatch.burn_mwh - places.burn @ plan, 0.0)
            more = np.bincount(relaxation.area_of_place, over, aside.size)
            aside = np.maximum(aside, more * TUNING.margin_of_over)
        return aside

    def _give_back(
        self,
        live: PersistentLp,
        wanted: Wanted,
        aside: FloatArray,
        levels: IntArray,
        offer: Offer,
    ) -> None:
        """Offer the same with less set aside, by halves, while that stays valid."""
        least, most = 0.0, 1.0
        for _ in range(TUNING.halvings if aside.any() else 0):
            share = (least + most) / 2
            plan = self._planned(live, wanted.withdrawal_mwh + share * aside)
            answer = (
                None if plan is None else self._followers.answer_to_plan(self._power_stress, plan, levels)
            )
            is_valid = answer is not None and offer(answer)
            least, most = (least, share) if is_valid else (share, most)

    def _planned(self, live: PersistentLp, withdrawal_mwh: FloatArray) -> FloatArray | None:
        count = withdrawal_mwh.size
        rows = np.arange(live.program.shape[0] - count, live.program.shape[0])
        live.set_row_bounds(rows, withdrawal_mwh, withdrawal_mwh)
        live.stop_at(time.perf_counter() + TUNING.output_seconds)
        try:
            solution = live.solve(is_bounded=True)
        except SolverError:
            return None
        if solution.status is not Status.PROVEN_OPTIMAL:
            return None
        return solution.columns[: self._relaxation.power_width]
