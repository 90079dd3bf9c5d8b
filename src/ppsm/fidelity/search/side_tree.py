"""The plain tree: complementarity is branched on, side by side, whatever the distance and the bands.

A node holds some sides *tight* and some multipliers at *zero*. It is bounded by the relaxation over answers
and parameters, which knows only the tight sides; its duals are looked for by an LP, which knows only the
zeros. At the relaxed parameter the follower's cheapest answer and its best dual in the band are compared:
without a duality gap the node is solved. Otherwise the side with the largest product of slack and multiplier
is branched on: tight (a new QP, the same duals), or multiplier zero (the same QP, fewer duals). Every child
dies at last: by an empty set of duals, an infeasible QP, a bound, or because it is solved.
"""

from dataclasses import dataclass, field

import numpy as np

from ppsm.fidelity.bounds.relaxation import RelaxedPoint
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import BestFirst, Node, sides_of
from ppsm.fidelity.search.supports import Supports, Trial


@dataclass(frozen=True, order=True)
class SideNode(Node):
    """What is tight and what has no multiplier; the relaxed optimum where a child would only repeat it."""

    tight: tuple[int, ...] = field(compare=False, default=())
    zero: tuple[int, ...] = field(compare=False, default=())
    point: RelaxedPoint | None = field(compare=False, default=None)


class SideTree(BestFirst[SideNode]):
    """The search by sides alone."""

    def __init__(self, core: Core, lps: FollowerLps, limits: SearchLimits) -> None:
        super().__init__(core, lps, limits)
        self._supports = Supports(self.relaxation, lps)

    def root(self, bound: float) -> SideNode:
        """The node that holds everything."""
        return SideNode(bound, next(self.orders), point=self.start)

    def expand(self, node: SideNode) -> None:
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
        bound = max(bound, self._supports.lift(Trial(dual, point.parameter, tight, zero), self.offer))
        products = self.products(answer, shift, dual.multipliers, (*node.tight, *node.zero))
        side = int(np.argmax(products))
        if products[side] <= 0.0:
            self.unsettled = min(self.unsettled, bound)
            return
        self.push(SideNode(bound, next(self.orders), (*node.tight, side), self.with_twin(node.zero, side)))
        self.push(SideNode(bound, next(self.orders), node.tight, (*node.zero, side), point))
