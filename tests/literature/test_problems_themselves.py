"""Published optima are sometimes wrong: each is proven here by enumeration before anything relies on it."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from tests.literature.bilinear import bilinear_optimum
from tests.literature.brute_force import Vector, brute_force, every_pattern
from tests.literature.problems import PROBLEMS, BigMTrap, Problem

from ppsm.program import BilevelProgram

OPTIMAL = [problem for problem in PROBLEMS if problem.status == "optimal"]
UNIQUE = [problem for problem in OPTIMAL if problem.x is not None and problem.y is not None]


def has_continuous_products(program: BilevelProgram) -> bool:
    """Whether the leader's objective is no linear one even with its integers fixed."""
    products = program.products
    factors = products.variable_response.nonzero()[0]
    return bool(products.price_response.nnz + products.price_variable.nnz) or not all(
        program.is_integer[factors]
    )


def test_keys_differ_and_there_are_enough() -> None:
    assert len({problem.key for problem in PROBLEMS}) == len(PROBLEMS) >= 93


def test_every_kind_of_game_is_there() -> None:
    programs = [problem.program for problem in PROBLEMS]
    assert sum(bool(program.cost_coupling.nnz) for program in programs) >= 15
    assert sum(bool(program.products.count) for program in programs) >= 8
    assert sum(bool(program.curvature.nnz) for program in programs) >= 4
    assert sum(bool(program.is_integer.any()) for program in programs) >= 7


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_optimum_is_what_enumeration_finds(problem: Problem) -> None:
    if has_continuous_products(problem.program):
        assert bilinear_optimum(problem.program) == pytest.approx(
            problem.leader_objective, abs=1e-6, rel=1e-6
        )
        return
    answer = brute_force(problem.program)
    assert answer.status == problem.status
    if problem.leader_objective is not None:
        assert answer.objective == pytest.approx(problem.leader_objective, abs=1e-7, rel=1e-9)


@pytest.mark.parametrize("problem", UNIQUE, ids=lambda problem: problem.key)
def test_point_is_feasible_and_worth_its_value(problem: Problem) -> None:
    program, follower = problem.program, problem.program.follower
    x, y = np.array(problem.x), np.array(problem.y)
    value = program.leader_cost @ x + program.response_cost @ y + program.offset
    assert value == pytest.approx(problem.leader_objective, abs=1e-9)
    assert follower.cost @ y == pytest.approx(problem.follower_objective, abs=1e-9)
    assert np.all(program.variable_lower <= x + 1e-9)
    assert np.all(x <= program.variable_upper + 1e-9)
    seen = program.leader_matrix @ x + program.response_matrix @ y
    assert np.all(program.leader_lower - 1e-9 <= seen)
    assert np.all(seen <= program.leader_upper + 1e-9)


@pytest.mark.parametrize("problem", UNIQUE, ids=lambda problem: problem.key)
def test_response_is_a_best_answer_of_the_follower(problem: Problem) -> None:
    follower = problem.program.follower
    shift = problem.program.coupling @ np.array(problem.x)
    upper, lower = follower.row_upper - shift, follower.row_lower - shift
    above, below = np.isfinite(upper), np.isfinite(lower)
    matrix = follower.matrix.toarray()
    result = linprog(
        follower.cost,
        A_ub=np.vstack([matrix[above], -matrix[below]]),
        b_ub=np.concatenate([upper[above], -lower[below]]),
        bounds=list(zip(follower.column_lower.tolist(), follower.column_upper.tolist(), strict=True)),
    )
    assert result.fun == pytest.approx(problem.follower_objective, abs=1e-9)


def pulled(problem: Problem, direction: Vector) -> BilevelProgram:
    """Minimise along a direction over the points whose leader's objective is optimal."""
    program = problem.program
    n = len(program.variable_names)
    assert problem.leader_objective is not None
    return BilevelProgram.from_arrays(
        follower=program.follower,
        coupling=program.coupling,
        leader_cost=direction[:n],
        response_cost=direction[n:],
        variable_lower=program.variable_lower,
        variable_upper=program.variable_upper,
        is_integer=program.is_integer,
        leader_matrix=np.vstack([program.leader_matrix.toarray(), program.leader_cost]),
        response_matrix=np.vstack([program.response_matrix.toarray(), program.response_cost]),
        leader_lower=np.append(program.leader_lower, -np.inf),
        leader_upper=np.append(program.leader_upper, problem.leader_objective + 1e-9),
    )


@pytest.mark.parametrize("problem", UNIQUE, ids=lambda problem: problem.key)
def test_stated_point_is_the_only_optimum(problem: Problem) -> None:
    """Pull every coordinate both ways without leaving the optimal value; none may move."""
    point = np.concatenate([np.array(problem.x), np.array(problem.y)])
    for coordinate in range(len(point)):
        for sign in (1.0, -1.0):
            direction = np.zeros(len(point))
            direction[coordinate] = sign
            answer = brute_force(pulled(problem, direction))
            assert answer.objective == pytest.approx(sign * point[coordinate], abs=1e-6)


@pytest.mark.parametrize(
    "problem",
    [
        problem
        for problem in PROBLEMS
        if sum(problem.program.follower.shape) <= 6 and not has_continuous_products(problem.program)
    ],
    ids=lambda p: p.key,
)
def test_search_and_plain_enumeration_agree(problem: Problem) -> None:
    quick, slow = brute_force(problem.program), every_pattern(problem.program)
    assert quick.status == slow.status
    assert quick.objective == pytest.approx(slow.objective, abs=1e-9)


def naive_big_m(problem: Problem, trap: BigMTrap) -> tuple[float, float, float]:
    """Solve the textbook model of a one-row, one-column problem with fixed constants.

    Returns the leader's objective and how close the largest slack and the largest multiplier come to their
    constants, as a share: the usual check is that both stay below one.
    """
    program, follower = problem.program, problem.program.follower
    a, b = follower.matrix.toarray()[0, 0], program.coupling.toarray()[0, 0]
    most, cost = follower.row_upper[0], follower.cost[0]
    slack, multiplier = trap.slack_constant, trap.multiplier_constant
    # x, y, multiplier of the row, multiplier of y >= 0, and one binary for each pair.
    rows = [
        ([b, a, 0, 0, 0, 0], -np.inf, most),
        ([-b, -a, 0, 0, -slack, 0], -np.inf, -most),
        ([0, 0, 1, 0, multiplier, 0], -np.inf, multiplier),
        ([0, 1, 0, 0, 0, -slack], -np.inf, 0),
        ([0, 0, 0, 1, 0, multiplier], -np.inf, multiplier),
        ([0, 0, a, -1, 0, 0], -cost, -cost),
    ]
    matrix, lower, upper = zip(*rows, strict=True)
    result = milp(
        [program.leader_cost[0], program.response_cost[0], 0, 0, 0, 0],
        constraints=LinearConstraint(np.array(matrix), np.array(lower), np.array(upper)),
        bounds=Bounds(
            [program.variable_lower[0], 0, 0, 0, 0, 0],
            [program.variable_upper[0], np.inf, np.inf, np.inf, 1, 1],
        ),
        integrality=np.array([0, 0, 0, 0, 1, 1]),
    )
    assert result.x is not None
    assert result.fun is not None
    x, y, row_price, column_price = result.x[:4]
    return (
        float(result.fun),
        max(most - a * y - b * x, y) / slack,
        max(row_price, column_price) / multiplier,
    )


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.trap], ids=lambda p: p.key)
def test_too_small_big_m_gives_the_wrong_answer_unnoticed(problem: Problem) -> None:
    trap = problem.trap
    assert trap is not None
    assert problem.leader_objective is not None
    objective, slack_share, multiplier_share = naive_big_m(problem, trap)
    assert objective == pytest.approx(trap.wrong_objective, abs=1e-6)
    assert objective > problem.leader_objective + 100
    assert slack_share < 0.99
    assert multiplier_share < 0.99
    large = BigMTrap(trap.slack_constant, 4 * trap.multiplier_constant, problem.leader_objective)
    assert naive_big_m(problem, large)[0] == pytest.approx(problem.leader_objective, abs=1e-6)


def test_there_is_a_problem_with_a_trap() -> None:
    assert any(problem.trap for problem in PROBLEMS)
