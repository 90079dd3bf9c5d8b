"""Ranges for the prices of every point that could be better than an incumbent of PPSM_p.

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
from ppsm.fidelity.core import Core
from ppsm.fidelity.joint import JointMatrices, PriceBox
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

# Rounds of tightening, as long as the ranges together shrink to this share.
_ROUNDS, _SHRUNK = 8, 0.9
# Ranges narrower than this, relative to the price, are left alone.
_NARROW = 0.002
# Around the kappa that suits the steepest difference in slope; the smaller one serves as prices narrow.
_KAPPA_SHARES = (0.5, 0.1)


class PriceBoxes:
    """Boxes of nonnegative prices that hold a dual of every point nearer than ``objective``.

    ``penalty`` is the multiplier of the incumbent's half-space: any positive number is valid, this one is
    best. ``planes`` are pairs ``(g, y)`` known to lie below V.
    """

    def __init__(
        self,
        core: Core,
        matrices: JointMatrices,
        objective: float,
        penalty: float,
        planes: Sequence[tuple[float, FloatArray]],
    ) -> None:
        self.core, self.matrices, self.objective = core, matrices, objective
        self.penalty, self.planes = penalty, planes
        start = np.clip(core.reference, core.lower, core.upper)
        least = core.curvature * (start - core.reference) ** 2
        spare = max(0.0, objective - core.constant - float(least.sum()))
        reach = np.sqrt((least + spare) / core.curvature)
        self.ends = (
            np.maximum(core.lower, core.reference - reach),
            np.minimum(core.upper, core.reference + reach),
        )

    def first(self) -> PriceBox | None:
        """A box from the upper corner of the parameters' box; None where no dual reaches the band."""
        entries = self.matrices.entries
        nothing = PriceBox(np.zeros(entries), np.full(entries, INFINITY))
        corner = [(self.ends[1], 0.0)]
        return price_ranges(self.core, self.matrices, corner, nothing, np.ones(entries, np.bool_), INFINITY)

    def chord_losses(self, box: PriceBox) -> FloatArray:
        """What the chord over each price's range loses in its middle, in units of the objective."""
        above = _LinesAbove(self.core, box, self.ends, self.objective)
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
        for _ in range(_ROUNDS):
            if time.perf_counter() > stop:
                break
            above = _LinesAbove(self.core, box, self.ends, self.objective)
            wanted = np.ones(self.matrices.entries, np.bool_) if every_entry else above.moving(kappa)
            lines = [above.line(kappa), *above.lines_beside(self.planes)]
            tighter = price_ranges(self.core, self.matrices, lines, box, wanted, stop)
            if tighter is None:
                return None
            before, after = (float((one.upper - one.lower)[wanted].sum()) for one in (box, tighter))
            box = tighter
            if after >= _SHRUNK * before:
                break
        return box


@dataclass(frozen=True, eq=False)
class _LinesAbove:
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
        slope = np.where(
            width > 1e-12, (at_high - at_low) / np.where(width > 1e-12, width, 1.0), self.ends[1]
        )
        constant = kappa * (self.objective - self.core.constant) + float((at_low - slope * low).sum())
        return slope, constant

    def lines_beside(self, planes: Sequence[tuple[float, FloatArray]]) -> list[tuple[FloatArray, float]]:
        """Lines that use the upper end of the value band: a faithful ``d`` has ``g + y'd <= upper``.

        Of two planes only the difference in slope then counts, which is small where prices are alike.
        """
        if not np.isfinite(self.core.value_upper):
            return []
        found = []
        size = max(self.objective - self.core.constant, 1e-12)
        for constant, prices in planes:
            reach = np.maximum(np.abs(self.box.lower - prices), np.abs(self.box.upper - prices))
            steepest = float(np.sqrt((reach**2 / self.core.curvature).sum() / size))
            for share in _KAPPA_SHARES:
                slope, rest = self.line(max(1e-9, share * steepest), prices)
                found.append((slope, rest + self.core.value_upper - constant))
        return found


def price_ranges(
    core: Core,
    matrices: JointMatrices,
    lines: Sequence[tuple[FloatArray, float]],
    box: PriceBox,
    wanted: BoolArray,
    stop: float,
    *,
    zero: IntArray | None = None,
    narrow: float = _NARROW,
) -> PriceBox | None:
    """Least and largest price of each entry over duals that every line lifts to the value band.

    A line stands for ``g(p) + slope'y + constant >= value_lower``. None where no such dual exists with the
    multipliers in ``zero`` vanishing. Ranges narrower than ``narrow`` times the price stay as they are.
    """
    program, sides = core.follower.program, core.follower.sides
    rows, entries = program.shape[0], matrices.entries
    wide = box.upper - box.lower > narrow * np.where(box.upper < INFINITY, np.abs(box.upper), 0.0)
    entries_to_tighten = np.flatnonzero(~np.isfinite(box.upper) | (wide & wanted))
    worth = sp.csr_array(np.stack([np.concatenate([slope, matrices.dual_objective]) for slope, _ in lines]))
    needed = np.array([core.value_lower - constant for _, constant in lines])
    fixed = np.concatenate([program.cost, np.zeros(entries)])
    width = entries + sides.count
    largest = np.full(sides.count, INFINITY)
    largest[[] if zero is None else zero] = 0.0
    lp = PersistentLp(
        LinearProgram(
            cost=np.zeros(width),
            matrix=sp.vstack([matrices.matrix[rows:-1, matrices.answers + entries :], worth], format="csr"),
            row_lower=np.concatenate([fixed, needed]),
            row_upper=np.concatenate([fixed, np.full(needed.size, INFINITY)]),
            column_lower=np.concatenate([box.lower, np.where(sides.is_free, -INFINITY, 0.0)]),
            column_upper=np.concatenate([box.upper, largest]),
            row_names=tuple(f"r{k}" for k in range(fixed.size + needed.size)),
            column_names=tuple(f"c{k}" for k in range(width)),
        )
    )
    lp.use_primal_simplex()
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
            cost = np.zeros(width)
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
            reached |= np.abs(prices - np.stack([box.lower, box.upper])) <= 1e-9
    # LP answers are exact to about 1e-9; a little room keeps the box valid.
    room = 1e-7 * np.maximum(1e-3, np.abs(ends[1]))
    return PriceBox(np.maximum(box.lower, ends[0] - room), np.minimum(box.upper, ends[1] + room))
