"""SCIP: mixed-integer programs with SOS1 sets and indicator rows (the extra ``ppsm[scip]``)."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
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
    """A search by SCIP that can be left and taken up again, until the limits say that its time is up.

    It is left between two nodes: taken up after a time limit has cut off the LP of a node, SCIP 10 was seen
    to branch on without LPs, its bound at a standstill. Where its LP solver gives up on a tight tolerance,
    the search begins anew with a looser one, at last with all settings as SCIP has them; so
    results say whether presolve had a part in them. A claim without integers is doubted in the model that
    made it, which takes as long to build as small games to search.
    """

    def __init__(self, problem: MixedIntegerProgram, limits: SolveLimits) -> None:
        need_scip("a problem with SOS1 sets or indicators")
        self._problem = problem
        self._allow(limits)
        self._begin()

    def _allow(self, limits: SolveLimits) -> None:
        self._limits, self._started = limits, time.perf_counter()
        self._looser = [looser for looser in TUNING.looser_feasibility if looser > limits.feasibility]

    def doubt(self, cutoff: float, limits: SolveLimits) -> None:
        """Begin anew under other limits, to find points below a cutoff; nothing that was found is kept."""
        self._problem = replace(self._problem, start=None, cutoff=cutoff, cuts=None)
        self._allow(limits)
        if self._problem.is_integer.any():
            # In a model whose sets were apart SCIP goes on to branch as if they were, though presolve joins
            # them now (it keeps that switch): trees would be up to fifteen times as large.
            self._begin()
            return
        # What was found belongs to the path that is doubted.
        self._model.setParam("limits/maxorigsol", 0)
        self._model.freeTransform()
        for cut in self._cuts:
            self._model.delCons(cut)
        self._model.resetParams()
        self._model.hideOutput()
        self._set()

    def _begin(self) -> None:
        self._model, self._variables = scip_model(self._problem)
        self._cuts = _add_cuts(self._model, self._problem, self._variables)
        self._pause = _pause_between_nodes(self._model)
        self._set()
        if self._problem.start is not None:
            self.offer(self._problem.start)

    def _set(self) -> None:
        _set_limits(self._model, self._limits)
        if self._problem.indicators is None:
            # These keep every optimal point, and without them reduced costs fix nothing.
            self._model.setParam("misc/allowweakdualreds", True)
        if self._problem.cutoff is not None:
            self._model.setObjlimit(self._problem.cutoff)
        if self._looser or self._limits.another_path:
            _rely_on_branching(self._model, self._problem, another_path=self._limits.another_path)
        if self._limits.doubts_itself:
            _leave_the_claims_path(self._model)

    def offer(self, columns: FloatArray) -> None:
        """A point to beat; it need not be exactly feasible, and a search that begins anew keeps it."""
        self._problem = replace(self._problem, start=columns)
        start = self._model.createOrigSol()
        for variable, value in zip(self._variables, columns, strict=True):
            self._model.setSolVal(start, variable, value)
        self._model.addSol(start)

    def run(self, seconds: float) -> MipResult:
        """Search for so many seconds more; what was found so far comes back."""
        until = time.perf_counter() + seconds
        while True:
            try:
                result = self._run(until)
            except SolverError:
                if not self._looser:
                    raise
                self._limits = replace(self._limits, feasibility=self._looser.pop(0))
                self._begin()
                continue
            presolved = self._model.getParam("presolving/maxrounds") != 0
            return replace(result, seconds=time.perf_counter() - self._started, presolved=presolved)

    def _run(self, until: float) -> MipResult:
        left = max(0.01, self._started + self._limits.seconds - time.perf_counter())
        if math.isfinite(left):
            # SCIP counts the time of all its runs together.
            self._model.setParam("limits/time", self._model.getSolvingTime() + left)
        self._pause.at(until)
        optimize_quietly(self._model)
        status = self._model.getStatus()
        if status == "inforunbd":
            status = _settle(self._problem, replace(self._limits, seconds=left))
        if status not in _STATUS:
            raise SolverError(f"SCIP ended with '{status}'.")
        result = _result(self._model, self._variables, _STATUS[status], 0.0)
        return replace(result, interrupted=status == "userinterrupt" and not self._pause.is_over)


def _pause_between_nodes(model: Any) -> Any:
    """Something that leaves a search of SCIP ``at`` a time, as soon as a node is solved."""
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    class Pause(Eventhdlr):  # type: ignore[misc]
        _until = math.inf
        is_over = False

        def at(self, until: float) -> None:
            self._until, self.is_over = until, False

        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, _event: Any) -> None:
            if time.perf_counter() > self._until:
                self.is_over = True
                self.model.interruptSolve()

    pause = Pause()
    model.includeEventhdlr(pause, "pause", "leaves the search between two nodes")
    return pause


def _rely_on_branching(model: Any, problem: MixedIntegerProgram, *, another_path: bool) -> None:
    """No heuristics: on complementarity they take longer than they save.

    The usual path has no presolve; the other one, for proofs that nobody beats a cutoff, has it and no cuts.
    """
    if not problem.sos1_pairs and problem.indicators is None:
        return
    from pyscipopt import SCIP_PARAMSETTING

    model.setHeuristics(SCIP_PARAMSETTING.OFF)
    # The child that moves the LP's point less comes first: the usual choice makes trees twice as large.
    model.setParam("nodeselection/childsel", "l")
    has_integers = bool(problem.is_integer.any())
    if another_path:
        # Where nobody beats a cutoff the order says nothing: next is the node whose LP is near.
        usual = model.getParam("nodeselection/estimate/stdpriority")
        model.setParam("nodeselection/dfs/stdpriority", usual + 1)
        _presolve(model, has_integers=has_integers)
        return
    model.setPresolve(SCIP_PARAMSETTING.OFF)
    if not has_integers:
        # There is nothing to make cuts from, and the graph of what pairs imply takes long.
        model.setSeparating(SCIP_PARAMSETTING.OFF)
        model.setParam("constraints/SOS1/implprop", False)
        return
    model.setParam("separating/maxrounds", TUNING.node_cuts)
    model.setParam("separating/maxroundsroot", TUNING.root_cuts)
    # Without presolve what each pair says for itself is as good as the graph of them all, which takes longer.
    model.setParam("constraints/SOS1/sosconsprop", True)


def _presolve(model: Any, *, has_integers: bool) -> None:
    """Presolve instead of cuts."""
    from pyscipopt import SCIP_PARAMSETTING

    model.setSeparating(SCIP_PARAMSETTING.OFF)
    if not has_integers:
        model.setPresolve(SCIP_PARAMSETTING.DEFAULT)
        model.setParam("constraints/SOS1/maxtightenbds", 0)
        model.setParam("constraints/SOS1/implprop", False)
        return
    model.setPresolve(SCIP_PARAMSETTING.FAST)
    # What one pair implies for others is looked at more closely, but once: every round would begin anew.
    model.setParam("presolving/maxrounds", 1)
    model.setParam("constraints/SOS1/maxtightenbds", TUNING.tightenings)
    model.setParam("constraints/SOS1/perfimplanalysis", True)


def _leave_the_claims_path(model: Any) -> None:
    """No cuts and another seed, whatever else is set."""
    from pyscipopt import SCIP_PARAMSETTING

    model.setSeparating(SCIP_PARAMSETTING.OFF)
    model.setParam("randomization/randomseedshift", 1)


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
    from pyscipopt.scip import ExprCons

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
            linear.column_lower.tolist(),
            linear.column_upper.tolist(),
            problem.is_integer.tolist(),
            linear.cost.tolist(),
            strict=True,
        )
    ]
    model.addObjoffset(linear.offset)
    rows = _rows(linear.matrix, variables)
    for row, lower, upper in zip(rows, linear.row_lower.tolist(), linear.row_upper.tolist(), strict=True):
        if lower > -INFINITY or upper < INFINITY:
            sides = None if lower == -INFINITY else lower, None if upper == INFINITY else upper
            model.addCons(ExprCons(row, *sides))
    for first, second in problem.sos1_pairs:
        model.addConsSOS1([variables[first], variables[second]])
    _add_indicators(model, problem, variables)
    return model, variables


def _add_indicators(model: Any, problem: MixedIntegerProgram, variables: list[Any]) -> None:
    from pyscipopt.scip import ExprCons

    indicators = problem.indicators
    if indicators is None:
        return
    rows = _rows(indicators.matrix, variables)
    each = zip(rows, indicators.upper.tolist(), indicators.columns, indicators.values, strict=True)
    for row, upper, column, value in each:
        model.addConsIndicator(ExprCons(row, rhs=upper), binvar=variables[column], activeone=bool(value))


def _add_cuts(model: Any, problem: MixedIntegerProgram, variables: list[Any]) -> list[Any]:
    from pyscipopt.scip import ExprCons

    if problem.cuts is None:
        return []
    rows = zip(_rows(problem.cuts.matrix, variables), problem.cuts.upper.tolist(), strict=True)
    return [model.addCons(ExprCons(row, rhs=upper), removable=True) for row, upper in rows]


def _rows(matrix: SparseMatrix, variables: list[Any]) -> Iterator[Any]:
    """The rows of a matrix as expressions, made at once: sums of products take longer than small searches."""
    from pyscipopt.scip import Expr, Term

    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    terms = [Term(variable) for variable in variables]
    starts, columns, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    for start, end in pairwise(starts):
        yield Expr({terms[columns[place]]: values[place] for place in range(start, end)})


def _set_limits(model: Any, limits: SolveLimits) -> None:
    model.setParam("limits/gap", limits.gap)
    model.setParam("numerics/feastol", limits.feasibility)
    # SCIP 10 can call a feasible problem with indicators infeasible by these (tests/canaries).
    model.setParam("misc/allowstrongdualreds", False)
    model.setParam("misc/allowweakdualreds", False)
    model.setParam("parallel/maxnthreads", limits.threads)
    if limits.another_path:
        model.setParam("presolving/maxrounds", 0)
        model.setParam("randomization/randomseedshift", 1)


def _settle(problem: MixedIntegerProgram, limits: SolveLimits) -> str:
    """Tell infeasible from unbounded: a problem with a feasible point can only be unbounded."""
    model, _ = scip_model(problem)
    model.setObjective(0.0)
    _set_limits(model, limits)
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
