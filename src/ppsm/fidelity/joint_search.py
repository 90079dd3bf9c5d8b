"""The search for least squares with bounded prices: nodes are bounded by the joint relaxation.

Between two joint QPs (about 10 ms on the Northeast gas market) many branches are settled by LPs of a
millisecond: a side that cannot become tight within the bound has a zero multiplier, one whose multiplier
cannot vanish is tight.
"""

import time
from dataclasses import replace

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.band import DualPoint, FollowerLps
from ppsm.fidelity.branching import FAITHFUL, Incumbent, Node, Search, SearchLimits, sides_of
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointMatrices, JointPoint, JointRelaxation, PriceBox
from ppsm.fidelity.penalty import PenaltyRange
from ppsm.fidelity.price_boxes import price_ranges
from ppsm.fidelity.probe import Probe

# Share of the allowed gap that the chords of the joint relaxation may take at the first try.
_CHORD_SHARE = 0.5
_ROOT_STEPS, _NODE_STEPS = 5, 2
# Rounds of (joint QP, probing) in one node, and probes in one round.
_ROUNDS, _PROBES = 6, 8
# A node stops probing after this many sides with two living children.
_UNDECIDED = 4
# Deciding a side has to close this share of what is missing in both children.
_GAIN = 0.02
# Prices are narrowed only in searches that have not ended after this many nodes.
_PATIENCE = 10
# Boxes wider than this, relative to the price, are split before complementarity is branched on.
_WIDE, _NARROWEST = 0.05, 1e-7
# A column counts as strictly between its bounds from this (scaled) slack on.
_SLACK = 1e-6
# Narrowing goes on while all intervals together shrink at least to this share.
_SHRUNK = 0.8
_LEAST_PRODUCT = 1e-15
# A penalty is chosen for no smaller gap than this: without any there would be none.
_LEAST_GAP = 1e-9
_LARGEST_PENALTY = 30.0


class JointSearch(Search):
    """``box`` holds the prices of some optimal dual of every better point."""

    def __init__(
        self, core: Core, lps: FollowerLps, limits: SearchLimits, matrices: JointMatrices, box: PriceBox
    ) -> None:
        super().__init__(core, lps, limits)
        self.box = box
        self.joint = JointRelaxation(core, matrices)
        self.best: JointPoint
        # Whether prices are split rather than sides, and when it is the other tree's turn.
        self._by_prices = False
        self._turn, self._turn_ends = _PATIENCE, INFINITY
        # The other tree and what it left unsettled.
        self._other: tuple[list[Node], float] = [], INFINITY

    def root(self, bound: float) -> Node:
        """The node that holds everything."""
        root = Node(bound, next(self.orders), box=self.box)
        self._other = [root], INFINITY
        return root

    def expand(self, node: Node) -> None:
        """Settle a node or push its children."""
        if self.nodes > self._turn_ends:
            self.push(node)
            self._change_turns()
            return
        for _ in range(_ROUNDS):
            box = node.box or self.box
            self.lps.set_band(box.lower, box.upper)
            failures = self.joint.failures
            found = self._joint_bound(node)
            if found is None:
                if self.joint.failures > failures:
                    self.unsettled = min(self.unsettled, node.bound)
                return
            bound, point = found
            start = self.best if self._by_prices else point
            node = replace(node, bound=bound, penalty=start.penalty, held=start.held)
            grown = self._settle_or_branch(node, point)
            if grown is None:
                return
            node = grown
            if time.perf_counter() > self.stop:
                break
        self.push(replace(node, order=next(self.orders)))

    def _settle_or_branch(self, node: Node, point: JointPoint) -> Node | None:
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
        minorant = self.try_support(dual, tight, point.parameter)
        bound = node.bound if minorant is None else max(node.bound, minorant.value(self.lps, zero))
        node = replace(node, bound=bound)
        if self.beaten(bound):
            return None
        if self._splits_price(node, point, least_width=_WIDE):
            return None
        if self._by_prices:
            if not node.narrowed:
                return self._narrowed(node)
            if self._splits_price(node, self.best, least_width=_NARROWEST):
                return None
        return self._probe_sides(node, point, answer, shift, dual)

    def _narrowed(self, node: Node) -> Node | None:
        """The node with narrower prices: those that a better point can have; None where there are none.

        Chords over whole bands lose what no better point can gain. The tangent at the joint optimum says
        which duals a better point may have, and LPs over those how far each price can go. Prices of one
        network move together, so that all of them narrow at once.
        """
        point, box = self.best, node.box or self.box
        zero = self._with_marginal(node, point)
        worth = self.joint.matrices.dual_objective @ point.multipliers + point.prices @ point.dual_weight
        needed = float(worth) - (self.cutoff() - point.bound) / point.penalty
        self.dropped = min(self.dropped, self.cutoff())  # what other prices may have
        line = point.dual_weight, self.core.value_lower - needed
        narrower = price_ranges(
            self.core,
            self.joint.matrices,
            [line],
            box,
            point.held == 0,
            self.stop,
            zero=sides_of(zero),
            narrow=_NARROWEST,
        )
        if narrower is None:
            return None
        before, after = (float((one.upper - one.lower)[point.held == 0].sum()) for one in (box, narrower))
        return replace(node, box=narrower, zero=zero, narrowed=after > _SHRUNK * before)

    def _with_marginal(self, node: Node, point: JointPoint) -> tuple[int, ...]:
        """The zeros of a node and those of suppliers that have to stay strictly between their bounds.

        Prices are mostly pinned down by the cost of such a marginal supplier: its reduced cost vanishes.
        """
        probe = Probe(self.core, self.lps, point, sides_of(node.tight), sides_of(node.zero))
        zeros = list(node.zero)
        for side in self._marginal(point):
            if side not in zeros and self.beaten(probe.bound_if_tight(sides_of((*node.tight, side)))):
                zeros.append(side)
        return tuple(zeros)

    def _marginal(self, point: JointPoint) -> list[int]:
        """The sides of priced columns that are strictly between their bounds."""
        sides = self.core.follower.sides
        slacks = self.core.follower.slacks(point.columns, self.core.rows_at(point.parameter))
        priced = ~sides.is_row & (self.cost[np.where(sides.is_row, 0, sides.index)] != 0.0)
        between = (slacks > _SLACK) & ((sides.twin < 0) | (slacks[sides.twin] > _SLACK))
        return np.flatnonzero(priced & between).tolist()

    def _probe_sides(
        self, node: Node, point: JointPoint, answer: FloatArray, shift: FloatArray, dual: DualPoint
    ) -> Node | None:
        """Decide the sides of which one child is dead; where there is none, branch on the best of the others.

        The tangent at the joint optimum holds for every child, so one node may decide many sides.
        """
        probe = Probe(self.core, self.lps, point, sides_of(node.tight), sides_of(node.zero))
        cutoff, started = self.cutoff(), node
        multipliers = dual.multipliers
        undecided: list[tuple[float, float, int]] = []
        for _ in range(_PROBES):
            side = self._choose(node, point, answer, shift, multipliers, [one[-1] for one in undecided])
            if side is None or len(undecided) >= _UNDECIDED:
                break
            if_tight = probe.bound_if_tight(sides_of((*node.tight, side)))
            if self.beaten(if_tight):
                node = replace(node, zero=(*node.zero, side))
                rest = self.lps.dual(shift, sides_of(node.zero))
                if rest is None:
                    return None
                multipliers = rest.multipliers
                continue
            if_zero = probe.bound_if_zero(sides_of((*node.zero, side)))
            if self.beaten(if_zero):
                node = replace(node, tight=(*node.tight, side), zero=self.with_twin(node.zero, side))
                answer = self.cheapest_answer(answer, shift, sides_of(node.tight))
                continue
            undecided.append((if_tight, if_zero, side))
        if node is not started:
            return replace(node, narrowed=False)
        best = max(undecided, key=lambda one: (min(one[:2]), max(one[:2])), default=None)
        gains = best is not None and min(best[:2]) - node.bound > _GAIN * (cutoff - node.bound)
        # Sides in series share one multiplier and hand their slack on to each other: deciding one of them
        # changes nothing until prices are narrow enough for a larger penalty.
        if not gains and self.nodes > _PATIENCE and self._turn_ends == INFINITY:
            self.push(node)
            self._change_turns()
            return None
        if best is not None:
            self._push_children(node, *best)
        elif not self._splits_price(node, point, least_width=_NARROWEST):
            self.unsettled = min(self.unsettled, node.bound)
        return None

    def _choose(
        self,
        node: Node,
        point: JointPoint,
        answer: FloatArray,
        shift: FloatArray,
        multipliers: FloatArray,
        passed: list[int],
    ) -> int | None:
        """The undecided side that violates complementarity most, at LP vertices or the joint optimum."""
        products = self.products(answer, shift, multipliers, node)
        products[passed] = 0.0
        if products.max(initial=0.0) <= FAITHFUL:
            products = self.products(point.columns, shift, point.multipliers, node)
            products[passed] = 0.0
        side = int(np.argmax(products))
        return side if products[side] > _LEAST_PRODUCT else None

    def _change_turns(self) -> None:
        """Go on with the other tree: of the two, which split sides and prices, one is mostly small.

        Each covers everything, so that the one that ends first is the proof, and turns grow.
        """
        open_bounds = [node.bound for node in self.heap]
        self.floor = max(self.floor, min([self.unsettled, self.dropped, *open_bounds]))
        self._other, (self.heap, self.unsettled) = (self.heap, self.unsettled), self._other
        self._by_prices = not self._by_prices
        self._turn = self._turn if self._by_prices else 2 * self._turn
        self._turn_ends = self.nodes + self._turn

    def _push_children(self, node: Node, if_tight: float, if_zero: float, side: int) -> None:
        """Both children of a side, each with the bound that probing found for it."""
        if self.nodes == 1:
            # Nothing is split yet, so that what probing decided holds for the other tree as well.
            self._other = [node], INFINITY
        tight = replace(node, tight=(*node.tight, side), zero=self.with_twin(node.zero, side))
        tight = replace(tight, bound=max(node.bound, if_tight), narrowed=False)
        self.push(replace(tight, order=next(self.orders)))
        zero = replace(node, zero=(*node.zero, side), bound=max(node.bound, if_zero), narrowed=False)
        self.push(replace(zero, order=next(self.orders)))

    def _joint_bound(self, node: Node) -> tuple[float, JointPoint] | None:
        """The joint bound at the best of a few penalties, and an optimum that shows what fails.

        The bound is concave in the penalty: its derivative says on which side of the best one we are.
        """
        tight, zero = sides_of(node.tight), sides_of(node.zero)
        box = node.box or self.box
        held = np.zeros(self.core.reference.size, dtype=np.int64) if node.held is None else node.held
        penalty: float | None = node.penalty or self._first_penalty(node, held)
        bound = node.bound
        ends = PenaltyRange()
        is_root = not (node.tight or node.zero) and box is self.box
        for _ in range(_ROOT_STEPS if is_root or self._by_prices else _NODE_STEPS):
            if penalty is None:
                break
            point = self.joint.solve(tight, zero, box, penalty, held)
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
            loss = self.joint.chord_loss(point, box) if self.incumbent else 0.0
            penalty = ends.next_after(point, self._allowed_loss(), loss, changed)
            if self._by_prices:
                penalty = ends.towards_best()
            held = point.held
        shown = ends.shown
        return None if shown is None else (bound, shown)

    def _allowed_loss(self) -> float:
        """What the chords may cost."""
        size = self.incumbent.objective if self.incumbent else self.size
        return _CHORD_SHARE * self.limits.gap * max(size, 1e-9)

    def _first_penalty(self, node: Node, held: IntArray) -> float:
        """The largest penalty whose chords cost no more than a share of the gap allowed."""
        widest = self.joint.widest(node.box or self.box, held)
        gap = max(self.limits.gap, _LEAST_GAP)
        size = max(self.incumbent.objective if self.incumbent else self.size, 1e-9)
        # Beyond this the objective drowns in the penalty; the move per price is what it is measured by.
        prices = max(1e-6, float(np.abs((node.box or self.box).upper).max(initial=0.0)))
        largest = _LARGEST_PENALTY * float(np.sqrt(size * self.core.curvature.max())) / prices
        if not widest > 0.0:
            return largest
        return min(largest, float(np.sqrt(4.0 * _CHORD_SHARE * gap * size / widest)))

    def _offer_point(self, point: JointPoint) -> None:
        """A joint optimum without a duality gap is faithful."""
        value = float(self.cost @ point.columns)
        if self.core.has_price_band and point.gap <= FAITHFUL * max(1.0, abs(value)):
            support = self.lps.inequalities[point.multipliers[self.lps.inequalities] > 1e-6]
            objective = self.core.objective(point.parameter)
            self.offer(Incumbent(objective, point.parameter, point.columns, support))

    def _splits_price(self, node: Node, point: JointPoint, *, least_width: float) -> bool:
        """Where wide prices are what the bound suffers from, split the worst interval."""
        box = node.box or self.box
        entry = int(np.argmax(point.loss))
        low, high, price = float(box.lower[entry]), float(box.upper[entry]), float(point.prices[entry])
        if not high - low > least_width * max(abs(price), 1e-6):
            return False
        # Never closer to an end than a tenth, so that both halves shrink.
        price = float(np.clip(price, 0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high))
        for half in box.split(entry, price):
            self.push(replace(node, box=half, narrowed=False, order=next(self.orders)))
        return True


def search_for(core: Core, lps: FollowerLps, limits: SearchLimits, matrices: JointMatrices) -> Search:
    """The search that suits a problem."""
    band = PriceBox(core.price_lower, core.price_upper)
    bounded_value = core.value_lower > -INFINITY or core.value_upper < INFINITY
    if core.is_least_squares and bounded_value and band.is_bounded:
        return JointSearch(core, lps, limits, matrices, band)
    return Search(core, lps, limits)
