"""Exact search for small cases: commitments in order of cost until none can be better.

Very small cases list all their commitments with a lower bound each (:func:`list_commitments`). Otherwise UC
without prices gives the cheapest commitment; the best valid selection of bids for it is found by a best-first
search over boxes of offers (:func:`best_selection`); then that commitment is cut off and UC is solved again.
UC's bound only rises, so the search ends with a proof when it meets the best valid answer.

A cut excludes one commitment. Counts of units are written in unary (``on = sum of b_i``, ``b_i >= b_(i+1)``),
and at least one ``b_i`` must differ. Where EM has several optimal dispatches, the one HiGHS returns counts.
"""

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray
from ppsm.cases.entities import Fleet
from ppsm.markets.gauc.deliverable import affordable_answers
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.markets.model.followers import Followers, GameAnswer
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status, relative_gap

Counts = tuple[int, ...]


def can_enumerate(followers: Followers) -> bool:
    """Whether a case is small enough: with many unary columns a cut excludes too little."""
    commitment = followers.commitment
    unary_columns = int(commitment.program.column_upper[commitment.on_columns].sum())
    return unary_columns <= TUNING.largest_unary


@dataclass(frozen=True, eq=False)
class _Selections:
    """All offers (links x blocks x hours) between two: a node of the search for one commitment's best."""

    fewest: IntArray
    most: IntArray

    def split(self, near: IntArray) -> "list[_Selections]":
        """Two parts, on either side of some offers in the count that is freest; none if nothing is free."""
        free = self.most - self.fewest
        place = np.unravel_index(int(np.argmax(free)), free.shape)
        if free[place] == 0:
            return []
        value = min(int(near[place]), int(self.most[place]) - 1)
        return [self._at_most(place, value), self._at_least(place, value + 1)]

    def _at_most(self, place: tuple[Any, ...], value: int) -> "_Selections":
        plant, block, hour = place
        most = self.most.copy()
        most[plant, block:, hour] = np.minimum(most[plant, block:, hour], value)  # blocks go in order
        return _Selections(self.fewest, most)

    def _at_least(self, place: tuple[Any, ...], value: int) -> "_Selections":
        plant, block, hour = place
        fewest = self.fewest.copy()
        fewest[plant, : block + 1, hour] = np.maximum(fewest[plant, : block + 1, hour], value)
        return _Selections(fewest, self.most)


def best_selection(
    followers: Followers, power_stress: float, on: IntArray, demand_mwh: FloatArray, cutoff_usd: float
) -> GameAnswer | None:
    """The cheapest valid answer of one commitment below a cost, over all offers of its running plants.

    Best first: EM over all offers of a node at once is a bound, and its dispatch names offers to try, around
    which the node is split. Where these are valid and cost what the bound says, nothing is left to do.
    """
    fixed = followers.commitment.commitment_cost_usd(on)
    running = on[followers.commitment.link_fleets]
    order = itertools.count()
    queue: list[tuple[float, int, _Selections, IntArray]] = []

    def push(node: _Selections) -> None:
        dispatch = followers.electricity.clear(power_stress, on, node.fewest, node.most)
        if dispatch is not None and fixed + dispatch.cost_usd < cutoff_usd:
            output = dispatch.output_mw[followers.commitment.link_fleets]
            nearest = followers.levels.fewest_offers(output, running, np.zeros_like(followers.levels.blocks))
            offers = np.clip(nearest, node.fewest, node.most)
            heapq.heappush(queue, (dispatch.cost_usd, next(order), node, offers))

    push(_every_selection(followers, running))
    best: GameAnswer | None = None
    tried: set[bytes] = set()
    while queue and fixed + queue[0][0] < cutoff_usd:
        _, _, node, offers = heapq.heappop(queue)
        if offers.tobytes() not in tried:
            tried.add(offers.tobytes())
            power = followers.power_answer(power_stress, on, offers)
            answer = None if power is None else followers.game_answer(power, demand_mwh)
            if answer is not None and not answer.invalid and answer.power.leader_cost_usd < cutoff_usd:
                best, cutoff_usd = answer, answer.power.leader_cost_usd
        for part in node.split(offers):
            push(part)
    return best


def _every_selection(followers: Followers, running: IntArray) -> _Selections:
    """From the first block alone to all blocks, of every running unit."""
    levels = followers.levels
    there = np.arange(levels.size_mw.shape[1])[None, :] < levels.blocks[:, None]
    most = np.where(there[:, :, None], running[:, None, :], 0)
    fewest = most.copy()
    fewest[:, 1:] = 0
    return _Selections(fewest, most)


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
        best = min(quick, key=lambda answer: answer.power.leader_cost_usd, default=None)
    listing = list_commitments(followers.commitment, power_stress)
    if listing is not None:
        return _go_through(listing, followers, power_stress, demand_mwh, best, gap, seconds_left)
    master = _Master(program, followers.commitment.on_columns, followers.commitment.is_integer)
    bound, count, closely = -math.inf, 0, min(gap, TUNING.enumeration_gap)
    while seconds_left() > 0:
        value = math.inf if best is None else best.power.leader_cost_usd
        status, found, on = master.solve(closely, seconds_left())
        if status is Status.INFEASIBLE:  # one search's word is no proof that nothing is left
            status, found, on = master.solve(closely, max(seconds_left(), 0.0), another_path=True)
        if status is Status.INFEASIBLE:
            return Enumerated(best, value, count, True)
        if on is None or found is None:
            break
        bound = max(bound, min(found, value))
        if math.isfinite(value) and relative_gap(value, bound) <= gap:
            return Enumerated(best, bound, count, True)
        count += 1
        better = best_selection(followers, power_stress, on, demand_mwh, value)
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
        value = math.inf if best is None else best.power.leader_cost_usd
        if math.isfinite(value) and relative_gap(value, min(bound, value)) <= gap:
            return Enumerated(best, min(bound, value), count, True)
        if seconds_left() <= 0:
            return Enumerated(best, bound, count, False)
        better = best_selection(followers, power_stress, on, demand_mwh, value)
        best = better if better is not None else best
    value = math.inf if best is None else best.power.leader_cost_usd
    return Enumerated(best, value, len(listing), True)


class _Master:
    """UC with unary counts and the commitments already looked at cut off."""

    def __init__(self, program: LinearProgram, on_columns: IntArray, is_integer: BoolArray) -> None:
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
        in_order = sp.hstack([sp.csr_array((inner.size, self._width)), order], format="csr")
        return (
            program.with_columns(np.zeros(total), np.ones(total))
            .with_rows(sp.hstack([minus_on, ones], format="csr"), np.zeros(rows), np.zeros(rows))
            .with_rows(in_order, np.zeros(inner.size), np.ones(inner.size))
        )

    def solve(
        self, gap: float, seconds: float, *, another_path: bool = False
    ) -> tuple[Status, float | None, IntArray | None]:
        """Status, proven bound and commitment of the cheapest one left."""
        limits = SolveLimits(gap=gap, seconds=seconds, another_path=another_path)
        result = solve_mip_with_highs(MixedIntegerProgram(self._program, self._integer), limits)
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
        self._program = self._program.with_rows(sp.csr_array(row[None, :]), np.array([1.0 - ones.sum()]))


def day_patterns(fleet: Fleet, hours: int) -> list[Counts]:
    """Units on by hour that must-run and minimum times allow around the cyclic day."""
    least = fleet.unit_count if fleet.must_run else 0
    every = itertools.product(range(least, fleet.unit_count + 1), repeat=hours)
    return [counts for counts in every if _keeps_minimum_times(fleet, np.array(counts))]


def _keeps_minimum_times(fleet: Fleet, counts: IntArray) -> bool:
    change = counts - np.roll(counts, 1)
    for events, length, room in (
        (np.maximum(change, 0), fleet.min_up_h, counts),
        (np.maximum(-change, 0), fleet.min_down_h, fleet.unit_count - counts),
    ):
        recent = sum((np.roll(events, k) for k in range(min(length, counts.size))), np.zeros_like(counts))
        if (recent > room).any():
            return False
    return True


def list_commitments(commitment: UnitCommitment, power_stress: float) -> list[tuple[float, IntArray]] | None:
    """Lower bound in $ and units on (fleets x hours) of every commitment, in order; None if too many.

    The bound of a commitment is its no-load and start-up cost and, hour by hour, a merit order of its running
    units that knows neither network nor ramps nor least outputs. Commitments break no rule of UC that can be
    read from the counts alone: minimum times, must-run, capacity for load and reserve, least outputs below
    load.
    """
    case = commitment.system.case
    hours = len(case.load_shape)
    if any((fleet.unit_count + 1) ** hours > TUNING.largest_listing for fleet in case.fleets):
        return None
    patterns = [day_patterns(fleet, hours) for fleet in case.fleets]  # minimum times leave a few of many
    if math.prod(map(len, patterns)) > TUNING.largest_listing:
        return None
    energy = _HourlyCost(commitment, power_stress)
    found = []
    for rows in itertools.product(*patterns):
        dispatch = sum(energy.of(hour, now) for hour, now in enumerate(zip(*rows, strict=True)))
        if math.isfinite(dispatch):
            on = np.array(rows, dtype=np.int64)
            found.append((commitment.commitment_cost_usd(on) + dispatch, on))
    return sorted(found, key=lambda each: each[0])


class _HourlyCost:
    """Merit-order cost of the units that run in an hour, remembered; inf where they cannot serve the load."""

    def __init__(self, commitment: UnitCommitment, power_stress: float) -> None:
        system = commitment.system
        self._load = system.load_mw(power_stress).sum("bus").values
        self._reserve = system.case.reserve_fraction * system.case.load_mw(power_stress).sum(axis=1)
        self._size, self._least = system.unit_mw.values, system.least_mw.values
        blocks, prices = (x.values for x in (system.block_mw, system.block_usd_per_mwh))
        self._owner, block = np.nonzero(np.isfinite(blocks))
        self._block_mw: FloatArray = blocks[self._owner, block]
        self._price: FloatArray = prices[self._owner, block]
        self._order = np.argsort(self._price)
        self._known: dict[tuple[int, Counts], float] = {}

    def of(self, hour: int, counts: Counts) -> float:
        """Cost in $ of serving an hour's load with so many units of each fleet."""
        key = (hour, counts)
        if key not in self._known:
            self._known[key] = self._merit_order(hour, np.array(counts))
        return self._known[key]

    def _merit_order(self, hour: int, counts: IntArray) -> float:
        load = float(self._load[hour])
        capacity, least = float(self._size @ counts), float(self._least @ counts)
        slack = TUNING.load_rounding * max(1.0, abs(load))
        if capacity < load + self._reserve[hour] - slack or least > load + slack:
            return math.inf
        offered = (self._block_mw * counts[self._owner])[self._order]
        taken = np.diff(np.minimum(np.concatenate([[0.0], np.cumsum(offered)]), load))
        return float(taken @ self._price[self._order])
