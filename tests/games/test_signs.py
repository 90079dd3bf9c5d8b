"""The sign table: a row's price is the rate at which the follower's value rises with its right-hand side."""

from typing import Literal

import linopy
import pytest

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

CASES = [
    # sense, row, expected price; x in [0, 10], y in [0, 10], costs 2 and 3.
    ("min", ">=", 2.0),  # min 2x + 3y, x + y >= 4: one more costs 2
    ("min", "<=", 0.0),  # min 2x + 3y, x + y <= 4: not tight
    ("min", "==", 2.0),
    ("max", "<=", 3.0),  # max 2x + 3y, x + y <= 4: one more earns 3
    ("max", ">=", 0.0),
    ("max", "==", 3.0),
]


def follower(sense: str, row: str) -> Follower:
    model = linopy.Model()
    x, y = (model.add_variables(lower=0, upper=10, name=name) for name in "xy")
    model.add_constraints(x + y, row, 4, name="row")
    model.add_objective(2 * x + 3 * y, sense=sense)
    return Follower.from_linopy(model, "row")


@pytest.mark.parametrize(("sense", "row", "price"), CASES)
def test_price_is_the_slope_of_the_value(sense: str, row: str, price: float) -> None:
    one = follower(sense, row)
    outcome = one.solve()
    assert float(outcome.price("row")) == pytest.approx(price)
    slope = one.solve([4.5]).value - one.solve([4.0]).value
    assert slope == pytest.approx(0.5 * price)


@pytest.mark.parametrize(("sense", "row", "price"), CASES)
@pytest.mark.parametrize("leader_sense", ["min", "max"])
def test_game_reports_the_same_price(
    sense: str, row: str, price: float, leader_sense: Literal["min", "max"]
) -> None:
    game = StackelbergGame(follower(sense, row))
    game.leader.add_objective(1 * game.price("row"), sense=leader_sense)
    solution = game.solve()
    assert solution.objective == pytest.approx(price)
    assert float(solution.price("row")) == pytest.approx(price)
    expected = {"min": 8.0 if price else 0.0, "max": 12.0 if price else 50.0}[sense]
    assert solution.follower_objective == pytest.approx(expected)


def test_signs_of_tight_inequalities_in_a_minimisation() -> None:
    """A tight ``<=`` row has a price <= 0: one more unit of the cheap source saves 5."""
    model = linopy.Model()
    cheap, dear = (model.add_variables(lower=0, name=name) for name in ("cheap", "dear"))
    model.add_constraints(cheap + dear == 10, name="demand")
    model.add_constraints(1 * cheap <= 4, name="limit")
    model.add_objective(2 * cheap + 7 * dear)
    outcome = Follower.from_linopy(model, "demand").solve()
    assert float(outcome.price("demand")) == pytest.approx(7)
    assert float(outcome.price("limit")) == pytest.approx(-5)
    # Stationarity c = A' prices + reduced costs: 2 = 7 - 5 + 0 and 7 = 7 + 0.
    assert outcome.reduced_costs == pytest.approx([0, 0])
