"""The city: districts, pipes, plants with their bids, and what else serves heat and power.

The city is ours; its proportions follow public facts. A transmission system delivers 5 TWh of heat in a
normal year, 27 % of it from waste and 70 % from combined heat and power (Ramboll on CTR, Copenhagen, State of
Green, 2009). Waste comes first, peak boilers last (CTR, "Environment-friendly district heating to the Greater
Copenhagen Area"). Large heat pumps reach a seasonal COP of 3.4 to 3.7 (a river-water heat pump in German
district heating, 9pdf.org/document/yng6pxmj). Fuel prices, efficiencies, capacities and bids are assumptions
of the size that such plants have, chosen so that bids become valid in different seasons.
"""

from dataclasses import dataclass

import pandas as pd

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
