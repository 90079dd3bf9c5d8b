"""How fast the fidelity phase is, how often certified, how it grows: ``python -m benchmarks.fidelity``.

Times are CPU seconds of one core, so that other work on the machine does not count.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.fidelity_cells import ALPHAS_MWH, Cell, Instance, draw, northeast_cells
from benchmarks.fidelity_growth import growth
from benchmarks.fidelity_prior import errors_by_release
from benchmarks.report import Table
from ppsm.errors import PpsmError
from ppsm.fidelity import FidelityResult, Restorer, SearchLimits
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.reference import Form, solve_reference
from ppsm.status import Status

_FORMS: tuple[Form, ...] = ("indicator", "sos1", "big_m")
# Multipliers that nothing bounds get this M, relative to the largest cost; it is checked afterwards.
_ASSUMED_M = 10.0
_PPSM_P_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class Release:
    """A restored instance and the CPU time that it took."""

    instance: Instance
    result: FidelityResult
    cpu_s: float

    @cached_property
    def confirmed(self) -> bool:
        """Whether proven, certified, and certified again by another solver."""
        return self.result.certified and self.result.recertify().faithful

    def certified(self, within_s: float = np.inf) -> bool:
        """Whether confirmed, and in time."""
        return self.cpu_s <= within_s and self.confirmed


def solve_all(instances: Sequence[Instance], seconds: float) -> list[Release]:
    """Restore every instance, one after the other; ``seconds`` limits the wall-clock time of each."""
    releases = []
    for instance in instances:
        started = time.process_time()
        result = Restorer.of(instance.cell.follower).restore(
            instance.released,
            instance.bands,
            (0.0, instance.cell.largest),
            limits=SearchLimits(seconds=seconds),
        )
        releases.append(Release(instance, result, time.process_time() - started))
    return releases


def summary(releases: Sequence[Release], within_s: float = np.inf) -> dict[str, Any]:
    """Share certified, times, and the largest gap of what is not."""
    seconds = [release.cpu_s for release in releases]
    return {
        "instances": len(releases),
        "certified_share": float(np.mean([release.certified(within_s) for release in releases])),
        "p50_s": float(np.median(seconds)),
        "p95_s": float(np.quantile(seconds, 0.95)),
        "max_s": float(max(seconds)),
        "max_gap": float(max(release.result.gap for release in releases)),
        "widened": sum(release.result.widening > 1.0 for release in releases),
    }


def against_scip(releases: Sequence[Release], cap_s: float) -> dict[str, Any]:
    """SCIP's textbook forms on the same instances, in the same run.

    A run that hits its cap counts with the cap, so the speed-up is then a lower bound. Objectives are
    compared where SCIP finishes; where they differ by more than 1e-3 ours has to pass its certificate again.
    """
    speedups, differences, finished, disputed = [], [], 0, 0
    for release in releases:
        instance, restorer = release.instance, Restorer.of(release.instance.cell.follower)
        bounds = PublicBounds.of((0.0, instance.cell.largest), restorer.names)
        core = restorer.core(instance.released, instance.bands.checked(restorer.names), bounds, "l2", None)
        best = cap_s
        for form in _FORMS:
            started = time.process_time()
            theirs = solve_reference(core, form, seconds=cap_s, assumed_m=_ASSUMED_M)
            if theirs.status is not Status.PROVEN_OPTIMAL:
                continue
            finished += 1
            best = min(best, time.process_time() - started)
            objective = theirs.objective * restorer.scaled.quantity_unit**2
            difference = abs(objective - release.result.objective) / max(release.result.objective, 1e-6)
            differences.append(difference)
            disputed += difference > 1e-3 and not release.certified()
        speedups.append(best / release.cpu_s)
    return {
        "speedup_median": float(np.median(speedups)) if speedups else None,
        "max_rel_diff": float(max(differences)) if differences else None,
        "scip_instances": len(releases),
        "scip_runs": len(_FORMS) * len(releases),
        "scip_finished": finished,
        "scip_disputed": disputed,
        "cap_s": cap_s,
    }


def scip_sample(releases: Sequence[Release], count: int) -> list[Release]:
    """Instances spread evenly over cells and alphas."""
    step = max(1, len(releases) // max(1, count))
    return list(releases[step // 2 :: step][:count])


def study(
    cells: Sequence[Cell] | None = None,
    *,
    draws: int = 30,
    seconds: float = 60.0,
    scip_instances: int = 3,
    scip_cap_s: float = 60.0,
    sizes: Sequence[int] = (50, 150, 500, 1500, 5000),
    prior_draws: int = 5,
) -> dict[str, Any]:
    """Everything that the documentation claims about the fidelity phase, by default on the Northeast case."""
    used = northeast_cells() if cells is None else list(cells)
    both = solve_all(draw(used, draws, prices=True), seconds)
    report: dict[str, Any] = {"cells": [cell.name for cell in used], **summary(both)}
    value_only = solve_all(draw(used, draws, prices=False), min(seconds, 4.0 * _PPSM_P_SECONDS))
    report["ppsm_p"] = summary(value_only, _PPSM_P_SECONDS)
    for name, releases, within in (
        ("by_alpha", both, np.inf),
        ("ppsm_p_by_alpha", value_only, _PPSM_P_SECONDS),
    ):
        report[name] = {
            f"{alpha:g}": summary([one for one in releases if one.instance.alpha_mwh == alpha], within)
            for alpha in ALPHAS_MWH
        }
    try:
        report |= against_scip(scip_sample(both, scip_instances), scip_cap_s)
    except PpsmError as error:
        report |= {"speedup_median": None, "max_rel_diff": None, "scip": str(error)}
    report["errors"] = errors_by_release(used, prior_draws)
    report["growth"] = growth(sizes)
    return report


_SUMMARY = ("instances", "certified_share", "p50_s", "p95_s", "max_s", "max_gap", "widened")
_AGREEMENT = ("instances", "certified_share", "p50_s", "p95_s", "speedup_median", "max_rel_diff")


def tables(report: dict[str, Any]) -> list[Table]:
    """A report as tables."""
    parts = {"PPSM": report, "PPSM_p, within 5 s": report["ppsm_p"]}
    for title, key in (("PPSM", "by_alpha"), ("PPSM_p", "ppsm_p_by_alpha")):
        parts |= {f"{title}, alpha {alpha} MWh": part for alpha, part in report[key].items()}
    rows = tuple((name, *(part[key] for key in _SUMMARY)) for name, part in parts.items())
    agreement = tuple("-" if report[key] is None else report[key] for key in _AGREEMENT)
    note = (
        f"SCIP finished {report.get('scip_finished', 0)} of {report.get('scip_runs', 0)} runs; one that hits "
        f"its cap of {report.get('cap_s', 0.0):g} s counts with it: the speed-up is then a lower bound"
    )
    grown = report["growth"]["table"]
    return [
        Table("Fidelity phase: certification and agreement", _AGREEMENT, (agreement,), note),
        Table("Fidelity phase: CPU seconds", ("problem", *_SUMMARY), rows, "; ".join(report["cells"])),
        Table(
            "Fidelity phase: mean L1 error in MWh",
            ("release", *(f"alpha {alpha:g}" for alpha in ALPHAS_MWH)),
            tuple((name, *values) for name, values in report["errors"].items()),
        ),
        Table(
            "Fidelity phase: growth on synthetic networks",
            tuple(grown[0]) if grown else (),
            tuple(tuple(row.values()) for row in grown),
            f"time grows like junctions^{report['growth']['exponent']:.2f}",
        ),
    ]


def measure() -> list[Table]:
    """A short study for ``make bench``; ``make fidelity`` runs the long one."""
    return tables(
        study(draws=3, seconds=20.0, scip_instances=1, scip_cap_s=10.0, sizes=(50, 150, 500), prior_draws=1)
    )


def main() -> None:
    """Run from the command line."""
    from benchmarks.__main__ import show

    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--draws", type=int, default=30, help="draws per cell and alpha")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one release")
    parser.add_argument("--scip-instances", type=int, default=3)
    parser.add_argument("--scip-cap", type=float, default=60.0, help="CPU seconds for each run of SCIP")
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 150, 500, 1500, 5000])
    options = parser.parse_args()
    report = study(
        draws=options.draws,
        seconds=options.seconds,
        scip_instances=options.scip_instances,
        scip_cap_s=options.scip_cap,
        sizes=options.sizes,
    )
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show({"fidelity": tables(report)})


if __name__ == "__main__":
    main()
