"""Infeasible games name the leader's constraints that rule out every solution, and no others."""

from typing import Any

import numpy as np
import pytest

from ppsm.bilevel.solve import solve_bilevel
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.status import Status


def game(**leader: Any) -> BilevelProgram:
    """The follower serves y + z = 4 with y <= 1 + x at cost 1, z at cost 3: the price is 3 until x = 3."""
    follower = LinearProgram.from_arrays(
        cost=[1, 3],
        matrix=[[1, 1], [1, 0]],
        row_lower=[4, -np.inf],
        row_upper=[4, 1],
        row_names=["demand", "limit"],
        column_names=["y", "z"],
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        coupling=[[0], [-1]],
        leader_cost=[1],
        variable_upper=[5],
        variable_names=["x"],
        **leader,
    )


def test_two_constraints_that_each_could_hold() -> None:
    """A price of at most 2 needs x >= 3 (the line carries 1 + x); "thrift" allows 2; "idle" is innocent."""
    program = game(
        leader_matrix=[[0], [1], [1]],
        price_matrix=[[1, 0], [0, 0], [0, 0]],
        leader_upper=[2, 2, 4.5],
        leader_row_names=["cheap", "thrift", "idle"],
    )
    solution = solve_bilevel(program)
    assert solution.status is Status.INFEASIBLE
    assert "'cheap', 'thrift' cannot hold together at any optimal answer" in solution.explanation
    assert "idle" not in solution.explanation


def test_one_constraint_that_no_answer_meets() -> None:
    """Even at x = 0 the follower takes 1 from y, so z is 3 at most; only its optimality rules out 3.5."""
    program = game(
        leader_matrix=[[0], [1]],
        response_matrix=[[0, 1], [0, 0]],
        leader_lower=[3.5, -np.inf],
        leader_upper=[np.inf, 4],
        leader_row_names=["waste", "idle"],
    )
    solution = solve_bilevel(program)
    assert solution.status is Status.INFEASIBLE
    assert "waste" in solution.explanation
    assert "(short by 0.5)" in solution.explanation
    assert "idle" not in solution.explanation


def test_conflict_among_rows_is_named_with_both_levels() -> None:
    """The leader wants y >= 7 while demand is 4."""
    program = game(
        leader_matrix=[[0]], response_matrix=[[1, 0]], leader_lower=[7], leader_row_names=["greed"]
    )
    explanation = solve_bilevel(program).explanation
    assert "no leader decision leaves the follower an answer" in explanation
    assert "greed" in explanation
    assert "demand" in explanation


@pytest.mark.parametrize("method", ["big-m", "sos1", "indicator"])
def test_every_method_explains(method: str) -> None:
    program = game(
        leader_matrix=[[1], [0]],
        price_matrix=[[0, 0], [1, 0]],
        leader_upper=[2, 2],
        leader_row_names=["thrift", "cheap"],
    )
    assert "'thrift', 'cheap'" in solve_bilevel(program, method=method).explanation
