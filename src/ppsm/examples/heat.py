"""Heat and electricity: a power operator selects bids that the heat market of the day must make worthwhile.

After Mitridati, Romei, Hug and Fioretto, "Differentially-Private Heat and Electricity Markets Coordination"
(2022), whose two markets also meet in bids that are valid only at certain prices of the other one. Here power
leads and heat follows, hour by hour, with h the hour, n the district, o an offer (a plant at one of its
bids):

* leader: w_o in {0, 1}, at most one offer of a plant; the least cost of the city's power, which is bought at
  the day-ahead price p_h less what plants give: sum_h p_h (need_h - sum_o r_o q_oh) + sum_oh bid_o r_o q_oh
  + sum_o start_o w_o. The grid brings in at most G: need_h - sum_o r_o q_oh <= G.
* follower: the cheapest heat. Waste, boilers and pipes are limited, and a selected plant runs between its
  least and its full output: least_o w_o <= q_oh <= full_o w_o. In each district supply + arriving >= load_nh,
  the secret; its price is y_nh.
* bid validity: an offer asks a_o = fuel_o - r_o bid_o for its heat (a heat pump has r < 0 and no fuel). Above
  its least output it runs only where heat earns that; on the least output it must not lose over the day:
  sum_h y_nh / 24 >= a_o w_o.

**The city** is ours; its proportions follow public facts. A transmission system delivers 5 TWh of heat in a
normal year, 27 % of it from waste and 70 % from combined heat and power (Ramboll on CTR, Copenhagen, State of
Green, 2009). Waste comes first, peak boilers last (CTR, "Environment-friendly district heating to the Greater
Copenhagen Area"). Large heat pumps reach a seasonal COP of 3.4 to 3.7 (a river-water heat pump in German
district heating, 9pdf.org/document/yng6pxmj). Fuel prices, efficiencies, capacities and bids are assumptions
of the size that such plants have, chosen so that bids become valid in different seasons.

**A year** of it, hour by hour: heat follows degree days below 17 degrees (the Danish normal year has 3,009
of them: Danish Technological Institute, as printed by Auning Fjernvarme,
auningfjernvarme.dk/gode-raad/graddage), with a shape over the day, and hot water all year round: 25 of about
125 kWh/m2 (nPro, "Domestic hot water demand"). Weather is a seeded series around the normal year. Each
district departs from this public forecast by a few percent, as people do: that is the secret part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.arrays import FloatArray
from ppsm.coordinations.any_game import GameCoordination
from ppsm.errors import InputError
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.mechanism.prior import PublicPrior

# --- the city: districts, pipes, plants with their bids, and what else serves heat and power ---

DISTRICTS = pd.Index(["harbour", "centre", "west", "north", "south"], name="district")
HOURS = pd.RangeIndex(24, name="hour")
HEAT_OF_A_YEAR_MWH = 5e6
SHARES = {"harbour": 0.14, "centre": 0.34, "west": 0.20, "north": 0.18, "south": 0.14}
"""What of the heat each district takes."""

PIPES_MW = {
    ("harbour", "centre"): 260.0,
    ("west", "centre"): 160.0,
    ("centre", "north"): 90.0,
    ("south", "west"): 60.0,
    ("south", "centre"): 60.0,
}
"""Transport limits between districts, the same both ways."""
PUMPING_EUR_PER_MWH = 0.5

WASTE_MW = {"harbour": 100.0, "west": 60.0}
WASTE_EUR_PER_MWH = 5.0
BOILER_EUR_PER_MWH = {"harbour": 62.0, "centre": 60.0, "west": 64.0, "north": 66.0, "south": 68.0}
"""Gas-fired peak boilers; they differ by age."""


@dataclass(frozen=True)
class Plant:
    """A plant of the power operator that also makes heat.

    ``power_per_heat`` is what one MWh of heat gives (combined heat and power) or takes (a heat pump: minus
    one over its COP); ``fuel_eur_per_mwh`` is the fuel for one MWh of heat with its power.
    ``bids_eur_per_mwh`` are the prices at which it offers (or, as a heat pump, buys) power, from which the
    operator selects one for the day, or none.
    """

    name: str
    district: str
    heat_mw: float
    least_heat_mw: float
    power_per_heat: float
    fuel_eur_per_mwh: float
    bids_eur_per_mwh: tuple[float, ...]
    start_eur: float


PLANTS = (
    Plant("pellets", "harbour", 280.0, 90.0, 0.50, 58.0, (72.0, 44.0), 9_000.0),
    Plant("chips", "west", 180.0, 60.0, 0.40, 43.0, (60.0, 35.0), 6_000.0),
    Plant("gas", "south", 110.0, 25.0, 0.90, 122.0, (105.0, 82.0), 3_000.0),
    Plant("seawater", "harbour", 60.0, 10.0, -1 / 3.5, 0.0, (60.0, 100.0), 500.0),
    Plant("sewage", "centre", 40.0, 10.0, -1 / 3.6, 0.0, (65.0, 105.0), 500.0),
)


@dataclass(frozen=True)
class Offer:
    """One bid of a plant: its price of power, and the price of heat that it takes to be worth it."""

    plant: Plant
    power_eur_per_mwh: float

    @property
    def name(self) -> str:
        """The plant and its bid."""
        return f"{self.plant.name} at {self.power_eur_per_mwh:g}"

    @property
    def heat_eur_per_mwh(self) -> float:
        """What heat must earn: fuel less power sold, or power bought."""
        return self.plant.fuel_eur_per_mwh - self.plant.power_per_heat * self.power_eur_per_mwh


OFFERS = tuple(Offer(plant, bid) for plant in PLANTS for bid in plant.bids_eur_per_mwh)

GRID_MW = 1_000.0
"""What the city's connection to the power grid can bring in."""


# --- a year: its weather, what it needs of heat (the secret) and of power ---

DAYS = 365
DEGREE_DAYS = (468, 421, 421, 307, 180, 69, 40, 40, 111, 214, 328, 410)
"""Of the months of a normal year."""
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
HOT_WATER = 0.2
"""Its share of the year's heat."""
HABITS = 0.04
"""By what districts depart from the forecast, as a share: 3 % from day to day, 2 % from hour to hour."""

# Percent, hour by hour: space heating with its morning peak and lower nights; hot water; power.
_HEATING = "88 86 86 88 94 106 116 118 112 106 102 100 98 97 97 99 102 106 108 107 104 99 95 91"
_WATER = "45 38 36 38 55 95 150 165 140 115 105 100 100 95 90 92 100 120 145 150 135 110 85 60"
_POWER = "74 70 68 67 69 76 90 104 110 111 111 111 110 109 107 106 108 116 122 119 112 104 93 83"


@dataclass(frozen=True, eq=False)
class Year:
    """Hour by hour, days x hours (x districts): MWh in an hour, which is MW.

    ``heat_mwh`` is the secret; ``forecast_mwh`` is what the weather says about it, and public like the rest.
    """

    degrees: FloatArray
    forecast_mwh: FloatArray
    heat_mwh: FloatArray
    net_power_mwh: FloatArray
    power_eur_per_mwh: FloatArray


@cache
def heat_year(seed: int = 2022) -> Year:
    """The year of a seed."""
    generator = np.random.default_rng(seed)
    degrees = np.maximum(0.0, _normal_degrees() + _weather(generator, spread=3.2, memory=0.8))
    forecast = heat_forecast(degrees)
    habits = _weather(generator, spread=0.03, memory=0.7, columns=len(SHARES))
    hours = 0.02 * generator.standard_normal(forecast.shape)
    calm = np.clip(0.9 + 0.9 * _weather(generator, spread=0.6, memory=0.6), 0.05, 2.0)
    net = (780 + 12 * degrees)[:, None] * _shape(_POWER) - 200 * calm[:, None]
    return Year(
        degrees=degrees,
        forecast_mwh=forecast,
        heat_mwh=forecast * np.clip(1 + habits[:, None, :] + hours, 0.8, 1.2),
        net_power_mwh=net,
        power_eur_per_mwh=25 + 0.075 * net,
    )


def checked_day(day: int) -> int:
    """A day of the year, from 0 on."""
    if not (isinstance(day, int) and 0 <= day < DAYS):
        raise InputError(f"the day is {day!r}; expected a whole number from 0 (1 January) to {DAYS - 1}.")
    return day


def _shape(percent: str) -> FloatArray:
    numbers = np.array(percent.split(), dtype=np.float64)
    return np.asarray(numbers / numbers.mean())


def _normal_degrees() -> FloatArray:
    """Degrees below 17 on each day, on lines between the middles of the months."""
    ends = np.cumsum(MONTH_DAYS)
    middles = ends - np.array(MONTH_DAYS) / 2
    by_month = np.array(DEGREE_DAYS) / MONTH_DAYS
    return np.asarray(np.interp(np.arange(DAYS) + 0.5, middles, by_month, period=DAYS))


def _weather(
    generator: np.random.Generator, *, spread: float, memory: float, columns: int | None = None
) -> FloatArray:
    """A stationary series in which a day remembers the last one."""
    shocks = spread * generator.standard_normal((DAYS,) if columns is None else (DAYS, columns))
    series = shocks.copy()
    for day in range(1, DAYS):
        series[day] = memory * series[day - 1] + np.sqrt(1 - memory**2) * shocks[day]
    return series


def heat_forecast(degrees: FloatArray) -> FloatArray:
    """What the districts need of heat on days that are so many degrees below 17: days x hours x districts."""
    space = (1 - HOT_WATER) * HEAT_OF_A_YEAR_MWH / sum(DEGREE_DAYS) / 24
    water = HOT_WATER * HEAT_OF_A_YEAR_MWH / DAYS / 24
    city = space * degrees[:, None] * _shape(_HEATING) + water * _shape(_WATER)
    return np.asarray(city[:, :, None] * np.array(list(SHARES.values())))


# --- the game of a day: the heat market of 24 hours answers to the selection of bids ---

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
        GameCoordination(
            game, unit=UNIT, bounds=(np.zeros(most.size), most), zones=tuple(DISTRICTS) * HOURS.size
        ),
        game.follower.nominal,
        PublicPrior.of(said, HABITS * said, source="forecast by degree days"),
    )
