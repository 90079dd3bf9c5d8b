"""Convex quadratic programs: PIQP first, Clarabel where PIQP gives up.

Both are interior-point methods that are exact to about 1e-9 in well-scaled data. PIQP (proximal, so that
dependent rows do no harm) is the faster one by far; Clarabel is the second opinion. Neither is believed about
its bound, whose error is a residual times whatever multiplies it: the bound is computed from the multipliers
by weak duality (:func:`_proven_bound`). Nor is either believed when it says that a program has no point: the
constraints are linear, so HiGHS has the last word on that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import clarabel
import numpy as np
import piqp
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.solvers.tuning import TUNING, Effort
from ppsm.status import Status

PIQP = f"PIQP {version('piqp')}"
CLARABEL = f"Clarabel {version('clarabel')}"


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
        rows = columns = np.arange(self.cost.size)
        values = 2.0 * self.curvature
        if self.cross is not None:
            # Entries that happen to be zero stay: programs that differ in numbers only share one pattern.
            cross = self.cross.tocoo()
            rows, columns = np.concatenate([rows, cross.row]), np.concatenate([columns, cross.col])
            values = np.concatenate([values, cross.data])
        return sp.csc_matrix((values, (rows, columns)), shape=(self.cost.size, self.cost.size))

    def curve(self, columns: FloatArray) -> FloatArray:
        """The gradient of the quadratic part."""
        slopes = 2.0 * self.curvature * columns
        return slopes if self.cross is None else slopes + self.cross @ columns + self.cross.T @ columns


@dataclass(frozen=True, eq=False)
class QpSolution:
    """A solved QP; ``bound`` is proven by the multipliers, see :func:`_proven_bound`.

    Multipliers are signed so that the gradient is ``equality' u + rows' v`` and what active column bounds
    add: a lower side that is active has a positive one.
    """

    status: Status
    objective: float
    bound: float
    columns: FloatArray
    equality_multipliers: FloatArray
    row_multipliers: FloatArray
    solver: str


def solve_qp(program: QuadraticProgram, workspace: "QpWorkspace | None" = None) -> QpSolution:
    """Solve a QP; one that both solvers fail on, or disagree with HiGHS about, has no verdict.

    The status is then ``NO_INCUMBENT``. Programs that share their matrices may share a workspace.
    """
    solution = (workspace or QpWorkspace()).solve(program)
    if solution.status is Status.NO_INCUMBENT:
        solution = QpWorkspace(TUNING.again).solve(program)
    if solution.status is Status.PROVEN_OPTIMAL:
        return solution
    solution = solve_qp_with_clarabel(program)
    if solution.status is Status.INFEASIBLE and not _has_no_point(program):
        return _nothing(Status.NO_INCUMBENT, CLARABEL)
    return solution


@dataclass(frozen=True, eq=False)
class ConvexSolution:
    """A solved ``min 1/2 x' H x + c' x`` over a linear program's rows and columns, in its own units."""

    status: Status
    objective: float
    columns: FloatArray
    prices: FloatArray
    reduced_costs: FloatArray
    solver: str


def solve_convex(
    linear: LinearProgram, hessian: SparseMatrix, solve: Callable[[QuadraticProgram], QpSolution] = solve_qp
) -> ConvexSolution:
    """Solve a quadratic program in whatever units it comes: here it is counted in units of its own size.

    Columns are scaled to a curvature of about one, rows to a largest entry of about one, then quantities and
    costs to a usual size, all by powers of two.
    """
    bent = np.asarray(hessian.diagonal())
    column_unit = _power_of_two(1.0 / np.sqrt(np.where(bent > 0, bent, 1.0)))
    matrix = sp.csr_array(linear.matrix @ sp.diags_array(column_unit))
    sizes = _row_sizes(matrix)
    row_unit = _power_of_two(1.0 / np.where(sizes > 0, sizes, 1.0))
    matrix = sp.csr_array(sp.diags_array(row_unit) @ matrix)
    rows = row_unit * linear.row_lower, row_unit * linear.row_upper
    bounds = linear.column_lower / column_unit, linear.column_upper / column_unit
    quantity = _size_of(*rows, *bounds)
    cost = linear.cost * column_unit
    curved = sp.csr_array(sp.diags_array(column_unit) @ hessian @ sp.diags_array(column_unit))
    price = _size_of(cost, quantity * curved.data)
    equal = linear.row_lower == linear.row_upper
    found = solve(
        QuadraticProgram(
            curvature=0.5 * curved.diagonal() * (quantity / price),
            cost=cost / price,
            equality=matrix[equal, :],
            equality_value=rows[1][equal] / quantity,
            rows=matrix[~equal, :],
            row_lower=rows[0][~equal] / quantity,
            row_upper=rows[1][~equal] / quantity,
            column_lower=bounds[0] / quantity,
            column_upper=bounds[1] / quantity,
            cross=sp.csr_array(sp.triu(curved, 1) * (quantity / price)),
        )
    )
    if found.status is not Status.PROVEN_OPTIMAL:
        nothing = np.empty(0)
        return ConvexSolution(found.status, math.nan, nothing, nothing, nothing, found.solver)
    prices = np.zeros(equal.size)
    prices[equal], prices[~equal] = found.equality_multipliers, found.row_multipliers
    prices *= price * row_unit
    columns = quantity * column_unit * found.columns
    reduced = np.asarray(linear.cost + hessian @ columns - linear.matrix.T @ prices)
    value = quantity * price * found.objective
    return ConvexSolution(found.status, value, columns, prices, reduced, found.solver)


def _size_of(*numbers: FloatArray) -> float:
    """A power of two in which the largest finite number is about 8.

    In smaller units the solvers' absolute tolerances let go of complementarity earlier.
    """
    every = np.abs(np.concatenate(numbers))
    largest = float(every[np.isfinite(every)].max(initial=0.0))
    return float(_power_of_two(np.array([largest]))[0] / 8) if largest > 0 else 1.0


def _power_of_two(values: FloatArray) -> FloatArray:
    return np.asarray(2.0 ** np.round(np.log2(values)))


def _row_sizes(matrix: SparseMatrix) -> FloatArray:
    return np.asarray(abs(matrix).max(axis=1).toarray()).ravel() if matrix.shape[0] else np.empty(0)


def _has_no_point(program: QuadraticProgram) -> bool:
    """Whether HiGHS proves that the constraints have no common point."""
    feasibility = LinearProgram.of(
        np.zeros(program.cost.size),
        sp.csr_array(sp.vstack([program.equality, program.rows])),
        row_lower=np.concatenate([program.equality_value, program.row_lower]),
        row_upper=np.concatenate([program.equality_value, program.row_upper]),
        column_lower=program.column_lower,
        column_upper=program.column_upper,
    )
    return solve_lp(feasibility).status is Status.INFEASIBLE


def _nothing(status: Status, solver: str) -> QpSolution:
    empty = np.empty(0)
    return QpSolution(status, math.nan, math.nan, empty, empty, empty, solver)


class QpWorkspace:
    """A PIQP solver that stays alive: the analysis of the matrices is kept while only numbers change.

    Programs have the same structure when they hold the same matrix objects and the same bounds are finite.
    """

    def __init__(self, effort: Effort = TUNING.first) -> None:
        self._effort = effort
        self._solver: Any = None
        self._last: QuadraticProgram | None = None

    def solve(self, program: QuadraticProgram) -> QpSolution:
        """Solve with PIQP."""
        parts = {
            "P": program.hessian,
            "c": program.cost,
            "A": sp.csc_matrix(program.equality),
            "b": program.equality_value,
            "G": sp.csc_matrix(program.rows),
            "h_l": program.row_lower,
            "h_u": program.row_upper,
            "x_l": program.column_lower,
            "x_u": program.column_upper,
        }
        if self._last is not None and _same_structure(self._last, program):
            # PIQP 0.6 scales new numbers wrongly unless A and G are among them (tests/canaries).
            self._solver.update(**parts)
        else:
            self._solver = _piqp(self._effort)
            self._solver.setup(**parts)
        self._last = program
        return _read_piqp(self._solver, program)


def _same_structure(one: QuadraticProgram, other: QuadraticProgram) -> bool:
    return (
        one.equality is other.equality
        and one.rows is other.rows
        and (one.cross is None) == (other.cross is None)
        and all(
            np.array_equal(np.isfinite(before), np.isfinite(after))
            for before, after in (
                (one.row_lower, other.row_lower),
                (one.row_upper, other.row_upper),
                (one.column_lower, other.column_lower),
                (one.column_upper, other.column_upper),
            )
        )
    )


def _piqp(effort: Effort) -> Any:
    solver = piqp.SparseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_duality_gap_abs = TUNING.qp_tolerance
    settings.eps_rel = settings.eps_duality_gap_rel = TUNING.qp_tolerance
    settings.rho_init, settings.delta_init = effort.primal, effort.dual
    settings.max_iter = effort.steps
    settings.preconditioner_iter = 0  # programs come scaled
    return solver


def _read_piqp(solver: Any, program: QuadraticProgram) -> QpSolution:
    ended = solver.solve()
    result = solver.result
    if ended == piqp.PIQP_PRIMAL_INFEASIBLE:
        return _nothing(Status.INFEASIBLE, PIQP)
    if ended == piqp.PIQP_DUAL_INFEASIBLE:
        return _nothing(Status.UNBOUNDED, PIQP)
    if ended not in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED):
        return _nothing(Status.NO_INCUMBENT, PIQP)
    solution = _solution(
        program,
        objective=float(result.info.primal_obj),
        columns=np.array(result.x),
        equality_multipliers=-np.array(result.y),
        row_multipliers=np.array(result.z_l) - np.array(result.z_u),
        solver=PIQP,
    )
    open_gap = (solution.objective - solution.bound) / max(1.0, abs(solution.objective))
    if ended == piqp.PIQP_SOLVED:
        near = open_gap <= TUNING.content_gap
    else:
        near = max(result.info.primal_res, open_gap) <= TUNING.near_gap
    return solution if near else _nothing(Status.NO_INCUMBENT, PIQP)


def _solution(
    program: QuadraticProgram,
    *,
    objective: float,
    columns: FloatArray,
    equality_multipliers: FloatArray,
    row_multipliers: FloatArray,
    solver: str,
) -> QpSolution:
    bound = _proven_bound(program, columns, equality_multipliers, row_multipliers)
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return _nothing(Status.NO_INCUMBENT, solver)
    return QpSolution(
        status=Status.PROVEN_OPTIMAL,
        objective=objective,
        bound=min(objective, bound),
        columns=columns,
        equality_multipliers=equality_multipliers,
        row_multipliers=row_multipliers,
        solver=solver,
    )


def _proven_bound(
    program: QuadraticProgram, columns: FloatArray, equality: FloatArray, rows: FloatArray
) -> float:
    """A lower bound by weak duality, for any multipliers and columns however inexact.

    The quadratic part is at least its tangent at ``columns``; what the multipliers then leave of the cost is
    least at a bound of each column. A column x without that bound has nothing left but a residual, and no
    more is claimed than for points with at most ``2 |x| + 1`` there. Farther ones are held back by convexity
    alone: one s times as far is lower than the bound by at most s times the gap.
    """
    usable = np.isfinite(np.where(rows > 0.0, program.row_lower, program.row_upper))
    rows = np.where(usable, rows, 0.0)
    sides = np.where(rows > 0.0, program.row_lower, program.row_upper)
    slopes = program.curve(columns)
    left = slopes + program.cost - program.equality.T @ equality - program.rows.T @ rows
    ends = np.where(left > 0.0, program.column_lower, program.column_upper)
    reach = 2.0 * np.abs(columns) + 1.0
    ends = np.where(np.isfinite(ends), ends, -np.sign(left) * reach)
    right_hand_sides = equality @ program.equality_value + rows[usable] @ sides[usable]
    return float(right_hand_sides + left @ ends - 0.5 * slopes @ columns)


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
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = TUNING.qp_tolerance
    settings.presolve_enable = False
    # Programs come scaled. Clarabel's own scaling measures residuals in other units: objectives that it
    # called exact to 1e-9 were off by 1e-4 to 1e-3 on networks of 1500 nodes, some by 2 % of the distance.
    settings.equilibrate_enable = False
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
    cuts = np.cumsum([program.equality_value.size, kept[0].size, kept[1].size])
    row_multipliers = np.zeros(program.row_lower.size)
    row_multipliers[kept[0]] -= duals[cuts[0] : cuts[1]]
    row_multipliers[kept[1]] += duals[cuts[1] : cuts[2]]
    return _solution(
        program,
        objective=float(answer.obj_val),
        columns=np.array(answer.x),
        equality_multipliers=-duals[: cuts[0]],
        row_multipliers=row_multipliers,
        solver=CLARABEL,
    )


@dataclass(frozen=True, eq=False)
class MatrixPart:
    """The free columns of the equalities and of the inequalities that limit anything."""

    columns: IntArray
    equalities: IntArray
    inequalities: IntArray
    equality: SparseMatrix
    rows: SparseMatrix
    workspace: QpWorkspace = field(default_factory=QpWorkspace)


class SlicedMatrix:
    """A matrix and the part that was last asked to be kept.

    The cut of a search's root comes back for every vector that is restored against one follower, so it is
    kept, with a solver that has analysed it.
    """

    def __init__(self, matrix: SparseMatrix) -> None:
        self.matrix = matrix
        self._kept: tuple[bytes, MatrixPart] | None = None

    def part(
        self, fixed: BoolArray, row_lower: FloatArray, row_upper: FloatArray, *, keep: bool
    ) -> MatrixPart:
        """The part without the fixed columns, with the rows sorted by what their bounds say."""
        is_equality = row_lower == row_upper
        limits = np.isfinite(row_lower) | np.isfinite(row_upper)
        key = fixed.tobytes() + is_equality.tobytes() + limits.tobytes()
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        columns = np.flatnonzero(~fixed)
        equalities, inequalities = np.flatnonzero(is_equality), np.flatnonzero(~is_equality & limits)
        kept = self.matrix[:, columns] if fixed.any() else self.matrix
        part = MatrixPart(columns, equalities, inequalities, kept[equalities, :], kept[inequalities, :])
        if keep:
            self._kept = key, part
        return part
