"""A regulator issues emission permits and must keep the permit price inside a corridor.

Leader: how many permits to issue (continuous; each one does damage). Follower: the industry, which fills its
orders (the sensitive vector) from dirty and clean plants at least cost within the permits. Feedback: the
permit price, the negative of the price of the emission cap (a ``<=`` row, see the sign table in
:mod:`ppsm.program`), must stay between a floor and a ceiling.
"""

import linopy
import pandas as pd
import xarray as xr

from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame

SECTORS = pd.Index(["steel", "cement", "glass"], name="sector")


def _per_sector(values: list[float]) -> xr.DataArray:
    return xr.DataArray(values, coords=[SECTORS])


def industry() -> Follower:
    """The follower: orders in kilotonnes are the parameter ("orders"), the permit row is "cap"."""
    model = linopy.Model()
    dirty = model.add_variables(lower=0, upper=_per_sector([60, 50, 30]), coords=[SECTORS], name="dirty")
    clean = model.add_variables(lower=0, upper=_per_sector([50, 30, 30]), coords=[SECTORS], name="clean")
    abroad = model.add_variables(lower=0, coords=[SECTORS], name="abroad")
    model.add_constraints(dirty + clean + abroad == _per_sector([70, 45, 25]), name="orders")
    emissions = (_per_sector([1.9, 0.8, 0.6]) * dirty + _per_sector([0.6, 0.4, 0.2]) * clean).sum()
    model.add_constraints(emissions <= 0, name="cap")
    model.add_objective(
        (_per_sector([100, 60, 80]) * dirty + _per_sector([152, 84, 102]) * clean).sum() + 260 * abroad.sum()
    )
    return Follower.from_linopy(model, parameter="orders")


def permit_game(floor: float = 25.0, ceiling: float = 60.0, damage: float = 35.0) -> StackelbergGame:
    """The game: issue permits (variable "permits", kt CO2) against damage and the industry's own cost."""
    game = StackelbergGame(industry(), units={"orders": "kt", "cap": "kt CO2"})
    permits = game.leader.add_variables(lower=0, upper=200, name="permits")
    game.raise_right_hand_side("cap", permits)
    permit_price = -game.price("cap")
    game.leader.add_constraints(permit_price >= floor, name="floor")
    game.leader.add_constraints(permit_price <= ceiling, name="ceiling")
    game.leader.add_objective(damage * permits + 100 * game.response("abroad").sum())
    return game
