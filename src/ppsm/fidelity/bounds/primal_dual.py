"""The relaxation over answers, parameters *and* duals, tied together by penalised strong duality.

At a faithful point some dual in the band has no duality gap, ``c'x = g(m) + y'd``. For every penalty ``mu
>= 0``

    min  sum w e^2 + mu (c'x - g(m) - y'd)

over feasible ``(x, e)`` and dual feasible ``(m, y)`` with ``y`` in the band is therefore a lower bound, and
it is exact once the penalty is large enough to close the gap. The product ``y'e`` is not convex; writing
``e'`` for ``e - mu y / 2w`` the objective is ``sum w e'^2`` minus ``mu^2/4 sum y^2 / w`` plus linear terms,
and the concave square is replaced by its chord over ``[low, high]``. What that loses, ``mu^2/4 (y -
low)(high - y) / w``, is quadratic in the width of the band: for bands of 0.1 % one QP usually proves its
own optimum to within 1e-5. Where a public bound holds an entry (noise below zero, say) nothing need be
lost: ``y e <= y e_low + high (e - e_low)`` is exact there.

:class:`PenaltyRange` looks for the penalty with the best bound. :class:`Probe` has cheap bounds for the
children of a node: the objective is convex, so its tangent at the optimum is a lower bound, and the tangent
splits into a part over (answer, parameter) and a part over the duals. Holding one more side tight changes
only the first, setting one more multiplier to zero only the second; either is an LP that starts from the
last basis.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core, ScaledFollower
from ppsm.fidelity.tuning import TUNING
from ppsm.solvers.qp import QuadraticProgram, SlicedMatrix, solve_qp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class PriceBox:
    """An interval for the price of each entry; both ends finite where the primal-dual relaxation is used."""

    lower: FloatArray
    upper: FloatArray

    @property
    def is_bounded(self) -> bool:
        """Whether every interval is finite."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def split(self, entry: int, price: float) -> tuple["PriceBox", "PriceBox"]:
        """The two halves on either side of a price."""
        upper, lower = self.upper.copy(), self.lower.copy()
        upper[entry] = lower[entry] = price
        return PriceBox(self.lower, upper), PriceBox(lower, self.upper)


@dataclass(frozen=True, eq=False)
class PrimalDualPoint:
    """An optimum of the primal-dual relaxation.

    ``gap`` is its duality gap, ``loss`` what convexity costs each entry, and ``ascent`` the bound's
    derivative by the penalty. ``held`` says how each entry's product was treated: -1 and 1 as held at its
    lower and upper bound, 0 by a chord. The tangent of the objective has the slopes ``move_slope`` in the
    move and minus the penalty times ``dual_weight`` in the prices.
    """

    bound: float
    penalty: float
    parameter: FloatArray
    columns: FloatArray
    multipliers: FloatArray
    prices: FloatArray
    gap: float
    loss: FloatArray
    ascent: float
    held: IntArray
    move_slope: FloatArray
    dual_weight: FloatArray


class PrimalDualMatrices:
    """The matrix of the relaxation, columns (x, e, y, m); shared by all problems of a follower."""

    def __init__(self, follower: ScaledFollower) -> None:
        program, sides = follower.program, follower.sides
        rows, columns = program.shape
        entries = follower.parameter_map.shape[1]
        self.matrix: SparseMatrix = sp.block_array(
            [
                [program.matrix, -follower.parameter_map, None, None],
                [None, None, None, follower.stationarity],
                [None, None, -sp.eye_array(entries), follower.entry_prices],
                [sp.csr_array(program.cost[None, :]), None, None, None],
            ],
            format="csr",
        )
        self.entries, self.answers, self.rows = entries, columns, rows
        self.dual_objective = sides.sign * sides.bound
        # Right-hand sides of stationarity and of the definition of prices, and limits of the multipliers.
        self.dual_values = np.concatenate([program.cost, np.zeros(entries)])
        self.dual_limits = np.where(sides.is_free, -INFINITY, 0.0), np.full(sides.count, INFINITY)
        self.duals = columns + 2 * entries
        self.slices = SlicedMatrix(self.matrix)


class PrimalDualRelaxation:
    """Builds and solves the primal-dual relaxations of one least-squares problem with bounded prices."""

    def __init__(self, core: Core, matrices: PrimalDualMatrices) -> None:
        self.core, self.matrices = core, matrices
        self.failures = 0

    def widest(self, box: PriceBox, held: IntArray) -> float:
        """What the chords lose at most: ``mu^2/4`` times this."""
        widths = (box.upper - box.lower) ** 2 / (4.0 * self.core.curvature)
        return float(widths[held == 0].sum())

    def solve(
        self, tight: IntArray, zero: IntArray, box: PriceBox, penalty: float, held: IntArray
    ) -> PrimalDualPoint | None:
        """Solve with sides tight, multipliers zero and prices in a box; None where infeasible."""
        core, parts = self.core, self.matrices
        row_lower, row_upper, column_lower, column_upper = core.follower.bounds(core.shift, tight=tight)
        dual_lower, dual_upper = (limit.copy() for limit in parts.dual_limits)
        dual_upper[zero] = dual_lower[zero] = 0.0
        moves = core.lower - core.reference, core.upper - core.reference
        lower = np.concatenate([column_lower, moves[0], box.lower, dual_lower])
        upper = np.concatenate([column_upper, moves[1], box.upper, dual_upper])
        row_lower = np.concatenate([row_lower, parts.dual_values, [core.value_lower]])
        row_upper = np.concatenate([row_upper, parts.dual_values, [core.value_upper]])
        if (lower > upper).any() or (row_lower > row_upper).any():
            return None
        curvature, cross, cost, constant = self._objective(box, penalty, held)
        fixed = lower == upper
        values = np.where(fixed, lower, 0.0)
        part = parts.slices.part(fixed, row_lower, row_upper, keep=not (tight.size or zero.size))
        free, equalities, inequalities = part.columns, part.equalities, part.inequalities
        moved = parts.matrix @ values
        row_lower, row_upper = row_lower - moved, row_upper - moved
        # A fixed column leaves its products behind as cost of the other factor.
        constant += float(curvature @ values**2 + cost @ values + values @ (cross @ values))
        solution = solve_qp(
            QuadraticProgram(
                curvature=curvature[free],
                cost=(cost + cross @ values + cross.T @ values)[free],
                equality=part.equality,
                equality_value=row_lower[equalities],
                rows=part.rows,
                row_lower=row_lower[inequalities],
                row_upper=row_upper[inequalities],
                column_lower=lower[free],
                column_upper=upper[free],
                cross=cross if not fixed.any() else cross[free, :][:, free],
            ),
            part.workspace,
        )
        if solution.status is not Status.PROVEN_OPTIMAL:
            self.failures += solution.status is not Status.INFEASIBLE
            return None
        full = values.copy()
        full[free] = solution.columns
        if np.abs(full[: parts.answers + parts.entries]).max(initial=0.0) > TUNING.too_far:
            self.failures += 1
            return None
        return self._point(penalty * (solution.bound + constant), full, box, penalty, held)

    def _objective(
        self, box: PriceBox, penalty: float, held: IntArray
    ) -> tuple[FloatArray, SparseMatrix, FloatArray, float]:
        """Curvature, products, cost and constant of the penalised objective, divided by the penalty.

        In that unit multipliers are of the size of answers, so that solvers need no more steps for one
        penalty than for another.
        """
        core, parts = self.core, self.matrices
        entries, answers = parts.entries, parts.answers
        by_chord = held == 0
        quarter = np.where(by_chord, penalty / (4.0 * core.curvature), 0.0)
        # y e <= y e_end + slope (e - e_end), with the price that makes it true on the side of the bound
        end = np.where(held < 0, core.lower, np.where(held > 0, core.upper, core.reference)) - core.reference
        slope = np.where(held < 0, box.upper, np.where(held > 0, box.lower, 0.0))
        width = parts.matrix.shape[1]
        curvature = np.concatenate(
            [np.zeros(answers), core.curvature / penalty, quarter, np.zeros(width - parts.duals)]
        )
        first = answers + np.arange(entries)
        products = np.where(by_chord, -1.0, 0.0)
        cross = sp.csr_array((products, (first, first + entries)), shape=(width, width))
        cost = np.concatenate(
            [
                core.follower.program.cost,
                -slope,
                -(core.reference + end) - quarter * (box.lower + box.upper),
                -parts.dual_objective,
            ]
        )
        constant = float((quarter * box.lower * box.upper).sum() + (slope * end).sum())
        return curvature, cross, cost, constant + core.constant / penalty

    def _point(
        self, bound: float, full: FloatArray, box: PriceBox, penalty: float, held: IntArray
    ) -> PrimalDualPoint:
        core, parts = self.core, self.matrices
        answers, entries = parts.answers, parts.entries
        columns, move = full[:answers], full[answers : answers + entries]
        prices, multipliers = full[answers + entries : parts.duals], full[parts.duals :]
        parameter = np.clip(core.reference + move, core.lower, core.upper)
        gap = float(
            core.follower.program.cost @ columns - parts.dual_objective @ multipliers - prices @ parameter
        )
        chord = 0.25 * (prices - box.lower) * (box.upper - prices) / core.curvature
        # Reads 0 * inf where an entry is not bounded on that side; such entries are never held there.
        with np.errstate(invalid="ignore"):
            low_end = (box.upper - prices) * (parameter - core.lower)
            high_end = (prices - box.lower) * (core.upper - parameter)
        rate = np.where(held < 0, low_end, np.where(held > 0, high_end, penalty * chord))
        rate = np.maximum(0.0, rate)
        middle = 2.0 * prices - box.lower - box.upper
        slope = np.where(held < 0, box.upper, np.where(held > 0, box.lower, prices))
        end = np.where(held < 0, core.lower, core.upper)
        by_chord = core.reference + move - 0.25 * penalty * middle / core.curvature
        return PrimalDualPoint(
            bound=bound,
            penalty=penalty,
            parameter=parameter,
            columns=columns,
            multipliers=multipliers,
            prices=prices,
            gap=max(0.0, gap),
            loss=penalty * rate,
            ascent=max(0.0, gap) - float(np.where(held == 0, 2.0 * rate, rate).sum()),
            held=core.held_at(parameter),
            move_slope=2.0 * core.curvature * move - penalty * slope,
            dual_weight=np.where(held == 0, by_chord, end),
        )

    def chord_loss(self, point: PrimalDualPoint, box: PriceBox) -> float:
        """What the chords of the entries that sit at no bound cost at a point's penalty."""
        chords = 0.25 * (point.prices - box.lower) * (box.upper - point.prices) / self.core.curvature
        return point.penalty**2 * float(np.maximum(0.0, chords[point.held == 0]).sum())


@dataclass
class PenaltyRange:
    """The search for the best penalty: the bound is concave in it, and its derivative is known."""

    low: PrimalDualPoint | None = None
    high: PrimalDualPoint | None = None
    last: PrimalDualPoint | None = None

    def add(self, point: PrimalDualPoint) -> None:
        """Take note of a point: its derivative says on which side of the best penalty it is."""
        self.last = point
        if point.ascent > 0:
            self.low = point
        else:
            self.high = point

    def next_after(
        self, point: PrimalDualPoint, allowed: float, chord_loss: float, *, changed: bool
    ) -> float | None:
        """The penalty to try next, or None where another one is of no use."""
        self.add(point)
        penalty = point.penalty
        if penalty * point.gap <= allowed:
            # Strong duality holds: what is lost are chords, quadratic in the penalty, and wrong guesses of
            # which entries are held at their bounds.
            if chord_loss > allowed:
                smaller = penalty * float(np.sqrt(allowed / chord_loss))
                return smaller if self.low is None else max(smaller, TUNING.penalty_room * self.low.penalty)
            return penalty if changed else None
        if self.low is None or self.high is None:
            if point.ascent <= 0:
                return penalty / TUNING.penalty_retreat
            # The loss is quadratic in the penalty.
            bearable = (f for f in TUNING.penalty_leaps if f**2 * chord_loss <= TUNING.hopeless * allowed)
            factor = next(bearable, None)
            return None if factor is None else factor * penalty
        if self.high.penalty < TUNING.penalty_ratio * self.low.penalty:
            return None
        return float(np.sqrt(self.low.penalty * self.high.penalty))

    def towards_best(self) -> float | None:
        """The penalty at which the tangents on either side of the best one meet; None where they are near."""
        low, high = self.low, self.high
        if low is None:
            return None if high is None else high.penalty / TUNING.best_penalty_step
        if high is None:
            return TUNING.best_penalty_step * low.penalty
        if high.penalty < TUNING.best_penalty_ratio * low.penalty:
            return None
        rise = high.bound - low.bound + low.ascent * low.penalty - high.ascent * high.penalty
        step = TUNING.best_penalty_room * (high.penalty - low.penalty)
        return float(np.clip(rise / (low.ascent - high.ascent), low.penalty + step, high.penalty - step))

    @property
    def shown(self) -> PrimalDualPoint | None:
        """A point at which strong duality fails, if there was one: that shows where to branch."""
        return self.low or self.last


class Probe:
    """Bounds of the children of one node, from the tangent at its optimum."""

    def __init__(
        self, core: Core, lps: FollowerLps, point: PrimalDualPoint, tight: IntArray, zero: IntArray
    ) -> None:
        self.core, self._lps, self._point = core, lps, point
        self._cost = np.concatenate([point.penalty * core.follower.program.cost, point.move_slope])
        # The node's own least value rather than the point's, which is feasible up to a residual only.
        least = lps.free_parameter.least(core, tight, self._cost)
        at_point = float(self._cost @ np.concatenate([point.columns, point.parameter]))
        self._primal_at_point = least if np.isfinite(least) else at_point
        self._shift = core.rows_at(point.dual_weight)
        found = lps.dual(self._shift, zero, probing=True)
        self._dual_at_point = INFINITY if found is None else found.value

    def bound_if_tight(self, tight: IntArray) -> float:
        """A lower bound for the node with these sides tight."""
        least = self._lps.free_parameter.least(self.core, tight, self._cost)
        return self._point.bound + least - self._primal_at_point

    def bound_if_zero(self, zero: IntArray) -> float:
        """A lower bound for the node with these multipliers zero."""
        found = self._lps.dual(self._shift, zero, probing=True)
        if found is None:
            return INFINITY
        return self._point.bound + self._point.penalty * (self._dual_at_point - found.value)
