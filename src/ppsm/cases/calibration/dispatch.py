"""An approximate dispatch that needs no unit commitment: what the plants would burn at given gas prices.

Calibration has to know the burn before any market is solved. Every block of every fleet may run on its own
(no commitment, no ramps), hour by hour under DC power flow, and a gas block costs its bid or its fuel,
whichever is more: that is how gas prices push plants back.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.errors import InputError

_UNSERVED_USD_PER_MWH = 10_000.0


@dataclass(frozen=True)
class Dispatch:
    """Daily outcome: gas burn per link, cost, and load that the network could not serve."""

    burn_mwh: FloatArray
    cost_usd: float
    unserved_mwh: float


def approximate_dispatch(case: Case, power_stress: float, gas_price_usd_per_mmbtu: ArrayLike) -> Dispatch:
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
    return Dispatch(burn, total, unserved)


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
        self._cost = np.concatenate([cost, np.zeros(buses), np.full(buses, _UNSERVED_USD_PER_MWH)])
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
