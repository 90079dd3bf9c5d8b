"""A river authority opens reservoirs so that no district pays more than a ceiling for water.

Leader: which reservoirs to open (binary, a fixed cost each). Follower: the water market, which serves every
district's demand (the sensitive vector) from wells and reservoirs along canals at least cost. Feedback: the
authority promises that the market price of water stays below a ceiling in every district.
"""

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

DISTRICTS = pd.Index(["hill", "town", "plain", "delta"], name="district")
_CANALS = pd.Index(["hill-town", "town-plain", "plain-delta", "hill-plain"], name="canal")
_CANAL_ENDS = [("hill", "town"), ("town", "plain"), ("plain", "delta"), ("hill", "plain")]
_WELLS = pd.Index(["shallow", "deep"], name="well")


def _per_district(values: list[float]) -> xr.DataArray:
    return xr.DataArray(values, coords=[DISTRICTS])


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
    demand = _per_district([20, 45, 40, 30])
    market.add_constraints(pump.sum("well") + tanker + arriving == demand, name="demand")
    market.add_objective((pump * well_cost).sum() + 300 * tanker.sum())
    return Follower.from_linopy(market, parameter="demand")


def water_game(price_ceiling: float = 100.0) -> StackelbergGame:
    """The game: open reservoirs (variable "open") at least cost under a price ceiling in $/ML."""
    game = StackelbergGame(water_market(), units={"demand": "ML/day", "pump": "ML/day", "flow": "ML/day"})
    release = _per_district([35, 20, 30, 25])
    cost = _per_district([1900, 1500, 1700, 1600])
    opened = game.leader.add_variables(binary=True, coords=[DISTRICTS], name="open")
    game.raise_right_hand_side("demand", -release * opened)
    game.leader.add_constraints(game.price("demand") <= price_ceiling, name="affordable")
    game.leader.add_objective((cost * opened).sum())
    return game
