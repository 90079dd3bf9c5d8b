"""What the followers answer to a commitment: EM's dispatch, GM's prices, and which bids are then invalid."""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.schema import Case
from ppsm.errors import InputError
from ppsm.markets.model.clearing import GasClearing, GasDay
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.markets.model.electricity import Dispatch, ElectricityMarket
from ppsm.markets.model.gas import build_gas_market
from ppsm.markets.model.validity import TOLERANCE, BidLevels


@dataclass(frozen=True, eq=False)
class PowerAnswer:
    """EM at a commitment and offers (links x blocks x hours); its cost is appendix (3a).

    Independent of the gas demand, so worth keeping.
    """

    on: IntArray
    offers: IntArray
    leader_cost_usd: float
    dispatch: Dispatch
    levels: IntArray


@dataclass(frozen=True, eq=False)
class GameAnswer:
    """Both followers' answers to a commitment; ``invalid``: fleets whose bid does not cover their fuel."""

    power: PowerAnswer
    gas: GasDay
    invalid: tuple[str, ...]


class Followers:
    """UC, EM and GM of a case with their live solvers: what a search asks again and again."""

    def __init__(self, case: Case) -> None:
        if not case.links:
            raise InputError(f"the case '{case.name}' has no links, so gas prices reach no plant; add links.")
        self.case = case
        self.commitment = UnitCommitment(case)
        self.electricity = ElectricityMarket(case)
        self.gas = GasClearing(build_gas_market(case))
        self.levels = BidLevels.of(case)
        self._fleets = self.commitment.link_fleets

    def power_answer(self, power_stress: float, on: IntArray, offers: IntArray) -> PowerAnswer | None:
        """EM at a commitment and the plants' offers; None where it cannot serve the load."""
        dispatch = self.electricity.clear(power_stress, on, offers)
        if dispatch is None:
            return None
        cost = self.commitment.commitment_cost_usd(on) + dispatch.cost_usd
        levels = self.levels.selected_levels(offers, on[self._fleets])
        return PowerAnswer(on, offers, cost, dispatch, levels)

    def answer_to_plan(
        self, power_stress: float, columns: FloatArray, levels: IntArray
    ) -> PowerAnswer | None:
        """EM at a plan of UC: its commitment, and the fewest offers that let EM follow it at some levels."""
        on = np.rint(columns[self.commitment.on_columns]).astype(np.int64)
        return self.power_answer(power_stress, on, self.fewest_offers(columns, levels))

    def fewest_offers(self, columns: FloatArray, levels: IntArray) -> IntArray:
        """The fewest offers (links x blocks x hours) that let EM follow a plan of UC at some levels."""
        on = np.rint(columns[self.commitment.on_columns[self._fleets]]).astype(np.int64)
        output = self.commitment.output_mw(columns)[self._fleets]
        return self.levels.fewest_offers(output, on, levels)

    def game_answer(self, power: PowerAnswer, demand_mwh: FloatArray) -> GameAnswer | None:
        """GM at an EM dispatch; None where the withdrawals cannot be served."""
        withdrawal = self.gas.market.withdrawal_mwh(demand_mwh, power.dispatch.burn_mwh)
        caps = self.levels.caps_at(power.levels)
        day = self.gas.clear(withdrawal, caps)
        if day is None:
            return None
        prices = day.prices_usd_per_mwh[self.gas.plants]
        above = np.flatnonzero(prices > caps * (1 + TOLERANCE))
        return GameAnswer(power, day, tuple(self.case.links[plant].fleet for plant in above))
