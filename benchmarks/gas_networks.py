"""Synthetic gas networks with the structure of the Northeast case: for growth measurements and tests.

A tree with some loops, pipes with tangents of the Weymouth equation, compressors and regulators, suppliers
with blocks of rising price, and demands at about 28 % of the junctions. Sizes follow the Northeast network:
146 junctions have about 380 columns, 990 rows and 41 demands.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram

_TANGENTS = 8
_BLOCK_PRICES = (3.0, 3.6, 4.4, 5.6, 7.5, 11.0)
_LOW, _HIGH = 0.17, 1.0  # squared pressures as shares of the largest


@dataclass(frozen=True, eq=False)
class GasNetwork:
    """A follower, the demand it was sized for (in 100 MWh) and the publicly known largest demand."""

    follower: Follower
    demand: FloatArray
    largest: FloatArray


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Start, end and kind (0 pipe, 1 compressor, 2 regulator) of every arc; flow goes from start to end."""

    start: np.ndarray
    end: np.ndarray
    kind: np.ndarray


def build_network(junctions: int, seed: int = 0) -> GasNetwork:
    """Build a network of the given number of junctions; the same seed gives the same network."""
    rng = np.random.default_rng([junctions, seed])
    parent = np.array([0] + [max(0, k - int(rng.integers(1, 6))) for k in range(1, junctions)])
    depth = np.zeros(junctions, dtype=int)
    for k in range(1, junctions):
        depth[k] = depth[parent[k]] + 1
    arcs = _arcs(rng, parent, depth)
    demand_at = np.sort(rng.permutation(np.arange(1, junctions))[: max(2, round(0.28 * junctions))])
    demand: FloatArray = np.asarray(np.round(np.exp(rng.normal(1.0, 1.0, demand_at.size)), 2), np.float64)
    suppliers = np.unique(np.concatenate([[0], rng.integers(0, junctions, max(1, round(0.08 * junctions)))]))
    passing = _passing_flow(parent, demand_at, demand, junctions)
    program = _program(rng, junctions, depth, arcs, suppliers, passing, float(demand.sum()))
    entries = (np.ones(demand_at.size), (demand_at, np.arange(demand_at.size)))
    follower = Follower.from_program(
        program,
        parameter_map=sp.csr_array(entries, shape=(program.shape[0], demand_at.size)),
        nominal=np.zeros(demand_at.size),
        parameter_names=[f"junction {k}" for k in demand_at],
    )
    return GasNetwork(follower, demand, np.ceil(2.0 * demand))


def _arcs(rng: np.random.Generator, parent: np.ndarray, depth: np.ndarray) -> _Arcs:
    junctions = parent.size
    loops = max(0, round(0.12 * junctions))
    ends = rng.integers(1, junctions, (loops, 2))
    ends = ends[depth[ends[:, 0]] < depth[ends[:, 1]]]
    start = np.concatenate([parent[1:], ends[:, 0]])
    end = np.concatenate([np.arange(1, junctions), ends[:, 1]])
    kind = np.concatenate(
        [rng.choice(3, junctions - 1, p=[0.56, 0.18, 0.26]), np.zeros(len(ends), dtype=int)]
    )
    return _Arcs(start, end, kind)


def _passing_flow(
    parent: np.ndarray, demand_at: np.ndarray, demand: FloatArray, junctions: int
) -> FloatArray:
    """What passes each junction of the tree on its way down."""
    flow: FloatArray = np.bincount(demand_at, demand, minlength=junctions).astype(np.float64)
    for k in range(junctions - 1, 0, -1):
        flow[parent[k]] += flow[k]
    return flow


def _program(
    rng: np.random.Generator,
    junctions: int,
    depth: np.ndarray,
    arcs: _Arcs,
    suppliers: np.ndarray,
    passing: FloatArray,
    total: float,
) -> LinearProgram:
    count = arcs.start.size
    blocks = [(at, price) for at in suppliers for price in _BLOCK_PRICES]
    columns = junctions + count + len(blocks)
    rows: list[int] = []
    cols: list[int] = []
    data: list[float] = []
    lower: list[float] = [0.0] * junctions
    upper: list[float] = [0.0] * junctions
    names = [f"balance[{k}]" for k in range(junctions)]

    def add(entries: list[tuple[int, float]], low: float, high: float, name: str) -> None:
        for column, value in entries:
            rows.append(len(lower))
            cols.append(column)
            data.append(value)
        lower.append(low)
        upper.append(high)
        names.append(name)

    for k in range(count):
        rows += [int(arcs.start[k]), int(arcs.end[k])]
        cols += [junctions + k, junctions + k]
        data += [-1.0, 1.0]
    for k, (at, _) in enumerate(blocks):
        rows.append(int(at))
        cols.append(junctions + count + k)
        data.append(1.0)
    # Squared pressures are counted in drops of a typical pipe, so that long networks are no worse scaled.
    drop = (_HIGH - _LOW) / (int(depth.max()) + 2.0)
    lowest, highest = _LOW / drop, _HIGH / drop
    for k in range(count):
        up, down, flow = int(arcs.start[k]), int(arcs.end[k]), junctions + k
        if arcs.kind[k] == 0:
            nominal = max(0.2, float(passing[down])) * float(rng.uniform(1.05, 1.6))
            factor = nominal**2
            largest = float(np.sqrt(factor * (highest - lowest)))
            add([(up, 1.0), (down, -1.0)], 0.0, np.inf, f"drop[{k}]")
            for t in range(1, _TANGENTS):
                at_flow = largest * (t / (_TANGENTS - 1)) ** 2
                slope = factor / (2 * at_flow)
                add([(flow, 1.0), (up, -slope), (down, slope)], -np.inf, at_flow / 2, f"weymouth[{k},{t}]")
        elif arcs.kind[k] == 1:
            add([(down, 1.0), (up, -1.0)], 0.0, np.inf, f"least ratio[{k}]")
            add([(down, 1.0), (up, -1.1)], -np.inf, 0.0, f"largest ratio[{k}]")
        else:
            add([(down, 1.0), (up, -1.0)], -np.inf, 0.0, f"regulator[{k}]")
    size = 2.2 * total / len(blocks)
    shift = 1.0 + 0.03 * (2.0 * ((np.arange(len(blocks)) // len(_BLOCK_PRICES)) * 0.618 % 1.0) - 1.0)
    cost = np.zeros(columns)
    cost[junctions + count :] = [100.0 * price * f for (_, price), f in zip(blocks, shift, strict=True)]
    top = np.full(columns, np.inf)
    top[:junctions] = highest
    top[junctions + count :] = size
    # the root can serve everybody, so that every demand within reason is feasible
    top[junctions + count : junctions + count + len(_BLOCK_PRICES)] = size + 0.25 * total
    bottom = np.zeros(columns)
    bottom[:junctions] = lowest
    return LinearProgram.from_arrays(
        cost=cost,
        matrix=sp.csr_array((data, (rows, cols)), shape=(len(lower), columns)),
        row_lower=lower,
        row_upper=upper,
        column_lower=bottom,
        column_upper=top,
        row_names=names,
    )
