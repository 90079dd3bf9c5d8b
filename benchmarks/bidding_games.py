"""A strategic producer that bids prices into a market on an IEEE network (``data/SOURCE.md``)."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ppsm import BilevelProgram, LinearProgram
from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.program import Products
from ppsm.solvers.highs import solve_lp

_DATA = Path(__file__).parent / "data"
_BASE_MW = 100.0
# Every unit offers this many blocks of equal size.
_BLOCKS = 2
# What unserved load costs, and at most what is bid, in multiples of the dearest unit's marginal cost.
_SHEDDING = 3.0
# Unknown ratings are this share of the flow in a market without limits, and at least some MW.
_RATED_SHARE = (0.8, 1.3)
_LEAST_RATING_MW = 10.0


@dataclass(frozen=True)
class Network:
    """Loads by bus (MW), offered blocks, and lines with susceptances (MW per radian) and ratings (MW)."""

    load: FloatArray
    block_bus: IntArray
    block_unit: IntArray
    block_size: FloatArray
    block_cost: FloatArray
    start: IntArray
    end: IntArray
    susceptance: FloatArray
    rating: FloatArray

    @property
    def buses(self) -> int:
        """How many there are."""
        return self.load.size

    @property
    def flows(self) -> SparseMatrix:
        """Flows on lines, by angles of the buses."""
        lines = np.arange(self.start.size)
        value = np.concatenate([self.susceptance, -self.susceptance])
        where = (np.concatenate([lines, lines]), np.concatenate([self.start, self.end]))
        return sp.csr_array((value, where), shape=(lines.size, self.buses))

    @property
    def delivered(self) -> SparseMatrix:
        """What each line adds to the balances of its ends, by flow."""
        lines = np.arange(self.start.size)
        value = np.concatenate([-np.ones(lines.size), np.ones(lines.size)])
        where = (np.concatenate([self.start, self.end]), np.concatenate([lines, lines]))
        return sp.csr_array((value, where), shape=(self.buses, lines.size))

    @property
    def supplied(self) -> SparseMatrix:
        """Which bus each block supplies."""
        blocks = np.arange(self.block_bus.size)
        return sp.csr_array((np.ones(blocks.size), (self.block_bus, blocks)), shape=(self.buses, blocks.size))


def read_network(buses: int) -> Network:
    """The network of ``data/ieee<buses>.txt``, its units in blocks."""
    records: dict[str, list[list[float]]] = defaultdict(list)
    for line in (_DATA / f"ieee{buses}.txt").read_text().splitlines():
        kind, *numbers = line.split()
        if kind != "#":
            records[kind].append([float(number) for number in numbers])
    load = np.zeros(buses)
    for bus, amount in records["load"]:
        load[int(bus) - 1] = amount
    at, size, cost, slope = np.repeat(np.array(records["unit"]), _BLOCKS, axis=0).T
    middle = (np.tile(np.arange(_BLOCKS), len(records["unit"])) + 0.5) / _BLOCKS
    start, end, reactance, rating = np.array(records["line"]).T
    return Network(
        load=load,
        block_bus=at.astype(int) - 1,
        block_unit=np.repeat(np.arange(len(records["unit"])), _BLOCKS),
        block_size=size / _BLOCKS,
        block_cost=cost + slope * size * middle,
        start=start.astype(int) - 1,
        end=end.astype(int) - 1,
        susceptance=_BASE_MW / reactance,
        rating=np.where(rating > 0, rating, np.inf),
    )


def clearing(network: Network, load: FloatArray, cost: FloatArray, rating: FloatArray) -> LinearProgram:
    """The market of one hour: columns are blocks, unserved loads and angles; rows are balances and flows.

    The first bus has no angle of its own: angles are measured from it.
    """
    flows = network.flows[:, 1:]
    served = sp.eye_array(network.buses)
    balance = sp.hstack([network.supplied, served, network.delivered @ flows])
    limits = sp.hstack([sp.csr_array((rating.size, cost.size + network.buses)), flows])
    dear = np.full(network.buses, _SHEDDING * network.block_cost.max())
    angles = network.buses - 1
    return LinearProgram.from_arrays(
        cost=np.concatenate([cost, dear, np.zeros(angles)]),
        matrix=sp.vstack([balance, limits]),
        row_lower=np.concatenate([load, -rating]),
        row_upper=np.concatenate([load, rating]),
        column_lower=np.concatenate([np.zeros(cost.size + network.buses), np.full(angles, -np.inf)]),
        column_upper=np.concatenate([network.block_size, load, np.full(angles, np.inf)]),
    )


def _ratings(network: Network, rng: np.random.Generator) -> FloatArray:
    """Known ratings, and for the other lines a share of what would flow without any."""
    free = clearing(network, network.load, network.block_cost, np.full(network.rating.size, np.inf))
    angles = np.concatenate([[0.0], solve_lp(free).columns[-(network.buses - 1) :]])
    share = rng.uniform(*_RATED_SHARE, network.rating.size)
    assumed = np.maximum(_LEAST_RATING_MW, share * np.abs(network.flows @ angles))
    return np.where(np.isfinite(network.rating), network.rating, assumed)


def bidding_game(buses: int, owned: int, hours: int, seed: int) -> BilevelProgram:
    """A producer bids a price for each block of its units, the same in all hours, and earns the bus price."""
    rng = np.random.default_rng(seed)
    network = read_network(buses)
    rating = _ratings(network, rng)
    mine = np.flatnonzero(np.isin(network.block_unit, rng.choice(network.block_unit.max() + 1, owned, False)))
    cost = network.block_cost.copy()
    cost[mine] = 0.0
    markets = [
        clearing(network, network.load * rng.uniform(0.7, 1.2) * rng.uniform(0.9, 1.1, buses), cost, rating)
        for _ in range(hours)
    ]
    rows, columns = markets[0].shape
    bids = np.arange(mine.size)
    bid = sp.csr_array((np.ones(mine.size), (mine, bids)), shape=(columns, mine.size))
    sold = sp.csr_array((-np.ones(mine.size), (network.block_bus[mine], mine)), shape=(rows, columns))
    true_cost = np.zeros(columns)
    true_cost[mine] = network.block_cost[mine]
    # A unit's later blocks are not bid below its earlier ones.
    rising = np.flatnonzero(np.diff(network.block_unit[mine]) == 0)
    order = sp.csr_array(
        (np.tile([1.0, -1.0], rising.size), (np.repeat(np.arange(rising.size), 2), _pairs(rising))),
        shape=(rising.size, mine.size),
    )
    follower = markets[0].stacked(*markets[1:])
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=np.zeros(mine.size),
        response_cost=np.tile(true_cost, hours),
        coupling=sp.csr_array((hours * rows, mine.size)),
        variable_upper=_SHEDDING * network.block_cost.max(),
        leader_matrix=order,
        leader_upper=np.zeros(rising.size),
        cost_coupling=sp.vstack([bid] * hours),
        products=Products(price_response=sp.block_diag([sold] * hours)),
    )


def _pairs(first: IntArray) -> IntArray:
    """Each position and the one after it, in turn."""
    return np.column_stack([first, first + 1]).ravel()
