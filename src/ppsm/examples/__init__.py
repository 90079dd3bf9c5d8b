"""Complete games, ready to solve: water, emission permits, freight, and heat with electricity.

Each module has one function that builds its game; they serve as documentation, as test cases and as the
smallest inputs on which every capability of the package can be tried. :mod:`ppsm.examples.heat` is larger: a
year of days, each a game of 24 hours.
"""

from ppsm.examples.freight import freight_game
from ppsm.examples.heat import HeatDay, heat_day, heat_game, heat_year
from ppsm.examples.permits import permit_game
from ppsm.examples.port import port_game
from ppsm.examples.traffic import traffic_game
from ppsm.examples.water import water_game

__all__ = [
    "HeatDay",
    "freight_game",
    "heat_day",
    "heat_game",
    "heat_year",
    "permit_game",
    "port_game",
    "traffic_game",
    "water_game",
]
