"""A port authority rents out cranes so that shipping costs stay even between cities.

Leader: how many extra cranes each port gets (whole numbers). Follower: the carriers, who bring every city the
containers it ordered (the sensitive vector) through the ports by rail, or by truck at a high price. Feedback:
the price of a container may not differ by more than a set amount between any two cities.
"""

import itertools

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

PORTS = pd.Index(["north", "south"], name="port")
CITIES = pd.Index(["mill", "forge", "market"], name="city")


def carriers() -> Follower:
    """The follower: orders in containers are the parameter ("orders"); "handling" limits each port."""
    model = linopy.Model()
    rail_cost = xr.DataArray(np.array([[20, 45, 50], [55, 25, 30]]), coords=[PORTS, CITIES])
    rail = model.add_variables(lower=0, coords=[PORTS, CITIES], name="rail")
    truck = model.add_variables(lower=0, coords=[CITIES], name="truck")
    orders = xr.DataArray([40.0, 30.0, 50.0], coords=[CITIES])
    handled = xr.DataArray([50.0, 30.0], coords=[PORTS])
    model.add_constraints(rail.sum("port") + truck == orders, name="orders")
    model.add_constraints(rail.sum("city") <= handled, name="handling")
    model.add_objective((rail * rail_cost).sum() + 120 * truck.sum())
    return Follower.from_linopy(model, parameter="orders")


def freight_game(largest_difference: float = 20.0) -> StackelbergGame:
    """The game: rent extra cranes (variable "cranes", 10 containers each) at least cost under even prices."""
    game = StackelbergGame(carriers(), units={"orders": "containers", "handling": "containers"})
    cranes = game.leader.add_variables(lower=0, upper=5, integer=True, coords=[PORTS], name="cranes")
    game.raise_right_hand_side("handling", 10 * cranes)
    price = game.price("orders")
    for one, other in itertools.permutations(CITIES, 2):
        game.leader.add_constraints(
            price.sel(city=one, drop=True) - price.sel(city=other, drop=True) <= largest_difference,
            name=f"even {one}-{other}",
        )
    game.leader.add_objective((xr.DataArray([300.0, 260.0], coords=[PORTS]) * cranes).sum())
    return game
