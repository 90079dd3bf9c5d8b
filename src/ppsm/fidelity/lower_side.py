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
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray
from ppsm.fidelity.band import DualPoint, FollowerLps
from ppsm.fidelity.branching import NONE, Incumbent, Node, Search, SearchLimits, SearchOutcome
from ppsm.fidelity.core import Core
from ppsm.fidelity.duality_bound import DualityBound
from ppsm.fidelity.joint import JointMatrices, PriceBox
from ppsm.fidelity.joint_search import JointSearch
from ppsm.fidelity.price_boxes import PriceBoxes
from ppsm.fidelity.relaxation import Relaxation, RelaxedPoint
from ppsm.status import Status

_WALK_STEPS = 8
# Where the joint search within a box of prices needs more nodes than this, narrower prices pay.
_FEW_NODES = 8
# The joint search has a chance where chords lose no more than this share of the objective.
_SMALL_LOSS = 1e-3
_LEAST_WIDTH = 1e-6


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
    prover = _Prover(core, lps, limits, matrices, walker, start, started)
    outcome = prover.by_prices() if monotone else prover.by_sides()
    return replace(outcome, bound=max(outcome.bound, convex.bound))


@dataclass
class _Prover:
    """Proves that an incumbent is best, or finds a better one."""

    core: Core
    lps: FollowerLps
    limits: SearchLimits
    matrices: JointMatrices
    walker: "_Walker"
    best: Incumbent
    started: float
    nodes: int = 0

    def by_sides(self) -> SearchOutcome:
        """The plain search, for followers whose prices may be negative."""
        return self._run(Search(self.core, self.lps, self._rest()))

    def by_prices(self) -> SearchOutcome:
        """Refute all prices that a better point could have: by LPs, by the joint search, or by halves."""
        box = self._boxes().first()
        if box is not None and not box.is_bounded:
            return self.by_sides()
        box = self._tightened(box)
        if box is None:
            return self._proven()
        # A bound for everything, in case that time runs out.
        outcome = self._within(box)
        if outcome.status is Status.PROVEN_OPTIMAL:
            return outcome
        everything = self._tightened(box, every_entry=True)
        left = [] if everything is None else [everything]
        while left:
            if time.perf_counter() > self.started + self.limits.seconds:
                return replace(outcome, incumbent=self.best, nodes=self.nodes)
            left += self._divided(left.pop())
        return self._proven()

    def _divided(self, box: PriceBox) -> list[PriceBox]:
        """What remains of a box: nothing, or its narrowed halves."""
        boxes = self._boxes()
        loss = boxes.chord_losses(box)
        if loss.sum() <= _SMALL_LOSS * self.best.objective and self._within(box).status is (
            Status.PROVEN_OPTIMAL
        ):
            return []
        self.nodes += 1
        entry = int(np.argmax(loss))
        if not box.upper[entry] - box.lower[entry] > _LEAST_WIDTH:
            # Chords lose nothing any more: what is left open is up to complementarity.
            self._run(_LowerSideSearch(self.core, self.lps, self._rest(), self.matrices, box, self.walker))
            return []
        halves = box.split(entry, 0.5 * float(box.lower[entry] + box.upper[entry]))
        return [one for one in map(self._tightened, halves) if one is not None]

    def _boxes(self) -> PriceBoxes:
        return PriceBoxes(self.core, self.matrices, self._target(), self.walker.penalty, self.walker.planes)

    def _target(self) -> float:
        """Points that are better by less than the gap are of no interest."""
        return self.best.objective - 0.5 * self.limits.gap * abs(self.best.objective)

    def _tightened(self, box: PriceBox | None, *, every_entry: bool = False) -> PriceBox | None:
        stop = self.started + self.limits.seconds
        return None if box is None else self._boxes().tightened(box, stop, every_entry=every_entry)

    def _within(self, box: PriceBox) -> SearchOutcome:
        """The joint search within a box, for a few nodes."""
        limits = replace(self._rest(), nodes=_FEW_NODES)
        return self._run(_LowerSideSearch(self.core, self.lps, limits, self.matrices, box, self.walker))

    def _proven(self) -> SearchOutcome:
        bound = self.best.objective - self.limits.gap * abs(self.best.objective)
        return SearchOutcome(Status.PROVEN_OPTIMAL, self.best, bound, self.nodes)

    def _run(self, search: Search) -> SearchOutcome:
        search.offer(self.best)
        outcome = search.run()
        self.nodes += outcome.nodes
        self.best = outcome.incumbent or self.best
        return replace(outcome, nodes=self.nodes)

    def _rest(self) -> SearchLimits:
        left = self.limits.seconds - (time.perf_counter() - self.started)
        return replace(self.limits, seconds=max(0.1, left))


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
        """The node that holds everything, with the penalty and the held entries of the incumbent."""
        root = replace(super().root(bound), penalty=1.5 * self._walker.penalty)
        best = self.incumbent
        return root if best is None else replace(root, held=self.joint.held_at(best.parameter))

    def try_support(self, dual: DualPoint, tight: IntArray, parameter: FloatArray) -> DualityBound | None:
        """Offer the nearest point of the dual's half-space; with no price band no support has to be tight."""
        del tight
        point = self._walker.nearest(dual, parameter)
        if point is not None:
            self.offer(Incumbent(point.objective, point.parameter, point.columns, NONE))
        return None
