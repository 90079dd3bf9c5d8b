"""The search for least squares with bounded prices: two trees over the same space take turns.

Nodes are bounded by the primal-dual relaxation (:mod:`ppsm.fidelity.bounds.primal_dual`). One tree splits
sides: between two such QPs (about 10 ms on the Northeast gas market) many branches are settled by LPs of a
millisecond; a side that cannot become tight within the bound has a zero multiplier, one whose multiplier
cannot vanish is tight. The other tree splits prices, for sides in series that no single probe decides. Each
covers everything, so that the one that ends first is the proof.
"""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.price_boxes import price_ranges
from ppsm.fidelity.bounds.primal_dual import (
    PenaltyRange,
    PriceBox,
    PrimalDualMatrices,
    PrimalDualPoint,
    PrimalDualRelaxation,
    Probe,
)
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import BestFirst, Incumbent, Node, sides_of
from ppsm.fidelity.search.supports import Lift, Supports, Trial
from ppsm.fidelity.tuning import TUNING


@dataclass(frozen=True, eq=False)
class Start:
    """What is known of the optimum before a search: a penalty, and which entries sit at a public bound."""

    penalty: float
    held: IntArray


@dataclass(frozen=True, order=True)
class BoxNode(Node):
    """Prices in a box, sides that are tight and multipliers that are zero, and where the QP starts.

    ``narrowed`` says that the prices of the box cannot be narrowed much further.
    """

    box: PriceBox = field(compare=False)
    start: Start = field(compare=False)
    tight: tuple[int, ...] = field(compare=False, default=())
    zero: tuple[int, ...] = field(compare=False, default=())
    narrowed: bool = field(compare=False, default=False)


class TwoTrees(BestFirst[BoxNode]):
    """``box`` holds the prices of some optimal dual of every better point.

    Without a ``start`` nothing is known; without a ``lift`` duals become incumbents by their supports.
    """

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        matrices: PrimalDualMatrices,
        box: PriceBox,
        *,
        start: Start | None = None,
        lift: Lift | None = None,
        relaxation: Relaxation | None = None,
    ) -> None:
        super().__init__(core, lps, limits, relaxation)
        self.box = box
        self.primal_dual = PrimalDualRelaxation(core, matrices)
        self.best: PrimalDualPoint
        self._first = start or Start(0.0, np.zeros(core.reference.size, dtype=np.int64))
        self._lift = lift or Supports(self.relaxation, lps).lift
        # Whether prices are split rather than sides, and when it is the other tree's turn.
        self._by_prices = False
        self._turn, self._turn_ends = TUNING.patience, INFINITY
        # The other tree and what it left unsettled.
        self._other: tuple[list[BoxNode], float] = [], INFINITY

    def root(self, bound: float) -> BoxNode:
        """The node that holds everything."""
        root = BoxNode(bound, next(self.orders), self.box, self._first)
        self._other = [root], INFINITY
        return root

    def expand(self, node: BoxNode) -> None:
        """Settle a node or push its children."""
        if self.nodes > self._turn_ends:
            self.push(node)
            self._change_turns()
            return
        for _ in range(TUNING.node_rounds):
            self.lps.set_band(node.box.lower, node.box.upper)
            failures = self.primal_dual.failures
            found = self._best_bound(node)
            if found is None:
                if self.primal_dual.failures > failures:
                    self.unsettled = min(self.unsettled, node.bound)
                return
            bound, point = found
            next_start = self.best if self._by_prices else point
            node = replace(node, bound=bound, start=Start(next_start.penalty, next_start.held))
            grown = self._settle_or_branch(node, point)
            if grown is None:
                return
            node = grown
            if time.perf_counter() > self.stop:
                break
        self.push(replace(node, order=next(self.orders)))

    def _settle_or_branch(self, node: BoxNode, point: PrimalDualPoint) -> BoxNode | None:
        """Push the children of a node, or return it with more sides decided; None where it needs no more."""
        if self.beaten(node.bound):
            return None
        tight, zero = sides_of(node.tight), sides_of(node.zero)
        shift = self.core.rows_at(point.parameter)
        dual = self.lps.dual(shift, zero)
        if dual is None:
            return None
        answer = self.cheapest_answer(point.columns, shift, tight)
        self.offer_if_faithful(point.parameter, answer, dual)
        lifted = self._lift(Trial(dual, point.parameter, tight, zero), self.offer)
        node = replace(node, bound=max(node.bound, lifted))
        if self.beaten(node.bound):
            return None
        if self._by_prices:
            if not node.narrowed:
                return self._narrowed(node)
            if self._splits_price(node, self.best, least_width=TUNING.narrowest_box):
                return None
        return self._probe_sides(node, point, answer, shift, dual)

    def _narrowed(self, node: BoxNode) -> BoxNode | None:
        """The node with narrower prices: those that a better point can have; None where there are none.

        Chords over whole bands lose what no better point can gain. The tangent at the optimum says
        which duals a better point may have, and LPs over those how far each price can go. Prices of one
        network move together, so that all of them narrow at once.
        """
        point, box = self.best, node.box
        zero = self._with_marginal(node, point)
        worth = (
            self.primal_dual.matrices.dual_objective @ point.multipliers + point.prices @ point.dual_weight
        )
        needed = float(worth) - (self.cutoff() - point.bound) / point.penalty
        self.dropped = min(self.dropped, self.cutoff())  # what other prices may have
        line = point.dual_weight, self.core.value_lower - needed
        narrower = price_ranges(
            self.core,
            self.primal_dual.matrices,
            [line],
            box,
            point.held == 0,
            self.stop,
            zero=sides_of(zero),
            narrow=TUNING.narrowest_box,
        )
        if narrower is None:
            return None
        before, after = (float((one.upper - one.lower)[point.held == 0].sum()) for one in (box, narrower))
        return replace(node, box=narrower, zero=zero, narrowed=after > TUNING.narrowed_share * before)

    def _with_marginal(self, node: BoxNode, point: PrimalDualPoint) -> tuple[int, ...]:
        """The zeros of a node and those of suppliers that have to stay strictly between their bounds.

        Prices are mostly pinned down by the cost of such a marginal supplier: its reduced cost vanishes.
        """
        probe = Probe(self.core, self.lps, point, sides_of(node.tight), sides_of(node.zero))
        zeros = list(node.zero)
        for side in self._marginal(point):
            if side not in zeros and self.beaten(probe.bound_if_tight(sides_of((*node.tight, side)))):
                zeros.append(side)
        return tuple(zeros)

    def _marginal(self, point: PrimalDualPoint) -> list[int]:
        """The sides of priced columns that are strictly between their bounds."""
        sides = self.core.follower.sides
        slacks = self.core.follower.slacks(point.columns, self.core.rows_at(point.parameter))
        priced = ~sides.is_row & (self.cost[np.where(sides.is_row, 0, sides.index)] != 0.0)
        between = (slacks > TUNING.between) & ((sides.twin < 0) | (slacks[sides.twin] > TUNING.between))
        return np.flatnonzero(priced & between).tolist()

    def _probe_sides(
        self, node: BoxNode, point: PrimalDualPoint, answer: FloatArray, shift: FloatArray, dual: DualPoint
    ) -> BoxNode | None:
        """Decide the sides of which one child is dead; where there is none, branch on the best of the others.

        The tangent at the optimum holds for every child, so one node may decide many sides.
        """
        probe = Probe(self.core, self.lps, point, sides_of(node.tight), sides_of(node.zero))
        cutoff, started = self.cutoff(), node
        multipliers = dual.multipliers
        undecided: list[tuple[float, float, int]] = []
        for _ in range(TUNING.probes):
            side = self._choose(node, point, answer, shift, multipliers, [one[-1] for one in undecided])
            if side is None or len(undecided) >= TUNING.undecided:
                break
            tight, zero = self.if_tight(node.tight, node.zero, side)
            if_tight = probe.bound_if_tight(sides_of(tight))
            slack = self.if_zero(node.zero, side)
            if self.beaten(if_tight):
                node = replace(node, zero=slack)
                rest = self.lps.dual(shift, sides_of(node.zero))
                if rest is None:
                    return None
                multipliers = rest.multipliers
                continue
            if_zero = probe.bound_if_zero(sides_of(slack))
            if self.beaten(if_zero):
                node = replace(node, tight=tight, zero=zero)
                answer = self.cheapest_answer(answer, shift, sides_of(node.tight))
                continue
            undecided.append((if_tight, if_zero, side))
        if node is not started:
            return replace(node, narrowed=False)
        best = max(undecided, key=lambda one: (min(one[:2]), max(one[:2])), default=None)
        gains = best is not None and min(best[:2]) - node.bound > TUNING.gain * (cutoff - node.bound)
        # Sides in series share one multiplier and hand their slack on to each other: deciding one of them
        # changes nothing until prices are narrow enough for a larger penalty.
        if not gains and self.nodes > TUNING.patience and self._turn_ends == INFINITY:
            self.push(node)
            self._change_turns()
            return None
        if best is not None:
            self._push_children(node, *best)
        elif not self._splits_price(node, point, least_width=TUNING.narrowest_box):
            self.unsettled = min(self.unsettled, node.bound)
        return None

    def _choose(
        self,
        node: BoxNode,
        point: PrimalDualPoint,
        answer: FloatArray,
        shift: FloatArray,
        multipliers: FloatArray,
        passed: list[int],
    ) -> int | None:
        """The undecided side that violates complementarity most, at LP vertices or the optimum of the QP."""
        decided = (*node.tight, *node.zero, *passed)
        products = self.products(answer, shift, multipliers, decided)
        if products.max(initial=0.0) <= TUNING.faithful:
            products = self.products(point.columns, shift, point.multipliers, decided)
        side = int(np.argmax(products))
        return side if products[side] > TUNING.least_product else None

    def _change_turns(self) -> None:
        """Go on with the other tree: of the two, which split sides and prices, one is mostly small.

        Each covers everything, so that the one that ends first is the proof, and turns grow.
        """
        open_bounds = [node.bound for node in self.heap]
        self.floor = max(self.floor, min([self.unsettled, self.dropped, *open_bounds]))
        self._other, (self.heap, self.unsettled) = (self.heap, self.unsettled), self._other
        self._by_prices = not self._by_prices
        self._turn = self._turn if self._by_prices else TUNING.turn_growth * self._turn
        self._turn_ends = self.nodes + self._turn

    def _push_children(self, node: BoxNode, if_tight: float, if_zero: float, side: int) -> None:
        """Both children of a side, each with the bound that probing found for it."""
        if self.nodes == 1:
            # Nothing is split yet, so that what probing decided holds for the other tree as well.
            self._other = [node], INFINITY
        tight, zero = self.if_tight(node.tight, node.zero, side)
        held = replace(node, tight=tight, zero=zero, bound=max(node.bound, if_tight), narrowed=False)
        self.push(replace(held, order=next(self.orders)))
        slack = self.if_zero(node.zero, side)
        free = replace(node, zero=slack, bound=max(node.bound, if_zero), narrowed=False)
        self.push(replace(free, order=next(self.orders)))

    def _best_bound(self, node: BoxNode) -> tuple[float, PrimalDualPoint] | None:
        """The bound at the best of a few penalties, and an optimum that shows what fails.

        The bound is concave in the penalty: its derivative says on which side of the best one we are.
        """
        tight, zero = sides_of(node.tight), sides_of(node.zero)
        box, held = node.box, node.start.held
        penalty: float | None = node.start.penalty or self._first_penalty(box, held)
        bound = node.bound
        ends = PenaltyRange()
        is_root = not (node.tight or node.zero) and box is self.box
        most = TUNING.root_penalties if is_root or self._by_prices else TUNING.node_penalties
        # One more where strong duality holds at the last: a smaller penalty loses less by chords.
        is_closed = False
        for tried in range(most + 1):
            if penalty is None or (tried == most and not is_closed):
                break
            point = self.primal_dual.solve(tight, zero, box, penalty, held)
            if point is None:
                break
            if ends.last is None or point.bound > self.best.bound:
                self.best = point
            bound = max(bound, point.bound)
            self._offer_point(point)
            if bound >= self.cutoff():
                ends.add(point)
                break
            changed = not np.array_equal(held, point.held)
            # Without an incumbent every penalty is worth trying: a large one closes the gap somewhere.
            loss = self.primal_dual.chord_loss(point, box) if self.incumbent else 0.0
            penalty = ends.next_after(point, self._allowed_loss(), loss, changed=changed)
            is_closed = point.penalty * point.gap <= self._allowed_loss()
            if self._by_prices:
                penalty = ends.towards_best()
            held = point.held
        shown = ends.shown
        return None if shown is None else (bound, shown)

    def _allowed_loss(self) -> float:
        """What the chords may cost."""
        size = self.incumbent.objective if self.incumbent else self.size
        return TUNING.chord_share * self.limits.gap * max(size, TUNING.least_size)

    def _first_penalty(self, box: PriceBox, held: IntArray) -> float:
        """The largest penalty whose chords cost no more than a share of the gap allowed."""
        widest = self.primal_dual.widest(box, held)
        gap = max(self.limits.gap, TUNING.least_gap)
        size = max(self.incumbent.objective if self.incumbent else self.size, TUNING.least_size)
        # Beyond this the objective drowns in the penalty; the move per price is what it is measured by.
        prices = max(TUNING.least_penalised_price, float(np.abs(box.upper).max(initial=0.0)))
        largest = TUNING.largest_penalty * float(np.sqrt(size * self.core.curvature.max())) / prices
        if not widest > 0.0:
            return largest
        return min(largest, float(np.sqrt(4.0 * TUNING.chord_share * gap * size / widest)))

    def _offer_point(self, point: PrimalDualPoint) -> None:
        """An optimum without a duality gap is faithful."""
        value = float(self.cost @ point.columns)
        if self.core.has_price_band and point.gap <= TUNING.faithful * max(1.0, abs(value)):
            support = self.lps.inequalities[point.multipliers[self.lps.inequalities] > TUNING.support]
            objective = self.core.objective(point.parameter)
            self.offer(Incumbent(objective, point.parameter, point.columns, support))

    def _splits_price(self, node: BoxNode, point: PrimalDualPoint, *, least_width: float) -> bool:
        """Where wide prices are what the bound suffers from, split the worst interval."""
        box = node.box
        entry = int(np.argmax(point.loss))
        low, high, price = float(box.lower[entry]), float(box.upper[entry]), float(point.prices[entry])
        if not high - low > least_width * max(abs(price), TUNING.least_split_price):
            return False
        # Never close to an end, so that both parts shrink.
        near, far = TUNING.split_margin, 1.0 - TUNING.split_margin
        price = float(np.clip(price, far * low + near * high, near * low + far * high))
        for half in box.split(entry, price):
            self.push(replace(node, box=half, narrowed=False, order=next(self.orders)))
        return True
