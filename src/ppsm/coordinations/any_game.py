"""Any :class:`~ppsm.games.stackelberg.StackelbergGame` as a coordination.

Step 2b: the leader's problem with the follower's prices fixed.

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

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, IntArray, SparseMatrix, frozen_vector
from ppsm.bilevel.solve import solve_bilevel
from ppsm.coordinations.tuning import TUNING
from ppsm.errors import InputError, ModelError
from ppsm.fidelity.problem import PublicBounds
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.interrupts import watched
from ppsm.mechanism.coordination import Decision, Outcome, published
from ppsm.mechanism.theory import CostOfPrivacy, cost_of_privacy
from ppsm.privacy.publication import MarketResult
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status

FOLLOWER = "follower"


class GameCoordination:
    """A Stackelberg game whose follower's parameter is the sensitive vector.

    The parameter with which the game was written is left out: demands come with every call.

    Parameters
    ----------
    game
        The game; its leader may see prices and answers of the follower.
    unit
        The unit of the sensitive vector.
    bounds
        A public pair (least, largest) for the entries, ``(0, inf)`` by default.
    time_limit
        Seconds for clearing the game.
    """

    def __init__(
        self,
        game: StackelbergGame,
        *,
        unit: str,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        time_limit: float = 60.0,
    ) -> None:
        if not isinstance(game, StackelbergGame):
            raise ModelError(f"the game is a {type(game).__name__}; expected a ppsm.StackelbergGame.")
        self._unit, self.time_limit = unit, time_limit
        names = game.follower.parameter_names
        nothing = np.zeros(len(names))
        # The game's own parameter may be the secret; neither its numbers nor its rounding stay.
        self._follower = replace(game.follower, nominal=nothing)
        self._program = _plain(game.program(nothing))
        checked = PublicBounds.of(bounds, names)
        self._bounds = checked.lower, checked.upper

    @property
    def entry_names(self) -> tuple[str, ...]:
        """The follower's parameter."""
        return self._follower.parameter_names

    @property
    def unit(self) -> str:
        """The unit of the sensitive vector."""
        return self._unit

    @property
    def price_names(self) -> tuple[str, ...]:
        """All rows of the follower."""
        return self._follower.program.row_names

    @property
    def sensitive_follower(self) -> str:
        """There is only one follower."""
        return FOLLOWER

    @property
    def public_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each entry."""
        return self._bounds

    def row_prices(self, follower_prices: FloatArray) -> FloatArray:
        """All of them."""
        return follower_prices

    def entry_prices(self, prices: FloatArray) -> FloatArray:
        """``F' prices``: the rate at which the follower's value rises with an entry."""
        return np.asarray(self._follower.parameter_map.T @ prices)

    def decide(self, demand: FloatArray, prices: FloatArray | None) -> Decision:
        """The leader's problem with prices fixed, as this module's docstring has it."""
        names = self._program.variable_names
        minimised = None if prices is None else self._follower.sign * self._checked_prices(prices)
        found = decide_at_prices(
            self._program, self._follower.parameter_map, self._checked(demand), self._bounds, minimised
        )
        if found is None:
            raise InputError(
                "the leader has no decision that any demand within the public bounds allows: mend the game "
                "or widen the bounds."
            )
        return Decision(found.variables, names, "leader's variables", found.cost, Status.PROVEN_OPTIMAL)

    def follower_at(self, decision: Decision) -> Follower:
        """The follower with the leader's decision moved to its right-hand sides."""
        shift = -(self._program.coupling @ decision.felt)
        return replace(self._follower, program=self._program.follower.shifted(np.asarray(shift)))

    def clear(self, demand: FloatArray) -> Outcome:
        """Solve the game exactly at a demand; Ctrl-C is raised, since an answer cut short is no outcome."""
        vector = self._checked(demand)
        shifted = self._program.follower.shifted(np.asarray(self._follower.parameter_map @ vector))
        with watched() as watch:
            found = solve_bilevel(replace(self._program, follower=shifted), time_limit=self.time_limit)
            watch.check()
        if not found.status.has_answer or found.follower_objective is None:
            return Outcome(found.status, None, found.leader_bound, None, {}, None, 1, found.explanation)
        prices = self._follower.sign * found.prices + 0.0
        values = {FOLLOWER: found.follower_objective}
        return Outcome(
            found.status, found.leader_objective, found.leader_bound, found.gap, values, prices, solved=1
        )

    def market_result(self, demand: FloatArray) -> MarketResult:
        """What the market publishes."""
        return published(self.clear(demand), FOLLOWER, self.price_names)

    def cost_of_privacy(
        self, decision: Decision, prices: FloatArray, entry_widths: FloatArray
    ) -> CostOfPrivacy | str:
        """The paper's theorem for this leader, integers fixed at the decision."""
        program = self._program
        if program.response_matrix.nnz or program.response_cost.any() or program.price_cost.any():
            return "the leader sees the follower's answer, or prices in its objective"
        banded = np.zeros(len(self.price_names), dtype=np.bool_)
        entries = self._follower.parameter_map.tocoo()
        banded[entries.row] = True
        if np.isin(np.unique(program.price_matrix.indices), np.flatnonzero(~banded)).any():
            return (
                "the leader sees prices of rows that the sensitive vector does not enter, which have no band"
            )
        widths = np.zeros(banded.size)
        np.maximum.at(widths, entries.row, entry_widths[entries.col] / np.abs(entries.data))
        if not np.isfinite(widths).all():
            return "a price band is infinite"
        try:
            return cost_of_privacy(program, self._follower.sign * prices, widths, decision.felt)
        except InputError:
            return "the leader has no solution at the predicted prices with its integers fixed"

    def separate(self) -> "GameCoordination":
        """The same object: every solve starts from nothing, so nothing is left behind."""
        return self

    def _checked(self, demand: ArrayLike) -> FloatArray:
        return frozen_vector(demand, len(self.entry_names), "the demand", names=self.entry_names)

    def _checked_prices(self, prices: ArrayLike) -> FloatArray:
        return frozen_vector(prices, len(self.price_names), "the price", names=self.price_names)


def _plain(program: BilevelProgram) -> BilevelProgram:
    """The program, which must be of the kind that the fidelity phase and the leader's problem know."""
    for found, what in (
        (program.curvature.nnz, "a follower whose cost is quadratic"),
        (program.cost_coupling.nnz, "a leader who raises the follower's costs"),
        (program.products.count, "products in the leader's objective"),
        (program.handed_on.nnz, "followers that act in turn"),
    ):
        if found:
            raise ModelError(
                f"the game has {what}, which the mechanisms do not know; expected linear followers of which "
                "the leader moves right-hand sides, and a linear objective: simplify the game."
            )
    return program


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
    least = solve_mip_with_highs(
        problem.with_cost(problem.consistency), SolveLimits(seconds=TUNING.decision_seconds)
    )
    if least.columns is None or least.objective is None:
        return None
    slack = TUNING.inconsistency * max(1.0, abs(problem.follower_value(least.columns)))
    problem.allow_no_more_violation_than(least.columns)
    second = problem.with_cost(problem.leader_cost, most_inconsistent=least.objective + slack)
    best = solve_mip_with_highs(second, SolveLimits(seconds=TUNING.decision_seconds))
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
            largest = max(float(np.abs(prices).max(initial=0.0)), TUNING.rounding * largest)
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
        vector[begin + 2 * self.entries :] = TUNING.violation_weight * largest
        return vector

    def allow_no_more_violation_than(self, columns: FloatArray) -> None:
        """Hold the leader's rows as well as a point does: only consistency may be traded for cost."""
        first = columns.size - 2 * self.deciding.size
        self.column_upper[first:] = np.maximum(columns[first:], 0.0) + TUNING.rounding

    def with_cost(self, cost: FloatArray, most_inconsistent: float | None = None) -> MixedIntegerProgram:
        """The problem with an objective, and with a limit on S if one is given."""
        linear = LinearProgram.of(
            cost,
            self.matrix,
            row_lower=self.row_lower,
            row_upper=self.row_upper,
            column_lower=self.column_lower,
            column_upper=self.column_upper,
        )
        if most_inconsistent is not None:
            limited = sp.csr_array(self.consistency[None, :])
            linear = linear.with_rows(limited, upper=np.array([most_inconsistent]))
        integer = np.zeros(cost.size, dtype=np.bool_)
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
