"""All decisions of a leader who has few: for each the follower's answer, warm from the last one.

Where only integers of the leader move a linear follower and they have few values together, every assignment
is a follower whose best answers y and prices p are two faces, one LP each. An assignment is given up by

* its cost, where the integers alone cost more than the best point known (the rest at its least), or where
  the leader gains by harming the follower and an answer to an earlier assignment is still there;
* a leader row that no optimal answer obeys. The follower's value V is convex in its right-hand sides b and
  concave in its costs c, so for any step e > 0 every optimal price and answer has

      h'p >= (V(b) - V(b - e h)) / e          g'y >= (V(c + e g) - V(c)) / e,

  and bounds on the V are a feasible answer on one side and weak duality on the other;
* else an LP: the relaxation at this assignment with strong duality as a row, which is linear there.

So each assignment takes one to three warm re-solves of the follower, and no verdict of a solver is believed:
all proofs are numbers computed from answers and prices.
"""

import time
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.bilevel.incumbent import best_of_answers, point_of
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.methods.tree import Tree
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.weak_duality import Box, WeakDuality
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp, solve_lp
from ppsm.status import Status


def assignments_of(program: BilevelProgram, most: int = TUNING.most_assignments) -> int | None:
    """How many assignments of its integers the leader's own rows allow.

    None where enumeration does not apply, or where there are more than ``most``.
    """
    moves = np.zeros(len(program.variable_names), dtype=np.bool_)
    moves[program.coupling.indices] = moves[program.cost_coupling.indices] = True
    integer = program.is_integer | (program.variable_lower == program.variable_upper)
    if (moves & ~integer).any() or program.curvature.nnz or program.handed_on.nnz or program.products.count:
        return None
    lower, upper = integer_range(program)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return None
    table = _allowed_assignments(program, most)
    return None if table is None else table.shape[0]


def _allowed_assignments(program: BilevelProgram, most: int) -> FloatArray | None:
    """All assignments that no row of the leader's own variables rules out; None where they are too many.

    Integers are added one by one, and what no value of the others could mend is dropped at once: of very
    many switches a budget may leave few choices.
    """
    lower, upper = integer_range(program)
    seen = np.diff(program.response_matrix.indptr) + np.diff(program.price_matrix.indptr)
    rows = np.flatnonzero(seen == 0)
    matrix = program.leader_matrix[rows, :][:, program.is_integer].toarray()
    ends = matrix * lower, matrix * upper
    least, greatest = rest_of_rows(program, rows)
    low = program.leader_lower[rows] - greatest - np.maximum(*ends).sum(axis=1)
    high = program.leader_upper[rows] - least - np.minimum(*ends).sum(axis=1)
    size = TUNING.clearly * np.maximum(1.0, np.maximum(*np.abs(ends)).sum(axis=1))
    table, activity = np.zeros((1, 0)), np.zeros((1, rows.size))
    for place in range(lower.size):
        values = np.arange(lower[place], upper[place] + 1.0)
        if table.shape[0] * values.size > TUNING.wide_list * most:
            return None
        low, high = low + np.maximum(*ends)[:, place], high + np.minimum(*ends)[:, place]
        value = np.tile(values, table.shape[0])[:, None]
        table = np.hstack([np.repeat(table, values.size, axis=0), value])
        activity = np.repeat(activity, values.size, axis=0) + value * matrix[:, place]
        kept = ((activity >= low - size) & (activity <= high + size)).all(axis=1)
        table, activity = table[kept], activity[kept]
        if table.shape[0] > most:
            return None
    return table


def rest_of_rows(program: BilevelProgram, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """The least and the most that what is not integer adds to rows of the leader's own variables."""
    matrix = program.leader_matrix[rows, :].toarray()
    matrix[:, program.is_integer] = 0.0
    lower, upper = program.variable_lower, program.variable_upper
    with np.errstate(invalid="ignore"):
        ends = np.where(matrix != 0, matrix * lower, 0.0), np.where(matrix != 0, matrix * upper, 0.0)
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)


def integer_range(program: BilevelProgram) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of every integer of the leader."""
    integer = program.is_integer
    slack = TUNING.clearly
    return (
        np.ceil(program.variable_lower[integer] - slack),
        np.floor(program.variable_upper[integer] + slack),
    )


@dataclass(frozen=True, eq=False)
class _Earlier:
    """An answer to an earlier assignment, and what it does to the follower's rows."""

    activity: FloatArray
    answer: LpSolution


def enumerate_assignments(
    kkt: KktSystem, *, cutoff: float | None, gap: float, deadline: float, first: bool = False
) -> Tree:
    """Search all assignments for the best point, or for the ``first`` one that costs at most a cutoff."""
    return Enumeration(kkt, cutoff=cutoff, gap=gap, first=first).run(deadline)


@dataclass(frozen=True, eq=False)
class RowsOnAnswers:
    """The leader's rows that see the follower's answers or prices, and what their other parts come to."""

    number: IntArray
    leader: sp.csr_array
    response: sp.csr_array
    price: sp.csr_array
    lower: FloatArray
    upper: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def of(cls, program: BilevelProgram) -> "RowsOnAnswers":
        """Taken out once: assignments are many, and slices take longer than what is done with them."""
        response, price = program.response_matrix, program.price_matrix
        number = np.flatnonzero(np.diff(response.indptr) + np.diff(price.indptr))
        return cls(
            number,
            program.leader_matrix[number, :],
            response[number, :],
            price[number, :],
            program.leader_lower[number],
            program.leader_upper[number],
            *rest_of_rows(program, number),
        )


class Enumeration:
    """A list that can be left and taken up again, in the order of what assignments cost at least."""

    def __init__(
        self, kkt: KktSystem, *, cutoff: float | None = None, gap: float, first: bool = False
    ) -> None:
        self._kkt, self._gap, self._first = kkt, gap, first
        self._program = kkt.program
        self._integer = np.flatnonzero(kkt.program.is_integer)
        self._limit = INFINITY if cutoff is None else cutoff
        self._best: FloatArray | None = None
        self._least_leaf, self._certified = INFINITY, True
        self._place = 0
        self._earlier: deque[_Earlier] = deque(maxlen=TUNING.earlier_answers)

    @cached_property
    def _harm(self) -> float | None:
        """What the follower's cost is worth to a leader who gains by raising it, and by nothing else."""
        program = self._program
        if program.price_cost.any() or program.cost_coupling.nnz:
            return None
        worth = _multiple(program.response_cost, program.follower.cost)
        return worth if worth is not None and worth < 0 else None

    def _least_by_earlier(self, decision: FloatArray, follower: LinearProgram) -> float:
        """What an assignment costs at least because an earlier answer is still there, without any solve.

        Whatever the best answer is, it costs the follower no more: of most paths a blocked arc is no part.
        """
        if self._harm is None:
            return -INFINITY
        exact = TUNING.rounding
        values = [
            _value_at_most(follower, earlier.answer)
            for earlier in self._earlier
            if (earlier.activity >= follower.row_lower - exact).all()
            and (earlier.activity <= follower.row_upper + exact).all()
        ]
        if not values:
            return -INFINITY
        return self._own_cost(decision) + self._harm * min(values)

    def _own_cost(self, decision: FloatArray) -> float:
        """What a decision costs the leader at least, but for answers and prices."""
        return self._least_own + float(self._program.leader_cost[self._integer] @ decision[self._integer])

    @cached_property
    def _market(self) -> "Market":
        return Market(self._program.follower)

    @cached_property
    def _rows_on_answers(self) -> "RowsOnAnswers":
        return RowsOnAnswers.of(self._program)

    @cached_property
    def _least_own(self) -> float:
        """What the leader's variables but the integers cost at least, and the constant."""
        program = self._program
        own = np.where(program.is_integer, 0.0, program.leader_cost)
        ends = np.where(own > 0, program.variable_lower, program.variable_upper)
        return float(own[own != 0] @ ends[own != 0]) + program.offset

    def run(self, deadline: float) -> Tree:
        """Go on until a deadline of :func:`time.perf_counter`; what was found so far comes back."""
        table, costs = self._assignments
        try:
            while self._place < costs.size and costs[self._place] <= self._limit:
                if (self._first and self._best is not None) or time.perf_counter() > deadline:
                    break
                self._visit(table[self._place], float(costs[self._place]))
                self._place += 1
        except KeyboardInterrupt:
            return replace(self._result(costs, self._place), interrupted=True)
        return self._result(costs, self._place)

    def offer(self, columns: FloatArray) -> None:
        """A point of the game that somebody else has found and verified: only better ones are sought now."""
        cost = self._cost(columns)
        if self._best is None or cost < self._cost(self._best):
            self._best, self._limit = columns, min(self._limit, cost - self._slack_of(cost))

    def _result(self, costs: FloatArray, place: int) -> Tree:
        """Assignments from a place on cost too much, or time was up before them."""
        objective = INFINITY if self._best is None else self._cost(self._best)
        left = float(costs[place]) if place < costs.size else INFINITY
        is_complete = place == costs.size or left > self._limit
        bound = min(objective, self._least_leaf, left)
        words = f"{place} of {costs.size} assignments"
        return Tree(self._best, objective, bound, place, is_complete, self._certified, words)

    def _cost(self, columns: FloatArray) -> float:
        return float(self._kkt.relaxation.cost @ columns) + self._kkt.relaxation.offset

    @cached_property
    def _assignments(self) -> tuple[FloatArray, FloatArray]:
        """All that the leader's own rows allow, cheapest first, and what each costs at least."""
        table = _allowed_assignments(self._program, TUNING.most_assignments)
        if table is None:
            raise ModelError(
                f"the leader has more than {TUNING.most_assignments:,} assignments of its integers."
            )
        costs = table @ self._program.leader_cost[self._integer] + self._least_rest()
        order = np.argsort(costs, kind="stable")
        return table[order], costs[order]

    def _least_rest(self) -> float:
        """What all but the integers cost at least, whatever the assignment."""
        relaxation = self._kkt.relaxation
        cost = np.where(self._kkt.is_integer, 0.0, relaxation.cost)
        if not cost.any():
            return relaxation.offset
        program = relaxation.with_cost(cost)
        solution = solve_lp(program)
        if solution.status is not Status.PROVEN_OPTIMAL:
            return -INFINITY
        return WeakDuality(program.matrix).bound(solution.prices, cost, Box.of(program)) + relaxation.offset

    def _visit(self, values: FloatArray, cost: float) -> None:
        """Prove that an assignment has no point below the limit, or find its best one."""
        program = self._program
        decision = np.where(program.variable_lower == program.variable_upper, program.variable_lower, 0.0)
        decision[self._integer] = values
        follower = program.follower_at(decision, np.zeros(program.follower.shape[1]))
        bound = max(cost, self._least_by_earlier(decision, follower))
        if bound > self._limit:
            self._least_leaf = min(self._least_leaf, bound)
            return
        answer = self._market.answer(follower)
        if answer.status is not Status.PROVEN_OPTIMAL:
            self._certified &= answer.status is Status.INFEASIBLE and self._market.is_proven_empty(follower)
            return
        if self._breaks_a_row(decision, follower, answer):
            return
        if self._harm is not None:
            self._earlier.append(_Earlier(follower.matrix @ answer.columns, answer))
        bound = max(bound, self._least_cost(decision, follower, answer))
        if bound > self._limit:
            self._least_leaf = min(self._least_leaf, bound)
            return
        self._settle(decision, answer, bound)

    def _breaks_a_row(self, decision: FloatArray, follower: LinearProgram, answer: LpSolution) -> bool:
        """Whether some row of the leader is out of reach of all optimal answers and prices."""
        rows = self._rows_on_answers
        if rows.number.size == 0:
            return False
        integer = rows.leader @ np.where(self._program.is_integer, decision, 0.0)
        seen = rows.response @ answer.columns + rows.price @ answer.prices
        above = seen + integer + rows.least - rows.upper
        below = rows.lower - (seen + integer + rows.most)
        worst = int(np.argmax(np.maximum(above, below)))
        sign = 1.0 if above[worst] >= below[worst] else -1.0
        if max(above[worst], below[worst]) <= TUNING.clearly:
            return False
        weights = sign * rows.response[[worst], :].toarray().ravel()
        prices = sign * rows.price[[worst], :].toarray().ravel()
        reached = self._market.least(follower, answer, weights, prices)
        rest = integer[worst] + (rows.least if sign > 0 else rows.most)[worst]
        limit = sign * (rows.upper if sign > 0 else rows.lower)[worst]
        return bool(reached + sign * rest > limit + TUNING.clearly * max(1.0, abs(limit), abs(reached)))

    def _least_cost(self, decision: FloatArray, follower: LinearProgram, answer: LpSolution) -> float:
        """What every point of an assignment costs at least: its own part, answers and prices each at best."""
        program = self._program
        least = self._own_cost(decision)
        if program.response_cost.any() or program.price_cost.any():
            least += self._market.least(follower, answer, program.response_cost, program.price_cost)
        return least

    def _settle(self, decision: FloatArray, answer: LpSolution, bound: float) -> None:
        """Keep the best point of an assignment, and prove that it has no better one."""
        point = point_of(self._kkt, answer, decision)
        if self._integer.size < decision.size or not self._is_point(point, bound):
            found = best_of_answers(self._kkt, answer, decision, self._integer)
            point = point if found is None else found
            if found is None or self._slack_of(self._cost(found)) + bound < self._cost(found):
                bound = max(bound, self._bound_of_assignment(decision))
            if found is None:
                self._certified &= bound > self._limit
                self._least_leaf = min(self._least_leaf, bound)
                return
        cost = self._cost(point)
        slack = self._slack_of(cost)
        self._certified &= bound >= min(cost - slack, self._limit)
        self._least_leaf = min(self._least_leaf, bound)
        if cost <= self._limit:
            self.offer(point)

    def _slack_of(self, cost: float) -> float:
        return self._gap * max(1.0, abs(cost))

    def _is_point(self, point: FloatArray, bound: float) -> bool:
        """Whether a point obeys the leader's rows and costs no more than the bound."""
        relaxation, rows = self._kkt.relaxation, len(self._program.leader_row_names)
        activity = relaxation.matrix[:rows, :] @ point
        size = TUNING.rounding * np.maximum(1.0, abs(relaxation.matrix[:rows, :]) @ np.abs(point))
        low = activity >= relaxation.row_lower[:rows] - size
        high = activity <= relaxation.row_upper[:rows] + size
        cost = self._cost(point)
        return bool((low & high).all()) and cost <= bound + self._slack_of(cost)

    def _bound_of_assignment(self, decision: FloatArray) -> float:
        """The LP of all optimal answers at an assignment, with strong duality as a row; proven here."""
        kkt, program = self._kkt, self._program
        row = np.zeros(kkt.relaxation.shape[1])
        row[kkt.responses] = program.follower.cost + program.cost_coupling @ decision
        multipliers = kkt.multipliers
        earned = multipliers.sign * multipliers.bound - kkt.price_map.T @ (program.coupling @ decision)
        row[kkt.first_multiplier :] = -earned
        # Rounding must not make it empty; a wider row is still a valid bound.
        allowed = np.array([TUNING.rounding * (1.0 + float(np.abs(row[kkt.responses]).max()))])
        linear = kkt.relaxation.with_fixed(self._integer, decision[self._integer])
        linear = linear.with_rows(sp.csr_array(row[None, :]), upper=allowed)
        lp = PersistentLp(linear)
        lp.skip_presolve()
        solution = lp.solve()
        proof, box = WeakDuality(linear.matrix), Box.of(linear)
        if solution.status is Status.INFEASIBLE and proof.proves_empty(lp.ray(), box):
            return INFINITY
        if solution.status is not Status.PROVEN_OPTIMAL:
            return -INFINITY
        return proof.bound(solution.prices, linear.cost, box) + linear.offset


class Market:
    """A follower that stays alive: its answer at other sides and costs, and bounds on all of its answers."""

    def __init__(self, follower: LinearProgram) -> None:
        self._lp = PersistentLp(follower)
        self._lp.skip_presolve()
        self._proof = WeakDuality(follower.matrix)
        self._rows, self._cost = np.arange(follower.shape[0]), follower.cost

    def answer(self, follower: LinearProgram) -> LpSolution:
        """The answer of the same follower with other sides and costs, warm from the last one."""
        self._lp.set_row_bounds(self._rows, follower.row_lower, follower.row_upper)
        if not np.array_equal(follower.cost, self._cost):
            self._lp.set_cost(follower.cost)
            self._cost = follower.cost
        return self._lp.solve()

    def is_proven_empty(self, follower: LinearProgram) -> bool:
        """Whether the last answer, "infeasible", is proven."""
        return self._proof.proves_empty(self._lp.ray(), Box.of(follower))

    def least(
        self, follower: LinearProgram, answer: LpSolution, weights: FloatArray, prices: FloatArray
    ) -> float:
        """A lower bound of ``weights' y + prices' p`` over all optimal answers y and prices p."""
        total = 0.0
        if weights.any():
            total += self._least_of_answers(follower, answer, weights)
        if prices.any():
            total += self._least_of_prices(follower, answer, prices)
        return total

    def _least_of_prices(self, follower: LinearProgram, answer: LpSolution, weights: FloatArray) -> float:
        sides = np.concatenate([follower.row_lower, follower.row_upper])
        scale = max(1.0, float(np.abs(sides[np.isfinite(sides)]).max(initial=0.0)))
        value = self._proof.bound(answer.prices, follower.cost, Box.of(follower), exact=0.0)
        found = -INFINITY
        for share in TUNING.steps_aside:
            step = share * scale / float(np.abs(weights).max())
            aside = follower.shifted(-step * weights)
            moved = self.answer(aside)
            if moved.status is Status.PROVEN_OPTIMAL:
                found = max(found, (value - _value_at_most(aside, moved)) / step)
        return found

    def _least_of_answers(self, follower: LinearProgram, answer: LpSolution, weights: FloatArray) -> float:
        multiple = _multiple(weights, follower.cost)
        if multiple is not None:  # as where the leader harms the follower
            if multiple < 0:
                return float(multiple * _value_at_most(follower, answer))
            return multiple * self._proof.bound(answer.prices, follower.cost, Box.of(follower), exact=0.0)
        scale = float(np.abs(follower.cost).max(initial=0.0)) or 1.0
        value = _value_at_most(follower, answer)
        found = -INFINITY
        for share in TUNING.steps_aside:
            step = share * scale / float(np.abs(weights).max())
            aside = replace(follower, cost=follower.cost + step * weights)
            moved = self.answer(aside)
            if moved.status is Status.PROVEN_OPTIMAL:
                # Whatever is taken for zero here would be divided by the step.
                least = self._proof.bound(moved.prices, aside.cost, Box.of(aside), exact=0.0)
                found = max(found, (least - value) / step)
        return found


def _multiple(weights: FloatArray, cost: FloatArray) -> float | None:
    """How many times a cost the weights are; None where they are something else."""
    most = int(np.argmax(np.abs(cost))) if cost.size else 0
    multiple = float(weights[most] / cost[most]) if cost.any() else 0.0
    return multiple if (weights == multiple * cost).all() else None


def _value_at_most(follower: LinearProgram, answer: LpSolution) -> float:
    """What the follower's best answer costs at most: a point's cost, and what mending its rounding may."""
    activity = follower.matrix @ answer.columns
    missed = np.maximum(0.0, np.maximum(follower.row_lower - activity, activity - follower.row_upper))
    beyond = np.maximum(follower.column_lower - answer.columns, answer.columns - follower.column_upper)
    worth = (
        float(np.abs(answer.prices).max(initial=0.0)),
        float(np.abs(answer.reduced_costs).max(initial=0.0)),
    )
    mending = 2.0 * (worth[0] * float(missed.sum()) + worth[1] * float(np.maximum(0.0, beyond).sum()))
    return float(follower.cost @ answer.columns + 2.0 * mending)
