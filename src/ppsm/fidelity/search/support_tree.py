"""The first search for least squares with bounded prices: at the optimum of one dual's support.

Mostly the best dual near the released vector, or a neighbour of it, has the right support: one small QP finds
the optimum. LPs then prove it (:mod:`ppsm.fidelity.bounds.least_penalty`), and sides are decided, or split,
while chords lose too much. No QP over answers and duals together is needed: on large networks that is what
time goes to. Where prices are wide this is over soon, and others go on from its point.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.least_penalty import LeastPenalty, OptimalityMatrix, Tangent
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.implied import Decided
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, BestFirst, Incumbent, Node, sides_of
from ppsm.fidelity.search.supports import Supports
from ppsm.fidelity.tuning import TUNING


@dataclass(frozen=True, eq=False)
class SupportPoint:
    """The optimum where the support of a dual is tight, and the tangents there."""

    support: IntArray
    least: LeastPenalty


@dataclass(frozen=True, order=True)
class PointNode(Node):
    """Sides that are tight and multipliers that are zero, and the point whose tangents bound what is left."""

    at: SupportPoint = field(compare=False)
    tight: Decided = field(compare=False, default=())
    zero: Decided = field(compare=False, default=())


class SupportTree(BestFirst[PointNode]):
    """Bounds every node by the tangent with the least penalty at a point."""

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        matrix: OptimalityMatrix,
        relaxation: Relaxation | None = None,
    ) -> None:
        super().__init__(core, lps, limits, relaxation)
        self._matrix = matrix
        self._supports = Supports(self.relaxation, lps)
        self._first: SupportPoint
        # Points whose neighbours were looked at.
        self._left: set[SupportPoint] = set()

    def opening(self) -> float:
        """The nearest vector if it is faithful; otherwise the optimum of a support to prove."""
        bound = self.core.least
        for parameter, proven in self._starts():
            bound = max(bound, proven)
            dual = self._offered(parameter)
            if dual is None:
                return INFINITY  # no dual in the band: infeasible, whatever the parameter
            if self.incumbent is not None:
                break
            first = self._at_support(dual, NONE)
            if first is not None:
                self._first = first
                return bound
        self.unsettled = bound
        return INFINITY  # nothing is left to search here

    def _starts(self) -> Iterator[tuple[FloatArray, float]]:
        """Vectors to start from, and what is proven with each."""
        if sum(self.core.follower.program.shape) > TUNING.small_market:
            yield np.clip(self.core.reference, self.core.lower, self.core.upper), self.core.least
        relaxed = self.relaxation.optimum
        if relaxed is not None:
            yield self.core.snapped(relaxed.parameter), relaxed.bound

    def _offered(self, parameter: FloatArray) -> DualPoint | None:
        """The best dual at a parameter, which is offered if it is faithful."""
        shift = self.core.rows_at(parameter)
        dual = self.lps.dual(shift, probing=True)
        if dual is not None and self.is_worth_enough(dual) and self._is_inside(parameter):
            found = self.lps.value(shift, at_least=self.core.value_lower)
            slack = TUNING.faithful * max(1.0, abs(self.core.value_upper))
            if found is not None and found[1].size and found[0] <= self.core.value_upper + slack:
                self.offer_if_faithful(parameter, found[1], dual)
        return dual

    def _is_inside(self, parameter: FloatArray) -> bool:
        """Whether a vector is in all half-spaces: the released one need not be."""
        weights, least = self.core.follower.half_space_rows
        return bool((weights @ parameter >= least - TUNING.faithful).all())

    def _at_support(self, dual: DualPoint, tight: IntArray, better: float = INFINITY) -> SupportPoint | None:
        """The optimum of a dual's support; None where it cannot be held or is no better than asked for."""
        support = dual.support(self.lps.inequalities)
        held = np.union1d(support, tight)
        if not (np.isfinite(dual.value) and self.lps.free_parameter.is_feasible(self.core, held)):
            return None
        point = self.relaxation.solve(held)
        if point is None or not point.objective < better:
            return None
        self.offer(Incumbent(point.objective, point.parameter, point.columns, support))
        return SupportPoint(support, LeastPenalty(self.core, self._matrix, point))

    def root(self, bound: float) -> PointNode:
        """The node that holds everything."""
        return PointNode(bound, next(self.orders), self._first)

    def expand(self, node: PointNode) -> None:
        """Settle a node, decide sides in it, or split it by one."""
        tangent = self._tangent(node)
        if not self._leads_on(tangent):
            self._move_on(node, tangent)
            return
        zero = sides_of(node.zero)
        node = replace(node, bound=max(node.bound, tangent.bound(self.core, self.lps, zero)))
        if self.beaten(node.bound):
            return
        decided, undecided = self._probed(node, tangent)
        if decided:
            self.push(self._held(node, decided))
        elif not self._goes_to_neighbour(node):
            self._split(node, undecided)

    def _tangent(self, node: PointNode) -> Tangent | None:
        return node.at.least.tangent(sides_of(node.tight), sides_of(node.zero))

    def _leads_on(self, tangent: Tangent | None) -> TypeGuard[Tangent]:
        """Whether chords leave something of a tangent."""
        return tangent is not None and tangent.loss <= TUNING.lost_share * self._best

    @property
    def _best(self) -> float:
        return INFINITY if self.incumbent is None else self.incumbent.objective

    def _probed(self, node: PointNode, tangent: Tangent) -> tuple[list[int], list[tuple[int, float]]]:
        """The sides that have to be tight, and the others with the bounds they have where they are not."""
        decided, undecided = [], []
        for side in _candidates(node, tangent)[: TUNING.probes]:
            if_zero = tangent.bound(self.core, self.lps, sides_of(self.if_zero(node.zero, side)))
            if self.beaten(if_zero):
                decided.append(side)
            else:
                undecided.append((side, if_zero))
        return decided, undecided

    def _held(self, node: PointNode, sides: Iterable[int]) -> PointNode:
        """A node with more sides tight."""
        for side in sides:
            tight, zero = self.if_tight(node.tight, node.zero, side)
            node = replace(node, tight=tight, zero=zero)
        return replace(node, order=next(self.orders))

    def _split(self, node: PointNode, undecided: list[tuple[int, float]]) -> None:
        """Branch on the side that keeps the penalty up most."""
        if not undecided:
            self.unsettled = min(self.unsettled, node.bound)
            return
        side, if_zero = undecided[0]
        self.push(self._held(node, [side]))
        slack = replace(node, bound=max(node.bound, if_zero), zero=self.if_zero(node.zero, side))
        self.push(replace(slack, order=next(self.orders)))

    def _move_on(self, node: PointNode, tangent: Tangent | None) -> None:
        """Where a tangent leads nowhere: to a neighbour, to where it leads on, or to the node's own point."""
        if self._goes_to_neighbour(node):
            return
        if tangent is not None and self._leads_on_if_held(node, tangent):
            self._split(node, [(_candidates(node, tangent)[0], node.bound)])
            return
        parameter, decided = node.at.least.point.parameter, (*node.tight, *node.zero)
        dual = self.lps.dual(self.core.rows_at(parameter), sides_of(node.zero), probing=True)
        if dual is None:
            return
        own = self._at_support(dual, sides_of(node.tight)) if decided else None
        if own is None or np.array_equal(own.support, node.at.support):
            self.unsettled = min(self.unsettled, node.bound)
            return
        self.push(replace(node, at=own, order=next(self.orders)))

    def _leads_on_if_held(self, node: PointNode, tangent: Tangent | None) -> bool:
        """Whether the tangent would lead on with those sides tight that keep its penalty up."""
        for _ in range(TUNING.undecided):
            candidates = [] if tangent is None else _candidates(node, tangent)
            if not candidates:
                return False
            node = self._held(node, candidates[:1])
            tangent = self._tangent(node)
            if self._leads_on(tangent):
                return True
        return False

    def _goes_to_neighbour(self, node: PointNode) -> bool:
        """Take up a node from a better neighbour of its point, if there is one."""
        if node.at in self._left:
            return False
        self._left.add(node.at)
        point = node.at.least.point
        dual = self._supports.neighbour(point, node.at.support)
        better = (1.0 - TUNING.walk_gain) * min(point.objective, self._best)
        found = None if dual is None else self._at_support(dual, NONE, better)
        if found is not None:
            self.push(replace(node, at=found, order=next(self.orders)))
        return found is not None


def _candidates(node: PointNode, tangent: Tangent) -> list[int]:
    """The sides that keep the penalty up and could be tight, worst first."""
    return [side for side in tangent.pulls.tolist() if side not in node.zero]
