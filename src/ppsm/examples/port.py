"""A port rents batteries so that shore power stays cheaper than a ship's own engines.

Leader: at which quays a battery barge is moored (binary, a rent each). Follower: the port's power market,
which serves the ships at every quay (the sensitive vector: it says who is in port) over feeders with limits,
from the grid and from gas engines of the port. Feedback: ships plug in only where shore power costs less than
burning oil on board, so its price must stay below that at every quay. A cruise ship takes about 13 MW, a
container ship 3 MW (Massachusetts Port Authority, 2016, as cited by Wikipedia, "Cold ironing").
"""

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

QUAYS = pd.Index(["cruise", "containers", "ferries", "bulk"], name="quay")
_FEEDERS = pd.Index(["cruise-ferries", "ferries-containers", "containers-bulk"], name="feeder")
_FEEDER_ENDS = [("cruise", "ferries"), ("ferries", "containers"), ("containers", "bulk")]


def _per_quay(values: list[float]) -> xr.DataArray:
    return xr.DataArray(values, coords=[QUAYS])


def shore_power() -> Follower:
    """The follower: what ships take at each quay in MW is the parameter ("ships"), prices are in EUR/MWh."""
    market = linopy.Model()
    grid = market.add_variables(lower=0, upper=_per_quay([0, 20, 14, 0]), coords=[QUAYS], name="grid")
    engine = market.add_variables(lower=0, upper=_per_quay([6, 8, 4, 5]), coords=[QUAYS], name="engine")
    limit = xr.DataArray([12.0, 8.0, 6.0], coords=[_FEEDERS])
    flow = market.add_variables(lower=-limit, upper=limit, coords=[_FEEDERS], name="flow")
    ends = [[float(quay == end) - float(quay == start) for start, end in _FEEDER_ENDS] for quay in QUAYS]
    arriving = (flow * xr.DataArray(np.array(ends), coords=[QUAYS, _FEEDERS])).sum("feeder")
    market.add_constraints(grid + engine + arriving == _per_quay([13, 15, 6, 7]), name="ships")
    market.add_objective(
        (grid * _per_quay([0, 80, 84, 0])).sum() + (engine * _per_quay([210, 190, 205, 200])).sum()
    )
    return Follower.from_linopy(market, parameter="ships")


def port_game(on_board: float = 160.0) -> StackelbergGame:
    """The game: moor barges (variable "barge") at least rent under the cost of power on board, EUR/MWh."""
    game = StackelbergGame(shore_power(), units={"ships": "MW", "grid": "MW", "engine": "MW"})
    barge = game.leader.add_variables(binary=True, coords=[QUAYS], name="barge")
    game.raise_right_hand_side("ships", -_per_quay([4, 5, 4, 4]) * barge)
    game.leader.add_constraints(game.price("ships") <= on_board, name="cheaper than on board")
    game.leader.add_objective((_per_quay([900, 700, 800, 650]) * barge).sum())
    return game
