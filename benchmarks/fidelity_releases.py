"""Instances of the fidelity phase restored one after the other, and what is said of them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.fidelity_cells import Instance
from ppsm.fidelity import FidelityResult, Restorer, SearchLimits


@dataclass(frozen=True, eq=False)
class Release:
    """A restored instance and the CPU time that it took."""

    instance: Instance
    result: FidelityResult
    cpu_s: float

    @cached_property
    def confirmed(self) -> bool:
        """Whether proven, certified, and certified again by SciPy's own build of HiGHS."""
        return self.result.certified and self.result.recertify().faithful

    def certified(self, within_s: float = np.inf) -> bool:
        """Whether confirmed, and in time."""
        return self.cpu_s <= within_s and self.confirmed


def solve_all(instances: Sequence[Instance], seconds: float) -> list[Release]:
    """Restore every instance, one after the other; ``seconds`` limits the time of each."""
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
