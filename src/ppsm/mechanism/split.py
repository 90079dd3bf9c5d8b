"""How epsilon is split between the entries and their total, from public data alone.

More of it on the total makes the market's value exact, which is what the leader feels; more on the entries
makes those exact, which is what the network feels. Neither can be said to matter more in general, so the
split minimises the **product** of the two mean squared errors, which does not depend on how they are weighed.
Least squares, where public bounds tell an entry as well as a uniform variable between them (variance p_i),
give for a share s of epsilon on the total of n entries, with v = 2 (alpha / epsilon)^2,

    entry_i = 1 / ((1 - s)^2 / v + 1 / p_i),        total = 1 / (s^2 / v + (1 - s)^2 / (n v)).

Bounds are not taken to tell the total: entries such as demands rise and fall together. With many entries and
wide bounds s is 1/2. Of few entries the noisy sum is good enough, and all of epsilon stays with them (s = 0).
Where bounds say more than noisy entries do, most of it goes to the total.
"""

import math

import numpy as np

from ppsm.arrays import FloatArray

# Shares that are looked at: the product is flat around its least value, and a fifth stays with the entries.
SHARES = tuple(round(0.05 * step, 2) for step in range(17))


def best_share(scale: float, lower: FloatArray, upper: FloatArray) -> float:
    """The share of epsilon for the total, for noise of ``scale = alpha / epsilon`` and public bounds."""
    return min(SHARES, key=lambda share: _log_product(share, scale, lower, upper))


def _log_product(share: float, scale: float, lower: FloatArray, upper: FloatArray) -> float:
    """The logarithm of the mean squared errors of an entry and of the total, multiplied."""
    # In units of the noise's variance; equal bounds know an entry already.
    known = np.divide(
        24.0 * scale**2, (upper - lower) ** 2, where=upper > lower, out=np.full(lower.size, np.inf)
    )
    entries = 1.0 / ((1.0 - share) ** 2 + known)
    total = 1.0 / (share**2 + (1.0 - share) ** 2 / entries.size)
    return math.log(max(float(entries.mean()), np.finfo(np.float64).tiny)) + math.log(total)
