"""An independent check of a claimed answer to the game.

Nothing here is shared with the models: power flow, commitment rules, the gas network and bid validity are
written out again from the raw tables of the case, and the linear programs are solved by SciPy. What is wrong
is named with its amount and unit.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.schema import Case
from ppsm.markets.gauc.gauc_solution import GaucSolution

# Relative to the amounts compared.
TOLERANCE = 1e-6
# Room for the rounding of the claimed numbers, well within the tolerance of the comparison.
_ROOM = 2e-7
_INVALID_BID = "the last selected block does not cover the fuel"
_MWH_PER_MMBTU = 0.29307107
_TANGENTS = 8


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: what, where, by how much."""

    what: str
    name: str
    amount: float
    unit: str

    def __str__(self) -> str:
        return f"{self.what}: {self.name} by {self.amount:.6g} {self.unit}"


@dataclass(frozen=True)
class Certificate:
    """What the checks found."""

    findings: tuple[Fault, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def invalid_bids(self) -> tuple[str, ...]:
        """Fleets that run although their bid does not cover their fuel at the answer's gas prices."""
        return tuple(fault.name for fault in self.findings if fault.what == _INVALID_BID)


def certify(solution: GaucSolution) -> Certificate:
    """Check commitment, EM, GM, validity and costs of an answer."""
    offers, prices = solution.offers, solution.gas_prices_usd_per_mwh
    if (
        solution.on is None
        or solution.output_mw is None
        or solution.burn_mwh is None
        or offers is None
        or prices is None
    ):
        return Certificate((Fault("incomplete", "no answer to check", math.inf, ""),))
    found: list[Fault] = []
    case, on, output = solution.case, solution.on, solution.output_mw
    _check_commitment(case, on, found)
    _check_reserve(case, solution.power_stress, on, output, found)
    _check_offers(case, on, output, offers, found)
    best = _cheapest_dispatch(case, solution.power_stress, on, offers)
    served = _cheapest_dispatch(case, solution.power_stress, on, offers, output)
    _compare(found, "EM can do better", "dispatch", solution.electricity_value_usd, best, "$")
    _compare(
        found,
        "the dispatch does not cost what is claimed",
        "dispatch",
        solution.electricity_value_usd,
        served,
        "$",
    )
    _check_cost(case, on, solution, found)
    _check_burn(case, output, solution.burn_mwh, found)
    _check_gas(solution, on, offers, found)
    _check_bids(case, on, offers, prices, found)
    bound = solution.bound_usd
    if (
        bound is not None
        and solution.leader_cost_usd is not None
        and bound > solution.leader_cost_usd * (1 + TOLERANCE)
    ):
        found.append(Fault("bound above the objective", "bound", bound - solution.leader_cost_usd, "$"))
    return Certificate(tuple(found))


def _compare(
    found: list[Fault], what: str, name: str, claimed: float | None, value: float, unit: str
) -> None:
    if claimed is None or not math.isfinite(value):
        found.append(Fault(what, name, math.inf, unit))
    elif abs(claimed - value) > TOLERANCE * max(1.0, abs(value)):
        found.append(Fault(what, name, abs(claimed - value), unit))


def _check_commitment(case: Case, on: IntArray, found: list[Fault]) -> None:
    """Counts within the fleet, must-run, minimum up and down times around the cyclic day."""
    hours = on.shape[1]
    for row, fleet in enumerate(case.fleets):
        count = on[row]
        low = fleet.unit_count if fleet.must_run else 0
        if count.min() < low or count.max() > fleet.unit_count:
            found.append(Fault("units on out of range", fleet.fleet, float(count.max()), "units"))
        started = np.maximum(count - np.roll(count, 1), 0)
        stopped = np.maximum(np.roll(count, 1) - count, 0)
        for what, events, length, room in (
            ("minimum up time", started, fleet.min_up_h, count),
            ("minimum down time", stopped, fleet.min_down_h, fleet.unit_count - count),
        ):
            recent = sum(np.roll(events, k) for k in range(max(1, min(length, hours))))
            excess = int(np.max(recent - room))
            if length > 1 and excess > 0:
                found.append(Fault(f"{what} broken", fleet.fleet, float(excess), "units"))


def _check_reserve(case: Case, stress: float, on: IntArray, output: FloatArray, found: list[Fault]) -> None:
    """What running units could give beyond their output covers the reserve in every hour."""
    size = np.array([fleet.unit_size_mw for fleet in case.fleets])
    needed = case.reserve_fraction * case.load_mw(stress).sum(axis=1)
    missing = needed - (size @ on - output.sum(axis=0))
    if case.reserve_fraction > 0 and missing.max() > TOLERANCE * max(1.0, needed.max()):
        hour = case.load_shape[int(missing.argmax())].hour
        found.append(Fault("too little reserve", f"hour {hour}", float(missing.max()), "MW"))


def _check_offers(case: Case, on: IntArray, output: FloatArray, offers: IntArray, found: list[Fault]) -> None:
    """Blocks are offered in order and by running units alone; nothing is given below the least output."""
    index = {fleet.fleet: i for i, fleet in enumerate(case.fleets)}
    for link, mine in zip(case.links, offers, strict=True):
        blocks = sum(bid.fleet == link.fleet for bid in case.bids)
        running = on[index[link.fleet]]
        in_order = (np.diff(mine, axis=0) <= 0).all() and mine.min() >= 0 and not mine[blocks:].any()
        if not in_order or (mine[0] != running).any():
            found.append(Fault("blocks selected out of order", link.fleet, math.inf, "units"))
    for row, fleet in enumerate(case.fleets):
        running = on[row] > 0
        each = output[row, running] / on[row, running]
        if running.any() and each.min() < fleet.unit_min_mw * (1 - TOLERANCE) - TOLERANCE:
            found.append(Fault("below least output", fleet.fleet, fleet.unit_min_mw - each.min(), "MW"))
        if (output[row, ~running] > TOLERANCE).any():
            found.append(
                Fault("output without a running unit", fleet.fleet, output[row, ~running].max(), "MW")
            )


def _accepted_bounds(
    case: Case, on: IntArray, offers: IntArray, hour: int
) -> list[tuple[float | None, float | None]]:
    """What EM may accept of every bid in an hour: all that is offered, no less than the next block asks."""
    rows = {link.fleet: row for row, link in enumerate(case.links)}
    bounds: list[tuple[float | None, float | None]] = []
    for i, fleet in enumerate(case.fleets):
        for bid in (bid for bid in case.bids if bid.fleet == fleet.fleet):
            count, after = on[i, hour], 0
            if fleet.fleet in rows:
                mine = offers[rows[fleet.fleet], :, hour]
                count, after = mine[bid.block - 1], mine[bid.block] if bid.block < mine.size else 0
            low, high = bid.size_mw * float(after), bid.size_mw * float(count)
            room = _ROOM * max(1.0, high)
            bounds.append((max(low - room, 0.0), high + room))
    return bounds


def _cheapest_dispatch(
    case: Case, stress: float, on: IntArray, offers: IntArray, output: FloatArray | None = None
) -> float:
    """EM's optimal cost at a commitment and offers, or the cost of a given output under the same rules."""
    fleets, hours = on.shape
    bids = [(i, bid) for i, f in enumerate(case.fleets) for bid in case.bids if bid.fleet == f.fleet]
    owner = np.array([i for i, _ in bids])
    buses = {bus.bus: i for i, bus in enumerate(case.buses)}
    blocks, count = len(bids), len(case.buses)
    width = blocks + count
    flow = np.zeros((len(case.lines), count))
    shift = np.zeros(len(case.lines))
    ends = np.zeros((len(case.lines), count))
    for i, line in enumerate(case.lines):
        start, end = buses[line.from_bus], buses[line.to_bus]
        flow[i, [start, end]] = case.base_mva / line.reactance_pu, -case.base_mva / line.reactance_pu
        ends[i, [start, end]] = 1.0, -1.0
        shift[i] = case.base_mva / line.reactance_pu * math.radians(line.shift_deg)
    place = np.zeros((count, blocks))
    place[[buses[case.fleets[i].bus] for i in owner], np.arange(blocks)] = 1.0
    gather = sp.csr_array((np.ones(blocks), (owner, np.arange(blocks))), shape=(fleets, blocks))
    none = sp.csr_array((fleets, count))
    total = sp.hstack([gather, none])
    rated = [i for i, line in enumerate(case.lines) if math.isfinite(line.rating_mw)]
    limit = np.array([case.lines[i].rating_mw for i in rated])
    wires = sp.hstack([sp.csr_array((len(rated), blocks)), sp.csr_array(flow[rated])])
    hourly = sp.vstack([wires, -wires, -total])
    equal = sp.hstack([sp.csr_array(place), sp.csr_array(-ends.T @ flow)])
    load = case.load_mw(stress) - np.array([bus.injection_mw for bus in case.buses])
    least = np.array([fleet.unit_min_mw for fleet in case.fleets])
    upper, right, balance = [], [], []
    bounds: list[tuple[float | None, float | None]] = []
    for hour in range(hours):
        right.append(np.concatenate([limit + shift[rated], limit - shift[rated], -least * on[:, hour]]))
        balance.append(load[hour] - ends.T @ shift)
        bounds += _accepted_bounds(case, on, offers, hour)
        bounds += [(0.0, 0.0)] + [(None, None)] * (count - 1)
        upper.append(hourly)
    ramps, ramp_right = _ramps(case, on, total, width)
    rows = sp.vstack([sp.block_diag(upper), ramps]) if ramps is not None else sp.block_diag(upper)
    limits = np.concatenate([*right, ramp_right])
    equations, values = sp.block_diag([equal] * hours), np.concatenate(balance)
    if output is not None:
        equations = sp.vstack([equations, sp.block_diag([total] * hours)])
        values = np.concatenate([values, output.T.ravel()])
    price = np.concatenate([[bid.price_usd_per_mwh for _, bid in bids], np.zeros(count)])
    return _solve(np.tile(price, hours), rows, limits, equations, values, bounds)


def _ramps(case: Case, on: IntArray, total: Any, width: int) -> tuple[Any, FloatArray]:
    """Output changes of fleets that cannot cross their range within an hour."""
    hours = on.shape[1]
    slow = [i for i, fleet in enumerate(case.fleets) if fleet.ramp_mw_per_h < fleet.unit_size_mw]
    if not slow:
        return None, np.zeros(0)
    part = sp.csr_array(total)[slow]
    now, rights = [], []
    for hour in range(hours):
        before = (hour - 1) % hours
        row = sp.lil_array((len(slow), width * hours))
        row[:, hour * width : (hour + 1) * width] += part.toarray()
        row[:, before * width : (before + 1) * width] -= part.toarray()
        now.append(sp.csr_array(row))
        start = np.maximum(on[slow, hour] - on[slow, before], 0)
        stop = np.maximum(on[slow, before] - on[slow, hour], 0)
        ramp, full, least = (
            np.array([getattr(case.fleets[i], name) for i in slow])
            for name in ("ramp_mw_per_h", "unit_size_mw", "unit_min_mw")
        )
        stay = on[slow, hour] - start
        rights.append((ramp * stay + full * start - least * stop, ramp * stay + full * stop - least * start))
    change = sp.vstack(now)
    limits = [np.concatenate([r[side] for r in rights]) for side in (0, 1)]
    return sp.vstack([change, -change]), np.concatenate(limits)


def _solve(
    cost: FloatArray, rows: Any, limits: FloatArray, equations: Any, values: FloatArray, bounds: Any
) -> float:
    slack = _ROOM * np.maximum(1.0, np.abs(limits))
    solve: Any = linprog
    # Room only where there is no answer without: behind a full pipe it would change the value by its price.
    # Presolve takes a residual of 1e-9 in rows that others fix for infeasible.
    for room, presolve in ((0.0, True), (1.0, True), (1.0, False)):
        answer = solve(
            cost,
            A_ub=rows,
            b_ub=limits + room * slack,
            A_eq=equations,
            b_eq=values,
            bounds=bounds,
            method="highs",
            options={"presolve": presolve},
        )
        if answer.status == 0:
            return float(answer.fun)
    return math.inf


def _check_cost(case: Case, on: IntArray, solution: GaucSolution, found: list[Fault]) -> None:
    started = np.maximum(on - np.roll(on, 1, axis=1), 0)
    fixed = sum(
        fleet.no_load_usd_per_h * on[i].sum() + fleet.start_usd * started[i].sum()
        for i, fleet in enumerate(case.fleets)
    )
    total = float(fixed) + (solution.electricity_value_usd or math.nan)
    _compare(found, "misstated", "objective of unit commitment", solution.leader_cost_usd, total, "$")


def _check_burn(case: Case, output: FloatArray, burn: FloatArray, found: list[Fault]) -> None:
    index = {fleet.fleet: i for i, fleet in enumerate(case.fleets)}
    for number, link in enumerate(case.links):
        rate = link.heat_rate_mmbtu_per_mwh * _MWH_PER_MMBTU * link.gas_share
        value = float(output[index[link.fleet]].sum() * rate)
        _compare(found, "burn does not follow from the output", link.fleet, float(burn[number]), value, "MWh")


def _check_gas(solution: GaucSolution, on: IntArray, offers: IntArray, found: list[Fault]) -> None:
    """GM solved again, and once more with a virtual supply at every running plant's highest valid price."""
    case = solution.case
    rows, limits, equations, values, cost, bounds = _gas_program(solution)
    value = _solve(cost, rows, limits, equations, values, bounds)
    _compare(found, "GM has another value", "gas market", solution.gas_value_usd, value, "$")
    caps = _caps(case, on, offers)
    names = [row.junction for row in case.junctions]
    virtual = sp.csr_array(
        (np.ones(len(caps)), ([names.index(junction) for junction in caps], np.arange(len(caps)))),
        shape=(len(names), len(caps)),
    )
    free = _solve(
        np.concatenate([cost, list(caps.values())]),
        sp.hstack([rows, sp.csr_array((rows.shape[0], len(caps)))]),
        limits,
        sp.hstack([equations, virtual]),
        values,
        [*bounds, *[(0.0, None)] * len(caps)],
    )
    if not free >= value - TOLERANCE * max(1.0, abs(value)):
        found.append(Fault("bids are invalid at every optimal gas price", "gas market", value - free, "$"))


def _check_bids(case: Case, on: IntArray, offers: IntArray, prices: FloatArray, found: list[Fault]) -> None:
    """The answer's own gas prices against the bid of every running plant."""
    paid = {row.junction: float(price) for row, price in zip(case.junctions, prices, strict=True)}
    covered = _covered(case, on, offers)
    for link in case.links:
        excess = paid[link.junction] - covered.get(link.fleet, math.inf)
        if excess > TOLERANCE * abs(paid[link.junction]):
            found.append(Fault(_INVALID_BID, link.fleet, excess, "$/MWh of gas"))


def _last_selected(case: Case, on: IntArray, offers: IntArray) -> dict[str, float]:
    """The price of the last block that all running units of a plant offer in all hours, by fleet."""
    index = {fleet.fleet: i for i, fleet in enumerate(case.fleets)}
    selected: dict[str, float] = {}
    for link, mine in zip(case.links, offers, strict=True):
        running = on[index[link.fleet]]
        prices = [
            b.price_usd_per_mwh for b in sorted(case.bids, key=lambda b: b.block) if b.fleet == link.fleet
        ]
        depths = [
            sum(bool(count == running[hour]) for count in mine[: len(prices), hour])
            for hour in np.flatnonzero(running > 0)
        ]
        if depths:
            selected[link.fleet] = prices[min(depths) - 1]
    return selected


def _covered(case: Case, on: IntArray, offers: IntArray) -> dict[str, float]:
    """Highest gas price in $/MWh that the bid of each running plant covers, by fleet."""
    selected = _last_selected(case, on, offers)
    return {
        link.fleet: selected[link.fleet] / (link.heat_rate_mmbtu_per_mwh * _MWH_PER_MMBTU)
        for link in case.links
        if link.fleet in selected
    }


def _caps(case: Case, on: IntArray, offers: IntArray) -> dict[str, float]:
    """Highest gas price in $/MWh that the running plants of a junction can be paid for."""
    covered = _covered(case, on, offers)
    caps: dict[str, float] = {}
    for link in case.links:
        if link.fleet in covered:
            caps[link.junction] = min(covered[link.fleet], caps.get(link.junction, math.inf))
    return caps


def _gas_program(solution: GaucSolution) -> tuple[Any, FloatArray, Any, FloatArray, FloatArray, Any]:
    """The gas day from the tables: supplies, flows along their directions, squared pressures, line pack."""
    case = solution.case
    names = {row.junction: i for i, row in enumerate(case.junctions)}
    arcs = [("pipe", p) for p in case.pipes] + [("station", c) for c in (*case.compressors, *case.regulators)]
    supplies, junctions = len(case.supplies), len(names)
    width = supplies + len(arcs) + 2 * junctions
    equations = sp.lil_array((junctions, width))
    values = np.zeros(junctions)
    for column, bid in enumerate(case.supplies):
        equations[names[bid.junction], column] = 1.0
    for i in range(junctions):
        equations[i, width - junctions + i] = -1.0
    rows: list[dict[int, float]] = []
    limits: list[float] = []
    bounds: list[tuple[float | None, float | None]] = [(0.0, bid.size_mwh) for bid in case.supplies]
    psi = supplies + len(arcs)
    for number, (kind, row) in enumerate(arcs):
        forward = row.flow_direction == "forward"  # type: ignore[attr-defined]
        tail, head = (row.from_junction, row.to_junction) if forward else (row.to_junction, row.from_junction)  # type: ignore[attr-defined]
        up, down, column = names[tail], names[head], supplies + number
        equations[up, column], equations[down, column] = -1.0, 1.0
        capacity = row.capacity_mwh  # type: ignore[attr-defined]
        bounds.append((0.0, capacity if math.isfinite(capacity) else None))
        if kind == "pipe":
            for weights, limit in _weymouth(case, row, tail, head):
                rows.append({column: weights[0], psi + up: weights[1], psi + down: -weights[1]})
                limits.append(limit)
        else:
            rows.append({psi + down: 1.0, psi + up: -(row.ratio_max**2)})  # type: ignore[attr-defined]
            rows.append({psi + down: -1.0, psi + up: row.ratio_min**2})  # type: ignore[attr-defined]
            limits += [0.0, 0.0]
    bounds += [(j.pressure_min_bar**2, j.pressure_max_bar**2) for j in case.junctions]
    bounds += [(0.0, j.pack_mwh) for j in case.junctions]
    for delivery, amount in zip(case.deliveries, solution.demand_mwh, strict=True):
        values[names[delivery.junction]] += amount
    for link, amount in zip(
        case.links, solution.burn_mwh if solution.burn_mwh is not None else [], strict=True
    ):
        values[names[link.junction]] += amount
    matrix = sp.lil_array((len(rows), width))
    for number, entries in enumerate(rows):
        for column, weight in entries.items():
            matrix[number, column] = weight
    cost = np.concatenate([[bid.price_usd_per_mwh for bid in case.supplies], np.zeros(width - supplies)])
    return sp.csr_array(matrix), np.array(limits), sp.csr_array(equations), values, cost, bounds


def _weymouth(case: Case, pipe: Any, tail: str, head: str) -> list[tuple[tuple[float, float], float]]:
    """Tangents ``flow weight, drop weight <= limit`` of ``flow**2 <= k**2 drop`` at the market's points."""
    pressure = {j.junction: (j.pressure_min_bar, j.pressure_max_bar) for j in case.junctions}
    drop = max(pressure[tail][1] ** 2 - pressure[head][0] ** 2, 0.0)
    largest = pipe.weymouth_mwh_per_bar * math.sqrt(drop)
    tangents = [((0.0, -1.0), 0.0)]
    if largest == 0:
        return [*tangents, ((1.0, 0.0), 0.0)]
    for k in range(1, _TANGENTS):
        flow = largest * (k / (_TANGENTS - 1)) ** 2
        tangents.append(((1.0, -(pipe.weymouth_mwh_per_bar**2) / (2 * flow)), flow / 2))
    return tangents
