"""Flow directions of a gas network from one small MILP, and the approximate burn at which they are found.

The gas market takes directions as known. Here they are found at given withdrawals (for a calibrated case
those of its most stressed cell): each pipe, compressor and regulator may carry gas either way, and the
tangents of the Weymouth equation and the pressure ratios hold along the way chosen.

The burn has to be known before any market is solved. In :func:`approximate_dispatch` every block of every
fleet may run on its own (no commitment, no ramps), hour by hour under DC power flow, and a gas block costs
its bid or its fuel, whichever is more: that is how gas prices push plants back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import highspy
import linopy
import numpy as np
import pandas as pd
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ppsm.arrays import FloatArray
from ppsm.cases.calibration.assumptions import ROUTING, UNSERVED_USD_PER_MWH
from ppsm.cases.schema import Case
from ppsm.errors import InputError
from ppsm.solvers.highs import UNSOUND_PRESOLVE_RULES


def withdrawals_mwh(case: Case, demand_mwh: ArrayLike, burn_mwh: ArrayLike) -> FloatArray:
    """Return what leaves the network at each junction: demand per delivery plus burn per link."""
    index = {row.junction: position for position, row in enumerate(case.junctions)}
    total = np.zeros(len(index))
    np.add.at(total, [index[row.junction] for row in case.deliveries], np.asarray(demand_mwh))
    np.add.at(total, [index[row.junction] for row in case.links], np.asarray(burn_mwh))
    return total


def with_flow_directions(case: Case, withdrawal_mwh: FloatArray) -> Case:
    """Return the case with its components directed as gas flows at the given withdrawals per junction.

    A component that carries nothing there keeps its published orientation where pressures allow that: along
    its direction they fall (or rise as a station lets them) whether gas flows or not.
    """
    model = linopy.Model()
    junctions = pd.Index([row.junction for row in case.junctions], name="junction")
    psi = model.add_variables(
        xr.DataArray([row.pressure_min_bar**2 for row in case.junctions], coords=[junctions]),
        xr.DataArray([row.pressure_max_bar**2 for row in case.junctions], coords=[junctions]),
        name="squared_pressure",
    )
    bids = pd.Index(range(len(case.supplies)), name="bid")
    supply = model.add_variables(
        0, xr.DataArray([bid.size_mwh for bid in case.supplies], coords=[bids]), name="supply"
    )
    price = xr.DataArray([bid.price_usd_per_mwh for bid in case.supplies], coords=[bids])
    cost = (price * supply).sum()
    net_inflow = (supply * _places(bids, junctions, [bid.junction for bid in case.supplies])).sum("bid")
    reach = float(np.abs(withdrawal_mwh).sum())
    for kind, rows in _components(case).items():
        if not rows:
            continue
        forward, backward, way = _two_way_flow(model, kind, rows, reach)
        up, down = ([getattr(row, end) for row in rows] for end in ("from_junction", "to_junction"))
        names = forward.indexes[kind]
        incidence = _places(names, junctions, down) - _places(names, junctions, up)
        net_inflow = net_inflow + ((forward - backward) * incidence).sum(kind)
        length = [getattr(row, "length_km", ROUTING.station_km) for row in rows]
        cost = (
            cost
            + (
                xr.DataArray(length, coords=[names]) * ROUTING.transport_usd_per_mwh_km * (forward + backward)
            ).sum()
            - ROUTING.published_usd * way.sum()
        )
        psi_up, psi_down = _at(psi, up, names), _at(psi, down, names)
        if kind == "pipe":
            _add_pipes(model, rows, (forward, backward, way), psi_up - psi_down)
        else:
            _add_stations(model, kind, rows, way, (psi_up, psi_down))
    model.add_constraints(net_inflow == xr.DataArray(withdrawal_mwh, coords=[junctions]), name="balance")
    model.add_objective(cost)
    return _directed(case, model, _minimised(model, float(withdrawal_mwh.sum())))


def _minimised(model: Any, demand_mwh: float) -> FloatArray:
    """Return the optimal columns of the model's matrices (HiGHS directly: linopy's own call prints)."""
    matrices = model.matrices
    columns = matrices.A.tocsc()
    problem = highspy.HighsLp()
    problem.num_row_, problem.num_col_ = columns.shape
    problem.col_cost_, problem.col_lower_, problem.col_upper_ = matrices.c, matrices.lb, matrices.ub
    problem.row_lower_ = np.where(matrices.sense == "<", -highspy.kHighsInf, matrices.b)
    problem.row_upper_ = np.where(matrices.sense == ">", highspy.kHighsInf, matrices.b)
    problem.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    problem.a_matrix_.start_, problem.a_matrix_.index_ = columns.indptr, columns.indices
    problem.a_matrix_.value_ = columns.data
    kinds = highspy.HighsVarType
    problem.integrality_ = [kinds.kContinuous if kind == "C" else kinds.kInteger for kind in matrices.vtypes]
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("mip_rel_gap", ROUTING.gap)
    solver.setOptionValue("presolve_rule_off", UNSOUND_PRESOLVE_RULES)
    solver.passModel(problem)
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        found = solver.modelStatusToString(status).lower()
        raise InputError(
            f"no flow directions serve a demand and burn of {demand_mwh:.0f} MWh ({found}); add supply, or "
            "lower the demand or the share of the plants' gas."
        )
    return np.array(solver.getSolution().col_value)


def _components(case: Case) -> dict[str, Sequence[Any]]:
    return {"pipe": case.pipes, "compressor": case.compressors, "regulator": case.regulators}


def _places(names: pd.Index, junctions: pd.Index, places: Sequence[str]) -> xr.DataArray:
    matrix = np.zeros((len(names), len(junctions)))
    matrix[np.arange(len(names)), junctions.get_indexer(pd.Index(places))] = 1.0
    return xr.DataArray(matrix, coords=[names, junctions])


def _at(psi: Any, places: Sequence[str], names: pd.Index) -> Any:
    return (1.0 * psi.sel(junction=xr.DataArray(list(places), coords=[names]))).drop_vars("junction")


def _two_way_flow(model: Any, kind: str, rows: Sequence[Any], reach: float) -> tuple[Any, Any, Any]:
    """Add forward and backward flow and the binary that picks one of them (1 is forward)."""
    names = pd.Index([getattr(row, kind) for row in rows], name=kind)
    most = xr.DataArray([min(row.capacity_mwh, reach) for row in rows], coords=[names])
    forward = model.add_variables(0, most, name=f"{kind}_forward")
    backward = model.add_variables(0, most, name=f"{kind}_backward")
    way = model.add_variables(coords=[names], binary=True, name=f"{kind}_way")
    model.add_constraints(forward - most * way <= 0, name=f"{kind}_forward_only")
    model.add_constraints(backward + most * way <= most, name=f"{kind}_backward_only")
    return forward, backward, way


def _spread(model: Any) -> float:
    psi = model.variables["squared_pressure"]
    return float(psi.upper.max() - psi.lower.min())


def _add_pipes(model: Any, rows: Sequence[Any], flows: tuple[Any, Any, Any], drop: Any) -> None:
    """Add the tangents of the Weymouth equation along the way chosen, relaxed along the other."""
    forward, backward, way = flows
    names = forward.indexes["pipe"]
    spread = _spread(model)
    model.add_constraints(drop - spread * way >= -spread, name="pipe_falls_forward")
    model.add_constraints(drop - spread * way <= 0, name="pipe_falls_backward")
    constant = np.array([[row.weymouth_mwh_per_bar] for row in rows])
    numbers = pd.Index(range(1, ROUTING.tangents), name="tangent")
    touched: list[Any] = [names, numbers]
    at = constant * np.sqrt(spread) * (numbers.to_numpy() / (ROUTING.tangents - 1)) ** 2
    slope = xr.DataArray(constant**2 / (2 * at), coords=touched)
    half = xr.DataArray(at / 2, coords=touched)
    slack = slope * spread
    model.add_constraints(forward - slope * drop + slack * way <= half + slack, name="tangents")
    model.add_constraints(backward + slope * drop - slack * way <= half, name="tangents_backward")


def _add_stations(model: Any, kind: str, rows: Sequence[Any], way: Any, ends: tuple[Any, Any]) -> None:
    """Add the pressure ratios along the way chosen, relaxed along the other."""
    up, down = ends
    names = way.indexes[kind]
    least = xr.DataArray([row.ratio_min**2 for row in rows], coords=[names])
    most = xr.DataArray([row.ratio_max**2 for row in rows], coords=[names])
    # the largest that either side of a ratio can exceed the other by, whatever the way
    slack = float(model.variables["squared_pressure"].upper.max()) * max(1.0, float(most.max()))
    model.add_constraints(down - most * up + slack * way <= slack, name=f"{kind}_most")
    model.add_constraints(least * up - down + slack * way <= slack, name=f"{kind}_least")
    model.add_constraints(up - most * down - slack * way <= 0, name=f"{kind}_most_back")
    model.add_constraints(least * down - up - slack * way <= 0, name=f"{kind}_least_back")


def _directed(case: Case, model: Any, solution: FloatArray) -> Case:
    value = pd.Series(solution, index=model.matrices.vlabels)
    tables: dict[str, Any] = {}
    for kind, rows in _components(case).items():
        if not rows:
            continue
        forward = value[model.variables[f"{kind}_way"].labels.to_numpy()].to_numpy() > 0.5
        tables[f"{kind}s"] = tuple(
            replace(row, flow_direction="forward" if is_forward else "reverse")
            for row, is_forward in zip(rows, forward, strict=True)
        )
    return replace(case, **tables)


@dataclass(frozen=True)
class ApproximateDispatch:
    """Daily outcome: gas burn per link, cost, and load that the network could not serve."""

    burn_mwh: FloatArray
    cost_usd: float
    unserved_mwh: float


def approximate_dispatch(
    case: Case, power_stress: float, gas_price_usd_per_mmbtu: ArrayLike
) -> ApproximateDispatch:
    """Dispatch every hour of the day at one gas price per link (or one for all)."""
    prices = np.broadcast_to(np.asarray(gas_price_usd_per_mmbtu, dtype=np.float64), (len(case.links),))
    fleet_index = {fleet.fleet: index for index, fleet in enumerate(case.fleets)}
    count = np.array([fleet.unit_count for fleet in case.fleets])
    owner = np.array([fleet_index[bid.fleet] for bid in case.bids])
    fuel = np.zeros(len(case.fleets))
    for link, price in zip(case.links, prices, strict=True):
        fuel[fleet_index[link.fleet]] = link.heat_rate_mmbtu_per_mwh * price
    cost = np.maximum([bid.price_usd_per_mwh for bid in case.bids], fuel[owner])
    size = np.array([bid.size_mw for bid in case.bids]) * count[owner]
    hourly = _HourlyProblem(case, owner, cost, size)
    fleet_mwh = np.zeros(len(case.fleets))
    total, unserved = 0.0, 0.0
    for load in case.load_mw(power_stress):
        output, hour_cost, short = hourly.solve(load)
        fleet_mwh += np.bincount(owner, weights=output, minlength=len(fleet_mwh))
        total += hour_cost
        unserved += short
    burn = np.array([fleet_mwh[fleet_index[link.fleet]] * link.burn_mwh_per_mwh for link in case.links])
    return ApproximateDispatch(burn, total, unserved)


class _HourlyProblem:
    """min cost of blocks  s.t.  output + injection - load + unserved = outflow,  line limits."""

    def __init__(self, case: Case, owner: np.ndarray, cost: FloatArray, size: FloatArray) -> None:
        bus_index = {bus.bus: index for index, bus in enumerate(case.buses)}
        buses, blocks, lines = len(case.buses), len(owner), len(case.lines)
        at_bus = [bus_index[case.fleets[fleet].bus] for fleet in owner]
        place = sp.csr_array((np.ones(blocks), (at_bus, range(blocks))), shape=(buses, blocks))
        starts = [bus_index[line.from_bus] for line in case.lines]
        ends = [bus_index[line.to_bus] for line in case.lines]
        signs = np.concatenate([np.ones(lines), -np.ones(lines)])
        incidence = sp.csr_array(
            (signs, ([*range(lines), *range(lines)], starts + ends)), shape=(lines, buses)
        )
        susceptance = np.array([case.base_mva / line.reactance_pu for line in case.lines])
        shift_mw = susceptance * np.array([math.radians(line.shift_deg) for line in case.lines])
        flow = sp.diags_array(susceptance) @ incidence
        rated = [index for index, line in enumerate(case.lines) if math.isfinite(line.rating_mw)]
        rating = np.array([case.lines[index].rating_mw for index in rated])
        self._blocks = blocks
        self._cost = np.concatenate([cost, np.zeros(buses), np.full(buses, UNSERVED_USD_PER_MWH)])
        self._balance = sp.hstack([place, -(incidence.T @ flow), sp.eye_array(buses)]).tocsr()
        self._fixed = np.array([bus.injection_mw for bus in case.buses]) + incidence.T @ shift_mw
        limits = sp.hstack(
            [sp.csr_array((len(rated), blocks)), flow[rated], sp.csr_array((len(rated), buses))]
        )
        self._limits = sp.vstack([limits, -limits]).tocsr()
        self._limit = np.concatenate([rating + shift_mw[rated], rating - shift_mw[rated]])
        angles = [(0.0, 0.0)] + [(None, None)] * (buses - 1)
        self._bounds = [(0.0, value) for value in size] + angles + [(0.0, None)] * buses

    def solve(self, load: FloatArray) -> tuple[FloatArray, float, float]:
        result = linprog(
            self._cost,
            A_ub=self._limits if self._limit.size else None,
            b_ub=self._limit if self._limit.size else None,
            A_eq=self._balance,
            b_eq=load - self._fixed,
            bounds=self._bounds,
            method="highs",
        )
        if result.x is None:
            raise InputError(
                "the power network cannot be balanced: a fixed injection exceeds load and lines."
            )
        unserved = float(result.x[-len(load) :].sum())
        return result.x[: self._blocks], float(result.fun or 0.0), unserved
