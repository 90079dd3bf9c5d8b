"""GAUC by price patterns: areas, relaxation, search and plans together, kept by power stress.

Areas assume that pressures bind nowhere. Answers do not lean on that (GM clears with pressures); the bound
does, so that it counts only where :mod:`ppsm.markets.gauc.pressure` proves it for every burn that answers
below the incumbent can have.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.markets.gauc.areas import AreaMarket, GasAreas
from ppsm.markets.gauc.cases import CaseTree
from ppsm.markets.gauc.deliverable import largest_burn_mwh
from ppsm.markets.gauc.pattern_search import PatternSearch, PricedPattern
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PriceSteps, root_box
from ppsm.markets.gauc.plans import Offer, Plans, Units, Wanted
from ppsm.markets.gauc.pressure import PressureCheck
from ppsm.markets.gauc.region import BurnRegion
from ppsm.markets.gauc.relaxation import AskedLevels, Cut, PlaceMap, PowerRelaxation
from ppsm.markets.model.followers import Followers
from ppsm.markets.tuning import TUNING


@dataclass(eq=False)
class Learned:
    """What is known of one power stress, whatever the gas demand.

    Cuts, steps that matter, cases that patterns were told apart by, units of plans.
    """

    cuts: list[Cut] = field(default_factory=list)
    steps: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cases: CaseTree = field(default_factory=CaseTree)
    units: list[Units] = field(default_factory=list)


class StressPatterns:
    """What is kept of one power stress and network: UC's relaxation beside its areas, and plans."""

    def __init__(self, followers: Followers, power_stress: float, areas: GasAreas, learned: Learned) -> None:
        self.market = AreaMarket(areas)
        self.relaxation = PowerRelaxation(followers, power_stress, areas)
        self.learned = learned
        self.plans = Plans(followers, self.relaxation, power_stress, learned.units)
        self.planned: list[PatternBox] = []


class PricePatterns:
    """Finds answers and bounds by price patterns, for any power stress and demand of a case."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._places = PlaceMap(followers)
        self._learned: dict[float, Learned] = {}
        self._kept: dict[tuple[float, bytes], StressPatterns] = {}
        self._areas: dict[bytes, GasAreas] = {}
        self._pressure = PressureCheck(followers.gas.market, self._places)

    def search(self, power_stress: float, demand_mwh: FloatArray) -> "DemandPatterns | None":
        """The search at a demand; None where gas is wanted that cannot come.

        None too where a bid is below zero: programs of patterns count costs from zero on.
        """
        if any(bid.price_usd_per_mwh < 0.0 for bid in self._followers.case.bids):
            return None
        withdrawal = self._followers.gas.market.withdrawal_mwh(demand_mwh)
        gives = withdrawal < 0
        areas = self._network(gives)
        gathered = areas.gathered(withdrawal)
        if gathered is None or (areas.of_junction[self._places.junctions] < 0).any():
            return None
        kept = self._stress(power_stress, gives)
        search = PatternSearch(
            kept.relaxation,
            kept.market,
            kept.learned.cuts,
            gathered,
            self._largest_burn(),
            kept.learned.steps,
            kept.learned.cases,
        )
        return DemandPatterns(kept, search, gathered)

    def relaxation(self, power_stress: float) -> PowerRelaxation:
        """UC's relaxation beside the areas of a network to which no delivery gives gas."""
        return self._stress(
            power_stress, np.zeros(len(self._followers.case.junctions), dtype=bool)
        ).relaxation

    def _network(self, gives: BoolArray) -> GasAreas:
        """The areas where these junctions give gas."""
        key = gives.tobytes()
        if key not in self._areas:
            self._areas[key] = GasAreas.of(self._followers.case, gives)
        return self._areas[key]

    def _stress(self, power_stress: float, gives: BoolArray) -> StressPatterns:
        """What is kept of a power stress and network, made where it is not; the one unused for longest goes.

        Each keeps a relaxation alive, and noise has many ways to make demands negative, each a network.
        """
        key = (power_stress, gives.tobytes())
        kept = self._kept.pop(key, None)
        if kept is None:
            learned = self._learned.setdefault(power_stress, Learned())
            kept = StressPatterns(self._followers, power_stress, self._network(gives), learned)
        self._kept[key] = kept
        if len(self._kept) > TUNING.networks_kept:
            del self._kept[next(iter(self._kept))]
        return kept

    def learned(self, power_stress: float) -> tuple[Cut, ...]:
        """The cuts that are known of a power stress; each holds for every commitment and demand."""
        known = self._learned.get(power_stress)
        return () if known is None else tuple(known.cuts)

    def _largest_burn(self) -> BurnBox:
        """All that plants can burn."""
        most = self._places.gather @ largest_burn_mwh(self._followers)
        return BurnBox(np.zeros(most.size), most, (0.0, float(most.sum())))

    def have_no_answer(
        self, power_stress: float, demand_mwh: FloatArray, seconds_left: Callable[[], float]
    ) -> bool:
        """Whether every pattern of prices misses gas or a level, whatever is committed; False if not proven.

        The search is that for the cheapest pattern, with costs of nothing but what is missed. It takes that
        pressures bind nowhere, and a second opinion. All withdrawals are a little smaller than they are, far
        beyond the tolerances of linear programs: prices rise with every withdrawal, so that what has no
        answer then has none with more. That is no margin where gas is given: what linear programs alone
        rule out is no proof here (gas that nobody can serve is told before, by ``ServableDemand``).
        """
        withdrawal = self._followers.gas.market.withdrawal_mwh(demand_mwh)
        areas = self._network(withdrawal < 0)
        gathered = areas.gathered(withdrawal)
        if gathered is None or (areas.of_junction[self._places.junctions] < 0).any() or seconds_left() <= 0:
            return False
        steps = PriceSteps.of(areas, AskedLevels.of(self._followers))
        if not self._pressure.never_binds(areas, steps, withdrawal, self._largest_burn(), seconds_left):
            return False
        if seconds_left() <= 0:
            return False
        relaxation = PowerRelaxation(self._followers, power_stress, areas, of_missing=True)
        none = np.empty(0, dtype=np.int64)
        less = np.where(gathered > 0.0, np.maximum(gathered - TUNING.missed_mwh, 0.0), gathered)
        search = PatternSearch(relaxation, AreaMarket(areas), [], less, self._largest_burn(), none)
        search.target_usd = TUNING.clearly_missed_mwh * relaxation.missed_gas_usd_per_mwh
        search.run(seconds_left)
        is_above = search.bound_usd >= search.target_usd * (1 - 2 * TUNING.pattern_precision)
        return is_above and search.has_counted and search.is_confirmed(seconds_left)

    def pressures_are_free(
        self,
        power_stress: float,
        demand_mwh: FloatArray,
        target_usd: float,
        seconds_left: Callable[[], float],
    ) -> bool:
        """Whether pressures bind at no burn that an answer below a target can have.

        Where capacities are what pressures can carry, no burn at all needs to be excluded.
        """
        withdrawal = self._followers.gas.market.withdrawal_mwh(demand_mwh)
        areas = self._areas[(withdrawal < 0).tobytes()]
        kept = self._kept[power_stress, (withdrawal < 0).tobytes()]
        steps = PriceSteps.of(areas, kept.relaxation.asked)
        if self._pressure.never_binds(areas, steps, withdrawal, self._largest_burn(), seconds_left):
            return True
        program = self._followers.commitment.at(power_stress)
        if program is None:
            return False
        region = BurnRegion(self._followers, power_stress, program, target_usd)
        if region.empty:
            return True
        if not region.bound(seconds_left):
            return False
        gathered = areas.gathered(withdrawal)
        if gathered is None:
            return False
        burn = BurnBox(region.lower_mwh, region.upper_mwh, region.total_mwh)
        root = root_box(kept.market, steps, gathered, burn, kept.relaxation.area_of_place)
        root = None if root is None else root.narrowed(areas)
        if root is None:
            return True  # none of these burns can be served
        return self._pressure.holds(areas, steps, withdrawal, burn, root, seconds_left)


@dataclass(frozen=True, eq=False)
class PatternLimits:
    """A pattern as unit commitment sees it: levels asked for, bounds of the gas columns, prices by area.

    ``relaxation`` is what they are levels and columns of.
    """

    relaxation: PowerRelaxation
    asked: BoolArray
    gas: tuple[FloatArray, FloatArray]
    prices_usd_per_mwh: FloatArray

    @classmethod
    def at_prices(
        cls, followers: Followers, relaxation: PowerRelaxation, prices_usd_per_mwh: FloatArray
    ) -> "PatternLimits":
        """Those of given prices by junction."""
        areas, asked = relaxation.areas, relaxation.asked
        by_area = areas.by_area(prices_usd_per_mwh)
        levels = followers.levels.needed(prices_usd_per_mwh[followers.gas.plants])
        return cls(relaxation, levels[asked.link] >= asked.level, areas.limits_at(by_area), by_area)


class DemandPatterns:
    """One search: its bound (where pressures bind nowhere) and the answers that its patterns lead to."""

    def __init__(self, kept: StressPatterns, search: PatternSearch, withdrawal_mwh: FloatArray) -> None:
        self._kept, self._search, self._withdrawal = kept, search, withdrawal_mwh

    @property
    def bound_usd(self) -> float:
        """Of all answers below the target, where pressures bind nowhere."""
        return self._search.bound_usd

    def look_below(self, target_usd: float) -> None:
        """Look for answers below a target only."""
        self._search.target_usd = target_usd

    def run(self, seconds_left: Callable[[], float], is_enough: Callable[[], bool] = lambda: False) -> None:
        """Find the cheapest pattern and prove it, or until what was found ``is_enough``."""
        self._search.run(seconds_left, is_enough)
        self._kept.learned.steps = self._search.kept_steps

    def cheaper_near(
        self, prices_usd_per_mwh: FloatArray, seconds_left: Callable[[], float]
    ) -> PricedPattern | None:
        """A pattern below the target and near prices by junction, as soon as there is one; None without.

        Turns end the search, so that a busy machine finds the same; seconds are beyond them.
        """
        search, relaxation = self._search, self._kept.relaxation
        by_area = relaxation.areas.by_area(prices_usd_per_mwh)

        def is_enough() -> bool:
            return search.cheapest_below_target is not None or search.turns >= TUNING.turns_near

        for reach in TUNING.classes_near:
            search.look_near(by_area, reach)
            self.run(seconds_left, is_enough)
            if search.cheapest_below_target is not None:
                break
        return search.cheapest_below_target

    def limits_of(self, box: PatternBox) -> "PatternLimits":
        """What a pattern is for unit commitment."""
        return PatternLimits(self._kept.relaxation, *self._search.limits_of(box), self._search.prices_of(box))

    def plan_as_before(self, offer: Offer) -> None:
        """Offer EM's answers to known units at the patterns that were planned for last, until one is valid.

        A demand near an earlier one mostly has its pattern, so that there is an answer before any search.
        """
        for box in self._kept.planned[: TUNING.patterns_for_known_units]:
            asked, gas = self._search.limits_of(box)
            wanted = Wanted(self._withdrawal, asked, gas)
            if self._kept.plans.offer_known(wanted, offer, 1, lambda: math.inf):
                return

    def is_confirmed(self, seconds_left: Callable[[], float]) -> bool:
        """A second opinion on the bound."""
        return self._search.is_confirmed(seconds_left)

    @property
    def is_refuted(self) -> bool:
        """Whether the second opinion found a pattern below the bound."""
        return self._search.is_refuted

    def plan(
        self,
        gap: float,
        seconds_left: Callable[[], float],
        offer: Offer,
        enough_usd: Callable[[float], float],
    ) -> None:
        """Offer EM's answers to plans for the cheapest patterns, the cheapest first, until one is enough.

        ``enough_usd`` says from a bound what an answer may cost, and zero where there is such an answer.
        Units of earlier plans come first: to run them otherwise takes no search.
        """
        plans = self._kept.plans
        patterns = self._search.cheapest(TUNING.patterns_planned)
        wanted = [Wanted(self._withdrawal, *self._search.limits_of(priced.box)) for priced in patterns]
        for priced, each in zip(patterns[: TUNING.patterns_for_known_units], wanted, strict=False):
            if plans.offer_known(each, offer, TUNING.units_tried, lambda: enough_usd(self.bound_usd)):
                self._remember(priced.box)
        closely = [share * gap for share in TUNING.plan_shares_of_gap]
        for plan_gap, (priced, each) in product(closely, zip(patterns, wanted, strict=True)):
            # what the next pattern costs at least may be no better than what there is
            is_enough = partial(_is_enough, enough_usd, priced.relaxed.bound_usd)
            if is_enough():
                continue
            if seconds_left() <= 0:
                return
            if plans.offer(each, priced.relaxed.columns, plan_gap, seconds_left, offer, is_enough):
                self._remember(priced.box)

    def _remember(self, box: PatternBox) -> None:
        """Keep a pattern with a valid plan, the latest first and once."""
        others = [each for each in self._kept.planned if each.key != box.key]
        self._kept.planned[:] = [box, *others][: TUNING.patterns_planned]


def _is_enough(enough_usd: Callable[[float], float], bound_usd: float) -> bool:
    """Whether there is an answer that is good enough if this is the bound."""
    return enough_usd(bound_usd) <= 0
