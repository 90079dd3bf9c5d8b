"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.attempts import Attempt, attempts
from ppsm.bilevel.bounds import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.explain import explain_infeasible
from ppsm.bilevel.incumbent import FirstLook, first_look, polish
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.scaling import units_of, with_units
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.unbounded import solve_over_unbounded_relaxation
from ppsm.errors import InputError, SolverError
from ppsm.game.verify import Finding, Verification, verify
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status, relative_gap

# A first incumbent is worth a short search, not a long one.
_START_SECONDS = 10.0
# For each of the few games that are solved to explain why one is infeasible.
_EXPLAIN_SECONDS = 5.0
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

    def solution(self) -> BilevelSolution:
        relaxation = self._kkt.relaxation
        if solve_lp(replace(relaxation, cost=np.zeros_like(relaxation.cost))).status is Status.INFEASIBLE:
            return self._without_method(
                Status.INFEASIBLE, "no method is needed: the linear relaxation has no point"
            )
        if self._look.interrupted:
            raise KeyboardInterrupt
        cutoff = None if self._start is None else self._start.objective
        finder = BoundFinder(self._kkt, self._deadline, cutoff)
        found: BilevelSolution | None = None
        failure: SolverError | None = None
        try:
            for attempt in attempts(self._kkt, self._method, finder):
                try:
                    result = self._run(attempt)
                except SolverError as error:
                    failure = error
                    continue
                found = self._conclude(attempt, result)
                if not found.findings or result.interrupted or time.perf_counter() > self._deadline:
                    break
        except BoundsOutOfTimeError as error:
            return self._without_method(Status.NO_INCUMBENT, str(error))
        if found is not None:
            return found
        if failure is not None and self._start is None:
            raise failure
        return self._without_method(Status.NO_INCUMBENT, str(failure))

    @cached_property
    def _look(self) -> FirstLook:
        return first_look(self._kkt, replace(self._limits, seconds=min(_START_SECONDS, self._limits.seconds)))

    @cached_property
    def _start(self) -> _Candidate | None:
        """A verified first point of the game; one that only looks feasible would make wrong cutoffs."""
        if self._look.columns is None:
            return None
        candidate = self._candidate(self._look.columns)
        return candidate if candidate.verdict.verified else None

    def _run(self, attempt: Attempt) -> MipResult:
        remaining = max(0.01, self._deadline - time.perf_counter())
        limits = replace(self._limits, seconds=remaining)
        problem = attempt.form.problem
        if self._start is not None:
            problem = replace(problem, start=attempt.form.complete(self._start.columns))
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

    def _conclude(self, attempt: Attempt, result: MipResult) -> BilevelSolution:
        """Report the best point that verification lets pass, or what it held against the attempt."""
        base = BilevelSolution(
            status=result.status,
            program=self._program,
            method=attempt.method,
            method_reason=attempt.reason,
            solver=result.solver,
            seconds=self._seconds,
        )
        best = self._start
        findings: tuple[Finding, ...] = ()
        if result.columns is not None:
            mine = self._candidate(result.columns[: self._kkt.relaxation.shape[1]])
            findings = (*mine.verdict.findings, *attempt.form.check(mine.columns))
            if not findings and (best is None or mine.objective < best.objective):
                best = mine
        findings = (*findings, *self._contradictions(best, result))
        if findings:
            return self._reported(base, self._start, self._look.bound, findings)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            explanation = self._why_infeasible() if result.status is Status.INFEASIBLE else ""
            return replace(base, explanation=explanation, seconds=self._seconds)
        bounds = [bound for bound in (result.bound, self._look.bound) if bound is not None]
        return self._reported(base, best, max(bounds, default=None), ())

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
            verified=True,
            bilevel_gap=best.verdict.bilevel_gap,
        )

    def _without_method(self, status: Status, reason: str) -> BilevelSolution:
        """What is known before any method has run."""
        base = BilevelSolution(status, self._program, self._method, reason, HIGHS, self._seconds)
        if status is Status.INFEASIBLE:
            return replace(base, explanation=self._why_infeasible(), seconds=self._seconds)
        return self._reported(replace(base, explanation=reason), self._start, self._look.bound, ())

    def _why_infeasible(self) -> str:
        if not self._explains:
            return ""

        def solve(variation: BilevelProgram) -> BilevelSolution:
            seconds = min(_EXPLAIN_SECONDS, max(0.01, self._deadline - time.perf_counter()))
            limits = replace(self._limits, seconds=seconds)
            return _Solve(variation, self._method, limits, None, explains=False).solution()

        return explain_infeasible(self._kkt, solve)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started
