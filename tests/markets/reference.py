"""The game of a small case written down once more, and solved by trying every commitment and selection.

The leader says how many units of a fleet run in each hour and, for gas-fired plants, how many of them offer
each block: ``on = n_1 >= n_2 >= ... >= n_B``. EM takes ``a_b`` of block b with ``s_b n_(b+1) <= a_b <=
s_b n_b``: a unit that offers a block has the one before full. What all running units of a plant offer in all
hours in which it runs is its **depth**; the price of that block must cover its gas.

EM and GM are lists of named rows whose right-hand sides are affine in the leader's binaries; nothing of the
package's models is used. The same rows serve :class:`Enumeration` and the single-level program of
:mod:`tests.markets.single_level`.

Conventions: prices of GM are optimistic (a commitment is valid if *some* optimal price vector respects the
caps). EM's burn is taken to be unique; the games of :mod:`tests.markets.small_games` have no ties.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.cases.entities import Bid, Fleet, Link
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp
from ppsm.status import Status

TANGENTS = 8
MWH_PER_MMBTU = 0.29307107
Weights = dict[str, float]
# Units on by fleet and hour.
Counts = tuple[tuple[int, ...], ...]
# Units that offer each block, by plant and hour; what is missing is open.
Offers = dict[tuple[int, int], tuple[int, ...]]


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
    """A gas-fired fleet: ``cap_usd_per_mwh[b - 1]`` is the gas price that a plant of depth b tolerates."""

    link: Link
    fleet: Fleet
    cap_usd_per_mwh: tuple[float, ...]

    @property
    def blocks(self) -> int:
        """Number of bid blocks."""
        return len(self.cap_usd_per_mwh)

    @property
    def burn_rate(self) -> float:
        """MWh of gas from the network for a MWh of power."""
        return self.link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU * self.link.gas_share


def plants(case: Case) -> list[Plant]:
    """All gas-fired fleets and what they tolerate, from the definition of bid validity."""
    found = []
    for link in case.links:
        fleet = next(fleet for fleet in case.fleets if fleet.fleet == link.fleet)
        fuel = link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU
        prices = [bid.price_usd_per_mwh for bid in case.bids if bid.fleet == link.fleet]
        found.append(Plant(link, fleet, tuple(price / fuel for price in prices)))
    return found


def unit(fleet: str, number: int, hour: int) -> str:
    """The binary of one unit of a fleet that runs in an hour; units of a fleet start in their order."""
    return f"on:{fleet}:{number}:{hour}"


def offer(fleet: str, block: int, number: int, hour: int) -> str:
    """The binary of one unit that offers a block (from 1); every running unit offers the first."""
    return unit(fleet, number, hour) if block == 1 else f"offer:{fleet}:{block}:{number}:{hour}"


def electricity_market(case: Case) -> Program:
    """EM; binaries are units on, started and stopped, and units of plants that offer a block."""
    hours, gas_fired = len(case.load_shape), {link.fleet for link in case.links}
    cost: Weights = {}
    rows: list[Row] = []
    for fleet in case.fleets:
        blocks = [bid for bid in case.bids if bid.fleet == fleet.fleet]
        for hour in range(hours):
            running = [unit(fleet.fleet, i, hour) for i in range(fleet.unit_count)]
            accepted = [f"mw:{fleet.fleet}:{bid.block}:{hour}" for bid in blocks]
            cost |= {name: bid.price_usd_per_mwh for name, bid in zip(accepted, blocks, strict=True)}
            rows += _block_rows(fleet, blocks, hour, selects=fleet.fleet in gas_fired)
            least = dict.fromkeys(running, fleet.unit_min_mw)
            rows.append(Row(f"least:{fleet.fleet}:{hour}", dict.fromkeys(accepted, 1.0), moved=least))
            rows += _ramp_rows(fleet, [bid.block for bid in blocks], hour, hours)
    free: set[str] = set()
    for hour in range(hours):
        rows += _network_rows(case, hour, free)
    return Program(cost, tuple(rows), frozenset(free))


def _block_rows(fleet: Fleet, blocks: list[Bid], hour: int, *, selects: bool) -> list[Row]:
    """No more than is offered and, where units select their blocks, full before the next block."""
    rows = []
    for bid in blocks:
        name = f"mw:{fleet.fleet}:{bid.block}:{hour}"
        offering, beyond = (
            [offer(fleet.fleet, block if selects else 1, i, hour) for i in range(fleet.unit_count)]
            for block in (bid.block, bid.block + 1)
        )
        rows.append(Row(f"block:{name}", {name: -1.0}, moved=dict.fromkeys(offering, -bid.size_mw)))
        if selects and bid.block < len(blocks):
            rows.append(Row(f"full:{name}", {name: 1.0}, moved=dict.fromkeys(beyond, bid.size_mw)))
    return rows


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
    arcs = [(row.pipe, row.capacity_mwh) for row in case.pipes]
    arcs += [(row.compressor, row.capacity_mwh) for row in case.compressors]
    for name, capacity in arcs:
        if math.isfinite(capacity):
            rows.append(Row(f"capacity:{name}", {f"flow:{name}": -1.0}, -capacity))
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


def commitment_cost(case: Case, counts: Counts) -> float:
    """No-load and start-up costs of a day."""
    return sum(
        fleet.no_load_usd_per_h * sum(mine)
        + fleet.start_usd * sum(max(0, mine[t] - mine[t - 1]) for t in range(len(mine)))
        for fleet, mine in zip(case.fleets, counts, strict=True)
    )


def has_capacity(case: Case, counts: Counts) -> bool:
    """Whether running units could serve the load, and the reserve where there is one."""
    constant = sum(bus.injection_mw for bus in case.buses)
    for hour, load in enumerate(case.load_mw(0.0).sum(axis=1)):
        capacity = sum(
            fleet.unit_size_mw * mine[hour] for fleet, mine in zip(case.fleets, counts, strict=True)
        )
        if capacity < load - constant - 1e-9:
            return False
        if case.reserve_fraction > 0 and capacity < load * (1 + case.reserve_fraction) - 1e-9:
            return False
    return True


def selections(on: int, blocks: int) -> list[tuple[int, ...]]:
    """All ways in which so many running units can offer their blocks in order; everything comes first."""
    if on == 0 or blocks == 1:
        return [(on,) * blocks]
    return [(on, *rest) for second in range(on, -1, -1) for rest in _never_more_than(second, blocks - 1)]


def _never_more_than(first: int, length: int) -> Iterator[tuple[int, ...]]:
    """Sequences that begin with a number and never rise."""
    if length == 1:
        yield (first,)
        return
    for second in range(first, -1, -1):
        for rest in _never_more_than(second, length - 1):
            yield (first, *rest)


def depth(offers: Sequence[tuple[int, ...]]) -> int:
    """What all running units offer in every hour in which some run; 0 where none ever runs."""
    return min((sum(each == mine[0] for each in mine) for mine in offers if mine[0] > 0), default=0)


def binaries(case: Case, counts: Counts, offers: Offers) -> Weights:
    """The leader's binaries; in hours that are open every running unit offers everything."""
    values: Weights = {}
    for fleet, mine in zip(case.fleets, counts, strict=True):
        for hour, i in itertools.product(range(len(mine)), range(fleet.unit_count)):
            change = mine[hour] - mine[hour - 1]
            values[unit(fleet.fleet, i, hour)] = float(i < mine[hour])
            values[f"start:{fleet.fleet}:{i}:{hour}"] = float(i < change)
            values[f"stop:{fleet.fleet}:{i}:{hour}"] = float(i < -change)
    rows = {fleet.fleet: row for row, fleet in enumerate(case.fleets)}
    for number, plant in enumerate(plants(case)):
        for hour, on in enumerate(counts[rows[plant.fleet.fleet]]):
            for block, count in enumerate(offers.get((number, hour), (on,) * plant.blocks), start=1):
                for i in range(plant.fleet.unit_count):
                    values[offer(plant.fleet.fleet, block, i, hour)] = float(i < count)
    return values


@dataclass(frozen=True)
class Answer:
    """The best of all valid selections of a game: cost in $, units on by fleet, and units that offer."""

    cost_usd: float
    counts: Counts
    offers: Offers


class _Live:
    """A program in names, alive in HiGHS."""

    def __init__(self, program: Program) -> None:
        self.program, self.names = program, program.variables()
        self._equal = np.array([row.equal for row in program.rows])
        self._rows = np.arange(len(program.rows))
        self._lp = PersistentLp(program.arrays())

    def solve(self, right: FloatArray) -> LpSolution | None:
        """Solve at a right-hand side; None where that is infeasible."""
        self._lp.set_row_bounds(self._rows, right, np.where(self._equal, right, np.inf))
        answer = self._lp.solve(is_bounded=True)  # all costs are at least 0
        return answer if answer.status is Status.PROVEN_OPTIMAL else None


class Enumeration:
    """Every commitment and selection of a small game, their EM and their GM."""

    def __init__(self, case: Case, demand_mwh: FloatArray) -> None:
        self.case, self.plants = case, plants(case)
        self._hours = range(len(case.load_shape))
        order = {fleet.fleet: row for row, fleet in enumerate(case.fleets)}
        self._fleet_of = [order[plant.fleet.fleet] for plant in self.plants]
        electricity, gas = electricity_market(case), gas_market(case, demand_mwh)
        self._electricity, self._gas, self._dual = _Live(electricity), _Live(gas), _DualOfGas(gas)
        burning = gas_market(case, demand_mwh, burn_from_dispatch=True)
        self._both = _Live(Program(electricity.cost, (*electricity.rows, *burning.rows), electricity.free))
        self._full = {row.name: i for i, row in enumerate(electricity.rows) if row.name.startswith("full:")}
        self._balance = {row.name: i for i, row in enumerate(gas.rows) if row.name.startswith("gas:")}
        self._burns = np.array(
            [
                [
                    plant.burn_rate * name.startswith(f"mw:{plant.fleet.fleet}:")
                    for name in self._electricity.names
                ]
                for plant in self.plants
            ]
        ).reshape(len(self.plants), -1)

    def best(self) -> float | None:
        """The least cost of all valid selections; None where there is none."""
        answer = self.answer()
        return None if answer is None else answer.cost_usd

    def answer(self) -> Answer | None:
        """The best of all valid selections."""
        best: Answer | None = None
        for bound, counts in self.commitments():
            if best is not None and bound >= best.cost_usd:
                break
            best = self._best_selection(counts, {}, best)
        return best

    def best_of_levels(self) -> float | None:
        """The least cost of another game: running units offer everything, and levels say what is full.

        What the leader gains by not selecting a block is the difference to :meth:`best`.
        """
        best = math.inf
        for bound, counts in self.commitments():
            if bound >= best:
                break
            fixed = commitment_cost(self.case, counts)
            for levels in itertools.product(*(range(plant.blocks) for plant in self.plants)):
                cleared = self.dispatch(counts, {}, levels)
                if cleared is not None and fixed + cleared[0] < best:
                    depths = [
                        (level + 1) * any(counts[row])
                        for level, row in zip(levels, self._fleet_of, strict=True)
                    ]
                    best = fixed + cleared[0] if self.valid(depths, cleared[1]) else best
        return None if math.isinf(best) else best

    @cached_property
    def _listed(self) -> list[tuple[float, Counts]]:
        every = itertools.product(
            *(list(day_patterns(fleet, len(self._hours))) for fleet in self.case.fleets)
        )
        queue = []
        for counts in every:
            if has_capacity(self.case, counts):
                # the cheapest dispatch that GM can serve, whatever is selected
                program = self._both.program
                right = program.right_sides(binaries(self.case, counts, {}))
                right[list(self._full.values())] = 0.0
                first = self._both.solve(right)
                if first is not None:
                    queue.append((commitment_cost(self.case, counts) + first.objective, counts))
        return sorted(queue)

    def commitments(self) -> list[tuple[float, Counts]]:
        """Commitments with a lower bound on the cost of all their selections, the lowest first."""
        return self._listed

    def _best_selection(self, counts: Counts, offers: Offers, best: Answer | None) -> Answer | None:
        """Decide hour by hour and plant by plant; EM with the rest left open bounds the cost from below."""
        cleared = self.dispatch(counts, offers)
        if cleared is None:
            return best
        cost = commitment_cost(self.case, counts) + cleared[0]
        if best is not None and cost >= best.cost_usd:
            return best
        places = itertools.product(self._hours, range(len(self.plants)))
        place = next(((plant, hour) for hour, plant in places if (plant, hour) not in offers), None)
        if place is None:
            depths = [
                depth([offers[plant, hour] for hour in self._hours]) for plant in range(len(self.plants))
            ]
            return Answer(cost, counts, offers) if self.valid(depths, cleared[1]) else best
        on = counts[self._fleet_of[place[0]]][place[1]]
        for choice in selections(on, self.plants[place[0]].blocks):
            best = self._best_selection(counts, {**offers, place: choice}, best)
        return best

    def dispatch(
        self, counts: Counts, offers: Offers, levels: Sequence[int] = ()
    ) -> tuple[float, FloatArray] | None:
        """EM's cost and the burn by plant; None where the load cannot be served.

        Where a plant and hour are open, running units offer everything and must have their first ``levels``
        blocks full.
        """
        right = self._electricity.program.right_sides(binaries(self.case, counts, offers))
        for number, plant in enumerate(self.plants):
            first = levels[number] if levels else 0
            for hour, block in itertools.product(self._hours, range(first + 1, plant.blocks)):
                if (number, hour) not in offers:
                    right[self._full[f"full:mw:{plant.fleet.fleet}:{block}:{hour}"]] = 0.0
        answer = self._electricity.solve(right)
        return None if answer is None else (answer.objective, self._burns @ answer.columns)

    def gas_prices(self, answer: Answer) -> list[float]:
        """Some optimal gas prices of an answer, one for each junction, $/MWh."""
        cleared = self.dispatch(answer.counts, answer.offers)
        gas = None if cleared is None else self._gas.solve(self._withdrawn(cleared[1]))
        assert gas is not None
        return [float(gas.prices[row]) for row in self._balance.values()]

    def _withdrawn(self, burn: FloatArray) -> FloatArray:
        """GM's right-hand side at a burn by plant."""
        right = self._gas.program.right_sides({})
        for plant, amount in zip(self.plants, burn, strict=True):
            right[self._balance[f"gas:{plant.link.junction}"]] += amount
        return right

    def valid(self, depths: Sequence[int], burn: FloatArray) -> bool:
        """Whether GM can serve the burn at some optimal prices that all running plants tolerate."""
        right = self._withdrawn(burn)
        caps: dict[int, float] = {}
        for plant, deep in zip(self.plants, depths, strict=True):
            row = self._balance[f"gas:{plant.link.junction}"]
            if deep > 0:
                caps[row] = min(plant.cap_usd_per_mwh[deep - 1], caps.get(row, math.inf))
        answer = self._gas.solve(right)
        if answer is None:
            return False
        best = self._dual.largest(right, caps)
        return best >= answer.objective - 1e-7 * max(1.0, abs(answer.objective))


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
