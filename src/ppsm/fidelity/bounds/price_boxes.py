"""Ranges for the prices of every point that could be better than an incumbent of PPSM_p.

A dual that lifts a point ``d`` to the value band has ``g(p) + y'd >= lower``. The largest ``y'd`` over all
points nearer than the incumbent is convex in ``y``; a line above it makes the condition linear, so that each
price can be maximised and minimised by LPs, and narrower prices give a better line.

The first range of all prices is up to the largest that there can be (:func:`largest_price`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

# Slope and constant of a line above the largest ``y'd`` for prices between the ends of their ranges.
Line = tuple[FloatArray, float]


class PriceBoxes:
    """Boxes of prices that hold an optimal dual of every point nearer than ``objective`` and in the band.

    ``penalty`` is the multiplier of the incumbent's half-space: any positive number is valid, this one is
    best. ``planes`` are planes ``g + y'd`` below V, each as ``(g, y)``.
    """

    def __init__(
        self,
        core: Core,
        matrices: PrimalDualMatrices,
        objective: float,
        penalty: float,
        planes: Sequence[tuple[float, FloatArray]],
    ) -> None:
        self.core, self.matrices, self.objective = core, matrices, objective
        self.penalty, self.planes = penalty, planes
        start = np.clip(core.reference, core.lower, core.upper)
        least = core.curvature * (start - core.reference) ** 2
        spare = max(0.0, objective - core.constant - float(least.sum()))
        # Points nearer than the objective and within bounds are no farther than this from the nearest of all.
        self.centre, self.radius = start, float(np.sqrt(spare))
        reach = np.sqrt((least + spare) / core.curvature)
        self.ends = (
            np.maximum(core.lower, core.reference - reach),
            np.minimum(core.upper, core.reference + reach),
        )

    def first(self, *, monotone: bool) -> PriceBox | None:
        """A first box: prices up to the largest that there can be; None where no dual reaches the band.

        Of a ``monotone`` follower they are nonnegative.
        """
        entries = self.matrices.entries
        one, anything = np.ones(entries), np.full(entries, INFINITY)
        shares = PriceBox(np.zeros(entries) if monotone else -one, one)
        above = LinesAbove(self.core, shares, self.ends, self.objective)
        lines = [above.line(kappa) for kappa in self.kappas()]
        if monotone:
            lines.append((self.ends[1], 0.0))
        every = PriceBox(np.zeros(entries) if monotone else -anything, anything)
        duals = _dual_feasible(self.matrices, every, None)
        worth = np.concatenate([np.zeros(entries), self.matrices.dual_objective])
        largest = largest_price(duals, worth, self.core.value_lower, lines, signed=not monotone)
        if largest == -INFINITY:
            return None
        room = largest * (1.0 + TUNING.box_room)
        return PriceBox(np.zeros(entries) if monotone else -room * one, room * one)

    def kappas(self) -> list[float]:
        """For each of a few numbers of entries: a line is exact where so many have the largest price."""
        entries = self.matrices.entries
        counts = [count for count in TUNING.alike if count < entries] + [entries]
        each = float((1.0 / self.core.curvature).mean())
        radius = max(self.radius, float(np.sqrt(TUNING.least_objective)))
        return [0.5 * float(np.sqrt(count * each)) / radius for count in counts]

    def chord_losses(self, box: PriceBox) -> FloatArray:
        """What the chord over each price's range loses in its middle, in units of the objective."""
        above = LinesAbove(self.core, box, self.ends, self.objective)
        kappa = 1.0 / self.penalty if self.penalty > 0.0 else 1.0
        middle = 0.5 * (box.lower + box.upper)
        at_ends = above.highest(box.lower, kappa) + above.highest(box.upper, kappa)
        return np.maximum(0.0, 0.5 * at_ends - above.highest(middle, kappa)) / kappa

    def tightened(self, box: PriceBox, stop: float, *, every_entry: bool) -> PriceBox | None:
        """A narrower box; None where no dual reaches the band.

        The prices of entries that are at a bound in any case matter little and are left out at first.
        """
        if self.penalty <= 0.0 or not box.is_bounded:
            return box
        kappa = 1.0 / self.penalty
        for _ in range(TUNING.box_rounds):
            if time.perf_counter() > stop:
                break
            above = LinesAbove(self.core, box, self.ends, self.objective)
            wanted = np.ones(self.matrices.entries, np.bool_) if every_entry else above.moving(kappa)
            lines = [*(above.line(f * kappa) for f in TUNING.kappa_factors), *above.lines_beside(self.planes)]
            tighter = price_ranges(self.core, self.matrices, lines, box, wanted, stop)
            if tighter is None:
                return None
            before, after = (float((one.upper - one.lower)[wanted].sum()) for one in (box, tighter))
            box = tighter
            if after >= TUNING.box_shrunk * before:
                break
        return box


@dataclass(frozen=True, eq=False)
class LinesAbove:
    """Lines in the prices ``y`` above ``max y'd`` over parameters nearer than ``objective``.

    For every kappa > 0 that maximum is at most ``kappa objective + sum_i max_d (y_i d - kappa w_i (d -
    ref_i)^2)``; each term is convex in the price, so its chord over the price's range lies above it.
    """

    core: Core
    box: PriceBox
    ends: tuple[FloatArray, FloatArray]
    objective: float

    def _nearest(self, pull: FloatArray, kappa: float | FloatArray) -> FloatArray:
        weight = self.core.curvature
        return np.clip(self.core.reference + pull / (2.0 * kappa * weight), *self.ends)

    def moving(self, kappa: float) -> BoolArray:
        """Entries that are not held at one bound whatever their price: for those chords are exact."""
        return self._nearest(self.box.lower, kappa) < self._nearest(self.box.upper, kappa)

    def highest(self, pull: FloatArray, kappa: float | FloatArray) -> FloatArray:
        """``max_d (pull d - kappa w (d - ref)^2)`` for each entry, of several pulls and kappas at once."""
        at = self._nearest(pull, kappa)
        move = at - self.core.reference
        return np.asarray(pull * at - kappa * self.core.curvature * move**2)

    def line(self, kappa: float, beside: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Slope and constant of a line above ``max (y - beside)'d``."""
        base = np.zeros_like(self.core.curvature) if beside is None else beside
        low, high = self.box.lower, self.box.upper
        at_low, at_high = self.highest(low - base, kappa), self.highest(high - base, kappa)
        width = high - low
        wide = width > TUNING.least_chord
        slope = np.where(wide, (at_high - at_low) / np.where(wide, width, 1.0), self.ends[1])
        constant = kappa * (self.objective - self.core.constant) + float((at_low - slope * low).sum())
        return slope, constant

    def lines_beside(self, planes: Sequence[tuple[float, FloatArray]]) -> list[tuple[FloatArray, float]]:
        """Lines that use the upper end of the value band: a faithful ``d`` has ``g + y'd <= upper``.

        Of two planes only the difference in slope then counts, which is small where prices are alike.
        """
        if not np.isfinite(self.core.value_upper):
            return []
        found = []
        size = max(self.objective - self.core.constant, TUNING.least_objective)
        for constant, prices in planes:
            reach = np.maximum(np.abs(self.box.lower - prices), np.abs(self.box.upper - prices))
            steepest = float(np.sqrt((reach**2 / self.core.curvature).sum() / size))
            for share in TUNING.kappa_shares:
                slope, rest = self.line(max(TUNING.least_kappa, share * steepest), prices)
                found.append((slope, rest + self.core.value_upper - constant))
        return found


def price_ranges(
    core: Core,
    matrices: PrimalDualMatrices,
    lines: Sequence[tuple[FloatArray, float]],
    box: PriceBox,
    wanted: BoolArray,
    stop: float,
    *,
    zero: IntArray | None = None,
    narrow: float = TUNING.narrow_box,
) -> PriceBox | None:
    """Least and largest price of each entry over duals that every line lifts to the value band.

    A line stands for ``g(p) + slope'y + constant >= value_lower``. None where no such dual exists with the
    multipliers in ``zero`` vanishing. Ranges narrower than ``narrow`` times the price stay as they are.
    """
    entries = matrices.entries
    lp = PersistentLp(_duals_above(core, matrices, lines, box, zero))
    lp.use_primal_simplex()
    largest = np.maximum(np.abs(box.lower), np.abs(box.upper))
    wide = box.upper - box.lower > narrow * np.where(largest < INFINITY, largest, 0.0)
    entries_to_tighten = np.flatnonzero(~np.isfinite(box.upper) | (wide & wanted))
    ends = np.stack([box.lower, box.upper])
    # An end that some dual was seen to reach cannot be moved.
    reached = np.zeros((2, entries), dtype=np.bool_)
    # One end of all prices, then the other: they move together, so that the last basis is near the next one.
    for end, direction in enumerate((1.0, -1.0)):
        for entry in entries_to_tighten.tolist():
            if reached[end, entry]:
                continue
            if time.perf_counter() > stop:
                break
            cost = np.zeros(lp.program.shape[1])
            cost[entry] = direction
            lp.set_cost(cost)
            try:
                solution = lp.solve()
            except SolverError:  # an LP without a verdict moves no end
                continue
            if solution.status is Status.INFEASIBLE:
                return None
            if solution.status is not Status.PROVEN_OPTIMAL:
                continue
            ends[end, entry] = direction * solution.objective
            prices = solution.columns[:entries]
            reached |= np.abs(prices - np.stack([box.lower, box.upper])) <= TUNING.reached_end
    # LP answers are exact to about 1e-9; a little room keeps the box valid.
    room = TUNING.box_room * np.maximum(TUNING.least_price, np.abs(ends).max(axis=0))
    return PriceBox(np.maximum(box.lower, ends[0] - room), np.minimum(box.upper, ends[1] + room))


def _duals_above(
    core: Core,
    matrices: PrimalDualMatrices,
    lines: Sequence[tuple[FloatArray, float]],
    box: PriceBox,
    zero: IntArray | None,
) -> LinearProgram:
    """Prices in a box and multipliers, dual feasible, that every line lifts to the value band."""
    worth = np.stack([np.concatenate([slope, matrices.dual_objective]) for slope, _ in lines])
    needed = np.array([core.value_lower - constant for _, constant in lines])
    return _dual_feasible(matrices, box, zero).with_rows(sp.csr_array(worth), needed)


def _dual_feasible(matrices: PrimalDualMatrices, box: PriceBox, zero: IntArray | None) -> LinearProgram:
    """Prices in a box and multipliers, some of them zero, that are dual feasible."""
    lower, upper = (limit.copy() for limit in matrices.dual_limits)
    if zero is not None:
        upper[zero] = 0.0
    return LinearProgram.of(
        np.zeros(box.lower.size + upper.size),
        matrices.matrix[matrices.rows : -1, matrices.answers + matrices.entries :],
        row_lower=matrices.dual_values,
        row_upper=matrices.dual_values,
        column_lower=np.concatenate([box.lower, lower]),
        column_upper=np.concatenate([box.upper, upper]),
    )


def largest_price(
    duals: LinearProgram, worth: FloatArray, needed: float, lines: list[Line], *, signed: bool
) -> float:
    """The largest size of a price of a dual that every line lifts to ``needed``: one LP for each entry.

    Ranges need ranges to begin with: chords lie above a convex function between two ends only. Here the ends
    are shares of the largest price, between 0 and 1, or -1 and 1 where prices may be negative, and each LP is
    over the duals in which its price is the largest. The largest ``y'd`` over points nearer than the
    incumbent is homogeneous in ``y``: a line above it over all shares, times the largest price, is linear in
    the prices again and holds for prices of any size. So a dual with a large price is worth enough only if
    the points that are near reach as far as it asks for; where something near is beyond what the follower
    can serve, duals can be as large as they like, and so is the answer.

    ``duals`` has the prices as its first columns; ``worth`` is what all columns are worth at a parameter of
    zero. ``lines`` hold for prices between 0 (-1 if ``signed``) and 1. Minus infinity where no dual is worth
    enough, infinite where it could not be told.
    """
    entries, width = lines[0][0].size, duals.shape[1]
    # A last column is the largest price; it lifts each line by its constant.
    lifted = np.stack([worth + np.append(slope, np.zeros(width - entries)) for slope, _ in lines])
    constants = np.array([[constant] for _, constant in lines])
    each = sp.eye_array(entries, width, format="csr")
    one = sp.csr_array(np.ones((entries, 1)))
    signs = (1.0, -1.0) if signed else (1.0,)
    rows: list[SparseMatrix] = [sp.csr_array(np.hstack([lifted, constants]))]
    rows += [sp.hstack([-sign * each, one]) for sign in signs]
    limits = np.concatenate([np.full(len(lines), needed), np.zeros(entries * len(signs))])
    with_largest = duals.with_columns(np.array([0.0]), np.array([INFINITY]), cost=np.array([-1.0]))
    try:
        lp = PersistentLp(with_largest.with_rows(sp.csr_array(sp.vstack(rows)), limits))
    except SolverError:  # lines to points that noise has carried far away have numbers that HiGHS refuses
        return INFINITY
    first = duals.shape[0] + len(lines)
    largest = -INFINITY
    for row in range(first, first + entries * len(signs)):
        lp.set_row_bounds(np.array([row]), np.zeros(1), np.zeros(1))
        largest = max(largest, _largest(lp))
        lp.set_row_bounds(np.array([row]), np.zeros(1), np.full(1, INFINITY))
        if largest == INFINITY:
            break
    return largest


def _largest(lp: PersistentLp) -> float:
    try:
        solution = lp.solve()
    except SolverError:
        return INFINITY
    if solution.status is Status.INFEASIBLE:
        return -INFINITY
    return -solution.objective if solution.status is Status.PROVEN_OPTIMAL else INFINITY
