"""Games written in linopy: what is refused, and what must not get lost."""

import linopy
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from ppsm.errors import InputError, ModelError
from ppsm.examples import freight_game, permit_game, water_game
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.status import Status

NODES = pd.Index(["A", "B"], name="node")


def market() -> Follower:
    model = linopy.Model()
    output = model.add_variables(lower=0, upper=30, coords=[NODES], name="output")
    dear = model.add_variables(lower=0, coords=[NODES], name="dear")
    model.add_constraints(output + dear == xr.DataArray([20.0, 40.0], coords=[NODES]), name="demand")
    model.add_objective(output.sum() + 9 * dear.sum())
    return Follower.from_linopy(model, "demand")


@pytest.mark.parametrize(
    ("game", "objective"), [(water_game(), 1600.0), (freight_game(), 1300.0), (permit_game(), 3395.0)]
)
def test_examples_agree_between_methods(game: StackelbergGame, objective: float) -> None:
    for method in ("auto", "big-m", "sos1", "indicator"):
        solution = game.solve(method)
        assert solution.status is Status.PROVEN_OPTIMAL
        assert solution.verified
        assert solution.objective == pytest.approx(objective)


def test_own_variables_may_have_any_name() -> None:
    """A leader's variable called like a stand-in is still the leader's own."""
    game = StackelbergGame(market())
    own = game.leader.add_variables(lower=1, upper=3, name="price of gold")
    game.leader.add_objective(1 * own)
    assert float(game.solve().variable("price of gold")) == pytest.approx(1)
    game.price("demand")
    solution = game.solve()
    with pytest.raises(InputError, match="no leader variable named 'price of demand'"):
        solution.variable("price of demand")


def test_a_name_the_game_needs_is_refused() -> None:
    game = StackelbergGame(market())
    game.leader.add_variables(coords=[NODES], name="price of demand")
    with pytest.raises(ModelError, match="rename yours"):
        game.price("demand")


def test_bounds_on_a_price_are_refused_not_lost() -> None:
    game = StackelbergGame(market())
    cut = game.leader.add_variables(lower=0, upper=20, name="cut")
    game.raise_right_hand_side("demand", -1 * cut * xr.DataArray([0.0, 1.0], coords=[NODES]))
    price = game.price("demand")
    game.leader.add_objective(1 * cut)
    price.update(upper=5)
    with pytest.raises(ModelError, match=r"'price of demand\[A\]' has bounds.*write them as constraints"):
        game.solve()
    price.update(upper=np.inf)
    game.leader.add_constraints(price <= 5, name="cap")
    # B serves 30 at 1; beyond, the price is 9. At a demand of exactly 30 it may be anything in [1, 9].
    assert game.solve().objective == pytest.approx(10)


def test_amounts_add_up_and_constants_count() -> None:
    """B: 40 - 5 - 2 x - x <= 30 needs x = 5/3."""
    game = StackelbergGame(market())
    x = game.leader.add_variables(lower=0, upper=20, name="x")
    at_b = xr.DataArray([0.0, 1.0], coords=[NODES])
    game.raise_right_hand_side("demand", -2 * x * at_b - 5 * at_b)
    game.raise_right_hand_side("demand", -1 * x * at_b)
    game.leader.add_constraints(game.price("demand") <= 5, name="cap")
    game.leader.add_objective(1 * x)
    solution = game.solve()
    assert solution.objective == pytest.approx(5 / 3)
    assert solution.response("output").values == pytest.approx([20, 30])


def test_parameter_of_the_game() -> None:
    game = StackelbergGame(market(), [20, 25])
    game.leader.add_objective(game.price("demand").sum())
    solution = game.solve()
    assert solution.follower_objective == pytest.approx(45)
    assert solution.objective == pytest.approx(2)


def test_what_raises_a_row_must_fit_it() -> None:
    game = StackelbergGame(market())
    x = game.leader.add_variables(lower=0, coords=[NODES], name="x")
    with pytest.raises(InputError, match="there is no constraint named 'supply'"):
        game.raise_right_hand_side("supply", 1 * x)
    with pytest.raises(ModelError, match="is a float; expected a linear expression"):
        game.raise_right_hand_side("demand", 3.0)
    with pytest.raises(ModelError, match="is a QuadraticExpression; expected a linear expression"):
        game.raise_right_hand_side("demand", x * x)
    with pytest.raises(ModelError, match="belongs to another model"):
        game.raise_right_hand_side("demand", 1 * linopy.Model().add_variables(name="x"))
    game.raise_right_hand_side("demand", 1 * game.response("dear"))
    with pytest.raises(ModelError, match=r"contains 'response dear\[A\]', which a follower decides"):
        game.solve()


@pytest.mark.parametrize(
    ("coords", "words"),
    [
        ([pd.Index(["A", "C"], name="node")], "has the entry 'C' in 'node'"),
        ([pd.Index([1, 2], name="hour")], "has the dimension 'hour'"),
    ],
)
def test_what_raises_a_row_must_have_its_index(coords: list[pd.Index], words: str) -> None:
    game = StackelbergGame(market())
    amount = 1 * game.leader.add_variables(lower=0, coords=coords, name="x")
    with pytest.raises(ModelError, match=words):
        game.raise_right_hand_side("demand", amount)


def test_answers_of_an_infeasible_game_cannot_be_read() -> None:
    game = StackelbergGame(market())
    game.leader.add_constraints(game.price("demand") <= -1, name="subsidy")
    game.leader.add_objective(game.price("demand").sum())
    solution = game.solve()
    assert solution.status is Status.INFEASIBLE
    assert solution.objective is None
    with pytest.raises(InputError, match=r"has no answer to read \(status 'infeasible'\).*subsidy"):
        solution.price("demand")


def test_wrong_follower_is_refused() -> None:
    with pytest.raises(ModelError, match=r"the follower is a Model; expected a ppsm.Follower"):
        StackelbergGame(linopy.Model())
    with pytest.raises(InputError, match="there is no variable named 'outptu'"):
        StackelbergGame(market()).response("outptu")


def test_units_reach_the_findings() -> None:
    from ppsm.bilevel.verify import verify

    program = water_game().program()
    rows, columns = program.follower.shape
    x = np.zeros(len(program.variable_names))
    verdict = verify(program, x, np.zeros(columns), np.zeros(rows), 0.0, units={"demand": "ML/day"})
    first = next(finding for finding in verdict.findings if finding.name == "demand[hill]")
    assert first.unit == "ML/day"
    assert first.amount == pytest.approx(20)
    assert str(first) == "follower constraint violated 'demand[hill]' (index 0) by 20 ML/day"


def test_a_game_says_what_it_is_and_none_of_its_numbers() -> None:
    game = StackelbergGame(market())
    assert repr(game) == "<StackelbergGame: the leader decides nothing yet; then follower>"
    game.leader.add_variables(lower=0, upper=1, name="built")
    game.price("demand")
    assert repr(game) == "<StackelbergGame: the leader decides 'built'; then follower>"
