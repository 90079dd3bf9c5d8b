"""Games on directed networks: tolls, and the interdiction of flows and of shortest paths."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm import BilevelProgram, LinearProgram
from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.program import Products

# Tolls and interdicted lengths are of the size of a few arcs' costs.
_TOLL_CAP = 60.0
_DETOUR = (4.0, 9.0)
_SHORTCUT = (1.0, 3.0)


@dataclass(frozen=True)
class Grid:
    """Arcs between the nodes of a grid, in both directions, numbered row by row."""

    nodes: int
    start: IntArray
    end: IntArray

    @classmethod
    def of(cls, height: int, width: int) -> "Grid":
        """All arcs between neighbours."""
        number = np.arange(height * width).reshape(height, width)
        one = np.concatenate([number[:, :-1].ravel(), number[:-1, :].ravel()])
        other = np.concatenate([number[:, 1:].ravel(), number[1:, :].ravel()])
        return cls(number.size, np.concatenate([one, other]), np.concatenate([other, one]))

    def with_shortcuts(self, count: int, rng: np.random.Generator) -> "Grid":
        """Further arcs, between nodes anywhere."""
        ends = np.array([rng.choice(self.nodes, 2, replace=False) for _ in range(count)]).reshape(-1, 2)
        start, end = np.concatenate([self.start, ends[:, 0]]), np.concatenate([self.end, ends[:, 1]])
        return Grid(self.nodes, start, end)

    @property
    def arcs(self) -> int:
        """How many there are."""
        return self.start.size

    def outflow(self) -> SparseMatrix:
        """What leaves each node less what arrives, by arc."""
        arc = np.arange(self.arcs)
        value = np.concatenate([np.ones(self.arcs), -np.ones(self.arcs)])
        where = (np.concatenate([self.start, self.end]), np.concatenate([arc, arc]))
        return sp.csr_array((value, where), shape=(self.nodes, self.arcs))


def _trip(grid: Grid, origin: int, target: int, amount: float) -> tuple[SparseMatrix, FloatArray]:
    """Balances of who travels, and their right-hand sides; the target's is left out: it follows."""
    supply = np.zeros(grid.nodes)
    supply[origin] = amount
    others = np.arange(grid.nodes) != target
    return grid.outflow()[others, :], supply[others]


def toll_game(height: int, width: int, shortcuts: int, travellers: int, seed: int) -> BilevelProgram:
    """Who owns the shortcuts sets their tolls; groups of travellers take their cheapest paths.

    The grid is free of tolls, so that nobody can be charged more than the detour costs.
    """
    rng = np.random.default_rng(seed)
    free = Grid.of(height, width)
    grid = free.with_shortcuts(shortcuts, rng)
    cost = np.concatenate([rng.uniform(*_DETOUR, free.arcs), rng.uniform(*_SHORTCUT, shortcuts)])
    ends = [rng.choice(grid.nodes, 2, replace=False) for _ in range(travellers)]
    trips = [_trip(grid, origin, target, float(rng.integers(1, 10))) for origin, target in ends]
    demand = np.concatenate([supply for _, supply in trips])
    follower = LinearProgram.from_arrays(
        cost=np.tile(cost, travellers),
        matrix=sp.block_diag([balance for balance, _ in trips]),
        row_lower=demand,
        row_upper=demand,
    )
    charged = sp.vstack([sp.csr_array((free.arcs, shortcuts)), sp.eye_array(shortcuts)])
    tolled = sp.csr_array(sp.vstack([charged] * travellers))
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=np.zeros(shortcuts),
        coupling=sp.csr_array((demand.size, shortcuts)),
        variable_upper=_TOLL_CAP,
        cost_coupling=tolled,
        products=Products(variable_response=-tolled.T),
    )


def flow_interdiction(height: int, width: int, budget: int, seed: int) -> BilevelProgram:
    """The leader removes arcs, so many that the largest flow from the grid's left to its right is least."""
    rng = np.random.default_rng(seed)
    grid = Grid.of(height, width)
    capacity = rng.integers(1, 20, grid.arcs).astype(float)
    left = np.arange(height) * width
    right = left + width - 1
    ends = (np.concatenate([left, right]), np.arange(2 * height))
    doors = sp.csr_array((np.repeat([-1.0, 1.0], height), ends), shape=(grid.nodes, 2 * height))
    balance = sp.hstack([grid.outflow(), doors])
    limits = sp.hstack([sp.eye_array(grid.arcs), sp.csr_array((grid.arcs, 2 * height))])
    zeros = np.zeros(grid.nodes)
    entering = np.concatenate([np.zeros(grid.arcs), np.ones(height), np.zeros(height)])
    follower = LinearProgram.from_arrays(
        cost=-entering,
        matrix=sp.vstack([balance, limits]),
        row_lower=np.concatenate([zeros, np.full(grid.arcs, -np.inf)]),
        row_upper=np.concatenate([zeros, capacity]),
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=np.zeros(grid.arcs),
        response_cost=entering,
        coupling=sp.vstack([sp.csr_array((grid.nodes, grid.arcs)), sp.diags_array(capacity)]),
        variable_upper=1.0,
        is_integer=True,
        leader_matrix=np.ones((1, grid.arcs)),
        leader_upper=[budget],
    )


def path_interdiction(height: int, width: int, budget: int, seed: int) -> BilevelProgram:
    """The leader lengthens arcs, so many that the shortest path from corner to corner is longest."""
    rng = np.random.default_rng(seed)
    grid = Grid.of(height, width)
    length = rng.integers(1, 10, grid.arcs).astype(float)
    added = sp.diags_array(rng.integers(1, 10, grid.arcs).astype(float))
    balance, supply = _trip(grid, 0, grid.nodes - 1, 1.0)
    follower = LinearProgram.from_arrays(cost=length, matrix=balance, row_lower=supply, row_upper=supply)
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=np.zeros(grid.arcs),
        response_cost=-length,
        coupling=sp.csr_array((supply.size, grid.arcs)),
        variable_upper=1.0,
        is_integer=True,
        leader_matrix=np.ones((1, grid.arcs)),
        leader_upper=[budget],
        cost_coupling=added,
        products=Products(variable_response=-added),
    )
