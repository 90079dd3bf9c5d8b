"""Random small games, made to be nasty: degenerate, ranged, with equalities, prices and integers."""

import numpy as np

from ppsm.arrays import INFINITY
from ppsm.program import BilevelProgram, LinearProgram


def random_game(seed: int, *, prices: bool = True, boxed: bool = True) -> BilevelProgram:
    """A game with small integer data (so that ties and degeneracy are common).

    ``boxed`` bounds every variable and gives each follower row a priced way out, so that prices are bounded.
    """
    rng = np.random.default_rng(seed)
    variables, columns, rows = (int(rng.integers(1, 4)) for _ in range(3))
    leader_rows = int(rng.integers(0, 3))
    matrix = rng.integers(-2, 4, (rows, columns)).astype(float)
    kind = rng.integers(0, 4, rows)
    level = rng.integers(0, 7, rows).astype(float)
    lower = np.where(kind == 1, -INFINITY, level)
    upper = np.where(kind == 0, INFINITY, np.where(kind == 3, level + 2, level))
    cost = rng.integers(-3, 6, columns).astype(float)
    column_lower = np.where(rng.random(columns) < 0.2, -3.0, 0.0)
    column_upper = np.full(columns, 6.0)
    if boxed:
        matrix = np.hstack([matrix, np.eye(rows), -np.eye(rows)])
        cost = np.concatenate([cost, np.full(2 * rows, 9.0)])
        column_lower = np.concatenate([column_lower, np.zeros(2 * rows)])
        column_upper = np.concatenate([column_upper, np.full(2 * rows, INFINITY)])
    else:
        column_upper = np.where(rng.random(columns) < 0.4, INFINITY, column_upper)
    follower = LinearProgram.from_arrays(
        cost=cost,
        matrix=matrix,
        row_lower=lower,
        row_upper=upper,
        column_lower=column_lower,
        column_upper=column_upper,
    )
    integer = rng.random(variables) < 0.5
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=rng.integers(-4, 5, variables),
        response_cost=np.where(rng.random(cost.size) < 0.5, rng.integers(-3, 4, cost.size), 0),
        price_cost=rng.integers(-1, 2, rows) if prices and boxed else None,
        variable_upper=np.where(rng.random(variables) < 0.5, 1.0, 4.0),
        is_integer=integer,
        coupling=rng.integers(-2, 3, (rows, variables)),
        leader_matrix=rng.integers(-2, 3, (leader_rows, variables)),
        response_matrix=rng.integers(-1, 2, (leader_rows, cost.size)),
        price_matrix=rng.integers(-1, 2, (leader_rows, rows)) if prices else None,
        leader_upper=rng.integers(0, 8, leader_rows) if leader_rows else None,
    )
