"""Random games: two linear programs, and leaders with integers who look at prices."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm import BilevelProgram, LinearProgram
from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.solvers.highs import solve_lp

# A game between linear programs has rows of its leader for every so many variables.
_VARIABLES_PER_LEADER_ROW = 20


def _random_matrix(rows: int, columns: int, share: float, rng: np.random.Generator) -> SparseMatrix:
    """Uniform entries in [0.1, 1] at a share of all places, and somewhere in every column."""
    filled = rng.random((rows, columns)) < share
    filled[rng.integers(0, rows, columns), np.arange(columns)] = True
    return sp.csr_array(np.where(filled, rng.uniform(0.1, 1.0, (rows, columns)), 0.0))


def _signs(matrix: SparseMatrix, rng: np.random.Generator) -> SparseMatrix:
    """The same entries, half of them negative."""
    turned = matrix.copy()
    turned.data *= rng.choice([-1.0, 1.0], turned.data.size)
    return turned


def linear_game(
    variables: int, columns: int, rows: int, share: float, seen: float, seed: int
) -> BilevelProgram:
    """Both levels share resources: what the leader uses or adds changes what the follower can do.

    ``share`` of all coefficients are not zero, and ``seen`` of the follower's columns matter to the leader.
    Zero is a point of the game, and bounds and nonnegative rows keep both levels bounded.
    """
    rng = np.random.default_rng(seed)
    follower = LinearProgram.from_arrays(
        cost=-rng.uniform(0.0, 1.0, columns) * rng.choice([1.0, 1.0, -0.5], columns),
        matrix=_random_matrix(rows, columns, share, rng),
        row_upper=rng.uniform(5.0, 15.0, rows),
    )
    own = max(1, variables // _VARIABLES_PER_LEADER_ROW)
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=rng.uniform(-1.0, 1.0, variables),
        response_cost=np.where(rng.random(columns) < seen, rng.uniform(-1.0, 1.0, columns), 0.0),
        coupling=_signs(_random_matrix(rows, variables, share, rng), rng),
        variable_upper=10.0,
        leader_matrix=_random_matrix(own, variables, share, rng),
        leader_upper=rng.uniform(5.0, 15.0, own),
    )


def integer_game(integers: int, columns: int, rows: int, share: float, seed: int) -> BilevelProgram:
    """The leader's integers relieve demands that the follower covers; an odd seed caps prices, an even pays.

    Each demand can be met by a dear column of its own, which bounds the prices.
    """
    rng = np.random.default_rng(seed)
    matrix = sp.hstack([_random_matrix(rows, columns, share, rng), sp.eye_array(rows)], format="csr")
    capacity = np.concatenate([rng.uniform(2.0, 10.0, columns), np.full(rows, np.inf)])
    follower = LinearProgram.from_arrays(
        cost=np.concatenate([rng.uniform(1.0, 5.0, columns), rng.uniform(10.0, 20.0, rows)]),
        matrix=matrix,
        row_lower=rng.uniform(5.0, 15.0, rows),
        column_upper=capacity,
    )
    relief = _random_matrix(rows, integers, share, rng) * 3.0
    most = rng.choice([1.0, 3.0], integers)
    common: dict[str, Any] = {
        "follower": follower,
        "leader_cost": rng.uniform(5.0, 25.0, integers),
        "coupling": relief,
        "variable_upper": most,
        "is_integer": True,
    }
    if seed % 2:
        cap = _prices(follower, relief @ most).max() + rng.uniform(0.5, 3.0)
        return BilevelProgram.from_arrays(
            **common,
            response_cost=rng.uniform(-1.0, 1.0, columns + rows),
            price_matrix=sp.eye_array(rows),
            leader_upper=np.full(rows, cap),
        )
    return BilevelProgram.from_arrays(**common, price_cost=rng.uniform(0.0, 3.0, rows))


def _prices(follower: LinearProgram, relief: FloatArray) -> FloatArray:
    return solve_lp(follower.shifted(-relief)).prices
