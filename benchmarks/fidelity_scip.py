"""The fidelity phase against SCIP's textbook forms, on the same instances and in the same run."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.fidelity_releases import Release
from ppsm.fidelity import Restorer
from ppsm.fidelity.problem import Form, PublicBounds
from ppsm.fidelity.textbook import solve_textbook
from ppsm.status import Status

_FORMS: tuple[Form, ...] = ("indicator", "sos1", "big-m")
# Multipliers that nothing bounds get this M, relative to the largest cost; it is checked afterwards.
_ASSUMED_M = 10.0
_AGREED = 1e-3


def run_forms(release: Release, cap_s: float) -> list[dict[str, Any]]:
    """Every form on one instance: its time, whether it finished, how far its objective is from ours."""
    instance, restorer = release.instance, Restorer.of(release.instance.cell.follower)
    bounds = PublicBounds.of((0.0, instance.cell.largest), restorer.names)
    core = restorer.core(instance.released, instance.bands.checked(restorer.names), bounds, "l2", None)
    ours = release.result.objective
    rows = []
    for form in _FORMS:
        started = time.process_time()
        theirs = solve_textbook(core, form, seconds=cap_s, assumed_m=_ASSUMED_M)
        seconds = time.process_time() - started
        objective = theirs.objective * restorer.scaled.quantity_unit**2
        rows.append(
            {
                "cell": instance.cell.name,
                "alpha_mwh": instance.alpha_mwh,
                "form": form,
                "finished": theirs.status is Status.PROVEN_OPTIMAL,
                "ended": str(theirs.status),
                "scip_s": seconds,
                "ours_s": release.cpu_s,
                "rel_diff": abs(objective - ours) / max(ours, 1e-6) if np.isfinite(objective) else None,
            }
        )
    return rows


def against_scip(releases: Sequence[Release], small: Sequence[Release], cap_s: float) -> dict[str, Any]:
    """Speed-up on ``releases``, and agreement on them and on ``small`` ones, which SCIP can finish.

    A run that hits its cap counts with the cap, so the speed-up is then a lower bound. Objectives are
    compared where SCIP finishes; where they differ by more than 1e-3 ours has to pass its certificate again.
    """
    report: dict[str, Any] = {"cap_s": cap_s}
    all_differences: list[float] = []
    for name, group in (("scip", releases), ("scip_small", small)):
        speedups, differences, disputed = [], [], 0
        rows = [run_forms(release, cap_s) for release in group]
        for release, forms in zip(group, rows, strict=True):
            best = min([cap_s, *(row["scip_s"] for row in forms if row["finished"])])
            speedups.append(best / release.cpu_s)
            here = [row["rel_diff"] for row in forms if row["finished"]]
            disputed += any(one > _AGREED for one in here) and not release.certified()
            differences += here
        all_differences += differences
        report[name] = {
            "instances": len(rows),
            "runs": sum(len(forms) for forms in rows),
            "finished": len(differences),
            "speedup_median": float(np.median(speedups)) if speedups else None,
            "max_rel_diff": max(differences, default=None),
            "disputed": disputed,
            "rows": [row for forms in rows for row in forms],
        }
    report["speedup_median"] = report["scip"]["speedup_median"]
    report["max_rel_diff"] = max(all_differences, default=None)
    return report


def scip_sample(releases: Sequence[Release], count: int) -> list[Release]:
    """Instances picked at random over cells and alphas, always the same ones."""
    order = np.random.default_rng(0).permutation(len(releases))
    return [releases[index] for index in order[:count]]
