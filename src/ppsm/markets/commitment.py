"""UC, the leader's unit commitment: problem (3) of the paper's appendix without its price feedback.

Fleets are clusters of identical units: ``on`` counts the units that run, so a single unit is a cluster of one.
The day is cyclic: hour 0 follows the last hour, which leaves no free start at its edges.
"""

from typing import Any

import linopy
import numpy as np
import xarray as xr

from ppsm.markets.power import PowerSystem, add_dispatch, add_network


def build_commitment(system: PowerSystem) -> linopy.Model:
    """Build UC at zero load; the right-hand side of ``bus_balance`` takes the load of a stress."""
    model = linopy.Model()
    shape = [system.fleets, system.hours]
    must_run = xr.DataArray([bool(f.must_run) for f in system.case.fleets], coords=[system.fleets])
    hours = xr.DataArray(1.0, coords=[system.hours], dims=["hour"])
    most = system.units * hours
    on = model.add_variables(
        lower=most.where(must_run, 0.0), upper=most, coords=shape, integer=True, name="on"
    )
    start = model.add_variables(lower=0, upper=most, coords=shape, name="start")
    stop = model.add_variables(lower=0, upper=most, coords=shape, name="stop")
    before = {"hour": 1}
    # (3b) logic of on, start and stop
    model.add_constraints(on - on.roll(before) - start + stop == 0, name="logic")
    _add_minimum_times(model, system, on, start, stop)
    accepted, output = add_dispatch(model, system)
    # selected blocks: no more than the running units offer
    model.add_constraints(accepted - system.block_mw.fillna(0.0) * on <= 0, name="block_limit", mask=system.has_block * hours > 0)
    model.add_constraints(output - system.least_mw * on >= 0, name="least_output")
    _add_ramps(model, system, on, start, stop, output)
    if system.case.reserve_fraction > 0:
        spare = (system.unit_mw * on - output).sum("fleet")
        model.add_constraints(spare >= 0 * hours, name="reserve")
    add_network(model, system, output)
    model.add_objective(
        (system.no_load_usd * on).sum()
        + (system.start_usd * start).sum()
        + (system.block_usd_per_mwh.fillna(0.0) * accepted.fillna(0)).sum()
    )
    return model


def _add_minimum_times(model: linopy.Model, system: PowerSystem, on: Any, start: Any, stop: Any) -> None:
    """Units started in the last ``min_up_h`` hours are on, units stopped in the last ``min_down_h`` are off."""
    hours = len(system.hours)
    for name, event, limits in (
        ("min_up", start, [f.min_up_h for f in system.case.fleets]),
        ("min_down", stop, [f.min_down_h for f in system.case.fleets]),
    ):
        for length in sorted({min(limit, hours) for limit in limits if limit > 1}):
            chosen = system.fleets[[min(limit, hours) == length for limit in limits]]
            part = event.sel(fleet=chosen)
            recent = sum((part.roll(hour=k) for k in range(1, length)), 1.0 * part)
            state = on.sel(fleet=chosen)
            if name == "min_up":
                model.add_constraints(recent - state <= 0, name=f"{name}_{length}h")
            else:
                model.add_constraints(recent + state <= system.units.sel(fleet=chosen), name=f"{name}_{length}h")


def _add_ramps(model: linopy.Model, system: PowerSystem, on: Any, start: Any, stop: Any, output: Any) -> None:
    """Running units move by at most their ramp; a unit may start to and stop from any output it can have."""
    slow = np.flatnonzero((system.ramp_mw < system.unit_mw).values)
    if not slow.size:
        return
    fleets = system.fleets[slow]
    ramp, full, least = (x.sel(fleet=fleets) for x in (system.ramp_mw, system.unit_mw, system.least_mw))
    now = output.sel(fleet=fleets)
    change = now - now.roll(hour=1)
    on, start, stop = (x.sel(fleet=fleets) for x in (on, start, stop))
    stay = on - start  # on before and now
    model.add_constraints(change - ramp * stay - full * start + least * stop <= 0, name="ramp_up")
    model.add_constraints(-1 * change - ramp * stay - full * stop + least * start <= 0, name="ramp_down")
