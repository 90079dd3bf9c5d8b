"""Price floors: levels that every answer below a cost target must have.

Let Q be the region of burns that such answers can have (:mod:`ppsm.markets.region`), V(q) GM's value at the
demand plus the burn q (convex), q0 a burn with an optimal price vector y0, and a policy with the value
``U(q) = U0 + p'(q - q0) >= V(q)`` on Q and on what is left of Q when place j burns t less
(:mod:`ppsm.markets.policy`). For q in Q and **any** optimal price vector y at q, y is a subgradient of V, so

    y_j t >= V(q) - V(q - t e_j)
          >= V(q0) + y0'(q - q0) - U0 - p'(q - q0) + p_j t
          >= p_j t - (U0 - V(q0)) - max over Q of (p - y0)'(q - q0).

The last line divided by t is a floor of the price at j that holds for every answer below the target. Where it
exceeds a plant's threshold the plant, if it runs, must be at a higher level. The new levels raise UC's
relaxation, which shrinks Q: the argument is repeated until nothing moves.
"""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.markets.clearing import GasDay
from ppsm.markets.evaluate import Followers, GameAnswer
from ppsm.markets.policy import Policy, PolicyFinder
from ppsm.markets.region import BurnRegion, place_map

_ROUNDS = 6
# Parts of a place's least burn by which it is lowered in the argument: the more, the less U0 - V matters, but
# the more room the policy needs.
_STEPS = (0.02, 0.1, 0.3, 1.0)
_LARGEST_STEP_MWH = 400.0


class PriceFloors:
    """Proves levels for a case; regions are kept, because they depend on the power side alone."""

    def __init__(self, followers: Followers) -> None:
        self.followers = followers
        self.places, self._place_of_plant = np.unique(followers.gas.plants, return_inverse=True)
        self._finder = PolicyFinder(followers.gas.market, self.places)
        self._place_map = place_map(followers)
        self._regions: dict[tuple[float, tuple[int, ...], float], BurnRegion] = {}
        self._least_running = self._least_running_mwh()

    def _least_running_mwh(self) -> FloatArray:
        """Least daily burn of a plant that runs at all: one unit for its minimum time at its least output."""
        case = self.followers.case
        fleets = {fleet.fleet: fleet for fleet in case.fleets}
        hours = len(case.load_shape)
        least = []
        for link in case.links:
            fleet = fleets[link.fleet]
            time = min(max(fleet.min_up_h, 1), hours)
            least.append(fleet.unit_min_mw * time * link.burn_mwh_per_mwh)
        return np.array(least)

    def levels(
        self,
        power_stress: float,
        demand_mwh: FloatArray,
        target_usd: float,
        best: GameAnswer,
        seconds_left: Callable[[], float],
    ) -> IntArray | None:
        """Levels of every answer that costs less than the target, by plant; None if no proof is found."""
        levels = np.zeros(self.followers.levels.count, dtype=np.int64)
        for _ in range(_ROUNDS):
            region = self._region(power_stress, levels, target_usd, seconds_left)
            if region is None:
                break
            if region.empty:
                return best.power.levels.copy()  # no answer below the target at all
            floors = self._floors(demand_mwh, region, best, seconds_left)
            raised = np.maximum(levels, self.followers.levels.needed(floors))
            if (raised == levels).all():
                break
            levels = raised
        return levels

    def _region(
        self, power_stress: float, levels: IntArray, target_usd: float, seconds_left: Callable[[], float]
    ) -> BurnRegion | None:
        target_usd = _rounded_up(target_usd)
        key = (power_stress, tuple(levels.tolist()), target_usd)
        if key in self._regions:
            return self._regions[key]
        program = self.followers.commitment.at(power_stress, self.followers.levels.least_at(levels))
        if program is None:
            return None
        try:
            region = BurnRegion(self.followers, program, target_usd)
            if not region.empty and not region.bound(seconds_left):
                return None
        except SolverError:  # an LP that HiGHS cannot settle proves nothing; the bound stays what it was
            return None
        self._regions[key] = region
        return region

    def _floors(
        self, demand_mwh: FloatArray, region: BurnRegion, best: GameAnswer, seconds_left: Callable[[], float]
    ) -> FloatArray:
        """Proven floors of the gas price by plant in $/MWh (-inf where nothing is proven).

        The total burn is cut where the merit order of supply has its steps: within a slice one price rules.
        """
        floors = np.full(self.followers.levels.count, np.inf)
        burn = np.clip(self._place_map @ best.power.dispatch.burn_mwh, region.lower_mwh, region.upper_mwh)
        for part in self._slices(demand_mwh, region):
            floors = np.minimum(floors, self._floors_of_slice(demand_mwh, part, burn, seconds_left))
            if (floors == -np.inf).all():
                break
        return floors

    def _slices(self, demand_mwh: FloatArray, region: BurnRegion) -> list[BurnRegion]:
        market = self.followers.gas.market
        supply = market.variables.positions("supply_mwh")
        order = supply[np.argsort(market.program.cost[supply])]
        steps = np.cumsum(market.program.column_upper[order]) - demand_mwh.sum()
        low, high = region.total_mwh
        cuts = [low, *steps[(steps > low) & (steps < high)].tolist(), high]
        return [region.between(start, end) for start, end in itertools.pairwise(cuts)]

    def _floors_of_slice(
        self, demand_mwh: FloatArray, region: BurnRegion, burn: FloatArray, seconds_left: Callable[[], float]
    ) -> FloatArray:
        floors = np.full(self.followers.levels.count, -np.inf)
        base = _with_total(burn, region)
        market = self.followers.gas.market
        withdrawal = market.withdrawal_mwh(demand_mwh)
        withdrawal[self.places] += base
        day = self.followers.gas.clear(withdrawal)
        if day is None:
            return floors
        prices = day.prices_usd_per_mwh
        wanted = self.followers.levels.needed(prices[self.followers.gas.plants])
        reach = np.maximum(region.lower_mwh[self._place_of_plant], self._least_running)
        for moved, policy in self._policies(region, base, day, withdrawal, reach, seconds_left):
            floors = np.maximum(floors, self._floors_by(policy, region, base, day, moved))
            if (self.followers.levels.needed(floors) >= wanted).all():
                break
        return floors

    def _policies(
        self,
        region: BurnRegion,
        base: FloatArray,
        day: GasDay,
        withdrawal: FloatArray,
        reach: FloatArray,
        seconds_left: Callable[[], float],
    ) -> Iterator[tuple[FloatArray, Policy]]:
        """Policies from cheap to dear, those that served before first; with what plants burn less."""
        steps = [np.minimum(step * reach, _LARGEST_STEP_MWH) for step in _STEPS]
        lowered = [np.zeros(self.places.size) for _ in steps]
        for moved, by_place in zip(steps, lowered, strict=True):
            np.maximum.at(by_place, self._place_of_plant, moved)
        for moved, by_place in zip(steps, lowered, strict=True):
            policy = self._finder.recall(withdrawal, base, region, by_place, day)
            if policy is not None:
                yield moved, policy
        for moved, by_place in zip(steps, lowered, strict=True):
            policy = self._finder.find(withdrawal, base, region, by_place, day, seconds_left)
            if policy is None:
                return
            yield moved, policy

    def _floors_by(
        self, policy: Policy, region: BurnRegion, base: FloatArray, day: GasDay, moved: FloatArray
    ) -> FloatArray:
        """The floors that a policy proves, by plant, when its place burns ``moved`` less."""
        slope = policy.slope_usd_per_mwh
        difference = slope - day.prices_usd_per_mwh[self.places]
        tilt = float(region.largest(difference[None, :])[0]) - float(difference @ base)
        # Rounding of two linear programs must not pass for a proof.
        excess = policy.base_cost_usd - day.cost_usd + max(tilt, 0.0) + 1e-8 * abs(day.cost_usd)
        floors: FloatArray = slope[self._place_of_plant] - excess / np.maximum(moved, 1e-9)
        return floors


def _rounded_up(target_usd: float) -> float:
    """The target with five digits more or less: near targets share a region."""
    unit = 10.0 ** (math.floor(math.log10(max(abs(target_usd), 1e-9))) - 5)
    return math.ceil(target_usd / unit) * unit


def _with_total(burn: FloatArray, region: BurnRegion) -> FloatArray:
    """A burn near the given one whose total is in the middle of the region's."""
    missing = sum(region.total_mwh) / 2 - float(burn.sum())
    room = region.upper_mwh - burn if missing > 0 else burn - region.lower_mwh
    share = min(abs(missing) / max(float(room.sum()), 1e-9), 1.0)
    moved: FloatArray = burn + np.sign(missing) * share * room
    return moved
