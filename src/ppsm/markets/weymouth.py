"""How far a clearing of the gas market is from the true Weymouth equation.

The market replaces ``flow**2 = k**2 (psi_up - psi_down)`` by tangents of ``<=``. Two things can be wrong with
a solution: tangents let a little more gas through than the equation (:func:`weymouth_error`), and ``<=``
lets a pipe carry less than its pressures would drive, as if it were throttled. Pressures of a linear program
are rarely unique, so the second is judged at the best pressures for the flows (:func:`fitted_pressures`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.cases.entities import Compressor, Regulator, upstream_downstream
from ppsm.cases.schema import Case
from ppsm.errors import SolverError
from ppsm.markets.model.gas import GasMarket, largest_flow_mwh

# Missing pressure is worse than throttling: a valve can throttle, nothing makes pressure.
_MISSING_WEIGHT = 1000.0
# Where several pressures fit equally well the highest are taken; too small a reward to be traded for a fit.
_HIGH_PRESSURE_REWARD = 1e-5


@dataclass(frozen=True, eq=False)
class WeymouthError:
    """Flows of a solution beside the flows of the true equation at the solution's pressures, pipe by pipe.

    ``missing_bar`` is how much lower the pressure behind the pipe would truly be than the solution has it.
    """

    pipes: tuple[str, ...]
    flow_mwh: FloatArray
    true_mwh: FloatArray
    largest_mwh: FloatArray
    missing_bar: FloatArray

    @property
    def overshoot(self) -> FloatArray:
        """Flow above the true equation, relative to the pipe's largest flow: the error of the tangents."""
        excess = np.maximum(self.flow_mwh - self.true_mwh, 0.0)
        return np.divide(excess, self.largest_mwh, out=np.zeros_like(excess), where=self.largest_mwh > 0)


def weymouth_error(market: GasMarket, solution: ArrayLike) -> WeymouthError:
    """Compare a solution of the market's program with the true Weymouth equation at its pressures."""
    values = frozen_vector(solution, market.program.shape[1], "the solution of the gas market")
    by_name = dict(zip(market.program.column_names, values, strict=True))
    pipes = market.case.pipes
    ends = [upstream_downstream(pipe) for pipe in pipes]
    up, down = (np.array([by_name[f"squared_pressure_bar2[{end[side]}]"] for end in ends]) for side in (0, 1))
    flow = np.array([by_name[f"pipe_flow_mwh[{pipe.pipe}]"] for pipe in pipes])
    constant = np.array([pipe.weymouth_mwh_per_bar for pipe in pipes])
    true_down = np.maximum(up - (flow / constant) ** 2, 0.0)
    return WeymouthError(
        pipes=tuple(pipe.pipe for pipe in pipes),
        flow_mwh=flow,
        true_mwh=constant * np.sqrt(np.maximum(up - down, 0.0)),
        largest_mwh=largest_flow_mwh(market.case),
        missing_bar=np.maximum(np.sqrt(np.maximum(down, 0.0)) - np.sqrt(true_down), 0.0),
    )


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
    """Find the highest squared pressures that come closest to the true Weymouth equation at these flows."""
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
