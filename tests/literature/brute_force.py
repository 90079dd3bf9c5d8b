"""The exact optimistic optimum of a small bilevel program, by enumeration of complementarity patterns.

Where the follower's bounds and prices meet, either the bound is active or the multiplier is zero. Each
choice for all of them (a pattern) leaves a linear program in the leader's variables, the response and the
prices; the best of these programs is the answer. The search below leaves out patterns that a relaxation
proves infeasible or worse than what is known; :func:`every_pattern` leaves out none.

Products in the leader's objective leave a linear program only where a factor is an integer of the leader.

It shares no code with the package, so that it can serve as an oracle. HiGHS solves one program after the
other from the last basis; what is not decided there is solved anew with SciPy.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from ppsm.program import BilevelProgram

Vector = NDArray[np.float64]
State = Literal["open", "lower", "upper", "inactive"]
Pattern = tuple[State, ...]

TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class BruteForceAnswer:
    """Status and, if optimal, the leader's minimised objective with a point that attains it."""

    status: Literal["optimal", "infeasible", "unbounded"]
    objective: float | None = None
    x: Vector | None = None
    y: Vector | None = None
    prices: Vector | None = None


@dataclass(frozen=True, eq=False)
class _Solved:
    status: Literal["optimal", "infeasible", "unbounded"]
    objective: float = 0.0
    point: Vector | None = None


def brute_force(program: BilevelProgram) -> BruteForceAnswer:
    """Return the exact optimistic optimum; integer leader variables need finite bounds."""
    best = _Solved("infeasible")
    for fixed in _integer_choices(program):
        best = _search(_System(program, fixed), best)
        if best.status == "unbounded":
            break
    return _answer(program, best)


def every_pattern(program: BilevelProgram) -> BruteForceAnswer:
    """Solve the linear program of each single pattern; only for very small programs."""
    best = _Solved("infeasible")
    for fixed in _integer_choices(program):
        system = _System(program, fixed)
        for pattern in itertools.product(*(system.choices(k) for k in range(system.pairs))):
            best = _better(best, system.solve(pattern))
    return _answer(program, best)


def _answer(program: BilevelProgram, best: _Solved) -> BruteForceAnswer:
    if best.point is None:
        return BruteForceAnswer(best.status)
    n, m = len(program.variable_names), program.follower.shape[1]
    x, y, prices = np.split(best.point, [n, n + m])
    return BruteForceAnswer("optimal", best.objective, x, y, prices)


def _better(one: _Solved, other: _Solved) -> _Solved:
    if "unbounded" in (one.status, other.status):
        return _Solved("unbounded")
    if one.status == "infeasible" or (other.status == "optimal" and other.objective < one.objective):
        return other
    return one


def _integer_choices(program: BilevelProgram) -> Iterator[dict[int, float]]:
    columns = [int(column) for column in np.flatnonzero(program.is_integer)]
    ranges = []
    for column in columns:
        low, high = np.ceil(program.variable_lower[column]), np.floor(program.variable_upper[column])
        if not np.isfinite(high - low):
            raise ValueError(
                f"variable {program.variable_names[column]} needs finite bounds to be enumerated"
            )
        ranges.append(np.arange(low, high + 0.5))
    for values in itertools.product(*ranges):
        yield dict(zip(columns, map(float, values), strict=True))


def _integer_products(program: BilevelProgram, fixed: dict[int, float]) -> Vector:
    """What a unit of each answer is worth through its products with integers at their values."""
    products = program.products
    if products.price_response.nnz or products.price_variable.nnz:
        raise ValueError("products with prices are beyond the enumeration of linear programs")
    seen = sorted(set(products.variable_response.nonzero()[0].tolist()))
    if not set(seen) <= set(fixed):
        raise ValueError("products with variables that are no integers are beyond it, too")
    values = np.array([fixed.get(column, 0.0) for column in range(len(program.variable_names))])
    return np.asarray(products.variable_response.T @ values)


class _WarmStarts:
    """One linear program under bounds that change."""

    def __init__(self, cost: Vector, matrix: Vector, offset: float) -> None:
        rows, columns = matrix.shape
        self._offset = offset
        self._rows, self._columns = np.arange(rows, dtype=np.int32), np.arange(columns, dtype=np.int32)
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("presolve", "off")
        sparse = sp.csc_array(matrix)
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = rows, columns
        program.col_cost_ = cost
        program.col_lower_, program.col_upper_ = np.zeros(columns), np.zeros(columns)
        program.row_lower_, program.row_upper_ = np.zeros(rows), np.zeros(rows)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = sparse.indptr
        program.a_matrix_.index_ = sparse.indices
        program.a_matrix_.value_ = sparse.data
        self._solver.passModel(program)

    def solve(self, lower: Vector, upper: Vector, least: Vector, most: Vector) -> _Solved | None:
        """Optimal, infeasible or unbounded; None where HiGHS says anything else."""
        self._solver.changeRowsBounds(self._rows.size, self._rows, lower, upper)
        self._solver.changeColsBounds(self._columns.size, self._columns, least, most)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return _Solved("infeasible")
        if status == highspy.HighsModelStatus.kUnbounded:
            return _Solved("unbounded")
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        value = self._solver.getInfo().objective_function_value
        point = np.array(self._solver.getSolution().col_value)
        return _Solved("optimal", value + self._offset, point)


class _System:
    """The optimality conditions of a program's follower, one pair for each of its rows and columns."""

    def __init__(self, program: BilevelProgram, fixed: dict[int, float]) -> None:
        follower = program.follower
        rows, columns = follower.shape
        n = len(program.variable_names)
        self.pairs = rows + columns
        self._rows = rows
        self._low = np.concatenate([follower.row_lower, follower.column_lower])
        self._high = np.concatenate([follower.row_upper, follower.column_upper])
        self._slopes = follower.cost
        self._x_low, self._x_high = program.variable_lower.copy(), program.variable_upper.copy()
        for column, value in fixed.items():
            self._x_low[column] = self._x_high[column] = value
        self._cost = np.concatenate([program.leader_cost, program.response_cost, program.price_cost])
        self._cost[n : n + columns] += _integer_products(program, fixed)
        self._offset = program.offset
        self._leader = program.leader_lower, program.leader_upper
        self._matrix = sp.vstack(
            [
                sp.hstack([program.leader_matrix, program.response_matrix, program.price_matrix]),
                sp.hstack([program.coupling, follower.matrix, sp.csr_array((rows, rows))]),
                sp.hstack([-program.cost_coupling, -program.curvature, follower.matrix.T]),
            ],
            format="csr",
        ).toarray()
        self._warm = _WarmStarts(self._cost, self._matrix, self._offset)

    def choices(self, pair: int) -> tuple[State, ...]:
        """Return the states among which a pair must choose; equalities and free pairs have none."""
        low, high = self._low[pair], self._high[pair]
        if low == high or (np.isinf(low) and np.isinf(high)):
            return ("open",)
        sides: list[State] = ["inactive"]
        if np.isfinite(low):
            sides.append("lower")
        if np.isfinite(high):
            sides.append("upper")
        return tuple(sides)

    def _is_open(self, pattern: Pattern) -> bool:
        return any(state == "open" and self.choices(pair) != ("open",) for pair, state in enumerate(pattern))

    def _intervals(self, pattern: Pattern) -> tuple[Vector, Vector, Vector, Vector]:
        """Return lower and upper bounds of activities and of multipliers under a pattern."""
        low, high = self._low.copy(), self._high.copy()
        least = np.where(np.isfinite(self._high), -np.inf, 0.0)
        most = np.where(np.isfinite(self._low), np.inf, 0.0)
        for pair, state in enumerate(pattern):
            if state == "lower":
                high[pair], least[pair] = low[pair], 0.0
            elif state == "upper":
                low[pair], most[pair] = high[pair], 0.0
            elif state == "inactive":
                least[pair] = most[pair] = 0.0
        return low, high, least, most

    def solve(self, pattern: Pattern) -> _Solved:
        """Solve the linear program of a pattern; open pairs are relaxed."""
        low, high, least, most = self._intervals(pattern)
        rows = self._rows
        lower = np.concatenate([self._leader[0], low[:rows], self._slopes - most[rows:]])
        upper = np.concatenate([self._leader[1], high[:rows], self._slopes - least[rows:]])
        least_point = np.concatenate([self._x_low, low[rows:], least[:rows]])
        most_point = np.concatenate([self._x_high, high[rows:], most[:rows]])
        warm = self._warm.solve(lower, upper, least_point, most_point)
        # A relaxation may be called unbounded by mistake, since its children decide; a pattern may not.
        if warm is not None and (warm.status != "unbounded" or self._is_open(pattern)):
            return warm
        bounds = list(zip(least_point.tolist(), most_point.tolist(), strict=True))
        return self._minimise(self._cost, lower, upper, bounds)

    def _minimise(
        self, cost: Vector, lower: Vector, upper: Vector, bounds: list[tuple[float, float]]
    ) -> _Solved:
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        result = linprog(
            cost,
            A_ub=np.vstack([self._matrix[above], -self._matrix[below]]),
            b_ub=np.concatenate([upper[above], -lower[below]]),
            A_eq=self._matrix[equal],
            b_eq=lower[equal],
            bounds=bounds,
            method="highs",
            # With presolve, HiGHS may call a feasible but unbounded program infeasible.
            options={"presolve": False},
        )
        if result.status == 0 and result.fun is not None:
            return _Solved("optimal", float(result.fun) + self._offset, np.asarray(result.x))
        if result.status == 2:
            return _Solved("infeasible")
        if not np.any(cost):
            raise RuntimeError(f"a pattern could not be decided: {result.message}")
        # The solver may say "unbounded or infeasible"; without a cost it has to decide.
        feasible = self._minimise(np.zeros_like(cost), lower, upper, bounds)
        return _Solved("unbounded") if feasible.status == "optimal" else feasible

    def gaps(self, point: Vector) -> tuple[Vector, Vector]:
        """Return activity and multiplier of each pair at a point."""
        values = self._matrix @ point
        first = len(self._leader[0])
        rows, columns = self._rows, self.pairs - self._rows
        start = len(point) - rows - columns
        activity = np.concatenate([values[first : first + rows], point[start : start + columns]])
        multiplier = np.concatenate([point[start + columns :], self._slopes - values[first + rows :]])
        return activity, multiplier

    def completed(self, pattern: Pattern, point: Vector) -> tuple[Pattern, int | None]:
        """Close the open pairs as a point suggests; also name the pair that the point violates most."""
        activity, multiplier = self.gaps(point)
        closed = list(pattern)
        worst, violated = TOLERANCE, None
        for pair, state in enumerate(pattern):
            if state != "open" or self.choices(pair) == ("open",):
                continue
            to_low, to_high = activity[pair] - self._low[pair], self._high[pair] - activity[pair]
            side: State = "lower" if multiplier[pair] > 0 else "upper"
            distance = to_low if side == "lower" else to_high
            closed[pair] = side if distance <= abs(multiplier[pair]) else "inactive"
            violation = float(min(distance, abs(multiplier[pair])))
            if violation > worst:
                worst, violated = violation, pair
        return tuple(closed), violated


def _search(system: _System, best: _Solved) -> _Solved:
    unbranched: list[State] = ["open"] * system.pairs
    stack: list[Pattern] = [tuple(unbranched)]
    while stack and best.status != "unbounded":
        pattern = stack.pop()
        relaxed = system.solve(pattern)
        if relaxed.status == "infeasible":
            continue
        branching = [
            pair
            for pair, state in enumerate(pattern)
            if state == "open" and system.choices(pair) != ("open",)
        ]
        if not branching:
            best = _better(best, relaxed)
            continue
        pair = branching[0]
        if relaxed.point is not None:
            if best.point is not None and relaxed.objective >= best.objective:
                continue
            guess, violated = system.completed(pattern, relaxed.point)
            if violated is None:
                # The point satisfies the pairs up to rounding: solve the pattern itself, without rounding.
                exact = system.solve(guess)
                best = _better(best, exact)
                if exact.point is not None and exact.objective <= relaxed.objective + 1e-10:
                    continue
            else:
                pair = violated
        stack.extend((*pattern[:pair], state, *pattern[pair + 1 :]) for state in system.choices(pair))
    return best
