"""Several followers, independent or in turn: power burns gas, and the leader sees both markets."""

from collections.abc import Mapping
from typing import Literal

import linopy
import pandas as pd
import pytest
import xarray as xr

from ppsm.errors import InputError, ModelError
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

Sense = Literal["min", "max"]
PLANTS = pd.Index(["coal", "turbine"], name="plant")


def power(demand: float = 12.0) -> Follower:
    """Coal at 1 (no capacity yet) and a gas turbine at 3 for a demand of 12."""
    model = linopy.Model()
    output = model.add_variables(lower=0, coords=[PLANTS], name="output")
    model.add_constraints(output.sum() == demand, name="balance")
    model.add_constraints(output.sel(plant="coal", drop=True) <= 0, name="coal limit")
    model.add_objective((xr.DataArray([1.0, 3.0], coords=[PLANTS]) * output).sum())
    return Follower.from_linopy(model, "balance")


def gas(sense: Sense = "min") -> Follower:
    """8 of gas at 2, more at 9; a market that maximises counts the cost negative."""
    model = linopy.Model()
    cheap = model.add_variables(lower=0, upper=8, name="cheap")
    dear = model.add_variables(lower=0, name="dear")
    model.add_constraints(cheap + dear >= 0, name="balance")
    cost = 2 * cheap + 9 * dear
    model.add_objective(cost if sense == "min" else -1 * cost, sense=sense)
    return Follower.from_linopy(model, "balance")


def in_turn(sense: Sense = "min", parameter: Mapping[str, list[float]] | None = None) -> StackelbergGame:
    """Coal costs the leader 0.5 for each unit and the price of gas as it is."""
    game = StackelbergGame({"power": power(), "gas": gas(sense)}, parameter)
    coal = game.leader.add_variables(lower=0, upper=12, name="coal")
    game.raise_right_hand_side("coal limit", 1 * coal)
    burn = game.response("output").sel(plant="turbine", drop=True)
    game.raise_right_hand_side("balance", 1 * burn, of="gas")
    felt = 1.0 if sense == "min" else -1.0
    game.leader.add_objective(0.5 * coal + felt * game.price("balance", of="gas"))
    return game


@pytest.mark.parametrize("sense", ["min", "max"])
def test_gas_serves_what_power_burns(sense: Sense) -> None:
    """4 of coal leave a burn of 8, just what cheap gas can do: the leader pays 0.5 x 4 and a price of 2."""
    felt = 1.0 if sense == "min" else -1.0
    solution = in_turn(sense).solve()
    assert solution.verified
    assert solution.objective == pytest.approx(0.5 * 4 + 2)
    assert float(solution.variable("coal")) == pytest.approx(4)
    assert solution.response("output", of="power").values == pytest.approx([4, 8])
    assert float(solution.response("cheap")) == pytest.approx(8)
    assert float(solution.price("balance", of="gas")) == pytest.approx(felt * 2)
    assert float(solution.price("balance", of="power")) == pytest.approx(3)
    values = {"power": 4 + 3 * 8, "gas": felt * 16}
    assert dict(solution.follower_objectives) == pytest.approx(values)
    with pytest.raises(InputError, match="the game has the followers 'power', 'gas'"):
        assert solution.follower_objective


def test_parameters_by_name() -> None:
    """A demand of 10 needs 2 of coal; a gas balance of 1 besides needs one more."""
    assert in_turn(parameter={"power": [10.0]}).solve().objective == pytest.approx(0.5 * 2 + 2)
    both = {"power": [10.0], "gas": [1.0]}
    assert in_turn(parameter=both).solve().objective == pytest.approx(0.5 * 3 + 2)
    moved, written = in_turn().program(both), in_turn(parameter=both).program()
    assert moved.follower.row_lower.tolist() == written.follower.row_lower.tolist()
    with pytest.raises(InputError, match="no follower named 'gsa'; expected one of: 'power', 'gas'"):
        in_turn().program({"gsa": [1.0]})
    with pytest.raises(InputError, match="the game has the followers 'power', 'gas'"):
        in_turn().program([1.0])


def test_names_that_several_use_have_their_followers() -> None:
    program = in_turn().program()
    assert program.follower.row_names == ("power balance", "coal limit", "gas balance")
    assert program.follower.column_names == ("output[coal]", "output[turbine]", "cheap", "dear")
    assert "price of gas balance" in in_turn().leader.variables


def test_independent_followers_have_prices_of_their_own() -> None:
    """Two gas markets, one that maximises: the leader pipes gas into each until cheap gas serves it."""
    game = StackelbergGame({"east": gas(), "west": gas("max")}, {"east": [11.0], "west": [10.0]})
    markets = ("east", "west")
    piped = {name: game.leader.add_variables(lower=0, upper=20, name=f"to {name}") for name in markets}
    for name in markets:
        game.raise_right_hand_side("balance", -1 * piped[name], of=name)
    spent = 2 * piped["east"] + 3 * piped["west"]
    prices = game.price("balance", of="east") - game.price("balance", of="west")
    game.leader.add_objective(spent + 5 * prices)
    solution = game.solve()
    # a price falls from 9 to 2 at 8: worth 35, for 3 x 2 in the east and 2 x 3 in the west; no farther
    assert solution.objective == pytest.approx(6 + 6 + 5 * (2 + 2))
    assert dict(solution.follower_objectives) == pytest.approx({"east": 16, "west": -16})
    assert solution.bilevel.program.follower_sign == 1.0


def test_a_name_must_say_whose_it_is_where_it_is_not_unique() -> None:
    game = StackelbergGame({"power": power(), "gas": gas()})
    with pytest.raises(InputError, match=r"'balance' is a constraint of 'power' and 'gas'.*say whose by of="):
        game.price("balance")
    with pytest.raises(InputError, match=r"no follower has a variable named 'burn'.*'dear' of 'gas'"):
        game.response("burn")
    with pytest.raises(InputError, match="there is no follower named 'coal'"):
        game.price("balance", of="coal")
    with pytest.raises(InputError, match="there is no variable named 'cheap'"):
        game.response("cheap", of="power")
    with pytest.raises(InputError, match="say which by of="):
        assert game.follower


@pytest.mark.parametrize(
    ("of", "name", "words"),
    [
        ("gas", "cheap", "what raises 'gas balance' contains 'response cheap'; .* act before 'gas'"),
        ("power", "cheap", "what raises 'power balance' contains 'response cheap', which a follower"),
        ("gas", "price", "what raises 'gas balance' contains 'price of power balance'"),
    ],
)
def test_only_answers_of_earlier_followers_are_handed_on(of: str, name: str, words: str) -> None:
    game = StackelbergGame({"power": power(), "gas": gas()})
    given = game.price("balance", of="power") if name == "price" else game.response(name)
    game.leader.add_variables(lower=0, upper=1, name="x")
    game.raise_right_hand_side("balance", 1 * given, of=of)
    with pytest.raises(ModelError, match=words):
        game.solve()


def test_a_leader_raises_the_cost_of_one_follower() -> None:
    """A levy on dear gas of the market that maximises: its price falls to minus 9 and the levy."""
    game = StackelbergGame({"east": gas(), "west": gas("max")}, {"west": [10.0]})
    levy = game.leader.add_variables(lower=0, upper=4, name="levy")
    game.raise_cost("dear", -1 * levy, of="west")
    game.leader.add_objective(levy * game.response("dear", of="west"), sense="max")
    solution = game.solve()
    assert solution.objective == pytest.approx(4 * 2)
    assert float(solution.price("balance", of="west")) == pytest.approx(-13)
    assert solution.follower_objectives["west"] == pytest.approx(-(2 * 8 + 13 * 2))


def test_followers_must_be_followers() -> None:
    with pytest.raises(ModelError, match="the game has no follower"):
        StackelbergGame({})
    with pytest.raises(ModelError, match=r"the follower 'gas' is a Model; expected a ppsm.Follower"):
        StackelbergGame({"gas": linopy.Model()})
