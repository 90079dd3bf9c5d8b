"""The tree over sides where prices are bounded and the distance is no sum of squares, as in l1.

The plain tree knows of a node's duals only what another LP says. Here answers and duals are in one LP
(:class:`~ppsm.fidelity.bounds.duality_lp.DualityLp`), so that both children of a side gain: one because it is
tight, the other because its multiplier is zero. The sides that violate complementarity most at its optimum
are tried, both ways, and the one that gains most is branched on.
"""

from dataclasses import replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.convex import NearPoint
from ppsm.fidelity.bounds.duality_lp import DualityLp
from ppsm.fidelity.follower_lps import DualPoint
from ppsm.fidelity.implied import Decided
from ppsm.fidelity.search.best_first import NONE, Incumbent, sides_of
from ppsm.fidelity.search.side_tree import SideNode, SideTree
from ppsm.fidelity.search.supports import Lift, Offer, Trial
from ppsm.fidelity.tuning import TUNING


class DualityTree(SideTree):
    """The search by sides with duals in the LP of each node; every price has a bounded band."""

    _near: DualityLp

    def near(self, around: FloatArray) -> DualityLp:
        """The LP that bounds nodes."""
        return DualityLp(self.core, around, self.limits.gap)

    def solved(
        self, tight: Decided, zero: Decided, enough: float = INFINITY, *, rounds: int = TUNING.tangent_rounds
    ) -> NearPoint | None:
        """The optimum of a node; None where nothing is left."""
        return self._near.solve_with(sides_of(tight), sides_of(zero), enough, rounds=rounds)

    def settle_or_branch(self, node: SideNode, point: NearPoint) -> SideNode | None:
        """As in the plain tree; a dual at the point itself is looked for only where it is of use."""
        if point.multipliers is None:
            return self._at_root(node)
        if self.incumbent is not None:
            self._near.narrow(self.incumbent.objective)
        self.duals.add(point.multipliers)
        shift = self.core.rows_at(point.parameter)
        violated = self.violated(node, point.columns, shift, point.multipliers)
        if not violated.size or self.is_lift_due:
            return super().settle_or_branch(node, point)
        return self._branched(node, violated, shift)

    def _at_root(self, node: SideNode) -> SideNode | None:
        """The root with its own LP, and with every side tight whose multiplier is positive in all duals."""
        point = self.solved(node.tight, node.zero, self.cutoff())
        if point is None or self.beaten(point.bound) or point.multipliers is None:
            return None
        self.duals.add(point.multipliers)
        positive = self.lps.inequalities[point.multipliers[self.lps.inequalities] > TUNING.zero_multiplier]
        forced = self.forced(positive, node.zero, self.core.rows_at(point.parameter))
        return self.with_tight(node, forced) if forced else replace(node, point=point)

    def lift(self) -> Lift:
        """The nearest point at which a dual's support is tight, by the same LP."""

        def by_lp(trial: Trial, offer: Offer) -> float:
            support = trial.dual.support(self.lps.inequalities)
            held = np.union1d(support, trial.tight)
            point = self._near.solve_with(held, NONE, rounds=TUNING.leaf_rounds)
            if point is not None:
                objective = self.core.objective(point.parameter)
                offer(Incumbent(objective, point.parameter, point.columns, support))
            return -INFINITY

        return by_lp

    def probed(
        self, node: SideNode, answer: FloatArray, shift: FloatArray, dual: DualPoint
    ) -> SideNode | None:
        """Decide or branch; where the LP sees no violation, by what the dual at its point violates."""
        point, violated = node.point, NONE
        if point is not None and point.multipliers is not None:
            violated = self.violated(node, point.columns, shift, point.multipliers)
        if not violated.size:
            violated = self.violated(node, answer, shift, dual.multipliers)
        if not violated.size:
            self.unsettled = min(self.unsettled, node.bound)
            return None
        return self._branched(node, violated, shift)

    def _branched(self, node: SideNode, violated: IntArray, shift: FloatArray) -> SideNode | None:
        """A node with more sides decided, or None: its children are pushed, or dead."""
        forced = self.forced(violated, node.zero, shift)
        if forced:
            return self.with_tight(node, forced)
        best: tuple[float, list[SideNode]] = -1.0, []
        tried = 1 if self.nodes <= TUNING.small_tree else TUNING.tried_both_ways
        for side in violated[:tried].tolist():
            children = self._living_children(node, side)
            if len(children) < 2:
                return children[0] if children else None
            gains = [child.bound - node.bound for child in children]
            least = TUNING.least_gain * max(gains)
            score = max(gains[0], least) * max(gains[1], least)
            if score > best[0]:
                best = score, children
        for child in best[1]:
            self.push(replace(child, order=next(self.orders)))
        return None

    def _living_children(self, node: SideNode, side: int) -> list[SideNode]:
        """A node with a side tight, and with its multiplier zero: those that may hold a better point."""
        children = []
        for tight, zero in (
            self.if_tight(node.tight, node.zero, side),
            (node.tight, self.if_zero(node.zero, side)),
        ):
            point = self.solved(tight, zero, self.cutoff())
            if point is not None and not self.beaten(point.bound):
                bound = max(node.bound, point.bound)
                children.append(replace(node, bound=bound, tight=tight, zero=zero, point=point))
        return children
