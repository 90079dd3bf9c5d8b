"""Bilevel programs solved exactly: a leader who anticipates a follower and its prices.

The algorithm, step by step, and where it is:

1. ``scaling``: costs and rows of extreme size get another unit.
2. ``kkt``: the follower's optimality conditions, as a linear relaxation and a list of complementarity pairs.
   It tells followers that act in turn; ``products`` makes products in the leader's objective linear.
3. ``portfolio``: the automatic choice, ``searchers`` that take turns and tell each other what they found.
4. ``methods/``: the menu of searches and of programs that enforce the pairs. ``bounds/`` proves what some of
   them rest on, ``weak_duality`` is the proof at every leaf of our own.
5. ``incumbent``: points of the game for a search to beat, and the polish of the last one.
6. ``verify``: an independent check of the point, from the raw arrays; it shares nothing with the above.
7. ``second_opinion``: an independent search for anything better than a point that is called optimal.
8. ``infeasibility``: which constraints are in conflict, if there is no point.

``solve`` runs these steps, in turns or one method after another; ``standing`` is what is known of a game
meanwhile, ``solution`` is what comes out, ``tuning`` has all numbers that steer the search, and ``files/``
reads the instances of the libraries.
"""

from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.verify import Finding, Verification

__all__ = ["BilevelSolution", "Finding", "Method", "Verification"]
