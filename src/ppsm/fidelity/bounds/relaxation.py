"""The convex relaxation of problem (5): complementarity dropped except on sides that are held tight.

Variables are the follower's answer ``x`` and the move ``e = d - reference`` (expanding the square of ``d``
would lose digits). With no tight side the optimum is a lower bound; with the support of a dual solution
tight, every point is optimal for the follower with that dual, so the optimum is a faithful point: an upper
bound.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.fidelity.scaled import Core, MatrixPart, SlicedMatrix
from ppsm.fidelity.tuning import TUNING
from ppsm.solvers.qp import QuadraticProgram, solve_qp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class RelaxedPoint:
    """An optimum of the relaxation: bound, parameter, answer, and what each tight side costs.

    ``side_multipliers[k]`` is the multiplier of tight side k; a negative one says that the objective would
    gain if the side could become slack. ``cut_multipliers`` belong to the extra rows, if there were any.
    """

    bound: float
    objective: float
    parameter: FloatArray
    columns: FloatArray
    side_multipliers: FloatArray
    cut_multipliers: FloatArray


@dataclass(frozen=True, eq=False)
class _Layout:
    """A QP without its fixed columns, tight rows among the equalities, and where its parts came from."""

    program: QuadraticProgram
    matrix: SparseMatrix
    is_fixed: BoolArray
    values: FloatArray
    part: MatrixPart


@dataclass(frozen=True, eq=False)
class DistanceColumns:
    """Columns and rows that leave the distance in single columns: beside answers and moves, after the market.

    One ``t >= |e|`` for each weighted move, and for a measured total ``u = sum d - target`` and ``s >= |u|``.
    """

    matrix: SparseMatrix
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    curvature: FloatArray
    cost: FloatArray

    @classmethod
    def of(cls, core: Core, answers: int) -> "DistanceColumns":
        """Those of a problem; none where it is a separable sum of squares."""
        entries, weighted, total = core.reference.size, np.flatnonzero(core.weight), core.total
        count, width = weighted.size, answers + entries
        each, moves, sizes = np.arange(count), answers + weighted, width + np.arange(count)
        # t - e >= 0, then t + e >= 0
        rows, columns = [each, each, count + each, count + each], [moves, sizes, moves, sizes]
        values = [np.full(count, sign) for sign in (-1.0, 1.0, 1.0, 1.0)]
        lower, upper, cost = np.zeros(2 * count), np.full(2 * count, INFINITY), core.weight[weighted]
        curvature, bounds = np.zeros(count), np.zeros(count)
        if total is not None:
            # sum e - u = target - sum reference, then s - u >= 0 and s + u >= 0
            off, u, s = total.target - float(core.reference.sum()), width + count, width + count + 1
            rows += [np.full(entries + 1, 2 * count), 2 * count + np.array([1, 1, 2, 2])]
            columns += [np.append(answers + np.arange(entries), u), np.array([u, s, u, s])]
            values += [np.append(np.ones(entries), -1.0), np.array([-1.0, 1.0, 1.0, 1.0])]
            lower, upper = np.append(lower, [off, 0.0, 0.0]), np.append(upper, [off, INFINITY, INFINITY])
            curvature, cost = (
                np.append(curvature, [total.curvature, 0.0]),
                np.append(cost, [0.0, total.weight]),
            )
            bounds = np.append(bounds, [-INFINITY, 0.0])
        places = np.concatenate(rows), np.concatenate(columns)
        shape = (lower.size, width + cost.size)
        matrix: SparseMatrix = sp.csr_array((np.concatenate(values), places), shape=shape)
        return cls(matrix, lower, upper, bounds, curvature, cost)


class Relaxation:
    """Builds and solves the relaxations of one problem; the matrices are sliced, never rebuilt."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.failures = 0
        self._answers, self._entries = core.follower.program.shape[1], core.reference.size
        self._distance = DistanceColumns.of(core, self._answers)
        self._slices = core.follower.free_parameter_slices
        if self._distance.cost.size:
            market = self._slices.matrix
            padding = sp.csr_array((market.shape[0], self._distance.cost.size))
            parts = [sp.hstack([market, padding]), self._distance.matrix]
            self._slices = SlicedMatrix(sp.vstack(parts, format="csr"))

    def solve(
        self, tight: IntArray, cuts: SparseMatrix | None = None, cut_lower: FloatArray | None = None
    ) -> RelaxedPoint | None:
        """Solve with some sides tight and extra rows ``cuts d >= cut_lower``; None where infeasible."""
        layout = self._layout(tight, cuts, cut_lower)
        if layout is None:
            return None
        found = self._solve_in_units(layout, tight)
        if found is None:
            return None
        point, size = found
        small = size < TUNING.small_objective
        imprecise = size < 1.0 and point.objective - point.bound > TUNING.imprecise * size
        if size > self.core.negligible and (small or imprecise):
            finer = self._solve_in_units(layout, tight, math.sqrt(size) if small else 1.0, size)
            point = finer[0] if finer is not None else point
        return point

    def _layout(
        self, tight: IntArray, cuts: SparseMatrix | None, cut_lower: FloatArray | None
    ) -> _Layout | None:
        core, distance = self.core, self._distance
        extra = distance.cost.size
        row_lower, row_upper, column_lower, column_upper = core.follower.bounds(core.shift, tight=tight)
        lower = np.concatenate([column_lower, core.lower - core.reference, distance.column_lower])
        upper = np.concatenate([column_upper, core.upper - core.reference, np.full(extra, INFINITY)])
        row_lower = np.concatenate([row_lower, [core.value_lower], distance.row_lower])
        row_upper = np.concatenate([row_upper, [core.value_upper], distance.row_upper])
        if (lower > upper).any() or (row_lower > row_upper).any():
            return None  # two sides of one row or column cannot both be tight
        slices = self._slices
        if cuts is not None and cut_lower is not None:
            before, after = sp.csr_array((cuts.shape[0], self._answers)), sp.csr_array((cuts.shape[0], extra))
            cut = sp.hstack([before, cuts, after])
            slices = SlicedMatrix(sp.vstack([slices.matrix, cut], format="csr"))
            row_lower = np.concatenate([row_lower, cut_lower - cuts @ core.reference])
            row_upper = np.concatenate([row_upper, np.full(cut_lower.size, INFINITY)])
        fixed = lower == upper
        values = np.where(fixed, lower, 0.0)
        part = slices.part(fixed, row_lower, row_upper, keep=not tight.size)
        if fixed.any():
            moved = slices.matrix @ values
            row_lower, row_upper = row_lower - moved, row_upper - moved
        program = QuadraticProgram(
            curvature=np.concatenate([np.zeros(self._answers), core.curvature, distance.curvature])[~fixed],
            cost=np.concatenate([np.zeros(self._answers), core.slope, distance.cost])[~fixed],
            equality=part.equality,
            equality_value=row_lower[part.equalities],
            rows=part.rows,
            row_lower=row_lower[part.inequalities],
            row_upper=row_upper[part.inequalities],
            column_lower=lower[~fixed],
            column_upper=upper[~fixed],
        )
        return _Layout(program, slices.matrix, fixed, values, part)

    def _solve_in_units(
        self, layout: _Layout, tight: IntArray, unit: float = 1.0, worth: float = 1.0
    ) -> tuple[RelaxedPoint, float] | None:
        """Solve with quantities in a unit and the objective in another; also its moving part's size."""
        solution = solve_qp(_in_units(layout.program, unit, worth), layout.part.workspace)
        if solution.status is not Status.PROVEN_OPTIMAL:
            self.failures += solution.status is not Status.INFEASIBLE
            return None
        core, answers = self.core, self._answers
        full = layout.values.copy()
        full[~layout.is_fixed] = unit * solution.columns
        if np.abs(full).max(initial=0.0) > TUNING.too_far:
            self.failures += 1
            return None
        entries = slice(answers, answers + self._entries)
        fixed_move = layout.values[entries]
        constant = core.constant + float((core.curvature * fixed_move**2 + core.slope * fixed_move).sum())
        row_multipliers = np.zeros(layout.matrix.shape[0])
        row_multipliers[layout.part.equalities] = worth / unit * solution.equality_multipliers
        row_multipliers[layout.part.inequalities] = worth / unit * solution.row_multipliers
        point = RelaxedPoint(
            bound=worth * solution.bound + constant,
            objective=worth * solution.objective + constant,
            parameter=np.clip(core.reference + full[entries], core.lower, core.upper),
            columns=full[:answers],
            side_multipliers=self._side_multipliers(layout.matrix, row_multipliers, tight),
            cut_multipliers=row_multipliers[self._slices.matrix.shape[0] :],
        )
        return point, worth * abs(solution.objective)

    def _side_multipliers(
        self, matrix: SparseMatrix, row_multipliers: FloatArray, tight: IntArray
    ) -> FloatArray:
        sides = self.core.follower.sides
        # A fixed column's multiplier is the gradient (zero for answers) minus what the rows take of it.
        column_multipliers = -(matrix.T @ row_multipliers)
        of_row, of_column = tight[sides.is_row[tight]], tight[~sides.is_row[tight]]
        found = np.zeros(sides.count)
        found[of_row] = sides.sign[of_row] * row_multipliers[sides.index[of_row]]
        found[of_column] = sides.sign[of_column] * column_multipliers[sides.index[of_column]]
        return found


def _in_units(program: QuadraticProgram, unit: float, worth: float) -> QuadraticProgram:
    """The same program with quantities divided by ``unit`` and the objective by ``worth``."""
    if unit == worth == 1.0:
        return program
    return replace(
        program,
        curvature=program.curvature * (unit**2 / worth),
        cost=program.cost * (unit / worth),
        equality_value=program.equality_value / unit,
        row_lower=program.row_lower / unit,
        row_upper=program.row_upper / unit,
        column_lower=program.column_lower / unit,
        column_upper=program.column_upper / unit,
    )
