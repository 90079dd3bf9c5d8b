"""PPSM_p when the lower end of the value band binds: the reverse-convex side, without a price band.

``V`` is convex, so ``V(d) <= upper`` is harmless, and where the convex optimum already has ``V >= lower``
it is optimal. Otherwise ``V(d) >= lower`` is the union over all duals ``p`` of the half-spaces ``g(p) +
y(p)'d >= lower``: any single dual gives a faithful point by one convex QP, and walking from a point to its
own dual improves it.

For the proof let prices be nonnegative (:func:`ppsm.fidelity.monotone.is_monotone` says when they may be
taken so). A better point ``d`` than the incumbent is near the reference, and a dual that lifts it to the
band has ``g(p) + y'd >= lower``. The largest ``y'd`` over all nearer points is convex in ``y``; a line
above it makes the condition linear, so that each price can be maximised and minimised by LPs, and narrower
prices give a better line. A few rounds leave a narrow box of prices; the joint search over it does the
rest. Where prices may be negative or have no finite range, the plain search has to prove what it can.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.band import DualPoint, FollowerLps
from ppsm.fidelity.branching import NONE, Incumbent, Node, Search, SearchLimits, SearchOutcome
from ppsm.fidelity.core import Core
from ppsm.fidelity.duality_bound import DualityBound
from ppsm.fidelity.joint import JointMatrices, PriceBox
from ppsm.fidelity.joint_search import JointSearch
from ppsm.fidelity.relaxation import Relaxation, RelaxedPoint
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

_WALK_STEPS = 8
_TIGHTENING_ROUNDS = 6
_NARROW = 0.002
# Around the kappa that suits the steepest difference in slope; the smaller one serves as prices narrow.
_KAPPA_SHARES = (0.5, 0.1)


def search_lower_side(
    core: Core, lps: FollowerLps, limits: SearchLimits, matrices: JointMatrices, *, monotone: bool
) -> SearchOutcome | None:
    """Solve a least-squares problem with a value band only; None where the plain search has to do it."""
    started = time.perf_counter()
    lps.set_band(core.price_lower, core.price_upper)
    walker = _Walker(core, lps)
    convex = walker.relaxation.solve(NONE)
    if convex is None:
        return None
    nearest = core.snapped(convex.parameter)
    found = lps.value(core.rows_at(nearest))
    if found is None or not found[1].size:
        return None
    if found[0] >= core.value_lower - 1e-9 * max(1.0, abs(core.value_lower)):
        best = Incumbent(core.objective(nearest), nearest, found[1], NONE)
        return SearchOutcome(Status.PROVEN_OPTIMAL, best, max(convex.bound, core.least), 1)
    start = walker.walk(convex.parameter)
    if start is None:
        return None
    # Half of the time may go into the box of prices, the rest is for the search.
    stop = started + 0.5 * limits.seconds
    box = None
    if monotone:
        box = price_box(core, matrices, start.objective, walker.penalty, walker.planes, stop)
        if box is None:
            return SearchOutcome(Status.PROVEN_OPTIMAL, start, start.objective, 1)
    rest = replace(limits, seconds=max(0.1, limits.seconds - (time.perf_counter() - started)))
    search = (
        _LowerSideSearch(core, lps, rest, matrices, box, walker)
        if box is not None and box.is_bounded
        else Search(core, lps, rest)
    )
    search.offer(start)
    outcome = search.run()
    return replace(outcome, bound=max(outcome.bound, convex.bound))


class _Walker:
    """Faithful points from half-spaces of single duals."""

    def __init__(self, core: Core, lps: FollowerLps) -> None:
        self.core, self.lps = core, lps
        self.relaxation = Relaxation(core)
        self.penalty = 0.0
        # Planes ``(g, y)`` of duals met on the way: V is at least ``g + y'd`` everywhere.
        self.planes: list[tuple[float, FloatArray]] = []

    def walk(self, start: FloatArray) -> Incumbent | None:
        """Go from a point to its dual's half-space until nothing improves; start higher up if need be."""
        best: Incumbent | None = None
        parameter = start
        for _ in range(_WALK_STEPS):
            dual = self.lps.dual(self.core.rows_at(parameter))
            if dual is None or not np.isfinite(dual.value):
                break
            point = self.nearest(dual, parameter)
            if point is None and best is None:
                raised = self._raised(parameter)
                if raised is None or np.array_equal(raised, parameter):
                    break
                parameter = raised
                continue
            if point is None or (best is not None and point.objective > best.objective * (1.0 - 1e-9)):
                break
            best = Incumbent(point.objective, point.parameter, point.columns, NONE)
            self.penalty = float(point.cut_multipliers[0])
            parameter = point.parameter
        return best

    def nearest(self, dual: DualPoint, parameter: FloatArray) -> RelaxedPoint | None:
        """The nearest point of a dual's half-space; the dual's value was taken at ``parameter``."""
        constant = dual.value - float(dual.prices @ parameter)
        if not self._can_be_reached(dual.prices, self.core.value_lower - constant):
            return None
        self.planes.append((constant, dual.prices))
        row = sp.csr_array(dual.prices[None, :])
        return self.relaxation.solve(NONE, row, np.array([self.core.value_lower - constant]))

    def _can_be_reached(self, prices: FloatArray, worth: float) -> bool:
        """Whether some parameter within bounds and value band is worth that much: an LP knows at once."""
        cost = np.concatenate([np.zeros(self.core.follower.program.shape[1]), -prices])
        return -self.lps.pairs.least(self.core, NONE, cost) >= worth - 1e-9 * max(1.0, abs(worth))

    def _raised(self, parameter: FloatArray) -> FloatArray | None:
        """A point farther up along the prices: the one of largest dual value within bounds and value band."""
        dual = self.lps.dual(self.core.rows_at(parameter))
        if dual is None:
            return None
        steep = replace(
            self.core,
            curvature=np.zeros_like(self.core.curvature),
            slope=-dual.prices / max(1e-12, float(np.abs(dual.prices).max())),
            constant=0.0,
            upper=np.minimum(self.core.upper, np.abs(parameter) + 1e3),
        )
        point = Relaxation(steep).solve(NONE)
        return None if point is None else point.parameter


class _LowerSideSearch(JointSearch):
    """The joint search in which half-spaces of duals take the place of supports."""

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        matrices: JointMatrices,
        box: PriceBox,
        walker: _Walker,
    ) -> None:
        super().__init__(core, lps, limits, matrices, box)
        self._walker = walker

    def root(self, bound: float) -> Node:
        """The node that holds everything, with the penalty of the incumbent's half-space."""
        return replace(super().root(bound), penalty=1.5 * self._walker.penalty)

    def try_support(self, dual: DualPoint, tight: IntArray, parameter: FloatArray) -> DualityBound | None:
        """Offer the nearest point of the dual's half-space; with no price band no support has to be tight."""
        del tight
        point = self._walker.nearest(dual, parameter)
        if point is not None:
            self.offer(Incumbent(point.objective, point.parameter, point.columns, NONE))
        return None


def price_box(
    core: Core,
    matrices: JointMatrices,
    objective: float,
    penalty: float,
    planes: Sequence[tuple[float, FloatArray]],
    stop: float,
) -> PriceBox | None:
    """Ranges of nonnegative prices of all duals that lift a point nearer than ``objective`` to the band.

    None where there is no such dual, and so no such point. ``penalty`` is the multiplier of the incumbent's
    half-space; any positive number is valid, this one is best. ``planes`` are known to lie below V.
    """
    entries = matrices.entries
    start = np.clip(core.reference, core.lower, core.upper)
    least = core.curvature * (start - core.reference) ** 2
    spare = max(0.0, objective - core.constant - float(least.sum()))
    reach = np.sqrt((least + spare) / core.curvature)
    lower = np.maximum(core.lower, core.reference - reach)
    upper = np.minimum(core.upper, core.reference + reach)
    # First the upper corner of the parameters' box, which needs no range of prices.
    nothing = PriceBox(np.zeros(entries), np.full(entries, INFINITY))
    box = _ranges(core, matrices, [(upper, 0.0)], nothing, INFINITY)
    if penalty <= 0.0:
        return box
    for _ in range(_TIGHTENING_ROUNDS):
        if box is None or not box.is_bounded:
            return box
        if time.perf_counter() > stop:
            break
        above = _LinesAbove(core, box, (lower, upper), objective)
        lines = [above.line(1.0 / penalty), *above.lines_beside(planes)]
        tighter = _ranges(core, matrices, lines, box, stop)
        if tighter is None:
            return None
        shrunk = float((tighter.upper - tighter.lower).sum()) < 0.8 * float((box.upper - box.lower).sum())
        box = tighter
        if not shrunk:
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

    def line(self, kappa: float, beside: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Slope and constant of a line above ``max (y - beside)'d``."""
        weight, reference = self.core.curvature, self.core.reference
        base = np.zeros_like(weight) if beside is None else beside

        def highest(price: FloatArray) -> FloatArray:
            pull = price - base
            at = np.clip(reference + pull / (2.0 * kappa * weight), *self.ends)
            return np.asarray(pull * at - kappa * weight * (at - reference) ** 2)

        low, high = self.box.lower, self.box.upper
        at_low, at_high, width = highest(low), highest(high), high - low
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


def _ranges(
    core: Core,
    matrices: JointMatrices,
    lines: Sequence[tuple[FloatArray, float]],
    box: PriceBox,
    stop: float,
) -> PriceBox | None:
    """Least and largest price of each entry over duals that every line lifts to the value band.

    A line stands for ``g(p) + slope'y + constant >= value_lower``. None where no such dual exists.
    """
    program, sides = core.follower.program, core.follower.sides
    rows, entries = program.shape[0], matrices.entries
    entries_to_tighten = np.flatnonzero(
        ~np.isfinite(box.upper)
        | (box.upper - box.lower > _NARROW * np.where(box.upper < INFINITY, box.upper, 0.0))
    )
    worth = sp.csr_array(np.stack([np.concatenate([slope, matrices.dual_objective]) for slope, _ in lines]))
    needed = np.array([core.value_lower - constant for _, constant in lines])
    fixed = np.concatenate([program.cost, np.zeros(entries)])
    width = entries + sides.count
    lp = PersistentLp(
        LinearProgram(
            cost=np.zeros(width),
            matrix=sp.vstack([matrices.matrix[rows:-1, matrices.answers + entries :], worth], format="csr"),
            row_lower=np.concatenate([fixed, needed]),
            row_upper=np.concatenate([fixed, np.full(needed.size, INFINITY)]),
            column_lower=np.concatenate([box.lower, np.where(sides.is_free, -INFINITY, 0.0)]),
            column_upper=np.concatenate([box.upper, np.full(sides.count, INFINITY)]),
            row_names=tuple(f"r{k}" for k in range(fixed.size + needed.size)),
            column_names=tuple(f"c{k}" for k in range(width)),
        ),
        cost_changes=True,
    )
    ends = np.stack([box.lower, box.upper])
    # An end that some dual was seen to reach cannot be moved.
    reached = np.zeros((2, entries), dtype=np.bool_)
    for entry in entries_to_tighten.tolist():
        for end, direction in enumerate((1.0, -1.0)):
            if reached[end, entry]:
                continue
            if time.perf_counter() > stop:
                break
            cost = np.zeros(width)
            cost[entry] = direction
            lp.set_cost(cost)
            solution = lp.solve()
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
