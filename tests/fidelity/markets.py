"""Markets small enough for a sheet of paper, and random ones."""

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.fidelity import Bands, FidelityResult, Restorer, SearchLimits
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from tests.fidelity.oracle import random_follower

LIMITS = SearchLimits(gap=1e-6, seconds=20.0)


def one_node() -> Follower:
    """10 units at 2, then 10 units at 5: V(d) = 2 d up to 10, then 20 + 5 (d - 10)."""
    program = LinearProgram.from_arrays(
        cost=[2.0, 5.0],
        matrix=[[1.0, 1.0]],
        row_lower=[0.0],
        row_upper=[0.0],
        column_upper=[10.0, 10.0],
        row_names=["balance"],
    )
    return Follower.from_program(program, parameter_map=[[1.0]], nominal=[0.0], parameter_names=["town"])


def one_node_in_rows() -> Follower:
    """The same market with its capacities as rows instead of bounds."""
    program = LinearProgram.from_arrays(
        cost=[2.0, 5.0],
        matrix=[[1.0, 1.0], [1.0, 0.0], [0.0, -1.0]],
        row_lower=[0.0, -np.inf, -10.0],
        row_upper=[0.0, 10.0, np.inf],
    )
    return Follower.from_program(program, parameter_map=[[1.0], [0.0], [0.0]], nominal=[0.0])


def one_node_core(
    released: float, value: tuple[float, float], prices: tuple[float, float] | None, *, in_rows: bool = False
) -> Core:
    """``one_node`` scaled (quantities by 10, prices by 5) with bands that are given by their ends.

    V(d) = 0.4 d up to 1, then 0.4 + (d - 1). After the balance its sides are, in this order, x1 >= 0,
    x2 >= 0, x1 <= 1, x2 <= 1; in rows they are x2 <= 1 (as -x2 >= -1), x1 <= 1, x1 >= 0, x2 >= 0.
    """
    restorer = Restorer(one_node_in_rows() if in_rows else one_node())
    middle = 50.0 * 0.5 * (value[0] + value[1])
    bands = Bands(middle, 25.0 * (value[1] - value[0]))
    if prices is not None:
        centre, width = 2.5 * (prices[0] + prices[1]), 2.5 * (prices[1] - prices[0])
        bands = Bands(bands.value, bands.value_width, np.array([centre]), np.array([width]))
    public = PublicBounds.of(None, restorer.names)
    return restorer.core(np.array([10.0 * released]), bands.checked(restorer.names), public, "l2", None)


def two_nodes(link: float = 4.0) -> Follower:
    """Cheap gas (1) in the west, dear gas (3) in the east, a pipe of limited size from west to east."""
    program = LinearProgram.from_arrays(
        cost=[1.0, 3.0, 0.0],
        matrix=[[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]],
        row_lower=[0.0, 0.0],
        row_upper=[0.0, 0.0],
        column_upper=[20.0, 20.0, link],
    )
    return Follower.from_program(
        program, parameter_map=np.eye(2), nominal=[0.0, 0.0], parameter_names=["west", "east"]
    )


def plant_of_two() -> Follower:
    """A plant of 10 units that makes one of each good at a cost of 1: V(d) is the larger entry."""
    program = LinearProgram.from_arrays(
        cost=[1.0], matrix=[[1.0], [1.0]], row_lower=[0.0, 0.0], column_upper=[10.0]
    )
    return Follower.from_program(
        program, parameter_map=np.eye(2), nominal=[0.0, 0.0], parameter_names=["heat", "power"]
    )


class Instance:
    """A random small problem whose bands come from a true vector: on both, the value or the prices."""

    def __init__(self, seed: int, kind: int | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.follower = random_follower(rng, degenerate=seed % 2 == 1)
        count = len(self.follower.parameter_names)
        while True:
            truth = np.round(rng.uniform(0, 4, count), 1)
            outcome = self.follower.solve(truth)
            if outcome.status.has_answer:
                break
        prices = self.follower.parameter_map.T @ outcome.prices
        eta = (0.02, 0.1, 0.001)[seed % 3]
        kind = (seed // 2) % 3 if kind is None else kind
        self.bands = Bands.relative(
            outcome.value if kind < 2 else None, prices if kind != 1 else None, eta_p=eta, eta_d=eta
        ).checked(self.follower.parameter_names)
        noise = rng.laplace(size=count) * (0.3, 2.0, 8.0)[int(rng.integers(3))]
        self.released: FloatArray = np.round(truth + noise, 2)
        self.lower, self.upper = np.zeros(count), np.full(count, (np.inf, 6.0)[int(rng.integers(2))])

    @property
    def public_bounds(self) -> PublicBounds:
        return PublicBounds.of((self.lower, self.upper), self.follower.parameter_names)

    def restore(self) -> FidelityResult:
        return Restorer(self.follower).restore(
            self.released, self.bands, (self.lower, self.upper), elastic=False, limits=LIMITS
        )
