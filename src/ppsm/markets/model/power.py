"""The power system of a case as labelled arrays and linopy pieces shared by UC and EM."""

from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm.cases.schema import Case


@dataclass(frozen=True, eq=False)
class PowerSystem:
    """Fleets, bids and the DC network of a case, indexed by fleet, block, hour, bus and line.

    ``block_mw`` and ``block_usd_per_mwh`` are NaN where a fleet has fewer blocks than others.
    """

    case: Case
    fleets: pd.Index
    blocks: pd.Index
    hours: pd.Index
    buses: pd.Index
    lines: pd.Index
    units: xr.DataArray
    unit_mw: xr.DataArray
    least_mw: xr.DataArray
    ramp_mw: xr.DataArray
    no_load_usd: xr.DataArray
    start_usd: xr.DataArray
    block_mw: xr.DataArray
    block_usd_per_mwh: xr.DataArray

    @classmethod
    def of(cls, case: Case) -> "PowerSystem":
        """Collect the tables of a case."""
        fleets = pd.Index([row.fleet for row in case.fleets], name="fleet")
        blocks = pd.RangeIndex(1, 1 + max(bid.block for bid in case.bids), name="block")
        sizes = np.full((len(fleets), len(blocks)), np.nan)
        prices = np.full_like(sizes, np.nan)
        for bid in case.bids:
            place = fleets.get_loc(bid.fleet), bid.block - 1
            sizes[place], prices[place] = bid.size_mw, bid.price_usd_per_mwh

        def column(name: str) -> xr.DataArray:
            return xr.DataArray([float(getattr(row, name)) for row in case.fleets], coords=[fleets])

        return cls(
            case=case,
            fleets=fleets,
            blocks=blocks,
            hours=pd.Index([row.hour for row in case.load_shape], name="hour"),
            buses=pd.Index([row.bus for row in case.buses], name="bus"),
            lines=pd.Index([row.line for row in case.lines], name="line"),
            units=column("unit_count"),
            unit_mw=column("unit_size_mw"),
            least_mw=column("unit_min_mw"),
            ramp_mw=column("ramp_mw_per_h"),
            no_load_usd=column("no_load_usd_per_h"),
            start_usd=column("start_usd"),
            block_mw=xr.DataArray(sizes, coords=[fleets, blocks]),
            block_usd_per_mwh=xr.DataArray(prices, coords=[fleets, blocks]),
        )

    @property
    def has_block(self) -> xr.DataArray:
        """Which fleets have which blocks."""
        return self.block_mw.notnull()

    def load_mw(self, power_stress: float) -> xr.DataArray:
        """Net load by hour and bus: the load at a stress less the constant injections."""
        injection = np.array([bus.injection_mw for bus in self.case.buses])
        return xr.DataArray(self.case.load_mw(power_stress) - injection, coords=[self.hours, self.buses])


def add_dispatch(model: linopy.Model, system: PowerSystem) -> tuple[Any, Any]:
    """Add the accepted part of every bid block; returns it and the output by fleet and hour."""
    shape = [system.fleets, system.blocks, system.hours]
    there = system.has_block.broadcast_like(xr.DataArray(0, coords=shape, dims=["fleet", "block", "hour"]))
    accepted = model.add_variables(lower=0, coords=shape, mask=there, name="accepted_mw")
    return accepted, accepted.fillna(0).sum("block")


def add_network(model: linopy.Model, system: PowerSystem, output: Any) -> None:
    """Add the DC power flow: a balance at every bus (its right-hand side is the load) and line limits."""
    case = system.case
    angle = model.add_variables(coords=[system.buses, system.hours], name="angle_rad")
    # One bus of reference keeps the angles unique.
    model.add_constraints(1.0 * angle.isel(bus=0, drop=True) == 0, name="reference_angle")
    start, end = (
        system.buses.get_indexer(pd.Index([getattr(line, side) for line in case.lines]))
        for side in ("from_bus", "to_bus")
    )
    mw_per_rad = case.base_mva / np.array([line.reactance_pu for line in case.lines])
    shift_mw = mw_per_rad * np.deg2rad([line.shift_deg for line in case.lines])
    each = np.arange(len(case.lines))
    incidence = np.zeros((len(case.lines), len(system.buses)))
    incidence[each, start] += 1.0
    incidence[each, end] -= 1.0
    other = system.buses.rename("other")
    laplacian = xr.DataArray(incidence.T @ (mw_per_rad[:, None] * incidence), coords=[system.buses, other])
    leaving = (laplacian * angle.rename(bus="other")).sum("other")
    place = np.zeros((len(system.fleets), len(system.buses)))
    place[np.arange(len(system.fleets)), system.buses.get_indexer(pd.Index([f.bus for f in case.fleets]))] = (
        1.0
    )
    arriving = (output * xr.DataArray(place, coords=[system.fleets, system.buses])).sum("fleet")
    constant = xr.DataArray(incidence.T @ -shift_mw, coords=[system.buses])
    zero = xr.DataArray(0.0, coords=[system.buses, system.hours], dims=["bus", "hour"])
    model.add_constraints(arriving - leaving == constant + zero, name="bus_balance")
    rated = np.flatnonzero(np.isfinite([line.rating_mw for line in case.lines]))
    if rated.size:
        flows = xr.DataArray(
            (mw_per_rad[:, None] * incidence)[rated], coords=[system.lines[rated], system.buses]
        )
        flow = (flows * angle).sum("bus")
        limit = np.array([case.lines[i].rating_mw for i in rated])
        for name, sign in (("line_limit", 1.0), ("line_limit_reverse", -1.0)):
            room = xr.DataArray(limit + sign * shift_mw[rated], coords=[system.lines[rated]])
            model.add_constraints(sign * flow <= room, name=name)
