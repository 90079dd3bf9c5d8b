"""Small complete games from three trades, ready to solve: water, emission permits, freight.

Each module has one function that builds its game; they serve as documentation, as test cases and as the
smallest inputs on which every capability of the package can be tried.
"""

from ppsm.examples.freight import freight_game
from ppsm.examples.permits import permit_game
from ppsm.examples.water import water_game

__all__ = ["freight_game", "permit_game", "water_game"]
