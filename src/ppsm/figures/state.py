"""What a map shows of a solution: flows and pressures of the gas network, flows of the power network."""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.entities import Compressor, Pipe, Regulator, upstream_downstream
from ppsm.cases.schema import Case
from ppsm.markets.model.gas import GasMarket
from ppsm.markets.weymouth import fitted_pressures

# A line this close to its rating is drawn as full.
_FULL = 0.999


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
