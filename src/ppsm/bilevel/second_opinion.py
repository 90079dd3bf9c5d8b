"""A second opinion on a claim of optimality: the search for a point of the game that beats the answer.

A MIP solver's bound is one program's word: presolve, cuts and a start that came with the program have made
HiGHS call a poor point optimal (tests/canaries). So the question is put again on a path of its own. The
first way shares nothing with any method: no bounds M, no MIP solver, no presolve, no start, only simplex
steps on the linear relaxation and branching on what it violates (Bard & Moore 1990): child A makes an
inequality tight, child B takes its multiplier away. Where that takes too long, the method's own program is
asked again for a point beyond the answer, without start and presolve and with another seed.
"""

import time
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.mip import MixedIntegerProgram
from ppsm.status import Status

_FREE, _TIGHT, _IDLE = 0, 1, 2


class Verdict(StrEnum):
    """What a second opinion says of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Opinion:
    """A verdict, how it was reached, and the better point (columns of the relaxation) of a refutation."""

    verdict: Verdict
    words: str
    columns: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Node:
    """Which pairs are decided and how, and the bounds of the integer columns."""

    pairs: IntArray
    lower: FloatArray
    upper: FloatArray


def beyond(problem: MixedIntegerProgram, cutoff: float | None) -> MixedIntegerProgram:
    """A method's program without start and, if there is a cutoff, without all points that cost more."""
    linear = problem.linear if cutoff is None else problem.linear.capped(cutoff)
    return replace(problem, linear=linear, start=None)


def branch_for_better(kkt: KktSystem, cutoff: float | None, deadline: float) -> Opinion:
    """Search the whole game for a point that costs at most the cutoff (any point, if there is none).

    The first one ends the search: whoever claimed that there is none was wrong.
    """
    return _Branching(kkt, cutoff, deadline).opinion()


class _Branching:
    """The tree, with one LP that stays alive: nodes differ in bounds only."""

    def __init__(self, kkt: KktSystem, cutoff: float | None, deadline: float) -> None:
        self._kkt, self._deadline = kkt, deadline
        self._integer = np.flatnonzero(kkt.is_integer)
        self._multipliers = kkt.first_multiplier + kkt.pairs
        program = kkt.relaxation if cutoff is None else kkt.relaxation.capped(cutoff)
        self._first_slack = program.shape[0]
        self._rest = -kkt.slack_constant[kkt.pairs]
        program = program.with_rows(sp.csr_array(kkt.slack_matrix[kkt.pairs, :]), lower=self._rest)
        self._lp = PersistentLp(program)
        self._lp.skip_presolve()
        self._twin = self._twins()
        self.nodes = 0

    def _twins(self) -> IntArray:
        """For each pair the pair of the other side of the same row or column, -1 where there is none."""
        place = np.full(self._kkt.multipliers.count + 1, -1, dtype=np.int64)
        place[self._kkt.pairs] = np.arange(self._kkt.pairs.size)
        return np.asarray(place[self._kkt.multipliers.twin[self._kkt.pairs]])

    def opinion(self) -> Opinion:
        relaxation = self._kkt.relaxation
        root = _Node(
            np.zeros(self._kkt.pairs.size, dtype=np.int64),
            relaxation.column_lower[self._integer],
            relaxation.column_upper[self._integer],
        )
        bounded = self._root_is_bounded(root)
        open_nodes = [root]
        while open_nodes:
            if time.perf_counter() > self._deadline:
                return Opinion(Verdict.UNDECIDED, f"branching on pairs was not through after {self._size}")
            node = open_nodes.pop()
            columns = self._point(node, bounded=bounded)
            if columns is None:
                continue
            children = self._children(node, columns)
            if not children:
                return Opinion(
                    Verdict.REFUTED, f"branching on pairs found a better point after {self._size}", columns
                )
            open_nodes.extend(children)
        return Opinion(Verdict.CONFIRMED, f"branching on pairs, {self._size}")

    @property
    def _size(self) -> str:
        return f"{self.nodes} node{'' if self.nodes == 1 else 's'}"

    def _root_is_bounded(self, root: _Node) -> bool:
        """Whether the relaxation has a least cost; if not, any point beyond the cutoff is as good."""
        self._apply(root)
        if self._lp.solve().status is not Status.UNBOUNDED:
            return True
        self._lp.set_cost(np.zeros_like(self._kkt.relaxation.cost))
        return False

    def _point(self, node: _Node, *, bounded: bool) -> FloatArray | None:
        self.nodes += 1
        self._apply(node)
        solution = self._lp.solve(is_bounded=bounded)
        return solution.columns if solution.status is Status.PROVEN_OPTIMAL else None

    def _apply(self, node: _Node) -> None:
        count = node.pairs.size
        self._lp.set_column_bounds(
            self._multipliers, np.zeros(count), np.where(node.pairs == _IDLE, 0.0, INFINITY)
        )
        self._lp.set_row_bounds(
            self._first_slack + np.arange(count),
            self._rest,
            np.where(node.pairs == _TIGHT, self._rest, INFINITY),
        )
        self._lp.set_column_bounds(self._integer, node.lower, node.upper)

    def _children(self, node: _Node, columns: FloatArray) -> tuple[_Node, ...]:
        """Two nodes that between them keep every point of the game; none where the point is one."""
        fraction = columns[self._integer]
        fraction = np.abs(fraction - np.round(fraction))
        if fraction.size and fraction.max() > TUNING.clearly:
            return self._split(node, int(np.argmax(fraction)), columns)
        slack = self._kkt.slacks(columns)[self._kkt.pairs]
        violation = np.where(node.pairs == _FREE, np.minimum(columns[self._multipliers], slack), 0.0)
        if violation.size == 0 or violation.max() <= TUNING.clearly:
            return ()
        chosen = int(np.argmax(violation))
        tight, idle = node.pairs.copy(), node.pairs.copy()
        tight[chosen], idle[chosen] = _TIGHT, _IDLE
        if self._twin[chosen] >= 0:  # both sides of one row cannot be tight: their bounds differ
            tight[self._twin[chosen]] = _IDLE
        return replace(node, pairs=idle), replace(node, pairs=tight)

    def _split(self, node: _Node, chosen: int, columns: FloatArray) -> tuple[_Node, ...]:
        value = columns[self._integer[chosen]]
        upper, lower = node.upper.copy(), node.lower.copy()
        upper[chosen], lower[chosen] = np.floor(value), np.ceil(value)
        return replace(node, upper=upper), replace(node, lower=lower)
