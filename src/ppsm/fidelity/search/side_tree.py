"""The plain tree: complementarity is branched on, side by side, whatever the distance and the bands.

A node holds some sides *tight* and some multipliers at *zero*. It is bounded by an LP over answers and
parameters (:class:`~ppsm.fidelity.bounds.convex.DistanceLp`), which knows only the tight sides; its duals are
looked for by another, which knows only the zeros. At the relaxed parameter the follower's cheapest answer and
its best dual in the band are compared: without a duality gap the node is solved. Otherwise a side with both
slack and multiplier is branched on: tight (other parameters, the same duals), or multiplier zero (the same
parameters, fewer duals). A few candidates are probed first: one that cannot be tight has a zero multiplier,
one whose multiplier cannot vanish is tight, and neither needs a branch. Every child dies at last: by an empty
set of duals, an infeasible LP, a bound, or because it is solved.
"""

import time
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.convex import DistanceLp, NearPoint, Relaxation
from ppsm.fidelity.bounds.multiplier_ranges import MultiplierRanges
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.implied import Decided
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import BestFirst, Node, sides_of
from ppsm.fidelity.search.supports import Lift, Supports, Trial
from ppsm.fidelity.tuning import TUNING


@dataclass(frozen=True, order=True)
class SideNode(Node):
    """What is tight and what has no multiplier; the relaxed optimum where it is known already."""

    tight: tuple[int, ...] = field(compare=False, default=())
    zero: tuple[int, ...] = field(compare=False, default=())
    point: NearPoint | None = field(compare=False, default=None)


class SideTree(BestFirst[SideNode]):
    """The search by sides alone; without a ``lift`` duals become incumbents by their supports."""

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        *,
        lift: Lift | None = None,
        relaxation: Relaxation | None = None,
    ) -> None:
        super().__init__(core, lps, limits, relaxation)
        self._lift = lift or self.lift()
        self._next_lift = 1
        self._near: DistanceLp
        self.duals = SeenDuals(core.follower.sides.count)

    def root(self, bound: float) -> SideNode:
        """The node that holds everything."""
        start = self.start
        around = np.clip(self.core.reference, self.core.lower, self.core.upper)
        self._near = self.near(around if start is None else start.parameter)
        point = None if start is None else NearPoint(start.bound, start.parameter, start.columns)
        return SideNode(bound, next(self.orders), point=point)

    def lift(self) -> Lift:
        """How duals become incumbents where nothing else is said."""
        return Supports(self.relaxation, self.lps).lift

    def near(self, around: FloatArray) -> DistanceLp:
        """The LP that bounds nodes."""
        return DistanceLp(self.core, around, self.limits.gap)

    def solved(
        self,
        tight: Decided,
        zero: Decided,  # noqa: ARG002 (this LP knows nothing of multipliers)
        enough: float = INFINITY,
        *,
        rounds: int = TUNING.tangent_rounds,
    ) -> NearPoint | None:
        """The optimum of a node; None where nothing is left."""
        return self._near.solve(sides_of(tight), enough, rounds=rounds)

    def expand(self, node: SideNode) -> None:
        """Settle a node or push its children."""
        self.lps.set_band(self.core.price_lower, self.core.price_upper)
        point = node.point or self.solved(node.tight, node.zero, self.cutoff())
        while point is not None:
            node = replace(node, bound=max(node.bound, point.bound), point=point)
            if self.beaten(node.bound):
                return
            if time.perf_counter() > self.stop:
                self.push(node)
                return
            grown = self.settle_or_branch(node, point)
            if grown is None:
                return
            node, point = grown, grown.point

    def settle_or_branch(self, node: SideNode, point: NearPoint) -> SideNode | None:
        """Push the children of a node, or return it with more sides decided; None where it needs no more."""
        tight = sides_of(node.tight)
        shift = self.core.rows_at(point.parameter)
        dual = self.lps.dual(shift, sides_of(node.zero))
        if dual is None:
            return None
        self.duals.add(dual.multipliers)
        answer = self.cheapest_answer(point.columns, shift, tight)
        before = self.incumbent
        trial = Trial(dual, point.parameter, tight, sides_of(node.zero))
        if self.offer_if_faithful(point.parameter, answer, dual):
            if self.incumbent is not before:
                self._lift(trial, self.offer)  # the exact optimum where tangents are near it only
            return self._refined(node, point)
        if self.is_lift_due:
            self._next_lift = TUNING.lifts_thin_out * self.nodes
            lifted = self._lift(trial, self.offer)
            node = replace(node, bound=max(node.bound, lifted))
            if self.beaten(node.bound):
                return None
        return self.probed(node, answer, shift, dual)

    def _refined(self, node: SideNode, point: NearPoint) -> SideNode | None:
        """A node whose optimum is faithful: it is solved, but for what the tangents miss."""
        if self.beaten(node.bound):
            return None
        again = self.solved(node.tight, node.zero, rounds=TUNING.leaf_rounds)
        if again is not None and again.bound - point.bound <= self.core.negligible:
            self.dropped = min(self.dropped, node.bound)
            return None
        return replace(node, point=again)

    def probed(
        self, node: SideNode, answer: FloatArray, shift: FloatArray, dual: DualPoint
    ) -> SideNode | None:
        """Decide sides of which one child is dead, or branch on the one that gains most when tight."""
        violated = self.violated(node, answer, shift, dual.multipliers)
        if not violated.size:
            self.unsettled = min(self.unsettled, node.bound)
            return None
        forced = self.forced(violated, node.zero, shift)
        if forced:
            return self.with_tight(node, forced)
        best: SideNode | None = None
        chosen = -1
        for side in violated[: TUNING.candidates].tolist():
            tight, zero = self.if_tight(node.tight, node.zero, side)
            point = self.solved(tight, zero, self.cutoff(), rounds=1)
            if point is None or self.beaten(point.bound):
                return replace(node, zero=self.if_zero(node.zero, side))
            child = SideNode(max(node.bound, point.bound), 0, tight, zero)
            if best is None or child.bound > best.bound:
                best, chosen = child, side
        if best is not None:
            self.push(replace(best, order=next(self.orders)))
            self.push(replace(node, order=next(self.orders), zero=self.if_zero(node.zero, chosen)))
        return None

    @property
    def is_lift_due(self) -> bool:
        """Whether a dual should become an incumbent: always until there is one, then ever more rarely."""
        return self.incumbent is None or self.nodes >= self._next_lift

    def violated(
        self, node: SideNode, answer: FloatArray, shift: FloatArray, multipliers: FloatArray
    ) -> IntArray:
        """The undecided sides with both slack and multiplier, the worst first."""
        products = self.products(answer, shift, multipliers, (*node.tight, *node.zero))
        return np.argsort(-products)[: int((products > 0.0).sum())]

    def with_tight(self, node: SideNode, forced: list[int]) -> SideNode | None:
        """A node with more tight sides; None where nothing is left."""
        tight, zero = node.tight, node.zero
        for side in forced:
            tight, zero = self.if_tight(tight, zero, side)
        point = self.solved(tight, zero, self.cutoff())
        return None if point is None else replace(node, tight=tight, zero=zero, point=point)

    def forced(self, violated: IntArray, zero: tuple[int, ...], shift: FloatArray) -> list[int]:
        """The sides whose multiplier is positive in every dual of a node: they are tight."""
        if violated.size <= TUNING.many_forced:
            return self._forced_by_lps(violated, zero, shift)
        positive = self._ranges.least(sides_of(zero))[violated] > TUNING.surely_positive
        return [*violated[positive].tolist(), *self._forced_by_lps(violated[~positive], zero, shift)]

    @cached_property
    def _ranges(self) -> MultiplierRanges:
        return MultiplierRanges(self.core)

    def _forced_by_lps(self, sides: IntArray, zero: tuple[int, ...], shift: FloatArray) -> list[int]:
        """Those of some sides whose multiplier vanishes in no dual: an LP for each that none met shows."""
        forced = []
        for side in sides.tolist():
            if time.perf_counter() > self.stop:
                break  # those of the rest are tight as well, or not: nothing is claimed
            if self.duals.may_vanish(side, zero):
                continue
            try:
                found = self.lps.dual(shift, sides_of((*zero, side)))
            except SolverError:  # an LP without a verdict decides nothing
                continue
            if found is None:
                forced.append(side)
            elif np.isfinite(found.value):
                self.duals.add(found.multipliers)
        return forced


class SeenDuals:
    """Multipliers of duals in the band that were met: each shows which of them can vanish together."""

    def __init__(self, sides: int) -> None:
        self._positive = np.zeros((TUNING.seen_duals, sides), dtype=np.bool_)
        self._count = 0

    def add(self, multipliers: FloatArray) -> None:
        """Keep a dual; the oldest gives way."""
        self._positive[self._count % TUNING.seen_duals] = multipliers > TUNING.zero_multiplier
        self._count += 1

    def may_vanish(self, side: int, zero: tuple[int, ...]) -> bool:
        """Whether one of them has no multiplier at a side, nor at those that are zero already."""
        seen = self._positive[: min(self._count, TUNING.seen_duals)]
        return bool((~seen[:, [*zero, side]].any(axis=1)).any())
