"""The game of one day: the heat market of 24 hours answers to the power operator's selection of bids."""

from collections.abc import Callable
from dataclasses import dataclass

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.arrays import FloatArray
from ppsm.coordinations.any_game import GameCoordination
from ppsm.examples.heat.city import (
    BOILER_EUR_PER_MWH,
    DISTRICTS,
    GRID_MW,
    HOURS,
    OFFERS,
    PIPES_MW,
    PLANTS,
    PUMPING_EUR_PER_MWH,
    WASTE_EUR_PER_MWH,
    WASTE_MW,
    Offer,
)
from ppsm.examples.heat.year import HABITS, Year, checked_day, heat_forecast, heat_year
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.mechanism.prior import PublicPrior

UNIT = "MWh"
MANNED = 1.08
"""Boilers are manned for this much of the forecast."""
CONNECTED_DEGREES = 30.0
"""Connections are built for this many degrees below 17."""

_OFFERS = pd.Index([offer.name for offer in OFFERS], name="offer")
_PIPES = pd.Index([f"{start}-{end}" for start, end in PIPES_MW], name="pipe")


def _per_offer(value: Callable[[Offer], float]) -> xr.DataArray:
    return xr.DataArray([value(offer) for offer in OFFERS], coords=[_OFFERS])


def _per_district(values: dict[str, float]) -> xr.DataArray:
    return xr.DataArray([values.get(name, 0.0) for name in DISTRICTS], coords=[DISTRICTS])


def _hourly(values: FloatArray) -> xr.DataArray:
    return xr.DataArray(values, coords=[HOURS])


def _stands_in() -> xr.DataArray:
    here = [[float(offer.plant.district == name) for offer in OFFERS] for name in DISTRICTS]
    return xr.DataArray(here, coords=[DISTRICTS, _OFFERS])


def _arrives() -> xr.DataArray:
    ends = [[float(name == end) - float(name == start) for start, end in PIPES_MW] for name in DISTRICTS]
    return xr.DataArray(ends, coords=[DISTRICTS, _PIPES])


def _boilers_mw(year: Year, day: int) -> dict[str, float]:
    """What peak boilers can give: they are manned by the forecast, which is public."""
    peaks = dict(zip(DISTRICTS, year.forecast_mwh[day].max(axis=0), strict=True))
    return {name: max(5.0, MANNED * peak - WASTE_MW.get(name, 0.0)) for name, peak in peaks.items()}


def heat_market(day: int, year: Year) -> Follower:
    """The follower: hourly loads of the districts are the parameter ("load")."""
    market = linopy.Model()
    by_district, by_pipe = [HOURS, DISTRICTS], [HOURS, _PIPES]
    most = _per_district(_boilers_mw(year, day))
    pipe_limit = xr.DataArray(list(PIPES_MW.values()), coords=[_PIPES])
    plant = market.add_variables(lower=0, coords=[HOURS, _OFFERS], name="plant")
    boiler = market.add_variables(lower=0, upper=most, coords=by_district, name="boiler")
    waste = market.add_variables(lower=0, upper=_per_district(WASTE_MW), coords=by_district, name="waste")
    there = market.add_variables(lower=0, upper=pipe_limit, coords=by_pipe, name="there")
    back = market.add_variables(lower=0, upper=pipe_limit, coords=by_pipe, name="back")
    made = (plant * _stands_in()).sum("offer") + boiler + waste
    arriving = ((there - back) * _arrives()).sum("pipe")
    load = xr.DataArray(year.heat_mwh[day], coords=[HOURS, DISTRICTS])
    market.add_constraints(made + arriving >= load, name="load")
    market.add_constraints(plant <= 0, name="full output")
    market.add_constraints(plant >= 0, name="least output")
    market.add_objective(
        (plant * _per_offer(lambda offer: offer.heat_eur_per_mwh)).sum()
        + (boiler * _per_district(BOILER_EUR_PER_MWH)).sum()
        + WASTE_EUR_PER_MWH * waste.sum()
        + PUMPING_EUR_PER_MWH * (there.sum() + back.sum())
    )
    return Follower.from_linopy(market, parameter="load")


def heat_game(day: int, year: Year | None = None) -> StackelbergGame:
    """The game of a day: select bids (variable "selected") so that the city's power costs least."""
    year = heat_year() if year is None else year
    game = StackelbergGame(heat_market(checked_day(day), year), units={"load": UNIT, "plant": UNIT})
    selected = game.leader.add_variables(binary=True, coords=[_OFFERS], name="selected")
    _run_what_is_selected(game, selected)
    _select_valid_bids(game, selected)
    _buy_power(game, selected, day, year)
    return game


def _run_what_is_selected(game: StackelbergGame, selected: linopy.Variable) -> None:
    always = _hourly(np.ones(HOURS.size))
    full = _per_offer(lambda offer: offer.plant.heat_mw)
    least = _per_offer(lambda offer: offer.plant.least_heat_mw)
    game.raise_right_hand_side("full output", always * full * selected)
    game.raise_right_hand_side("least output", always * least * selected)


def _select_valid_bids(game: StackelbergGame, selected: linopy.Variable) -> None:
    for plant in PLANTS:
        own = [offer.name for offer in OFFERS if offer.plant is plant]
        game.leader.add_constraints(selected.sel(offer=own).sum() <= 1, name=f"one bid of {plant.name}")
    price = game.price("load")
    for offer in OFFERS:
        earned = price.sel(district=offer.plant.district, drop=True).sum("hour") / HOURS.size
        asked = offer.heat_eur_per_mwh * selected.sel(offer=offer.name, drop=True)
        game.leader.add_constraints(earned - asked >= 0, name=f"{offer.name} is valid")


def _buy_power(game: StackelbergGame, selected: linopy.Variable, day: int, year: Year) -> None:
    heat = game.response("plant")
    given = (heat * _per_offer(lambda offer: offer.plant.power_per_heat)).sum("offer")
    needed, price = _hourly(year.net_power_mwh[day]), _hourly(year.power_eur_per_mwh[day])
    game.leader.add_constraints(given >= needed - GRID_MW, name="grid")
    # linopy's objectives have no constants: a fixed variable costs what the city pays without plants.
    city = game.leader.add_variables(lower=1, upper=1, integer=True, name="city")
    bids = _per_offer(lambda offer: offer.plant.power_per_heat * offer.power_eur_per_mwh)
    starts = _per_offer(lambda offer: offer.plant.start_eur)
    game.leader.add_objective(
        float((needed * price).sum()) * city
        - (given * price).sum()
        + (heat * bids).sum()
        + (selected * starts).sum()
    )


@dataclass(frozen=True, eq=False)
class HeatDay:
    """A day of the year as the mechanism takes it.

    ``market`` is the game with public data only, ``loads`` are the true loads in the order of its entries,
    and ``forecast`` is what the weather says about them, which is public.
    """

    market: GameCoordination
    loads: FloatArray
    forecast: PublicPrior


def heat_day(day: int, year: Year | None = None) -> HeatDay:
    """The coordination, the loads and the public forecast of a day, 0 being the first of January."""
    year = heat_year() if year is None else year
    game = heat_game(day, year)
    most = heat_forecast(np.array([CONNECTED_DEGREES])).max(axis=1).repeat(HOURS.size, axis=0).ravel()
    said = year.forecast_mwh[day].ravel()
    return HeatDay(
        GameCoordination(game, unit=UNIT, bounds=(np.zeros(most.size), most)),
        game.follower.nominal,
        PublicPrior.of(said, HABITS * said, source="forecast by degree days"),
    )
