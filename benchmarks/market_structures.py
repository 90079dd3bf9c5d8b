"""Markets of nine structures in three sizes, for measuring the fidelity phase where nobody tuned it.

Each generator takes a random source and a number of entries, and returns a follower with a vector that it can
serve. Tuning looked at seeds below ``FIRST_HELD_OUT`` only; what is reported comes from seeds above.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram

FIRST_HELD_OUT = 1000
SIZES = {"small": 6, "medium": 12, "large": 24}
_TRIES = 200
# Rounded like this, costs and capacities coincide, as they do in markets where people set them.
_DIGITS = 1


@dataclass(frozen=True, eq=False)
class Market:
    """A follower and a parameter vector that it can serve."""

    follower: Follower
    truth: FloatArray


class _Builder:
    """An LP that is put together column by column and row by row."""

    def __init__(self) -> None:
        self._columns: list[tuple[float, float, float]] = []
        self._rows: list[tuple[dict[int, float], float, float, int]] = []

    def column(self, cost: float, upper: float = np.inf, lower: float = 0.0) -> int:
        self._columns.append((cost, lower, upper))
        return len(self._columns) - 1

    def row(
        self, terms: dict[int, float], lower: float = 0.0, upper: float = 0.0, *, entry: int = -1
    ) -> None:
        """A row; with an ``entry`` that entry of the parameter is added to its sides."""
        self._rows.append((terms, lower, upper, entry))

    def follower(self, entries: int) -> Follower:
        matrix = np.zeros((len(self._rows), len(self._columns)))
        goods = np.zeros((len(self._rows), entries))
        for number, (terms, _, _, entry) in enumerate(self._rows):
            for column, weight in terms.items():
                matrix[number, column] += weight
            if entry >= 0:
                goods[number, entry] = 1.0
        cost, lower, upper = (np.array(part) for part in zip(*self._columns, strict=True))
        program = LinearProgram.from_arrays(
            cost=cost,
            matrix=matrix,
            row_lower=[row[1] for row in self._rows],
            row_upper=[row[2] for row in self._rows],
            column_lower=lower,
            column_upper=upper,
        )
        return Follower.from_program(program, parameter_map=goods, nominal=np.zeros(entries))


def _numbers(rng: np.random.Generator, low: float, high: float, count: int) -> FloatArray:
    return np.asarray(np.round(rng.uniform(low, high, count), _DIGITS))


def transport(rng: np.random.Generator, entries: int) -> Market:
    """Sources with a limited supply, sinks with a demand, a cost and sometimes a limit for every route."""
    return Market(_transport(rng, entries, _any_cost), _demand(rng, entries))


def assignment(rng: np.random.Generator, entries: int) -> Market:
    """The same with whole numbers that coincide: most prices are far from unique."""
    truth = np.asarray(rng.integers(1, 8, entries), dtype=np.float64)
    return Market(_transport(rng, entries, _whole_cost), truth)


def redundant(rng: np.random.Generator, entries: int) -> Market:
    """A transport market with rows that follow from others: totals, copies and looser limits."""
    return Market(_transport(rng, entries, _any_cost, repeated=True), _demand(rng, entries))


def _demand(rng: np.random.Generator, entries: int) -> FloatArray:
    return _numbers(rng, 2, 10, entries)


def _any_cost(rng: np.random.Generator) -> float:
    return float(_numbers(rng, 1, 20, 1)[0])


def _whole_cost(rng: np.random.Generator) -> float:
    return float(rng.integers(1, 5))


def _transport(
    rng: np.random.Generator,
    entries: int,
    cost_of_route: Callable[[np.random.Generator], float],
    *,
    repeated: bool = False,
) -> Follower:
    builder, sources = _Builder(), max(2, entries // 3)
    supplies = _numbers(rng, 0.8, 2.0, sources) * 6.0 * entries / sources
    routes = np.full((sources, entries), -1)
    for source in range(sources):
        for sink in range(entries):
            limit = float(np.round(rng.uniform(3, 9))) if rng.random() < 0.2 else np.inf
            routes[source, sink] = builder.column(cost_of_route(rng), limit)
    for sink in range(entries):
        builder.row({int(route): 1.0 for route in routes[:, sink]}, entry=sink)
    for source, supply in enumerate(supplies):
        used = {int(route): 1.0 for route in routes[source]}
        builder.row(used, -np.inf, float(np.round(supply)))
        if repeated:
            builder.row(dict.fromkeys(used, 2.0), -np.inf, 2.0 * float(np.round(supply)))
            builder.row(used, -np.inf, float(np.round(supply)) + 1.0)
    if repeated:
        everything = {int(route): 1.0 for route in routes.ravel()}
        builder.row(everything, -np.inf, float(np.round(supplies).sum()))
    return builder.follower(entries)


def power(rng: np.random.Generator, entries: int) -> Market:
    """DC power flow on a ring with chords: angles are free, lines have limits, plants offer two blocks."""
    builder = _Builder()
    lines = [(node, (node + 1) % entries) for node in range(entries)]
    lines += [tuple(rng.choice(entries, 2, replace=False)) for _ in range(entries // 3)]
    truth = _numbers(rng, 2, 10, entries)
    balance: list[dict[int, float]] = [{} for _ in range(entries)]
    # The first angle is the reference.
    angles = [builder.column(0.0, *((np.inf, -np.inf) if node else (0.0, 0.0))) for node in range(entries)]
    for node in np.sort(rng.choice(entries, max(2, entries // 2), replace=False)):
        for cost in np.sort(_numbers(rng, 5, 60, 2)):
            plant = builder.column(float(cost), float(np.round(truth.sum() * rng.uniform(0.15, 0.6))))
            balance[node][plant] = 1.0
    for first, second in lines:
        strength = float(rng.integers(1, 5))
        limit = float(np.round(truth.mean() * rng.uniform(1.5, 4.0), _DIGITS))
        ends = {angles[first]: strength, angles[second]: -strength}
        builder.row(ends, -limit, limit)
        for node, sign in ((first, -1.0), (second, 1.0)):
            for angle, weight in ends.items():
                balance[node][angle] = balance[node].get(angle, 0.0) + sign * weight
    for node in range(entries):
        builder.row(balance[node], entry=node)
    return Market(builder.follower(entries), truth)


def storage(rng: np.random.Generator, entries: int) -> Market:
    """One place over hours: two plants with their blocks, and a battery that loses what it stores."""
    builder = _Builder()
    truth = np.round(6.0 + 3.0 * np.sin(np.arange(entries) * 0.7) + rng.uniform(-1, 1, entries), _DIGITS)
    base, peak = _numbers(rng, 5, 15, 2), _numbers(rng, 20, 60, 2)
    power_limit, energy_limit = float(rng.integers(1, 4)), float(rng.integers(2, 9))
    level = builder.column(0.0, 0.0)
    for hour in range(entries):
        supply = {builder.column(float(cost), 4.0): 1.0 for cost in np.sort(base)}
        supply |= {builder.column(float(cost), 5.0): 1.0 for cost in np.sort(peak)}
        charge, discharge = builder.column(0.1, power_limit), builder.column(0.1, power_limit)
        following = builder.column(0.0, energy_limit)
        builder.row(supply | {charge: -1.0, discharge: 1.0}, entry=hour)
        builder.row({following: 1.0, level: -1.0, charge: -0.9, discharge: 1.0})
        level = following
    return Market(builder.follower(entries), truth)


def gas(rng: np.random.Generator, entries: int) -> Market:
    """Pipes by tangents of squared pressures, a tree with a loop or two, supplies in steps."""
    builder = _Builder()
    truth = _numbers(rng, 0.5, 3, entries)
    pressures = [builder.column(0.0, 100.0, 20.0) for _ in range(entries)]
    pipes = [(int(rng.integers(max(0, node - 3), node)), node) for node in range(1, entries)]
    pipes += [tuple(np.sort(rng.choice(entries, 2, replace=False))) for _ in range(max(1, entries // 8))]
    balance: list[dict[int, float]] = [{} for _ in range(entries)]
    places = {0, *rng.choice(entries, max(1, entries // 4), replace=False).tolist()}
    for node in sorted(places):
        for cost in np.sort(_numbers(rng, 2, 12, 3)):
            most = float(np.round(truth.sum() * rng.uniform(0.2, 0.6)))
            balance[node][builder.column(float(cost), most)] = 1.0
    for first, second in pipes:
        flow = builder.column(0.05)
        balance[first][flow], balance[second][flow] = -1.0, 1.0
        size = float(np.round(truth.sum() * rng.uniform(0.4, 1.0)))
        wide = size**2 / 40.0
        for share in (0.3, 0.6, 1.0):
            at = share * size
            terms = {flow: 2.0 * at, pressures[first]: -wide, pressures[second]: wide}
            builder.row(terms, -np.inf, at**2)
    for node in range(entries):
        builder.row(balance[node], entry=node)
    return Market(builder.follower(entries), truth)


def water(rng: np.random.Generator, entries: int) -> Market:
    """Districts along leaking mains that run either way, pumps in blocks, a tank at every third one."""
    builder = _Builder()
    truth = _numbers(rng, 1, 5, entries)
    balance: list[dict[int, float]] = [{} for _ in range(entries)]
    for node in range(entries):
        if node % 2 == 0:
            for cost in np.sort(_numbers(rng, 1, 9, 2)):
                most = float(np.round(truth.mean() * rng.uniform(1.0, 2.5), _DIGITS))
                balance[node][builder.column(float(cost), most)] = 1.0
        if node % 3 == 0:
            balance[node][builder.column(float(rng.integers(4, 12)), 2.0)] = 1.0
    mains = [(node, (node + 1) % entries) for node in range(entries)]
    mains += [tuple(rng.choice(entries, 2, replace=False)) for _ in range(entries // 4)]
    for first, second in mains:
        limit = float(np.round(truth.mean() * rng.uniform(0.5, 2.0), _DIGITS))
        for source, sink in ((first, second), (second, first)):
            flow = builder.column(0.1, limit)
            balance[source][flow], balance[sink][flow] = -1.0, 0.95
    for node in range(entries):
        builder.row(balance[node], entry=node)
    return Market(builder.follower(entries), truth)


def free(rng: np.random.Generator, entries: int) -> Market:
    """Traders with free positions, which pay for every unit either way, and lend to their neighbours."""
    builder = _Builder()
    truth = _numbers(rng, 2, 10, entries)
    loans = [builder.column(0.0, np.inf, -np.inf) for _ in range(entries - 1)]
    for node in range(entries):
        terms = {builder.column(float(_numbers(rng, 1, 20, 1)[0]), float(rng.integers(4, 14))): 1.0}
        terms[builder.column(float(_numbers(rng, 20, 40, 1)[0]), 12.0)] = 1.0
        terms |= {loans[node]: -1.0} if node < entries - 1 else {}
        terms |= {loans[node - 1]: 1.0} if node else {}
        builder.row(terms, entry=node)
    for loan in loans:
        size = builder.column(float(_numbers(rng, 0.2, 2, 1)[0]))
        limit = float(rng.integers(2, 8))
        builder.row({size: 1.0, loan: -1.0}, 0.0, np.inf)
        builder.row({size: 1.0, loan: 1.0}, 0.0, np.inf)
        builder.row({loan: 1.0}, -limit, limit)
    return Market(builder.follower(entries), truth)


def capacities(rng: np.random.Generator, entries: int) -> Market:
    """A known demand is served by plants whose capacities are the parameter: prices are not positive."""
    builder = _Builder()
    truth = _numbers(rng, 2, 10, entries)
    regions = max(2, entries // 4)
    balance: list[dict[int, float]] = [{} for _ in range(regions)]
    for plant in range(entries):
        column = builder.column(float(_numbers(rng, 1, 20, 1)[0]))
        balance[plant % regions][column] = 1.0
        builder.row({column: 1.0}, -np.inf, 0.0, entry=plant)
    for region in range(regions):
        balance[region][builder.column(30.0)] = 1.0
        line = builder.column(0.5, float(rng.integers(2, 8)))
        balance[region][line], balance[(region + 1) % regions][line] = -1.0, 1.0
    for region in range(regions):
        wanted = float(np.round(truth[region::regions].sum() * rng.uniform(0.4, 0.9), _DIGITS))
        builder.row(balance[region], wanted, wanted)
    return Market(builder.follower(entries), truth)


STRUCTURES: dict[str, Callable[[np.random.Generator, int], Market]] = {
    "transport": transport,
    "power with loops": power,
    "storage": storage,
    "assignment with ties": assignment,
    "gas": gas,
    "water": water,
    "redundant rows": redundant,
    "free variables": free,
    "capacities": capacities,
}


def market(structure: str, size: str, seed: int) -> Market:
    """The market of a structure, a size and a seed: the first draw that can be served."""
    number = list(STRUCTURES).index(structure)
    rng = np.random.default_rng([number, SIZES[size], seed])
    for _ in range(_TRIES):
        found = STRUCTURES[structure](rng, SIZES[size])
        if found.follower.solve(found.truth).status.has_answer:
            return found
    raise RuntimeError(f"no {size} market of the structure '{structure}' could be served; mend its generator")
