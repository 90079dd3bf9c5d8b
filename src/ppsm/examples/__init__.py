"""Complete games, ready to solve: five small ones of as many trades, and heat with electricity.

``trades`` has water, emission permits, freight, shore power and traffic, a page of linopy each; ``heat`` is
larger: a year of days, each a game of 24 hours.
"""

from ppsm.examples.heat import HeatDay, heat_day, heat_game, heat_year
from ppsm.examples.trades import freight_game, permit_game, port_game, traffic_game, water_game

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
