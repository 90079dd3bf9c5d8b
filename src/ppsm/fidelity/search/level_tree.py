"""PPSM_p when the lower end of the value band binds: prices divided at levels, one LP for each node.

The LP of ``bounds/price_levels.py`` says what points nearer than the incumbent could be worth at most. Where
that is less than the band asks for, no such point is better. Otherwise its dual is a half-space whose nearest
point is tried, and then one of three things has made the LP too optimistic: the distance has not the weight
that suits this dual (another line is added), the LP mixes prices on both sides of a level (the price is
divided there), or a price lies between two levels (it becomes a level).

First come prices within the follower's costs, where the answer is as a rule; then those up to the largest
that there can be (:func:`~ppsm.fidelity.bounds.price_boxes.largest_price`). Where that is far beyond the
costs, or nobody knows it, duals are divided by their largest price: then the levels are shares of it, and a
tree for each entry says that no dual is worth enough in which that entry has the largest price.

Where something near cannot be served duals that point at it can be as large as they like. Two things settle
them: lines beside planes that keep what can be served from a dual's half-space, and that no dual needs to
hold a ray (``bounds/price_rays.py``): a node whose dual holds one is divided by what vanishes of it.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.convex import RelaxedPoint
from ppsm.fidelity.bounds.price_boxes import LinesAbove, PriceBoxes
from ppsm.fidelity.bounds.price_levels import Condition, Conditions, Cut, Half, Plane, PriceLevels, PriceRows
from ppsm.fidelity.bounds.price_rays import Rays
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.search.lower_side import Walker
from ppsm.fidelity.tuning import TUNING
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class LevelTree:
    """Proves that an incumbent is best, or finds a better one.

    Of a ``monotone`` follower prices are known to be nonnegative.
    """

    def __init__(
        self,
        core: Core,
        limits: SearchLimits,
        matrices: PrimalDualMatrices,
        rows: PriceRows,
        walker: Walker,
        incumbent: Incumbent,
        *,
        monotone: bool,
    ) -> None:
        self.core, self.limits, self.matrices, self.rows = core, limits, matrices, rows
        self.walker, self.incumbent, self._monotone = walker, incumbent, monotone
        self.nodes = 0
        self.stop = INFINITY
        self._is_proven = self._is_open = False
        self._rays = Rays(rows, monotone=monotone)
        # Whether the largest price is known, or may be for all that is known yet.
        self._has_largest_price = True

    def steps(self) -> Iterator[None]:
        """Refute all prices within the costs, then those beyond them, then all that are larger still."""
        yield
        within = self._in_prices()
        least, most = float(self.rows.costs[0]), float(self.rows.costs[-1])
        yield from self._refuted(within, [within.between(least, most)])
        if self._is_open:
            return
        largest, highest = self._largest_price(), float(within.levels.levels[-1])
        self._has_largest_price = largest < INFINITY
        if largest > most or (-largest < least and not self._monotone):
            yield from self._refuted(within, [within.between(-largest, largest)])
        if largest > highest and not self._is_open:
            in_shares = self._in_shares(highest, largest)
            yield from self._refuted(in_shares, in_shares.largest())
        self._is_proven = not self._is_open

    def outcome(self) -> SearchOutcome:
        """What is found and proven so far."""
        if self._is_proven:
            return SearchOutcome(Status.PROVEN_OPTIMAL, self.incumbent, self._target(), self.nodes)
        return SearchOutcome(Status.INCUMBENT, self.incumbent, -INFINITY, self.nodes)

    def offer(self, candidate: Incumbent) -> None:
        """Keep a faithful point if it is the best so far."""
        if candidate.objective < self.incumbent.objective * (1.0 - TUNING.walk_gain):
            self.incumbent = candidate

    def _in_prices(self) -> "_Region":
        """Prices from level to level: the costs, and some beyond them that are ever farther apart."""
        costs = self.rows.costs
        size = float(np.abs(costs).max()) or 1.0
        beyond = size * TUNING.level_growth ** np.arange(1, TUNING.levels_beyond + 1)
        highest = float(beyond[-1])
        ends = np.concatenate([costs, beyond] if self._monotone else [-beyond, costs, beyond])
        levels = PriceLevels(self.rows, np.unique(ends))
        suited = 1.0 / self._penalty()
        weights = suited / TUNING.weights_apart, suited * TUNING.weights_apart * highest / size
        return _Region(levels, self.core.value_lower, weights, suited, is_in_shares=False)

    def _in_shares(self, least: float, most: float) -> "_Region":
        """Shares of the largest price, where that is between ``least`` and ``most``."""
        shares = np.array(TUNING.share_levels)
        ends = shares if self._monotone else np.union1d(-shares, shares)
        rows = self.rows.shares(self.core.value_lower, least, most)
        suited = self._boxes().kappas()
        weights = min(suited) / TUNING.weights_apart, max(suited) * TUNING.weights_apart
        return _Region(PriceLevels(rows, ends), 0.0, weights, suited[0], is_in_shares=True)

    def _largest_price(self) -> float:
        """The largest price that there can be; infinite where that is not known."""
        box = self._boxes().first(monotone=self._monotone)
        return -INFINITY if box is None else float(box.upper.max())

    def _refuted(self, region: "_Region", roots: list[Conditions]) -> Iterator[None]:
        """Refute a tree, depth first, lower prices before higher ones; what is left open is noted."""
        best, first = None, self.nodes
        left = [_Node(conditions) for conditions in roots]
        while left:
            if best is not self.incumbent:
                best = self.incumbent
                region.draw_lines(self._above(region))
            node = left.pop()
            children: list[_Node] = []
            try:
                columns = self._liftable(region, node.conditions)
                if columns is not None:
                    is_young = self._has_largest_price and self.nodes - first <= TUNING.halves_first
                    children = self._children(region, node, columns, halves_only=is_young)
            except SolverError:  # an LP without a verdict refutes nothing
                self._is_open = True
            if self._is_open:
                return
            left += children
            if children:
                yield  # only here: most nodes are refuted at once, which is no step

    def _children(
        self, region: "_Region", node: "_Node", columns: FloatArray, *, halves_only: bool
    ) -> list["_Node"]:
        """What remains of a node whose lines lift a dual; all of it where there is a better point or line."""
        best = self.incumbent
        if self._try(region, columns) or self.incumbent is not best:
            return [node]
        parts = None if halves_only else self._without_a_ray(region, node, columns)
        return self._divided(region, node, columns) if parts is None else parts

    def _without_a_ray(self, region: "_Region", node: "_Node", columns: FloatArray) -> list["_Node"] | None:
        """A node without the duals that hold a ray, in parts that are left; None where a dual holds none.

        Where a part is refuted the multiplier that vanishes there is positive in all others.
        """
        vanishing = self._rays.within(region.levels.prices(columns), region.levels.others(columns))
        if vanishing is None:
            return None
        positive, parts = node.positive, []
        for one in vanishing:
            if one in positive:
                continue
            part = (*node.conditions, one)
            if self._liftable(region, part) is None:
                positive |= {one}
            else:
                parts.append((one, part))
        children = []
        for one, part in parts:
            children.append(_Node(part, positive))
            positive |= {one}
        return children

    def _divided(self, region: "_Region", node: "_Node", columns: FloatArray) -> list["_Node"]:
        """Divide a node at a level of a price, or make a price a level; where neither helps it is open."""
        split = _Split.of(region, columns)
        if split is None:
            self._is_open = True
            return []
        if split.is_new:
            region.add_level(split.level)
            return [node]
        halves = (Half(split.price, split.level, above) for above in (True, False))
        return [replace(node, conditions=(*node.conditions, half)) for half in halves]

    def _liftable(self, region: "_Region", conditions: Conditions) -> FloatArray | None:
        """A dual of a node that all lines lift to the band; None where there is none."""
        self.nodes += 1
        while True:
            found = region.solve(conditions)
            if found is None:
                return None
            worth, columns = found
            if worth < -TUNING.refuted * max(1.0, abs(self.core.value_lower)):
                return None
            if time.perf_counter() > self.stop:
                return columns
            if not region.cuts_off(columns, worth, (None, *self._planes(region))):
                return columns

    def _planes(self, region: "_Region") -> list[Plane]:
        """What lines are drawn beside: planes below V that were met, and half-spaces of the parameter.

        A half-space ``h'd >= least`` is as good as a plane ``value_upper + t (least - h'd)`` below V, with
        any ``t >= 0``. The incumbent says what suits all of them together.
        """
        planes = [] if region.is_in_shares else list(self.walker.planes[-TUNING.planes_beside :])
        planes += region.limits[-TUNING.planes_beside :]
        each, least = self.core.follower.half_space_rows
        of_incumbent = np.maximum(0.0, self.walker.half_spaces) / self._penalty()
        for times in (of_incumbent, *np.eye(least.size)):
            weights, limit = np.asarray(times @ each), float(times @ least)
            if weights.any():
                factors = TUNING.half_space_factors
                planes += [(self.core.value_upper + t * limit, -t * weights) for t in factors]
        return planes

    def _try(self, region: "_Region", columns: FloatArray) -> bool:
        """Walk from the nearest point that can be served in a dual's half-space; whether a line rules it out.

        Where that point is no better, what can be served says why: its QP pulls at the point by a plane that
        no such parameter is beyond. A line beside that plane rules the dual out.
        """
        constant, prices = region.levels.constant(columns), region.prices(columns)
        needed = region.needed - constant
        point = self.walker.in_half_space(prices, needed)
        if point is not None:
            if not region.is_in_shares:
                self.walker.planes.append((constant, prices))
                self.offer(Incumbent(point.objective, point.parameter, point.columns, NONE))
            walked = self.walker.walk(point.parameter)
            if walked is not None:
                self.offer(walked)
        return self._rules_out(region, columns, prices, point)

    def _rules_out(
        self, region: "_Region", columns: FloatArray, prices: FloatArray, point: RelaxedPoint | None
    ) -> bool:
        """Draw a line beside the plane that keeps what can be served from a dual's half-space."""
        penalty = 1.0 if point is None else float(point.cut_multipliers[0])
        if not penalty > 0.0:
            return False
        weights = prices if point is None else -point.pull / penalty
        most = self.walker.most(weights)
        if not np.isfinite(most):
            return False
        region.limits.append((self.core.value_upper - most, weights))
        worth = region.least_said(columns)
        return region.cuts_off(columns, worth, region.limits[-1:], (1.0 / penalty,))

    def _boxes(self) -> PriceBoxes:
        return PriceBoxes(self.core, self.matrices, self._target(), self._penalty(), self.walker.planes)

    def _above(self, region: "_Region") -> LinesAbove:
        boxes, each = self._boxes(), np.ones(self.rows.of_entry.size)
        whole = PriceBox(region.levels.levels[0] * each, region.levels.levels[-1] * each)
        return LinesAbove(self.core, whole, boxes.ends, boxes.objective)

    def _penalty(self) -> float:
        return self.walker.penalty if self.walker.penalty > 0.0 else 1.0

    def _target(self) -> float:
        """Points that are better by less than the gap are of no interest."""
        best = self.incumbent.objective
        return best - TUNING.target_share * self.limits.gap * abs(best)


@dataclass(frozen=True)
class _Node:
    """What prices and multipliers of a node keep to, and what of them is known to be positive there."""

    conditions: Conditions
    positive: frozenset[Condition] = frozenset()


class _Region:
    """Duals with prices between levels, lines above what they are worth, and their LP, which stays alive.

    They have to be worth ``needed``. The distance has a weight (kappa) between ``weights`` in each line, in
    the first one that which is ``suited``.
    """

    def __init__(
        self,
        levels: PriceLevels,
        needed: float,
        weights: tuple[float, float],
        suited: float,
        *,
        is_in_shares: bool,
    ) -> None:
        self.levels, self.is_in_shares = levels, is_in_shares
        self.needed, self._weights = needed, weights
        self.cuts: list[Cut] = [Cut(suited)]
        # Planes that no parameter is beyond that can be served, in the convention of planes below V.
        self.limits: list[Plane] = []
        self.above: LinesAbove
        self._make_lp()

    def _make_lp(self) -> None:
        """Maximise the last column, by how much all lines lift a dual over the band."""
        whole = self.levels.program.with_columns(
            np.array([-INFINITY]), np.array([INFINITY]), cost=np.array([-1.0])
        )
        self._lp = PersistentLp(whole)
        self._columns = np.arange(whole.shape[1] - 1)

    def between(self, lowest: float, highest: float) -> Conditions:
        """All prices of entries within the first levels that are so far out."""
        ends = self.levels.levels
        low = float(ends[max(0, int(np.searchsorted(ends, lowest, "right")) - 1)])
        high = float(ends[min(ends.size - 1, int(np.searchsorted(ends, highest)))])
        prices = np.unique(self.levels.rows.of_entry).tolist()
        return tuple(Half(p, end, above) for p in prices for end, above in ((low, True), (high, False)))

    def largest(self) -> list[Conditions]:
        """For each price of an entry, the duals in which it is at the last level, or at the negative one."""
        rows, first = self.levels.rows, float(self.levels.levels[0])
        prices = np.unique(rows.of_entry)
        below = prices[~rows.is_nonnegative[prices]].tolist() if first < 0.0 else []
        negative = [(Half(price, first, is_above=False),) for price in below]
        return [*negative, *((Half(price, 1.0, is_above=True),) for price in prices.tolist())]

    def draw_lines(self, above: LinesAbove) -> None:
        """Draw all lines, above the points that are nearer than a new incumbent."""
        self.above = above
        for cut in self.cuts:
            self._add(cut)

    def add_line(self, cut: Cut) -> None:
        """No dual is worth more than this line says either."""
        self.cuts.append(cut)
        self._add(cut)

    def _add(self, cut: Cut) -> None:
        weights, constant = self.levels.line(self.above, cut)
        self._lp.add_row(np.append(weights, -1.0), self.needed - constant, INFINITY)

    def add_level(self, level: float) -> None:
        """Make a price one of the levels."""
        self.levels = self.levels.with_level(level)
        self._make_lp()
        self.draw_lines(self.above)

    def solve(self, conditions: Conditions) -> tuple[float, FloatArray] | None:
        """By how much duals of a node are lifted at most, and one that is; None where there is none."""
        self._lp.set_column_bounds(self._columns, *self.levels.limits_of(conditions))
        solution = self._lp.solve()
        if solution.status is Status.INFEASIBLE:
            return None
        if not solution.status.has_answer:
            raise SolverError(f"the LP of prices at levels ended with '{solution.status}'.")
        return -solution.objective, solution.columns[:-1]

    def prices(self, columns: FloatArray) -> FloatArray:
        """The price of each entry."""
        return self.levels.prices(columns)[self.levels.rows.of_entry]

    def least_said(self, columns: FloatArray) -> float:
        """By how much all lines lift a dual."""
        said = [self._said(columns, np.array([cut.kappa]), cut.plane)[0] for cut in self.cuts]
        return float(min(said))

    def cuts_off(
        self,
        columns: FloatArray,
        worth: float,
        planes: Sequence[Plane | None],
        kappas: tuple[float, ...] = (),
    ) -> bool:
        """Add the line beside these planes that says least of a dual, if that is clearly below ``worth``."""
        found = [self._lowest(columns, plane, kappas) for plane in planes]
        cut, least = min(found, key=lambda one: one[1])
        if least > worth - max(TUNING.refuted, TUNING.worthwhile_cut * worth):
            return False
        self.add_line(cut)
        return True

    def _said(self, columns: FloatArray, kappas: FloatArray, plane: Plane | None) -> FloatArray:
        return self.levels.said(self.above, columns, kappas, plane) - self.needed

    def _lowest(
        self, columns: FloatArray, plane: Plane | None, kappas: tuple[float, ...]
    ) -> tuple[Cut, float]:
        """The weight at which a line says least, which is convex in it: on ever finer grids, or of a few."""
        low, high = np.log(self._weights)
        for _ in range(TUNING.weight_rounds):
            tried = np.linspace(low, high, TUNING.weights_tried)
            said = self._said(columns, np.exp(tried), plane)
            least = int(np.argmin(said))
            low, high = tried[max(0, least - 1)], tried[min(tried.size - 1, least + 1)]
        best = Cut(float(np.exp(tried[least])), plane), float(said[least])
        given = [
            (Cut(kappa, plane), float(self._said(columns, np.array([kappa]), plane)[0])) for kappa in kappas
        ]
        return min([best, *given], key=lambda one: one[1])


@dataclass(frozen=True)
class _Split:
    """A price and a level to divide it at; a new level where the price lies between two."""

    price: int
    level: float
    is_new: bool

    @classmethod
    def of(cls, region: _Region, columns: FloatArray) -> "_Split | None":
        """Divide the price at which the chords of all lines lose most; None where they lose nothing."""
        levels = region.levels
        each = sum(levels.chord_losses(region.above, columns, cut) for cut in region.cuts)
        losses = np.bincount(levels.rows.of_entry, each, levels.rows.count)
        price = int(np.argmax(losses))
        if losses[price] <= TUNING.lost_worth:
            return None
        # Of a level that is passed in part the one before it is full, unless prices on both sides are mixed.
        split = np.clip(levels.split(columns)[price], 0.0, 1.0)[1:]
        mixed = np.minimum(1.0 - split[:-1], split[1:])
        level = int(np.argmax(mixed))
        if mixed[level] > TUNING.mixed:
            return cls(price, float(levels.levels[level + 1]), is_new=False)
        return cls(price, float(levels.prices(columns)[price]), is_new=True)
