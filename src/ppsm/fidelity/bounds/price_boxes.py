"""Ranges for the prices of every point that could be better than an incumbent of PPSM_p.

The first ranges come from the largest entries, where serving less is never dearer, and otherwise from how
high V can be a little farther away: it is convex, so nowhere nearer is it steeper than from there to the band.

A dual that lifts a point ``d`` to the value band has ``g(p) + y'd >= lower``. The largest ``y'd`` over all
points nearer than the incumbent is convex in ``y``; a line above it makes the condition linear, so that each
price can be maximised and minimised by LPs, and narrower prices give a better line.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


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

    def by_steepness(self, lps: FollowerLps) -> PriceBox:
        """A box from how high V is farther away; infinite where it is not known there.

        A ball is within the polytope whose vertices are ``sqrt(entries)`` times its radius away along the
        axes, and there V is largest at one of them. From a point of the ball a step along an axis stays in a
        larger ball, and what V gains on it is at least the step times the price.
        """
        unit = 1.0 / np.sqrt(self.core.curvature)
        steepest = INFINITY
        for share in TUNING.farther:
            step = share * self.radius
            highest = self._highest(lps, np.sqrt(unit.size) * (self.radius + step) * unit)
            if np.isfinite(highest) and step > 0.0:
                steepest = min(steepest, max(0.0, highest - self.core.value_lower) / step)
        return PriceBox(-steepest / unit, steepest / unit)

    def _highest(self, lps: FollowerLps, lengths: FloatArray) -> float:
        """The largest V where one entry is so much larger or smaller than at the centre."""
        highest = -INFINITY
        for entry, length in enumerate(lengths.tolist()):
            for move in (length, -length):
                parameter = self.centre.copy()
                parameter[entry] += move
                found = lps.value(self.core.rows_at(parameter))
                if found is None:
                    return INFINITY
                highest = max(highest, found[0])
        return highest

    def by_corner(self) -> PriceBox | None:
        """Nonnegative prices by the upper corner of the parameters' box; None where no dual reaches the band."""
        entries = self.matrices.entries
        nothing = PriceBox(np.zeros(entries), np.full(entries, INFINITY))
        corner = [(self.ends[1], 0.0)]
        return price_ranges(self.core, self.matrices, corner, nothing, np.ones(entries, np.bool_), INFINITY)

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
            lines = [above.line(kappa), *above.lines_beside(self.planes)]
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

    def _nearest(self, pull: FloatArray, kappa: float) -> FloatArray:
        weight = self.core.curvature
        return np.clip(self.core.reference + pull / (2.0 * kappa * weight), *self.ends)

    def moving(self, kappa: float) -> BoolArray:
        """Entries that are not held at one bound whatever their price: for those chords are exact."""
        return self._nearest(self.box.lower, kappa) < self._nearest(self.box.upper, kappa)

    def highest(self, pull: FloatArray, kappa: float) -> FloatArray:
        """``max_d (pull d - kappa w (d - ref)^2)`` for each entry."""
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
    rows = core.follower.program.shape[0]
    lower, upper = (limit.copy() for limit in matrices.dual_limits)
    if zero is not None:
        upper[zero] = 0.0
    feasible = LinearProgram.of(
        np.zeros(box.lower.size + upper.size),
        matrices.matrix[rows:-1, matrices.answers + matrices.entries :],
        row_lower=matrices.dual_values,
        row_upper=matrices.dual_values,
        column_lower=np.concatenate([box.lower, lower]),
        column_upper=np.concatenate([box.upper, upper]),
    )
    worth = np.stack([np.concatenate([slope, matrices.dual_objective]) for slope, _ in lines])
    needed = np.array([core.value_lower - constant for _, constant in lines])
    return feasible.with_rows(sp.csr_array(worth), needed)
