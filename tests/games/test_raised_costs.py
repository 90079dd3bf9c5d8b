"""Costs of the follower that the leader raises, in both senses of the follower's model."""

from typing import Literal

import linopy
import pandas as pd
import pytest
import xarray as xr

from ppsm.coordinations import GameCoordination
from ppsm.errors import InputError, ModelError
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

ROADS = pd.Index(["bridge", "detour"], name="road")
ON_BRIDGE = xr.DataArray([1.0, 0.0], coords=[ROADS])
Sense = Literal["min", "max"]


def travellers(sense: Sense) -> Follower:
    """Ten trips over a bridge that takes 2 or a detour that takes 7; who maximises counts it negative."""
    model = linopy.Model()
    trips = model.add_variables(lower=0, coords=[ROADS], name="trips")
    model.add_constraints(trips.sum() == 10, name="all")
    time = (xr.DataArray([2.0, 7.0], coords=[ROADS]) * trips).sum()
    model.add_objective(time if sense == "min" else -1 * time, sense=sense)
    return Follower.from_linopy(model, "all")


def toll_game(sense: Sense, factor: float = 1.0) -> StackelbergGame:
    game = StackelbergGame(travellers(sense))
    toll = game.leader.add_variables(lower=0, upper=100, name="toll")
    felt = factor if sense == "min" else -factor
    game.raise_cost("trips", felt * toll * ON_BRIDGE)
    crossing = game.response("trips").sel(road="bridge", drop=True)
    game.leader.add_objective(toll * crossing, sense="max")
    return game


@pytest.mark.parametrize("sense", ["min", "max"])
def test_the_toll_is_what_the_detour_takes_longer(sense: Sense) -> None:
    solution = toll_game(sense).solve()
    assert solution.verified
    assert solution.objective == pytest.approx(50)
    assert float(solution.variable("toll")) == pytest.approx(5)
    assert solution.follower_objective == pytest.approx(70 if sense == "min" else -70)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_amounts_add_up_and_constants_count(sense: Sense) -> None:
    """The bridge takes 2 + 1 + toll + toll: a toll of 2 makes it 7."""
    game = toll_game(sense)
    felt = 1.0 if sense == "min" else -1.0
    toll = game.leader.variables["toll"]
    game.raise_cost("trips", felt * toll * ON_BRIDGE + felt * ON_BRIDGE)
    solution = game.solve()
    assert float(solution.variable("toll")) == pytest.approx(2)
    assert solution.objective == pytest.approx(20)
    assert solution.follower_objectives == pytest.approx({"follower": felt * 70})


def test_what_raises_a_cost_must_fit_the_variable() -> None:
    game = StackelbergGame(travellers("min"))
    toll = game.leader.add_variables(lower=0, coords=[ROADS], name="toll")
    with pytest.raises(InputError, match="there is no variable named 'all'"):
        game.raise_cost("all", 1 * toll)
    with pytest.raises(ModelError, match="what raises the cost of 'trips' is a float"):
        game.raise_cost("trips", 3.0)
    with pytest.raises(ModelError, match="what raises the cost of 'trips' belongs to another model"):
        game.raise_cost("trips", 1 * linopy.Model().add_variables(name="x"))
    hours = pd.Index([1, 2], name="hour")
    hourly = game.leader.add_variables(coords=[hours], name="hourly")
    with pytest.raises(ModelError, match=r"cost of 'trips' has the dimension 'hour', which the variable"):
        game.raise_cost("trips", 1 * hourly)


def test_a_cost_is_not_raised_by_the_followers_answer() -> None:
    game = toll_game("min")
    game.raise_cost("trips", 1 * game.response("trips"))
    with pytest.raises(ModelError, match=r"contains 'response trips\[bridge\]', which a follower decides"):
        game.solve()


def test_mechanisms_refuse_raised_costs() -> None:
    with pytest.raises(ModelError, match="a leader who raises the follower's costs, which the mechanisms"):
        GameCoordination(toll_game("min"), unit="trips")
