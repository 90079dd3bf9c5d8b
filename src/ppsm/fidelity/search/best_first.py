"""The frame of every search: nodes by best bound first, the incumbent, and what is proven in the end.

A search says what its nodes are, which one holds everything (:meth:`BestFirst.root`) and how one is settled
or divided (:meth:`BestFirst.expand`). The children of a node cover it but for what is dropped as no better
than the incumbent by more than the gap, or given up without a verdict; both cap what is proven.
"""

import heapq
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.convex import Relaxation, RelaxedPoint
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.implied import Decided, ImpliedSides
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status

NONE: IntArray = np.empty(0, dtype=np.int64)


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

    @property
    def status_unconfirmed(self) -> Status:
        """The status where its incumbent, if any, is not confirmed by LP vertices."""
        return self.status if self.incumbent is None else Status.NO_INCUMBENT

    @property
    def why_unanswered(self) -> str:
        """Why it has come to no answer."""
        if self.incumbent is not None:
            return "what was found is faithful only within the solvers' rounding"
        return "the bands are empty" if self.status is Status.INFEASIBLE else "a limit was hit"


@dataclass(frozen=True, order=True)
class Node:
    """A part of the search space; of equal bounds the older one is looked at first."""

    bound: float
    order: int


AnyNode = TypeVar("AnyNode", bound=Node)


def sides_of(positions: Decided) -> IntArray:
    """Positions as an index array."""
    return np.array(positions, dtype=np.int64)


class BestFirst(ABC, Generic[AnyNode]):
    """A search over one problem; ``lps`` are shared with other searches of the same follower.

    Searches of the same problem may share its ``relaxation`` as well.
    """

    def __init__(
        self, core: Core, lps: FollowerLps, limits: SearchLimits, relaxation: Relaxation | None = None
    ) -> None:
        self.core, self.lps, self.limits = core, lps, limits
        self.relaxation = relaxation or Relaxation(core)
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
        self.heap: list[AnyNode] = []
        self._has_begun = False
        lps.set_band(core.price_lower, core.price_upper)

    def run(self) -> SearchOutcome:
        """Search until the gap closes or a limit is hit."""
        started = time.perf_counter()
        self.stop = started + self.limits.seconds
        barren = started + min(self.limits.seconds, self.limits.barren_seconds)
        for _ in self.steps():
            stop = barren if self.incumbent is None else self.stop
            if self.nodes >= self.limits.nodes or time.perf_counter() > stop:
                break
        return self.outcome()

    def steps(self) -> Iterator[None]:
        """Search node by node; before each the search may be left, and its outcome asked for."""
        floor = max(self.core.least, self.opening())
        self._has_begun = True
        if self.beaten(floor):
            return
        self.push(self.root(floor))
        while self.heap and max(self.heap[0].bound, self.floor) < self.cutoff():
            yield
            self.nodes += 1
            node = heapq.heappop(self.heap)
            try:
                self.expand(node)
            except SolverError:  # an LP that HiGHS cannot settle leaves its node open
                self.unsettled = min(self.unsettled, node.bound)

    @abstractmethod
    def root(self, bound: float) -> AnyNode:
        """The node that holds everything."""

    @abstractmethod
    def expand(self, node: AnyNode) -> None:
        """Settle a node or push its children."""

    def cutoff(self) -> float:
        """A node whose bound is at least this cannot improve the incumbent by more than the gap."""
        if self.incumbent is None:
            return INFINITY
        best = self.incumbent.objective
        return best - max(self.limits.gap * abs(best), self.core.negligible)

    def beaten(self, bound: float) -> bool:
        """Whether what has this bound may be dropped."""
        if bound < self.cutoff():
            return False
        self.dropped = min(self.dropped, bound)
        return True

    def push(self, node: AnyNode) -> None:
        """Keep a node for later, unless it is already beaten."""
        if not self.beaten(node.bound):
            heapq.heappush(self.heap, node)

    @cached_property
    def _implied(self) -> ImpliedSides:
        return ImpliedSides(self.core)

    def if_tight(self, tight: Decided, zero: Decided, side: int) -> tuple[Decided, Decided]:
        """What is tight and zero in the child in which a side's multiplier is positive."""
        return self._implied.if_positive(tight, zero, side)

    def if_zero(self, zero: Decided, side: int) -> Decided:
        """What is zero in the child in which a side's multiplier is."""
        return self._implied.if_zero(zero, side)

    def cheapest_answer(self, otherwise: FloatArray, shift: FloatArray, tight: IntArray) -> FloatArray:
        """The cheapest answer at a shift that the node and the value band allow."""
        found = self.lps.value(shift, tight, at_least=self.core.value_lower)
        return otherwise if found is None or not found[1].size else found[1]

    def products(
        self, answer: FloatArray, shift: FloatArray, multipliers: FloatArray, decided: tuple[int, ...]
    ) -> FloatArray:
        """Slack times multiplier of every side that is not decided yet."""
        products = self.core.follower.slacks(answer, shift) * np.maximum(0.0, multipliers)
        products[list(decided)] = 0.0
        return products

    def offer_if_faithful(self, parameter: FloatArray, answer: FloatArray, dual: DualPoint) -> bool:
        """Offer a parameter as incumbent if an answer and a dual in the band leave no duality gap at it."""
        cost = float(self.cost @ answer)
        if cost - dual.value > TUNING.faithful * max(1.0, abs(cost)):
            return False
        support = dual.support(self.lps.inequalities)
        self.offer(Incumbent(self.core.objective(parameter), parameter, answer, support))
        return True

    def offer(self, candidate: Incumbent) -> None:
        """Keep a faithful point if it is the best so far."""
        if self.incumbent is None or candidate.objective < self.incumbent.objective:
            self.incumbent = candidate

    def opening(self) -> float:
        """A bound from the relaxed optimum, which often is faithful: then nothing is left to search."""
        self.start = self.relaxation.optimum
        if self.start is None:
            return -INFINITY if self.relaxation.failures else INFINITY
        if not self.core.has_price_band:
            return -INFINITY
        parameter = self.core.snapped(self.start.parameter)
        shift = self.core.rows_at(parameter)
        dual = self.lps.dual(shift)
        if dual is None:
            return INFINITY  # no dual in the band: infeasible, whatever the parameter
        self.size = self._size_of_answer(dual)
        if not self.is_worth_enough(dual):
            return self.start.bound
        answer = self.cheapest_answer(self.start.columns, shift, NONE)
        self.offer_if_faithful(parameter, answer, dual)
        return self.start.bound

    def is_worth_enough(self, dual: DualPoint) -> bool:
        """Whether the best dual at a parameter is worth what the value band asks for at least."""
        slack = TUNING.faithful * max(1.0, abs(self.core.value_lower))
        return bool(np.isfinite(dual.value) and dual.value >= self.core.value_lower - slack)

    def _size_of_answer(self, dual: DualPoint) -> float:
        """A guess at the objective: what the relaxation asks for, or a move along prices up to the band."""
        core, bound = self.core, 0.0 if self.start is None else self.start.bound
        curved = core.curvature > 0
        worth = float((dual.prices[curved] ** 2 / core.curvature[curved]).sum())
        if not (np.isfinite(dual.value) and np.isfinite(core.value_lower) and worth > 0.0):
            return bound
        return max(bound, max(0.0, core.value_lower - dual.value) ** 2 / worth)

    def outcome(self) -> SearchOutcome:
        """What is found and proven so far."""
        left = INFINITY if self._has_begun else -INFINITY
        open_bound = self.heap[0].bound if self.heap else left
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
