"""Bilevel programs solved exactly: a leader who anticipates an LP follower and its prices.

The algorithm, step by step, and where it is:

1. ``scaling``: costs and rows of extreme size get another unit.
2. ``kkt``: the follower's optimality conditions, as a linear relaxation and a list of complementarity pairs.
3. ``incumbent``: a first point of the game, and the polish of the last one.
4. ``methods/``: the menu of programs that enforce the pairs (strong duality, big-M, SOS1, indicators), which
   one is tried when, and what is done where the relaxation is unbounded. ``bounds/`` proves what
   they rest on.
5. ``verify``: an independent check of the point, from the raw arrays; it shares nothing with the above.
6. ``second_opinion``: an independent search for anything better than a point that is called optimal.
7. ``infeasibility``: which constraints are in conflict, if there is no point.

``solve`` runs these steps, ``solution`` is what comes out, ``tuning`` has all numbers that steer the search,
and ``files/`` reads the instances of the libraries.
"""

from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.verify import Finding, Verification

__all__ = ["BilevelSolution", "Finding", "Method", "Verification"]
