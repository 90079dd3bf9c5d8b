"""Random inputs that try to break the fidelity phase; each must end in an answer or a precise reason."""

from collections import Counter

import numpy as np
from benchmarks.gas_networks import build_network

from ppsm.errors import ModelError
from ppsm.fidelity import Bands, Restorer, SearchLimits
from ppsm.fidelity.problem import Norm
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from tests.fidelity.oracle import random_follower

# One input in so many is a gas network rather than a handful of towns.
_NETWORK_EVERY = 50
_LIMITS = SearchLimits(seconds=30.0, nodes=12)


def hostile_follower(rng: np.random.Generator) -> Follower:
    """A small market that may be degenerate, disconnected, without capacity, or in odd units."""
    follower = random_follower(rng, degenerate=bool(rng.integers(2)))
    program = follower.program
    upper, cost = program.column_upper.copy(), program.cost.copy()
    trick = int(rng.integers(6))
    if trick == 0:
        upper[int(rng.integers(upper.size))] = 0.0
    elif trick == 1:
        cost[:] = 0.0
    elif trick == 2:
        upper[:] = np.inf
    elif trick == 3:
        upper, cost = upper * 1e6, cost * 1e-5
    elif trick == 4:
        cost[int(rng.integers(cost.size))] *= -1.0
    return Follower.from_program(
        LinearProgram.from_arrays(
            cost=cost,
            matrix=program.matrix,
            row_lower=program.row_lower,
            row_upper=program.row_upper,
            column_upper=upper,
        ),
        parameter_map=follower.parameter_map,
        nominal=follower.nominal,
    )


def attack(seed: int) -> str:
    """Restore one hostile input and say how it ended; an unexplained end raises."""
    rng = np.random.default_rng(seed)
    is_network = seed % _NETWORK_EVERY == 0
    follower = build_network(int(rng.integers(4, 30)), seed).follower if is_network else hostile_follower(rng)
    count = len(follower.parameter_names)
    size = float(rng.choice([0.0, 1e-6, 1.0, 5.0, 1e3, 1e7]))
    released = rng.laplace(size=count) * size
    value = float(rng.choice([0.0, -5.0, 20.0, 1e5, 1e-7]))
    prices = rng.choice([0.0, -3.0, 4.0, 500.0], size=count)
    eta = float(rng.choice([0.0, 1e-9, 1e-3, 0.1, 10.0]))
    bands = Bands.relative(
        value if rng.random() < 0.8 else None,
        prices if rng.random() < 0.7 else None,
        eta_p=eta,
        eta_d=eta,
    )
    bounds = None if rng.random() < 0.6 else (0.0, float(rng.choice([0.0, 0.5, 4.0, 1e9])))
    norm: Norm = "l1" if rng.random() < 0.15 else "l2"
    try:
        result = Restorer(follower).restore(released, bands, bounds, norm=norm, limits=_LIMITS)
    except ModelError as error:
        # Any other error of ours would blame a solver rather than name a culprit in the input.
        return f"refused: {str(error).split(':')[0]}"
    if result.certificate is not None and result.certificate.faithful:
        return str(result.status)
    if not result.explanation:
        raise AssertionError(f"seed {seed}: {result.status} without certificate or reason")
    return f"reason: {result.explanation.split(':')[0]}"


def attack_all(first: int, last: int) -> Counter[str]:
    """How each of many attacks ended."""
    return Counter(attack(seed) for seed in range(first, last))
