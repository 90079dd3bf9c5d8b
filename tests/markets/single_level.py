"""The game of a small case as one mixed-integer program, by strong duality.

EM and GM are merged into one linear program with cost ``EM + weight x GM``: for a small weight it clears EM
first and GM at EM's dispatch (a lexicographic order), and its duals on the gas balances, divided by the
weight, are GM's prices. The program then holds

- the leader's binaries with the rules of commitment, the blocks that each unit of a plant offers, and the
  plant's depth: what all its running units offer in all hours;
- merged primal, merged dual and their equal value; products of duals and binaries are linearised (McCormick);
- EM's own dual and equal value once more: where GM cannot serve EM's dispatch, merging alone would let EM
  yield, but in the game such a commitment has no answer;
- bid validity: the price at a plant that runs is at most the cap of its depth.

Duals of the rows that binaries move are bounded by ``DUAL_BOUND``; an answer at that bound is refused. A
solver takes 1 - 1e-10 for one, which the bounds magnify: an answer must survive exact binaries or is cut off.
"""

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from tests.markets.reference import (
    Program,
    Weights,
    electricity_market,
    gas_market,
    offer,
    plants,
    unit,
)

from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.cases.entities import Fleet
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status

# Small beside differences of bids, $/MWh per $/MWh of gas: 1e-3 x 2.3 MWh/MWh x 35 $/MWh is 0.08 $/MWh.
GAS_WEIGHT = 1e-3
DUAL_BOUND = 400.0
# More than any gas price that can matter, $/MWh: caps end near 35.
PRICE_BOUND = 1000.0


@dataclass
class _Milp:
    """Named columns with bounds and rows ``low <= weights . x <= high``, collected one by one."""

    lower: Weights = field(default_factory=dict)
    upper: Weights = field(default_factory=dict)
    integer: set[str] = field(default_factory=set)
    rows: list[tuple[Weights, float, float]] = field(default_factory=list)
    cost: Weights = field(default_factory=dict)

    def column(self, name: str, low: float = 0.0, high: float = math.inf, *, whole: bool = False) -> str:
        self.lower[name], self.upper[name] = low, high
        if whole:
            self.integer.add(name)
        return name

    def row(self, weights: Weights, low: float = -math.inf, high: float = math.inf) -> None:
        self.rows.append((weights, low, high))

    def _arrays(self) -> LinearProgram:
        index = {name: i for i, name in enumerate(self.lower)}
        matrix = sp.lil_array((len(self.rows), len(index)))
        for number, (weights, _, _) in enumerate(self.rows):
            for name, weight in weights.items():
                matrix[number, index[name]] += weight
        return LinearProgram.from_arrays(
            cost=[self.cost.get(name, 0.0) for name in index],
            matrix=sp.csr_array(matrix),
            row_lower=[low for _, low, _ in self.rows],
            row_upper=[high for _, _, high in self.rows],
            column_lower=list(self.lower.values()),
            column_upper=list(self.upper.values()),
        )

    def solve(self, limits: SolveLimits) -> tuple[Status, float | None, Weights]:
        """Status, objective and values; an answer that rounded binaries break is cut off."""
        integer = np.array([name in self.integer for name in self.lower])
        while True:
            linear = self._arrays()
            result = solve_mip_with_highs(MixedIntegerProgram(linear, integer), limits)
            if result.columns is None:
                return result.status, None, {}
            whole = np.rint(result.columns[integer])
            lower, upper = linear.column_lower.copy(), linear.column_upper.copy()
            lower[integer], upper[integer] = whole, whole
            exact = solve_lp(replace(linear, column_lower=lower, column_upper=upper))
            if exact.status is Status.PROVEN_OPTIMAL:
                values = dict(zip(self.lower, exact.columns.tolist(), strict=True))
                return result.status, exact.objective, values
            names = [name for name in self.lower if name in self.integer]
            differs = {name: 1.0 - 2.0 * value for name, value in zip(names, whole.tolist(), strict=True)}
            self.row(differs, low=1.0 - float(whole.sum()))


def best_by_single_level(case: Case, demand_mwh: FloatArray, seconds: float = 120.0) -> float | None:
    """The least cost of the game; None where it has no answer."""
    milp = _Milp()
    for fleet in case.fleets:
        _add_commitment(milp, fleet, len(case.load_shape))
    _add_reserve(milp, case)
    _add_selection(milp, case)
    electricity = electricity_market(case)
    gas = gas_market(case, demand_mwh, burn_from_dispatch=True)
    merged = Program(
        {**electricity.cost, **{name: GAS_WEIGHT * price for name, price in gas.cost.items()}},
        (*electricity.rows, *gas.rows),
        electricity.free,
    )
    for name in merged.variables():
        milp.column(name, -math.inf if name in merged.free else 0.0)
    for row in merged.rows:
        milp.row(
            {**row.weights, **_negated(row.moved)}, row.constant, row.constant if row.equal else math.inf
        )
    _add_equal_value(milp, electricity, "em")
    _add_equal_value(milp, merged, "both")
    _add_validity(milp, case)
    milp.cost |= electricity.cost
    status, objective, values = milp.solve(SolveLimits(gap=1e-8, seconds=seconds, feasibility=1e-9))
    if status is Status.INFEASIBLE:
        return None
    if status is not Status.PROVEN_OPTIMAL or objective is None:
        raise TimeoutError(f"{case.name}: the single-level program is '{status.value}' after {seconds} s")
    largest = max(value for name, value in values.items() if name.startswith("product:"))
    if largest > 0.99 * DUAL_BOUND:
        raise ArithmeticError(f"{case.name}: a dual is at its bound; raise DUAL_BOUND")
    return objective


def _negated(weights: Weights) -> Weights:
    return {name: -weight for name, weight in weights.items()}


def _add_commitment(milp: _Milp, fleet: Fleet, hours: int) -> None:
    """Units in order, their net starts and stops, minimum times, no-load and start-up cost."""
    numbers, name = range(fleet.unit_count), fleet.fleet
    for hour, i in itertools.product(range(hours), numbers):
        on = milp.column(unit(name, i, hour), float(fleet.must_run), 1.0, whole=True)
        milp.cost[on] = fleet.no_load_usd_per_h
        milp.cost[milp.column(f"start:{name}:{i}:{hour}", 0.0, 1.0, whole=True)] = fleet.start_usd
        milp.column(f"stop:{name}:{i}:{hour}", 0.0, 1.0, whole=True)
    for hour in range(hours):
        change = {unit(name, i, hour): 1.0 for i in numbers}
        change |= {unit(name, i, (hour - 1) % hours): -1.0 for i in numbers}
        change |= {f"start:{name}:{i}:{hour}": -1.0 for i in numbers}
        change |= {f"stop:{name}:{i}:{hour}": 1.0 for i in numbers}
        milp.row(change, 0.0, 0.0)
        rising = milp.column(f"rising:{name}:{hour}", 0.0, 1.0, whole=True)
        for event, low, factor in (("start", 0.0, -1.0), ("stop", 1.0, 1.0)):
            # starts only while rising, stops only while not: both are net
            for i in numbers:
                milp.row({f"{event}:{name}:{i}:{hour}": 1.0, rising: factor}, high=low)
                for prefix in (f"{event}:{name}", f"on:{name}"):
                    if i > 0:
                        milp.row({f"{prefix}:{i - 1}:{hour}": 1.0, f"{prefix}:{i}:{hour}": -1.0}, low=0.0)
        for event, length, sign, room in (
            ("start", fleet.min_up_h, -1.0, 0.0),
            ("stop", fleet.min_down_h, 1.0, float(fleet.unit_count)),
        ):
            if length:
                recent = {
                    f"{event}:{name}:{i}:{(hour - k) % hours}": 1.0
                    for k, i in itertools.product(range(min(length, hours)), numbers)
                }
                milp.row({**recent, **{unit(name, i, hour): sign for i in numbers}}, high=room)


def _add_reserve(milp: _Milp, case: Case) -> None:
    if case.reserve_fraction > 0:
        for hour, load in enumerate(case.load_mw(0.0).sum(axis=1)):
            capacity = {
                unit(fleet.fleet, i, hour): fleet.unit_size_mw
                for fleet in case.fleets
                for i in range(fleet.unit_count)
            }
            milp.row(capacity, low=float(load) * (1 + case.reserve_fraction))


def _add_selection(milp: _Milp, case: Case) -> None:
    """Blocks in order, units in order, and the depth that all running units offer in every hour."""
    for plant in plants(case):
        name = plant.fleet.fleet
        depths = [milp.column(f"depth:{name}:{b}", 0.0, 1.0, whole=True) for b in range(1, plant.blocks + 1)]
        milp.row(dict.fromkeys(depths, 1.0), 1.0, 1.0)
        runs = milp.column(f"runs:{name}", 0.0, 1.0, whole=True)
        for i, hour in itertools.product(range(plant.fleet.unit_count), range(len(case.load_shape))):
            on = unit(name, i, hour)
            milp.row({runs: 1.0, on: -1.0}, low=0.0)
            for block in range(2, plant.blocks + 1):
                mine = milp.column(offer(name, block, i, hour), 0.0, 1.0, whole=True)
                milp.row({offer(name, block - 1, i, hour): 1.0, mine: -1.0}, low=0.0)
                if i > 0:
                    milp.row({offer(name, block, i - 1, hour): 1.0, mine: -1.0}, low=0.0)
                # a plant as deep as this block has it from every unit that runs
                milp.row({mine: 1.0, on: -1.0, **dict.fromkeys(depths[block - 1 :], -1.0)}, low=-1.0)


def _add_equal_value(milp: _Milp, program: Program, tag: str) -> None:
    """Dual feasibility, and a dual value that is no less than the primal one."""
    reduced: dict[str, Weights] = {name: {} for name in program.variables()}
    value: Weights = dict(program.cost)
    for row in program.rows:
        dual = milp.column(
            f"dual:{tag}:{row.name}",
            -math.inf if row.equal else 0.0,
            DUAL_BOUND if row.moved else math.inf,
        )
        for name, weight in row.weights.items():
            reduced[name][dual] = weight
        value[dual] = -row.constant
        for binary, weight in row.moved.items():
            value[_add_product(milp, dual, binary)] = -weight
    for name, weights in reduced.items():
        cost = program.cost.get(name, 0.0)
        milp.row(weights, cost if name in program.free else -math.inf, cost)
    milp.row(value, high=0.0)


def _add_product(milp: _Milp, dual: str, binary: str) -> str:
    product = milp.column(f"product:{dual}:{binary}", 0.0, DUAL_BOUND)
    milp.row({product: 1.0, binary: -DUAL_BOUND}, high=0.0)
    milp.row({product: 1.0, dual: -1.0}, high=0.0)
    milp.row({product: 1.0, dual: -1.0, binary: -DUAL_BOUND}, low=-DUAL_BOUND)
    return product


def _add_validity(milp: _Milp, case: Case) -> None:
    for plant in plants(case):
        name = plant.fleet.fleet
        # price = dual / weight <= cap of the depth, unless the plant never runs
        weights = {f"dual:both:gas:{plant.link.junction}": 1.0 / GAS_WEIGHT, f"runs:{name}": PRICE_BOUND}
        weights |= {f"depth:{name}:{b}": -cap for b, cap in enumerate(plant.cap_usd_per_mwh, start=1)}
        milp.row(weights, high=PRICE_BOUND)
