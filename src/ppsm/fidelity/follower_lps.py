"""LPs that stay alive through a search: the follower, beside a price band, and with its parameter free.

``V_band(d) = max { dual objective at d : dual feasible, prices in the band, some multipliers zero }`` is
the LP in which the follower may also buy any amount of the parameter's goods at the upper end of the band
and sell at the lower end. It is at most ``V(d)``, with equality exactly when some optimal dual lies in the
band; it is unbounded exactly when the band holds no dual solution at all. Leaving a side out of the LP sets
its multiplier to zero.

With its parameter free (:class:`FreeParameterLp`) the follower chooses answer and parameter together, within
public bounds and value band. The optimum bounds what a node can still reach, and feasibility settles in a
millisecond what an interior-point method needs many iterations to find out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.fidelity.scaled import Core, ScaledFollower
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A dual in the band: its value at a parameter, the sides' multipliers, the entries' prices."""

    value: float
    multipliers: FloatArray
    prices: FloatArray
    row_prices: FloatArray

    def support(self, inequalities: IntArray) -> IntArray:
        """The inequalities with a positive multiplier: tight wherever this dual is optimal."""
        return inequalities[self.multipliers[inequalities] > TUNING.zero_multiplier]


class FreeParameterLp:
    """Costs of answers ``x`` and parameters ``d``, minimised over what some tight sides allow."""

    def __init__(self, follower: ScaledFollower) -> None:
        self.follower = follower
        rows, width = follower.free_parameter_matrix.shape
        self._rows, self._columns = np.arange(rows), np.arange(width)
        # Every solve gives cost and bounds of its own.
        self._lp = PersistentLp(LinearProgram.of(np.zeros(width), follower.free_parameter_matrix))

    def least(self, core: Core, tight: IntArray, cost: FloatArray | None = None) -> float:
        """The least cost of (x, d) with some sides tight; without a cost any will do.

        Infinite where nothing is left, minus infinity where the LP leaves it open.
        """
        try:
            solution = self._solved(core, tight, np.zeros(self._columns.size) if cost is None else cost)
        except SolverError:
            return -INFINITY
        if solution.status is Status.INFEASIBLE:
            return INFINITY
        return solution.objective if solution.status.has_answer else -INFINITY

    def cheapest(self, core: Core, tight: IntArray, cost: FloatArray) -> FloatArray | None:
        """The parameter of a cheapest (x, d) with some sides tight; None where the LP has no optimum."""
        try:
            solution = self._solved(core, tight, cost)
        except SolverError:
            return None
        found = solution.columns[self._columns.size - core.reference.size :]
        return np.clip(found, core.lower, core.upper) if solution.status.has_answer else None

    def _solved(self, core: Core, tight: IntArray, cost: FloatArray) -> LpSolution:
        self._lp.set_cost(cost)
        nothing = np.zeros(self._rows.size - 1)
        row_lower, row_upper, column_lower, column_upper = self.follower.bounds(nothing, tight=tight)
        self._lp.set_row_bounds(
            self._rows, np.append(row_lower, core.value_lower), np.append(row_upper, core.value_upper)
        )
        self._lp.set_column_bounds(
            self._columns,
            np.concatenate([column_lower, core.lower]),
            np.concatenate([column_upper, core.upper]),
        )
        return self._lp.solve()

    def is_feasible(self, core: Core, tight: IntArray) -> bool:
        """Whether any answer and parameter hold these sides tight; True where the LP leaves it open."""
        return self.least(core, tight) < INFINITY


class FollowerLps:
    """The persistent LPs of one scaled follower; one object serves one thread, and many problems in turn."""

    def __init__(self, follower: ScaledFollower) -> None:
        self.follower = follower
        program = follower.program
        self._rows = np.arange(program.shape[0])
        self._columns = np.arange(program.shape[1])
        cost_row = sp.csr_array(program.cost[None, :])
        self._plain = PersistentLp(program.with_rows(cost_row, names=("value",)))
        # Two copies: one stays near the point that is looked at, one near the tangent that children are
        # probed with, and each starts from its own last basis.
        self._near, self._probing = (PersistentLp(_with_trades(follower)) for _ in range(2))
        # A probe takes a side away and the next one gives it back. On networks of 1500 junctions the primal
        # simplex needs a fifth of the dual's time for that, on the Northeast's about the same.
        self._probing.use_primal_simplex()
        entries = follower.parameter_map.shape[1]
        self._trades = program.shape[1] + np.arange(2 * entries)
        self.inequalities = np.concatenate([follower.row_sides, follower.column_sides])

    @cached_property
    def free_parameter(self) -> FreeParameterLp:
        """The LP over answers and parameters; made when first needed."""
        return FreeParameterLp(self.follower)

    def set_band(self, lower: FloatArray, upper: FloatArray) -> None:
        """Give the prices at which the follower may buy (upper) and sell (lower); infinite means no trade."""
        prices = np.concatenate([upper, -lower])
        allowed = np.isfinite(prices)
        cost = np.concatenate([self.follower.program.cost, np.where(allowed, prices, 0.0)])
        limit = np.where(allowed, INFINITY, 0.0)
        for lp in (self._near, self._probing):
            lp.set_cost(cost)
            lp.set_column_bounds(self._trades, np.zeros(limit.size), limit)

    def value(
        self, shift: FloatArray, tight: IntArray | None = None, at_least: float = -INFINITY
    ) -> tuple[float, FloatArray] | None:
        """V at a shift and an answer that attains it, with some sides tight; None where infeasible.

        With ``at_least`` the answer is the cheapest among those that cost no less.
        """
        row_lower, row_upper, column_lower, column_upper = self.follower.bounds(shift, tight=tight)
        self._let_go_half_spaces(row_lower)
        rows = np.append(self._rows, self._rows.size)
        self._plain.set_row_bounds(rows, np.append(row_lower, at_least), np.append(row_upper, INFINITY))
        self._plain.set_column_bounds(self._columns, column_lower, column_upper)
        solution = self._plain.solve()
        if solution.status is Status.UNBOUNDED:
            return -INFINITY, np.empty(0)
        return (solution.objective, solution.columns) if solution.status.has_answer else None

    def dual(
        self, shift: FloatArray, zero: IntArray | None = None, *, probing: bool = False
    ) -> DualPoint | None:
        """The best dual in the band at a shift, some multipliers zero; None where there is none at all.

        Its value is infinite where the rows cannot be met at that shift whatever is bought and sold.
        """
        lp = self._probing if probing else self._near
        return self._solve_band(lp, *self.follower.bounds(shift, dropped=zero))

    def cheapest_dual(self, prices_of_sides: FloatArray, zero: IntArray) -> DualPoint | None:
        """The dual in the band that minimises ``prices_of_sides' multipliers``, some multipliers zero.

        By LP duality that is the band LP with each side's bound moved to minus its price.
        """
        program, sides = self.follower.program, self.follower.sides
        row_lower = np.where(np.isfinite(program.row_lower), 0.0, -INFINITY)
        row_upper = np.where(np.isfinite(program.row_upper), 0.0, INFINITY)
        column_lower = np.where(np.isfinite(program.column_lower), 0.0, -INFINITY)
        column_upper = np.where(np.isfinite(program.column_upper), 0.0, INFINITY)
        dropped = np.zeros(sides.count, dtype=np.bool_)
        dropped[zero] = True
        moved = np.where(dropped, INFINITY, prices_of_sides)
        for lower, upper, here in (
            (row_lower, row_upper, self.follower.row_sides),
            (column_lower, column_upper, self.follower.column_sides),
        ):
            below, above = here[sides.sign[here] > 0], here[sides.sign[here] < 0]
            lower[sides.index[below]] = -moved[below]
            upper[sides.index[above]] = moved[above]
        return self._solve_band(self._near, row_lower, row_upper, column_lower, column_upper)

    def _solve_band(
        self,
        lp: PersistentLp,
        row_lower: FloatArray,
        row_upper: FloatArray,
        column_lower: FloatArray,
        column_upper: FloatArray,
    ) -> DualPoint | None:
        self._let_go_half_spaces(row_lower)
        lp.set_row_bounds(self._rows, row_lower, row_upper)
        lp.set_column_bounds(self._columns, column_lower, column_upper)
        solution = lp.solve()
        if solution.status is Status.INFEASIBLE:
            return DualPoint(
                INFINITY,
                np.zeros(self.follower.sides.count),
                np.zeros(self._trades.size // 2),
                np.zeros(self._rows.size),
            )
        if not solution.status.has_answer:
            return None
        reduced = solution.reduced_costs[: self._columns.size]
        return DualPoint(
            value=solution.objective,
            multipliers=self.follower.multipliers(solution.prices, reduced),
            prices=np.asarray(self.follower.transposed_map @ solution.prices),
            row_prices=solution.prices,
        )

    def _let_go_half_spaces(self, row_lower: FloatArray) -> None:
        """Half-spaces limit who chooses the parameter; here it is given, or a price is asked for."""
        row_lower[row_lower.size - self.follower.half_spaces :] = -INFINITY


def _with_trades(follower: ScaledFollower) -> LinearProgram:
    """The follower's LP with columns that buy and sell each entry of the parameter; no trade yet."""
    goods = follower.parameter_map
    trades = np.zeros(2 * goods.shape[1])
    return follower.program.with_columns(trades, trades, matrix=sp.hstack([goods, -goods]))
