"""Products in the leader's objective: incomes of bidders and producers, and what is refused."""

from typing import Literal

import linopy
import pandas as pd
import pytest
import xarray as xr

from ppsm.coordinations import GameCoordination
from ppsm.errors import ModelError
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

PLANTS = pd.Index(["own", "cheap", "dear"], name="plant")
Sense = Literal["min", "max"]


def power_market(sense: Sense, own: float = 80.0) -> Follower:
    """100 MWh are needed: 80 of the bidder's own, 60 at 20, 100 at 50."""
    model = linopy.Model()
    most = xr.DataArray([own, 60.0, 100.0], coords=[PLANTS])
    output = model.add_variables(lower=0, upper=most, coords=[PLANTS], name="output")
    model.add_constraints(output.sum() == 100, name="balance")
    cost = (xr.DataArray([0.0, 20.0, 50.0], coords=[PLANTS]) * output).sum()
    model.add_objective(cost if sense == "min" else -1 * cost, sense=sense)
    return Follower.from_linopy(model, "balance")


@pytest.mark.parametrize("leader_sense", ["min", "max"])
@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_bidder_earns_price_times_quantity(sense: Sense, leader_sense: Sense) -> None:
    """40 MWh at 50 are worth more than 80 at 20; a market that maximises has the price -50."""
    felt, counted = (1.0 if one == "min" else -1.0 for one in (sense, leader_sense))
    game = StackelbergGame(power_market(sense))
    bid = game.leader.add_variables(lower=0, upper=200, name="bid")
    game.raise_cost("output", felt * bid * xr.DataArray([1.0, 0.0, 0.0], coords=[PLANTS]))
    sold = game.response("output").sel(plant="own", drop=True)
    game.leader.add_objective(counted * (10 * sold - felt * game.price("balance") * sold), sense=leader_sense)
    solution = game.solve()
    assert solution.verified
    assert solution.objective == pytest.approx(-counted * 40 * (50 - 10))
    assert float(solution.price("balance")) == pytest.approx(felt * 50)
    assert solution.response("output").values == pytest.approx([40, 60, 0])


@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_producer_earns_price_times_what_it_offers(sense: Sense) -> None:
    """Beyond what the cheap rival leaves, 40 MWh, the price falls from 50 to 20."""
    felt = 1.0 if sense == "min" else -1.0
    game = StackelbergGame(power_market(sense, own=0.0))
    offered = game.leader.add_variables(lower=0, upper=70, name="offered")
    game.raise_right_hand_side("balance", -1 * offered)
    game.leader.add_objective(felt * game.price("balance") * offered, sense="max")
    solution = game.solve()
    assert solution.objective == pytest.approx(40 * 50)
    assert float(solution.variable("offered")) == pytest.approx(40)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("'bid' by 'bid', both the leader's own", "own"),
        (r"'response output\[own\]' by 'response output\[own\]', both answers", "answers"),
        ("'price of balance' by 'price of balance', both prices", "prices"),
    ],
)
def test_other_products_are_refused_by_name(words: str, kind: str) -> None:
    game = StackelbergGame(power_market("min"))
    bid = game.leader.add_variables(lower=0, upper=200, name="bid")
    output = game.response("output").sel(plant="own", drop=True)
    factor = {"own": bid, "answers": output, "prices": game.price("balance")}[kind]
    game.leader.add_objective(factor * factor)
    with pytest.raises(ModelError, match=f"multiplies {words}"):
        game.solve()


def test_mechanisms_refuse_products() -> None:
    game = StackelbergGame(power_market("min"))
    sold = game.response("output").sel(plant="own", drop=True)
    game.leader.add_variables(lower=0, upper=1, name="x")
    game.leader.add_objective(game.price("balance") * sold)
    with pytest.raises(ModelError, match="products in the leader's objective, which the mechanisms"):
        GameCoordination(game, unit="MWh")
