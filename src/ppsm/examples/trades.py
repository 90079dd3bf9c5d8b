"""Five small games of as many trades, one page of linopy each: two functions, the follower and the game.

They serve as documentation, as test cases, and as the smallest inputs on which every capability of the
package can be tried. In each the follower's orders, demands or trips are the sensitive vector, and prices of
its market come back to the leader.
"""

import itertools

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame


def _by(index: pd.Index, values: list[float]) -> xr.DataArray:
    return xr.DataArray(values, coords=[index])


# --- water ---

DISTRICTS = pd.Index(["hill", "town", "plain", "delta"], name="district")
_CANALS = pd.Index(["hill-town", "town-plain", "plain-delta", "hill-plain"], name="canal")
_CANAL_ENDS = [("hill", "town"), ("town", "plain"), ("plain", "delta"), ("hill", "plain")]
_WELLS = pd.Index(["shallow", "deep"], name="well")


def water_market() -> Follower:
    """The follower: demands in megalitres a day are the parameter ("demand"), prices are in $/ML."""
    market = linopy.Model()
    well_limit = xr.DataArray(np.array([[30, 20, 25, 15], [20, 20, 20, 20]]), coords=[_WELLS, DISTRICTS])
    well_cost = xr.DataArray(np.array([[40, 55, 50, 60], [95, 110, 105, 120]]), coords=[_WELLS, DISTRICTS])
    pump = market.add_variables(lower=0, upper=well_limit, coords=[_WELLS, DISTRICTS], name="pump")
    flow = market.add_variables(lower=-25, upper=25, coords=[_CANALS], name="flow")
    tanker = market.add_variables(lower=0, coords=[DISTRICTS], name="tanker")
    incidence = np.array(
        [[(d == end) - (d == start) for start, end in _CANAL_ENDS] for d in DISTRICTS], dtype=float
    )
    arriving = (flow * xr.DataArray(incidence, coords=[DISTRICTS, _CANALS])).sum("canal")
    demand = _by(DISTRICTS, [20, 45, 40, 30])
    market.add_constraints(pump.sum("well") + tanker + arriving == demand, name="demand")
    market.add_objective((pump * well_cost).sum() + 300 * tanker.sum())
    return Follower.from_linopy(market, parameter="demand")


def water_game(price_ceiling: float = 100.0) -> StackelbergGame:
    """The game: open reservoirs (variable "open") at least cost under a price ceiling in $/ML.

    A river authority opens reservoirs so that no district pays more than a ceiling for water.

    Leader: which reservoirs to open (binary, a fixed cost each). Follower: the water market, which serves
    every district's demand (the sensitive vector) from wells and reservoirs along canals at least cost.
    Feedback: the authority promises that the market price of water stays below a ceiling in every district.
    """
    game = StackelbergGame(water_market(), units={"demand": "ML/day", "pump": "ML/day", "flow": "ML/day"})
    release = _by(DISTRICTS, [35, 20, 30, 25])
    cost = _by(DISTRICTS, [1900, 1500, 1700, 1600])
    opened = game.leader.add_variables(binary=True, coords=[DISTRICTS], name="open")
    game.raise_right_hand_side("demand", -release * opened)
    game.leader.add_constraints(game.price("demand") <= price_ceiling, name="affordable")
    game.leader.add_objective((cost * opened).sum())
    return game


# --- emission permits ---

SECTORS = pd.Index(["steel", "cement", "glass"], name="sector")


def industry() -> Follower:
    """The follower: orders in kilotonnes are the parameter ("orders"), the permit row is "cap"."""
    model = linopy.Model()
    dirty = model.add_variables(lower=0, upper=_by(SECTORS, [60, 50, 30]), coords=[SECTORS], name="dirty")
    clean = model.add_variables(lower=0, upper=_by(SECTORS, [50, 30, 30]), coords=[SECTORS], name="clean")
    abroad = model.add_variables(lower=0, coords=[SECTORS], name="abroad")
    model.add_constraints(dirty + clean + abroad == _by(SECTORS, [70, 45, 25]), name="orders")
    emissions = (_by(SECTORS, [1.9, 0.8, 0.6]) * dirty + _by(SECTORS, [0.6, 0.4, 0.2]) * clean).sum()
    model.add_constraints(emissions <= 0, name="cap")
    made = (_by(SECTORS, [100, 60, 80]) * dirty + _by(SECTORS, [152, 84, 102]) * clean).sum()
    model.add_objective(made + 260 * abroad.sum())
    return Follower.from_linopy(model, parameter="orders")


def permit_game(floor: float = 25.0, ceiling: float = 60.0, damage: float = 35.0) -> StackelbergGame:
    """The game: issue permits (variable "permits", kt CO2) against damage and the industry's own cost.

    A regulator issues emission permits and must keep the permit price inside a corridor.

    Leader: how many permits to issue (continuous; each one does damage). Follower: the industry, which fills
    its orders (the sensitive vector) from dirty and clean plants at least cost within the permits. Feedback:
    the permit price, the negative of the price of the emission cap (a ``<=`` row, see the sign table in
    :mod:`ppsm.program`), must stay between a floor and a ceiling.
    """
    game = StackelbergGame(industry(), units={"orders": "kt", "cap": "kt CO2"})
    permits = game.leader.add_variables(lower=0, upper=200, name="permits")
    game.raise_right_hand_side("cap", permits)
    permit_price = -game.price("cap")
    game.leader.add_constraints(permit_price >= floor, name="floor")
    game.leader.add_constraints(permit_price <= ceiling, name="ceiling")
    game.leader.add_objective(damage * permits + 100 * game.response("abroad").sum())
    return game


# --- freight ---

PORTS = pd.Index(["north", "south"], name="port")
CITIES = pd.Index(["mill", "forge", "market"], name="city")


def carriers() -> Follower:
    """The follower: orders in containers are the parameter ("orders"); "handling" limits each port."""
    model = linopy.Model()
    rail_cost = xr.DataArray(np.array([[20, 45, 50], [55, 25, 30]]), coords=[PORTS, CITIES])
    rail = model.add_variables(lower=0, coords=[PORTS, CITIES], name="rail")
    truck = model.add_variables(lower=0, coords=[CITIES], name="truck")
    orders = _by(CITIES, [40.0, 30.0, 50.0])
    handled = _by(PORTS, [50.0, 30.0])
    model.add_constraints(rail.sum("port") + truck == orders, name="orders")
    model.add_constraints(rail.sum("city") <= handled, name="handling")
    model.add_objective((rail * rail_cost).sum() + 120 * truck.sum())
    return Follower.from_linopy(model, parameter="orders")


def freight_game(largest_difference: float = 20.0) -> StackelbergGame:
    """The game: rent extra cranes (variable "cranes", 10 containers each) at least cost under even prices.

    A port authority rents out cranes so that shipping costs stay even between cities.

    Leader: how many extra cranes each port gets (whole numbers). Follower: the carriers, who bring every city
    the containers it ordered (the sensitive vector) through the ports by rail, or by truck at a high price.
    Feedback: the price of a container may not differ by more than a set amount between any two cities.
    """
    game = StackelbergGame(carriers(), units={"orders": "containers", "handling": "containers"})
    cranes = game.leader.add_variables(lower=0, upper=5, integer=True, coords=[PORTS], name="cranes")
    game.raise_right_hand_side("handling", 10 * cranes)
    price = game.price("orders")
    for one, other in itertools.permutations(CITIES, 2):
        game.leader.add_constraints(
            price.sel(city=one, drop=True) - price.sel(city=other, drop=True) <= largest_difference,
            name=f"even {one}-{other}",
        )
    game.leader.add_objective((_by(PORTS, [300.0, 260.0]) * cranes).sum())
    return game


# --- shore power in a port ---

QUAYS = pd.Index(["cruise", "containers", "ferries", "bulk"], name="quay")
_FEEDERS = pd.Index(["cruise-ferries", "ferries-containers", "containers-bulk"], name="feeder")
_FEEDER_ENDS = [("cruise", "ferries"), ("ferries", "containers"), ("containers", "bulk")]


def shore_power() -> Follower:
    """The follower: what ships take at each quay in MW is the parameter ("ships"), prices are in EUR/MWh."""
    market = linopy.Model()
    grid = market.add_variables(lower=0, upper=_by(QUAYS, [0, 20, 14, 0]), coords=[QUAYS], name="grid")
    engine = market.add_variables(lower=0, upper=_by(QUAYS, [6, 8, 4, 5]), coords=[QUAYS], name="engine")
    limit = _by(_FEEDERS, [12.0, 8.0, 6.0])
    flow = market.add_variables(lower=-limit, upper=limit, coords=[_FEEDERS], name="flow")
    ends = [[float(quay == end) - float(quay == start) for start, end in _FEEDER_ENDS] for quay in QUAYS]
    arriving = (flow * xr.DataArray(np.array(ends), coords=[QUAYS, _FEEDERS])).sum("feeder")
    market.add_constraints(grid + engine + arriving == _by(QUAYS, [13, 15, 6, 7]), name="ships")
    market.add_objective(
        (grid * _by(QUAYS, [0, 80, 84, 0])).sum() + (engine * _by(QUAYS, [210, 190, 205, 200])).sum()
    )
    return Follower.from_linopy(market, parameter="ships")


def port_game(on_board: float = 160.0) -> StackelbergGame:
    """The game: moor barges (variable "barge") at least rent under the cost of power on board, EUR/MWh.

    A port rents batteries so that shore power stays cheaper than a ship's own engines.

    Leader: at which quays a battery barge is moored (binary, a rent each). Follower: the port's power market,
    which serves the ships at every quay (the sensitive vector: it says who is in port) over feeders with
    limits, from the grid and from gas engines of the port. Feedback: ships plug in only where shore power
    costs less than burning oil on board, so its price must stay below that at every quay. A cruise ship takes
    about 13 MW, a container ship 3 MW (Massachusetts Port Authority, 2016, as cited by Wikipedia, "Cold
    ironing").
    """
    game = StackelbergGame(shore_power(), units={"ships": "MW", "grid": "MW", "engine": "MW"})
    barge = game.leader.add_variables(binary=True, coords=[QUAYS], name="barge")
    game.raise_right_hand_side("ships", -_by(QUAYS, [4, 5, 4, 4]) * barge)
    game.leader.add_constraints(game.price("ships") <= on_board, name="cheaper than on board")
    game.leader.add_objective((_by(QUAYS, [900, 700, 800, 650]) * barge).sum())
    return game


# --- traffic ---

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
    trips = _by(PAIRS, [1900.0, 1500.0, 900.0, 800.0])
    model.add_constraints(served == trips, name="trips")
    model.add_constraints(taken <= _by(ROADS, [1800.0, 1700.0, 900.0, 900.0, 900.0]), name="room")
    model.add_objective((cars * minutes).sum())
    return Follower.from_linopy(model, parameter="trips")


def traffic_game(promise: float = 40.0) -> StackelbergGame:
    """The game: open lanes (variable "open") at least cost so that a trip adds at most so many minutes.

    A road authority opens lanes so that no trip takes longer than it has promised.

    Leader: which hard shoulders are opened as lanes in the peak hour (binary, a cost each). Follower: traffic
    routed at least total time, trips of every pair of origin and destination (the sensitive vector) over
    motorway, ring and town roads with capacities. Feedback: what one more trip of a pair adds to the total
    time stays below a promise.
    """
    game = StackelbergGame(routed_traffic(), units={"trips": "trips", "room": "cars"})
    lane = _by(ROADS, [600.0, 600.0, 400.0, 300.0, 200.0])
    cost = _by(ROADS, [900.0, 850.0, 700.0, 1200.0, 400.0])
    opened = game.leader.add_variables(binary=True, coords=[ROADS], name="open")
    game.raise_right_hand_side("room", lane * opened)
    game.leader.add_constraints(game.price("trips") <= promise, name="promise")
    game.leader.add_objective((cost * opened).sum())
    return game
