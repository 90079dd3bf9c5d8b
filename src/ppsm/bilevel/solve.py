"""Solve a bilevel program exactly and believe the answer only after an independent check."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.bilevel.assembly import with_rows
from ppsm.bilevel.big_m import big_m
from ppsm.bilevel.bounds import BoundFinder
from ppsm.bilevel.explain import explain_infeasible
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.scip_forms import indicator, sos1
from ppsm.bilevel.strong_duality import coupled_variables, is_applicable, strong_duality
from ppsm.errors import InputError, NoValidBoundError
from ppsm.game.verify import Finding, verify
from ppsm.program import BilevelProgram
from ppsm.solvers.highs import HIGHS, solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import scip_is_installed, solve_mip_with_scip
from ppsm.status import Status, relative_gap

# Beyond this a big-M row is numerically meaningless beside integrality tolerances of 1e-9.
_LARGEST_SOUND_M = 1e7


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
    problem: MixedIntegerProgram
    check: Callable[[FloatArray], tuple[Finding, ...]] = lambda _: ()


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
    solution: BilevelSolution | None = None
    for attempt in _attempts(kkt, chosen):
        remaining = max(0.01, deadline - time.perf_counter())
        result = _run(attempt, replace(limits, seconds=remaining))
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


def _attempts(kkt: KktSystem, method: Method) -> Iterator[_Attempt]:
    """The reformulations to try, best first; an explicit method is the only one."""
    finder = BoundFinder(kkt)
    if method is Method.STRONG_DUALITY:
        yield _Attempt(method, "asked for", strong_duality(kkt, finder))
    elif method is Method.BIG_M:
        form = big_m(kkt, finder)
        yield _Attempt(method, "asked for", form.problem, form.check)
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
        largest = float(form.multiplier_bound.max(initial=0.0))
        if largest <= _LARGEST_SOUND_M or not scip_is_installed():
            why = f"all {kkt.pairs.size} pairs have proven bounds (largest multiplier {largest:.4g})"
            yield _Attempt(Method.BIG_M, why, form.problem, form.check)
    except NoValidBoundError as error:
        obstacles.append(str(error))
    if scip_is_installed():
        why = obstacles[-1] if obstacles else "the proven bounds are too large to be numerically sound"
        yield _Attempt(Method.SOS1, why, sos1(kkt))
        yield _Attempt(Method.INDICATOR, "the SOS1 answer failed verification", indicator(kkt))
    elif obstacles:
        raise NoValidBoundError(f"{obstacles[-1]} SCIP is not installed: pip install 'ppsm[scip]'.")


def _run(attempt: _Attempt, limits: SolveLimits) -> MipResult:
    needs_scip = attempt.method in (Method.SOS1, Method.INDICATOR)
    run = solve_mip_with_scip if needs_scip else solve_mip_with_highs
    result = run(attempt.problem, limits)
    if result.status is not Status.UNBOUNDED:
        return result
    # An unbounded direction of the relaxation says nothing unless the game has a point at all.
    linear = attempt.problem.linear
    feasibility = replace(
        attempt.problem, linear=replace(linear, cost=np.zeros_like(linear.cost), offset=0.0)
    )
    point = run(feasibility, limits)
    if point.status is Status.PROVEN_OPTIMAL:
        return result
    status = point.status if point.status is Status.INFEASIBLE else Status.NO_INCUMBENT
    return replace(result, status=status)


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
    columns = _polish(kkt, result.columns[: kkt.relaxation.shape[1]])
    objective = float(kkt.relaxation.cost @ columns) + program.offset
    x, y, prices = columns[kkt.variables], columns[kkt.responses], kkt.prices(columns)
    verdict = verify(program, x, y, prices, objective, units=units)
    findings = (*verdict.findings, *_bound_finding(objective, result.bound), *attempt.check(columns))
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


def _polish(kkt: KktSystem, columns: FloatArray) -> FloatArray:
    """Re-solve with integers and complementarity fixed, so that no pair rests on a solver's tolerance.

    Falls back to the solver's own point if the fixed LP has none; verification then has the last word.
    """
    columns = columns.copy()
    integer = np.flatnonzero(kkt.is_integer)
    columns[integer] = np.round(columns[integer])
    lower, upper = kkt.relaxation.column_lower.copy(), kkt.relaxation.column_upper.copy()
    lower[integer] = upper[integer] = columns[integer]
    tight = columns[kkt.first_multiplier + kkt.pairs] > kkt.slacks(columns)[kkt.pairs]
    upper[kkt.first_multiplier + kkt.pairs[~tight]] = 0.0
    fixed = kkt.pairs[tight]
    constant = -kkt.slack_constant[fixed]
    restricted = with_rows(
        replace(kkt.relaxation, column_lower=lower, column_upper=upper),
        sp.csr_array(kkt.slack_matrix[fixed, :]),
        constant,
        constant,
        tuple(f"tight {kkt.multipliers.names[side]}" for side in fixed),
    )
    solution = solve_lp(restricted)
    return solution.columns if solution.status is Status.PROVEN_OPTIMAL else columns
