"""The convex relaxation of problem (5): complementarity dropped except on sides that are held tight.

Variables are the follower's answer ``x`` and the move ``e = d - reference`` (expanding the square of ``d``
would lose digits). With no tight side the optimum is a lower bound; with the support of a dual solution
tight, every point is optimal for the follower with that dual, so the optimum is a faithful point: an upper
bound.

It is solved in two ways. :class:`Relaxation` is the QP, exact and set up anew each time. :class:`DistanceLp`
is an LP that stays alive, with squares replaced by tangents: a tree over sides asks for thousands of
relaxations that differ in a few bounds, and from the last basis an LP answers in a fifth of a millisecond.
Each square is at least every tangent, so the LP is a lower bound whatever tangents it has, and tangents hold
in every node.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import SolverError
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.qp import MatrixPart, QuadraticProgram, SlicedMatrix, solve_qp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class RelaxedPoint:
    """An optimum of the relaxation: bound, parameter, answer, and what each tight side costs.

    ``side_multipliers[k]`` is the multiplier of tight side k; a negative one says that the objective would
    gain if the side could become slack. ``cut_multipliers`` belong to the extra rows, if there were any, and
    ``half_space_multipliers`` to the half-spaces of the parameter. ``pull`` is what all rows but these cuts
    take of the objective's slope at each entry.
    """

    bound: float
    objective: float
    parameter: FloatArray
    columns: FloatArray
    side_multipliers: FloatArray
    cut_multipliers: FloatArray
    half_space_multipliers: FloatArray
    pull: FloatArray


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

    One ``t >= |e|`` for each weighted move; then for each measured total ``u = sum d - target``, of the
    entries of its zone, and after all of these for each ``s >= |u|``.
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
        entries, weighted, totals = core.reference.size, np.flatnonzero(core.weight), core.totals
        count, width = weighted.size, answers + entries
        each, moves, sizes = np.arange(count), answers + weighted, width + np.arange(count)
        # t - e >= 0, then t + e >= 0
        rows, columns = [each, each, count + each, count + each], [moves, sizes, moves, sizes]
        values = [np.full(count, sign) for sign in (-1.0, 1.0, 1.0, 1.0)]
        lower, upper, cost = np.zeros(2 * count), np.full(2 * count, INFINITY), core.weight[weighted]
        curvature, bounds = np.zeros(count), np.zeros(count)
        if totals is not None:
            zone, member = np.nonzero(totals.members)
            some = np.arange(totals.targets.size)
            u, s, first = width + count + some, width + count + some.size + some, 2 * count + some
            # sum e - u = target - sum reference, then s - u >= 0 and s + u >= 0
            rows += [2 * count + zone, first, *2 * [first + some.size], *2 * [first + 2 * some.size]]
            columns += [answers + member, u, u, s, u, s]
            signs = (1.0, -1.0, -1.0, 1.0, 1.0, 1.0)
            values += [np.full(each.size, sign) for sign, each in zip(signs, columns[-6:], strict=True)]
            off, nothing = -totals.off(core.reference), np.zeros(some.size)
            lower = np.concatenate([lower, off, nothing, nothing])
            upper = np.concatenate([upper, off, np.full(2 * some.size, INFINITY)])
            curvature = np.concatenate([curvature, nothing + totals.curvature, nothing])
            cost = np.concatenate([cost, nothing, nothing + totals.weight])
            bounds = np.concatenate([bounds, nothing - INFINITY, nothing])
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

    @cached_property
    def optimum(self) -> RelaxedPoint | None:
        """The optimum with no side tight; None where there is none."""
        return self.solve(np.empty(0, dtype=np.int64))

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
        rows, all_rows = core.follower.program.shape[0], self._slices.matrix.shape[0]
        point = RelaxedPoint(
            bound=worth * solution.bound + constant,
            objective=worth * solution.objective + constant,
            parameter=np.clip(core.reference + full[entries], core.lower, core.upper),
            columns=full[:answers],
            side_multipliers=self._side_multipliers(layout.matrix, row_multipliers, tight),
            cut_multipliers=row_multipliers[all_rows:],
            half_space_multipliers=row_multipliers[rows - core.follower.half_spaces : rows],
            pull=np.asarray(self._slices.matrix.T @ row_multipliers[:all_rows])[entries],
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


@dataclass(frozen=True, eq=False)
class NearPoint:
    """An optimum over tangents: what it proves, parameter and answer; multipliers where the LP has them."""

    bound: float
    parameter: FloatArray
    columns: FloatArray
    multipliers: FloatArray | None = None


class DistanceLp:
    """The relaxation of one problem by tangents, those around a parameter vector to begin with.

    A new one is added where the last optimum showed that a square is underestimated; all of them together may
    miss a share of a relative ``gap``.
    """

    def __init__(self, core: Core, around: FloatArray, gap: float) -> None:
        self.core = core
        self._missed = TUNING.missed * max(gap, TUNING.least_gap)
        self._answers, self._entries = core.follower.program.shape[1], core.reference.size
        distance = DistanceColumns.of(core, self._answers)
        self._distance = distance
        curvature = np.concatenate([np.zeros(self._answers), core.curvature, distance.curvature])
        self._curved = np.flatnonzero(curvature)
        self._curvature = curvature[self._curved]
        self._width = curvature.size
        # The objective is counted in units of its own size, so that tolerances mean the same everywhere;
        # where that is not known, since the relaxation misses nothing, costs must not become huge.
        reach = self._moves_at(around)
        size = float(self._curvature @ reach**2 + core.weight @ np.abs(around - core.reference))
        self._unit = max(size, TUNING.least_unit)
        self._lp = PersistentLp(self._program())
        self._lp.skip_presolve()
        self._rows = np.arange(core.follower.program.shape[0] + 1)
        self._columns = np.arange(self._answers)
        widest = float(np.sqrt(self._unit / self._curvature.min())) if self._curved.size else 0.0
        for share in TUNING.first_tangents:
            self._add_tangents(share * widest * np.ones(self._curved.size))
        self._add_tangents(reach)

    def solve(
        self, tight: IntArray, enough: float = INFINITY, *, rounds: int = TUNING.tangent_rounds
    ) -> NearPoint | None:
        """The optimum with some sides tight; None where nothing is left.

        Tangents are added until they miss little of what is missing to a bound that is ``enough``. Where
        there is none below that, there may be no point to look at: the released one stands in for it.
        """
        follower = self.core.follower
        row_lower, row_upper, column_lower, column_upper = follower.bounds(self.core.shift, tight=tight)
        if (column_lower > column_upper).any() or (row_lower > row_upper).any():
            return None  # two sides of one row or column cannot both be tight
        self._lp.set_row_bounds(
            self._rows,
            np.append(row_lower, self.core.value_lower),
            np.append(row_upper, self.core.value_upper),
        )
        self._lp.set_column_bounds(self._columns, column_lower, column_upper)
        self._lp.stop_above((enough - self.core.constant) / self._unit)
        for rest in reversed(range(rounds)):
            solution = self._lp.solve()
            if solution.status is Status.INFEASIBLE:
                return None
            if solution.status is Status.NO_INCUMBENT and np.isfinite(solution.objective):
                return NearPoint(enough, self.core.reference, np.zeros(self._answers))
            if not solution.status.has_answer:
                raise SolverError("the relaxation by tangents has no optimum.")
            bound = self._unit * solution.objective + self.core.constant
            curved = solution.columns[self._curved]
            squares = solution.columns[self._width : self._width + curved.size]
            missed = self._curvature * curved**2 - self._unit * squares
            total = float(np.maximum(0.0, missed).sum())
            least = max(self._missed * abs(bound), self.core.negligible)
            far = TUNING.missed_far * (enough - bound) if enough < INFINITY else 0.0
            if not rest or bound >= enough or total <= max(least, far):
                break
            self._add_tangents(curved, missed > TUNING.missed_by_one * total / max(1, missed.size))
        moves = solution.columns[self._answers : self._answers + self._entries]
        parameter = np.clip(self.core.reference + moves, self.core.lower, self.core.upper)
        answer = solution.columns[: self._answers]
        return NearPoint(bound, parameter, answer, self.multipliers_in(solution.columns))

    def multipliers_in(self, columns: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """The sides' multipliers among the columns of a solution: this LP has none."""
        return None

    def _moves_at(self, parameter: FloatArray) -> FloatArray:
        """The curved columns at a parameter: moves, and for measured totals how far they are missed."""
        moves, totals = parameter - self.core.reference, self.core.totals
        beside = np.zeros(self._distance.cost.size)
        if totals is not None:
            off = totals.off(parameter)
            sizes = beside.size - 2 * off.size
            beside[sizes : sizes + off.size] = off
        return np.asarray(np.concatenate([np.zeros(self._answers), moves, beside])[self._curved])

    def _program(self) -> LinearProgram:
        core, distance, curved = self.core, self._distance, self._curved.size
        market = core.follower.free_parameter_matrix
        extra = distance.cost.size
        rows = sp.vstack([sp.hstack([market, sp.csr_array((market.shape[0], extra))]), distance.matrix])
        nothing = np.zeros(market.shape[0])
        return LinearProgram.of(
            np.concatenate([np.zeros(self._answers), core.slope, distance.cost, np.zeros(curved)])
            / self._unit
            + np.concatenate([np.zeros(self._width), np.ones(curved)]),
            sp.csr_array(sp.hstack([rows, sp.csr_array((rows.shape[0], curved))])),
            row_lower=np.concatenate([nothing, distance.row_lower]),
            row_upper=np.concatenate([nothing, distance.row_upper]),
            column_lower=np.concatenate(
                [
                    core.follower.program.column_lower,
                    core.lower - core.reference,
                    distance.column_lower,
                    np.zeros(curved),
                ]
            ),
            column_upper=np.concatenate(
                [
                    core.follower.program.column_upper,
                    core.upper - core.reference,
                    np.full(extra + curved, INFINITY),
                ]
            ),
        )

    def _add_tangents(self, at: FloatArray, wanted: BoolArray | None = None) -> None:
        """``unit t >= k (2 a x - a^2)`` at points a of the curved columns x."""
        for place in range(self._curved.size) if wanted is None else np.flatnonzero(wanted):
            weights = np.zeros(self._lp.program.shape[1])
            weights[self._width + place] = 1.0
            scale = self._curvature[place] / self._unit
            weights[self._curved[place]] = -2.0 * scale * at[place]
            self._lp.add_row(weights, -scale * at[place] ** 2, INFINITY)
