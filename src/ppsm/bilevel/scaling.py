"""Prices in a unit in which the follower's costs are of order one.

Solver tolerances are absolute. With costs of 1e-9 a follower that is off by the tolerance in its dual is off
by everything, and the leader would harvest the difference. A power of two as unit changes no digit.
"""

import math
from dataclasses import replace

import numpy as np

from ppsm.program import BilevelProgram

# Between these the natural unit is left alone.
_SMALL, _LARGE = 1.0, 1e6
# Prices in the leader's rows take the unit as a factor, which must not become too small for a coefficient.
_LEAST_UNIT_OF_SEEN_PRICES = 2.0**-14


def price_unit(program: BilevelProgram) -> float:
    """The power of two at the size of the follower's largest cost, or 1 where costs are of ordinary size."""
    largest = float(np.abs(program.follower.cost).max(initial=0.0))
    if largest == 0.0 or _SMALL <= largest <= _LARGE:
        return 1.0
    unit = 2.0 ** math.floor(math.log2(largest))
    return max(unit, _LEAST_UNIT_OF_SEEN_PRICES) if program.leader_sees_prices else unit


def with_price_unit(program: BilevelProgram, unit: float) -> BilevelProgram:
    """The same game with the follower's costs and prices counted in the given unit."""
    if unit == 1.0:
        return program
    follower = replace(
        program.follower, cost=program.follower.cost / unit, offset=program.follower.offset / unit
    )
    return replace(
        program,
        follower=follower,
        price_cost=program.price_cost * unit,
        price_matrix=program.price_matrix * unit,
    )
