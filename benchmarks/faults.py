"""Mechanisms with planted faults, for the tests and the power study of the auditor.

Every mechanism takes a matrix of inputs, one run per row, and claims Laplace noise of scale 1 on each entry.
Outputs are rounded to a fixed grid (but for the last fault), so that what gives a fault away is the fault and
not the floating-point grid of the generator.
"""

from collections.abc import Callable
from itertools import count

import numpy as np

from ppsm.arrays import FloatArray

BatchMechanism = Callable[[FloatArray], FloatArray]
_GRID = 2.0**-47
CLIP_AT = 6.0
SEEDS_REUSED_AFTER = 1000


def _on_grid(outputs: FloatArray) -> FloatArray:
    result: FloatArray = np.round(outputs / _GRID) * _GRID
    return result


def honest(generator: np.random.Generator) -> BatchMechanism:
    """Keep the claim, up to the grid."""
    return lambda rows: _on_grid(rows + generator.laplace(size=rows.shape))


def scaled(factor: float) -> Callable[[np.random.Generator], BatchMechanism]:
    """Draw noise whose scale is off by a factor."""

    def fault(generator: np.random.Generator) -> BatchMechanism:
        return lambda rows: _on_grid(rows + generator.laplace(scale=factor, size=rows.shape))

    return fault


def shared_noise(generator: np.random.Generator) -> BatchMechanism:
    """Add the same noise to all entries of a run."""
    return lambda rows: _on_grid(rows + generator.laplace(size=(len(rows), 1)))


def clipped_tails(generator: np.random.Generator) -> BatchMechanism:
    """Cut noise off at six scales, as a careless bound would; one draw in 400 is affected."""

    def mechanism(rows: FloatArray) -> FloatArray:
        return _on_grid(rows + np.clip(generator.laplace(size=rows.shape), -CLIP_AT, CLIP_AT))

    return mechanism


def reused_seed(generator: np.random.Generator) -> BatchMechanism:
    """Draw each run from one of a thousand seeds, as a seed made from the clock would."""
    first = int(generator.integers(2**31))
    table = np.random.default_rng(first).laplace(size=(SEEDS_REUSED_AFTER, 64))
    runs = count()

    def mechanism(rows: FloatArray) -> FloatArray:
        chosen = [next(runs) % SEEDS_REUSED_AFTER for _ in rows]
        return _on_grid(rows + table[chosen, : rows.shape[1]])

    return mechanism


def textbook(generator: np.random.Generator) -> BatchMechanism:
    """Add floating-point noise to floating-point numbers, as textbooks do; no grid hides the traces."""

    def mechanism(rows: FloatArray) -> FloatArray:
        return rows + generator.laplace(size=rows.shape)

    return mechanism


FAULTS: dict[str, Callable[[np.random.Generator], BatchMechanism]] = {
    "scale 10 % too small": scaled(0.9),
    "scale halved": scaled(0.5),
    "shared noise": shared_noise,
    "clipped tails": clipped_tails,
    "re-used seed": reused_seed,
    "textbook float noise": textbook,
}
