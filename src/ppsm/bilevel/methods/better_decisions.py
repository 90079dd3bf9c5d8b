"""Steps of a leader of integers from decision to better decision: points of the game soon, and no proof."""

import time
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.incumbent import point_of
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.every_decision import Market, integer_range
from ppsm.bilevel.tuning import TUNING
from ppsm.program import BilevelProgram
from ppsm.status import Status

# What breaks the leader's rows comes before what costs.
_Worth = tuple[float, float]


def has_steps(program: BilevelProgram) -> bool:
    """Whether all that the leader decides are bounded integers, and the follower is linear and acts once."""
    if program.curvature.nnz or program.handed_on.nnz or not program.is_integer.any():
        return False
    lower, upper = integer_range(program)
    fixed = program.variable_lower == program.variable_upper
    is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all())
    return is_bounded and bool((program.is_integer | fixed).all())


class Steps:
    """A good point soon: a leader of integers goes step by step to better decisions, the follower warm.

    One integer moves by one or to an end of its range, then two move together by one each, for as long as
    that helps. Nothing is proven. The walk can be left and taken up again; ``columns`` is the best point of
    the game on its way.
    """

    def __init__(self, kkt: KktSystem) -> None:
        self._kkt, self._program = kkt, kkt.program
        self._integer = np.flatnonzero(kkt.program.is_integer)
        self._lower, self._upper = integer_range(kkt.program)
        self._rows = kkt.relaxation.matrix[: len(kkt.program.leader_row_names), :]
        self._market = Market(kkt.program.follower)
        self._at, self._worth = self._lower, (INFINITY, INFINITY)
        self.columns: FloatArray | None = None
        self.is_through = False
        self._ways = self._all_ways()

    def run(self, deadline: float) -> None:
        """Walk on until a deadline of :func:`time.perf_counter`, or until no step helps."""
        for decision in self._ways:
            self._try(decision)
            if time.perf_counter() > deadline:
                return
        self.is_through = True

    def offer(self, columns: FloatArray) -> None:
        """Walk on from a point of the game that somebody else has found, if it is better."""
        worth = self._worth_of(columns)
        if worth < self._worth:
            self._at, self._worth, self.columns = np.round(columns[self._integer]), worth, columns

    def _all_ways(self) -> Iterator[FloatArray]:
        """Decisions to try, each beside the best one by then."""
        yield self._lower
        yield self._upper
        before: _Worth | None = None
        while before is None or self._worth < before:
            before = self._worth
            yield from self._single_steps()
            if self._worth == before:
                yield from self._double_steps()

    def _single_steps(self) -> Iterator[FloatArray]:
        width = self._upper - self._lower
        for place in range(self._integer.size):
            for step in (1.0, -1.0, INFINITY, -INFINITY) if width[place] > 1 else (1.0, -1.0):
                yield from self._moved(np.array([place]), np.array([step]))

    def _double_steps(self) -> Iterator[FloatArray]:
        """Two at once, until one such step helps: then single steps are worth trying again."""
        before = self._worth
        for places in combinations(range(self._integer.size), 2):
            for steps in product((1.0, -1.0), repeat=2):
                yield from self._moved(np.array(places), np.array(steps))
                if self._worth < before:
                    return

    def _moved(self, places: IntArray, steps: FloatArray) -> Iterator[FloatArray]:
        values = np.clip(self._at[places] + steps, self._lower[places], self._upper[places])
        if (values != self._at[places]).all():
            decision = self._at.copy()
            decision[places] = values
            yield decision

    def _try(self, values: FloatArray) -> None:
        program = self._program
        decision = np.where(program.is_integer, 0.0, program.variable_lower)
        decision[self._integer] = values
        follower = program.follower_at(decision, np.zeros(program.follower.shape[1]))
        answer = self._market.answer(follower)
        if answer.status is not Status.PROVEN_OPTIMAL:
            return
        point = point_of(self._kkt, answer, decision)
        worth = self._worth_of(point)
        if worth < self._worth:
            self._at, self._worth = values, worth
            self.columns = point if worth[0] == 0 else None

    def _worth_of(self, columns: FloatArray) -> _Worth:
        relaxation, rows = self._kkt.relaxation, self._rows.shape[0]
        activity = self._rows @ columns
        low, high = relaxation.row_lower[:rows], relaxation.row_upper[:rows]
        broken = np.maximum(0.0, np.maximum(low - activity, activity - high))
        broken = np.where(broken > TUNING.clearly * np.maximum(1.0, np.abs(activity)), broken, 0.0)
        return float(broken.sum()), float(relaxation.cost @ columns)
