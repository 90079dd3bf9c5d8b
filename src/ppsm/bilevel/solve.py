"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.incumbent import FirstLook, first_look, polish
from ppsm.bilevel.infeasibility import explain_infeasible
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods import Attempt, attempts
from ppsm.bilevel.methods.unbounded import solve_over_unbounded_relaxation
from ppsm.bilevel.scaling import units_of, with_units
from ppsm.bilevel.second_opinion import Opinion, Verdict, beyond, branch_for_better
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding, Verification, verify
from ppsm.errors import InputError, SolverError
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status, relative_gap

# The gap that verified objective and bound may have, whatever the solver claims, to count as optimal.
_SOUND_GAP = 1e-6


def solve_bilevel(
    program: BilevelProgram,
    *,
    method: Method | str = Method.AUTO,
    gap: float = 1e-9,
    time_limit: float = math.inf,
    threads: int = 1,
    units: Mapping[str, str] | None = None,
) -> BilevelSolution:
    """Solve a bilevel program to global (optimistic) optimality and verify the answer independently.

    Parameters
    ----------
    program
        The game in arrays.
    method
        One of :class:`Method`. ``auto`` takes strong duality where every leader variable in the follower's
        rows is binary, else big-M where valid bounds can be proven, else SOS1 (needs SCIP).
    gap
        Relative gap at which the answer counts as proven optimal.
    time_limit
        Wall-clock seconds; the best answer so far and its bound are returned when they are over.
    threads
        Threads the solver may use.
    units
        Units by variable or constraint name, for the findings.

    Returns
    -------
    BilevelSolution
        An answer that failed verification is never returned as one: the findings say what was wrong with
        it, and the status is ``NO_INCUMBENT`` unless an earlier point passed.
    """
    return _Solve(program, _method(method), _limits(gap, time_limit, threads), units).solution()


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        known = ", ".join(Method)
        raise InputError(f"the method '{method}' is unknown; expected one of: {known}.") from None


def _limits(gap: float, time_limit: float, threads: int) -> SolveLimits:
    if not gap >= 0 or not math.isfinite(gap):
        raise InputError(f"the gap is {gap}; expected a finite number of at least 0, such as 1e-6.")
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit}; expected seconds above 0.")
    if threads < 1:
        raise InputError(f"threads is {threads}; expected at least 1.")
    return SolveLimits(gap=gap, seconds=time_limit, threads=threads)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A point of the KKT system after polish and verification; a point of the game if nothing was found.

    Columns and objective are in the scaled game's units, the verdict is in the user's.
    """

    columns: FloatArray
    objective: float
    verdict: Verification


class _Solve:
    """One solve: the game in the engine's units, what is known of it so far, and the clock."""

    def __init__(
        self,
        program: BilevelProgram,
        method: Method,
        limits: SolveLimits,
        units: Mapping[str, str] | None,
        *,
        explains: bool = True,
    ) -> None:
        self._explains = explains
        self._program, self._method, self._limits, self._units = program, method, limits, units
        self._started = time.perf_counter()
        self._deadline = self._started + limits.seconds
        self._scale = units_of(program)
        self._kkt: KktSystem = build_kkt(with_units(program, self._scale))
        self._best: _Candidate | None = None

    def solution(self) -> BilevelSolution:
        found = self._searched()
        if found.status is Status.PROVEN_OPTIMAL and not found.second_opinion:
            # No method got so far: the point meets the relaxation's bound.
            return self._with_opinion(found, self._second_opinion(found, None, 0.0))
        return found

    def _searched(self) -> BilevelSolution:
        relaxation = self._kkt.relaxation
        if solve_lp(replace(relaxation, cost=np.zeros_like(relaxation.cost))).status is Status.INFEASIBLE:
            return self._without_method(
                Status.INFEASIBLE, "no method is needed: the linear relaxation has no point"
            )
        if self._look.interrupted:
            raise KeyboardInterrupt
        self._best = self._first()
        cutoff = None if self._best is None else self._best.objective
        finder = BoundFinder(self._kkt, self._deadline, cutoff)
        found: BilevelSolution | None = None
        failure: SolverError | None = None
        try:
            for attempt in attempts(self._kkt, self._method, finder):
                try:
                    found, result = self._confirmed(attempt)
                except SolverError as error:
                    failure = error
                    continue
                if not found.findings or result.interrupted or time.perf_counter() > self._deadline:
                    break
        except BoundsOutOfTimeError as error:
            return self._without_method(Status.NO_INCUMBENT, str(error))
        if found is not None:
            return found
        if failure is not None and self._best is None:
            raise failure
        return self._without_method(Status.NO_INCUMBENT, str(failure))

    @cached_property
    def _look(self) -> FirstLook:
        return first_look(
            self._kkt, replace(self._limits, seconds=min(TUNING.first_look_seconds, self._limits.seconds))
        )

    def _confirmed(self, attempt: Attempt) -> tuple[BilevelSolution, MipResult]:
        """An attempt's answer, with a second opinion on its claim; refuted, it is tried on another path."""
        for number in range(TUNING.claims):
            result = self._run(attempt, another_path=number > 0)
            found, contradicted = self._conclude(attempt, result)
            if contradicted and not result.interrupted:
                continue
            if result.interrupted or found.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return found, result
            opinion = self._second_opinion(found, attempt, result.seconds)
            better = self._better(opinion, found)
            if better is None:
                return self._with_opinion(found, opinion), result
            self._best = better
            amount = math.inf if found.gap is None else self._scale.objective * better.objective
            said = Finding("a better point refutes the claim of the solver on the", "game", 0, amount)
            found = self._reported(found, better, self._look.bound, (said,))
        return found, result

    def _with_opinion(self, found: BilevelSolution, opinion: Opinion) -> BilevelSolution:
        """A claim that nobody refuted; where nobody confirmed it either, the explanation says so."""
        if found.status is Status.INFEASIBLE:
            found = replace(found, explanation=self._why_infeasible())
        if opinion.verdict is not Verdict.CONFIRMED:
            what = "the bound" if found.status is Status.PROVEN_OPTIMAL else "the verdict"
            doubt = f"{what} rests on {found.solver} alone: {opinion.words}"
            explanation = "; ".join(text for text in (found.explanation, doubt) if text)
            found = replace(found, explanation=explanation)
        elif found.status is Status.PROVEN_OPTIMAL:
            found = replace(found, verified=True)
        return replace(found, second_opinion=opinion.words, seconds=self._seconds)

    def _second_opinion(self, found: BilevelSolution, attempt: Attempt | None, searched: float) -> Opinion:
        """Whether a point of the game is better than what was found by more than the gap allows.

        ``searched`` is how many seconds the search took that made the claim.
        """
        cutoff = None
        if found.leader_objective is not None:
            best = found.leader_objective / (self._program.leader_sign * self._scale.objective)
            cutoff = best - max(self._limits.gap, _SOUND_GAP) * max(1.0, abs(best))
        seconds = max(TUNING.opinion_seconds, TUNING.opinion_share * searched)
        deadline = min(self._deadline, time.perf_counter() + seconds)
        try:
            opinion = branch_for_better(self._kkt, cutoff, deadline)
        except KeyboardInterrupt:  # the answer is there already and must not be lost
            return Opinion(Verdict.UNDECIDED, "branching on pairs was interrupted")
        remaining = min(seconds, self._deadline - time.perf_counter())
        if opinion.verdict is not Verdict.UNDECIDED or attempt is None or remaining <= 0:
            return opinion
        return self._asked_again(attempt, cutoff, remaining, opinion)

    def _asked_again(
        self, attempt: Attempt, cutoff: float | None, remaining: float, opinion: Opinion
    ) -> Opinion:
        """The second way: the method's own program, beyond the answer and on another path."""
        asked = beyond(attempt.form.problem, cutoff)
        limits = replace(self._limits, seconds=remaining, another_path=True)
        try:
            again = self._solve(attempt, asked, limits)
        except SolverError as error:
            return Opinion(Verdict.UNDECIDED, f"{opinion.words}; {error}")
        if again.status is Status.INFEASIBLE:
            return Opinion(Verdict.CONFIRMED, f"{again.solver} without presolve, with another seed")
        if again.columns is not None:
            width = self._kkt.relaxation.shape[1]
            return Opinion(Verdict.REFUTED, f"{again.solver} found a better point", again.columns[:width])
        return Opinion(Verdict.UNDECIDED, f"{opinion.words}, nor was {again.solver} after {remaining:.2g} s")

    def _better(self, opinion: Opinion, found: BilevelSolution) -> _Candidate | None:
        """The point that refutes a claim, if it stands up to verification itself."""
        if opinion.columns is None:
            return None
        candidate = self._candidate(opinion.columns)
        if not candidate.verdict.verified:
            return None
        if found.leader_objective is None:
            return candidate
        claimed = found.leader_objective / (self._program.leader_sign * self._scale.objective)
        return candidate if candidate.objective < claimed else None

    def _first(self) -> _Candidate | None:
        """A verified first point of the game; one that only looks feasible would make wrong cutoffs."""
        if self._look.columns is None:
            return None
        candidate = self._candidate(self._look.columns)
        return candidate if candidate.verdict.verified else None

    def _run(self, attempt: Attempt, *, another_path: bool) -> MipResult:
        remaining = max(0.01, self._deadline - time.perf_counter())
        limits = replace(self._limits, seconds=remaining, another_path=another_path)
        problem = attempt.form.problem
        if self._best is not None:
            problem = replace(problem, start=attempt.form.complete(self._best.columns))
        return self._solve(attempt, problem, limits)

    def _solve(self, attempt: Attempt, problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        if not attempt.needs_scip:
            return solve_mip_with_highs(problem, limits)
        if self._look.is_unbounded:
            return solve_over_unbounded_relaxation(self._kkt, problem, limits)
        return solve_mip_with_scip(problem, limits)

    def _candidate(self, columns: FloatArray) -> _Candidate:
        """Polish a solver's point and have it verified in the user's own terms."""
        polished = polish(self._kkt, columns)
        columns = columns if polished is None else polished  # either way verification has the last word
        objective = float(self._kkt.relaxation.cost @ columns) + self._kkt.relaxation.offset
        x, y, prices = self._parts(columns)
        claimed = self._scale.objective * objective
        verdict = verify(self._program, x, y, prices, claimed, units=self._units)
        return _Candidate(columns, objective, verdict)

    def _parts(self, columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Adding zero turns the solvers' negative zeros into plain ones.
        prices = self._scale.prices * self._kkt.prices(columns) + 0.0
        return columns[self._kkt.variables] + 0.0, columns[self._kkt.responses] + 0.0, prices

    def _conclude(self, attempt: Attempt, result: MipResult) -> tuple[BilevelSolution, bool]:
        """Report the best point that verification lets pass, or what it held against the attempt.

        Also says whether a verified point contradicts the solver's own claims.
        """
        base = BilevelSolution(
            status=result.status,
            program=self._program,
            method=attempt.method,
            method_reason=attempt.reason,
            solver=result.solver,
            seconds=self._seconds,
        )
        best = self._best
        findings: tuple[Finding, ...] = ()
        if result.columns is not None:
            mine = self._candidate(result.columns[: self._kkt.relaxation.shape[1]])
            findings = (*mine.verdict.findings, *attempt.form.check(mine.columns))
            if not findings and (best is None or mine.objective < best.objective):
                best = mine
        self._best = best
        contradictions = self._contradictions(best, result)
        findings = (*findings, *contradictions)
        if findings:
            return self._reported(base, best, self._look.bound, findings), bool(contradictions)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            return replace(base, seconds=self._seconds), False
        bounds = [bound for bound in (result.bound, self._look.bound) if bound is not None]
        return self._reported(base, best, max(bounds, default=None), ()), False

    def _contradictions(self, best: _Candidate | None, result: MipResult) -> tuple[Finding, ...]:
        """What a verified point says against the solver's claims."""
        if best is None:
            return ()
        if result.status is Status.INFEASIBLE:
            amount = self._scale.objective * best.objective
            return (Finding("a feasible point contradicts the verdict on the", "game", 0, amount),)
        bound = result.bound
        if bound is None or best.objective >= bound - _SOUND_GAP * max(1.0, abs(bound)):
            return ()
        amount = self._scale.objective * (bound - best.objective)
        return (Finding("feasible point below the proven bound of", "leader objective", 0, amount),)

    def _reported(
        self,
        base: BilevelSolution,
        best: _Candidate | None,
        bound: float | None,
        findings: tuple[Finding, ...],
    ) -> BilevelSolution:
        """A solution with the given point and (scaled) lower bound, either of which may be missing."""
        worth = self._program.leader_sign * self._scale.objective
        if findings:
            base = replace(base, explanation=f"the solver's answer failed verification: {findings[0]}")
        base = replace(
            base,
            leader_bound=None if bound is None else worth * bound + 0.0,
            findings=findings,
            seconds=self._seconds,
        )
        if best is None:
            return replace(base, status=Status.NO_INCUMBENT)
        gap = None if bound is None else relative_gap(best.objective, bound)
        # The claim "optimal" is ours, from a verified point and a bound, not the solver's.
        proven = gap is not None and gap <= max(self._limits.gap, _SOUND_GAP)
        x, y, prices = self._parts(best.columns)
        return replace(
            base,
            status=Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT,
            explanation="" if proven else base.explanation,
            # A point that meets the relaxation's bound is optimal, whatever became of the search.
            findings=() if proven else findings,
            leader_objective=worth * best.objective + 0.0,
            gap=gap,
            follower_objective=self._program.follower_sign * best.verdict.follower_value + 0.0,
            variables=x,
            responses=y,
            prices=prices,
            # A claim of optimality is believed only after a second opinion.
            verified=not proven,
            bilevel_gap=best.verdict.bilevel_gap,
        )

    def _without_method(self, status: Status, reason: str) -> BilevelSolution:
        """What is known before any method has run."""
        base = BilevelSolution(status, self._program, self._method, reason, HIGHS, self._seconds)
        if status is Status.INFEASIBLE:
            return replace(base, explanation=self._why_infeasible(), seconds=self._seconds)
        return self._reported(replace(base, explanation=reason), self._best, self._look.bound, ())

    def _why_infeasible(self) -> str:
        if not self._explains:
            return ""

        def solve(variation: BilevelProgram) -> BilevelSolution:
            seconds = min(TUNING.explanation_seconds, max(0.01, self._deadline - time.perf_counter()))
            limits = replace(self._limits, seconds=seconds)
            return _Solve(variation, self._method, limits, None, explains=False).solution()

        return explain_infeasible(self._kkt, solve)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started
