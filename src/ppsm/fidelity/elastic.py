"""When no vector satisfies the bands: the smallest common factor that makes them satisfiable.

Two LPs give a first lower bound (the least widening for the value alone, over all parameters, and for the prices alone, over
all duals). From there the factor is doubled until the exact search finds a faithful point, and then bisected; each step
below the answer is refuted by a search that ends without a point, so the factor is exact to the tolerance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppsm.fidelity.branching import SearchOutcome
from ppsm.status import Status

TOLERANCE = 1e-3
_DOUBLINGS = 200


@dataclass(frozen=True, eq=False)
class Widening:
    """The factor used, the largest factor refuted (or bounded) below it, and whether the gap between is proven."""

    factor: float
    bound: float
    outcome: SearchOutcome | None


def least_widening(floor: float, attempt: Callable[[float], SearchOutcome]) -> Widening:
    """Find the least factor at which ``attempt`` finds a point, from a lower bound ``floor >= 1``.

    ``attempt`` searches for any faithful point with the bands widened by a factor. An attempt that a limit stopped
    refutes nothing: the factor is then still feasible, but ``bound`` stays where the last proof left it.
    """
    low, proven_low, step = floor, floor, max(TOLERANCE, 0.01 * floor)
    high, found = floor * (1.0 + 0.1 * TOLERANCE), None
    for _ in range(_DOUBLINGS):
        outcome = attempt(high)
        if outcome.incumbent is not None:
            found = outcome
            break
        low = high
        proven_low = high if outcome.status is Status.INFEASIBLE and proven_low >= 0.99 * low else proven_low
        high, step = high + step, 2.0 * step
    if found is None:
        return Widening(high, proven_low, None)
    while high - low > TOLERANCE * high and high > floor * (1.0 + 0.2 * TOLERANCE):
        middle = float(np.sqrt(low * high)) if low > 0 else 0.5 * high
        outcome = attempt(middle)
        if outcome.incumbent is not None:
            high, found = middle, outcome
        else:
            if outcome.status is Status.INFEASIBLE and proven_low >= low:
                proven_low = middle
            low = middle
    return Widening(high, min(proven_low, high), found)
