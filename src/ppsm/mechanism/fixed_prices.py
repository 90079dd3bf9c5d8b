"""Step 2b for games in arrays: the leader's problem with the follower's prices fixed.

In the single-level form of a game (KKT of the follower) prices appear in the leader's rows and in the
complementarity conditions "positive price => tight row". With prices fixed both are linear, so the leader's
problem becomes a MILP in its own decision x, the follower's answer y and, because the demand is only known
through a noisy release, the demand d:

    min   leader's cost
    s.t.  leader's rows at the fixed prices,   follower's rows and bounds at (x, y, d),   public bounds on d
          S(x, y, d, slack) <= least S + tolerance

    S  =  sum |price_i| x slack of row i  +  sum |reduced cost_j| x distance of column j from its bound
          +  largest price x |d - d~|_1  +  penalty x violation of the leader's rows

The first two sums vanish exactly where the follower's answer y is optimal with these very prices. Predicted
prices are off, so the least S is found first and the leader's cost second. The leader's rows alone, which are
problem (4) of the paper, would not do: where they contain no decision of the leader (a ceiling on the price,
say) fixed prices make them constants, and the cheapest decision would ignore the market altogether.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits

# Share of the follower's value by which a decision may be less consistent with the prices than the best one.
_TOLERANCE = 0.02
# A violated row of the leader weighs this many times the largest price.
_PENALTY = 1e3
_SECONDS = 60.0
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FixedPriceDecision:
    """The leader's variables and its cost with prices fixed; None where even this problem has no answer."""

    variables: FloatArray
    cost: float


def decide_at_prices(
    program: BilevelProgram,
    parameter_map: SparseMatrix,
    demand: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    prices: FloatArray | None,
) -> FixedPriceDecision | None:
    """Solve the leader's problem at fixed prices (of the minimisation); ``program`` has demand 0 in its rows.

    Without prices the follower's answer need only be feasible.
    """
    problem = _Problem(program, parameter_map, demand, bounds, prices)
    least = solve_mip_with_highs(problem.with_cost(problem.consistency), SolveLimits(seconds=_SECONDS))
    if least.columns is None or least.objective is None:
        return None
    slack = _TOLERANCE * max(1.0, abs(problem.follower_value(least.columns)))
    problem.allow_no_more_violation_than(least.columns)
    second = problem.with_cost(problem.leader_cost, most_inconsistent=least.objective + slack)
    best = solve_mip_with_highs(second, SolveLimits(seconds=_SECONDS))
    columns = least.columns if best.columns is None else best.columns
    variables = columns[: len(program.variable_names)]
    variables = np.where(program.is_integer, np.round(variables), variables) + 0.0
    return FixedPriceDecision(variables, problem.cost_of(columns))


class _Problem:
    """Columns: leader x, answer y, demand d, moves of d up and down, violation of leader rows up and down."""

    def __init__(
        self,
        program: BilevelProgram,
        parameter_map: SparseMatrix,
        demand: FloatArray,
        bounds: tuple[FloatArray, FloatArray],
        prices: FloatArray | None,
    ) -> None:
        self.program = program
        follower = program.follower
        self.variables, self.answers = len(program.variable_names), follower.shape[1]
        self.entries = demand.size
        fixed = np.zeros(follower.shape[0]) if prices is None else prices
        self.deciding = _deciding_rows(program)
        self.shift = np.asarray(program.price_matrix @ fixed)[self.deciding]
        self.price_term = float(program.price_cost @ fixed)
        self.matrix, self.row_lower, self.row_upper = self._rows(parameter_map, demand)
        self.column_lower, self.column_upper = self._column_bounds(bounds)
        self.leader_cost = np.zeros(self.matrix.shape[1])
        own = np.concatenate([program.leader_cost, program.response_cost])
        self.leader_cost[: own.size] = own
        self.consistency = self._consistency(prices)

    def _rows(
        self, parameter_map: SparseMatrix, demand: FloatArray
    ) -> tuple[SparseMatrix, FloatArray, FloatArray]:
        program, follower = self.program, self.program.follower
        kept = self.deciding.size
        moves, identity = sp.eye_array(self.entries), sp.eye_array(kept)
        matrix = sp.block_array(
            [
                [program.coupling, follower.matrix, -parameter_map, None, None, None, None],
                [None, None, moves, -moves, moves, None, None],
                [
                    program.leader_matrix[self.deciding],
                    program.response_matrix[self.deciding],
                    None,
                    None,
                    None,
                    identity,
                    -identity,
                ],
            ],
            format="csr",
        )
        lower = [follower.row_lower, demand, program.leader_lower[self.deciding] - self.shift]
        upper = [follower.row_upper, demand, program.leader_upper[self.deciding] - self.shift]
        return sp.csr_array(matrix), np.concatenate(lower), np.concatenate(upper)

    def _column_bounds(self, bounds: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        program, follower = self.program, self.program.follower
        extra = 2 * self.entries + 2 * self.deciding.size
        lower = [program.variable_lower, follower.column_lower, bounds[0], np.zeros(extra)]
        upper = [program.variable_upper, follower.column_upper, bounds[1], np.full(extra, np.inf)]
        return np.concatenate(lower), np.concatenate(upper)

    def _consistency(self, prices: FloatArray | None) -> FloatArray:
        """S as a linear function of the columns (its constant left out)."""
        follower = self.program.follower
        largest = float(np.abs(follower.cost).max(initial=1.0))
        vector = np.zeros(self.matrix.shape[1])
        if prices is not None:
            largest = max(float(np.abs(prices).max(initial=0.0)), 1e-9 * largest)
            rows = follower.shape[0]
            weight = np.where(
                ((prices > 0) & np.isfinite(follower.row_lower))
                | ((prices < 0) & np.isfinite(follower.row_upper)),
                prices,
                0.0,
            )
            # price x slack, whichever side the price is on; the matrix has what d adds to the bound
            vector += np.asarray(weight @ self.matrix[:rows])
            reduced = follower.cost - follower.matrix.T @ prices
            bounded = np.where(reduced > 0, follower.column_lower, follower.column_upper)
            vector[self.variables : self.variables + self.answers] += np.where(
                np.isfinite(bounded), reduced, 0.0
            )
        begin = self.variables + self.answers + self.entries
        vector[begin : begin + 2 * self.entries] = largest
        vector[begin + 2 * self.entries :] = _PENALTY * largest
        return vector

    def allow_no_more_violation_than(self, columns: FloatArray) -> None:
        """Hold the leader's rows as well as a point does: only consistency may be traded for cost."""
        first = columns.size - 2 * self.deciding.size
        self.column_upper[first:] = np.maximum(columns[first:], 0.0) + _ROUNDING

    def with_cost(self, cost: FloatArray, most_inconsistent: float | None = None) -> MixedIntegerProgram:
        """The problem with an objective, and with a limit on S if one is given."""
        matrix, lower, upper = self.matrix, self.row_lower, self.row_upper
        if most_inconsistent is not None:
            matrix = sp.csr_array(sp.vstack([matrix, sp.csr_array(self.consistency[None, :])]))
            lower, upper = np.append(lower, -np.inf), np.append(upper, most_inconsistent)
        linear = LinearProgram(
            cost=cost,
            matrix=matrix,
            row_lower=lower,
            row_upper=upper,
            column_lower=self.column_lower,
            column_upper=self.column_upper,
            row_names=tuple(f"row{i}" for i in range(matrix.shape[0])),
            column_names=tuple(f"column{i}" for i in range(matrix.shape[1])),
        )
        integer = np.zeros(matrix.shape[1], dtype=np.bool_)
        integer[: self.variables] = self.program.is_integer
        return MixedIntegerProgram(linear, integer)

    def follower_value(self, columns: FloatArray) -> float:
        """The follower's cost at a point."""
        answer = columns[self.variables : self.variables + self.answers]
        return float(self.program.follower.cost @ answer)

    def cost_of(self, columns: FloatArray) -> float:
        """The leader's cost at a point, in the sense of the user's model."""
        cost = float(self.leader_cost @ columns) + self.price_term + self.program.offset
        return self.program.leader_sign * cost + 0.0


def _deciding_rows(program: BilevelProgram) -> IntArray:
    """Rows of the leader that contain a decision or an answer; with prices fixed the others are constants."""
    own = np.diff(program.leader_matrix.indptr) + np.diff(program.response_matrix.indptr)
    return np.flatnonzero(own > 0)
