"""What a user would write by hand: the KKT system with its pairs as SOS1 sets, indicators or a guessed big-M.

The solvers keep their default settings but the gap, which is the same for all, on one thread. Nothing is
shared with the methods of the package but the linear part of the system.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.program import BilevelProgram, LinearProgram

# The relative gap that everybody is asked for.
GAP = 1e-9

OPTIMAL, INFEASIBLE, UNBOUNDED, TIME = "optimal", "infeasible", "unbounded", "time"


@dataclass(frozen=True, eq=False)
class Claim:
    """What a solver says of a game; ``columns`` are those of the KKT system."""

    status: str
    seconds: float
    objective: float | None = None
    bound: float | None = None
    columns: FloatArray | None = None


def sos1_in_scip(program: BilevelProgram, seconds: float) -> Claim:
    """Of each multiplier and its slack at most one is not zero."""

    def add_pair(model: Any, multiplier: Any, slack: Any) -> None:
        explicit = model.addVar(lb=0.0)
        model.addCons(explicit == slack)
        model.addConsSOS1([multiplier, explicit])

    return _in_scip(program, seconds, add_pair)


def indicators_in_scip(program: BilevelProgram, seconds: float) -> Claim:
    """A binary says which of the two must be zero."""

    def add_pair(model: Any, multiplier: Any, slack: Any) -> None:
        tight = model.addVar(vtype="B")
        model.addConsIndicator(slack <= 0, binvar=tight)
        model.addConsIndicator(multiplier <= 0, binvar=tight, activeone=False)

    return _in_scip(program, seconds, add_pair)


def _in_scip(program: BilevelProgram, seconds: float, add_pair: Callable[[Any, Any, Any], None]) -> Claim:
    started = time.perf_counter()
    kkt = build_kkt(program)
    model, columns = _scip_model(kkt)
    for pair in kkt.pairs:
        slack = _expression(kkt.slack_matrix, pair, columns) + kkt.slack_constant[pair]
        add_pair(model, columns[kkt.first_multiplier + pair], slack)
    model.setParam("limits/gap", GAP)
    model.setParam("limits/time", max(0.0, seconds - (time.perf_counter() - started)))
    try:
        model.optimize()
    except Exception as error:  # noqa: BLE001 (PySCIPOpt raises nothing more specific)
        return Claim(f"failed: {error}", time.perf_counter() - started)
    known = {"timelimit": TIME, OPTIMAL: OPTIMAL, INFEASIBLE: INFEASIBLE, UNBOUNDED: UNBOUNDED}
    status = known.get(model.getStatus(), f"failed: {model.getStatus()}")
    took = time.perf_counter() - started
    if model.getNSols() == 0:
        return Claim(status, took, bound=_finite(model.getDualbound()))
    best = model.getBestSol()
    values = np.array([model.getSolVal(best, column) for column in columns])
    return Claim(status, took, float(model.getObjVal()), _finite(model.getDualbound()), values)


def _scip_model(kkt: KktSystem) -> tuple[Any, list[Any]]:
    from pyscipopt import Model  # here, as SCIP is an extra

    linear = kkt.relaxation
    model = Model()
    model.hideOutput()
    columns = [
        model.addVar(lb=_finite(lower), ub=_finite(upper), obj=cost, vtype="I" if integer else "C")
        for lower, upper, cost, integer in zip(
            linear.column_lower, linear.column_upper, linear.cost, kkt.is_integer, strict=True
        )
    ]
    model.addObjoffset(linear.offset)
    for row, (lower, upper) in enumerate(zip(linear.row_lower, linear.row_upper, strict=True)):
        expression = _expression(linear.matrix, row, columns)
        if lower == upper:
            model.addCons(expression == upper)
            continue
        if np.isfinite(upper):
            model.addCons(expression <= upper)
        if np.isfinite(lower):
            model.addCons(expression >= lower)
    return model, columns


def _expression(matrix: SparseMatrix, row: int, columns: list[Any]) -> Any:
    from pyscipopt import quicksum

    entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
    terms = zip(matrix.indices[entries], matrix.data[entries], strict=True)
    # The zero term keeps an empty row an expression rather than a number.
    return quicksum(value * columns[column] for column, value in terms) + 0.0 * columns[0]


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e20 else None


def big_m_in_highs(program: BilevelProgram, seconds: float, *, largest: float) -> Claim:
    """A binary for each pair, and a guess that no multiplier or slack is larger than ``largest``."""
    started = time.perf_counter()
    kkt = build_kkt(program)
    width, count = kkt.relaxation.shape[1], kkt.pairs.size
    linear = _with_big_m(kkt, largest)
    highs = _highs_model(linear, np.concatenate([kkt.is_integer, np.ones(count, dtype=np.bool_)]))
    highs.setOptionValue("mip_rel_gap", GAP)
    highs.setOptionValue("time_limit", max(0.0, seconds - (time.perf_counter() - started)))
    highs.run()
    known = {
        highspy.HighsModelStatus.kOptimal: OPTIMAL,
        highspy.HighsModelStatus.kInfeasible: INFEASIBLE,
        highspy.HighsModelStatus.kUnbounded: UNBOUNDED,
        highspy.HighsModelStatus.kTimeLimit: TIME,
    }
    ended = highs.getModelStatus()
    status = known.get(ended, f"failed: {highs.modelStatusToString(ended)}")
    took = time.perf_counter() - started
    info = highs.getInfo()
    bound = _finite(info.mip_dual_bound)
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Claim(status, took, bound=bound)
    values = np.array(highs.getSolution().col_value[:width])
    return Claim(status, took, float(info.objective_function_value), bound, values)


def _with_big_m(kkt: KktSystem, largest: float) -> LinearProgram:
    """The system with a binary for each pair: one for a tight inequality, zero for an idle multiplier."""
    width, count = kkt.relaxation.shape[1], kkt.pairs.size
    chosen = (np.ones(count), (np.arange(count), kkt.first_multiplier + kkt.pairs))
    multiplier = sp.csr_array(chosen, shape=(count, width))
    switch = largest * sp.eye_array(count)
    slack = kkt.slack_matrix[kkt.pairs, :]
    rows = sp.csr_array(sp.block_array([[multiplier, -switch], [slack, switch]]))
    upper = np.concatenate([np.zeros(count), largest - kkt.slack_constant[kkt.pairs]])
    return kkt.relaxation.with_columns(np.zeros(count), np.ones(count)).with_rows(rows, upper=upper)


def _highs_model(linear: LinearProgram, is_integer: np.ndarray) -> Any:
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = linear.shape
    model.col_cost_, model.offset_ = linear.cost, linear.offset
    model.col_lower_, model.col_upper_ = linear.column_lower, linear.column_upper
    model.row_lower_, model.row_upper_ = linear.row_lower, linear.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = linear.matrix.indptr
    model.a_matrix_.index_ = linear.matrix.indices
    model.a_matrix_.value_ = linear.matrix.data
    kinds = {False: highspy.HighsVarType.kContinuous, True: highspy.HighsVarType.kInteger}
    model.integrality_ = [kinds[bool(integer)] for integer in is_integer]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.passModel(model)
    return highs


RIVALS: dict[str, Callable[[BilevelProgram, float], Claim]] = {
    "SCIP, SOS1": sos1_in_scip,
    "SCIP, indicators": indicators_in_scip,
    "HiGHS, M = 1e4": partial(big_m_in_highs, largest=1e4),
    "HiGHS, M = 1e6": partial(big_m_in_highs, largest=1e6),
}
