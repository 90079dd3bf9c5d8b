"""What is known of a game while it is solved: its best verified point, a bound, the clock, and doubts.

It is solved in units in which costs and the coefficients of the follower's rows are of ordinary size. Solver
tolerances are absolute. With costs of 1e-9 a follower that is off by the tolerance in its dual is off by
everything, and the leader would harvest the difference; a leader with such costs would call any point
optimal; and the price of a row with coefficients of 1e9 could not be told from zero. Powers of two as units
change no digit.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.bilevel.incumbent import polish
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods.branching import Branching
from ppsm.bilevel.second_opinion import Claim, Opinion, Verdict, second_opinion
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding, Verification, verify
from ppsm.program import BilevelProgram, Products
from ppsm.solvers.mip import SolveLimits
from ppsm.solvers.scip import ScipSearch
from ppsm.status import Status, relative_gap

# The gap that verified objective and bound may have, whatever the solver claims, to count as optimal.
SOUND_GAP = 1e-6


def is_above(bound: float, objective: float) -> bool:
    """Whether a lower bound exceeds the cost of a point by more than rounding."""
    return bound - SOUND_GAP * max(1.0, abs(bound)) > objective


@dataclass(frozen=True, eq=False)
class Units:
    """What one unit in the scaled game is worth: of the leader's objective, the follower's cost, its rows."""

    objective: float
    cost: float
    rows: FloatArray

    @property
    def prices(self) -> FloatArray:
        """What one unit of each price is worth."""
        return self.cost / self.rows


def units_of(program: BilevelProgram) -> Units:
    """Units for a game, 1 where its numbers are of ordinary size."""
    follower = program.follower
    rows = np.ones(follower.shape[0])
    for row in range(rows.size):
        entries = _entries(follower.matrix, row)
        others = np.concatenate([_entries(program.coupling, row), _entries(program.handed_on, row)])
        rows[row] = _unit(entries, TUNING.small_row, TUNING.large_row, others)
    moved = (follower.cost, program.cost_coupling.data, program.curvature.data)
    cost = _unit(np.concatenate(moved), TUNING.small_cost, TUNING.large_cost)
    if program.leader_sees_prices:
        cost = max(cost, TUNING.least_unit_of_seen_prices)
        least = min(1.0, cost / TUNING.largest_unit_of_seen_prices)
        rows = np.clip(rows, least, cost / TUNING.least_unit_of_seen_prices)
    seen = program.price_cost * cost / rows
    products = program.products
    costs = np.concatenate(
        [
            program.leader_cost,
            program.response_cost,
            seen,
            products.variable_response.data,
            *(
                _per_price(part, cost / rows).data
                for part in (products.price_response, products.price_variable)
                if part.nnz
            ),
        ]
    )
    return Units(_unit(costs, TUNING.small_cost, TUNING.large_cost), cost, rows)


def _per_price(matrix: SparseMatrix, prices: FloatArray) -> SparseMatrix:
    """A matrix whose rows multiply prices, for prices counted in other units."""
    return sp.csr_array(sp.diags_array(prices) @ matrix)


def _entries(matrix: SparseMatrix, row: int) -> FloatArray:
    return np.asarray(matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]])


def _unit(values: FloatArray, small: float, large: float, others: FloatArray | None = None) -> float:
    """The power of two at the size of the largest value, or 1 where that is of ordinary size.

    It is 1 too where that unit would make the smallest of the values, or of ``others`` that are counted in
    it, too small to be kept.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0 or small <= largest <= large:
        return 1.0
    unit = float(2.0 ** math.floor(math.log2(largest)))
    every = np.abs(values if others is None else np.concatenate([values, others]))
    return unit if float(every[every > 0].min()) >= TUNING.least_in_units * unit else 1.0


def with_units(program: BilevelProgram, units: Units) -> BilevelProgram:
    """The same game counted in the given units."""
    if units.objective == units.cost == 1.0 and (units.rows == 1.0).all():
        return program
    follower, prices, products = program.follower, units.prices, program.products

    def per_row(matrix: SparseMatrix) -> SparseMatrix:
        return sp.csr_array(sp.diags_array(1.0 / units.rows) @ matrix)

    return replace(
        program,
        leader_cost=program.leader_cost / units.objective,
        response_cost=program.response_cost / units.objective,
        price_cost=program.price_cost * prices / units.objective,
        offset=program.offset / units.objective,
        price_matrix=sp.csr_array(program.price_matrix @ sp.diags_array(prices)),
        coupling=per_row(program.coupling),
        cost_coupling=sp.csr_array(program.cost_coupling / units.cost),
        curvature=sp.csr_array(program.curvature / units.cost),
        handed_on=per_row(program.handed_on),
        products=Products(
            _per_price(products.price_response, prices / units.objective),
            _per_price(products.price_variable, prices / units.objective),
            sp.csr_array(products.variable_response / units.objective),
        ),
        follower=replace(
            follower,
            cost=follower.cost / units.cost,
            offset=follower.offset / units.cost,
            matrix=per_row(follower.matrix),
            row_lower=follower.row_lower / units.rows,
            row_upper=follower.row_upper / units.rows,
        ),
    )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A point of the KKT system after polish and verification; a point of the game if nothing was found.

    Columns and objective are in the scaled game's units, the verdict is in the user's.
    """

    columns: FloatArray
    objective: float
    verdict: Verification


class Standing:
    """A game in the engine's units, the best point and bound so far, and how they become an answer."""

    def __init__(
        self,
        program: BilevelProgram,
        limits: SolveLimits,
        units: Mapping[str, str] | None,
        explain: Callable[["Standing"], str],
        *,
        confirm: bool = False,
    ) -> None:
        self.program, self.limits = program, limits
        self._units, self._explain, self._confirm = units, explain, confirm
        self._started, self._worked = time.perf_counter(), time.process_time()
        self.deadline = self._started + limits.seconds
        self.scale = units_of(program)
        self.kkt: KktSystem = build_kkt(with_units(program, self.scale))
        self.best: Candidate | None = None
        self.bound: float | None = None
        self.bounded: KktSystem | None = None
        """The system with a relaxation that is known to be bounded, if there is one."""

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self._started

    @property
    def stretch(self) -> float:
        """Seconds of the clock for one of the processor: on a busy machine turns would else be too short."""
        worked = max(TUNING.least_work, time.process_time() - self._worked)
        return min(TUNING.most_stretch, max(1.0, self.seconds / worked))

    @property
    def is_late(self) -> bool:
        """Whether time is up."""
        return time.perf_counter() > self.deadline

    def base(self, method: Method, reason: str, solver: str) -> BilevelSolution:
        """An answer without anything in it."""
        return BilevelSolution(Status.NO_INCUMBENT, self.program, method, reason, solver, self.seconds)

    def explain_infeasible(self) -> str:
        """Which constraints are in conflict."""
        return self._explain(self)

    def take(self, columns: FloatArray) -> bool:
        """Verify a point; whether it is the best so far."""
        if self.best is not None and np.allclose(columns, self.best.columns, rtol=TUNING.clearly):
            return False  # known and verified
        candidate = self.candidate(columns)
        if not candidate.verdict.verified:
            return False
        if self.best is not None and candidate.objective >= self.best.objective:
            return False
        self.best = candidate
        return True

    def left(self, base: BilevelSolution, *, interrupted: bool) -> BilevelSolution:
        """What a search that is not through leaves behind; Ctrl-C is raised where that is nothing."""
        if interrupted and self.best is None:
            raise KeyboardInterrupt
        return self.reported(base, self.best, self.bound, ())

    def candidate(self, columns: FloatArray) -> Candidate:
        """Polish a solver's point and have it verified in the user's own terms."""
        polished = polish(self.kkt, columns)
        columns = columns if polished is None else polished  # either way verification has the last word
        objective = self.cost(columns)
        x, y, prices = self._parts(columns)
        claimed = self.scale.objective * objective
        verdict = verify(self.program, x, y, prices, claimed, units=self._units)
        return Candidate(columns, objective, verdict)

    def cost(self, columns: FloatArray) -> float:
        """What a point costs, in the engine's units."""
        return float(self.kkt.relaxation.cost @ columns) + self.kkt.relaxation.offset

    def _parts(self, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Adding zero turns the solvers' negative zeros into plain ones.
        prices = self.scale.prices * self.kkt.prices(columns) + 0.0
        return columns[self.kkt.variables] + 0.0, columns[self.kkt.responses] + 0.0, prices

    def reported(
        self,
        base: BilevelSolution,
        best: Candidate | None,
        bound: float | None,
        findings: tuple[Finding, ...],
    ) -> BilevelSolution:
        """A solution with the given point and (scaled) lower bound, either of which may be missing."""
        worth = self.program.leader_sign * self.scale.objective
        if bound is not None and best is not None and is_above(bound, best.objective):
            bound = None  # a bound that a verified point contradicts is none
        if findings:
            base = replace(base, explanation=f"the solver's answer failed verification: {findings[0]}")
        base = replace(
            base,
            leader_bound=None if bound is None else worth * bound + 0.0,
            findings=findings,
            seconds=self.seconds,
        )
        if best is None:
            return replace(base, status=Status.NO_INCUMBENT)
        gap = None if bound is None else relative_gap(best.objective, bound)
        # The claim "optimal" is ours, from a verified point and a bound, not the solver's.
        proven = gap is not None and gap <= max(self.limits.gap, SOUND_GAP)
        x, y, prices = self._parts(best.columns)
        return replace(
            base,
            status=Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT,
            explanation="" if proven else base.explanation,
            # A point that meets the relaxation's bound is optimal, whatever became of the search.
            findings=() if proven else findings,
            leader_objective=worth * best.objective + 0.0,
            gap=gap,
            follower_objective=self.program.follower_sign * best.verdict.follower_value + 0.0,
            variables=x,
            responses=y,
            prices=prices,
            # A claim of optimality is believed only after a second opinion.
            verified=not proven,
            bilevel_gap=best.verdict.bilevel_gap,
        )

    def second_opinion(
        self,
        found: BilevelSolution,
        searched: float,
        begun: Branching | None = None,
        *,
        tree_first: bool = False,
        presolved: bool = False,
        scip: ScipSearch | None = None,
    ) -> Opinion:
        """Whether a point of the game is better than what was found by more than the gap allows.

        ``searched`` is how many seconds the search took that made the claim, ``presolved`` whether presolve
        had a part in it, ``scip`` the search that made it; a tree that has ``begun`` before goes on,
        ``tree_first`` before SCIP is asked.
        """
        limits = replace(self.limits, seconds=max(0.0, self.deadline - time.perf_counter()))
        cutoff = None if found.leader_objective is None else self.cutoff(found)
        claim = Claim(cutoff, found.method, self.bounded is not None, presolved, scip)
        kkt = self.kkt if self.bounded is None else self.bounded
        seconds = self.patience(found, searched, among_turns=begun is not None)
        return second_opinion(kkt, claim, limits, seconds, begun, tree_first=tree_first)

    def patience(self, found: BilevelSolution, searched: float, *, among_turns: bool) -> float:
        """How many seconds each way to a second opinion on a claim may take."""
        if self._confirm:
            return INFINITY
        is_small = not among_turns or self.kkt.pairs.size <= TUNING.few_pairs
        least = TUNING.opinion_seconds if is_small else TUNING.opinion_among_turns
        share = TUNING.opinion_on_integers if self.kkt.is_integer.any() else TUNING.opinion_share
        if found.method is Method.SOS1:
            share = TUNING.opinion_on_itself
        return max(self.stretch * least, share * searched)

    def cutoff(self, found: BilevelSolution) -> float:
        """What a point must cost at most to refute a claim; anything will do where that is "infeasible"."""
        if found.leader_objective is None:
            return INFINITY
        best = found.leader_objective / (self.program.leader_sign * self.scale.objective)
        return best - max(self.limits.gap, SOUND_GAP) * max(1.0, abs(best))

    def better(self, opinion: Opinion, found: BilevelSolution) -> Candidate | None:
        """The point that refutes a claim, if it stands up to verification itself."""
        if opinion.columns is None:
            return None
        candidate = self.candidate(opinion.columns)
        cutoff = self.cutoff(found)
        refutes = candidate.objective <= cutoff + SOUND_GAP * max(1.0, abs(cutoff)) / 2
        return candidate if candidate.verdict.verified and refutes else None

    def with_opinion(self, found: BilevelSolution, opinion: Opinion) -> BilevelSolution:
        """A claim that nobody refuted; where nobody confirmed it either, the explanation says so."""
        if found.status is Status.INFEASIBLE and not opinion.interrupted:
            found = replace(found, explanation=self.explain_infeasible())
        if opinion.verdict is not Verdict.CONFIRMED:
            what = "the bound" if found.status is Status.PROVEN_OPTIMAL else "the verdict"
            if opinion.verdict is Verdict.REFUTED:
                opinion = replace(opinion, words=f"{opinion.words}, which did not stand up to verification")
            doubt = f"{what} rests on {found.solver} alone: {opinion.words}"
            if opinion.verdict is Verdict.REFUTED and found.status is Status.INFEASIBLE:
                # Two disagree about whether there is any point: nobody is believed.
                found = replace(found, status=Status.NO_INCUMBENT, explanation="")
            explanation = "; ".join(text for text in (found.explanation, doubt) if text)
            found = replace(found, explanation=explanation)
        elif found.status is Status.PROVEN_OPTIMAL:
            found = replace(found, verified=True)
        return replace(found, second_opinion=opinion.words, seconds=self.seconds)
