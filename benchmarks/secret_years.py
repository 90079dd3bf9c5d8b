"""Years that are secret, day by day, and what everybody knows of them: gas in the Northeast, heat in a city.

Public are calendar, temperatures and the size of each connection. **What part of its connection a delivery
takes is secret and lasts**: pipes are laid for customers who come or do not. So the part is drawn once and
drifts; there is something to learn, and a sample is worth something a month later. Each day also departs
from that by 2 to 4 %, as operators' forecasts of the next day are off: that no other day tells.

All of it was chosen before any error of a leader was looked at; the reasons stand beside the numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases import load_case
from ppsm.coordinations import GaucCoordination
from ppsm.examples.heat import DAYS, heat_day, heat_year
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.mechanism.coordination import Coordination
from ppsm.privacy import Sensitive
from ppsm.streams.engine import PublicDay
from ppsm.streams.reconstruction import Knowledge, Spread

FIRST = date(2026, 1, 1)


@dataclass(frozen=True, eq=False)
class SecretYear:
    """A year: what is known of each day, the truth, the game of a day, and how far an entry is hidden.

    ``lasting`` is the truth without what each day departs by: the best that a day can be told from others.
    """

    alpha: float
    public: list[PublicDay]
    truth: list[FloatArray]
    lasting: list[FloatArray]
    game: Callable[[int], Coordination]
    knowledge: Knowledge = field(default_factory=Knowledge)

    def secret(self, index: int) -> Sensitive:
        """A day as its owner has it; names and unit are those of every day."""
        market = self.game(0)
        return Sensitive(
            self.truth[index],
            dataset="secret-year",
            unit=market.unit,
            entry_names=market.entry_names,
            day=self.public[index].day.isoformat(),
        )


# --- gas in the Northeast ---

# Mean temperature of each month in whole degrees Fahrenheit: an assumption near the normals of Boston,
# not read off their table.
MONTHLY_F = (30, 32, 38, 49, 58, 68, 74, 73, 66, 55, 45, 36)
# A daily mean that most winters come near: on such a day a delivery takes its secret part of its maximum.
COLD_C = -9.0
# From half (a contract for growth that did not come) to all of it. In the middle a cold day asks the network
# for 34 GWh, the case's own demand at +120 %; gas bites above 24 GWh, on a third of the days by the profile.
PARTS = (0.5, 1.0)
POWER_STRESS = 0.48


def _temperatures(generator: np.random.Generator) -> FloatArray:
    """Daily means in degrees Celsius: the months, and spells of a few days around them."""
    middles = [date(FIRST.year, month, 15).timetuple().tm_yday for month in range(1, 13)]
    usual = np.interp(np.arange(1, DAYS + 1), middles, (np.array(MONTHLY_F) - 32) / 1.8, period=DAYS)
    spell, found = 0.0, []
    for mean in usual:
        spell = 0.7 * spell + 2.8 * generator.standard_normal()
        found.append(mean + spell)
    return np.array(found)


def _shape(temperatures: FloatArray) -> FloatArray:
    """Public: demand of a day relative to one without heating, by temperature and weekday."""
    weekend = [(FIRST + timedelta(days=index)).weekday() >= 5 for index in range(DAYS)]
    return _heated(temperatures) * np.where(weekend, 0.95, 1.0)


def _heated(temperatures: FloatArray | float) -> FloatArray:
    """Gas demand rises with heating degree days below 18 C."""
    return np.asarray(1.0 + np.maximum(18.0 - np.asarray(temperatures), 0.0) / 22.0)


def northeast(seed: int, pool: Path | None = None) -> SecretYear:
    """Gas deliveries that take secret parts of their maximum daily quantities; 15 to 34 GWh a day.

    What the solver learns may be kept in a directory.
    """
    case = load_case("northeast")
    most, generator = case.mdq_mwh(), np.random.default_rng(seed)
    usual = _shape(_temperatures(generator)) / _heated(COLD_C)
    level = most * generator.uniform(*PARTS, most.size)
    public, truth, lasting = [], [], []
    for index in range(DAYS):
        level = level * np.exp(_moved(generator, most.size, shared=0.002, own=0.003))
        departure = 1.0 + _moved(generator, most.size, shared=0.02, own=0.03)
        lasting.append(np.clip(level * usual[index], 0.0, most))
        truth.append(np.clip(level * usual[index] * departure, 0.0, most))
        public.append(PublicDay(FIRST + timedelta(days=index), most * np.mean(PARTS) * usual[index]))
    # One solver for all: truth and releases are compared from one pool of commitments.
    solver = GasAwareCommitment(case, pool)
    market = GaucCoordination(case, POWER_STRESS, solver, gap=1e-3, time_limit=600.0)
    return SecretYear(100.0, public, truth, lasting, lambda _: market)


def _moved(generator: np.random.Generator, size: int, *, shared: float, own: float) -> FloatArray:
    return np.asarray(shared * generator.standard_normal() + own * generator.standard_normal(size))


# --- heat in a city ---

# The standard deviation of districts from what degree days say of them, for the whole year: houses that
# were insulated or joined since. The example's city also departs by 3 % a day and 2 % an hour.
CONNECTED = 0.15
# Public: hours of a district rise and fall together, and roughly how far districts are from their forecast.
DISTRICTS_KNOWN = Knowledge(
    at_first=Spread(own=0.02, zone=0.3, shared=0.05),
    drift=Spread(own=0.0005, zone=0.002, shared=0.002),
    departure=Spread(own=0.02, zone=0.03, shared=0.0),
)


def heat(seed: int, pool: Path | None = None) -> SecretYear:
    """Hourly loads of five districts that are secretly larger or smaller than their forecast, 120 a day.

    Its days have nothing in common that a solver could learn.
    """
    del pool
    generator, forecast = np.random.default_rng((seed, 1)), heat_year(seed)  # draws apart from its own
    districts = forecast.heat_mwh.shape[2]
    factors = 1.0 + CONNECTED * generator.uniform(-np.sqrt(3.0), np.sqrt(3.0), districts)
    year = replace(forecast, heat_mwh=forecast.heat_mwh * factors)

    @cache
    def of_day(index: int) -> Coordination:
        return heat_day(index, year).market

    said, truth = _days(year.forecast_mwh), _days(year.heat_mwh)
    public = [PublicDay(FIRST + timedelta(days=index), profile) for index, profile in enumerate(said)]
    return SecretYear(10.0, public, truth, _days(year.forecast_mwh * factors), of_day, DISTRICTS_KNOWN)


def _days(hourly: FloatArray) -> list[FloatArray]:
    return [day.ravel() for day in hourly]


YEARS: dict[str, Callable[[int, Path | None], SecretYear]] = {"northeast": northeast, "heat": heat}
