"""Search the price patterns for the one that costs the leader least.

The patterns are integer points (:mod:`ppsm.markets.gauc.patterns`), their cost is known through cuts
(:mod:`ppsm.markets.gauc.relaxation`). In turn, the pattern that is cheapest by the cuts so far is found, and
UC's relaxation says what it really costs, which is a new cut; until the two agree.

Most steps of prices do not matter. The search begins with a few and adds those that the prices of cheap
patterns lie on, so that it counts finely only where the leader would like to be.
The bound that comes out is one solver's word, so that it counts only after a second opinion.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.markets.gauc.areas import AreaMarket
from ppsm.markets.gauc.cases import Branch, CaseTree, CheapestCase, cheapest_by_cases
from ppsm.markets.gauc.patterns import (
    BurnBox,
    PatternBox,
    PatternProgram,
    PatternSpace,
    PriceSteps,
    root_box,
)
from ppsm.markets.gauc.relaxation import Cut, PowerRelaxation, Relaxed
from ppsm.markets.tuning import TUNING
from ppsm.status import relative_gap

_FINEST = TUNING.pattern_precision / 2


def _for_ever() -> float:
    return math.inf


@dataclass(frozen=True, eq=False)
class PricedPattern:
    """A pattern and the cheapest point of UC's relaxation with its prices."""

    box: PatternBox
    relaxed: Relaxed


@dataclass(frozen=True, eq=False)
class CountedPatterns:
    """Patterns counted by some of the steps: the program that knows them."""

    space: PatternSpace
    largest_flows_mwh: FloatArray
    kept: IntArray
    program: PatternProgram

    @classmethod
    def of(
        cls, space: PatternSpace, flows_mwh: FloatArray, steps: IntArray, cuts: list[Cut], limit_usd: float
    ) -> "CountedPatterns":
        """Count by these steps, as far as the space has them."""
        root = space.root
        inside = (steps > root.lowest.min()) & (steps <= root.highest.max())
        kept = np.unique(steps[inside]).astype(np.int64)
        program = PatternProgram(space, kept, flows_mwh, limit_usd)
        for cut in cuts:
            program.add_cut(cut)
        return cls(space, flows_mwh, kept, program)


class PatternSearch:
    """One search at a demand; ``bound_usd`` holds for all answers whose burn lies in the box of the burn."""

    def __init__(
        self,
        relaxation: PowerRelaxation,
        market: AreaMarket,
        cuts: list[Cut],
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        first_steps: IntArray,
        cases: CaseTree | None = None,
    ) -> None:
        self._relaxation, self._market, self._cuts, self._cases = relaxation, market, cuts, cases
        self._withdrawal, self._burn = withdrawal_mwh, burn
        self.steps = PriceSteps.of(market.areas, relaxation.asked)
        self._area_of_place = relaxation.area_of_place
        self._area_of_level = self._area_of_place[relaxation.places.of_link[relaxation.asked.link]]
        self.target_usd, self.bound_usd = math.inf, -math.inf
        self.kept_steps = first_steps
        self._priced: dict[bytes, PricedPattern | None] = {}
        self._asked: set[bytes] = set()
        self._counted: CountedPatterns | None = None
        self._is_coarse, self._is_by_cases = True, False
        self._open: list[Branch] | None = None
        self._dear_from_usd = math.inf
        self.is_refuted, self._another_path = False, False
        self._near: tuple[IntArray, int] | None = None
        self.turns = 0
        self._seconds_left: Callable[[], float] = _for_ever

    def cheapest(self, count: int) -> list[PricedPattern]:
        """The cheapest patterns found."""
        found = [priced for priced in self._priced.values() if priced is not None]
        return sorted(found, key=lambda priced: priced.relaxed.bound_usd)[:count]

    @property
    def cheapest_below_target(self) -> PricedPattern | None:
        """The cheapest pattern found, if it is below the target."""
        found = [each for each in self.cheapest(1) if each.relaxed.bound_usd < self.target_usd]
        return found[0] if found else None

    def look_near(self, prices_usd_per_mwh: FloatArray, reach: int) -> None:
        """Look only for patterns whose classes are near those of prices by area; the bound is of these."""
        self._near = self.steps.classes(prices_usd_per_mwh), reach

    def prices_of(self, box: PatternBox) -> FloatArray:
        """The least prices by area of a box that has some."""
        return np.append(0.0, self.steps.prices_usd_per_mwh)[box.lowest]

    def limits_of(self, box: PatternBox) -> tuple[BoolArray, tuple[FloatArray, FloatArray]]:
        """The levels that are asked for in a box, and the bounds of the gas columns."""
        return box.asked(self.steps, self._area_of_level), box.gas_bounds(self._market.areas, self.steps)

    def run(self, seconds_left: Callable[[], float], is_enough: Callable[[], bool] = lambda: False) -> None:
        """Search until no pattern is below the target and the cheapest by more than the precision.

        After a second opinion has refuted the bound it goes on, on the path of that opinion. A turn is the
        last where what was found ``is_enough``.
        """
        self._seconds_left = seconds_left
        self.bound_usd, self.is_refuted = -math.inf, False
        self._is_by_cases, self._open = False, None
        root = root_box(self._market, self.steps, self._withdrawal, self._burn, self._area_of_place)
        if root is not None and self._near is not None:
            root = root.near(*self._near)
        root = None if root is None else root.narrowed(self._market.areas)
        if root is None:
            self.bound_usd = self.target_usd
            return
        space = PatternSpace(
            self._market.areas,
            self.steps,
            self._withdrawal,
            self._burn,
            self._area_of_place,
            self._area_of_level,
            root,
        )
        flows = space.largest_flows()
        if flows is None:
            self.bound_usd = self.target_usd
            return
        if (
            not self._cuts and seconds_left() > 0
        ):  # else the patterns begin with what other demands have taught
            self._explore(root)
        counted: CountedPatterns | None = CountedPatterns.of(
            space, flows, self.kept_steps, self._cuts, self._limit()
        )
        while counted is not None and seconds_left() > 0 and not is_enough():
            self._counted, self.kept_steps = counted, counted.kept
            counted = self._turn(counted)
            self.turns += 1

    def _turn(self, counted: CountedPatterns) -> CountedPatterns | None:
        """Find the cheapest pattern by cuts and steps so far, and learn of it; None at the end."""
        # without a target most patterns are of interest: too many cases
        by_cases = self._by_cases(counted, self._limit()) if math.isfinite(self.target_usd) else None
        if by_cases is not None:
            bound, found = by_cases.bound_usd, by_cases.pattern
        else:
            bound, found = counted.program.cheapest_pattern(
                self._limit(), self._gap(), self._seconds_left(), another_path=self._another_path
            )
        bound = min(bound, self._limit())
        if bound > self.bound_usd:
            self.bound_usd, self._is_by_cases = bound, by_cases is not None
        if self.bound_usd >= self._enough() or found is None:
            return None
        root = counted.space.root
        box = PatternBox(np.maximum(found.lowest, root.lowest), np.minimum(found.highest, root.highest))
        is_new = box.key not in self._asked
        relaxed = self._ask(box)
        if relaxed is None:
            return None
        self._explore(box, relaxed)
        says_more = relaxed.bound_usd >= min(self._enough(), self.bound_usd + self._slack())
        if is_new and says_more:
            return counted  # the cut has not been known of this box
        exact = self._pattern_at(relaxed.burn_mwh)
        if exact is None:
            return None
        steps = np.union1d(counted.kept, exact.lowest)
        finer = CountedPatterns.of(counted.space, counted.largest_flows_mwh, steps, self._cuts, self._limit())
        if not np.array_equal(finer.kept, counted.kept):
            return finer
        if self._gap() == _FINEST:
            return None
        self._is_coarse = False  # all is known of this pattern: what is open is the search's own gap
        return counted

    def _by_cases(self, counted: CountedPatterns, below_usd: float) -> CheapestCase | None:
        """The cheapest pattern by the cases that are known, and more that are kept."""
        if self._cases is None or not math.isfinite(below_usd):
            return None
        areas, root = self._market.areas, counted.space.root
        if self._open is None or below_usd > self._dear_from_usd:
            self._open = [self._cases.everything(areas.of_junction.size, self.steps.count)]
        found = cheapest_by_cases(
            counted.program, areas, root, self._cases, self._open, below_usd, self._seconds_left
        )
        if found is None:
            self._cases = None  # it would end so again
            return None
        # what is learned in a search makes no branch cheaper: what was dear stays dear below a lower limit
        self._open, self._dear_from_usd = found.open_, below_usd
        if not found.is_complete:  # too many to be told apart at this demand
            self._cases = None
            return None
        return found

    def _slack(self) -> float:
        return self._gap() * abs(self.bound_usd)

    def _explore(self, box: PatternBox, relaxed: Relaxed | None = None) -> None:
        """Price the patterns that UC's relaxation leads to, from a box on."""
        relaxed = relaxed or self._ask(box)
        for _ in range(TUNING.explored):
            pattern = None if relaxed is None else self._pattern_at(relaxed.burn_mwh)
            is_over = self._seconds_left() <= 0
            if pattern is None or pattern.key in self._priced or is_over:
                return
            priced = self._price(pattern)
            relaxed = None if priced is None else priced.relaxed

    @property
    def has_counted(self) -> bool:
        """Whether patterns were looked at; else linear programs alone ended the search, or the time did."""
        return self._counted is not None

    def is_confirmed(self, seconds_left: Callable[[], float]) -> bool:
        """A second opinion on the bound: another search, on a path of its own, finds no pattern below it.

        What linear programs alone have said needs none, and where they can say it they are asked first.
        """
        if self._counted is None or self._is_by_cases:
            return True
        self._seconds_left = seconds_left
        below = self.bound_usd * (1 - TUNING.pattern_precision)
        by_cases = self._by_cases(self._counted, below)
        if by_cases is not None and by_cases.pattern is None:
            return True
        bound, pattern = self._counted.program.cheapest_pattern(
            below, _FINEST, max(seconds_left(), 0.0), another_path=not self._another_path
        )
        self.is_refuted = pattern is not None
        self._another_path ^= self.is_refuted
        return pattern is None and bound >= below

    def _gap(self) -> float:
        """How close the cheapest pattern is looked for: while much is open, a good one is enough."""
        left = relative_gap(self._limit(), self.bound_usd) if math.isfinite(self.bound_usd) else math.inf
        coarse = min(TUNING.coarse_pattern_gap, TUNING.pattern_gap_share * left)
        return max(_FINEST, coarse if self._is_coarse else 0.0)

    def _limit(self) -> float:
        """What costs more is not looked for."""
        cheapest = min((each.relaxed.bound_usd for each in self.cheapest(1)), default=math.inf)
        return min(self.target_usd, cheapest * (1 + TUNING.pattern_precision))

    def _enough(self) -> float:
        """A bound at this ends the search: by less than the precision below a pattern that was found.

        A target is to be met in full, or a pattern below it found: its answer may be what is needed.
        """
        limit = self._limit()
        return limit if limit == self.target_usd else limit * (1 - 2 * TUNING.pattern_precision)

    def _pattern_at(self, burn_mwh: FloatArray) -> PatternBox | None:
        """The pattern of the gas market at a burn, if it is served."""
        burn = np.bincount(self._area_of_place, np.maximum(burn_mwh, 0.0), self._market.areas.count)
        prices = self._market.least_prices(self._withdrawal + burn)
        if prices is None:
            return None
        classes = self.steps.classes(prices)
        return PatternBox(classes, classes)

    def _price(self, pattern: PatternBox) -> PricedPattern | None:
        """A pattern with UC's relaxation at it; None where it cannot be."""
        key = pattern.key
        if key not in self._priced:
            relaxed = self._ask(pattern)
            self._priced[key] = None
            if relaxed is not None and relaxed.is_served:
                self._priced[key] = PricedPattern(pattern, relaxed)
        return self._priced[key]

    def _ask(self, box: PatternBox) -> Relaxed | None:
        """UC's relaxation in a box; what it proves becomes a cut."""
        self._asked.add(box.key)
        asked, gas = self.limits_of(box)
        if (gas[0] > gas[1]).any():
            return None
        relaxed = self._relaxation.solve(self._withdrawal, asked, gas, self._seconds_left())
        if relaxed is not None:
            self._cuts.append(relaxed.cut)
            if self._counted is not None:
                self._counted.program.add_cut(relaxed.cut)
        return relaxed
