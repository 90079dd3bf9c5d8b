"""The least mean error that any release with a promise can have, whatever it measures.

Demands ``D_0 ... D_m`` of which each differs from the next in one entry by at most alpha are a chain: of
each outcome the odds may differ by ``exp(epsilon)`` between neighbours. Somebody who estimates a figure
``f_k`` of the demand from the release is off by something on average, on the worst of these demands by at
least

    min over q >= 0 of  max_k sum_j q_kj |f_j - f_k|
    such that  sum_j q_kj = 1,  q_kj <= exp(epsilon) q_lj for |k - l| = 1,

where ``q_kj`` is how often ``f_j`` is the estimate on ``D_k``. Estimates between two figures need not be
looked at: for any weights of the demands the mean error is convex and piecewise linear in the estimate, with
kinks at the figures alone. So the program is exact for the chain, and a bound for all demands. With steps
of one and no end it is the geometric mechanism's ``2 a / (1 - a^2)``, ``a = exp(-epsilon)`` (Ghosh,
Roughgarden and Sundararajan, *Universally Utility-Maximizing Privacy Mechanisms*, 2009).

**Which demand is the worst** may depend on the release. But the multipliers of the first rows are weights of
the demands, the same for all releases, by which any release is off by this much on average: a secret that is
drawn with them is estimated no better, by somebody who knows the weights too. So bounds for several data sets
that have nothing to do with each other add up: draw each from its own chain.

**Figures that are known within limits**, such as optima that were proven up to a gap: a figure between
``low`` and ``high`` is at most half of that away from the middle, so an estimate is off by at least what it
is off from the middle, less the half. Relative to the figure itself this is at least what it is relative to
``high``.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ppsm.arrays import FloatArray


def least_relative_error(low: FloatArray, high: FloatArray, epsilon: float) -> float:
    """The same relative to the figure, whatever the figures are between these limits (above 0)."""
    return least_mean_error((low + high) / 2.0, epsilon, doubt=(high - low) / 2.0, unit=high)


def least_mean_error(
    figures: FloatArray, epsilon: float, *, doubt: ArrayLike = 0.0, unit: ArrayLike = 1.0
) -> float:
    """The least worst mean error over a chain on which the estimated figure has these values.

    An error counts as what it is beyond the ``doubt`` of its demand, in the demand's ``unit``.
    """
    count = figures.size
    beyond = np.abs(figures[None, :] - figures[:, None]) - np.reshape(doubt, (-1, 1))
    errors = beyond / np.reshape(unit, (-1, 1))
    one = np.eye(count)
    of_demand = np.einsum("kd,kj->kdj", one, errors).reshape(count, -1)  # columns: demand by estimate
    neighbours = np.vstack([one[:-1] - np.exp(epsilon) * one[1:], one[1:] - np.exp(epsilon) * one[:-1]])
    odds = np.kron(neighbours, one)
    worst = np.concatenate([-np.ones(count), np.zeros(odds.shape[0])])[:, None]
    found = linprog(
        np.concatenate([np.zeros(count**2), [1.0]]),
        A_ub=np.hstack([np.vstack([of_demand, odds]), worst]),
        b_ub=np.zeros(count + odds.shape[0]),
        A_eq=np.hstack([np.kron(one, np.ones((1, count))), np.zeros((count, 1))]),
        b_eq=np.ones(count),
    )
    if found.fun is None:
        raise ArithmeticError(f"the program of the least error was not solved: {found.message}")
    return float(found.fun)
