"""SCIP: mixed-integer programs with SOS1 sets and indicator rows (the extra ``ppsm[scip]``)."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ppsm.arrays import INFINITY, FloatArray
from ppsm.errors import InputError, SolverError
from ppsm.extras import installed
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.silence import silenced
from ppsm.solvers.tuning import TUNING
from ppsm.status import Status

_STATUS = {
    "optimal": Status.PROVEN_OPTIMAL,
    "gaplimit": Status.PROVEN_OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "timelimit": Status.NO_INCUMBENT,
    "userinterrupt": Status.NO_INCUMBENT,
}


def scip_is_installed() -> bool:
    """Whether the extra ``ppsm[scip]`` is there."""
    return installed("scip")


def scip_version() -> str:
    """Name and version of the installed SCIP."""
    from pyscipopt import Model

    return f"SCIP {Model().version()}"


def need_scip(what: str) -> None:
    """Refuse what cannot be done without SCIP, and say how to get it."""
    if not scip_is_installed():
        raise InputError(f"{what} needs SCIP, which is not installed: pip install 'ppsm[scip]'.")


def solve_mip_with_scip(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
    """Solve a MILP with SOS1 sets and indicators; on a limit the incumbent and the bound come back."""
    return ScipSearch(problem, limits).run(limits.seconds)


class ScipSearch:
    """A search by SCIP that can be left and taken up again.

    Where its LP solver gives up on a tight tolerance, the search begins anew with a looser one.
    """

    def __init__(self, problem: MixedIntegerProgram, limits: SolveLimits) -> None:
        need_scip("a problem with SOS1 sets or indicators")
        self._problem, self._limits = problem, limits
        self._looser = [looser for looser in TUNING.looser_feasibility if looser > limits.feasibility]
        self._seconds = 0.0
        self._begin()

    def _begin(self) -> None:
        self._model, self._variables = scip_model(self._problem)
        _set_limits(self._model, self._limits, self._problem)
        self._spent = 0.0
        if self._problem.start is not None:
            self.offer(self._problem.start)

    def offer(self, columns: FloatArray) -> None:
        """A point to beat; it need not be exactly feasible."""
        start = self._model.createOrigSol()
        for variable, value in zip(self._variables, columns, strict=True):
            self._model.setSolVal(start, variable, value)
        self._model.addSol(start)

    def run(self, seconds: float) -> MipResult:
        """Search for so many seconds more; what was found so far comes back."""
        started = time.perf_counter()
        while True:
            left = seconds - (time.perf_counter() - started)
            try:
                result = self._run(max(0.01, left))
            except SolverError:
                if not self._looser:
                    raise
                self._limits = replace(self._limits, feasibility=self._looser.pop(0))
                self._begin()
                continue
            self._seconds += time.perf_counter() - started
            return replace(result, seconds=self._seconds)

    def _run(self, seconds: float) -> MipResult:
        if math.isfinite(seconds):
            # SCIP counts the time of all its runs together.
            self._spent += seconds
            self._model.setParam("limits/time", self._spent)
        optimize_quietly(self._model)
        self._spent = min(self._spent, self._model.getSolvingTime())
        status = self._model.getStatus()
        if status == "inforunbd":
            status = _settle(self._problem, replace(self._limits, seconds=seconds))
        if status not in _STATUS:
            raise SolverError(f"SCIP ended with '{status}'.")
        result = _result(self._model, self._variables, _STATUS[status], 0.0)
        return replace(result, interrupted=status == "userinterrupt")


def _rely_on_branching(model: Any, problem: MixedIntegerProgram, limits: SolveLimits) -> None:
    """Neither heuristics nor cuts below the root: on complementarity both take longer than they save.

    Cuts are made from integers; without any, and on another path, there are none at the root either.
    """
    from pyscipopt import SCIP_PARAMSETTING

    model.setHeuristics(SCIP_PARAMSETTING.OFF)
    if problem.is_integer.any() and not limits.another_path:
        model.setParam("separating/maxrounds", 0)
        model.setParam("separating/maxroundsroot", TUNING.root_cuts)
    else:
        model.setSeparating(SCIP_PARAMSETTING.OFF)


def optimize_quietly(model: Any) -> None:
    """Let SCIP search; what its LP solver prints goes nowhere, and an exception becomes an error of ours."""
    try:
        with silenced():
            model.optimize()
    except Exception as error:  # noqa: BLE001 (PySCIPOpt raises nothing more specific)
        raise SolverError(f"SCIP {model.version()} gave up: {error}") from None


def scip_model(problem: MixedIntegerProgram) -> tuple[Any, list[Any]]:
    """A problem in SCIP, without limits yet, and the variables of its columns."""
    from pyscipopt import Model

    linear = problem.linear
    model = Model()
    model.hideOutput()
    variables = [
        model.addVar(
            lb=None if lower == -INFINITY else lower,
            ub=None if upper == INFINITY else upper,
            vtype="I" if integer else "C",
            obj=cost,
        )
        for lower, upper, integer, cost in zip(
            linear.column_lower, linear.column_upper, problem.is_integer, linear.cost, strict=True
        )
    ]
    model.addObjoffset(linear.offset)
    for row in range(linear.shape[0]):
        expression = _row(linear.matrix, row, variables)
        lower, upper = linear.row_lower[row], linear.row_upper[row]
        if lower == upper:
            model.addCons(expression == lower)
            continue
        if lower > -INFINITY:
            model.addCons(expression >= lower)
        if upper < INFINITY:
            model.addCons(expression <= upper)
    for first, second in problem.sos1_pairs:
        model.addConsSOS1([variables[first], variables[second]])
    _add_indicators(model, problem, variables)
    return model, variables


def _add_indicators(model: Any, problem: MixedIntegerProgram, variables: list[Any]) -> None:
    indicators = problem.indicators
    if indicators is None:
        return
    for row, (column, value) in enumerate(zip(indicators.columns, indicators.values, strict=True)):
        model.addConsIndicator(
            _row(indicators.matrix, row, variables) <= indicators.upper[row],
            binvar=variables[column],
            activeone=bool(value),
        )


def _row(matrix: Any, row: int, variables: list[Any]) -> Any:
    from pyscipopt import quicksum

    entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
    terms = zip(matrix.indices[entries], matrix.data[entries], strict=True)
    # The zero term keeps an empty row an expression rather than a number.
    return quicksum(value * variables[column] for column, value in terms) + 0 * variables[0]


def _set_limits(model: Any, limits: SolveLimits, problem: MixedIntegerProgram) -> None:
    model.setParam("limits/gap", limits.gap)
    model.setParam("numerics/feastol", limits.feasibility)
    if problem.indicators is not None or limits.another_path:
        # SCIP 10 can call a feasible problem with indicators infeasible by these (tests/canaries).
        model.setParam("misc/allowstrongdualreds", False)
        model.setParam("misc/allowweakdualreds", False)
    model.setParam("parallel/maxnthreads", limits.threads)
    if problem.sos1_pairs or problem.indicators is not None:
        _rely_on_branching(model, problem, limits)
    if limits.another_path:
        model.setParam("presolving/maxrounds", 0)
        model.setParam("randomization/randomseedshift", 1)


def _settle(problem: MixedIntegerProgram, limits: SolveLimits) -> str:
    """Tell infeasible from unbounded: a problem with a feasible point can only be unbounded."""
    model, _ = scip_model(problem)
    model.setObjective(0.0)
    _set_limits(model, limits, problem)
    if math.isfinite(limits.seconds):
        model.setParam("limits/time", limits.seconds)
    optimize_quietly(model)
    return {"optimal": "unbounded", "gaplimit": "unbounded"}.get(model.getStatus(), str(model.getStatus()))


def _result(model: Any, variables: list[Any], status: Status, seconds: float) -> MipResult:
    solver = f"SCIP {model.version()}"
    if status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return MipResult(status, solver, seconds)
    has_point = model.getNSols() > 0
    bound = float(model.getDualbound())
    columns: FloatArray | None = None
    if has_point:
        best = model.getBestSol()
        columns = np.array([model.getSolVal(best, variable) for variable in variables])
    if status is not Status.PROVEN_OPTIMAL:
        status = Status.INCUMBENT if has_point else Status.NO_INCUMBENT
    return MipResult(
        status=status,
        solver=solver,
        seconds=seconds,
        objective=float(model.getObjVal()) if has_point else None,
        bound=bound if abs(bound) < model.infinity() else None,
        columns=columns,
        nodes=int(model.getNNodes()),
    )
