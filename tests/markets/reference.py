"""The game of a small case written down once more, and solved by trying every commitment.

EM and GM are lists of named rows whose right-hand sides are affine in the leader's binaries; nothing of the
package's models is used. The same rows serve :func:`best_by_enumeration` and the single-level program of
:mod:`tests.markets.single_level`.

Conventions: prices of GM are optimistic (a commitment is valid if *some* optimal price vector respects the
caps). EM's dispatch is taken to be unique; the games of :mod:`tests.markets.small_games` have no ties.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.cases.entities import Fleet, Link
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

TANGENTS = 8
MWH_PER_MMBTU = 0.29307107
Weights = dict[str, float]


@dataclass(frozen=True)
class Row:
    """``weights . x >= constant + moved . binaries``, or ``==`` where ``equal``."""

    name: str
    weights: Weights
    constant: float = 0.0
    moved: Weights = field(default_factory=dict)
    equal: bool = False


@dataclass(frozen=True)
class Program:
    """A linear program in names: least cost over variables that are at least 0 unless they are free."""

    cost: Weights
    rows: tuple[Row, ...]
    free: frozenset[str] = frozenset()

    def variables(self) -> list[str]:
        """All variables, in order of appearance."""
        return list(dict.fromkeys([*self.cost, *(name for row in self.rows for name in row.weights)]))

    def right_sides(self, binaries: Weights) -> FloatArray:
        """Right-hand sides at given binaries."""
        return np.array(
            [row.constant + sum(w * binaries[name] for name, w in row.moved.items()) for row in self.rows]
        )

    def arrays(self) -> LinearProgram:
        """The program in arrays, with all binaries zero."""
        names = self.variables()
        index = {name: i for i, name in enumerate(names)}
        matrix = sp.lil_array((len(self.rows), len(names)))
        for number, row in enumerate(self.rows):
            for name, weight in row.weights.items():
                matrix[number, index[name]] = weight
        right = np.array([row.constant for row in self.rows])
        return LinearProgram.from_arrays(
            cost=[self.cost.get(name, 0.0) for name in names],
            matrix=sp.csr_array(matrix),
            row_lower=right,
            row_upper=[row.constant if row.equal else np.inf for row in self.rows],
            column_lower=[-np.inf if name in self.free else 0.0 for name in names],
        )


@dataclass(frozen=True)
class Plant:
    """A gas-fired fleet: what a running unit must give at each level, and the gas price it then tolerates."""

    link: Link
    fleet: Fleet
    least_mw: tuple[float, ...]
    cap_usd_per_mwh: tuple[float, ...]

    @property
    def burn_rate(self) -> float:
        """MWh of gas from the network for a MWh of power."""
        return self.link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU * self.link.gas_share


def plants(case: Case) -> list[Plant]:
    """Levels and caps of all gas-fired fleets, from the definition of bid validity."""
    found = []
    for link in case.links:
        fleet = next(fleet for fleet in case.fleets if fleet.fleet == link.fleet)
        blocks = [bid for bid in case.bids if bid.fleet == link.fleet]
        full = np.concatenate([[0.0], np.cumsum([bid.size_mw for bid in blocks])[:-1]])
        fuel = link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU
        found.append(
            Plant(
                link,
                fleet,
                tuple(max(float(amount), fleet.unit_min_mw) for amount in full),
                tuple(bid.price_usd_per_mwh / fuel for bid in blocks),
            )
        )
    return found


def unit(fleet: str, number: int, hour: int) -> str:
    """The binary of one unit of a fleet that runs in an hour; units of a fleet start in their order."""
    return f"on:{fleet}:{number}:{hour}"


def electricity_market(case: Case) -> Program:
    """EM; binaries are units on, started and stopped, and units on at a level (``at:plant:level:...``)."""
    hours, level_of = len(case.load_shape), {plant.fleet.fleet: plant for plant in plants(case)}
    cost: Weights = {}
    rows: list[Row] = []
    for fleet in case.fleets:
        blocks = [bid for bid in case.bids if bid.fleet == fleet.fleet]
        for hour in range(hours):
            running = [unit(fleet.fleet, i, hour) for i in range(fleet.unit_count)]
            accepted = [f"mw:{fleet.fleet}:{bid.block}:{hour}" for bid in blocks]
            for name, bid in zip(accepted, blocks, strict=True):
                cost[name] = bid.price_usd_per_mwh
                rows.append(Row(f"block:{name}", {name: -1.0}, moved=dict.fromkeys(running, -bid.size_mw)))
            least = dict.fromkeys(running, fleet.unit_min_mw)
            if fleet.fleet in level_of:
                for level, amount in enumerate(level_of[fleet.fleet].least_mw):
                    extra = amount - fleet.unit_min_mw
                    least |= {f"at:{fleet.fleet}:{level}:{name}": extra for name in running if extra > 0}
            rows.append(Row(f"least:{fleet.fleet}:{hour}", dict.fromkeys(accepted, 1.0), moved=least))
            rows += _ramp_rows(fleet, [bid.block for bid in blocks], hour, hours)
    free: set[str] = set()
    for hour in range(hours):
        rows += _network_rows(case, hour, free)
    return Program(cost, tuple(rows), frozenset(free))


def _ramp_rows(fleet: Fleet, blocks: list[int], hour: int, hours: int) -> list[Row]:
    if fleet.ramp_mw_per_h >= fleet.unit_size_mw:
        return []
    before = (hour - 1) % hours
    change = {f"mw:{fleet.fleet}:{block}:{hour}": 1.0 for block in blocks}
    change |= {f"mw:{fleet.fleet}:{block}:{before}": -1.0 for block in blocks}
    numbers = range(fleet.unit_count)
    rows = []
    for name, sign, come, go in (("up", 1.0, "start", "stop"), ("down", -1.0, "stop", "start")):
        # change <= ramp (on - start) + full come - least go
        limit = {unit(fleet.fleet, i, hour): fleet.ramp_mw_per_h for i in numbers}
        for i in numbers:
            for event, amount in (
                ("start", -fleet.ramp_mw_per_h),
                (come, fleet.unit_size_mw),
                (go, -fleet.unit_min_mw),
            ):
                key = f"{event}:{fleet.fleet}:{i}:{hour}"
                limit[key] = limit.get(key, 0.0) + amount
        rows.append(
            Row(
                f"ramp {name}:{fleet.fleet}:{hour}",
                {key: -sign * weight for key, weight in change.items()},
                moved={key: -amount for key, amount in limit.items()},
            )
        )
    return rows


def _network_rows(case: Case, hour: int, free: set[str]) -> list[Row]:
    load = case.load_mw(0.0)[hour]
    balance: list[Weights] = [{} for _ in case.buses]
    index = {bus.bus: i for i, bus in enumerate(case.buses)}
    for fleet in case.fleets:
        for bid in case.bids:
            if bid.fleet == fleet.fleet:
                balance[index[fleet.bus]][f"mw:{fleet.fleet}:{bid.block}:{hour}"] = 1.0
    rows = []
    for line in case.lines:
        flow: Weights = {}
        for bus, sign in ((line.from_bus, 1.0), (line.to_bus, -1.0)):
            if index[bus] > 0:  # the first bus has angle zero
                free.add(f"angle:{bus}:{hour}")
                flow[f"angle:{bus}:{hour}"] = sign * case.base_mva / line.reactance_pu
        for name, weight in flow.items():
            out, into = balance[index[line.from_bus]], balance[index[line.to_bus]]
            out[name] = out.get(name, 0.0) - weight
            into[name] = into.get(name, 0.0) + weight
        if math.isfinite(line.rating_mw):
            rows.append(Row(f"line:{line.line}:{hour}", {n: -w for n, w in flow.items()}, -line.rating_mw))
            rows.append(Row(f"line back:{line.line}:{hour}", flow, -line.rating_mw))
    return rows + [
        Row(f"load:{bus.bus}:{hour}", weights, float(load[i]) - bus.injection_mw, equal=True)
        for i, (bus, weights) in enumerate(zip(case.buses, balance, strict=True))
    ]


def gas_market(case: Case, demand_mwh: FloatArray, *, burn_from_dispatch: bool = False) -> Program:
    """GM; its balances are the rows ``gas:junction``, where the burn is zero or follows the dispatch."""
    pressure = {row.junction: (row.pressure_min_bar**2, row.pressure_max_bar**2) for row in case.junctions}
    balance: dict[str, Weights] = {name: {} for name in pressure}
    cost: Weights = {}
    rows: list[Row] = []
    for bid in case.supplies:
        name = f"supply:{bid.supply}:{bid.block}"
        cost[name] = bid.price_usd_per_mwh
        rows.append(Row(f"size:{name}", {name: -1.0}, -bid.size_mwh))
        balance[bid.junction][name] = 1.0
    for row in case.junctions:
        rows.append(Row(f"low:{row.junction}", {f"psi:{row.junction}": 1.0}, pressure[row.junction][0]))
        rows.append(Row(f"high:{row.junction}", {f"psi:{row.junction}": -1.0}, -pressure[row.junction][1]))
        balance[row.junction][f"pack:{row.junction}"] = -1.0
        rows.append(Row(f"pack:{row.junction}", {f"pack:{row.junction}": -1.0}, -row.pack_mwh))
    for pipe in case.pipes:
        flow, up, down = f"flow:{pipe.pipe}", pipe.from_junction, pipe.to_junction
        balance[up][flow], balance[down][flow] = -1.0, 1.0
        k, largest_drop = pipe.weymouth_mwh_per_bar, pressure[up][1] - pressure[down][0]
        rows.append(Row(f"falls:{pipe.pipe}", {f"psi:{up}": 1.0, f"psi:{down}": -1.0}))
        for step in range(1, TANGENTS):
            touch = k * math.sqrt(largest_drop) * (step / (TANGENTS - 1)) ** 2
            slope = k**2 / (2 * touch)
            weights = {flow: -1.0, f"psi:{up}": slope, f"psi:{down}": -slope}
            rows.append(Row(f"weymouth:{pipe.pipe}:{step}", weights, -touch / 2))
    for station in case.compressors:
        flow, up, down = f"flow:{station.compressor}", station.from_junction, station.to_junction
        balance[up][flow], balance[down][flow] = -1.0, 1.0
        low, high = station.ratio_min**2, station.ratio_max**2
        rows.append(Row(f"low:{station.compressor}", {f"psi:{down}": 1.0, f"psi:{up}": -low}))
        rows.append(Row(f"high:{station.compressor}", {f"psi:{down}": -1.0, f"psi:{up}": high}))
    withdrawn = dict.fromkeys(balance, 0.0)
    for delivery, amount in zip(case.deliveries, demand_mwh, strict=True):
        withdrawn[delivery.junction] += float(amount)
    for plant in plants(case) if burn_from_dispatch else ():
        blocks = [bid.block for bid in case.bids if bid.fleet == plant.fleet.fleet]
        for hour, block in itertools.product(range(len(case.load_shape)), blocks):
            balance[plant.link.junction][f"mw:{plant.fleet.fleet}:{block}:{hour}"] = -plant.burn_rate
    rows += [Row(f"gas:{name}", weights, withdrawn[name], equal=True) for name, weights in balance.items()]
    return Program(cost, tuple(rows))


def day_patterns(fleet: Fleet, hours: int) -> Iterator[tuple[int, ...]]:
    """All counts of units on by hour that minimum times and must-run allow around the cyclic day."""
    least = fleet.unit_count if fleet.must_run else 0
    for counts in itertools.product(range(least, fleet.unit_count + 1), repeat=hours):
        fine = True
        for hour in range(hours):
            started, stopped = (
                sum(
                    max(0, sign * (counts[(hour - k) % hours] - counts[(hour - k - 1) % hours]))
                    for k in range(min(length, hours))
                )
                for sign, length in ((1, fleet.min_up_h), (-1, fleet.min_down_h))
            )
            fine &= started <= counts[hour] and stopped <= fleet.unit_count - counts[hour]
        if fine:
            yield counts


def commitment_cost(case: Case, counts: tuple[tuple[int, ...], ...]) -> float:
    """No-load and start-up costs of a day."""
    return sum(
        fleet.no_load_usd_per_h * sum(mine)
        + fleet.start_usd * sum(max(0, mine[t] - mine[t - 1]) for t in range(len(mine)))
        for fleet, mine in zip(case.fleets, counts, strict=True)
    )


def has_reserve(case: Case, counts: tuple[tuple[int, ...], ...]) -> bool:
    """Whether running units could give the reserve on top of the load."""
    load = case.load_mw(0.0).sum(axis=1)
    for hour, amount in enumerate(load):
        capacity = sum(
            fleet.unit_size_mw * mine[hour] for fleet, mine in zip(case.fleets, counts, strict=True)
        )
        if capacity < amount * (1 + case.reserve_fraction) - 1e-9 and case.reserve_fraction > 0:
            return False
    return True


def binaries(case: Case, counts: tuple[tuple[int, ...], ...], levels: tuple[int, ...]) -> Weights:
    """The leader's binaries of a commitment and of levels by plant."""
    values: Weights = {}
    for fleet, mine in zip(case.fleets, counts, strict=True):
        for hour, i in itertools.product(range(len(mine)), range(fleet.unit_count)):
            change = mine[hour] - mine[hour - 1]
            values[unit(fleet.fleet, i, hour)] = float(i < mine[hour])
            values[f"start:{fleet.fleet}:{i}:{hour}"] = float(i < change)
            values[f"stop:{fleet.fleet}:{i}:{hour}"] = float(i < -change)
    for plant, level in zip(plants(case), levels, strict=True):
        name = plant.fleet.fleet
        for k, i, hour in itertools.product(
            range(len(plant.least_mw)), range(plant.fleet.unit_count), range(len(case.load_shape))
        ):
            values[f"at:{name}:{k}:{unit(name, i, hour)}"] = values[unit(name, i, hour)] * (k == level)
    return values


class Enumeration:
    """Every commitment of a small game, its EM and its GM."""

    def __init__(self, case: Case, demand_mwh: FloatArray) -> None:
        self.case, self.plants = case, plants(case)
        self._electricity = electricity_market(case)
        self._gas = gas_market(case, demand_mwh)
        self._names = self._electricity.variables()
        self._live = PersistentLp(self._electricity.arrays())
        self._live_gas = PersistentLp(self._gas.arrays())
        self._balance = {row.name: i for i, row in enumerate(self._gas.rows) if row.name.startswith("gas:")}
        self._dual = _DualOfGas(self._gas)

    def dispatch(
        self, counts: tuple[tuple[int, ...], ...], levels: tuple[int, ...]
    ) -> tuple[float, FloatArray] | None:
        """EM's cost and the burn by plant; None where the load cannot be served."""
        right = self._electricity.right_sides(binaries(self.case, counts, levels))
        upper = np.where([row.equal for row in self._electricity.rows], right, np.inf)
        self._live.set_row_bounds(np.arange(right.size), right, upper)
        answer = self._live.solve()
        if answer.status is not Status.PROVEN_OPTIMAL:
            return None
        output = dict(zip(self._names, answer.columns.tolist(), strict=True))
        burn = [
            plant.burn_rate
            * sum(value for name, value in output.items() if name.startswith(f"mw:{plant.fleet.fleet}:"))
            for plant in self.plants
        ]
        return answer.objective, np.array(burn)

    def valid(self, counts: tuple[tuple[int, ...], ...], levels: tuple[int, ...], burn: FloatArray) -> bool:
        """Whether GM can serve the burn at some optimal prices that all running plants tolerate."""
        right = self._gas.right_sides({})
        caps: dict[str, float] = {}
        running = {fleet.fleet for fleet, mine in zip(self.case.fleets, counts, strict=True) if any(mine)}
        for plant, level, amount in zip(self.plants, levels, burn, strict=True):
            row = f"gas:{plant.link.junction}"
            right[self._balance[row]] += amount
            if plant.fleet.fleet in running:
                caps[row] = min(plant.cap_usd_per_mwh[level], caps.get(row, math.inf))
        upper = np.where([row.equal for row in self._gas.rows], right, np.inf)
        self._live_gas.set_row_bounds(np.arange(right.size), right, upper)
        answer = self._live_gas.solve()
        if answer.status is not Status.PROVEN_OPTIMAL:
            return False
        best = self._dual.largest(right, {self._balance[row]: cap for row, cap in caps.items()})
        return best >= answer.objective - 1e-7 * max(1.0, abs(answer.objective))

    def best(self) -> float | None:
        """The least cost of all valid commitments; None where there is none."""
        hours = len(self.case.load_shape)
        zero = tuple(0 for _ in self.plants)
        every = itertools.product(*(list(day_patterns(fleet, hours)) for fleet in self.case.fleets))
        # EM at level 0 is a lower bound on the cost of a commitment, so the cheapest come first
        queue = []
        for counts in every:
            first = self.dispatch(counts, zero) if has_reserve(self.case, counts) else None
            if first is not None:
                queue.append((commitment_cost(self.case, counts) + first[0], counts))
        best = math.inf
        for bound, counts in sorted(queue):
            if bound >= best:
                break
            best = min(best, self._best_levels(counts, best))
        return None if math.isinf(best) else best

    def _best_levels(self, counts: tuple[tuple[int, ...], ...], best: float) -> float:
        fixed = commitment_cost(self.case, counts)
        for levels in itertools.product(*(range(len(plant.least_mw)) for plant in self.plants)):
            answer = self.dispatch(counts, levels)
            if answer is not None and fixed + answer[0] < best and self.valid(counts, levels, answer[1]):
                best = fixed + answer[0]
        return best


class _DualOfGas:
    """``max right . y`` over GM's dual prices, some capped: its optimum says whether the caps can hold."""

    def __init__(self, gas: Program) -> None:
        arrays = gas.arrays()
        self._rows = len(gas.rows)
        self._equal = np.array([row.equal for row in gas.rows])
        self._live = PersistentLp(
            LinearProgram.from_arrays(
                cost=np.zeros(self._rows),
                matrix=sp.csr_array(arrays.matrix.T),
                row_upper=arrays.cost,
                row_lower=np.full(arrays.cost.size, -np.inf),
                column_lower=np.where(self._equal, -np.inf, 0.0),
            )
        )

    def largest(self, right: FloatArray, caps: dict[int, float]) -> float:
        """Largest value of the dual at a right-hand side, with caps on some prices."""
        upper = np.full(self._rows, np.inf)
        for row, cap in caps.items():
            upper[row] = cap
        self._live.set_cost(-right)
        self._live.set_column_bounds(np.arange(self._rows), np.where(self._equal, -np.inf, 0.0), upper)
        answer = self._live.solve()
        return -answer.objective if answer.status is Status.PROVEN_OPTIMAL else -math.inf
