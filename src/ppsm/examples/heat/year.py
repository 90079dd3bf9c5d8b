"""A year of the city, hour by hour: its weather, what it needs of heat (the secret) and of power.

Heat follows degree days below 17 degrees (the Danish normal year has 3,009 of them: Danish Technological
Institute, as printed by Auning Fjernvarme, auningfjernvarme.dk/gode-raad/graddage), with a shape over the
day, and hot water all year round: 25 of about 125 kWh/m2 (nPro, "Domestic hot water demand"). Weather is a
seeded series around the normal year. Each district departs from this public forecast by a few percent, as
people do: that is the secret part.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.examples.heat.city import HEAT_OF_A_YEAR_MWH, SHARES

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
