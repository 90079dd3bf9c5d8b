"""Convex quadratic programs: PIQP first, Clarabel where PIQP gives up.

Both are interior-point methods that are exact to about 1e-9 in well-scaled data. PIQP (proximal, so that
dependent rows do no harm) is the faster one by far; Clarabel is the second opinion. Neither is believed when
it says that a program has no point: the constraints are linear, so HiGHS has the last word on that.
"""

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import clarabel
import numpy as np
import piqp
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status

PIQP = f"PIQP {version('piqp')}"
CLARABEL = f"Clarabel {version('clarabel')}"

_TOLERANCE = 1e-9
_ITERATIONS = 80
# An answer of a solver that ran out of iterations is still used if its residuals and its gap are this small.
_NEAR = 1e-7


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """``min sum_i curvature_i x_i^2 + x' cross x + cost' x``, equalities, two-sided rows, column bounds.

    ``cross`` holds products of different columns, each once, above the diagonal.
    """

    curvature: FloatArray
    cost: FloatArray
    equality: SparseMatrix
    equality_value: FloatArray
    rows: SparseMatrix
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    cross: SparseMatrix | None = None

    @property
    def hessian(self) -> Any:
        """The upper triangle of the Hessian."""
        diagonal = sp.diags_array(2.0 * self.curvature)
        return sp.csc_matrix(diagonal if self.cross is None else diagonal + self.cross)


@dataclass(frozen=True, eq=False)
class QpSolution:
    """A solved QP; ``bound`` is the dual objective.

    Multipliers are signed so that ``gradient = equality' u + rows' v + w``: a lower side that is active has a
    positive one.
    """

    status: Status
    objective: float
    bound: float
    columns: FloatArray
    equality_multipliers: FloatArray
    row_multipliers: FloatArray
    column_multipliers: FloatArray
    solver: str


def solve_qp(program: QuadraticProgram) -> QpSolution:
    """Solve a QP; one that both solvers fail on, or disagree with HiGHS about, has no verdict.

    The status is then ``NO_INCUMBENT``.
    """
    solution = solve_qp_with_piqp(program)
    if solution.status is Status.PROVEN_OPTIMAL:
        return solution
    solution = solve_qp_with_clarabel(program)
    if solution.status is Status.INFEASIBLE and not _has_no_point(program):
        return _nothing(Status.NO_INCUMBENT, CLARABEL)
    return solution


def _has_no_point(program: QuadraticProgram) -> bool:
    """Whether HiGHS proves that the constraints have no common point."""
    rows, columns = program.equality_value.size + program.row_lower.size, program.cost.size
    feasibility = LinearProgram(
        cost=np.zeros(columns),
        matrix=sp.csr_array(sp.vstack([program.equality, program.rows])),
        row_lower=np.concatenate([program.equality_value, program.row_lower]),
        row_upper=np.concatenate([program.equality_value, program.row_upper]),
        column_lower=program.column_lower,
        column_upper=program.column_upper,
        row_names=tuple(f"r{k}" for k in range(rows)),
        column_names=tuple(f"c{k}" for k in range(columns)),
    )
    return solve_lp(feasibility).status is Status.INFEASIBLE


def _nothing(status: Status, solver: str) -> QpSolution:
    empty = np.empty(0)
    return QpSolution(status, math.nan, math.nan, empty, empty, empty, empty, solver)


def solve_qp_with_piqp(program: QuadraticProgram) -> QpSolution:
    """Solve with PIQP."""
    solver = piqp.SparseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_duality_gap_abs = _TOLERANCE
    settings.eps_rel = settings.eps_duality_gap_rel = _TOLERANCE
    settings.max_iter = _ITERATIONS
    solver.setup(
        program.hessian,
        program.cost,
        sp.csc_matrix(program.equality),
        program.equality_value,
        sp.csc_matrix(program.rows),
        program.row_lower,
        program.row_upper,
        program.column_lower,
        program.column_upper,
    )
    ended = solver.solve()
    result = solver.result
    info = result.info
    if ended == piqp.PIQP_PRIMAL_INFEASIBLE:
        return _nothing(Status.INFEASIBLE, PIQP)
    if ended == piqp.PIQP_DUAL_INFEASIBLE:
        return _nothing(Status.UNBOUNDED, PIQP)
    if ended != piqp.PIQP_SOLVED:
        worst = max(info.primal_res, info.dual_res, info.duality_gap / max(1.0, abs(info.primal_obj)))
        if ended != piqp.PIQP_MAX_ITER_REACHED or not worst <= _NEAR:
            return _nothing(Status.NO_INCUMBENT, PIQP)
    return QpSolution(
        status=Status.PROVEN_OPTIMAL,
        objective=float(info.primal_obj),
        bound=float(min(info.primal_obj, info.dual_obj)),
        columns=np.array(result.x),
        equality_multipliers=-np.array(result.y),
        row_multipliers=np.array(result.z_l) - np.array(result.z_u),
        column_multipliers=np.array(result.z_bl) - np.array(result.z_bu),
        solver=PIQP,
    )


def solve_qp_with_clarabel(program: QuadraticProgram) -> QpSolution:
    """Solve with Clarabel; every finite side becomes a row of one nonnegative cone."""
    width = program.cost.size
    identity = sp.eye_array(width, format="csr")
    parts = (
        (program.rows, program.row_upper, 1.0),
        (program.rows, program.row_lower, -1.0),
        (identity, program.column_upper, 1.0),
        (identity, program.column_lower, -1.0),
    )
    kept = [np.flatnonzero(np.isfinite(side)) for _, side, _ in parts]
    sides: Any = [sign * matrix[keep, :] for (matrix, _, sign), keep in zip(parts, kept, strict=True)]
    limits = [sign * side[keep] for (_, side, sign), keep in zip(parts, kept, strict=True)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = _TOLERANCE
    settings.presolve_enable = False
    solver = clarabel.DefaultSolver(
        program.hessian,
        program.cost,
        sp.csc_matrix(sp.vstack([program.equality, *sides])),
        np.concatenate([program.equality_value, *limits]),
        [
            clarabel.ZeroConeT(program.equality_value.size),
            clarabel.NonnegativeConeT(sum(keep.size for keep in kept)),
        ],
        settings,
    )
    answer = solver.solve()
    ended = str(answer.status)
    if ended in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
        return _nothing(Status.INFEASIBLE, CLARABEL)
    if ended in ("DualInfeasible", "AlmostDualInfeasible"):
        return _nothing(Status.UNBOUNDED, CLARABEL)
    if ended not in ("Solved", "AlmostSolved"):
        return _nothing(Status.NO_INCUMBENT, CLARABEL)
    duals = np.array(answer.z)
    cuts = np.cumsum([program.equality_value.size, *(keep.size for keep in kept)])
    row_multipliers, column_multipliers = np.zeros(program.row_lower.size), np.zeros(width)
    for target, keep, sign, start, stop in zip(
        (row_multipliers, row_multipliers, column_multipliers, column_multipliers),
        kept,
        (-1.0, 1.0, -1.0, 1.0),
        cuts[:-1],
        cuts[1:],
        strict=True,
    ):
        target[keep] += sign * duals[start:stop]
    return QpSolution(
        status=Status.PROVEN_OPTIMAL,
        objective=float(answer.obj_val),
        bound=float(min(answer.obj_val, answer.obj_val_dual)),
        columns=np.array(answer.x),
        equality_multipliers=-duals[: cuts[0]],
        row_multipliers=row_multipliers,
        column_multipliers=column_multipliers,
        solver=CLARABEL,
    )
