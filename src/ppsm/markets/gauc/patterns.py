"""Price patterns: which areas of the gas network reach which step of the supply curve, and what that costs.

The leader feels gas prices only through the levels of its plants, so that prices matter only up to the
**steps** at which a level changes: the least supply price above each threshold. A pattern says for every area
i and step r whether its price reaches the step, p[i, r]. Prices that a gas market can have are the integer
points of linear rows (x supplies, f flows, D demand and q burn of areas):

    (a)  x_s <= size_s p[i, r]     a supply at or above step r is used only where the price reaches r
         x_s >= size_s p[i, r]     a supply below step r is full where the price reaches r
    (b)  f <= most (1 - p[u, r] + p[v, r]),  p[v, r] <= p[u, r]     gas flows from u to v at one price,
         f >= capacity (p[v, r] - p[u, r])                          or the arc is full
    (c)  all supplies at or above step r together serve what the areas that reach it withdraw and do not
         get from their cheaper supplies and full arcs:
         sum x <= sum_i (D_i + q_i) p[i, r] - sum size p[i, r] - sum capacity (p[v, r] - p[u, r])

Row (c) follows from (a) and (b) at integer points (a minimum cut; the products q p by their envelope over the
box of the burn), and is what makes the relaxation strong. The cost enters through the cuts of
:mod:`ppsm.markets.gauc.relaxation`. :class:`PatternProgram` is the linear relaxation in a **box** of patterns
(every area's price class between two); :mod:`ppsm.markets.gauc.pattern_search` searches the boxes.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.markets.gauc.areas import AreaMarket, GasAreas
from ppsm.markets.gauc.relaxation import AskedLevels, Cut
from ppsm.markets.gauc.rows import Rows
from ppsm.markets.model.validity import TOLERANCE
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class PriceSteps:
    """Supply prices at which some plant's level changes, lowest first; a price's class counts those reached.

    ``asked_at[k]`` is the class from which on the k-th level is asked for, beyond the last where none does.
    """

    prices_usd_per_mwh: FloatArray
    supply_class: IntArray
    asked_at: IntArray

    @classmethod
    def of(cls, areas: GasAreas, asked: AskedLevels) -> "PriceSteps":
        """The steps of a network's supplies for a case's levels."""
        prices = np.unique(areas.supply_usd_per_mwh)
        first = np.searchsorted(prices, asked.cap_usd_per_mwh * (1 + TOLERANCE), side="right")
        kept = np.unique(first[first < prices.size])
        steps = prices[kept]
        asked_at = np.where(first < prices.size, np.searchsorted(kept, first) + 1, kept.size + 1)
        return cls(steps, np.searchsorted(steps, areas.supply_usd_per_mwh, side="right"), asked_at)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.prices_usd_per_mwh.size

    def only(self, kept: IntArray) -> "PriceSteps":
        """Some of these steps (numbers from one): levels are then asked for from the next kept step on."""
        return PriceSteps(
            self.prices_usd_per_mwh[kept - 1],
            coarse_class(kept, self.supply_class),
            np.searchsorted(kept, self.asked_at, side="left") + 1,
        )

    def classes(self, prices_usd_per_mwh: FloatArray) -> IntArray:
        """The classes of prices."""
        return np.searchsorted(self.prices_usd_per_mwh * (1 - TOLERANCE), prices_usd_per_mwh, side="right")


def coarse_class(kept: IntArray, classes: IntArray) -> IntArray:
    """Classes counted by kept steps alone."""
    return np.searchsorted(kept, classes, side="right")


@dataclass(frozen=True, eq=False)
class PatternBox:
    """Patterns in which the price class of every area lies between two; one pattern where they are equal."""

    lowest: IntArray
    highest: IntArray

    @property
    def key(self) -> bytes:
        """What tells it from other boxes."""
        return self.lowest.tobytes() + self.highest.tobytes()

    def narrowed(self, areas: GasAreas) -> "PatternBox | None":
        """Without classes that free arcs exclude: no area is dearer than one that it can take gas from."""
        low, high = self.lowest.copy(), self.highest.copy()
        up, down = areas.upstream[areas.is_free], areas.downstream[areas.is_free]
        for _ in range(areas.count):
            before = low.copy(), high.copy()
            np.minimum.at(high, down, high[up])
            np.maximum.at(low, up, low[down])
            if np.array_equal(before[0], low) and np.array_equal(before[1], high):
                break
        return PatternBox(low, high) if (low <= high).all() else None

    def near(self, classes: IntArray, reach: int) -> "PatternBox":
        """The part in which no area's class is farther from one, as far as it is in here, than so many."""
        low = np.clip(classes - reach, self.lowest, self.highest)
        return PatternBox(low, np.clip(classes + reach, self.lowest, self.highest))

    def with_highest(self, area: int, value: int) -> "PatternBox":
        """The part in which an area's class is at most a value."""
        high = self.highest.copy()
        high[area] = min(high[area], value)
        return replace(self, highest=high)

    def with_lowest(self, area: int, value: int) -> "PatternBox":
        """The part in which an area's class is at least a value."""
        low = self.lowest.copy()
        low[area] = max(low[area], value)
        return replace(self, lowest=low)

    def gas_bounds(self, areas: GasAreas, steps: PriceSteps) -> tuple[FloatArray, FloatArray]:
        """Bounds of the areas' columns that hold in all its patterns: (a) and (b)."""
        lower, upper = np.zeros(areas.width), areas.upper_mwh()
        supplies, arcs = areas.supply_area.size, areas.upstream.size
        full = steps.supply_class < self.lowest[areas.supply_area]
        unused = steps.supply_class > self.highest[areas.supply_area]
        lower[:supplies][full] = areas.supply_mwh[full]
        upper[:supplies][unused] = 0.0
        flows = slice(supplies, supplies + arcs)
        dearer = self.lowest[areas.upstream] > self.highest[areas.downstream]
        cheaper = ~areas.is_free & (self.lowest[areas.downstream] > self.highest[areas.upstream])
        upper[flows][dearer] = 0.0
        lower[flows][cheaper] = areas.capacity_mwh[cheaper]
        return lower, upper

    def asked(self, steps: PriceSteps, area_of_level: IntArray) -> BoolArray:
        """The levels that are asked for in all its patterns."""
        found: BoolArray = self.lowest[area_of_level] >= steps.asked_at
        return found


@dataclass(frozen=True, eq=False)
class BurnBox:
    """Bounds of the burn by place and in total, in MWh of the day."""

    lower_mwh: FloatArray
    upper_mwh: FloatArray
    total_mwh: tuple[float, float]


def root_box(
    market: AreaMarket, steps: PriceSteps, withdrawal_mwh: FloatArray, burn: BurnBox, area_of_place: IntArray
) -> PatternBox | None:
    """Patterns between those of the least and the largest burn; None where even the least is not served."""
    count = market.areas.count
    least = market.least_prices(withdrawal_mwh + np.bincount(area_of_place, burn.lower_mwh, count))
    most = market.least_prices(withdrawal_mwh + np.bincount(area_of_place, burn.upper_mwh, count))
    if least is None and (withdrawal_mwh >= 0).all():
        return None
    # where gas is given, a burn may be needed to take it: then nothing is known of the least prices
    first = np.zeros(count, dtype=np.int64) if least is None else steps.classes(least)
    last = np.full(count, steps.prices_usd_per_mwh.size)
    return PatternBox(first, last if most is None else steps.classes(most))


@dataclass(frozen=True, eq=False)
class PatternSpace:
    """All patterns of a demand that are looked at: in a box of patterns, with burns of a box of burns."""

    areas: GasAreas
    steps: PriceSteps
    withdrawal_mwh: FloatArray
    burn: BurnBox
    area_of_place: IntArray
    area_of_level: IntArray
    root: PatternBox

    def balances(self) -> LinearProgram:
        """Balances of the areas with the burn as columns, and its total, in the bounds of the root."""
        areas, places = self.areas, self.area_of_place.size
        at = sp.csr_array(
            (-np.ones(places), (self.area_of_place, np.arange(places))), shape=(areas.count, places)
        )
        total = sp.csr_array(([1.0] * places, ([0] * places, areas.width + np.arange(places))))
        lower, upper = self.root.gas_bounds(areas, self.steps)
        low, high = self.burn.total_mwh
        return LinearProgram.of(
            np.zeros(areas.width + places),
            sp.csr_array(sp.vstack([sp.hstack([areas.balance(), at]), total])),
            row_lower=np.append(self.withdrawal_mwh, low),
            row_upper=np.append(self.withdrawal_mwh, high),
            column_lower=np.concatenate([lower, self.burn.lower_mwh]),
            column_upper=np.concatenate([upper, self.burn.upper_mwh]),
        )

    def largest_flows(self) -> FloatArray | None:
        """The most that can flow through each arc in the root's box; None where no burn has such prices."""
        program = self.balances()
        live = PersistentLp(program)
        live.use_primal_simplex()
        first = self.areas.supply_area.size
        comes_in = float(self.areas.supply_mwh.sum() - self.withdrawal_mwh[self.withdrawal_mwh < 0].sum())
        most = np.zeros(self.areas.upstream.size)
        for arc in range(most.size):
            cost = np.zeros(program.shape[1])
            cost[first + arc] = -1.0
            live.set_cost(cost)
            solution = live.solve()
            if solution.status is Status.INFEASIBLE:
                return None
            # flows that go round in a circle serve nobody: no more flows anywhere than comes in
            is_known = solution.status is Status.PROVEN_OPTIMAL
            most[arc] = min(comes_in, -solution.objective + TUNING.widening_mwh if is_known else comes_in)
        return np.minimum(most, self.areas.capacity_mwh)


class PatternProgram:
    """Patterns by some of the steps as a MILP, whose cost is what the cuts say; cuts are added as they come.

    With fewer steps less is asked of the leader: it bounds the patterns of all steps.
    """

    def __init__(
        self, space: PatternSpace, kept: IntArray, largest_flows_mwh: FloatArray, target_usd: float
    ) -> None:
        self._areas, self._burn = space.areas, space.burn
        self._steps = space.steps.only(kept)
        self._withdrawal, self._area_of_place = space.withdrawal_mwh, space.area_of_place
        self._area_of_level = space.area_of_level
        root = PatternBox(coarse_class(kept, space.root.lowest), coarse_class(kept, space.root.highest))
        self._kept, self._root, self._all_steps = kept, root, space.steps.count
        # by all steps: what every pattern asks for, whichever steps are kept
        self._always_asked = space.root.asked(space.steps, space.area_of_level)
        self._most_flow = largest_flows_mwh
        self._first, self._last = int(root.lowest.min()) + 1, int(root.highest.max())
        self._steps_here = max(self._last - self._first + 1, 0)
        self._places = space.area_of_place.size
        self._q0 = space.areas.width
        self._p0 = self._q0 + self._places
        self._w0 = self._p0 + space.areas.count * self._steps_here
        self._cost_column = self._w0 + self._places * self._steps_here
        self._width = self._cost_column + 1
        self._cut_rows: list[FloatArray] = []
        self._cut_constants: list[float] = []
        self._program = self._built(space.balances(), target_usd)

    def _p(self, area: IntArray, step: IntArray) -> IntArray:
        return self._p0 + area * self._steps_here + (step - self._first)

    def _w(self, place: IntArray, step: IntArray) -> IntArray:
        return self._w0 + place * self._steps_here + (step - self._first)

    def _built(self, base: LinearProgram, target_usd: float) -> LinearProgram:
        count = self._width - base.shape[1]
        steps = np.arange(self._first, self._last + 1)
        lower, upper = np.zeros(count), np.ones(count)
        reached = slice(0, self._w0 - self._p0)
        lower[reached] = (steps <= self._root.lowest[:, None]).ravel()
        upper[reached] = (steps <= self._root.highest[:, None]).ravel()
        upper[self._w0 - self._p0 : -1] = np.repeat(self._burn.upper_mwh, self._steps_here)
        upper[-1] = target_usd / TUNING.usd_per_row_unit
        wide = base.with_columns(lower, upper)
        cost = np.zeros(self._width)
        cost[-1] = 1.0
        rows = Rows(self._width)
        self._add_order(rows, steps)
        self._add_supplies(rows)
        for step in range(self._first, self._last + 1):
            self._add_arcs(rows, step)
            self._add_minimum_cut(rows, step)
        return wide.with_rows(rows.matrix(), rows.lower(), rows.upper()).with_cost(cost)

    def _add_order(self, rows: Rows, steps: IntArray) -> None:
        for step in steps[1:]:
            every = np.arange(self._areas.count)
            here, below = (
                self._p(every, np.full(every.size, step)),
                self._p(every, np.full(every.size, step - 1)),
            )
            rows.add_each([(here, 1.0), (below, -1.0)], upper=0.0)

    def _add_supplies(self, rows: Rows) -> None:
        """(a), for steps that are open in the root."""
        areas, classes = self._areas, self._steps.supply_class
        every = np.arange(classes.size)
        used = every[(classes >= self._first) & (classes <= self._last)]
        rows.add_each(
            [(used, 1.0), (self._p(areas.supply_area[used], classes[used]), -areas.supply_mwh[used])],
            upper=0.0,
        )
        full = every[(classes + 1 >= self._first) & (classes + 1 <= self._last)]
        rows.add_each(
            [(full, 1.0), (self._p(areas.supply_area[full], classes[full] + 1), -areas.supply_mwh[full])],
            lower=0.0,
        )

    def _add_arcs(self, rows: Rows, step: int) -> None:
        """(b)."""
        areas, first = self._areas, self._areas.supply_area.size
        low, high = self._root.lowest, self._root.highest
        is_open = np.flatnonzero(
            (low[areas.upstream] < step) & (step <= high[areas.upstream])
            | (low[areas.downstream] < step) & (step <= high[areas.downstream])
        )
        at = np.full(is_open.size, step)
        up, down = self._p(areas.upstream[is_open], at), self._p(areas.downstream[is_open], at)
        most = self._most_flow[is_open]
        rows.add_each([(first + is_open, 1.0), (up, most), (down, -most)], upper=most)
        free = areas.is_free[is_open]
        rows.add_each([(down[free], 1.0), (up[free], -1.0)], upper=0.0)
        capacity = areas.capacity_mwh[is_open][~free]
        rows.add_each(
            [(first + is_open[~free], 1.0), (down[~free], -capacity), (up[~free], capacity)], lower=0.0
        )

    def _add_minimum_cut(self, rows: Rows, step: int) -> None:
        """(c), and the envelope of its products q p."""
        areas, classes = self._areas, self._steps.supply_class
        weights = np.zeros(self._width)
        above = classes >= step
        weights[: classes.size][above] = 1.0
        every = np.arange(areas.count)
        mine = self._p(every, np.full(every.size, step))
        np.add.at(weights, mine, -self._withdrawal)
        np.add.at(weights, mine[areas.supply_area[~above]], areas.supply_mwh[~above])
        limited = ~areas.is_free
        np.add.at(weights, mine[areas.downstream[limited]], areas.capacity_mwh[limited])
        np.add.at(weights, mine[areas.upstream[limited]], -areas.capacity_mwh[limited])
        place = np.arange(self._places)
        product = self._w(place, np.full(place.size, step))
        weights[product] = -1.0
        rows.add(weights, upper=0.0)
        burn, reached = self._burn, mine[self._area_of_place]
        rows.add_each([(product, 1.0), (reached, -burn.upper_mwh)], upper=0.0)
        rows.add_each(
            [(product, 1.0), (self._q0 + place, -1.0), (reached, -burn.lower_mwh)], upper=-burn.lower_mwh
        )

    def add_cut(self, cut: Cut) -> None:
        """Add what the power side says of the cost."""
        unit = TUNING.usd_per_row_unit
        weights = np.zeros(self._width)
        weights[-1] = 1.0
        weights[self._q0 : self._p0] = cut.price_usd_per_mwh / unit
        constant = cut.constant_usd
        at = self._steps.asked_at
        always = self._always_asked
        constant += float(cut.weight_usd[always].sum())
        is_open = ~always & (at <= self._root.highest[self._area_of_level])
        steps = self._p(self._area_of_level[is_open], at[is_open])
        np.add.at(weights, steps, -cut.weight_usd[is_open] / unit)
        self._cut_rows.append(weights)
        self._cut_constants.append(constant / unit)

    def cheapest_pattern(
        self, target_usd: float, gap: float, seconds: float, *, another_path: bool = False
    ) -> tuple[float, PatternBox | None]:
        """A bound on all patterns below a target, and the cheapest by what the cuts say, in all steps."""
        whole = np.zeros(self._width, dtype=bool)
        whole[self.reached_columns] = True
        limits = SolveLimits(
            gap=gap,
            seconds=seconds,
            feasibility=TUNING.pattern_feasibility,
            another_path=another_path,
            lean=True,
        )
        result = solve_mip_with_highs(MixedIntegerProgram(self.below(target_usd), whole), limits)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.status is Status.INFEASIBLE:
            return math.inf, None
        bound = -math.inf if result.bound is None else result.bound * TUNING.usd_per_row_unit
        return bound, None if result.columns is None else self.pattern_of(result.columns)

    @property
    def reached_columns(self) -> IntArray:
        """Columns that say which areas (rows) reach which of the steps that are open here."""
        return self._p0 + np.arange(self._w0 - self._p0).reshape(self._areas.count, self._steps_here)

    @property
    def steps_here(self) -> IntArray:
        """These steps, by their numbers in all steps."""
        return self._kept[self._first - 1 : self._last]

    def below(self, target_usd: float) -> LinearProgram:
        """The relaxation with all cuts so far, of what costs no more than a target."""
        count = len(self._cut_rows)
        program = self._program.with_rows(
            sp.csr_array(np.array(self._cut_rows).reshape(count, self._width)),
            np.array(self._cut_constants),
        )
        upper = program.column_upper.copy()
        upper[self._cost_column] = target_usd / TUNING.usd_per_row_unit
        return replace(program, column_upper=upper)

    def largest_columns(self, limit_usd: float) -> FloatArray:
        """Finite upper bounds of all columns, for costs up to a limit."""
        upper = self.below(limit_usd).column_upper.copy()
        flows = self._areas.supply_area.size + np.arange(self._most_flow.size)
        upper[flows] = np.minimum(upper[flows], self._most_flow)
        return upper

    def pattern_of(self, columns: FloatArray) -> PatternBox:
        """The pattern that whole columns say, in all steps."""
        reached = np.rint(columns[self.reached_columns])
        classes = self._first - 1 + reached.sum(axis=1).astype(np.int64)
        edges = np.concatenate([[0], self._kept, [self._all_steps + 1]])
        return PatternBox(edges[classes], edges[classes + 1] - 1)
