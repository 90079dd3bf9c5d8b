"""Exact search for small cases: commitments in order of cost until none can be better.

Very small cases list all their commitments (:mod:`ppsm.markets.listing`). Otherwise UC without prices gives
the cheapest commitment; the best valid choice of levels for it is found by a best-first search over level
vectors (raising a level never lowers EM's cost); then that commitment is cut off and UC is solved again. UC's
bound only rises, so the search ends with a proof when it meets the best valid answer.

A cut excludes one commitment. Counts of units are written in unary (``on = sum of b_i``, ``b_i >= b_(i+1)``),
and at least one ``b_i`` must differ. Where EM has several optimal dispatches, the one HiGHS returns counts.
"""

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.markets.affordable import affordable_answers
from ppsm.markets.evaluate import Followers, GameAnswer, PowerAnswer
from ppsm.markets.listing import list_commitments
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status, relative_gap

# With more unary columns than this a cut excludes too little to be worth a solve.
LARGEST_UNARY = 800


def unary_size(followers: Followers) -> int:
    """How many unary columns a case needs."""
    return int(followers.commitment.program.column_upper[followers.commitment.on_columns].sum())


def best_levels(
    followers: Followers, power_stress: float, on: IntArray, demand_mwh: FloatArray, cutoff_usd: float
) -> GameAnswer | None:
    """The cheapest valid answer of one commitment below a cost, over all levels of its running plants."""
    blocks = followers.levels.blocks
    running = np.flatnonzero((on[followers.commitment.link_fleets] > 0).any(axis=1)).tolist()
    order = itertools.count()
    queue: list[tuple[float, int, tuple[int, ...], PowerAnswer]] = []
    seen: set[tuple[int, ...]] = set()

    def push(levels: tuple[int, ...]) -> None:
        if levels in seen:
            return
        seen.add(levels)
        power = followers.power_answer(power_stress, on, np.array(levels, dtype=np.int64))
        if power is not None and power.cost_usd < cutoff_usd:
            heapq.heappush(queue, (power.cost_usd, next(order), levels, power))

    push(tuple(0 if plant in running else int(blocks[plant]) for plant in range(blocks.size)))
    while queue:
        _, _, levels, power = heapq.heappop(queue)
        answer = followers.game_answer(power, demand_mwh)
        if answer is not None and not answer.invalid:
            return answer
        for plant in running:
            if levels[plant] + 1 < blocks[plant]:
                push((*levels[:plant], levels[plant] + 1, *levels[plant + 1 :]))
    return None


@dataclass(frozen=True, eq=False)
class Enumerated:
    """The best valid answer found (None if none), a proven bound, and how many commitments were looked at."""

    answer: GameAnswer | None
    bound_usd: float
    commitments: int
    finished: bool


def enumerate_commitments(
    followers: Followers,
    power_stress: float,
    demand_mwh: FloatArray,
    best: GameAnswer | None,
    gap: float,
    seconds_left: Callable[[], float],
) -> Enumerated:
    """Go through commitments in order of cost, starting with a known valid answer or a quick one."""
    program = followers.commitment.at(power_stress)
    if program is None:
        return Enumerated(best, math.inf, 0, True)
    if best is None:
        quick = affordable_answers(followers, power_stress, demand_mwh, seconds_left)
        best = min(quick, key=lambda answer: answer.power.cost_usd, default=None)
    listing = list_commitments(followers.commitment, power_stress)
    if listing is not None:
        return _go_through(listing, followers, power_stress, demand_mwh, best, gap, seconds_left)
    master = _Master(program, followers.commitment.on_columns, followers.commitment.is_integer)
    bound, count = -math.inf, 0
    while seconds_left() > 0:
        value = math.inf if best is None else best.power.cost_usd
        status, found, on = master.solve(min(gap, 1e-6), seconds_left())
        if status is Status.INFEASIBLE:
            return Enumerated(best, value, count, True)
        if on is None or found is None:
            break
        bound = max(bound, min(found, value))
        if math.isfinite(value) and relative_gap(value, bound) <= gap:
            return Enumerated(best, bound, count, True)
        count += 1
        better = best_levels(followers, power_stress, on, demand_mwh, value)
        best = better if better is not None else best
        master.exclude(on)
    return Enumerated(best, bound, count, False)


def _go_through(
    listing: list[tuple[float, IntArray]],
    followers: Followers,
    power_stress: float,
    demand_mwh: FloatArray,
    best: GameAnswer | None,
    gap: float,
    seconds_left: Callable[[], float],
) -> Enumerated:
    """Look at listed commitments until the bound of the next one meets the best answer."""
    for count, (bound, on) in enumerate(listing):
        value = math.inf if best is None else best.power.cost_usd
        if math.isfinite(value) and relative_gap(value, min(bound, value)) <= gap:
            return Enumerated(best, min(bound, value), count, True)
        if seconds_left() <= 0:
            return Enumerated(best, bound, count, False)
        better = best_levels(followers, power_stress, on, demand_mwh, value)
        best = better if better is not None else best
    value = math.inf if best is None else best.power.cost_usd
    return Enumerated(best, value, len(listing), True)


class _Master:
    """UC with unary counts and the commitments already looked at cut off."""

    def __init__(self, program: LinearProgram, on_columns: IntArray, is_integer: np.ndarray) -> None:
        self._on = on_columns
        counts = program.column_upper[on_columns.ravel()].astype(int)
        self._first = np.concatenate([[0], np.cumsum(counts)])
        self._width = program.shape[1]
        self._integer = np.concatenate([is_integer, np.ones(self._first[-1], dtype=bool)])
        self._program = self._with_unary(program, counts)

    def _with_unary(self, program: LinearProgram, counts: IntArray) -> LinearProgram:
        rows, total = counts.size, int(self._first[-1])
        owner = np.repeat(np.arange(rows), counts)
        minus_on = sp.csr_array((-np.ones(rows), (np.arange(rows), self._on.ravel())), (rows, self._width))
        ones = sp.csr_array((np.ones(total), (owner, np.arange(total))), shape=(rows, total))
        inner = np.flatnonzero(np.diff(owner) == 0)  # b_i >= b_(i+1) within one count
        signs = np.concatenate([np.ones(inner.size), -np.ones(inner.size)])
        places = (np.tile(np.arange(inner.size), 2), np.concatenate([inner, inner + 1]))
        order = sp.csr_array((signs, places), shape=(inner.size, total))
        zeros = np.zeros(rows)
        blocks: Any = [[program.matrix, None], [minus_on, ones], [None, order]]
        return replace(
            program,
            cost=np.concatenate([program.cost, np.zeros(total)]),
            matrix=sp.csr_array(sp.block_array(blocks)),
            row_lower=np.concatenate([program.row_lower, zeros, np.zeros(inner.size)]),
            row_upper=np.concatenate([program.row_upper, zeros, np.ones(inner.size)]),
            column_lower=np.concatenate([program.column_lower, np.zeros(total)]),
            column_upper=np.concatenate([program.column_upper, np.ones(total)]),
            row_names=tuple(f"r{i}" for i in range(program.shape[0] + rows + inner.size)),
            column_names=tuple(f"c{i}" for i in range(self._width + total)),
        )

    def solve(self, gap: float, seconds: float) -> tuple[Status, float | None, IntArray | None]:
        """Status, proven bound and commitment of the cheapest one left."""
        result = solve_mip_with_highs(
            MixedIntegerProgram(self._program, self._integer), SolveLimits(gap=gap, seconds=seconds)
        )
        if result.interrupted:
            raise KeyboardInterrupt
        if result.columns is None:
            return result.status, result.bound, None
        return result.status, result.bound, np.rint(result.columns[self._on]).astype(np.int64)

    def exclude(self, on: IntArray) -> None:
        """Cut a commitment off: some unary digit must differ."""
        total = int(self._first[-1])
        ones = np.zeros(total, dtype=bool)
        for start, count in zip(self._first, on.ravel(), strict=False):
            ones[start : start + count] = True
        row = np.concatenate([np.zeros(self._width), np.where(ones, -1.0, 1.0)])
        program = self._program
        matrix: SparseMatrix = sp.csr_array(sp.vstack([program.matrix, sp.csr_array(row[None, :])]))
        self._program = replace(
            program,
            matrix=matrix,
            row_lower=np.append(program.row_lower, 1.0 - ones.sum()),
            row_upper=np.append(program.row_upper, np.inf),
            row_names=(*program.row_names, f"r{program.shape[0]}"),
        )
