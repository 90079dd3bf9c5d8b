"""Step 2b: the leader's problem with the follower's prices fixed.

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

Other followers, whose data are public, answer the decision as they do in the game: with them the problem is a
game again, in which x, y and d are the leader's and the others follow.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.solve import solve_bilevel
from ppsm.coordinations.tuning import TUNING
from ppsm.mechanism.published_cost import CostThere, of_one_price
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Public:
    """The bounds on the demand that everybody knows, and an estimate of it."""

    demand: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Sides:
    """A game in which one follower's data are sensitive: its rows and columns, and those of the others."""

    program: BilevelProgram
    rows: IntArray
    columns: IntArray
    other_rows: IntArray
    other_columns: IntArray

    @classmethod
    def of(cls, program: BilevelProgram, rows: slice, columns: slice) -> "Sides":
        """Split the rows and columns of all followers."""
        height, width = program.follower.shape
        every_row, every_column = np.arange(height), np.arange(width)
        return cls(
            program,
            every_row[rows],
            every_column[columns],
            np.delete(every_row, rows),
            np.delete(every_column, columns),
        )

    @property
    def follower(self) -> LinearProgram:
        """The sensitive one."""
        return self.program.follower.part(self.rows, self.columns)

    @property
    def others(self) -> LinearProgram:
        """The others side by side."""
        return self.program.follower.part(self.other_rows, self.other_columns)

    def handed(self, rows: IntArray, columns: IntArray) -> SparseMatrix:
        """What these columns hand on to these rows."""
        return self.program.handed_on[rows, :][:, columns]

    @property
    def felt_columns(self) -> IntArray:
        """The answers of others that the sensitive follower feels."""
        handed = self.handed(self.rows, self.other_columns)
        return self.other_columns[np.unique(handed.nonzero()[1])]

    @property
    def deciding_rows(self) -> IntArray:
        """Rows of the leader that contain more than prices of the sensitive follower.

        With its prices fixed the rest are constants.
        """
        program = self.program
        entries = [program.leader_matrix, program.response_matrix, program.price_matrix[:, self.other_rows]]
        return np.flatnonzero(sum(np.diff(part.indptr) for part in entries))


@dataclass(frozen=True, eq=False)
class FixedPriceDecision:
    """The leader's variables, what others answer that the sensitive follower feels, and the leader's cost."""

    variables: FloatArray
    felt_answers: FloatArray
    cost: float
    status: Status


@dataclass(frozen=True, eq=False)
class _Point:
    """A solution: columns of the problem, answers and prices of the other followers."""

    columns: FloatArray
    answers: FloatArray
    prices: FloatArray
    status: Status


def decide_at_prices(
    sides: Sides, parameter_map: SparseMatrix, public: Public, prices: FloatArray | None
) -> FixedPriceDecision | None:
    """Solve the leader's problem at fixed prices (of the minimisation); None where it has no answer.

    ``sides.program`` has demand 0 in its rows. Without prices the follower's answer need only be feasible.
    """
    problem = _Problem(sides, parameter_map, public, prices)
    least = problem.least_inconsistent()
    if least is None:
        return None
    problem.allow_no_more_violation_than(least.columns)
    cheapest = problem.cheapest(problem.most_inconsistent(least))
    best = cheapest or least
    proven = cheapest is not None and {least.status, cheapest.status} == {Status.PROVEN_OPTIMAL}
    program = sides.program
    variables = best.columns[: len(program.variable_names)]
    variables = np.where(program.is_integer, np.round(variables), variables) + 0.0
    felt = best.answers[np.isin(sides.other_columns, sides.felt_columns)] + 0.0
    status = Status.PROVEN_OPTIMAL if proven else Status.INCUMBENT
    return FixedPriceDecision(variables, felt, problem.cost_of(best), status)


class _Problem:
    """Columns: leader x, answer y, demand d, moves of d up and down, violation of leader rows up and down."""

    def __init__(
        self, sides: Sides, parameter_map: SparseMatrix, public: Public, prices: FloatArray | None
    ) -> None:
        self.sides, program = sides, sides.program
        self.program, self.follower = program, sides.follower
        self.variables, self.answers = len(program.variable_names), sides.columns.size
        self.entries = public.demand.size
        fixed = np.zeros(sides.rows.size) if prices is None else prices
        self.deciding = sides.deciding_rows
        self.shift = np.asarray(program.price_matrix[:, sides.rows] @ fixed)[self.deciding]
        self.price_term = float(program.price_cost[sides.rows] @ fixed)
        self.matrix, self.row_lower, self.row_upper = self._rows(parameter_map, public.demand)
        self.column_lower, self.column_upper = self._column_bounds(public)
        self.leader_cost = np.zeros(self.matrix.shape[1])
        own = np.concatenate([program.leader_cost, program.response_cost[sides.columns]])
        self.leader_cost[: own.size] = own
        weight = np.zeros(sides.rows.size) if prices is None else self._held(prices)
        self.consistency = self._consistency(weight, prices)
        self.consistency_of_others = np.asarray(weight @ sides.handed(sides.rows, sides.other_columns))

    def _rows(
        self, parameter_map: SparseMatrix, demand: FloatArray
    ) -> tuple[SparseMatrix, FloatArray, FloatArray]:
        program, follower, sides = self.program, self.follower, self.sides
        kept = self.deciding.size
        moves, identity = sp.eye_array(self.entries), sp.eye_array(kept)
        matrix = sp.block_array(
            [
                [program.coupling[sides.rows, :], follower.matrix, -parameter_map, None, None, None, None],
                [None, None, moves, -moves, moves, None, None],
                [
                    program.leader_matrix[self.deciding],
                    program.response_matrix[self.deciding, :][:, sides.columns],
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

    def _column_bounds(self, public: Public) -> tuple[FloatArray, FloatArray]:
        program, follower = self.program, self.follower
        extra = 2 * self.entries + 2 * self.deciding.size
        lower = [program.variable_lower, follower.column_lower, public.lower, np.zeros(extra)]
        upper = [program.variable_upper, follower.column_upper, public.upper, np.full(extra, np.inf)]
        return np.concatenate(lower), np.concatenate(upper)

    def _held(self, prices: FloatArray) -> FloatArray:
        """The prices that hold a side which is there."""
        follower = self.follower
        above = (prices > 0) & np.isfinite(follower.row_lower)
        below = (prices < 0) & np.isfinite(follower.row_upper)
        return np.where(above | below, prices, 0.0)

    def _consistency(self, weight: FloatArray, prices: FloatArray | None) -> FloatArray:
        """S as a linear function of the columns (its constant left out)."""
        follower = self.follower
        largest = float(np.abs(follower.cost).max(initial=1.0))
        vector = np.zeros(self.matrix.shape[1])
        if prices is not None:
            largest = max(float(np.abs(prices).max(initial=0.0)), TUNING.rounding * largest)
            # price x slack, whichever side the price is on; the matrix has what d adds to the bound
            vector += np.asarray(weight @ self.matrix[: weight.size])
            reduced = follower.cost - follower.matrix.T @ prices
            bounded = np.where(reduced > 0, follower.column_lower, follower.column_upper)
            vector[self.variables : self.variables + self.answers] += np.where(
                np.isfinite(bounded), reduced, 0.0
            )
        begin = self.variables + self.answers + self.entries
        vector[begin : begin + 2 * self.entries] = largest
        vector[begin + 2 * self.entries :] = TUNING.violation_weight * largest
        return vector

    def allow_no_more_violation_than(self, columns: FloatArray) -> None:
        """Hold the leader's rows as well as a point does: only consistency may be traded for cost."""
        first = columns.size - 2 * self.deciding.size
        self.column_upper[first:] = np.maximum(columns[first:], 0.0) + TUNING.rounding

    def most_inconsistent(self, point: _Point) -> float:
        """The limit on S when the cost is sought, from the point where S is least."""
        answer = point.columns[self.variables : self.variables + self.answers]
        slack = TUNING.inconsistency * max(1.0, abs(float(self.follower.cost @ answer)))
        least = self.consistency @ point.columns + self.consistency_of_others @ point.answers
        return float(least) + slack

    def least_inconsistent(self) -> _Point | None:
        """The point where S is least."""
        free = np.zeros(self.sides.other_rows.size)
        return self._solved(self._linear(self.consistency), self.consistency_of_others, free)

    def cheapest(self, most_inconsistent: float) -> _Point | None:
        """The point that costs the leader least, with a limit on S."""
        limited = self._linear(self.leader_cost).with_rows(
            sp.csr_array(self.consistency[None, :]), upper=np.array([most_inconsistent])
        )
        program, sides = self.program, self.sides
        answers, prices = program.response_cost[sides.other_columns], program.price_cost[sides.other_rows]
        return self._solved(limited, answers, prices)

    def _linear(self, cost: FloatArray) -> LinearProgram:
        return LinearProgram.of(
            cost,
            self.matrix,
            row_lower=self.row_lower,
            row_upper=self.row_upper,
            column_lower=self.column_lower,
            column_upper=self.column_upper,
        )

    @property
    def _is_integer(self) -> BoolArray:
        integer = np.zeros(self.matrix.shape[1], dtype=np.bool_)
        integer[: self.variables] = self.program.is_integer
        return integer

    def _solved(self, linear: LinearProgram, answers: FloatArray, prices: FloatArray) -> _Point | None:
        """Solve as a MILP, or as a game where other followers answer, with the leader's costs of those."""
        if self.sides.other_columns.size:
            game = self._game(linear, answers, prices)
            found = solve_bilevel(game, time_limit=TUNING.decision_seconds)
            there = found.status.has_answer
            return _Point(found.variables, found.responses, found.prices, found.status) if there else None
        limits = SolveLimits(seconds=TUNING.decision_seconds)
        alone = solve_mip_with_highs(MixedIntegerProgram(linear, self._is_integer), limits)
        nothing = np.empty(0)
        return None if alone.columns is None else _Point(alone.columns, nothing, nothing, alone.status)

    def _game(self, linear: LinearProgram, answers: FloatArray, prices: FloatArray) -> BilevelProgram:
        program, sides = self.program, self.sides
        spare = sp.csr_array((prices.size, linear.shape[1] - self.variables - self.answers))
        handed = sides.handed(sides.other_rows, sides.columns)
        # A row more than the problem has is the limit on S.
        limits = linear.shape[0] - self.matrix.shape[0]
        of_answers = [
            sides.handed(sides.rows, sides.other_columns),
            sp.csr_array((self.entries, answers.size)),
            program.response_matrix[self.deciding, :][:, sides.other_columns],
            sp.csr_array(np.tile(self.consistency_of_others, (limits, 1))),
        ]
        of_prices = [
            sp.csr_array((sides.rows.size + self.entries, prices.size)),
            program.price_matrix[self.deciding, :][:, sides.other_rows],
            sp.csr_array((limits, prices.size)),
        ]
        return BilevelProgram.from_arrays(
            follower=sides.others,
            leader_cost=linear.cost,
            response_cost=answers,
            price_cost=prices,
            variable_lower=linear.column_lower,
            variable_upper=linear.column_upper,
            is_integer=self._is_integer,
            leader_matrix=linear.matrix,
            response_matrix=sp.vstack(of_answers),
            price_matrix=sp.vstack(of_prices),
            leader_lower=linear.row_lower,
            leader_upper=linear.row_upper,
            coupling=sp.hstack([program.coupling[sides.other_rows, :], handed, spare]),
            handed_on=sides.handed(sides.other_rows, sides.other_columns),
        )

    def cost_of(self, point: _Point) -> float:
        """The leader's cost at a point, in the sense of the user's model."""
        program, sides = self.program, self.sides
        others = program.response_cost[sides.other_columns] @ point.answers
        others += program.price_cost[sides.other_rows] @ point.prices
        cost = float(self.leader_cost @ point.columns + others) + self.price_term + program.offset
        return program.leader_sign * cost + 0.0


class CostAtPrices:
    """The leader's least cost while the market has given prices, integers relaxed: an LP in the demand.

    Rows with a price are tight and columns with a reduced cost are at their bound, which is what makes the
    prices optimal. Games with other followers are not of this form.
    """

    def __init__(self, sides: Sides, parameter_map: SparseMatrix, prices: FloatArray) -> None:
        program, follower = sides.program, sides.follower
        self.sign = program.leader_sign
        self._map, self._rows = parameter_map, np.arange(sides.rows.size)
        self._fixed = float(program.price_cost @ prices) + program.offset
        largest = float(np.abs(follower.cost).max(initial=1.0))
        self._entry_prices, self._near = parameter_map.T @ prices, TUNING.price_rounding * largest
        self._row_bounds = tight_sides(follower.row_lower, follower.row_upper, prices, self._near)
        reduced = follower.cost - follower.matrix.T @ prices
        answers = tight_sides(follower.column_lower, follower.column_upper, reduced, self._near)
        shift = program.price_matrix @ prices
        matrix = sp.block_array(
            [[program.coupling, follower.matrix], [program.leader_matrix, program.response_matrix]],
            format="csr",
        )
        self._lp = PersistentLp(
            LinearProgram.of(
                np.concatenate([program.leader_cost, program.response_cost]),
                sp.csr_array(matrix),
                row_lower=np.concatenate([self._row_bounds[0], program.leader_lower - shift]),
                row_upper=np.concatenate([self._row_bounds[1], program.leader_upper - shift]),
                column_lower=np.concatenate([program.variable_lower, answers[0]]),
                column_upper=np.concatenate([program.variable_upper, answers[1]]),
            )
        )

    def at(self, demand: FloatArray) -> CostThere | None:
        """The optimum at a demand; None where it cannot have these prices."""
        moved = self._map @ demand
        self._lp.set_row_bounds(self._rows, self._row_bounds[0] + moved, self._row_bounds[1] + moved)
        solution = self._lp.solve()
        if not solution.status.has_answer:
            return None
        slope = np.asarray(self._map.T @ solution.prices[self._rows])
        return CostThere(solution.objective + self._fixed, slope)

    def directions(self, felt: FloatArray) -> Iterator[FloatArray]:
        """Entries of one price."""
        del felt
        return of_one_price(self._entry_prices, self._near)


def tight_sides(
    lower: FloatArray, upper: FloatArray, duals: FloatArray, near: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds with the sides tight that a dual holds."""
    above = (duals > near) & np.isfinite(lower)
    below = (duals < -near) & np.isfinite(upper)
    return np.where(below, upper, lower), np.where(above, lower, upper)
