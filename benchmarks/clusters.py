"""What it costs to commit a fleet as one cluster: clusters of n units against n separate binary units.

Small random systems of one bus: a base-load fleet, a fleet of n mid-merit units, a peaking fleet. The same
system is solved twice, the mid-merit fleet as a cluster and as n fleets of one unit. What separate units can do
a cluster can do, so it never costs more; where it costs less it is a relaxation.
"""

from dataclasses import replace

import numpy as np

from benchmarks.report import Table
from ppsm.cases import Case
from ppsm.cases.entities import Bid, Bus, Fleet, LoadHour
from ppsm.errors import SolverError
from ppsm.markets.commitment import UnitCommitment
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

GAP = 1e-7
HOURS = 8
SYSTEMS = 8
# Costs that differ by less are the same to the solver.
SAME = 1e-6


def system(seed: int, units: int, *, times: bool, ramps: bool) -> Case:
    """A random system whose mid-merit fleet has minimum times, ramps, both or neither."""
    draw = np.random.default_rng([7, seed])
    size, least = 100.0, float(draw.uniform(30, 60))
    peak = 120.0 + size * units
    base = Fleet("base", "bus", "coal", "steam", 1, 150.0, 60.0, 1e4, 0, 0, 100.0, 5000.0, 1)
    middle = Fleet(
        fleet="middle",
        bus="bus",
        fuel="gas",
        technology="combined cycle",
        unit_count=units,
        unit_size_mw=size,
        unit_min_mw=least,
        ramp_mw_per_h=float(draw.uniform(10, 25)) if ramps else 1e4,
        min_up_h=int(draw.integers(3, 6)) if times else 0,
        min_down_h=int(draw.integers(3, 6)) if times else 0,
        no_load_usd_per_h=float(draw.uniform(100, 600)),
        start_usd=float(draw.uniform(200, 2000)),
        must_run=0,
    )
    peaker = Fleet("peaker", "bus", "oil", "turbine", 1, peak, 0.0, 1e4, 0, 0, 50.0, 50.0, 0)
    split = float(draw.uniform(0.5, 0.8)) * size
    bids = (
        Bid("base", 1, 150.0, 20.0),
        Bid("middle", 1, split, float(draw.uniform(28, 35))),
        Bid("middle", 2, size - split, float(draw.uniform(38, 50))),
        Bid("peaker", 1, peak, 120.0),
    )
    load = np.clip(draw.uniform(0.2, 1.0, HOURS), 0.25, 1.0)
    return Case(
        name="cluster",
        title="a small random system",
        source="drawn at random",
        base_mva=100.0,
        reserve_fraction=0.0,
        power_stress=(0.0,),
        gas_stress=(0.0,),
        buses=(Bus("bus", "bus", 41.0, -75.0, peak, 0.0),),
        lines=(),
        fleets=(base, middle, peaker),
        bids=bids,
        junctions=(),
        pipes=(),
        compressors=(),
        regulators=(),
        supplies=(),
        deliveries=(),
        links=(),
        load_shape=tuple(LoadHour(hour, float(factor)) for hour, factor in enumerate(load)),
    )


def separate_units(case: Case, fleet: str) -> Case:
    """The same case with every unit of a fleet as a fleet of its own."""
    fleets: list[Fleet] = []
    bids: list[Bid] = [bid for bid in case.bids if bid.fleet != fleet]
    for row in case.fleets:
        if row.fleet != fleet:
            fleets.append(row)
            continue
        for number in range(row.unit_count):
            name = f"{fleet}{number + 1}"
            fleets.append(replace(row, fleet=name, unit_count=1))
            bids += [replace(bid, fleet=name) for bid in case.bids if bid.fleet == fleet]
    return replace(case, fleets=tuple(fleets), bids=tuple(bids))


def least_cost_usd(case: Case, seconds: float = 60.0) -> float:
    """The proven least cost of unit commitment."""
    core = UnitCommitment(case)
    outcome = core.solve(core.at(0.0), (), SolveLimits(gap=GAP, seconds=seconds))
    if outcome.objective_usd is None or outcome.status is not Status.PROVEN_OPTIMAL:
        raise SolverError(f"unit commitment ended '{outcome.status.value}' after {seconds:g} s.")
    return outcome.objective_usd


def difference(case: Case) -> float:
    """How much less the cluster costs than separate units, relative to them."""
    separate = least_cost_usd(separate_units(case, "middle"))
    return (separate - least_cost_usd(case)) / separate


def measure() -> list[Table]:
    rows: list[tuple[str | float | int | bool, ...]] = []
    for name, times, ramps in (
        ("neither", False, False),
        ("minimum times", True, False),
        ("ramps", False, True),
        ("both", True, True),
    ):
        for units in (2, 3, 4):
            gaps = [difference(system(seed, units, times=times, ramps=ramps)) for seed in range(SYSTEMS)]
            equal = sum(abs(gap) <= SAME for gap in gaps)
            rows.append((name, units, f"{equal} of {len(gaps)}", 100 * float(np.mean(gaps)), 100 * max(gaps)))
    return [
        Table(
            "A cluster of n units against n binary units",
            ("rules of the units", "n", "equal cost", "mean %", "largest %"),
            tuple(rows),
            f"how much less the cluster costs; {HOURS} hours, cyclic day, {SYSTEMS} random systems each",
        )
    ]
