"""A market so small that a whole release takes milliseconds: for audits of a hundred thousand of them.

Three towns share cheap supply (1 a unit) and have dear supply (3) beyond it. The leader widens the cheap
supply, for 1 a unit in steps of 2, until nobody pays more than 2. Everything has a closed form but step 3b.
"""

import math
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike

from ppsm import Follower, LinearProgram
from ppsm.arrays import FloatArray
from ppsm.fidelity.problem import Bands, Nearness
from ppsm.mechanism.coordination import Decision, LeaderRepair, Outcome, published
from ppsm.mechanism.theory import CostOfPrivacy
from ppsm.privacy import MarketResult
from ppsm.status import Status

TOWNS = ("mill", "forge", "market")
CHEAP, DEAR, SUPPLY, STEP, MOST = 1.0, 3.0, 20.0, 2.0, 15.0


@cache
def _towns(cheap_supply: float) -> Follower:
    eye = np.eye(3)
    program = LinearProgram.from_arrays(
        cost=[CHEAP] * 3 + [DEAR] * 3,
        matrix=np.vstack([np.hstack([eye, eye]), np.concatenate([np.ones(3), np.zeros(3)])]),
        row_lower=[0.0, 0.0, 0.0, -np.inf],
        row_upper=[0.0, 0.0, 0.0, cheap_supply],
    )
    return Follower.from_program(
        program, parameter_map=np.vstack([eye, np.zeros(3)]), nominal=np.zeros(3), parameter_names=TOWNS
    )


class TinyMarket:
    """The three towns as a coordination."""

    entry_names = price_names = TOWNS
    felt_names = ("width",)
    unit = felt_unit = "MWh"
    sensitive_follower = "towns"
    # Mill and forge are in the valley.
    public_zones = (0, 0, 1)

    @cached_property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """From 0 to 20 in each town."""
        return np.zeros(3), np.full(3, 20.0)

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """Those of the towns."""
        return follower_prices[:3]

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """The same: a town is an entry."""
        return prices

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """Widen where prices are (or may be) too high."""
        wide = prices is None or float(prices.max()) > (CHEAP + DEAR) / 2.0
        width = self._width(demand) if wide else self._width(demand) - STEP
        felt = np.array([max(0.0, width)])
        return Decision(felt, self.felt_names, self.felt_unit, float(felt[0]), Status.PROVEN_OPTIMAL)

    def _width(self, demand: FloatArray) -> float:
        """The least width with which all of a demand is cheap."""
        asked = float(np.clip(demand, *self.public_bounds).sum())
        return STEP * max(0, math.ceil((asked - SUPPLY) / STEP))

    def follower_at(self, decision: Decision) -> Follower:
        """The towns at a width, made once: it is public."""
        return _towns(SUPPLY + float(decision.felt[0]))

    def clear(self, demand: ArrayLike) -> Outcome:
        """All of it is cheap at the least width."""
        asked = np.asarray(demand, dtype=float)
        width = self._width(asked)
        values = {self.sensitive_follower: CHEAP * float(asked.sum())}
        prices, felt = np.full(3, CHEAP), np.array([width])
        return Outcome(Status.PROVEN_OPTIMAL, width, width, 0.0, values, prices, felt=felt)

    def market_result(self, demand: ArrayLike) -> MarketResult:
        """What the market publishes."""
        return published(self.clear(demand), self.sensitive_follower, self.price_names, self.felt_names)

    def repaired_for_leader(self, near: Nearness) -> LeaderRepair:
        """No town gets more than the leader can serve; said of every release, so that all have a step 3c."""
        return LeaderRepair(np.minimum(near.center, MOST), f"no town is served with more than {MOST:g}")

    def without_memory(self) -> "TinyMarket":
        """Itself."""
        return self

    def least_cost_at(self, prices: FloatArray) -> None:
        """There is no leader whose cost could be kept."""
        del prices

    def cheapest_day(self, demand: FloatArray, prices: FloatArray, enough: float) -> None:
        """Not asked for where no cost is kept."""
        del demand, prices, enough

    def cost_of_privacy(self, decision: Decision, bands: Bands) -> CostOfPrivacy | str:
        """Not asked here."""
        del decision, bands
        return "the audit does not ask for it"
