"""The unit in which a user counts changes no verdict, however extreme."""

from dataclasses import replace

import numpy as np
import pytest
from tests.games.kinds import bid, curved, tolled
from tests.games.random_games import random_game

from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.standing import Units, units_of, with_units
from ppsm.program import BilevelProgram, LinearProgram


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


GAMES = {"prices": random_game, "tolls": tolled, "bids": bid, "curves": curved}


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_game_in_other_units_says_the_same_of_every_point(kind: str, seed: int) -> None:
    """Costs, rows and follower of the scaled game, times their units, are those of the game: to the digit."""
    program, rng = GAMES[kind](seed), np.random.default_rng(seed)
    rows, columns = program.follower.shape
    objective, cost, *of_rows = (2.0 ** int(power) for power in rng.integers(-9, 9, 2 + rows))
    units = Units(objective, cost, np.array(of_rows))
    scaled = with_units(program, units)
    x, y = (rng.integers(-4, 5, count).astype(float) for count in (len(program.variable_names), columns))
    prices = rng.integers(-4, 5, rows).astype(float)
    there = prices / units.prices
    assert scaled.leader_objective(x, y, there) * units.objective == program.leader_objective(x, y, prices)
    assert (scaled.price_matrix @ there == program.price_matrix @ prices).all()
    now, before = scaled.follower_at(x, y), program.follower_at(x, y)
    assert (now.cost * units.cost == before.cost).all()
    assert (scaled.curvature @ y * units.cost == program.curvature @ y).all()
    assert (now.matrix @ y * units.rows == before.matrix @ y).all()
    for side in ("row_lower", "row_upper"):
        assert (getattr(now, side) * units.rows == getattr(before, side)).all()
    # Stationarity holds in one where it holds in the other.
    assert ((now.matrix.T @ there) * units.cost == before.matrix.T @ prices).all()


def test_units_by_hand() -> None:
    """Costs of 3e-12 are counted in 2^-39 of the unit, a row with an entry of 5e12 in 2^42; others stay."""
    follower = LinearProgram.from_arrays(
        cost=[3e-12, 2e-12], matrix=[[1, 2], [5e12, 4e12]], row_lower=[1, 2e12], column_upper=[4, 4]
    )
    units = units_of(BilevelProgram.from_arrays(follower=follower, leader_cost=[1.0], response_cost=[1, 7]))
    assert (units.objective, units.cost, units.rows.tolist()) == (1.0, 2.0**-39, [1.0, 2.0**42])
    assert units.prices.tolist() == [2.0**-39, 2.0**-81]
