"""A road authority opens lanes so that no trip takes longer than it has promised.

Leader: which hard shoulders are opened as lanes in the peak hour (binary, a cost each). Follower: traffic
routed at least total time, trips of every pair of origin and destination (the sensitive vector) over
motorway, ring and town roads with capacities. Feedback: what one more trip of a pair adds to the total time
stays below a promise.
"""

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

PAIRS = pd.Index(["north-centre", "east-centre", "north-port", "east-port"], name="pair")
ROADS = pd.Index(["north motorway", "east motorway", "ring", "bridge", "town"], name="road")
_ROUTES = {
    "north-centre by motorway": ("north-centre", ("north motorway",), 14.0),
    "north-centre by town": ("north-centre", ("town",), 31.0),
    "east-centre by motorway": ("east-centre", ("east motorway",), 16.0),
    "east-centre by ring": ("east-centre", ("ring", "north motorway"), 27.0),
    "north-port by ring": ("north-port", ("ring",), 18.0),
    "north-port by bridge": ("north-port", ("north motorway", "bridge"), 22.0),
    "north-port by town": ("north-port", ("town", "bridge"), 40.0),
    "east-port by ring": ("east-port", ("east motorway", "ring"), 25.0),
    "east-port by bridge": ("east-port", ("east motorway", "bridge"), 24.0),
    "east-port by town": ("east-port", ("town",), 45.0),
}
_ROUTE_NAMES = pd.Index(list(_ROUTES), name="route")


def routed_traffic() -> Follower:
    """The follower: trips in the peak hour are the parameter ("trips"); "room" limits each road."""
    model = linopy.Model()
    minutes = xr.DataArray([time for _, _, time in _ROUTES.values()], coords=[_ROUTE_NAMES])
    serves = np.array([[float(pair == own) for own, _, _ in _ROUTES.values()] for pair in PAIRS])
    uses = np.array([[float(road in roads) for _, roads, _ in _ROUTES.values()] for road in ROADS])
    cars = model.add_variables(lower=0, coords=[_ROUTE_NAMES], name="cars")
    served = (cars * xr.DataArray(serves, coords=[PAIRS, _ROUTE_NAMES])).sum("route")
    taken = (cars * xr.DataArray(uses, coords=[ROADS, _ROUTE_NAMES])).sum("route")
    trips = xr.DataArray([1900.0, 1500.0, 900.0, 800.0], coords=[PAIRS])
    model.add_constraints(served == trips, name="trips")
    model.add_constraints(
        taken <= xr.DataArray([1800.0, 1700.0, 900.0, 900.0, 900.0], coords=[ROADS]), name="room"
    )
    model.add_objective((cars * minutes).sum())
    return Follower.from_linopy(model, parameter="trips")


def traffic_game(promise: float = 40.0) -> StackelbergGame:
    """The game: open lanes (variable "open") at least cost so that a trip adds at most so many minutes."""
    game = StackelbergGame(routed_traffic(), units={"trips": "trips", "room": "cars"})
    lane = xr.DataArray([600.0, 600.0, 400.0, 300.0, 200.0], coords=[ROADS])
    cost = xr.DataArray([900.0, 850.0, 700.0, 1200.0, 400.0], coords=[ROADS])
    opened = game.leader.add_variables(binary=True, coords=[ROADS], name="open")
    game.raise_right_hand_side("room", lane * opened)
    game.leader.add_constraints(game.price("trips") <= promise, name="promise")
    game.leader.add_objective((cost * opened).sum())
    return game
