"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.incumbent import FirstLook, first_look
from ppsm.bilevel.infeasibility import explain_infeasible
from ppsm.bilevel.methods import Attempt, attempts, own_search
from ppsm.bilevel.methods.unbounded import solve_over_unbounded_relaxation
from ppsm.bilevel.portfolio import Turns
from ppsm.bilevel.searchers import own_progress
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.standing import Candidate, Standing, is_above
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import Finding
from ppsm.errors import InputError, ModelError, SolverError
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status

# HiGHS ends the process when it cannot start as many threads as it is asked for.
_MOST_THREADS = 256


def solve_bilevel(
    program: BilevelProgram,
    *,
    method: Method | str = Method.AUTO,
    gap: float = 1e-9,
    time_limit: float = math.inf,
    threads: int = 1,
    confirm: bool = False,
    units: Mapping[str, str] | None = None,
) -> BilevelSolution:
    """Solve a bilevel program to global (optimistic) optimality and verify the answer independently.

    Parameters
    ----------
    program
        The game in arrays.
    method
        One of :class:`Method`. ``auto`` lets several of them take turns; the first that is through wins.
    gap
        Relative gap at which the answer counts as proven optimal.
    time_limit
        Wall-clock seconds; the best answer so far and its bound are returned when they are over.
    threads
        Threads the solver may use.
    confirm
        Whether a second opinion may take as long as the time limit leaves it, rather than about as long as
        the search.
    units
        Units by variable or constraint name, for the findings.

    Returns
    -------
    BilevelSolution
        An answer that failed verification is never returned as one: the findings say what was wrong with
        it, and the status is ``NO_INCUMBENT`` unless an earlier point passed.
    """
    if not isinstance(program, BilevelProgram):
        raise InputError(f"the program is a {type(program).__name__}; expected a ppsm.BilevelProgram.")
    chosen, limits = _method(method), _limits(gap, time_limit, threads)
    standing = Standing(
        program, limits, units, lambda standing: _why_infeasible(standing, chosen), confirm=confirm
    )
    return _solved(standing, chosen)


def _method(method: Method | str) -> Method:
    try:
        return Method(method)
    except ValueError:
        known = ", ".join(Method)
        raise InputError(f"the method '{method}' is unknown; expected one of: {known}.") from None


def _limits(gap: float, time_limit: float, threads: int) -> SolveLimits:
    for what, value in (("gap", gap), ("time limit", time_limit)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"the {what} is {value!r}; expected a number.")
    if not gap >= 0 or not math.isfinite(gap):
        raise InputError(f"the gap is {gap}; expected a finite number of at least 0, such as 1e-6.")
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit}; expected seconds above 0.")
    if not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS:
        raise InputError(f"threads is {threads!r}; expected a whole number from 1 to {_MOST_THREADS}.")
    return SolveLimits(gap=gap, seconds=time_limit, threads=threads)


def _solved(standing: Standing, method: Method) -> BilevelSolution:
    found = _searched(standing, method)
    if found.status is not Status.PROVEN_OPTIMAL or found.second_opinion:
        return found
    # No method got so far: the point meets the relaxation's bound.
    opinion = standing.second_opinion(found, 0.0)
    better = standing.better(opinion, found)
    if better is not None:
        return standing.reported(found, better, None, ())
    return standing.with_opinion(found, opinion)


def _searched(standing: Standing, method: Method) -> BilevelSolution:
    if method is Method.AUTO:
        found = Turns(standing).solution()
        return Methods(standing, method).solution() if found is None else found
    asked = own_search(standing.kkt, method)
    if asked is None:
        return Methods(standing, method).solution()
    search, words = asked
    tree = search(standing.kkt, cutoff=None, gap=standing.limits.gap, deadline=standing.deadline)
    base = standing.base(method, "asked for", HIGHS)
    if tree.is_unbounded:
        return _unbounded(base)
    progress = own_progress(tree, words)
    found = Turns(standing).heard(base, progress)
    if found is not None:
        return found
    if progress.gave_up:
        doubt = f"{words} of {tree.words} is through, but not all of it is proven; use the method 'auto'"
        base = replace(base, explanation=doubt)
    return standing.left(base, interrupted=progress.interrupted)


def _unbounded(base: BilevelSolution) -> BilevelSolution:
    """A leaf of our own tree whose cost falls without end."""
    if base.program.is_integer.any():
        raise ModelError(
            "a leaf is unbounded, and branching cannot tell whether it has an integer point; "
            "bound the leader's variables or use the method 'sos1'."
        )
    return replace(base, status=Status.UNBOUNDED)


def _why_infeasible(standing: Standing, method: Method) -> str:
    """Which constraints are in conflict, from variations of the game that are solved in a short time each."""

    def solve(variation: BilevelProgram) -> BilevelSolution:
        seconds = min(TUNING.explanation_seconds, max(0.01, standing.deadline - time.perf_counter()))
        limits = replace(standing.limits, seconds=seconds)
        return _solved(Standing(variation, limits, None, lambda _: ""), method)

    return explain_infeasible(standing.kkt, solve)


class Methods:
    """One method after another on one game, each doubted, until an answer stands up."""

    def __init__(self, standing: Standing, method: Method) -> None:
        self._standing, self._method = standing, method

    def solution(self) -> BilevelSolution:
        """One method after another until one has an answer that stands up."""
        relaxation = self._standing.kkt.relaxation
        if solve_lp(replace(relaxation, cost=np.zeros_like(relaxation.cost))).status is Status.INFEASIBLE:
            return self._without_method(
                Status.INFEASIBLE, "no method is needed: the linear relaxation has no point"
            )
        if self._look.interrupted:
            raise KeyboardInterrupt
        self._standing.best = self._first() or self._standing.best
        cutoff = None if self._standing.best is None else self._standing.best.objective
        finder = BoundFinder(self._standing.kkt, self._standing.deadline, cutoff)
        found: BilevelSolution | None = None
        failure: SolverError | None = None
        try:
            for attempt in attempts(self._standing.kkt, self._method, finder):
                try:
                    found, result = self._confirmed(attempt)
                except SolverError as error:
                    failure = error
                    continue
                if not found.findings or result.interrupted or self._standing.is_late:
                    break
        except BoundsOutOfTimeError as error:
            return self._without_method(Status.NO_INCUMBENT, str(error))
        if found is not None:
            return found
        if failure is not None and self._standing.best is None:
            raise failure
        return self._without_method(Status.NO_INCUMBENT, str(failure))

    @cached_property
    def _look(self) -> FirstLook:
        limits = self._standing.limits
        seconds = min(TUNING.first_look_seconds, limits.seconds)
        return first_look(self._standing.kkt, replace(limits, seconds=seconds))

    def _confirmed(self, attempt: Attempt) -> tuple[BilevelSolution, MipResult]:
        """An attempt's answer, with a second opinion on its claim; refuted, it is tried on another path."""
        for number in range(TUNING.claims):
            result = self._run(attempt, another_path=number > 0)
            found, contradicted = self._conclude(attempt, result)
            if contradicted and not result.interrupted:
                continue
            if result.interrupted or found.status not in (Status.PROVEN_OPTIMAL, Status.INFEASIBLE):
                return found, result
            opinion = self._standing.second_opinion(found, result.seconds, presolved=result.presolved)
            better = self._standing.better(opinion, found)
            if better is None:
                return self._standing.with_opinion(found, opinion), result
            self._standing.best = better
            amount = self._standing.scale.objective * better.objective
            said = Finding("a better point refutes the claim of the solver on the", "game", 0, amount)
            found = self._standing.reported(found, better, self._look.bound, (said,))
        return found, result

    def _first(self) -> Candidate | None:
        """A verified first point of the game; one that only looks feasible would make wrong cutoffs."""
        if self._look.columns is None:
            return None
        candidate = self._standing.candidate(self._look.columns)
        return candidate if candidate.verdict.verified else None

    def _run(self, attempt: Attempt, *, another_path: bool) -> MipResult:
        remaining = max(0.01, self._standing.deadline - time.perf_counter())
        limits = replace(self._standing.limits, seconds=remaining, another_path=another_path)
        problem = attempt.form.problem
        if self._standing.best is not None:
            problem = replace(problem, start=attempt.form.complete(self._standing.best.columns))
        return self._solve(attempt, problem, limits)

    def _solve(self, attempt: Attempt, problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        if not attempt.needs_scip:
            return solve_mip_with_highs(problem, limits)
        if self._look.is_unbounded:
            return solve_over_unbounded_relaxation(self._standing.kkt, problem, limits)
        return solve_mip_with_scip(problem, limits)

    def _conclude(self, attempt: Attempt, result: MipResult) -> tuple[BilevelSolution, bool]:
        """Report the best point that verification lets pass, or what it held against the attempt.

        Also says whether a verified point contradicts the solver's own claims.
        """
        base = self._standing.base(attempt.method, attempt.reason, result.solver)
        base = replace(base, status=result.status)
        best = self._standing.best
        findings: tuple[Finding, ...] = ()
        if result.columns is not None:
            mine = self._standing.candidate(result.columns[: self._standing.kkt.relaxation.shape[1]])
            findings = (*mine.verdict.findings, *attempt.form.check(mine.columns))
            if not findings and (best is None or mine.objective < best.objective):
                best = mine
        self._standing.best = best
        contradictions = self._contradictions(best, result)
        findings = (*findings, *contradictions)
        if findings:
            return self._standing.reported(base, best, self._look.bound, findings), bool(contradictions)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            return replace(base, seconds=self._standing.seconds), False
        bounds = [bound for bound in (result.bound, self._look.bound) if bound is not None]
        if best is not None:
            bounds = [bound for bound in bounds if not is_above(bound, best.objective)]
        return self._standing.reported(base, best, max(bounds, default=None), ()), False

    def _contradictions(self, best: Candidate | None, result: MipResult) -> tuple[Finding, ...]:
        """What a verified point says against the solver's claims."""
        if best is None:
            return ()
        if result.status is Status.INFEASIBLE:
            amount = self._standing.scale.objective * best.objective
            return (Finding("a feasible point contradicts the verdict on the", "game", 0, amount),)
        bound = result.bound
        if bound is None or not is_above(bound, best.objective):
            return ()
        amount = self._standing.scale.objective * (bound - best.objective)
        return (Finding("feasible point below the proven bound of", "leader objective", 0, amount),)

    def _without_method(self, status: Status, reason: str) -> BilevelSolution:
        """What is known before any method has run."""
        standing = self._standing
        base = replace(standing.base(self._method, reason, HIGHS), status=status)
        if status is Status.INFEASIBLE:
            words = "an LP: the linear relaxation has no point"
            explanation = standing.explain_infeasible()
            return replace(base, explanation=explanation, second_opinion=words, seconds=standing.seconds)
        return standing.reported(replace(base, explanation=reason), standing.best, self._look.bound, ())
