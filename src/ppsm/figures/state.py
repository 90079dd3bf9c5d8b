"""What a map shows of a solution: flows and pressures of the gas network, flows of the power network."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.cases.entities import Compressor, Pipe, Regulator, upstream_downstream
from ppsm.cases.schema import Case
from ppsm.errors import SolverError
from ppsm.markets.model.gas import GasMarket

# A line this close to its rating is drawn as full.
_FULL = 0.999
# Missing pressure is worse than throttling: a valve can throttle, nothing makes pressure.
_MISSING_WEIGHT = 1000.0
# Where several pressures fit equally well the highest are taken; too small a reward to be traded for a fit.
_HIGH_PRESSURE_REWARD = 1e-5


@dataclass(frozen=True, eq=False)
class GasState:
    """Daily flow of pipes, compressors and regulators (in that order), and the pressures that fit them."""

    flow_mwh: FloatArray
    pressure_bar: FloatArray

    @classmethod
    def of(cls, market: GasMarket, columns: FloatArray) -> "GasState":
        """Read the flows from a solution of the market's program, and fit pressures to the true equation."""
        case = market.case
        flows = [
            columns[market.variables.positions(f"{kind}_flow_mwh")]
            for kind, rows in (
                ("pipe", case.pipes),
                ("compressor", case.compressors),
                ("regulator", case.regulators),
            )
            if rows
        ]
        flow = np.concatenate(flows) if flows else np.zeros(0)
        fitted = fitted_pressures(case, flow[: len(case.pipes)])
        return cls(flow, np.sqrt(np.maximum(fitted.squared_pressure_bar2, 0.0)))


def gas_components(case: Case) -> tuple[Pipe | Compressor | Regulator, ...]:
    """Everything that gas flows through, in the order of :class:`GasState`."""
    return (*case.pipes, *case.compressors, *case.regulators)


def gas_ends(case: Case) -> list[tuple[str, str]]:
    """The junctions before and after each component."""
    return [upstream_downstream(row) for row in gas_components(case)]


@dataclass(frozen=True, eq=False)
class PowerState:
    """DC flow of every line in one hour, and which lines are at their rating."""

    flow_mw: FloatArray
    full: np.ndarray


def power_state(case: Case, power_stress: float, output_mw: FloatArray, hour: int) -> PowerState:
    """The DC power flow of a dispatch (fleets x hours) in one hour."""
    index = {row.bus: position for position, row in enumerate(case.buses)}
    balance = np.array([row.injection_mw for row in case.buses]) - case.load_mw(power_stress)[hour]
    for fleet, output in zip(case.fleets, output_mw[:, hour], strict=True):
        balance[index[fleet.bus]] += output
    incidence = np.zeros((len(case.lines), len(index)))
    for number, line in enumerate(case.lines):
        incidence[number, index[line.from_bus]] += 1.0
        incidence[number, index[line.to_bus]] -= 1.0
    mw_per_rad = case.base_mva / np.array([line.reactance_pu for line in case.lines])
    shift = np.deg2rad([line.shift_deg for line in case.lines])
    # flow = B (incidence @ angle - shift); what leaves each bus is its balance; the first angle is zero
    laplacian = incidence.T @ (mw_per_rad[:, None] * incidence)
    leaving = balance + incidence.T @ (mw_per_rad * shift)
    angle = np.zeros(len(index))
    angle[1:] = np.linalg.solve(laplacian[1:, 1:], leaving[1:])
    flow = mw_per_rad * (incidence @ angle - shift)
    rating = np.array([line.rating_mw for line in case.lines])
    return PowerState(flow, np.abs(flow) >= _FULL * rating)


@dataclass(frozen=True, eq=False)
class FittedPressures:
    """Pressures that fit given flows best, and what is left of the true equation pipe by pipe.

    ``missing_bar2``: the drop of squared pressure that the equation needs and the bounds do not give.
    ``throttled_bar2``: the drop that a valve would have to take, because loops do not close otherwise.
    """

    squared_pressure_bar2: FloatArray
    missing_bar2: FloatArray
    throttled_bar2: FloatArray


def fitted_pressures(case: Case, flow_mwh: ArrayLike) -> FittedPressures:
    """Find the highest squared pressures that come closest to the true Weymouth equation at these flows.

    The market has ``<=`` in its place, which lets a pipe carry less than its pressures would drive, as if it
    were throttled, and pressures of a linear program are rarely unique.
    """
    flow = frozen_vector(flow_mwh, len(case.pipes), "the flow of the pipes")
    index = {row.junction: position for position, row in enumerate(case.junctions)}
    junctions, pipes = len(index), len(case.pipes)
    equations = np.zeros((pipes, junctions + 2 * pipes))
    for row, pipe in enumerate(case.pipes):
        up, down = (index[end] for end in upstream_downstream(pipe))
        # psi_up - psi_down + missing - throttled = (flow / k)^2
        equations[row, [up, down, junctions + row, junctions + pipes + row]] = 1.0, -1.0, 1.0, -1.0
    drop = (flow / np.array([pipe.weymouth_mwh_per_bar for pipe in case.pipes])) ** 2
    bounds = [(row.pressure_min_bar**2, row.pressure_max_bar**2) for row in case.junctions]
    result = linprog(
        np.concatenate(
            [np.full(junctions, -_HIGH_PRESSURE_REWARD), np.full(pipes, _MISSING_WEIGHT), np.ones(pipes)]
        ),
        A_ub=_station_rows(case, index, junctions + 2 * pipes),
        b_ub=np.zeros(2 * (len(case.compressors) + len(case.regulators))),
        A_eq=equations,
        b_eq=drop,
        bounds=[*bounds, *[(0.0, None)] * (2 * pipes)],
        method="highs",
    )
    if result.x is None:
        raise SolverError(f"no pressures fit the stations of the case '{case.name}': {result.message}")
    return FittedPressures(*np.split(result.x, [junctions, junctions + pipes]))


def _station_rows(case: Case, index: dict[str, int], width: int) -> FloatArray:
    """Return ``psi_down - r_max^2 psi_up`` and ``r_min^2 psi_up - psi_down``, which must not be positive."""
    stations: tuple[Compressor | Regulator, ...] = (*case.compressors, *case.regulators)
    rows = np.zeros((2 * len(stations), width))
    for number, station in enumerate(stations):
        up, down = (index[end] for end in upstream_downstream(station))
        rows[2 * number, [down, up]] = 1.0, -(station.ratio_max**2)
        rows[2 * number + 1, [up, down]] = station.ratio_min**2, -1.0
    return rows
