"""Branching on complementarity pairs (Bard & Moore 1990), with a proof at every leaf.

No bounds M, no MIP solver, no presolve, no start: one LP, the bare relaxation, stays alive, and nodes differ
in its bounds only. Where a pair has both a multiplier and a slack, child A makes the inequality tight and
child B takes the multiplier away; where an integer is fractional, its range is split. The pair with the
largest product is taken, the child that changes less is gone into at once, and when a dive ends the open node
with the least bound begins the next.

A leaf is given up because of a number that is computed from the LP's multipliers
(:mod:`ppsm.bilevel.weak_duality`): the solver's verdicts only suggest the proof.
"""

import heapq
import itertools
import time
from dataclasses import dataclass, replace

import numpy as np

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray
from ppsm.bilevel.incumbent import descend
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.weak_duality import Box, WeakDuality
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp
from ppsm.status import Status

_FREE, _TIGHT, _IDLE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class _Node:
    """Which pairs are decided and how, the bounds of the integer columns, and what its parent proved."""

    pairs: IntArray
    lower: FloatArray
    upper: FloatArray
    bound: float


def branch(kkt: KktSystem, *, cutoff: float | None, gap: float, deadline: float, first: bool = False) -> Tree:
    """Search the whole game for its best point, or for the ``first`` one that costs at most a cutoff.

    Leaves are given up at the best cost known less the relative ``gap``.
    """
    return Branching(kkt, cutoff=cutoff, gap=gap, first=first).run(deadline)


class Branching:
    """A tree that can be left and taken up again: open nodes, the best point so far, and the LP alive."""

    def __init__(
        self,
        kkt: KktSystem,
        *,
        cutoff: float | None,
        gap: float,
        first: bool = False,
        lp: PersistentLp | None = None,
    ) -> None:
        """``lp`` is that of the relaxation, if somebody has solved it; from now on it is the tree's own."""
        self._kkt, self._gap, self._first = kkt, gap, first
        self._deadline = INFINITY
        self._integer = np.flatnonzero(kkt.is_integer)
        self._multipliers = kkt.first_multiplier + kkt.pairs
        self._twin = _twins(kkt)
        self._side = kkt.multipliers.bound[kkt.pairs]
        self._is_row = kkt.multipliers.is_row[kkt.pairs]
        begin = np.where(self._is_row, len(kkt.program.leader_row_names), kkt.responses.start)
        self._place = begin + kkt.multipliers.index[kkt.pairs]
        self._limit = INFINITY if cutoff is None else cutoff
        self._best: FloatArray | None = None
        self._has_no_cost, self._is_bounded, self._is_unbounded = False, False, False
        self._has_help = False
        self._least_leaf, self._certified, self._nodes = INFINITY, True, 0
        self._seconds, self._fewest = 0.0, kkt.pairs.size + self._integer.size
        self._next_response = TUNING.first_response
        self._order = itertools.count()
        self._dive: list[_Node] = []
        self._aside: list[tuple[float, int, _Node]] = []
        self._load(kkt.relaxation, lp)
        self._put_aside(self._root())

    def _load(self, relaxation: LinearProgram, lp: PersistentLp | None = None) -> None:
        self._program, self._box = relaxation, Box.of(relaxation)
        self._proof = WeakDuality(relaxation.matrix)
        self._lp = PersistentLp(relaxation) if lp is None else lp
        self._lp.skip_presolve()

    def _put_aside(self, node: _Node) -> None:
        # Of nodes with one bound the newest comes first: where nothing is bounded yet this is a dive.
        heapq.heappush(self._aside, (node.bound, -next(self._order), node))

    @property
    def pace(self) -> float:
        """Seconds of the processor that a node took so far; infinite before the first."""
        return self._seconds / self._nodes if self._nodes else INFINITY

    @property
    def nodes(self) -> int:
        """How many were solved so far."""
        return self._nodes

    @property
    def looks_small(self) -> bool:
        """Whether some node left little to decide: most such trees are small, or smaller than others'."""
        most = max(TUNING.next_to_nothing, TUNING.little * (self._kkt.pairs.size + self._integer.size))
        return self._fewest <= most

    def run(self, deadline: float, most_nodes: float = INFINITY) -> Tree:
        """Go on until a deadline of :func:`time.perf_counter`, or for so many nodes; the result so far."""
        started = time.process_time()
        try:
            return self._run(deadline, self._nodes + most_nodes)
        finally:
            self._seconds += time.process_time() - started

    def _run(self, deadline: float, last_node: float) -> Tree:
        self._deadline = deadline
        if self._nodes and self._best is None:
            self._next_response = self._nodes  # what is taken up again is no small tree
        try:
            while not self._is_over and self._nodes < last_node and time.perf_counter() <= deadline:
                node = self._dive[-1] if self._dive else heapq.heappop(self._aside)[2]
                self._dive = [node]
                children = self._expanded(node)
                if children is None:
                    self._is_unbounded = True
                    break
                self._dive = list(children[-1:])
                for child in children[:-1]:
                    self._put_aside(child)
        except KeyboardInterrupt:
            return replace(self._result(), interrupted=True)
        return self._result()

    @property
    def _is_over(self) -> bool:
        found = self._first and self._best is not None
        return found or self._is_unbounded or not (self._dive or self._aside)

    def offer(self, columns: FloatArray) -> None:
        """A point of the game that somebody else has found and verified: only better ones are sought now."""
        self._has_help = True
        self._beat(columns)

    def _beat(self, columns: FloatArray) -> None:
        cost = self._cost(columns)
        if self._best is None or cost < self._cost(self._best):
            self._best, self._limit = columns, min(self._limit, cost - self._slack_of(cost))

    def _root(self) -> _Node:
        relaxation = self._kkt.relaxation
        return _Node(
            np.zeros(self._kkt.pairs.size, dtype=np.int64),
            relaxation.column_lower[self._integer],
            relaxation.column_upper[self._integer],
            -INFINITY,
        )

    def _expanded(self, node: _Node) -> tuple[_Node, ...] | None:
        """What takes a node's place; None where all pairs are decided and the cost falls without end."""
        if node.bound > self._limit:
            self._least_leaf = min(self._least_leaf, node.bound)
            return ()
        solution = self._solve(node)
        if solution is not None and solution.status is Status.NO_INCUMBENT:
            return (node,)  # time is up: it stays open
        if solution is not None:
            return self._children(node, solution)
        undecided = np.flatnonzero(node.pairs == _FREE)
        return self._decided(node, int(undecided[0]), node.bound) if undecided.size else None

    def _result(self) -> Tree:
        objective = INFINITY if self._best is None else self._cost(self._best)
        open_nodes = [*self._dive, *(node for _, _, node in self._aside)]
        bound = min([objective, self._least_leaf, *(node.bound for node in open_nodes)])
        words = f"{self._nodes} node{'' if self._nodes == 1 else 's'}"
        if self._is_unbounded:
            return Tree(self._best, objective, -INFINITY, self._nodes, False, False, words, is_unbounded=True)
        return Tree(self._best, objective, bound, self._nodes, not open_nodes, self._certified, words)

    def _cost(self, columns: FloatArray) -> float:
        return float(self._kkt.relaxation.cost @ columns) + self._kkt.relaxation.offset

    def _slack_of(self, cost: float) -> float:
        return self._gap * max(1.0, abs(cost))

    def _solve(self, node: _Node) -> LpSolution | None:
        """The LP of a node; None where its cost falls without end."""
        self._nodes += 1
        self._apply(node)
        self._lp.stop_at(self._deadline)
        solution = self._lp.solve(is_bounded=self._is_bounded)
        # What bounds the whole relaxation bounds every node.
        self._is_bounded |= solution.status is Status.PROVEN_OPTIMAL and not node.pairs.any()
        if solution.status is not Status.UNBOUNDED or not self._first:
            return None if solution.status is Status.UNBOUNDED else solution
        # Any point beyond the cutoff will do: ask for one without a cost, which then bounds nothing.
        self._has_no_cost = self._is_bounded = True
        asked = self._kkt.relaxation
        if np.isfinite(self._limit):
            asked = asked.capped(self._limit)
        self._load(asked.with_cost(np.zeros_like(asked.cost)))
        self._apply(node)
        self._lp.stop_at(self._deadline)
        return self._lp.solve(is_bounded=True)

    def _apply(self, node: _Node) -> None:
        """Give the LP a node's bounds, where they are not those of the last node."""
        last, self._box = self._box, self._box_of(node)
        box = self._box
        rows = np.flatnonzero((box.row_lower != last.row_lower) | (box.row_upper != last.row_upper))
        if rows.size:
            self._lp.set_row_bounds(rows, box.row_lower[rows], box.row_upper[rows])
        lower, upper = box.column_lower, box.column_upper
        columns = np.flatnonzero((lower != last.column_lower) | (upper != last.column_upper))
        if columns.size:
            self._lp.set_column_bounds(columns, lower[columns], upper[columns])

    def _children(self, node: _Node, solution: LpSolution) -> tuple[_Node, ...]:
        """Two nodes that between them keep every point of the game, or none where the node is a leaf."""
        if solution.status is not Status.PROVEN_OPTIMAL:
            self._certified &= self._proof.proves_empty(self._lp.ray(), self._box)
            return ()
        bound = node.bound
        if not self._has_no_cost:
            proven = self._proof.bound(solution.prices, self._program.cost, self._box)
            bound = max(bound, proven + self._program.offset)
        if bound > self._limit:
            self._least_leaf = min(self._least_leaf, bound)
            return ()
        columns = solution.columns
        fraction = np.abs(columns[self._integer] - np.round(columns[self._integer]))
        multipliers, slack = columns[self._multipliers], self._kkt.slacks(columns)[self._kkt.pairs]
        violated = (node.pairs == _FREE) & _are_both(multipliers, slack)
        is_whole = not (fraction > TUNING.clearly).any()
        self._fewest = min(self._fewest, int(violated.sum() + (fraction > TUNING.clearly).sum()))
        if is_whole and not violated.any():
            self._keep(columns, bound)
            return ()
        self._try_response(columns)
        if not is_whole:
            return self._split(node, int(np.argmax(fraction)), columns, bound)
        chosen = int(np.argmax(np.where(violated, multipliers * slack, 0.0)))
        idle, tight = self._decided(node, chosen, bound)
        return (idle, tight) if multipliers[chosen] >= slack[chosen] else (tight, idle)

    def _try_response(self, columns: FloatArray) -> None:
        """Now and then, ever more rarely, what a node's decision leads to, if nobody else has a point."""
        if self._first or self._has_help or self._nodes < self._next_response:
            return
        self._next_response = max(TUNING.first_response, TUNING.responses_thin_out * self._nodes)
        variables = columns[self._kkt.variables]
        whole = np.where(self._kkt.program.is_integer, np.round(variables), variables)
        answered = descend(self._kkt, whole, self._deadline)
        if answered is not None and self._is_point(answered):
            self._beat(answered)

    def _is_point(self, columns: FloatArray) -> bool:
        slack = self._kkt.slacks(columns)[self._kkt.pairs]
        return not _are_both(columns[self._multipliers], slack).any()

    def _keep(self, columns: FloatArray, bound: float) -> None:
        """A leaf that is a point of the game: nothing in the leaf costs less than its bound."""
        cost = self._cost(columns)
        self._certified &= bound >= cost - self._slack_of(cost)
        self._least_leaf = min(self._least_leaf, bound)
        self._beat(columns)

    def _decided(self, node: _Node, chosen: int, bound: float) -> tuple[_Node, _Node]:
        tight, idle = node.pairs.copy(), node.pairs.copy()
        tight[chosen], idle[chosen] = _TIGHT, _IDLE
        if self._twin[chosen] >= 0:  # both sides of one row cannot be tight: their bounds differ
            tight[self._twin[chosen]] = _IDLE
        return replace(node, pairs=idle, bound=bound), replace(node, pairs=tight, bound=bound)

    def _split(self, node: _Node, chosen: int, columns: FloatArray, bound: float) -> tuple[_Node, ...]:
        """The ranges below and above a fraction, without one that the integer's bounds leave empty."""
        value = columns[self._integer[chosen]]
        upper, lower = node.upper.copy(), node.lower.copy()
        upper[chosen], lower[chosen] = np.floor(value), np.ceil(value)
        halves = replace(node, upper=upper, bound=bound), replace(node, lower=lower, bound=bound)
        return tuple(half for half in halves if half.lower[chosen] <= half.upper[chosen])

    def _box_of(self, node: _Node) -> Box:
        """A tight row or column has its bound on both sides, an idle multiplier is zero."""
        box = Box.of(self._program)
        rows = box.row_lower.copy(), box.row_upper.copy()
        columns = box.column_lower.copy(), box.column_upper.copy()
        is_tight = node.pairs == _TIGHT
        for sides, chosen in ((rows, is_tight & self._is_row), (columns, is_tight & ~self._is_row)):
            for side in sides:
                side[self._place[chosen]] = self._side[chosen]
        columns[1][self._multipliers[node.pairs == _IDLE]] = 0.0
        columns[0][self._integer], columns[1][self._integer] = node.lower, node.upper
        return Box(*rows, *columns)


def _are_both(multipliers: FloatArray, slacks: FloatArray) -> BoolArray:
    """Which pairs have both a multiplier and a slack; a tiny one beside a huge one counts by its product."""
    smaller = np.minimum(multipliers, slacks)
    worth = (smaller > TUNING.rounding) & (multipliers * slacks > TUNING.clearly)
    return np.asarray((smaller > TUNING.clearly) | worth)


def _twins(kkt: KktSystem) -> IntArray:
    """For each pair the pair of the other side of the same row or column, -1 where there is none."""
    place = np.full(kkt.multipliers.count + 1, -1, dtype=np.int64)
    place[kkt.pairs] = np.arange(kkt.pairs.size)
    return np.asarray(place[kkt.multipliers.twin[kkt.pairs]])
