"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.bilevel.big_m import big_m
from ppsm.bilevel.bounds import BoundFinder
from ppsm.bilevel.explain import explain_infeasible
from ppsm.bilevel.incumbent import first_incumbent, polish
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.reformulation import Reformulation
from ppsm.bilevel.scip_forms import indicator, sos1
from ppsm.bilevel.strong_duality import coupled_variables, is_applicable, strong_duality
from ppsm.errors import InputError, NoValidBoundError
from ppsm.game.verify import Finding, verify
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, SolveLimits
from ppsm.solvers.scip import scip_is_installed, solve_mip_with_scip
from ppsm.status import Status, relative_gap

# Beyond this a big-M row is numerically meaningless beside integrality tolerances of 1e-9.
_LARGEST_SOUND_M = 1e7
# A first incumbent is worth a short search, not a long one.
_START_SECONDS = 10.0


class Method(StrEnum):
    """How complementarity is enforced; ``auto`` picks one and says why."""

    AUTO = "auto"
    STRONG_DUALITY = "strong-duality"
    BIG_M = "big-m"
    SOS1 = "sos1"
    INDICATOR = "indicator"


@dataclass(frozen=True, eq=False)
class BilevelSolution:
    """An answer with its evidence. Objectives are in the sense of the user's problem.

    ``variables``, ``responses`` and ``prices`` are empty when the status has no answer; ``explanation`` says
    why there is none, or is empty.
    """

    status: Status
    program: BilevelProgram
    method: Method
    method_reason: str
    solver: str
    seconds: float
    leader_objective: float | None = None
    leader_bound: float | None = None
    gap: float | None = None
    follower_objective: float | None = None
    variables: FloatArray = field(default_factory=lambda: np.empty(0))
    responses: FloatArray = field(default_factory=lambda: np.empty(0))
    prices: FloatArray = field(default_factory=lambda: np.empty(0))
    verified: bool = False
    bilevel_gap: float | None = None
    findings: tuple[Finding, ...] = ()
    explanation: str = ""

    def values(self) -> dict[str, float]:
        """Values of the leader's and follower's variables by name."""
        names = (*self.program.variable_names, *self.program.follower.column_names)
        numbers = (*self.variables.tolist(), *self.responses.tolist())
        return dict(zip(names, numbers, strict=True)) if numbers else {}

    def prices_by_row(self) -> dict[str, float]:
        """Prices of the follower's rows by name, in the follower's sense."""
        prices = (self.program.follower_sign * self.prices).tolist()
        return dict(zip(self.program.follower.row_names, prices, strict=True)) if prices else {}


@dataclass(frozen=True, eq=False)
class _Attempt:
    method: Method
    reason: str
    form: Reformulation


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
        An answer that failed verification is never returned as one: its status is ``NO_INCUMBENT`` and the
        findings say what was wrong with it.
    """
    chosen = _method(method)
    limits = _limits(gap, time_limit, threads)
    deadline = time.perf_counter() + limits.seconds
    started = time.perf_counter()
    kkt = build_kkt(program)
    if solve_lp(replace(kkt.relaxation, cost=np.zeros_like(kkt.relaxation.cost))).status is Status.INFEASIBLE:
        return BilevelSolution(
            status=Status.INFEASIBLE,
            program=program,
            method=chosen,
            method_reason="no method is needed: the linear relaxation has no point",
            solver=HIGHS,
            seconds=time.perf_counter() - started,
            explanation=explain_infeasible(kkt),
        )
    start = first_incumbent(kkt, replace(limits, seconds=min(_START_SECONDS, limits.seconds)))
    cutoff = None if start is None else float(kkt.relaxation.cost @ start) + program.offset
    finder = BoundFinder(kkt, deadline, cutoff)
    solution: BilevelSolution | None = None
    for attempt in _attempts(kkt, chosen, finder):
        remaining = max(0.01, deadline - time.perf_counter())
        result = _run(attempt, replace(limits, seconds=remaining), start)
        solution = _conclude(kkt, attempt, result, started, units)
        if not solution.findings or time.perf_counter() > deadline:
            break
    if solution is None:
        raise InputError("no method can solve this game; install SCIP: pip install 'ppsm[scip]'.")
    return solution


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


def _attempts(kkt: KktSystem, method: Method, finder: BoundFinder) -> Iterator[_Attempt]:
    """The reformulations to try, best first; an explicit method is the only one."""
    if method is Method.STRONG_DUALITY:
        yield _Attempt(method, "asked for", strong_duality(kkt, finder))
    elif method is Method.BIG_M:
        yield _Attempt(method, "asked for", big_m(kkt, finder))
    elif method is Method.SOS1:
        yield _Attempt(method, "asked for", sos1(kkt))
    elif method is Method.INDICATOR:
        yield _Attempt(method, "asked for", indicator(kkt))
    else:
        yield from _automatic(kkt, finder)


def _automatic(kkt: KktSystem, finder: BoundFinder) -> Iterator[_Attempt]:
    obstacles: list[str] = []
    if is_applicable(kkt.program):
        binaries = int(coupled_variables(kkt.program).sum())
        why = f"the leader enters the follower's rows through {binaries} binaries only"
        if binaries == 0:
            why = "no decision of the leader moves the follower's rows"
        try:
            yield _Attempt(Method.STRONG_DUALITY, why, strong_duality(kkt, finder))
        except NoValidBoundError as error:
            obstacles.append(str(error))
    try:
        form = big_m(kkt, finder)
        if form.largest_m <= _LARGEST_SOUND_M or not scip_is_installed():
            why = f"all {kkt.pairs.size} pairs have proven bounds (largest multiplier {form.largest_m:.4g})"
            yield _Attempt(Method.BIG_M, why, form)
    except NoValidBoundError as error:
        obstacles.append(str(error))
    if scip_is_installed():
        why = obstacles[-1] if obstacles else "the proven bounds are too large to be numerically sound"
        yield _Attempt(Method.SOS1, why, sos1(kkt))
        yield _Attempt(Method.INDICATOR, "the SOS1 answer failed verification", indicator(kkt))
    elif obstacles:
        raise NoValidBoundError(f"{obstacles[-1]} SCIP is not installed: pip install 'ppsm[scip]'.")


def _run(attempt: _Attempt, limits: SolveLimits, start: FloatArray | None) -> MipResult:
    """Search from the first incumbent, which is also what remains if the search finds nothing better."""
    needs_scip = attempt.method in (Method.SOS1, Method.INDICATOR)
    run = solve_mip_with_scip if needs_scip else solve_mip_with_highs
    problem = attempt.form.problem
    full_start = None if start is None else attempt.form.complete(start)
    result = run(replace(problem, start=full_start), limits)
    if result.status is Status.NO_INCUMBENT and full_start is not None:
        objective = float(problem.linear.cost @ full_start) + problem.linear.offset
        return replace(result, status=Status.INCUMBENT, columns=full_start, objective=objective)
    if result.status is Status.UNBOUNDED and start is None:
        # An unbounded direction says nothing unless the game has a point at all.
        feasibility = replace(problem.linear, cost=np.zeros_like(problem.linear.cost), offset=0.0)
        point = run(replace(problem, linear=feasibility), limits)
        if point.columns is None:
            status = point.status if point.status is Status.INFEASIBLE else Status.NO_INCUMBENT
            return replace(result, status=status)
    return result


def _conclude(
    kkt: KktSystem,
    attempt: _Attempt,
    result: MipResult,
    started: float,
    units: Mapping[str, str] | None,
) -> BilevelSolution:
    """Polish the solver's point, verify it, and report what survives."""
    program = kkt.program
    base = BilevelSolution(
        status=result.status,
        program=program,
        method=attempt.method,
        method_reason=attempt.reason,
        solver=result.solver,
        seconds=0.0,
        leader_bound=None if result.bound is None else program.leader_sign * result.bound,
    )
    if result.columns is None:
        if result.status is Status.INFEASIBLE:
            base = replace(base, explanation=explain_infeasible(kkt))
        return replace(base, seconds=time.perf_counter() - started)
    raw = result.columns[: kkt.relaxation.shape[1]]
    polished = polish(kkt, raw)
    columns = raw if polished is None else polished  # either way verification has the last word
    objective = float(kkt.relaxation.cost @ columns) + program.offset
    # Adding zero turns the solvers' negative zeros into plain ones.
    x, y, prices = columns[kkt.variables] + 0.0, columns[kkt.responses] + 0.0, kkt.prices(columns) + 0.0
    verdict = verify(program, x, y, prices, objective, units=units)
    findings = (*verdict.findings, *_bound_finding(objective, result.bound), *attempt.form.check(columns))
    if findings:
        return replace(
            base,
            status=Status.NO_INCUMBENT,
            findings=findings,
            bilevel_gap=verdict.bilevel_gap,
            seconds=time.perf_counter() - started,
            explanation=f"the answer failed verification: {findings[0]}",
        )
    return replace(
        base,
        leader_objective=program.leader_sign * objective,
        gap=None if result.bound is None else relative_gap(objective, result.bound),
        follower_objective=program.follower_sign * verdict.follower_value,
        variables=x,
        responses=y,
        prices=prices,
        verified=True,
        bilevel_gap=verdict.bilevel_gap,
        seconds=time.perf_counter() - started,
    )


def _bound_finding(objective: float, bound: float | None) -> tuple[Finding, ...]:
    """A verified point below the solver's proven bound shows that the bound was wrong."""
    if bound is None or objective >= bound - 1e-6 * max(1.0, abs(bound)):
        return ()
    return (Finding("feasible point below the proven bound of", "leader objective", 0, bound - objective),)
