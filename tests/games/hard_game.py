"""A game that takes any method of today much longer than a test may."""

import numpy as np

from ppsm.program import BilevelProgram, LinearProgram


def hard_game(size: int = 40, seed: int = 5) -> BilevelProgram:
    """A dense interdiction-like game: the leader caps many goods, the follower packs what is left."""
    rng = np.random.default_rng(seed)
    rows = size // 2
    weights = rng.integers(1, 30, (rows, size)).astype(float)
    profit = rng.integers(5, 40, size).astype(float)
    follower = LinearProgram.from_arrays(
        cost=-profit,
        matrix=np.vstack([weights, np.eye(size)]),
        row_upper=np.concatenate([weights.sum(axis=1) / 4, np.ones(size)]),
    )
    coupling = np.vstack([np.zeros((rows, size)), np.diag(np.full(size, 0.9))])
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=rng.integers(1, 6, size).astype(float),
        response_cost=profit + rng.normal(0, 12, size).round(),
        coupling=coupling,
        variable_upper=1.0,
        leader_matrix=rng.integers(1, 9, (3, size)).astype(float),
        leader_upper=np.full(3, 1.5 * size),
    )
