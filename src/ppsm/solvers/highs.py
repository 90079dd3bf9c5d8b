"""HiGHS: linear programs that stay alive between solves, and mixed-integer programs."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import highspy
import numpy as np
from numpy.typing import NDArray

from ppsm.arrays import FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.silence import silenced
from ppsm.solvers.tuning import TUNING
from ppsm.status import Status

# How many bounds are new, where, and what they are.
_Tell = Callable[[int, NDArray[np.int32], FloatArray, FloatArray], object]

HIGHS = f"HiGHS {highspy.Highs().version()}"

_DUAL_SIMPLEX, _PRIMAL_SIMPLEX = 1, 4
_USUAL: dict[str, str | int] = {
    "presolve": "choose",
    "solver": "choose",
    "simplex_strategy": _DUAL_SIMPLEX,
    "simplex_scale_strategy": 2,
}
# An LP that is infeasible by next to nothing can leave one method without a verdict; another has one.
_OTHER_WAYS: tuple[dict[str, str | int], ...] = (
    {},
    {"simplex_strategy": _DUAL_SIMPLEX},
    {"simplex_strategy": _PRIMAL_SIMPLEX, "simplex_scale_strategy": 0},
    {"solver": "ipm"},
)
# Substitution by equations with two entries and the aggregator: with them HiGHS 1.15.1 calls poor points
# optimal when a first point is there before the root's LP, from a heuristic or a start (tests/canaries).
UNSOUND_PRESOLVE_RULES = (1 << 9) | (1 << 12)

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.PROVEN_OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: Status.PROVEN_OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Status.NO_INCUMBENT,
    highspy.HighsModelStatus.kInterrupt: Status.NO_INCUMBENT,
    highspy.HighsModelStatus.kObjectiveBound: Status.NO_INCUMBENT,
}

# What pays where a search is long: searches within the search, and new starts.
_OF_LARGE_SEARCHES = (
    "mip_heuristic_run_rens",
    "mip_heuristic_run_rins",
    "mip_heuristic_run_root_reduced_cost",
    "mip_allow_restart",
)

# Presolve of HiGHS 1.5 to 1.15 calls some feasible but unbounded LPs infeasible (tests/canaries).
_SETTLE_WITHOUT_PRESOLVE = (
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)


def _quiet_highs() -> highspy.Highs:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    _set_tolerance(highs, TUNING.lp_feasibility)
    return highs


def _set_tolerance(highs: highspy.Highs, tolerance: float) -> None:
    for what in ("primal", "dual", "mip"):
        highs.setOptionValue(f"{what}_feasibility_tolerance", tolerance)


def _pass(highs: highspy.Highs, program: LinearProgram, integer: IntArray | None = None) -> None:
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = program.shape
    model.col_cost_ = program.cost
    model.col_lower_ = program.column_lower
    model.col_upper_ = program.column_upper
    model.row_lower_ = program.row_lower
    model.row_upper_ = program.row_upper
    model.offset_ = program.offset
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    if integer is not None:
        kinds = np.full(model.num_col_, highspy.HighsVarType.kContinuous, dtype=object)
        kinds[integer] = highspy.HighsVarType.kInteger
        model.integrality_ = list(kinds)
    if highs.passModel(model) == highspy.HighsStatus.kError:
        raise SolverError(f"{HIGHS} refused a model of {model.num_row_} rows and {model.num_col_} columns.")


@dataclass(frozen=True, eq=False)
class LpSolution:
    """A solved LP; primal and dual parts are there exactly when the status is ``PROVEN_OPTIMAL``.

    The objective is too, and where :meth:`PersistentLp.stop_above` stopped it: it is a bound then.
    """

    status: Status
    objective: float
    columns: FloatArray
    prices: FloatArray
    reduced_costs: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """Which columns and rows of an LP are basic, and at which bound the others are."""

    columns: tuple[highspy.HighsBasisStatus, ...]
    rows: tuple[highspy.HighsBasisStatus, ...]


class _KnownBounds:
    """What HiGHS has been told of an LP's bounds: telling it again costs as much as a warm solve's start.

    Rows that were added later are not remembered.
    """

    def __init__(self, lower: FloatArray, upper: FloatArray, tell: _Tell) -> None:
        self._lower, self._upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
        self._tell = tell

    def set(self, places: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Tell HiGHS of those that are new."""
        new = np.ones(places.size, dtype=np.bool_)
        known = places < self._lower.size
        here = places[known]
        new[known] = (self._lower[here] != lower[known]) | (self._upper[here] != upper[known])
        if new.any():
            self._tell(int(new.sum()), places[new].astype(np.int32), lower[new], upper[new])
        # Only now: Ctrl-C before it must not leave bounds that are believed to be told.
        self._lower[here], self._upper[here] = lower[known], upper[known]


class PersistentLp:
    """An LP that lives in HiGHS; after a change it re-solves from the last basis.

    One object serves one thread.
    """

    def __init__(
        self,
        program: LinearProgram,
        *,
        feasibility: float = TUNING.lp_feasibility,
    ) -> None:
        self.program = program
        self._highs, self._feasibility = _quiet_highs(), feasibility
        _set_tolerance(self._highs, feasibility)
        self._usual = dict(_USUAL)
        self._may_presolve, self._may_give_up = True, False
        self._enough = math.inf
        self._set(self._usual)
        _pass(self._highs, program)
        change_rows, change_columns = self._highs.changeRowsBounds, self._highs.changeColsBounds
        self._row_bounds = _KnownBounds(program.row_lower, program.row_upper, change_rows)
        self._column_bounds = _KnownBounds(program.column_lower, program.column_upper, change_columns)

    def use_primal_simplex(self) -> None:
        """Use the primal simplex from now on: where the cost changes the last basis stays feasible."""
        self._usual["simplex_strategy"] = _PRIMAL_SIMPLEX
        self._set(self._usual)

    def skip_presolve(self) -> None:
        """Never presolve, not even the first time."""
        self._usual["presolve"] = "off"
        self._may_presolve = False
        self._set(self._usual)

    def stop_at(self, deadline: float) -> None:
        """Give up a solve (``NO_INCUMBENT``) when ``time.perf_counter()`` is past a deadline, if finite."""
        left = max(0.001, deadline - time.perf_counter())
        # HiGHS counts the time of all runs together.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)

    def stop_after(self, iterations: int) -> None:
        """Give up every solve (``NO_INCUMBENT``) after so many iterations of the simplex method."""
        self._may_give_up = True
        self._highs.setOptionValue("simplex_iteration_limit", iterations)

    def stop_above(self, objective: float) -> None:
        """Give up a solve (``NO_INCUMBENT``) once no point costs less than this; infinite: never.

        The dual simplex sees it early, if it looks in time. The solution's objective is this then.
        """
        self._enough = objective
        self._highs.setOptionValue("objective_bound", objective)

    def stay_inside(self) -> None:
        """Use the interior-point method from now on, and leave its solution inside the optimal face."""
        self._usual |= {"solver": "ipm", "run_crossover": "off"}
        self._set(self._usual)

    def set_row_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some rows."""
        self._row_bounds.set(rows, lower, upper)

    def set_column_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some columns."""
        self._column_bounds.set(columns, lower, upper)

    def add_row(self, weights: FloatArray, lower: float, upper: float) -> None:
        """Add a row at the end; ``program`` stays what the LP was made from."""
        columns = np.flatnonzero(weights).astype(np.int32)
        self._highs.addRow(lower, upper, columns.size, columns, np.ascontiguousarray(weights[columns]))

    def set_cost(self, cost: FloatArray) -> None:
        """Change the whole cost vector."""
        columns = np.arange(cost.size, dtype=np.int32)
        self._highs.changeColsCost(cost.size, columns, np.ascontiguousarray(cost))

    def basis(self) -> Basis:
        """The basis of the last solve."""
        found = self._highs.getBasis()
        return Basis(tuple(found.col_status), tuple(found.row_status))

    def forget(self) -> None:
        """Solve from nothing next time: of several optima a warm start takes one near the last."""
        self._may_presolve = self._usual["presolve"] != "off"
        self._highs.clearSolver()

    def start_from(self, basis: Basis) -> None:
        """Solve from a basis next time, forgetting all else; rows beyond it are not tight."""
        self.forget()
        wanted = highspy.HighsBasis()
        beyond = self._highs.getNumRow() - len(basis.rows)
        wanted.col_status = list(basis.columns)
        wanted.row_status = [*basis.rows, *[highspy.HighsBasisStatus.kBasic] * beyond]
        if self._highs.setBasis(wanted) == highspy.HighsStatus.kError:
            rows, columns = len(basis.rows), len(basis.columns)
            raise SolverError(f"{HIGHS} refused a basis of {rows} rows and {columns} columns.")

    def solve(self, *, is_bounded: bool = False) -> LpSolution:
        """Solve from the last basis; a status that is not final is settled by a second look.

        Where the caller knows that the cost is bounded, "infeasible or unbounded" is no question.
        """
        if self._may_presolve:
            self._may_presolve = False
            with silenced():  # postsolve talks whatever it is told
                self._highs.run()
        else:
            self._highs.run()
        status = self._highs.getModelStatus()
        if status in _SETTLE_WITHOUT_PRESOLVE:
            status = highspy.HighsModelStatus.kInfeasible if is_bounded else self._settle()
        if status == highspy.HighsModelStatus.kIterationLimit and self._may_give_up:  # a limit like any other
            status = highspy.HighsModelStatus.kTimeLimit
        if status not in _STATUS:
            status = self._retry_cold()
        if _STATUS[status] is not Status.PROVEN_OPTIMAL:
            nothing = np.empty(0)
            proven = self._enough if status == highspy.HighsModelStatus.kObjectiveBound else math.nan
            return LpSolution(_STATUS[status], proven, nothing, nothing, nothing)
        solution = self._highs.getSolution()
        return LpSolution(
            status=Status.PROVEN_OPTIMAL,
            objective=float(self._highs.getInfo().objective_function_value),
            columns=np.array(solution.col_value),
            prices=np.array(solution.row_dual),
            reduced_costs=np.array(solution.col_dual),
        )

    def solve_within(self, feasibility: float) -> LpSolution:
        """Solve with another tolerance for rows and bounds, this once.

        Reduced costs keep theirs: a tolerance in units of large quantities would say nothing of small prices.
        """
        self._highs.setOptionValue("primal_feasibility_tolerance", feasibility)
        try:
            return self.solve()
        finally:
            _set_tolerance(self._highs, self._feasibility)

    def ray(self) -> FloatArray | None:
        """Row multipliers that prove the last solve infeasible (Farkas), None where HiGHS has none.

        There is one only without presolve (:meth:`skip_presolve`).
        """
        status, has_ray, values = self._highs.getDualRay()
        return np.array(values) if has_ray and status == highspy.HighsStatus.kOk else None

    def _settle(self) -> highspy.HighsModelStatus:
        """Without presolve HiGHS tells infeasible from unbounded."""
        return self._run_with({"presolve": "off"})

    def _retry_cold(self) -> highspy.HighsModelStatus:
        """Forget the basis and try every other way before giving up."""
        status = highspy.HighsModelStatus.kUnknown
        for options in _OTHER_WAYS:
            self.forget()
            status = self._run_with({"presolve": "off", **options})
            if status in _STATUS:
                return status
        raise SolverError(f"{HIGHS} ended an LP with '{self._highs.modelStatusToString(status)}'.")

    def _run_with(self, options: dict[str, str | int]) -> highspy.HighsModelStatus:
        """Solve with options that hold only this once."""
        self._set(options)
        self._highs.run()
        status: highspy.HighsModelStatus = self._highs.getModelStatus()
        self._set({name: self._usual[name] for name in options})
        return status

    def _set(self, options: dict[str, str | int]) -> None:
        for name, value in options.items():
            self._highs.setOptionValue(name, value)


def solve_lp(program: LinearProgram) -> LpSolution:
    """Solve an LP once."""
    return PersistentLp(program).solve()


def solve_lp_inside(program: LinearProgram) -> LpSolution:
    """Solve an LP once by an interior-point method that ends inside the optimal face, not at a vertex.

    Good to a relative 1e-7 or so: a guide, no proof.
    """
    lp = PersistentLp(program, feasibility=1e-7)
    lp.stay_inside()
    return lp.solve()


def solve_mip_with_highs(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
    """Solve a MILP; on a limit or Ctrl-C the incumbent and the bound come back."""
    if problem.sos1_pairs or problem.indicators is not None or problem.cutoff is not None:
        raise SolverError("HiGHS has no SOS1 sets, indicator rows or cutoff here; use SCIP for them.")
    started = time.perf_counter()
    if may_be_unbounded(problem.linear) and solve_lp(problem.linear).status is Status.UNBOUNDED:
        # HiGHS 1.12 to 1.15 can call such a MILP infeasible or even optimal (tests/canaries). With rational
        # data it is unbounded exactly when it has a point at all, and that is a question without a cost.
        linear = replace(problem.linear, cost=np.zeros_like(problem.linear.cost), offset=0.0)
        point = _search(replace(problem, linear=linear, start=None), limits, started)
        status = Status.UNBOUNDED if point.columns is not None else point.status
        return MipResult(status, HIGHS, time.perf_counter() - started, interrupted=point.interrupted)
    return _search(problem, limits, started)


def may_be_unbounded(linear: LinearProgram) -> bool:
    """Whether some column can lower the cost without meeting a bound of its own."""
    falls = np.where(linear.cost > 0, linear.column_lower, linear.column_upper)
    return bool(np.isinf(falls[linear.cost != 0]).any())


def _search(problem: MixedIntegerProgram, limits: SolveLimits, started: float) -> MipResult:
    highs = _quiet_highs()
    highs.setOptionValue("threads", limits.threads)
    highs.setOptionValue("mip_rel_gap", limits.gap)
    highs.setOptionValue("mip_abs_gap", min(1e-9, limits.gap))
    highs.setOptionValue("presolve_rule_off", UNSOUND_PRESOLVE_RULES)
    _set_tolerance(highs, limits.feasibility)
    if math.isfinite(limits.seconds):
        # HiGHS refuses a limit below zero and then has none
        highs.setOptionValue("time_limit", max(0.0, limits.seconds))
    integer = np.flatnonzero(problem.is_integer)
    _pass(highs, problem.linear, integer if integer.size else None)
    if limits.another_path:
        highs.setOptionValue("presolve", "off")
        highs.setOptionValue("random_seed", TUNING.another_seed)
    if limits.lean:
        for option in _OF_LARGE_SEARCHES:
            highs.setOptionValue(option, False)
    interrupted = _run_interruptibly(highs, limits)
    status = highs.getModelStatus()
    if status in _SETTLE_WITHOUT_PRESOLVE and not interrupted and not limits.another_path:
        highs.setOptionValue("presolve", "off")
        interrupted = _run_interruptibly(highs, limits)
        status = highs.getModelStatus()
    if status not in _STATUS:
        # Numerical trouble often depends on the path taken: another seed and more tolerance, once.
        highs.clearSolver()
        highs.setOptionValue("random_seed", 1)
        _set_tolerance(highs, max(limits.feasibility, TUNING.retry_feasibility))
        interrupted = _run_interruptibly(highs, limits)
        status = highs.getModelStatus()
    if status not in _STATUS:
        raise SolverError(f"{HIGHS} ended a MILP with '{highs.modelStatusToString(status)}'.")
    result = _mip_result(highs, _STATUS[status], bool(integer.size), time.perf_counter() - started)
    return replace(result, interrupted=interrupted)


# Solvers that did not stop when they were told to. Letting go of one would wait for its thread for ever.
_ABANDONED: list[highspy.Highs] = []


def _run_interruptibly(highs: highspy.Highs, limits: SolveLimits) -> bool:
    """Run in a thread so that Ctrl-C stops the search and keeps its incumbent; says whether it was pressed.

    ``Highs.solve`` can do the same, but announces it on standard output, where results belong. HiGHS 1.15 can
    loop for ever within one step of its search, deaf to its time limit: then it is left alone.
    """
    highs.HandleKeyboardInterrupt = True
    limit = time.perf_counter() + limits.seconds + _grace(highs)
    processor_limit = time.process_time() + limits.processor_seconds
    try:
        with silenced():
            highs.startSolve()
            while not highs.wait(0.1)[0]:
                if time.perf_counter() > limit or time.process_time() > processor_limit:
                    _stop(highs)
                    return False
    except KeyboardInterrupt:
        # Its thread must have ended before anybody lets go of the solver, whenever the key was pressed.
        try:
            _stop(highs)
        except SolverError:
            raise KeyboardInterrupt from None
        return True
    return False


def _grace(highs: highspy.Highs) -> float:
    """How long a solver may take to notice a limit: between two looks at the clock it solves whole LPs."""
    return TUNING.grace_seconds + TUNING.grace_per_entry * float(highs.getNumNz())


def _stop(highs: highspy.Highs) -> None:
    highs.cancelSolve()
    limit = time.perf_counter() + _grace(highs)
    while highs.is_solver_running():
        highs.wait(0.1)
        if time.perf_counter() > limit:
            _ABANDONED.append(highs)
            raise SolverError(f"{HIGHS} does not stop: it was told to, and is left alone.")


def _mip_result(highs: highspy.Highs, status: Status, has_integers: bool, seconds: float) -> MipResult:
    info = highs.getInfo()
    has_point = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return MipResult(status, HIGHS, seconds)
    objective = float(info.objective_function_value)
    proven = status is Status.PROVEN_OPTIMAL
    bound = objective if proven and not has_integers else float(info.mip_dual_bound)
    return MipResult(
        status=status if proven else (Status.INCUMBENT if has_point else Status.NO_INCUMBENT),
        solver=HIGHS,
        seconds=seconds,
        objective=objective if has_point else None,
        bound=bound if math.isfinite(bound) and (has_integers or proven) else None,
        columns=np.array(highs.getSolution().col_value) if has_point else None,
        nodes=max(0, int(info.mip_node_count)),
    )
