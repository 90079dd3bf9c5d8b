"""Exact search, best bound first: the frame that both searches share, and the plain one.

A node holds some sides *tight* and some multipliers at *zero*. The plain search bounds it by the relaxation
over answers and parameters, which knows only the tight sides; its duals are looked for by an LP, which
knows only the zeros. At the relaxed parameter the follower's cheapest answer and its best dual in the band
are compared: without a duality gap the node is solved. Otherwise the side with the largest product of slack
and multiplier is branched on: tight (a new QP, the same duals), or multiplier zero (the same QP, fewer
duals). Every child dies at last: by an empty set of duals, an infeasible QP, a bound, or because it is
solved.
"""

import heapq
import itertools
import time
from dataclasses import dataclass, field

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import InputError, SolverError
from ppsm.fidelity.band import DualPoint, FollowerLps
from ppsm.fidelity.core import Core
from ppsm.fidelity.duality_bound import DualityBound
from ppsm.fidelity.joint import PriceBox
from ppsm.fidelity.relaxation import Relaxation, RelaxedPoint
from ppsm.status import Status

# Duality gap at which a point counts as faithful, relative to the value; the certificate allows 1e-6.
FAITHFUL = 1e-8
# A slack or a pull (both scaled) below this counts as none.
_NO_SLACK = 1e-7
_LOCAL_STEPS = 4
NONE: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class SearchLimits:
    """When a search may stop: relative gap, nodes, wall-clock seconds; fewer if nothing faithful is found."""

    gap: float = 1e-4
    nodes: int = 100_000
    seconds: float = 60.0
    barren_seconds: float = INFINITY

    def __post_init__(self) -> None:
        for name, least in (("gap", 0.0), ("nodes", 1), ("seconds", 0.0), ("barren_seconds", 0.0)):
            if not getattr(self, name) >= least:
                raise InputError(f"the limit '{name}' is {getattr(self, name)}; expected at least {least:g}.")


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A faithful point, and the sides that have to be tight for its dual."""

    objective: float
    parameter: FloatArray
    columns: FloatArray
    support: IntArray


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What a search ended with; ``bound`` is proven, infinite where the problem is infeasible."""

    status: Status
    incumbent: Incumbent | None
    bound: float
    nodes: int


@dataclass(order=True)
class Node:
    """A part of the search space; the relaxation's optimum is kept where a child would only repeat it."""

    bound: float
    order: int
    tight: tuple[int, ...] = field(compare=False, default=())
    zero: tuple[int, ...] = field(compare=False, default=())
    box: PriceBox | None = field(compare=False, default=None)
    narrowed: bool = field(compare=False, default=False)
    penalty: float = field(compare=False, default=0.0)
    held: IntArray | None = field(compare=False, default=None)
    point: RelaxedPoint | None = field(compare=False, default=None)


def sides_of(positions: tuple[int, ...]) -> IntArray:
    """Positions as an index array."""
    return np.array(positions, dtype=np.int64)


class Search:
    """The plain search over one problem; ``lps`` are shared with other searches of the same follower."""

    def __init__(self, core: Core, lps: FollowerLps, limits: SearchLimits) -> None:
        self.core, self.lps, self.limits = core, lps, limits
        self.relaxation = Relaxation(core)
        self.incumbent: Incumbent | None = None
        self.nodes = 0
        self.stop = INFINITY
        self.orders = itertools.count()
        self.cost = core.follower.program.cost
        # Bounds of nodes given up without a verdict; they cap what can be proven.
        self.unsettled = INFINITY
        # The least bound of what was dropped; it is no better than the incumbent by more than the gap.
        self.dropped = INFINITY
        # What is proven for everything, whatever the heap says.
        self.floor = -INFINITY
        # The optimum of the relaxation without any tight side.
        self.start: RelaxedPoint | None = None
        self.size = 0.0
        self.heap: list[Node] = []
        self._tried: dict[bytes, DualityBound | None] = {}
        lps.set_band(core.price_lower, core.price_upper)

    def run(self) -> SearchOutcome:
        """Search until the gap closes or a limit is hit."""
        started = time.perf_counter()
        self.stop = started + self.limits.seconds
        barren = started + min(self.limits.seconds, self.limits.barren_seconds)
        self.start = self.relaxation.solve(NONE)
        if self.start is None and self.relaxation.failures == 0:
            return self._outcome(INFINITY)
        floor = max(self.core.least, self._first_shot())
        if floor >= self.cutoff():
            return self._outcome(floor)
        self.push(self.root(floor))
        while self.heap:
            bound = self.heap[0].bound
            proven = max(bound, self.floor) >= self.cutoff()
            stop = barren if self.incumbent is None else self.stop
            if proven or self.nodes >= self.limits.nodes or time.perf_counter() > stop:
                return self._outcome(bound)
            self.nodes += 1
            node = heapq.heappop(self.heap)
            try:
                self.expand(node)
            except SolverError:  # an LP that HiGHS cannot settle leaves its node open
                self.unsettled = min(self.unsettled, node.bound)
        return self._outcome(INFINITY)

    def root(self, bound: float) -> Node:
        """The node that holds everything."""
        return Node(bound, next(self.orders), point=self.start)

    def cutoff(self) -> float:
        """A node whose bound is at least this cannot improve the incumbent by more than the gap."""
        if self.incumbent is None:
            return INFINITY
        best = self.incumbent.objective
        return best - self.limits.gap * abs(best) - self.core.negligible

    def beaten(self, bound: float) -> bool:
        """Whether what has this bound may be dropped."""
        if bound < self.cutoff():
            return False
        self.dropped = min(self.dropped, bound)
        return True

    def push(self, node: Node) -> None:
        """Keep a node for later, unless it is already beaten."""
        if not self.beaten(node.bound):
            heapq.heappush(self.heap, node)

    def expand(self, node: Node) -> None:
        """Settle a node or push its children."""
        tight, zero = sides_of(node.tight), sides_of(node.zero)
        failures = self.relaxation.failures
        point = node.point or self.relaxation.solve(tight)
        if point is None:
            if self.relaxation.failures > failures:
                self.unsettled = min(self.unsettled, node.bound)
            return
        bound = max(node.bound, point.bound)
        if self.beaten(bound):
            return
        shift = self.core.rows_at(point.parameter)
        dual = self.lps.dual(shift, zero)
        if dual is None:
            return
        answer = self.cheapest_answer(point.columns, shift, tight)
        if self.offer_if_faithful(point.parameter, answer, dual):
            return
        minorant = self.try_support(dual, tight, point.parameter)
        if minorant is not None:
            bound = max(bound, minorant.value(self.lps, zero))
        products = self.products(answer, shift, dual.multipliers, node)
        side = int(np.argmax(products))
        if products[side] <= 0.0:
            self.unsettled = min(self.unsettled, bound)
            return
        self.push(Node(bound, next(self.orders), (*node.tight, side), self.with_twin(node.zero, side)))
        self.push(Node(bound, next(self.orders), node.tight, (*node.zero, side), point=point))

    def with_twin(self, zero: tuple[int, ...], side: int) -> tuple[int, ...]:
        """The zeros once a side is tight: the other side of the same row or column is slack."""
        twin = int(self.core.follower.sides.twin[side])
        return (*zero, twin) if twin >= 0 and twin not in zero else zero

    def cheapest_answer(self, otherwise: FloatArray, shift: FloatArray, tight: IntArray) -> FloatArray:
        """The cheapest answer at a shift that the node and the value band allow."""
        found = self.lps.value(shift, tight, at_least=self.core.value_lower)
        return otherwise if found is None or not found[1].size else found[1]

    def products(
        self, answer: FloatArray, shift: FloatArray, multipliers: FloatArray, node: Node
    ) -> FloatArray:
        """Slack times multiplier of every side that the node has not decided."""
        products = self.core.follower.slacks(answer, shift) * np.maximum(0.0, multipliers)
        products[list(node.tight) + list(node.zero)] = 0.0
        return products

    def offer_if_faithful(self, parameter: FloatArray, answer: FloatArray, dual: DualPoint) -> bool:
        """Offer a parameter as incumbent if an answer and a dual in the band leave no duality gap at it."""
        cost = float(self.cost @ answer)
        if cost - dual.value > FAITHFUL * max(1.0, abs(cost)):
            return False
        support = dual.support(self.lps.inequalities)
        self.offer(Incumbent(self.core.objective(parameter), parameter, answer, support))
        return True

    def offer(self, candidate: Incumbent) -> None:
        """Keep a faithful point if it is the best so far."""
        if self.incumbent is None or candidate.objective < self.incumbent.objective:
            self.incumbent = candidate

    def _first_shot(self) -> float:
        """A bound from the relaxed optimum, which often is faithful: then nothing is left to search."""
        if self.start is None or not self.core.has_price_band:
            return -INFINITY
        parameter = self.core.snapped(self.start.parameter)
        shift = self.core.rows_at(parameter)
        dual = self.lps.dual(shift)
        if dual is None:
            return INFINITY  # no dual in the band: infeasible, whatever the parameter
        self.size = self._size_of_answer(dual)
        if not np.isfinite(dual.value) or dual.value < self.core.value_lower - self._slack_of_value:
            return self.start.bound
        answer = self.cheapest_answer(self.start.columns, shift, NONE)
        self.offer_if_faithful(parameter, answer, dual)
        return self.start.bound

    @property
    def _slack_of_value(self) -> float:
        return FAITHFUL * max(1.0, abs(self.core.value_lower))

    def _size_of_answer(self, dual: DualPoint) -> float:
        """A guess at the objective: what the relaxation asks for, or a move along prices up to the band."""
        core, bound = self.core, 0.0 if self.start is None else self.start.bound
        curved = core.curvature > 0
        worth = float((dual.prices[curved] ** 2 / core.curvature[curved]).sum())
        if not (np.isfinite(dual.value) and np.isfinite(core.value_lower) and worth > 0.0):
            return bound
        return max(bound, max(0.0, core.value_lower - dual.value) ** 2 / worth)

    def try_support(self, dual: DualPoint, tight: IntArray, parameter: FloatArray) -> DualityBound | None:
        """Solve with a dual's support tight: an incumbent, a minorant, and perhaps a better neighbour.

        ``parameter`` is where the dual was found.
        """
        del parameter  # a support says all; searches without a price band need it
        best: DualityBound | None = None
        for step in range(_LOCAL_STEPS):
            support = dual.support(self.lps.inequalities)
            held = np.union1d(support, tight)
            key = held.tobytes() + tight.tobytes()
            if key in self._tried:
                return self._tried[key] or best
            self._tried[key] = None
            # A neighbour's support can be held where it was found; of the first one nothing is known.
            if step == 0 and not self.lps.pairs.is_feasible(self.core, held):
                break
            point = self.relaxation.solve(held)
            if point is None:
                break
            self.offer(Incumbent(point.objective, point.parameter, point.columns, support))
            best = DualityBound.at(self.core, point, dual, support, tight)
            self._tried[key] = best
            neighbour = self._neighbour(point, support)
            if neighbour is None:
                break
            dual = neighbour
        return best

    def _neighbour(self, point: RelaxedPoint, support: IntArray) -> DualPoint | None:
        """Another dual that is optimal at the same point and leans less on sides that cost the objective."""
        pull = np.maximum(0.0, -point.side_multipliers)
        if pull[support].max(initial=0.0) <= _NO_SLACK:
            return None
        slacks = self.core.follower.slacks(point.columns, self.core.rows_at(point.parameter))
        inactive = self.lps.inequalities[slacks[self.lps.inequalities] > _NO_SLACK]
        found = self.lps.cheapest_dual(pull, inactive)
        return None if found is None or not np.isfinite(found.value) else found

    def _outcome(self, open_bound: float) -> SearchOutcome:
        bound = max(self.core.least, self.floor, min(open_bound, self.unsettled, self.dropped))
        if self.incumbent is None:
            status = Status.INFEASIBLE if bound == INFINITY else Status.NO_INCUMBENT
            return SearchOutcome(status, None, bound, self.nodes)
        proven = bound >= self.cutoff()
        return SearchOutcome(
            Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT,
            self.incumbent,
            min(bound, self.incumbent.objective),
            self.nodes,
        )
