"""The unit in which a user counts changes no verdict, however extreme."""

from dataclasses import replace

import numpy as np
import pytest
from tests.games.random_games import random_game

from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.program import BilevelProgram


def with_leader_costs_in(program: BilevelProgram, unit: float) -> BilevelProgram:
    return replace(
        program,
        leader_cost=program.leader_cost * unit,
        response_cost=program.response_cost * unit,
        price_cost=program.price_cost * unit,
    )


def with_follower_rows_in(program: BilevelProgram, unit: float) -> BilevelProgram:
    follower = program.follower
    return replace(
        program,
        coupling=program.coupling * unit,
        follower=replace(
            follower,
            matrix=follower.matrix * unit,
            row_lower=follower.row_lower * unit,
            row_upper=follower.row_upper * unit,
        ),
    )


@pytest.mark.parametrize("method", [Method.BIG_M, Method.SOS1])
@pytest.mark.parametrize("unit", [1e-12, 1e9])
@pytest.mark.parametrize("seed", [0, 6])
def test_unit_of_the_leader_objective(seed: int, unit: float, method: Method) -> None:
    program = random_game(seed)
    truth = solve_bilevel(program)
    found = solve_bilevel(with_leader_costs_in(program, unit), method=method)
    assert found.status is truth.status
    if truth.leader_objective is not None:
        assert found.leader_objective == pytest.approx(
            truth.leader_objective * unit, rel=1e-6, abs=1e-6 * unit
        )
        assert found.leader_bound == pytest.approx(truth.leader_objective * unit, rel=1e-6, abs=1e-6 * unit)


@pytest.mark.parametrize("method", [Method.BIG_M, Method.SOS1])
@pytest.mark.parametrize("unit", [1e-7, 1e10])
@pytest.mark.parametrize("seed", [0, 1])
def test_unit_of_the_follower_rows(seed: int, unit: float, method: Method) -> None:
    program = random_game(seed, prices=False)
    truth = solve_bilevel(program)
    found = solve_bilevel(with_follower_rows_in(program, unit), method=method)
    assert found.status is truth.status
    if truth.leader_objective is not None:
        assert found.leader_objective == pytest.approx(truth.leader_objective, rel=1e-6, abs=1e-6)
        reduced = program.follower.cost - program.follower.matrix.T @ (unit * found.prices)
        assert np.all(reduced[np.isinf(program.follower.column_upper)] >= -1e-6)
