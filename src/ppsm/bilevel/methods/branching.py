"""Branching on complementarity pairs (Bard & Moore 1990), with a proof at every leaf.

No bounds M, no MIP solver, no presolve, no start: one LP, the bare relaxation, stays alive, and nodes differ
in its bounds only. Where a pair has both a multiplier and a slack, child A makes the inequality tight and
child B takes the multiplier away; where an integer is fractional, its range is split.

A leaf is given up because of a number that is computed from the LP's multipliers
(:mod:`ppsm.bilevel.weak_duality`): the solver's verdicts only suggest the proof.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
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
    return _Branching(kkt, cutoff, gap, deadline, first=first).tree()


class _Branching:
    """The open nodes, the best point so far, and the LP with its bounds as they are now."""

    def __init__(
        self, kkt: KktSystem, cutoff: float | None, gap: float, deadline: float, *, first: bool
    ) -> None:
        self._kkt, self._gap, self._deadline, self._first = kkt, gap, deadline, first
        self._integer = np.flatnonzero(kkt.is_integer)
        self._multipliers = kkt.first_multiplier + kkt.pairs
        self._twin = _twins(kkt)
        self._rest = -kkt.slack_constant[kkt.pairs]
        self._limit = INFINITY if cutoff is None else cutoff
        self._best: FloatArray | None = None
        self._has_no_cost, self._is_bounded = False, False
        self._least_leaf, self._certified, self._nodes = INFINITY, True, 0
        self._load(kkt.relaxation)

    def _load(self, relaxation: LinearProgram) -> None:
        slacks = sp.csr_array(self._kkt.slack_matrix[self._kkt.pairs, :])
        self._first_slack = relaxation.shape[0]
        self._program = relaxation.with_rows(slacks, lower=self._rest)
        self._proof = WeakDuality(self._program.matrix)
        self._lp = PersistentLp(self._program)
        self._lp.skip_presolve()

    def tree(self) -> Tree:
        root = self._root()
        open_nodes = [root]
        try:
            while open_nodes and not (self._first and self._best is not None):
                if time.perf_counter() > self._deadline:
                    break
                children = self._expanded(open_nodes[-1])
                if children is None:
                    return replace(self._result([root]), is_certified=False, is_unbounded=True)
                open_nodes.pop()
                open_nodes.extend(children)
        except KeyboardInterrupt:
            return replace(self._result(open_nodes), interrupted=True)
        return self._result(open_nodes)

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

    def _result(self, open_nodes: list[_Node]) -> Tree:
        objective = INFINITY if self._best is None else self._cost(self._best)
        bound = min([objective, self._least_leaf, *(node.bound for node in open_nodes)])
        words = f"{self._nodes} node{'' if self._nodes == 1 else 's'}"
        return Tree(self._best, objective, bound, self._nodes, not open_nodes, self._certified, words)

    def _cost(self, columns: FloatArray) -> float:
        return float(self._kkt.relaxation.cost @ columns) + self._kkt.relaxation.offset

    def _solve(self, node: _Node) -> LpSolution | None:
        """The LP of a node; None where its cost falls without end."""
        self._nodes += 1
        self._apply(node)
        self._lp.stop_at(self._deadline)
        solution = self._lp.solve(is_bounded=self._is_bounded)
        # What bounds the whole relaxation bounds every node.
        self._is_bounded |= self._nodes == 1 and solution.status is not Status.UNBOUNDED
        if solution.status is not Status.UNBOUNDED or not self._first:
            return None if solution.status is Status.UNBOUNDED else solution
        # Any point beyond the cutoff will do: ask for one without a cost, which then bounds nothing.
        self._has_no_cost = self._is_bounded = True
        asked = self._kkt.relaxation
        if np.isfinite(self._limit):
            asked = asked.capped(self._limit)
        self._load(asked.with_cost(np.zeros_like(asked.cost)))
        self._apply(node)
        return self._lp.solve(is_bounded=True)

    def _apply(self, node: _Node) -> None:
        count = node.pairs.size
        idle, tight = node.pairs == _IDLE, node.pairs == _TIGHT
        places = self._first_slack + np.arange(count)
        self._lp.set_column_bounds(self._multipliers, np.zeros(count), np.where(idle, 0.0, INFINITY))
        self._lp.set_row_bounds(places, self._rest, np.where(tight, self._rest, INFINITY))
        self._lp.set_column_bounds(self._integer, node.lower, node.upper)

    def _children(self, node: _Node, solution: LpSolution) -> tuple[_Node, ...]:
        """Two nodes that between them keep every point of the game, or none where the node is a leaf."""
        if solution.status is not Status.PROVEN_OPTIMAL:
            self._certified &= self._proof.proves_empty(self._lp.ray(), self._box(node))
            return ()
        bound = node.bound
        if not self._has_no_cost:
            proven = self._proof.bound(solution.prices, self._program.cost, self._box(node))
            bound = max(bound, proven + self._program.offset)
        if bound > self._limit:
            self._least_leaf = min(self._least_leaf, bound)
            return ()
        columns = solution.columns
        fraction = np.abs(columns[self._integer] - np.round(columns[self._integer]))
        if fraction.size and fraction.max() > TUNING.clearly:
            return self._split(node, int(np.argmax(fraction)), columns, bound)
        slack = self._kkt.slacks(columns)[self._kkt.pairs]
        violation = np.where(node.pairs == _FREE, np.minimum(columns[self._multipliers], slack), 0.0)
        if violation.size == 0 or violation.max() <= TUNING.clearly:
            self._keep(columns, bound)
            return ()
        return self._decided(node, int(np.argmax(violation)), bound)

    def _keep(self, columns: FloatArray, bound: float) -> None:
        """A leaf that is a point of the game: nothing in the leaf costs less than its bound."""
        cost = self._cost(columns)
        slack = self._gap * max(1.0, abs(cost))
        self._certified &= bound >= cost - slack
        self._least_leaf = min(self._least_leaf, bound)
        if self._best is None or cost < self._cost(self._best):
            self._best, self._limit = columns, min(self._limit, cost - slack)

    def _decided(self, node: _Node, chosen: int, bound: float) -> tuple[_Node, ...]:
        tight, idle = node.pairs.copy(), node.pairs.copy()
        tight[chosen], idle[chosen] = _TIGHT, _IDLE
        if self._twin[chosen] >= 0:  # both sides of one row cannot be tight: their bounds differ
            tight[self._twin[chosen]] = _IDLE
        return replace(node, pairs=idle, bound=bound), replace(node, pairs=tight, bound=bound)

    def _split(self, node: _Node, chosen: int, columns: FloatArray, bound: float) -> tuple[_Node, ...]:
        value = columns[self._integer[chosen]]
        upper, lower = node.upper.copy(), node.lower.copy()
        upper[chosen], lower[chosen] = np.floor(value), np.ceil(value)
        return replace(node, upper=upper, bound=bound), replace(node, lower=lower, bound=bound)

    def _box(self, node: _Node) -> Box:
        row_upper = self._program.row_upper.copy()
        row_upper[self._first_slack :] = np.where(node.pairs == _TIGHT, self._rest, INFINITY)
        lower, upper = self._program.column_lower.copy(), self._program.column_upper.copy()
        lower[self._integer], upper[self._integer] = node.lower, node.upper
        upper[self._multipliers] = np.where(node.pairs == _IDLE, 0.0, INFINITY)
        return Box(self._program.row_lower, row_upper, lower, upper)


def _twins(kkt: KktSystem) -> IntArray:
    """For each pair the pair of the other side of the same row or column, -1 where there is none."""
    place = np.full(kkt.multipliers.count + 1, -1, dtype=np.int64)
    place[kkt.pairs] = np.arange(kkt.pairs.size)
    return np.asarray(place[kkt.multipliers.twin[kkt.pairs]])
