"""What a published decision cost says about the demand: half-spaces in which the leader finds no cheaper day.

Value and prices at the published decision do not fix what the leader could do instead. Where it held back to
stay below a step of prices, a faithful vector may leave room below that step, and the leader's game on the
released vector is cheaper than the one that was published. A day that is cheaper there was not to be had
with the true data; so the cost, which is public, says something about them.

With the market's prices ``y`` fixed, the leader's least cost is (up to its integers) a linear program in
which the demand ``d`` is a right-hand side. Its optimum ``c(d)`` is convex, and the dual found at any ``u``
gives ``c(d) >= c(u) + g'(d - u)``. Hence in the half-space

    g'd  >=  C - c(u) + g'u

no decision with these prices costs less than ``C``: enough, and linear. Which ``u`` is a good one is the
question. It should be near, have ``c(u)`` about ``C``, and be faithful itself, so that the half-space holds a
faithful vector. The vectors at which exactly the published prices are optimal, and the value is in its band,
are a polytope: from the nearest of them we go to its end in the direction of ``g`` (an LP) as long as the
cost rises, and back along the last step to where it is ``C``.

The other side is easier: vectors at which the published cost can be had at the published prices are a convex
set, and every tangent above it cuts off nothing that is true.

Other prices than the published ones may be cheaper as well. They are found by the coordination, by playing
the game on what would be released or by less, and kept out in the same way. All of it is made of released
and public figures.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.fidelity.problem import HalfSpaces
from ppsm.fidelity.restore import SamePrices
from ppsm.games.follower import Follower
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.publication import MarketResult
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp


@dataclass(frozen=True, eq=False)
class CostThere:
    """The leader's least cost at a demand, and by how much it rises with each entry."""

    cost: float
    slope: FloatArray

    def is_flat(self, demand: FloatArray) -> bool:
        """Whether twice this demand, or none, would cost the same by the tangent."""
        return float(np.abs(self.slope) @ np.abs(demand)) <= TUNING.cost_rounding * abs(self.cost)

    def half_space(self, demand: FloatArray, least: float) -> HalfSpaces:
        """Where the cost is at least that much, by the tangent at this demand."""
        return HalfSpaces(self.slope, np.array([least - self.cost + float(self.slope @ demand)]))


class LeastCost(Protocol):
    """A lower bound of the leader's cost with the market's prices fixed, convex in the demand.

    ``sign`` is -1 where the leader calls its cost a profit, with the other sign.
    """

    @property
    def sign(self) -> float:
        """1 or -1."""

    def at(self, demand: FloatArray) -> CostThere | None:
        """The bound at a demand; None where it could not be told."""

    def directions(self, felt: FloatArray) -> Iterator[FloatArray]:
        """Directions in which the bound may rise beyond where its slope shows it, beside a decision."""


@dataclass(frozen=True, eq=False)
class CostlyDecision:
    """A published decision, its cost (as something to be minimised) and how far that may be rounded."""

    felt: FloatArray
    cost: float
    rounding: float = 0.0

    @property
    def slack(self) -> float:
        """What is aimed at, and as much again before it counts as missed; rounding may be more."""
        return max(TUNING.cost_slack * abs(self.cost), self.rounding)

    @property
    def least(self) -> float:
        """What counts as the published cost: its own proof and relaxed integers have gaps."""
        return self.cost - self.slack

    @property
    def missed(self) -> float:
        """What is cheaper than this misses it."""
        return self.least - self.slack

    @property
    def most(self) -> float:
        """Beyond this a day is dearer than the published one, whatever the integers are.

        With its own prices the published day costs no less than the bound, which relaxes integers.
        """
        return self.cost + self.rounding


@dataclass(frozen=True, eq=False)
class KeptCost:
    """Brings the cost of what would be released to what was published."""

    decision: CostlyDecision
    same_prices: SamePrices

    def ceiling(self, bound: LeastCost, released: FloatArray) -> HalfSpaces | None:
        """Half-spaces with every vector that allows the published cost at the published prices.

        None where the vector allows it, or no other does: a flat tangent says nothing of the demand. They are
        below the bound, so nothing true is lost. A tangent far out cuts little off beside the vectors that
        are kept, so one more then touches these, on the way to the nearest vector with the published prices.
        """
        there, most = bound.at(released), self.decision.most
        if there is None or there.cost <= most + self.decision.slack or there.is_flat(released):
            return None
        found = self._capped(released, there)
        if there.cost <= most + TUNING.cost_far * self.decision.slack:
            return found
        inside = self.same_prices.nearest
        at_inside = bound.at(inside)
        if at_inside is None:
            return found
        way = _Hill(inside, released, there)
        place, at_place = (inside, at_inside) if at_inside.cost > most else self._down_to(most, bound, way)
        return found if at_place.is_flat(place) else self._capped(place, at_place).and_also(found)

    def _capped(self, vector: FloatArray, there: CostThere) -> HalfSpaces:
        """Where the tangent at a vector is at most the published cost."""
        return CostThere(-there.cost, -there.slope).half_space(vector, -self.decision.most)

    def floor(self, bound: LeastCost, released: FloatArray, margin: float = 0.0) -> HalfSpaces | None:
        """A half-space without a cheaper day, near what would be released; None where none is needed.

        A ``margin`` (of the published cost) asks for more where it is to be had.
        """
        there = bound.at(released)
        if there is None or there.cost >= self.decision.missed:
            return None
        slack = self.decision.slack
        enough = self.decision.least + margin * abs(self.decision.cost)
        # A margin is a wish: no further hill is looked for to have more of it.
        high_enough = self.decision.least + min(margin * abs(self.decision.cost), slack)
        best: _Hill | None = None
        for direction in self._directions(bound, there):
            hill = self._climbed(bound, direction)
            if hill is None:
                continue
            if best is not None and _are_equal(hill.top.cost, best.top.cost):
                break  # two ways up to one height: it is the top, as far as can be seen
            if best is None or hill.top.cost > best.top.cost:
                best = hill
            if best.top.cost >= high_enough:
                break
        if best is None or best.top.cost - slack <= there.cost:
            return None
        # Below the top: what is left at the top itself may be a single vector, and not the true one.
        goal = min(enough, best.top.cost - slack)
        point, at_point = self._down_to(goal, bound, best)
        return None if at_point.is_flat(point) else at_point.half_space(point, goal)

    def _directions(self, bound: LeastCost, there: CostThere) -> Iterator[FloatArray]:
        """Uphill; a convex bound may have other, higher hills."""
        yield there.slope
        for other in bound.directions(self.decision.felt):
            yield other
            yield _of_size_one(there.slope) + _of_size_one(other)

    def _climbed(self, bound: LeastCost, direction: FloatArray) -> "_Hill | None":
        """Go along a direction, then uphill, from vertex to vertex as long as the cost rises."""
        low = point = self.same_prices.nearest
        here = bound.at(point)
        if here is None:
            return None
        least_rise = TUNING.cost_rounding * abs(here.cost)
        for _ in range(TUNING.cost_climbs):
            end = self.same_prices.farthest(direction)
            there = None if end is None else bound.at(end)
            if end is None or there is None or there.cost <= here.cost + least_rise:
                break
            low, point, here, direction = point, end, there, there.slope
        return _Hill(low, point, here)

    def _down_to(self, goal: float, bound: LeastCost, hill: "_Hill") -> tuple[FloatArray, CostThere]:
        """A place on the last step where the cost is at least the goal, and hardly more.

        Newton's method from above: the tangent of a convex cost is below it, so that where the tangent meets
        the goal the cost is no less.
        """
        high, at_high = hill.vector, hill.top
        for _ in range(TUNING.cost_descents):
            back = hill.below - high
            fall = -float(at_high.slope @ back)
            if at_high.cost <= goal + self.decision.slack or fall <= 0.0:
                break
            place = high + min(1.0, (at_high.cost - goal) / fall) * back
            there = bound.at(place)
            if there is None or there.cost < goal - TUNING.cost_rounding * abs(goal):
                break
            high, at_high = place, there
        return high, at_high


@dataclass(frozen=True, eq=False)
class _Hill:
    """The end of a climb, the vertex before it, and the cost at the end."""

    below: FloatArray
    vector: FloatArray
    top: CostThere


def of_one_price(prices: FloatArray, rounding: float) -> Iterator[FloatArray]:
    """Entries of one price each, as directions."""
    for price in np.unique(np.round(prices / rounding)):
        yield (np.round(prices / rounding) == price).astype(np.float64)


def _are_equal(one: float, other: float) -> bool:
    return abs(one - other) <= TUNING.cost_rounding * abs(other)


def _of_size_one(slopes: FloatArray) -> FloatArray:
    largest = float(np.abs(slopes).max(initial=0.0))
    return slopes / largest if largest > 0.0 else slopes


@dataclass(frozen=True, eq=False)
class Day:
    """A day on some demand: its cost, to be minimised, and the bound of all days like it, if there is one.

    It ``is_least`` where no day is cheaper, as far as the coordination can tell.
    """

    cost: float
    bound: LeastCost | None
    is_least: bool = False


class Cleared(Protocol):
    """A game that was played: what the leader pays and the market's prices, None without an answer."""

    @property
    def leader_cost(self) -> float | None:
        """What the leader pays."""

    @property
    def prices(self) -> FloatArray | None:
        """The market's prices."""


def day_of(played: Cleared, least_cost_at: Callable[[FloatArray], LeastCost | None]) -> Day | None:
    """The day that a game was played to; None without an answer."""
    if played.leader_cost is None or played.prices is None:
        return None
    bound = least_cost_at(played.prices)
    return None if bound is None else Day(bound.sign * played.leader_cost, bound, is_least=True)


@dataclass(frozen=True, eq=False)
class Days:
    """What the leader can say of a vector: bounds at given prices, and its cheapest day.

    ``same`` is the bound at the published prices.
    """

    cheapest: Callable[[FloatArray, float], Day | None]
    same: LeastCost
    _seen: dict[bytes, Day | None] = field(default_factory=dict)

    def needed(self, kept: KeptCost, released: FloatArray, *, is_final: bool) -> Iterator[HalfSpaces | None]:
        """Half-spaces that keep the cost, the cheapest to find first; another day is looked for at last.

        That takes long, so that it is done for final vectors only.

        With the published prices the day must be neither dearer nor cheaper; another day only not cheaper,
        and some more, because many others are like it.
        """
        yield kept.ceiling(self.same, released)
        yield kept.floor(self.same, released)
        if not is_final:
            return
        day = self._day(kept.decision, released)
        for _ in range(TUNING.cost_days):
            if day is None or day.bound is None or day.cost >= kept.decision.least:
                return
            yield kept.floor(day.bound, released, TUNING.cost_margin)
            # Where nothing faithful keeps this day out, a much cheaper one may be behind it.
            day = self._cheaper(day, released, kept.decision.slack)

    def off(self, decision: CostlyDecision, released: FloatArray, *, look: bool) -> float:
        """How far the cheapest day is from the published cost; infinite where it was not looked for."""
        if not look and released.tobytes() not in self._seen:
            return INFINITY
        day = self._day(decision, released)
        return INFINITY if day is None else abs(day.cost - decision.cost)

    def _day(self, decision: CostlyDecision, released: FloatArray) -> Day | None:
        key = released.tobytes()
        if key not in self._seen:
            self._seen[key] = self.cheapest(released, decision.missed)
        return self._seen[key]

    def _cheaper(self, than: Day, released: FloatArray, by: float) -> Day | None:
        """A day that is cheaper than another one by so much; None where none is found."""
        found = None if than.is_least else self.cheapest(released, than.cost - by)
        if found is None or found.bound is None:
            return None
        self._seen[released.tobytes()] = found
        return found


class Vectors(Protocol):
    """What may be released within half-spaces."""

    def nearest(self, half_spaces: HalfSpaces | None) -> FloatArray | None:
        """Step 3b within half-spaces; None where nothing is left."""

    def first(self, half_spaces: HalfSpaces) -> FloatArray | None:
        """What step 3b begins with within half-spaces, at once; None where it has nothing to begin with."""

    def at_published_prices(self, half_spaces: HalfSpaces | None) -> SamePrices | None:
        """The vectors at which the published prices are optimal; None where none is left."""


@dataclass(frozen=True, eq=False)
class _Standing:
    """Half-spaces and a vector in all of them: what step 3b would release there, or what it begins with."""

    half_spaces: HalfSpaces | None
    vector: FloatArray
    is_final: bool

    @classmethod
    def final(cls, vectors: Vectors, half_spaces: HalfSpaces | None) -> "_Standing | None":
        """What would be released in half-spaces; None where nothing is left."""
        nearest = vectors.nearest(half_spaces)
        return None if nearest is None else cls(half_spaces, nearest, True)

    @classmethod
    def begun(cls, vectors: Vectors, half_spaces: HalfSpaces) -> "_Standing | None":
        """The same without its search, where that has something to begin with."""
        first = vectors.first(half_spaces)
        return cls.final(vectors, half_spaces) if first is None else cls(half_spaces, first, False)


def half_spaces_that_keep(decision: CostlyDecision, vectors: Vectors, days: Days) -> HalfSpaces | None:
    """Half-spaces that keep the published cost of a decision, as far as they leave anything faithful.

    Each is made around a vector that the ones before hold, so that there is one in all of them. Where the
    cost could not be kept, they are those of which the game on what would be released came nearest to it.
    What that is takes a search, so that half-spaces are first made until what it begins with needs no more.
    """
    standing = _Standing.final(vectors, None)
    best, least_off = None, INFINITY
    stop = time.process_time() + TUNING.cost_search_seconds
    # Two rounds beyond those of half-spaces: what is left is made final in one and judged in the other.
    for round_ in range(TUNING.cost_rounds + 2):
        if standing is None:
            break
        is_last = round_ >= TUNING.cost_rounds or time.process_time() > stop
        better = None if is_last else _better(decision, vectors, days, standing)
        if better is None and not standing.is_final:
            standing = _Standing.final(vectors, standing.half_spaces)
            continue
        if better is None and standing.half_spaces is not None and not is_last:
            # Tangents hold no more than is enough: begin anew with what is missing now.
            better = _better(decision, vectors, days, replace(standing, half_spaces=None))
        if standing.is_final:
            off = days.off(decision, standing.vector, look=better is None)
            if off <= least_off:
                best, least_off = standing.half_spaces, off
        if better is None:
            break
        standing = better
    return best


def _better(decision: CostlyDecision, vectors: Vectors, days: Days, standing: _Standing) -> _Standing | None:
    """One half-space more and a vector in all of them; None where none is needed or holds one."""
    polytope = vectors.at_published_prices(standing.half_spaces)
    if polytope is None:
        return None
    kept = KeptCost(decision, polytope)
    for found in days.needed(kept, standing.vector, is_final=standing.is_final):
        if found is not None:
            better = _Standing.begun(vectors, found.and_also(standing.half_spaces))
            if better is not None:
                return better
    return None


def unrounded_prices(result: MarketResult, follower: Follower) -> FloatArray:
    """The published prices, moved within their rounding; as they are where they are not those of all rows.

    A market's prices are combinations of the costs of those who set them, whose reduced costs are zero. Of
    rounded prices they are not, and by complementarity nobody would set the price. So we look for prices with
    as many reduced costs of zero as can be: the least sum of the sizes of those that rounding may have moved,
    an LP, whose vertices have zeros. Costs and published figures are public.
    """
    if result.price_step == 0.0 or result.price_names != follower.program.row_names:
        return result.prices
    found = solve_lp(_fewest_gaps(follower.program, follower.sign * result.prices, 0.5 * result.price_step))
    if not found.status.has_answer:
        return result.prices
    return follower.sign * found.columns[: result.prices.size] + 0.0


def _fewest_gaps(program: LinearProgram, prices: FloatArray, reach: float) -> LinearProgram:
    """Columns: prices, reduced costs up and down of whom rounding may have moved, moves up and down."""
    transposed = program.matrix.T.tocsr()
    moved = reach * np.asarray(abs(transposed).sum(axis=1)).ravel() * (1.0 + TUNING.cost_rounding)
    near = np.flatnonzero(np.abs(program.cost - transposed @ prices) <= moved)
    gaps, moves = sp.eye_array(near.size), sp.eye_array(prices.size)
    matrix = sp.block_array(
        [[transposed[near], gaps, -gaps, None, None], [moves, None, None, -moves, moves]], format="csr"
    )
    right = np.concatenate([program.cost[near], prices])
    # The price of a row with one side has one sign.
    lower = np.where(np.isfinite(program.row_upper), prices - reach, np.maximum(prices - reach, 0.0))
    upper = np.where(np.isfinite(program.row_lower), prices + reach, np.minimum(prices + reach, 0.0))
    sizes = 2 * (near.size + prices.size)
    weights = np.repeat([1.0, TUNING.price_move], [2 * near.size, 2 * prices.size])
    return LinearProgram.of(
        np.concatenate([np.zeros(prices.size), weights]),
        sp.csr_array(matrix),
        row_lower=right,
        row_upper=right,
        column_lower=np.concatenate([lower, np.zeros(sizes)]),
        column_upper=np.concatenate([upper, np.full(sizes, INFINITY)]),
    )
