"""How fast the fidelity phase is, how often certified, how it grows: ``python -m benchmarks.fidelity``."""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gas_networks import build_network
from benchmarks.report import Table
from ppsm.arrays import FloatArray
from ppsm.errors import PpsmError
from ppsm.fidelity import Bands, FidelityResult, Prior, Restorer, SearchLimits
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.reference import Form, solve_reference
from ppsm.game.follower import Follower

ALPHAS_MWH = (10.0, 100.0, 1000.0)
_FORMS: tuple[Form, ...] = ("big_m", "indicator", "sos1")


@dataclass(frozen=True, eq=False)
class Cell:
    """A follower, its true demand and its public largest demand, in multiples of ``unit_mwh``."""

    name: str
    follower: Follower
    demand: FloatArray
    largest: FloatArray
    unit_mwh: float = 100.0


@dataclass(frozen=True, eq=False)
class Instance:
    """One noisy draw of one cell."""

    cell: Cell
    alpha_mwh: float
    released: FloatArray
    bands: Bands


def synthetic_cells(junctions: int = 146, stresses: Sequence[float] = (0.8, 1.0, 1.2)) -> list[Cell]:
    """Cells of a synthetic network of the Northeast's size at several levels of demand."""
    network = build_network(junctions)
    return [
        Cell(f"synthetic {junctions} x{stress:g}", network.follower, stress * network.demand, network.largest)
        for stress in stresses
        if network.follower.solve(stress * network.demand).status.has_answer
    ]


def draw(cells: Sequence[Cell], draws: int, *, prices: bool, eta: float = 0.001) -> list[Instance]:
    """Noisy draws of every cell and alpha; seeds come from the axes, so that each draw is always the same."""
    instances = []
    for number, cell in enumerate(cells):
        outcome = cell.follower.solve(cell.demand)
        target = cell.follower.parameter_map.T @ outcome.prices if prices else None
        bands = Bands.relative(outcome.value, target, eta_p=eta, eta_d=eta)
        for alpha in ALPHAS_MWH:
            for repetition in range(draws):
                rng = np.random.default_rng([number, int(alpha), repetition])
                noise = rng.laplace(size=cell.demand.size) * alpha / cell.unit_mwh
                instances.append(Instance(cell, alpha, cell.demand + noise, bands))
    return instances


def solve_all(instances: Sequence[Instance], seconds: float) -> list[FidelityResult]:
    """Restore every instance, one after the other."""
    return [
        Restorer.of(instance.cell.follower).restore(
            instance.released,
            instance.bands,
            (0.0, instance.cell.largest),
            limits=SearchLimits(seconds=seconds),
        )
        for instance in instances
    ]


def summary(results: Sequence[FidelityResult]) -> dict[str, Any]:
    """Share certified (re-solved by another solver), and times."""
    seconds = [result.seconds for result in results]
    again = [result.certified and result.recertify().faithful for result in results]
    return {
        "instances": len(results),
        "certified_share": float(np.mean(again)),
        "p50_s": float(np.median(seconds)),
        "p95_s": float(np.quantile(seconds, 0.95)),
        "max_gap": float(max(result.gap for result in results)),
        "widened": sum(result.widening > 1.0 for result in results),
    }


def against_scip(
    instances: Sequence[Instance], results: Sequence[FidelityResult], cap_s: float
) -> dict[str, Any]:
    """The best textbook form of SCIP on the same instances; an unfinished run counts with its cap."""
    speedups, differences, finished = [], [], 0
    for instance, ours in zip(instances, results, strict=True):
        restorer = Restorer.of(instance.cell.follower)
        bounds = PublicBounds.of((0.0, instance.cell.largest), restorer.names)
        bands = instance.bands.checked(restorer.names)
        core = restorer.core(instance.released, bands, bounds, "l2", None)
        best = cap_s
        for form in _FORMS:
            theirs = solve_reference(core, form, seconds=cap_s, assumed_m=10.0)
            if theirs.status.value == "optimal":
                finished += 1
                best = min(best, theirs.seconds)
                objective = theirs.objective * restorer.scaled.quantity_unit**2
                differences.append(abs(objective - ours.objective) / max(ours.objective, 1e-6))
        speedups.append(best / ours.seconds)
    return {
        "speedup_median": float(np.median(speedups)) if speedups else None,
        "max_rel_diff": float(max(differences)) if differences else None,
        "scip_finished": finished,
        "scip_runs": len(_FORMS) * len(instances),
        "cap_s": cap_s,
    }


def growth(sizes: Sequence[int], alpha_mwh: float = 100.0, seconds: float = 60.0) -> dict[str, Any]:
    """Time and memory of one release as the network grows, and the exponent of growth."""
    table = []
    for junctions in sizes:
        cell = synthetic_cells(junctions, (1.0,))[0]
        picked = [one for one in draw([cell], 3, prices=True) if one.alpha_mwh == alpha_mwh]
        results = solve_all(picked, seconds)
        table.append(
            {
                "junctions": junctions,
                "p50_s": statistics.median(result.seconds for result in results),
                "certified": sum(result.certified for result in results),
                "runs": len(results),
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    logs = np.log([[row["junctions"], row["p50_s"]] for row in table])
    exponent = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]) if len(table) > 1 else float("nan")
    return {"table": table, "exponent": exponent}


def prior_effect(cells: Sequence[Cell], draws: int, alpha_mwh: float = 1000.0) -> dict[str, float]:
    """Mean L1 error (in units of the cells) without and with a public history of 10 % spread."""
    errors: dict[str, list[float]] = {"laplace": [], "bands and bounds": [], "with prior": []}
    for instance in draw(cells, draws, prices=True):
        if instance.alpha_mwh != alpha_mwh:
            continue
        cell, limits = instance.cell, SearchLimits(seconds=5.0)
        restorer = Restorer.of(cell.follower)
        rng = np.random.default_rng(1)
        history = cell.demand * (1.0 + 0.1 * rng.normal(size=cell.demand.size))
        spread = np.maximum(0.1 * np.abs(history), 0.01)
        prior = Prior(np.maximum(history, 0.0), spread, alpha_mwh / cell.unit_mwh)
        plain = restorer.restore(instance.released, instance.bands, (0.0, cell.largest), limits=limits)
        helped = restorer.restore(
            instance.released, instance.bands, (0.0, cell.largest), limits=limits, prior=prior
        )
        errors["laplace"].append(float(np.abs(instance.released - cell.demand).sum()))
        errors["bands and bounds"].append(float(np.abs(plain.parameter - cell.demand).sum()))
        errors["with prior"].append(float(np.abs(helped.parameter - cell.demand).sum()))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def study(
    cells: Sequence[Cell] | None = None,
    *,
    draws: int = 30,
    seconds: float = 10.0,
    scip_instances: int = 3,
    scip_cap_s: float = 60.0,
    sizes: Sequence[int] = (50, 150, 500, 1500, 5000),
) -> dict[str, Any]:
    """Everything that the documentation claims about the fidelity phase."""
    used = synthetic_cells() if cells is None else list(cells)
    instances = draw(used, draws, prices=True)
    results = solve_all(instances, seconds)
    report: dict[str, Any] = summary(results)
    report["by_alpha"] = {
        f"{alpha:g}": summary([r for i, r in zip(instances, results, strict=True) if i.alpha_mwh == alpha])
        for alpha in ALPHAS_MWH
    }
    value_only = draw(used, draws, prices=False)
    report["ppsm_p"] = summary(solve_all(value_only, 5.0))
    step = max(1, len(instances) // max(1, scip_instances))
    chosen = slice(0, step * scip_instances, step)
    try:
        report |= against_scip(instances[chosen], results[chosen], scip_cap_s)
    except PpsmError as error:
        report |= {"speedup_median": None, "max_rel_diff": None, "scip": str(error)}
    report["prior"] = prior_effect(used, max(1, draws // 6))
    report["growth"] = growth(sizes)
    return report


def measure() -> list[Table]:
    """A short study for ``make bench``; ``python -m benchmarks.fidelity`` runs the long one."""
    report = study(draws=4, seconds=5.0, scip_instances=1, scip_cap_s=30.0, sizes=(50, 150, 500))
    columns = ("problem", "instances", "certified share", "p50 s", "p95 s", "largest gap", "widened")
    keys = ("instances", "certified_share", "p50_s", "p95_s", "max_gap", "widened")
    parts = {"PPSM": report, "PPSM_p": report["ppsm_p"]}
    parts |= {f"PPSM, alpha {alpha} MWh": part for alpha, part in report["by_alpha"].items()}
    releases = tuple((name, *(part[key] for key in keys)) for name, part in parts.items())
    scip = (tuple("-" if report[key] is None else report[key] for key in ("speedup_median", "max_rel_diff")),)
    growth_columns = ("junctions", "p50_s", "certified", "runs", "memory_mb")
    sizes = tuple(tuple(row[key] for key in growth_columns) for row in report["growth"]["table"])
    errors = tuple(report["prior"].items())
    return [
        Table("Fidelity phase, synthetic network of the Northeast's size", columns, releases),
        Table(
            "Against SCIP's best textbook form",
            ("median speed-up", "largest relative difference"),
            scip,
            "a run of SCIP that hits its cap counts with the cap, so the speed-up is then a lower bound",
        ),
        Table("Mean L1 error at alpha 1000 MWh", ("release", "x 100 MWh"), errors),
        Table("Growth", ("junctions", "p50 s", "certified", "runs", "memory MB"), sizes),
    ]


def show(report: dict[str, Any]) -> None:
    """Print a report as tables."""
    print("fidelity phase          instances  certified   p50 s     p95 s   max gap  widened")
    rows = [("PPSM", report), ("PPSM_p", report["ppsm_p"])]
    rows += [(f"PPSM alpha {alpha} MWh", part) for alpha, part in report["by_alpha"].items()]
    for name, part in rows:
        print(
            f"{name:<22}{part['instances']:>11}{part['certified_share']:>10.1%}{part['p50_s']:>9.4f}"
            f"{part['p95_s']:>10.4f}{part['max_gap']:>10.1e}{part['widened']:>9}"
        )
    print(
        f"\nagainst SCIP's best textbook form: median speed-up {report['speedup_median']}, largest relative "
        f"difference {report['max_rel_diff']}, finished {report.get('scip_finished')} of "
        f"{report.get('scip_runs')}"
    )
    print("\nmean L1 error, alpha 1000 MWh: " + ", ".join(f"{k} {v:.1f}" for k, v in report["prior"].items()))
    print("\njunctions    p50 s  certified  memory MB")
    for row in report["growth"]["table"]:
        certified = f"{row['certified']}/{row['runs']}"
        print(f"{row['junctions']:>9}{row['p50_s']:>9.3f}{certified:>11}{row['memory_mb']:>11.0f}")
    print(f"time grows like junctions^{report['growth']['exponent']:.2f}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--draws", type=int, default=30, help="draws per cell and alpha")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of one release")
    parser.add_argument("--scip-instances", type=int, default=3)
    parser.add_argument("--scip-cap", type=float, default=60.0, help="seconds for each run of SCIP")
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 150, 500, 1500, 5000])
    options = parser.parse_args()
    started = time.perf_counter()
    report = study(
        draws=options.draws,
        seconds=options.seconds,
        scip_instances=options.scip_instances,
        scip_cap_s=options.scip_cap,
        sizes=options.sizes,
    )
    report["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)


if __name__ == "__main__":
    main()
