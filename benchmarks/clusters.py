"""What it costs to commit a fleet as one cluster: clusters of n units against n separate binary units.

Small random systems of one bus: a base-load fleet, a fleet of n mid-merit units, a peaking fleet. The same
system is solved twice, the mid-merit fleet as a cluster and as n fleets of one unit. What separate units can
do a cluster can do, so it never costs more; where it costs less it is a relaxation.
"""

from dataclasses import replace

import numpy as np

from benchmarks.report import Table
from ppsm.cases import Case
from ppsm.cases.entities import Bid, Bus, Fleet, LoadHour
from ppsm.errors import SolverError
from ppsm.markets.model.commitment import Before, UnitCommitment
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

GAP = 1e-7
HOURS = 12
SYSTEMS = 6
# Costs that differ by less are the same to the solver.
SAME = 1e-6


def system(seed: int, units: int, *, times: tuple[int, int] = (0, 0), ramps: bool = False) -> Case:
    """A random system; the mid-merit fleet has minimum times in a range of hours, and ramps or none."""
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
        min_up_h=int(draw.integers(times[0], times[1] + 1)),
        min_down_h=int(draw.integers(times[0], times[1] + 1)),
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


def least_cost_usd(case: Case, *, cyclic: bool, seconds: float = 60.0) -> float:
    """The proven least cost of unit commitment; a day that is not cyclic starts with base load alone."""
    core = UnitCommitment(case, None if cyclic else {"base": Before(on=1)})
    outcome = core.solve(core.at(0.0), SolveLimits(gap=GAP, seconds=seconds))
    if outcome.objective_usd is None or outcome.status is not Status.PROVEN_OPTIMAL:
        raise SolverError(f"unit commitment ended '{outcome.status.value}' after {seconds:g} s.")
    return outcome.objective_usd


def difference(case: Case, *, cyclic: bool) -> float:
    """How much less the cluster costs than separate units, relative to them."""
    separate = least_cost_usd(separate_units(case, "middle"), cyclic=cyclic)
    return (separate - least_cost_usd(case, cyclic=cyclic)) / separate


def measure() -> list[Table]:
    rows: list[tuple[str | float | int | bool, ...]] = []
    for name, times, ramps in (
        ("neither", (0, 0), False),
        ("minimum times of 2 to 4 h", (2, 4), False),
        ("minimum times of 5 to 8 h", (5, 8), False),
        ("ramps", (0, 0), True),
        ("ramps and 2 to 4 h", (2, 4), True),
    ):
        for units in (2, 3):
            figures: list[str] = []
            for cyclic in (True, False):
                cases = [system(seed, units, times=times, ramps=ramps) for seed in range(SYSTEMS)]
                gaps = np.array([difference(case, cyclic=cyclic) for case in cases])
                equal = int((np.abs(gaps) <= SAME).sum())
                figures += [
                    f"{equal} of {SYSTEMS}",
                    f"{100 * abs(gaps.mean()):.2f}",
                    f"{100 * abs(gaps.max()):.2f}",
                ]
            rows.append((name, units, *figures))
    day, past = "cyclic: ", "with a past: "
    return [
        Table(
            "A cluster of n units against n binary units",
            (
                "rules of the units", "n",
                f"{day}equal", f"{day}mean %", f"{day}most %",
                f"{past}equal", f"{past}mean %", f"{past}most %",
            ),
            tuple(rows),
            f"how much less the cluster costs; {HOURS} hours, {SYSTEMS} random systems each",
        )
    ]  # fmt: skip
