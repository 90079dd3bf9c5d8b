"""One method after another (:mod:`ppsm.bilevel.methods`), each doubted, until an answer stands up."""

import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.incumbent import FirstLook, first_look
from ppsm.bilevel.methods import Attempt, attempts
from ppsm.bilevel.methods.unbounded import solve_over_unbounded_relaxation
from ppsm.bilevel.record import Candidate, Record, is_above
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding
from ppsm.errors import SolverError
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status


class Methods:
    """The methods for one game; what they find goes into its record."""

    def __init__(self, record: Record, method: Method) -> None:
        self._record, self._method = record, method

    def solution(self) -> BilevelSolution:
        """One method after another until one has an answer that stands up."""
        relaxation = self._record.kkt.relaxation
        if solve_lp(replace(relaxation, cost=np.zeros_like(relaxation.cost))).status is Status.INFEASIBLE:
            return self._without_method(
                Status.INFEASIBLE, "no method is needed: the linear relaxation has no point"
            )
        if self._look.interrupted:
            raise KeyboardInterrupt
        self._record.best = self._first() or self._record.best
        cutoff = None if self._record.best is None else self._record.best.objective
        finder = BoundFinder(self._record.kkt, self._record.deadline, cutoff)
        found: BilevelSolution | None = None
        failure: SolverError | None = None
        try:
            for attempt in attempts(self._record.kkt, self._method, finder):
                try:
                    found, result = self._confirmed(attempt)
                except SolverError as error:
                    failure = error
                    continue
                if not found.findings or result.interrupted or self._record.is_late:
                    break
        except BoundsOutOfTimeError as error:
            return self._without_method(Status.NO_INCUMBENT, str(error))
        if found is not None:
            return found
        if failure is not None and self._record.best is None:
            raise failure
        return self._without_method(Status.NO_INCUMBENT, str(failure))

    @cached_property
    def _look(self) -> FirstLook:
        limits = self._record.limits
        seconds = min(TUNING.first_look_seconds, limits.seconds)
        return first_look(self._record.kkt, replace(limits, seconds=seconds))

    def _confirmed(self, attempt: Attempt) -> tuple[BilevelSolution, MipResult]:
        """An attempt's answer, with a second opinion on its claim; refuted, it is tried on another path."""
        for number in range(TUNING.claims):
            result = self._run(attempt, another_path=number > 0)
            found, contradicted = self._conclude(attempt, result)
            if contradicted and not result.interrupted:
                continue
            if result.interrupted or found.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return found, result
            opinion = self._record.second_opinion(found, result.seconds)
            better = self._record.better(opinion, found)
            if better is None:
                return self._record.with_opinion(found, opinion), result
            self._record.best = better
            amount = self._record.scale.objective * better.objective
            said = Finding("a better point refutes the claim of the solver on the", "game", 0, amount)
            found = self._record.reported(found, better, self._look.bound, (said,))
        return found, result

    def _first(self) -> Candidate | None:
        """A verified first point of the game; one that only looks feasible would make wrong cutoffs."""
        if self._look.columns is None:
            return None
        candidate = self._record.candidate(self._look.columns)
        return candidate if candidate.verdict.verified else None

    def _run(self, attempt: Attempt, *, another_path: bool) -> MipResult:
        remaining = max(0.01, self._record.deadline - time.perf_counter())
        limits = replace(self._record.limits, seconds=remaining, another_path=another_path)
        problem = attempt.form.problem
        if self._record.best is not None:
            problem = replace(problem, start=attempt.form.complete(self._record.best.columns))
        return self._solve(attempt, problem, limits)

    def _solve(self, attempt: Attempt, problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        if not attempt.needs_scip:
            return solve_mip_with_highs(problem, limits)
        if self._look.is_unbounded:
            return solve_over_unbounded_relaxation(self._record.kkt, problem, limits)
        return solve_mip_with_scip(problem, limits)

    def _conclude(self, attempt: Attempt, result: MipResult) -> tuple[BilevelSolution, bool]:
        """Report the best point that verification lets pass, or what it held against the attempt.

        Also says whether a verified point contradicts the solver's own claims.
        """
        base = self._record.base(attempt.method, attempt.reason, result.solver)
        base = replace(base, status=result.status)
        best = self._record.best
        findings: tuple[Finding, ...] = ()
        if result.columns is not None:
            mine = self._record.candidate(result.columns[: self._record.kkt.relaxation.shape[1]])
            findings = (*mine.verdict.findings, *attempt.form.check(mine.columns))
            if not findings and (best is None or mine.objective < best.objective):
                best = mine
        self._record.best = best
        contradictions = self._contradictions(best, result)
        findings = (*findings, *contradictions)
        if findings:
            return self._record.reported(base, best, self._look.bound, findings), bool(contradictions)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            return replace(base, seconds=self._record.seconds), False
        bounds = [bound for bound in (result.bound, self._look.bound) if bound is not None]
        if best is not None:
            bounds = [bound for bound in bounds if not is_above(bound, best.objective)]
        return self._record.reported(base, best, max(bounds, default=None), ()), False

    def _contradictions(self, best: Candidate | None, result: MipResult) -> tuple[Finding, ...]:
        """What a verified point says against the solver's claims."""
        if best is None:
            return ()
        if result.status is Status.INFEASIBLE:
            amount = self._record.scale.objective * best.objective
            return (Finding("a feasible point contradicts the verdict on the", "game", 0, amount),)
        bound = result.bound
        if bound is None or not is_above(bound, best.objective):
            return ()
        amount = self._record.scale.objective * (bound - best.objective)
        return (Finding("feasible point below the proven bound of", "leader objective", 0, amount),)

    def _without_method(self, status: Status, reason: str) -> BilevelSolution:
        """What is known before any method has run."""
        record = self._record
        base = replace(record.base(self._method, reason, HIGHS), status=status)
        if status is Status.INFEASIBLE:
            words = "an LP: the linear relaxation has no point"
            explanation = record.explain_infeasible()
            return replace(base, explanation=explanation, second_opinion=words, seconds=record.seconds)
        return record.reported(replace(base, explanation=reason), record.best, self._look.bound, ())
