"""Step 3b of the mechanism: the released vector nearest to the noisy one that is faithful to the market.

Problem (5) of the paper, solved to proven optimality for any LP follower: search, widen the bands if they
are empty, polish, certify. See :mod:`ppsm.fidelity.problem` for the conventions and
:mod:`ppsm.fidelity.bounds.primal_dual` for why it is fast.
"""

import logging
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import InputError, ModelError
from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.least_penalty import OptimalityMatrix
from ppsm.fidelity.bounds.price_levels import PriceRows
from ppsm.fidelity.bounds.primal_dual import PrimalDualMatrices
from ppsm.fidelity.certificate import Certificate, Claim, check_witness
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import (
    Bands,
    HalfSpaces,
    MeasuredTotals,
    Method,
    Norm,
    Prior,
    PublicBounds,
    PublicVector,
    SearchLimits,
    public_values,
)
from ppsm.fidelity.result import FidelityResult, Witness, faithful_witness, tidied
from ppsm.fidelity.scaled import Core, ScaledFollower, build_core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.search.corners import CornerSearch
from ppsm.fidelity.search.duality_tree import DualityTree
from ppsm.fidelity.search.level_tree import LevelTree
from ppsm.fidelity.search.lower_side import Prover, Walker, is_monotone, look_at_lower_side
from ppsm.fidelity.search.players import InSquares, Player, Restarting, search_by_turns
from ppsm.fidelity.search.side_tree import SideTree
from ppsm.fidelity.search.support_tree import SupportTree
from ppsm.fidelity.textbook import search_by_textbook
from ppsm.fidelity.tuning import TUNING
from ppsm.fidelity.widening import (
    LeastFactor,
    factor_by_branching,
    insist_on_a_value,
    least_widening,
    widening_floor,
)
from ppsm.games.follower import Follower
from ppsm.labels import aligned
from ppsm.solvers.highs import HIGHS
from ppsm.solvers.qp import CLARABEL, PIQP
from ppsm.solvers.scip import scip_version
from ppsm.status import Status

LOG = logging.getLogger(__name__)


def restore(
    follower: Follower,
    released: PublicVector | ArrayLike,
    target_value: float | None = None,
    target_prices: ArrayLike | None = None,
    eta_p: float = 0.001,
    eta_d: ArrayLike = 0.001,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    norm: Norm = "l2",
    prior: Prior | None = None,
    elastic: bool = True,
    limits: SearchLimits | None = None,
    method: Method = "search",
) -> FidelityResult:
    """Find the faithful vector nearest to a released one.

    With both targets this is PPSM, with ``target_prices=None`` PPSM_p, with neither only feasibility for
    the follower is restored. ``eta_p`` and ``eta_d`` are fractions of the targets (0.001 is 0.1 %;
    :class:`Bands` has absolute widths), ``bounds`` is a pair (lower, upper) that everybody knows, by
    default ``(0, inf)``. If nothing satisfies the bands and ``elastic`` is set, both are widened by the
    least common factor, which the result reports. ``method`` names one of SCIP's textbook forms instead of
    our search; they know only the l2 distance and are slower by orders of magnitude. Totals that were
    measured with ``released`` weigh in (:class:`~ppsm.fidelity.problem.MeasuredTotals`).
    """
    if target_prices is not None:
        target_prices = aligned(target_prices, follower.parameter_names, "the target price")
    bands = Bands.relative(target_value, target_prices, eta_p=eta_p, eta_d=eta_d)
    restorer = Restorer.of(follower)
    return restorer.restore(
        released, bands, bounds, norm=norm, prior=prior, elastic=elastic, limits=limits, method=method
    )


class Restorer:
    """The fidelity phase of one follower: matrices, scaling and warm LPs are shared by all vectors restored.

    Not for use from several threads at once; each process or thread makes its own. ``half_spaces`` limit all
    vectors that are restored.
    """

    _known: ClassVar["weakref.WeakKeyDictionary[Follower, Restorer]"] = weakref.WeakKeyDictionary()

    def __init__(self, follower: Follower, half_spaces: HalfSpaces | None = None) -> None:
        if follower.curvature.nnz:
            raise ModelError(
                "the follower's cost is quadratic; expected a linear one, which the fidelity phase needs: "
                "replace its curve by steps."
            )
        self.program, self.parameter_map = follower.program, follower.parameter_map
        self.names, self.sign = follower.parameter_names, follower.sign
        self.half_spaces = half_spaces
        self.scaled = ScaledFollower.of(self.program, self.parameter_map, half_spaces)

    @classmethod
    def of(cls, follower: Follower) -> "Restorer":
        """The restorer of a follower, made once."""
        if not isinstance(follower, Follower):
            raise InputError(f"the follower is a {type(follower).__name__}; expected a ppsm.Follower.")
        if follower not in cls._known:
            cls._known[follower] = cls(follower)
        return cls._known[follower]

    @cached_property
    def lps(self) -> FollowerLps:
        """The follower's LPs, which stay alive."""
        return FollowerLps(self.scaled)

    @cached_property
    def matrices(self) -> PrimalDualMatrices:
        """The matrix of the primal-dual relaxation."""
        return PrimalDualMatrices(self.scaled)

    @cached_property
    def optimality(self) -> OptimalityMatrix:
        """The matrix of the LPs that prove a point."""
        return OptimalityMatrix(self.scaled)

    @cached_property
    def price_rows(self) -> PriceRows:
        """What stationarity says of prices, by form."""
        return PriceRows.of(self.scaled)

    def restore(
        self,
        released: PublicVector | ArrayLike,
        bands: Bands,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        *,
        norm: Norm = "l2",
        prior: Prior | None = None,
        elastic: bool = True,
        limits: SearchLimits | None = None,
        method: Method = "search",
    ) -> FidelityResult:
        """As :func:`restore`, with absolute bands."""
        started = time.perf_counter()
        values = public_values(released, self.names)
        if norm not in ("l2", "l1"):
            raise InputError(f"the norm is '{norm}'; expected 'l2' or 'l1'.")
        if method not in get_args(Method):
            raise InputError(f"the method is '{method}'; expected one of: {', '.join(get_args(Method))}.")
        checked = bands.checked(self.names)
        public = PublicBounds.of(bounds, self.names)
        strengths = None if prior is None else prior.strengths(self.names, norm)
        totals = MeasuredTotals.of(released)
        task = _Task(self, values, checked, public, norm, strengths, totals, limits or SearchLimits(), method)
        found = task.run(started, elastic=elastic)
        LOG.debug("fidelity: %s, gap %.2g, bands widened by %.4g", found.status, found.gap, found.widening)
        return found

    def core(
        self,
        values: FloatArray,
        bands: Bands,
        bounds: PublicBounds,
        norm: Norm,
        prior: tuple[FloatArray, FloatArray] | None,
        totals: MeasuredTotals | None = None,
    ) -> Core:
        """The scaled problem."""
        return build_core(
            self.scaled, self.sign, self.program.offset, values, bands, bounds, norm, prior, totals
        )

    def at_prices(
        self,
        prices: FloatArray,
        released: PublicVector | ArrayLike,
        bands: Bands,
        bounds: tuple[ArrayLike, ArrayLike] | None,
    ) -> "SamePrices | None":
        """The vectors at which exactly these prices are optimal, the value in its band; None without one.

        A published price is rounded; where some cost of the follower is as near as that, it is the price.
        """
        values, public = public_values(released, self.names), PublicBounds.of(bounds, self.names)
        core = self.core(values, bands.checked(self.names), public, "l2", None)
        exact = _at_costs(self.sign * prices, self.program.cost) / self.scaled.price_unit
        self.lps.set_band(exact, exact)
        dual = self.lps.dual(core.rows_at(core.reference))
        if dual is None or not np.isfinite(dual.value):
            return None
        support = dual.support(self.lps.inequalities)
        nearest = Relaxation(core).solve(support)
        return None if nearest is None else SamePrices(core, self.lps, support, nearest.parameter)

    def search(self, core: Core, asked: SearchLimits, method: Method) -> SearchOutcome:
        """Run the search that suits a problem; a little of the gap is left to the polish."""
        limits = replace(asked, gap=TUNING.share_of_gap * asked.gap)
        if method != "search":
            return search_by_textbook(core, method, limits)
        if core.has_value_band and not core.has_price_band:
            return self._search_by_value(core, limits)
        shared = Relaxation(core)
        knows_duals = core.has_bounded_prices and not core.is_least_squares
        tree = DualityTree if knows_duals else SideTree
        players: list[Callable[[], Player]] = [lambda: tree(core, self.lps, limits, relaxation=shared)]
        if core.has_value_band and core.has_bounded_prices:
            if core.is_least_squares:
                players.insert(0, lambda: Restarting(core, self.lps, limits, self.matrices, shared))
                players.insert(0, lambda: SupportTree(core, self.lps, limits, self.optimality, shared))
            else:
                players.append(lambda: InSquares(core, self.lps, limits, self.matrices))
        started = time.perf_counter()
        found = search_by_turns(limits, players)
        allowed = limits.seconds if found.incumbent else min(limits.seconds, limits.barren_seconds)
        left = allowed - (time.perf_counter() - started)
        is_over = found.status in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE) or found.nodes >= limits.nodes
        if not knows_duals or is_over or left <= 0.0:
            return found
        # An LP without a verdict has ended the tree with duals: the plain one has smaller LPs.
        rest = replace(limits, seconds=left, nodes=limits.nodes - found.nodes)
        plain = search_by_turns(rest, [lambda: SideTree(core, self.lps, rest)], found.incumbent, found.bound)
        return replace(plain, nodes=plain.nodes + found.nodes)

    def _search_by_value(self, core: Core, limits: SearchLimits) -> SearchOutcome:
        """Where no price is asked for only the lower side of the value band is hard."""
        seen = look_at_lower_side(core, self.lps)
        if seen.outcome is not None:
            return seen.outcome
        walker, best, bound = seen.walker, seen.best, seen.bound
        # Corners of the public bounds are not corners of half-spaces.
        if best and core.is_sum_of_sizes and self.half_spaces is None:
            corners = CornerSearch(core, self.lps, best, time.perf_counter() + limits.seconds).run()
            if corners.status is Status.PROVEN_OPTIMAL:
                return corners
            best, bound = corners.incumbent, max(bound, corners.bound)
        lift = None if walker is None else walker.lift
        players: list[Callable[[], Player]] = [lambda: SideTree(core, self.lps, limits, lift=lift)]
        if walker and best and core.is_least_squares:
            players = [*self._provers(core, limits, walker, best), *players]
        return search_by_turns(limits, players, best, bound)

    def _provers(
        self, core: Core, limits: SearchLimits, walker: Walker, best: Incumbent
    ) -> list[Callable[[], Player]]:
        """The searches over prices: ranges first where they cost next to nothing, levels first elsewhere."""
        lower = core.lower * self.scaled.quantity_unit
        monotone = is_monotone(self.program, self.parameter_map, lower)

        def by_ranges() -> Player:
            return Prover(core, self.lps, limits, self.matrices, walker, best, monotone=monotone)

        def by_levels() -> Player:
            return LevelTree(core, limits, self.matrices, self.price_rows, walker, best, monotone=monotone)

        if self.scaled.sides.count <= TUNING.few_sides:
            return [by_ranges, by_levels]
        if self.price_rows.count > TUNING.many_prices:
            return [by_ranges]
        return [by_levels, by_ranges]


@dataclass(frozen=True, eq=False)
class SamePrices:
    """The faithful vectors that share a dual: a polytope; ``nearest`` is that of the released vector."""

    core: Core
    lps: FollowerLps
    support: IntArray
    scaled_nearest: FloatArray

    @property
    def nearest(self) -> FloatArray:
        """The vector that is nearest to the released one."""
        return self.scaled_nearest * self.core.follower.quantity_unit

    def farthest(self, weights: FloatArray) -> FloatArray | None:
        """The vector whose weighted sum is largest; None where an LP does not find it."""
        cost = np.zeros(self.core.follower.program.shape[1] + weights.size)
        cost[-weights.size :] = -weights / (float(np.abs(weights).max(initial=0.0)) or 1.0)
        found = self.lps.free_parameter.cheapest(self.core, self.support, cost)
        return None if found is None else found * self.core.follower.quantity_unit


def _at_costs(prices: FloatArray, costs: FloatArray) -> FloatArray:
    """Prices moved to the nearest cost where one is near."""
    known = np.unique(costs)
    nearest = known[np.abs(prices[:, None] - known[None, :]).argmin(axis=1)]
    return np.where(np.abs(nearest - prices) <= TUNING.at_cost * np.abs(prices), nearest, prices)


@dataclass(frozen=True, eq=False)
class _Found:
    """What a search ended with, and what LP vertices confirm of its incumbent."""

    outcome: SearchOutcome
    witness: Witness | None


def _unproven(found: _Found, core: Core) -> _Found:
    """What a search found, without what it says of better points."""
    outcome = replace(found.outcome, status=Status.INCUMBENT, bound=core.least)
    return _Found(outcome, found.witness)


@dataclass(frozen=True, eq=False)
class _Task:
    """One vector to restore."""

    restorer: Restorer
    values: FloatArray
    bands: Bands
    bounds: PublicBounds
    norm: Norm
    prior: tuple[FloatArray, FloatArray] | None
    totals: MeasuredTotals | None
    limits: SearchLimits
    method: Method

    @property
    def objective_unit(self) -> float:
        """What an objective of 1 in scaled units is in the user's."""
        unit = self.restorer.scaled.quantity_unit
        return unit**2 if self.norm == "l2" else unit

    def run(self, started: float, *, elastic: bool) -> FidelityResult:
        """Solve, widen the bands if they are empty, certify."""
        core = self._core(1.0)
        barren = TUNING.barren_share * self.limits.seconds if elastic else INFINITY
        found = self._solved(core, replace(self.limits, barren_seconds=barren))
        factor = bound = 1.0
        if found.witness is None:
            if found.outcome.status is Status.INFEASIBLE:
                whole = self.restorer
                insist_on_a_value(whole.program, whole.parameter_map, whole.names, self.bounds, whole.lps)
            if not elastic:
                return self._result(started, found, core, 1.0, 1.0, found.outcome.why_unanswered)
            factor, bound, core, found = self._widen(started)
        reason = "" if found.witness is not None else "no widening of the bands was found in time"
        return self._result(started, found, core, factor, bound, reason)

    def _solved(self, core: Core, limits: SearchLimits) -> _Found:
        """Search and look for a witness: what LP vertices do not confirm was not found."""
        outcome = self.restorer.search(core, limits, self.method)
        if outcome.incumbent is None:
            return _Found(outcome, None)
        return _Found(outcome, faithful_witness(core, self.restorer.lps, outcome.incumbent))

    def _core(self, factor: float) -> Core:
        bands = self.bands.widened(factor)
        return self.restorer.core(self.values, bands, self.bounds, self.norm, self.prior, self.totals)

    def _widen(self, started: float) -> tuple[float, float, Core, _Found]:
        """Find the least widening, then solve with it; the time limit holds for all of it."""
        stop = started + self.limits.seconds
        asked, wider = self._core(1.0), self._core(2.0)
        now = time.perf_counter()
        least = factor_by_branching(asked, wider, now + TUNING.factor_share * max(0.0, stop - now))
        if least.is_proven and least.parameter is not None:
            at_least = self._at_least_factor(least, stop)
            if at_least is not None:
                return at_least
        found_at: dict[float, _Found] = {}

        def attempt(factor: float) -> SearchOutcome | None:
            left = stop - time.perf_counter()
            if left <= 0.0:
                return None
            share = min(left, max(TUNING.attempt_share * self.limits.seconds, TUNING.attempt_seconds))
            limits = replace(self.limits, gap=TUNING.feasibility_gap, seconds=share)
            found = self._solved(self._core(factor), limits)
            if found.witness is None:
                return replace(found.outcome, incumbent=None, status=found.outcome.status_unconfirmed)
            found_at[factor] = found
            return found.outcome

        floor = max(least.bound, widening_floor(asked, wider, self.restorer.matrices))
        widening = least_widening(floor, attempt)
        core = self._core(widening.factor)
        if widening.outcome is None:
            nothing = SearchOutcome(Status.NO_INCUMBENT, None, -INFINITY, 0)
            return widening.factor, widening.bound, core, _Found(nothing, None)
        left = max(TUNING.last_share * self.limits.seconds, stop - time.perf_counter())
        found = self._solved(core, replace(self.limits, seconds=left))
        if found.witness is None:
            found = _unproven(found_at[widening.factor], core)
        return widening.factor, widening.bound, core, found

    def _at_least_factor(self, least: LeastFactor, stop: float) -> tuple[float, float, Core, _Found] | None:
        """Solve in bands hardly wider than they must be; where nothing is found the tree's vector serves."""
        factor = least.factor * (1.0 + TUNING.factor_room)
        core = self._core(factor)
        left = max(TUNING.last_share * self.limits.seconds, stop - time.perf_counter())
        found = self._solved(core, replace(self.limits, seconds=left))
        if found.witness is None and least.parameter is not None:
            point = Incumbent(core.objective(least.parameter), least.parameter, np.empty(0), NONE)
            outcome = SearchOutcome(Status.INCUMBENT, point, core.least, found.outcome.nodes)
            found = _Found(outcome, faithful_witness(core, self.restorer.lps, point))
        return None if found.witness is None else (factor, min(least.bound, factor), core, found)

    def _result(
        self,
        started: float,
        found: _Found,
        core: Core,
        factor: float,
        factor_bound: float,
        explanation: str,
    ) -> FidelityResult:
        parameter, certificate, claim, objective = np.empty(0), None, None, np.nan
        outcome = found.outcome
        status = outcome.status
        solvers = (PIQP, HIGHS, CLARABEL) if self.method == "search" else (scip_version(), HIGHS)
        if found.witness is None:
            status = outcome.status_unconfirmed
        else:
            parameter, certificate, claim, objective = self._certified(core, found.witness, factor)
            if not certificate.faithful:
                status = Status.NO_INCUMBENT
                explanation = f"the answer did not pass its certificate: {certificate.findings[0]}"
        bound = outcome.bound * self.objective_unit
        gap = INFINITY
        if np.isfinite(objective):
            floor = core.negligible * self.objective_unit / max(self.limits.gap, TUNING.least_limit_of_gap)
            bound = min(bound, objective)
            gap = max(0.0, objective - bound) / max(abs(objective), floor)
            if status is Status.PROVEN_OPTIMAL and gap > TUNING.gap_room * self.limits.gap + TUNING.unchanged:
                # The polish moved the point by more than the search allowed for.
                status = Status.INCUMBENT
        parameter.setflags(write=False)
        return FidelityResult(
            labels=self.restorer.names,
            status=status,
            parameter=parameter,
            objective=objective,
            bound=bound,
            gap=gap,
            nodes=outcome.nodes,
            widening=factor,
            widening_bound=factor_bound,
            certificate=certificate,
            claim=claim,
            seconds=time.perf_counter() - started,
            solvers=solvers,
            explanation=explanation,
        )

    def _certified(
        self, core: Core, witness: Witness, factor: float
    ) -> tuple[FloatArray, Certificate, Claim, float]:
        unit = self.restorer.scaled.quantity_unit
        parameter = tidied(witness.parameter, self.values, self.bounds, unit)
        bands = self.bands.widened(factor)
        claim = Claim(
            program=self.restorer.program,
            parameter_map=self.restorer.parameter_map,
            names=self.restorer.names,
            sign=self.restorer.sign,
            parameter=parameter,
            lower=self.bounds.lower,
            upper=self.bounds.upper,
            value=bands.value,
            value_width=bands.value_width,
            prices=bands.prices,
            price_width=bands.price_width,
            half_spaces=self.restorer.half_spaces,
        )
        objective = core.objective(parameter / unit) * self.objective_unit
        of_market = witness.row_prices[: claim.program.shape[0]]
        return parameter, check_witness(claim, witness.columns, of_market), claim, objective
