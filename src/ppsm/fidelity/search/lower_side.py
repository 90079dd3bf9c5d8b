"""PPSM_p when the lower end of the value band binds: the reverse-convex side, without a price band.

``V`` is convex, so ``V(d) <= upper`` is harmless, and where the convex optimum already has ``V >= lower``
it is optimal. Otherwise ``V(d) >= lower`` is the union over all duals ``p`` of the half-spaces ``g(p) +
y(p)'d >= lower``: any single dual gives a faithful point by one convex QP, and walking from a point to its
own dual improves it.

For the proof let prices have a range. A better point ``d`` than the incumbent is near the reference, and a
dual that lifts it to the band has ``g(p) + y'd >= lower``. The largest ``y'd`` over all nearer points is
convex in ``y``; a line above it makes the condition linear, so that each price can be maximised and minimised
by LPs, and narrower prices give a better line (:mod:`ppsm.fidelity.bounds.price_boxes`). A few rounds leave a
narrow box of prices; the two trees over it do the rest. How large prices can be at all is known where no
nearer point is beyond what can be served; otherwise the plain tree has to prove what it can. In markets
that are not small prices are split at costs before that (:mod:`ppsm.fidelity.search.level_tree`).

Prices may be taken to be nonnegative (:func:`is_monotone`) in networks in which serving less is always
possible. Take a feasible answer of a network whose goods flow from supplies along arcs to withdrawals. Its
flow splits into paths from a supply to a withdrawal, so a smaller withdrawal is served by taking some of
those paths away. That leaves everything else feasible if less flow never hurts, and costs no more if no flow
earns money. Then ``V`` never falls as an entry rises, and every point has an optimal dual with nonnegative
prices.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.fidelity.bounds.convex import Relaxation, RelaxedPoint
from ppsm.fidelity.bounds.price_boxes import PriceBoxes
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.follower_lps import DualPoint, FollowerLps
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.search.supports import Offer, Trial
from ppsm.fidelity.search.two_trees import Start, TwoTrees
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class LowerSide:
    """What is known where only the value is asked for: an outcome, or a walker with a point to beat."""

    bound: float
    outcome: SearchOutcome | None = None
    walker: "Walker | None" = None
    best: Incumbent | None = None


def look_at_lower_side(core: Core, lps: FollowerLps) -> LowerSide:
    """Whether the convex optimum is worth enough; otherwise walk from dual to dual for a first point."""
    lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, lps)
    convex = walker.relaxation.solve(NONE)
    if convex is None:
        return LowerSide(-INFINITY)
    bound = max(convex.bound, core.least)
    nearest = core.snapped(convex.parameter)
    found = lps.value(core.rows_at(nearest))
    if found is None or not found[1].size:
        return LowerSide(bound)
    if found[0] >= core.value_lower - TUNING.met * max(1.0, abs(core.value_lower)):
        best = Incumbent(core.objective(nearest), nearest, found[1], NONE)
        return LowerSide(bound, SearchOutcome(Status.PROVEN_OPTIMAL, best, bound, 1))
    return LowerSide(bound, None, walker, walker.walk(convex.parameter))


class Walker:
    """Faithful points from half-spaces of single duals."""

    def __init__(self, core: Core, lps: FollowerLps) -> None:
        self.core, self.lps = core, lps
        self.relaxation = Relaxation(core)
        self.penalty = 0.0
        # Multipliers of the half-spaces of the parameter beside that penalty.
        self.half_spaces = np.zeros(core.follower.half_spaces)
        # Planes ``(g, y)`` of duals met on the way: V is at least ``g + y'd`` everywhere.
        self.planes: list[tuple[float, FloatArray]] = []

    def walk(self, start: FloatArray) -> Incumbent | None:
        """Go from a point to its dual's half-space until nothing improves; start higher up if need be."""
        best: Incumbent | None = None
        parameter = start
        for _ in range(TUNING.walk_steps):
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
            if point is None or (
                best is not None and point.objective > best.objective * (1.0 - TUNING.walk_gain)
            ):
                break
            best = Incumbent(point.objective, point.parameter, point.columns, NONE)
            self.penalty = float(point.cut_multipliers[0])
            self.half_spaces = point.half_space_multipliers
            parameter = point.parameter
        return best

    def nearest(self, dual: DualPoint, parameter: FloatArray) -> RelaxedPoint | None:
        """The nearest point of a dual's half-space; the dual's value was taken at ``parameter``."""
        constant = dual.value - float(dual.prices @ parameter)
        point = self.in_half_space(dual.prices, self.core.value_lower - constant)
        if point is not None:
            self.planes.append((constant, dual.prices))
        return point

    def in_half_space(self, prices: FloatArray, needed: float) -> RelaxedPoint | None:
        """The nearest parameter with ``prices'd >= needed`` within bounds and value band."""
        if self.most(prices) < needed - TUNING.met * max(1.0, abs(needed)):
            return None  # an LP knows that at once
        return self.relaxation.solve(NONE, sp.csr_array(prices[None, :]), np.array([needed]))

    def most(self, weights: FloatArray) -> float:
        """The largest weighted sum of a parameter that can be served within bounds and value band."""
        cost = np.concatenate([np.zeros(self.core.follower.program.shape[1]), -weights])
        return -self.lps.free_parameter.least(self.core, NONE, cost)

    def lift(self, trial: Trial, offer: Offer) -> float:
        """Offer the nearest point of a dual's half-space: with no price band no support has to be tight."""
        point = self.nearest(trial.dual, trial.parameter)
        if point is not None:
            offer(Incumbent(point.objective, point.parameter, point.columns, NONE))
        return -INFINITY

    def _raised(self, parameter: FloatArray) -> FloatArray | None:
        """A point farther up along the prices: the one of largest dual value within bounds and value band."""
        dual = self.lps.dual(self.core.rows_at(parameter))
        if dual is None:
            return None
        steep = replace(
            self.core,
            curvature=np.zeros_like(self.core.curvature),
            slope=-dual.prices / max(TUNING.least_slope, float(np.abs(dual.prices).max())),
            constant=0.0,
            upper=np.minimum(self.core.upper, np.abs(parameter) + TUNING.raise_by),
        )
        point = Relaxation(steep).solve(NONE)
        return None if point is None else point.parameter


class Prover:
    """Proves that an incumbent is best, or finds a better one: box by box.

    Of a ``monotone`` follower prices are known to be nonnegative.
    """

    def __init__(
        self,
        core: Core,
        lps: FollowerLps,
        limits: SearchLimits,
        matrices: PrimalDualMatrices,
        walker: Walker,
        incumbent: Incumbent,
        *,
        monotone: bool,
    ) -> None:
        self._monotone = monotone
        self.core, self.lps, self.limits, self.matrices = core, lps, limits, matrices
        self.walker, self.incumbent = walker, incumbent
        self.nodes = 0
        self.stop = INFINITY
        self.has_open_box = False
        self._bound, self._is_proven = -INFINITY, False

    def steps(self) -> Iterator[None]:
        """Refute all prices that a better point could have: by LPs, by the two trees, or by halves."""
        yield
        box = self._boxes().first(monotone=self._monotone)
        if box is not None and not box.is_bounded:
            return
        box = self._tightened(box)
        # A bound for everything, in case that a limit comes first. Points between the target and the best are
        # in no box, so no bound is above the target.
        target = self._target()
        if box is not None:
            outcome = self._within(box)
            self._bound = min(outcome.bound, target)
            self._is_proven = outcome.status is Status.PROVEN_OPTIMAL
            if self._is_proven:
                return
            box = self._tightened(box, every_entry=True)
        left = [] if box is None else [box]
        while left and not self.has_open_box:
            yield
            left += self._divided(left.pop())
        if not left and not self.has_open_box:
            self._is_proven = True
            self._bound = self.incumbent.objective - self.limits.gap * abs(self.incumbent.objective)

    def outcome(self) -> SearchOutcome:
        """What is found and proven so far."""
        status = Status.PROVEN_OPTIMAL if self._is_proven else Status.INCUMBENT
        return SearchOutcome(status, self.incumbent, self._bound, self.nodes)

    def offer(self, candidate: Incumbent) -> None:
        """Keep a faithful point if it is the best so far."""
        if candidate.objective < self.incumbent.objective:
            self.incumbent = candidate

    def _divided(self, box: PriceBox) -> list[PriceBox]:
        """What remains of a box: nothing, or its narrowed halves."""
        boxes = self._boxes()
        loss = boxes.chord_losses(box)
        if loss.sum() <= TUNING.small_loss * self.incumbent.objective and self._within(box).status is (
            Status.PROVEN_OPTIMAL
        ):
            return []
        self.nodes += 1
        entry = int(np.argmax(loss))
        if not box.upper[entry] - box.lower[entry] > TUNING.least_width:
            # Chords lose nothing any more: what is left open is up to complementarity, and to the limits.
            settled = self._run(self._two_trees(box, self._rest())).status is Status.PROVEN_OPTIMAL
            if not settled and time.perf_counter() > self.stop:
                return [box]
            self.has_open_box |= not settled
            return []
        halves = box.split(entry, 0.5 * float(box.lower[entry] + box.upper[entry]))
        return [one for one in map(self._tightened, halves) if one is not None]

    def _boxes(self) -> PriceBoxes:
        return PriceBoxes(self.core, self.matrices, self._target(), self.walker.penalty, self.walker.planes)

    def _target(self) -> float:
        """Points that are better by less than the gap are of no interest."""
        best = self.incumbent.objective
        return best - TUNING.target_share * self.limits.gap * abs(best)

    def _tightened(self, box: PriceBox | None, *, every_entry: bool = False) -> PriceBox | None:
        return None if box is None else self._boxes().tightened(box, self.stop, every_entry=every_entry)

    def _within(self, box: PriceBox) -> SearchOutcome:
        """The search within a box, for a few nodes."""
        rest = self._rest()
        few = replace(rest, nodes=min(rest.nodes, TUNING.few_nodes))
        return self._run(self._two_trees(box, few))

    def _two_trees(self, box: PriceBox, limits: SearchLimits) -> TwoTrees:
        """A search in which half-spaces of duals take the place of supports, from the incumbent's penalty."""
        start = Start(TUNING.first_penalty * self.walker.penalty, self.core.held_at(self.incumbent.parameter))
        return TwoTrees(self.core, self.lps, limits, self.matrices, box, start=start, lift=self.walker.lift)

    def _run(self, search: TwoTrees) -> SearchOutcome:
        search.offer(self.incumbent)
        outcome = search.run()
        self.nodes += outcome.nodes
        self.incumbent = outcome.incumbent or self.incumbent
        return outcome

    def _rest(self) -> SearchLimits:
        left = self.stop - time.perf_counter()
        nodes = max(1, self.limits.nodes - self.nodes)
        return replace(self.limits, seconds=max(TUNING.least_seconds, left), nodes=nodes)


def is_monotone(program: LinearProgram, parameter_map: SparseMatrix, lower: FloatArray) -> bool:
    """Whether the follower has that form; False only means that it could not be told from the arrays.

    ``lower`` are the public lower bounds of the parameter: no balance may have a negative withdrawal.
    """
    if (parameter_map.data < 0).any():
        return False
    touched = np.diff(parameter_map.indptr) > 0
    balances = _connected_balances(program, touched)
    if (program.row_lower != program.row_upper)[balances].any():
        return False
    if ((program.row_lower + parameter_map @ np.maximum(lower, 0.0))[balances] < 0).any() or (
        lower < 0
    ).any():
        return False
    of_balances = program.matrix[np.flatnonzero(balances), :].tocsc()
    flows = np.flatnonzero(np.diff(of_balances.indptr) > 0)
    if (program.column_lower[flows] != 0).any() or (program.cost[flows] < 0).any():
        return False
    positive = np.asarray((of_balances > 0).sum(axis=0)).ravel()[flows]
    negative = np.asarray((of_balances < 0).sum(axis=0)).ravel()[flows]
    if (np.abs(of_balances.data) != 1).any() or (positive > 1).any() or (negative > 1).any():
        return False
    others = program.matrix[np.flatnonzero(~balances), :][:, flows].tocoo()
    upper_only = np.isinf(program.row_lower[~balances])[others.row]
    lower_only = np.isinf(program.row_upper[~balances])[others.row]
    return bool(np.all((upper_only & (others.data > 0)) | (lower_only & (others.data < 0))))


def _connected_balances(program: LinearProgram, touched: np.ndarray) -> np.ndarray:
    """The equality rows that share a column with a parameter's row, directly or through other such rows."""
    equality = program.row_lower == program.row_upper
    pattern = abs(program.matrix)
    found = touched.copy()
    while True:
        columns = np.asarray(pattern[np.flatnonzero(found), :].sum(axis=0)).ravel() > 0
        reached = np.asarray(pattern[:, np.flatnonzero(columns)].sum(axis=1)).ravel() > 0
        grown = found | (reached & equality)
        if (grown == found).all():
            return found
        found = grown
