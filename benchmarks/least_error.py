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
"""

import numpy as np
from scipy.optimize import linprog

from ppsm.arrays import FloatArray


def least_mean_error(figures: FloatArray, epsilon: float) -> float:
    """The least worst mean error over a chain on which the estimated figure has these values."""
    count = figures.size
    errors = np.abs(figures[None, :] - figures[:, None])
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
