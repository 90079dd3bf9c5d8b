"""Price floors: levels that every answer below a cost target must have.

Let Q be the region of burns that such answers can have (:mod:`ppsm.markets.gauc.region`), V(q) GM's value at
the demand plus the burn q (convex), q0 a burn with an optimal price vector y0, and a recourse with the value
``U(q) = U0 + p'(q - q0) >= V(q)`` on Q and on what is left of Q when place j burns t less
(:mod:`ppsm.markets.gauc.recourse`). For q in Q and **any** optimal price vector y at q, y is a subgradient of
V, so

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
from dataclasses import dataclass
from functools import partial

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.recourse import AffineRecourse, RecourseFinder
from ppsm.markets.gauc.region import BurnRegion, place_map
from ppsm.markets.model.clearing import GasDay
from ppsm.markets.model.followers import Followers, GameAnswer
from ppsm.markets.tuning import TUNING


@dataclass(frozen=True, eq=False)
class ProvenLevels:
    """Levels that all answers below a target have, by plant; ``nothing`` where there are no such answers."""

    levels: IntArray
    nothing: bool = False


class PriceFloors:
    """Proves levels for a case; regions are kept, because they depend on the power side alone."""

    def __init__(self, followers: Followers) -> None:
        self.followers = followers
        self.places, self._place_of_plant = np.unique(followers.gas.plants, return_inverse=True)
        self._finder = RecourseFinder(followers.gas.market, self.places)
        self._place_map = place_map(followers)
        self._regions: dict[tuple[float, tuple[int, ...], float], BurnRegion] = {}
        self._empty: list[tuple[float, float, IntArray]] = []
        self._served: list[tuple[int, FloatArray]] = []
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
    ) -> ProvenLevels:
        """Levels of every answer that costs less than the target; zero where nothing is proven."""
        target = _rounded_up(target_usd, best.power.leader_cost_usd - target_usd)
        levels = np.zeros(self.followers.levels.count, dtype=np.int64)
        region: BurnRegion | None = None
        for _ in range(TUNING.floor_rounds):
            if self._is_known_empty(power_stress, target, levels):
                return ProvenLevels(levels, nothing=True)
            if seconds_left() <= 0:
                break
            try:
                region = self._region(power_stress, levels, target, region, seconds_left)
                if region is None:
                    break
                if region.empty:
                    self._note_empty(power_stress, target, levels)
                    continue
                empty_at = partial(self._is_known_empty, power_stress, target, levels)
                floors = self._floors(demand_mwh, region, best, empty_at, seconds_left)
            except SolverError:  # an LP that HiGHS cannot settle proves nothing
                break
            raised = np.maximum(levels, self.followers.levels.needed(floors))
            if (raised == levels).all():
                break
            levels = raised
        return ProvenLevels(levels)

    def _note_empty(self, power_stress: float, target_usd: float, levels: IntArray) -> None:
        """Remember that nothing at these levels is below the target, in place of what follows from it."""
        others = [
            (stress, most, least)
            for stress, most, least in self._empty
            if not (stress == power_stress and most <= target_usd and bool((least >= levels).all()))
        ]
        self._empty = [*others, (power_stress, target_usd, levels)]

    def _is_known_empty(self, power_stress: float, target_usd: float, *levels: IntArray) -> bool:
        """Whether nothing at all of these levels is below the target, as nothing is at lower ones."""
        highest = np.maximum.reduce(levels)
        return any(
            stress == power_stress and target_usd <= most and bool((highest >= least).all())
            for stress, most, least in self._empty
        )

    def _region(
        self,
        power_stress: float,
        levels: IntArray,
        target_usd: float,
        within: BurnRegion | None,
        seconds_left: Callable[[], float],
    ) -> BurnRegion | None:
        key = (power_stress, tuple(levels.tolist()), target_usd)
        if key in self._regions:
            self._regions[key] = self._regions.pop(key)  # the last one used is dropped last
            return self._regions[key]
        program = self.followers.commitment.at(power_stress, self.followers.levels.least_at(levels))
        if program is None:
            return None
        region = BurnRegion(self.followers, power_stress, program, target_usd, within)
        if not region.empty and not region.bound(seconds_left):
            return None
        self._regions[key] = region
        if len(self._regions) > TUNING.regions_kept:
            del self._regions[next(iter(self._regions))]
        return region

    def _floors(
        self,
        demand_mwh: FloatArray,
        region: BurnRegion,
        best: GameAnswer,
        empty_at: Callable[[IntArray], bool],
        seconds_left: Callable[[], float],
    ) -> FloatArray:
        """Proven floors of the gas price by plant in $/MWh (-inf where nothing is proven).

        The total burn is cut where the merit order of supply has its steps: within a slice one price rules. A
        slice whose floors ask for levels at which there is no answer holds none: its floors are infinite.
        """
        floors = np.full(self.followers.levels.count, np.inf)
        burn = np.clip(self._place_map @ best.power.dispatch.burn_mwh, region.lower_mwh, region.upper_mwh)
        for part in self._slices(demand_mwh, region):
            if seconds_left() <= 0:  # the slices that are left may hold anything
                return np.full(self.followers.levels.count, -np.inf)
            found = self._floors_of_slice(demand_mwh, part, burn, empty_at, seconds_left)
            if not empty_at(self.followers.levels.needed(found)):
                floors = np.minimum(floors, found)
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
        self,
        demand_mwh: FloatArray,
        region: BurnRegion,
        burn: FloatArray,
        empty_at: Callable[[IntArray], bool],
        seconds_left: Callable[[], float],
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
        for moved, recourse in self._recourses(region, base, withdrawal, seconds_left):
            floors = np.maximum(floors, self._floors_by(recourse, region, base, day, moved))
            needed = self.followers.levels.needed(floors)
            if (needed >= wanted).all() or empty_at(needed):
                break
        return floors

    def _recourses(
        self,
        region: BurnRegion,
        base: FloatArray,
        withdrawal: FloatArray,
        seconds_left: Callable[[], float],
    ) -> Iterator[tuple[FloatArray, AffineRecourse]]:
        """Recourses, those that served before first, then new ones; with what plants burn less."""
        reach = np.maximum(region.lower_mwh[self._place_of_plant], self._least_running)
        steps = [np.minimum(step * reach, TUNING.most_lowered_mwh) for step in TUNING.lowered_shares]
        lowered = [np.zeros(self.places.size) for _ in steps]
        for moved, by_place in zip(steps, lowered, strict=True):
            np.maximum.at(by_place, self._place_of_plant, moved)
        for step, gains in list(self._served):
            recourse = self._finder.recall(gains, withdrawal, base, region, lowered[step])
            if recourse is not None:
                self._remember(step, gains)
                yield steps[step], recourse
        for step, (moved, by_place) in enumerate(zip(steps, lowered, strict=True)):
            recourse = self._finder.find(withdrawal, base, region, by_place, seconds_left)
            if recourse is None:
                return
            self._remember(step, recourse.gains)
            yield moved, recourse

    def _remember(self, step: int, gains: FloatArray) -> None:
        """Put a recourse first among those that served at some step."""
        others = [known for known in self._served if not np.array_equal(known[1], gains)]
        self._served = [(step, gains), *others][: TUNING.recourses_kept]

    def _floors_by(
        self, recourse: AffineRecourse, region: BurnRegion, base: FloatArray, day: GasDay, moved: FloatArray
    ) -> FloatArray:
        """The floors that a recourse proves, by plant, when its place burns ``moved`` less."""
        slope = recourse.slope_usd_per_mwh
        difference = slope - day.prices_usd_per_mwh[self.places]
        tilt = float(region.largest(difference[None, :])[0]) - float(difference @ base)
        # Rounding of two linear programs must not pass for a proof.
        above = max(recourse.base_cost_usd - day.cost_usd, 0.0)
        excess = above + max(tilt, 0.0) + TUNING.value_rounding * abs(day.cost_usd)
        floors: FloatArray = slope[self._place_of_plant] - excess / np.maximum(
            moved, TUNING.least_lowered_mwh
        )
        return floors


def _rounded_up(target_usd: float, room_usd: float) -> float:
    """The target up to a small part of the room to the incumbent: near targets share a region."""
    if room_usd <= 0:
        return target_usd
    unit = 10.0 ** math.floor(math.log10(TUNING.target_rounding * room_usd))
    return math.ceil(target_usd / unit) * unit


def _with_total(burn: FloatArray, region: BurnRegion) -> FloatArray:
    """A burn near the given one whose total is in the middle of the region's."""
    missing = sum(region.total_mwh) / 2 - float(burn.sum())
    room = region.upper_mwh - burn if missing > 0 else burn - region.lower_mwh
    most = float(room.sum())
    share = min(abs(missing) / most, 1.0) if most > 0 else 0.0
    moved: FloatArray = burn + np.sign(missing) * share * room
    return moved
