"""Search the price patterns for the one that costs the leader least.

The patterns are integer points (:mod:`ppsm.markets.gauc.patterns`), their cost is known through cuts
(:mod:`ppsm.markets.gauc.relaxation`). In turn, the pattern that is cheapest by the cuts so far is found, and
UC's relaxation says what it really costs, which is a new cut; until the two agree.
The bound that comes out is one solver's word, so that it counts only after a second opinion.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import BoolArray, FloatArray
from ppsm.markets.gauc.areas import AreaMarket
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PatternProgram, PriceSteps, root_box
from ppsm.markets.gauc.relaxation import Cut, PowerRelaxation, Relaxed
from ppsm.markets.tuning import TUNING
from ppsm.status import relative_gap


@dataclass(frozen=True, eq=False)
class PricedPattern:
    """A pattern and the cheapest point of UC's relaxation with its prices."""

    box: PatternBox
    relaxed: Relaxed


class PatternSearch:
    """One search at a demand; ``bound_usd`` holds for all answers whose burn lies in the box of the burn."""

    def __init__(
        self,
        relaxation: PowerRelaxation,
        market: AreaMarket,
        cuts: list[Cut],
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        target_usd: float,
    ) -> None:
        self._relaxation, self._market, self._cuts = relaxation, market, cuts
        self._withdrawal, self._burn = withdrawal_mwh, burn
        self.steps = PriceSteps.of(market.areas, relaxation.asked)
        self._area_of_place = relaxation.area_of_place
        self._area_of_level = self._area_of_place[relaxation.places.of_link[relaxation.asked.link]]
        self.target_usd, self.bound_usd = target_usd, -math.inf
        self._priced: dict[bytes, PricedPattern | None] = {}
        self._program: PatternProgram | None = None

    def cheapest(self, count: int) -> list[PricedPattern]:
        """The cheapest patterns found."""
        found = [priced for priced in self._priced.values() if priced is not None]
        return sorted(found, key=lambda priced: priced.relaxed.bound_usd)[:count]

    def limits_of(self, box: PatternBox) -> tuple[BoolArray, tuple[FloatArray, FloatArray]]:
        """The levels that are asked for in a box, and the bounds of the gas columns."""
        return box.asked(self.steps, self._area_of_level), box.gas_bounds(self._market.areas, self.steps)

    def run(self, seconds_left: Callable[[], float]) -> None:
        """Search until no pattern is below the target and the cheapest by more than the precision."""
        box = root_box(self._market, self.steps, self._withdrawal, self._burn, self._area_of_place)
        box = None if box is None else box.narrowed(self._market.areas)
        if box is None:
            self.bound_usd = self.target_usd
            return
        self._seed(box, seconds_left)
        self._program = self._built(box)
        if self._program is None:
            self.bound_usd = self._limit()
        while self._program is not None and seconds_left() > 0:
            bound, pattern = self._program.cheapest_pattern(self._limit(), self._gap(), seconds_left())
            self.bound_usd = max(self.bound_usd, min(bound, self._limit()))
            if self.bound_usd >= self._enough() or pattern is None or pattern.key in self._priced:
                break
            if self._price(pattern) is None:
                self._ask(PatternBox(pattern.lowest, box.highest))
                self._ask(PatternBox(box.lowest, pattern.highest))

    def is_confirmed(self, seconds_left: Callable[[], float]) -> bool:
        """A second opinion on the bound: another search, on a path of its own, finds no pattern below it."""
        if self._program is None:
            return True  # linear programs alone said so
        below = self.bound_usd * (1 - TUNING.pattern_precision)
        bound, pattern = self._program.cheapest_pattern(
            below, TUNING.pattern_precision / 2, max(seconds_left(), 0.0), another_path=True
        )
        return pattern is None and bound >= below

    def _gap(self) -> float:
        """How close the cheapest pattern is looked for: while much is open, a good one is enough."""
        left = relative_gap(self._limit(), self.bound_usd) if math.isfinite(self.bound_usd) else math.inf
        coarse = min(TUNING.coarse_pattern_gap, TUNING.pattern_gap_share * left)
        return max(TUNING.pattern_precision / 2, coarse)

    def _limit(self) -> float:
        """What costs more is not looked for."""
        cheapest = min((each.relaxed.bound_usd for each in self.cheapest(1)), default=math.inf)
        return min(self.target_usd, cheapest * (1 + TUNING.pattern_precision))

    def _enough(self) -> float:
        """A bound at this ends the search."""
        return self._limit() * (1 - 2 * TUNING.pattern_precision)

    def _built(self, box: PatternBox) -> PatternProgram | None:
        program = PatternProgram(
            self._market.areas,
            self.steps,
            self._withdrawal,
            self._burn,
            self._area_of_place,
            self._area_of_level,
            box,
            self._limit(),
        )
        if program.is_empty:
            return None
        for cut in self._cuts:
            program.add_cut(cut)
        return program

    def _seed(self, root: PatternBox, seconds_left: Callable[[], float]) -> None:
        """First cuts and patterns: no price above a class, from the lowest class to the highest."""
        for value in range(int(root.lowest.max()), int(root.highest.max()) + 1):
            if seconds_left() <= 0:
                return
            box = PatternBox(root.lowest, np.minimum(root.highest, max(value, 0))).narrowed(
                self._market.areas
            )
            relaxed = None if box is None or (box.lowest > box.highest).any() else self._ask(box)
            for _ in range(3):
                pattern = None if relaxed is None else self._pattern_at(relaxed.burn_mwh)
                priced = None if pattern is None else self._price(pattern)
                if priced is None or relaxed is priced.relaxed:
                    break
                relaxed = priced.relaxed

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
        asked, gas = self.limits_of(box)
        if (gas[0] > gas[1]).any():
            return None
        relaxed = self._relaxation.solve(self._withdrawal, asked, gas)
        if relaxed is not None:
            self._cuts.append(relaxed.cut)
            if self._program is not None:
                self._program.add_cut(relaxed.cut)
        return relaxed
