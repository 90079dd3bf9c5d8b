"""Steps of a leader from decision to better decision: points of the game soon, and no proof."""

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
    """Whether a leader of bounded integers and a few bounded numbers has a linear follower that acts once."""
    if program.curvature.nnz or program.handed_on.nnz:
        return False
    lower, upper = _ranges(program)
    is_open = lower < upper
    is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all())
    numbers = int((is_open & ~program.is_integer).sum())
    return is_bounded and bool(is_open.any()) and numbers <= TUNING.numbers_with_steps


def _ranges(program: BilevelProgram) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of all that the leader decides."""
    lower, upper = program.variable_lower.copy(), program.variable_upper.copy()
    lower[program.is_integer], upper[program.is_integer] = integer_range(program)
    return lower, upper


class Steps:
    """A good point soon: a leader goes step by step to better decisions, the follower warm.

    One integer moves by one or to an end of its range, then two move together by one each; any other number
    moves by halves of its range, halves of these and so on; for as long as that helps. Nothing is proven.
    The walk can be left and taken up again; ``columns`` is the best point of the game on its way.
    """

    def __init__(self, kkt: KktSystem) -> None:
        self._kkt, self._program = kkt, kkt.program
        self._lower, self._upper = _ranges(kkt.program)
        is_open = self._lower < self._upper
        self._integers = np.flatnonzero(is_open & kkt.program.is_integer)
        self._numbers = np.flatnonzero(is_open & ~kkt.program.is_integer)
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
            self._at, self._worth, self.columns = columns[self._kkt.variables].copy(), worth, columns
            self._at[self._integers] = np.round(self._at[self._integers])

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
        for place in self._integers:
            for step in (1.0, -1.0, INFINITY, -INFINITY) if width[place] > 1 else (1.0, -1.0):
                yield from self._moved(np.array([place]), np.array([step]))
        for place in self._numbers:
            for halving in range(1, TUNING.halvings + 1):
                for step in (1.0, -1.0):
                    yield from self._moved(np.array([place]), np.array([step * width[place] / 2**halving]))

    def _double_steps(self) -> Iterator[FloatArray]:
        """Two at once, until one such step helps: then single steps are worth trying again."""
        before = self._worth
        for places in combinations(self._integers, 2):
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

    def _try(self, decision: FloatArray) -> None:
        program = self._program
        follower = program.follower_at(decision, np.zeros(program.follower.shape[1]))
        answer = self._market.answer(follower)
        if answer.status is not Status.PROVEN_OPTIMAL:
            return
        point = point_of(self._kkt, answer, decision)
        worth = self._worth_of(point)
        if worth < self._worth:
            self._at, self._worth = decision, worth
            self.columns = point if worth[0] == 0 else None

    def _worth_of(self, columns: FloatArray) -> _Worth:
        relaxation, rows = self._kkt.relaxation, self._rows.shape[0]
        activity = self._rows @ columns
        low, high = relaxation.row_lower[:rows], relaxation.row_upper[:rows]
        broken = np.maximum(0.0, np.maximum(low - activity, activity - high))
        broken = np.where(broken > TUNING.clearly * np.maximum(1.0, np.abs(activity)), broken, 0.0)
        return float(broken.sum()), float(relaxation.cost @ columns)
