"""Many noisy vectors against one follower: matrices and warm LPs are shared, work is spread over processes.

Results come back in the order of the vectors, each with its own certificate. Processes, not threads: a
search keeps its LPs between solves, and each worker has its own.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from rich.progress import track

from ppsm.errors import InputError
from ppsm.fidelity.branching import SearchLimits
from ppsm.fidelity.problem import Bands, Norm, Prior, PublicVector
from ppsm.fidelity.restore import Restorer
from ppsm.fidelity.result import FidelityResult
from ppsm.games.follower import Follower


@dataclass(frozen=True, eq=False)
class BatchJob:
    """One vector with its own bands; everything else is common to the batch."""

    released: PublicVector | ArrayLike
    bands: Bands


_RESTORER: dict[str, Any] = {}


def restore_batch(
    follower: Follower,
    jobs: Iterable[BatchJob],
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    norm: Norm = "l2",
    prior: Prior | None = None,
    elastic: bool = True,
    limits: SearchLimits | None = None,
    processes: int = 1,
    progress: bool = False,
) -> tuple[FidelityResult, ...]:
    """Restore every job; ``processes=0`` uses all cores, ``progress`` draws a bar on the terminal."""
    listed = list(jobs)
    if processes < 0:
        raise InputError(f"{processes} processes were asked for; expected 0 (all cores) or more.")
    options: dict[str, Any] = {
        "bounds": bounds,
        "norm": norm,
        "prior": prior,
        "elastic": elastic,
        "limits": limits,
    }
    count = processes or os.cpu_count() or 1
    if count == 1 or len(listed) < 2:
        restorer = Restorer.of(follower)
        shown = track(listed, description="fidelity", disable=not progress)
        return tuple(restorer.restore(job.released, job.bands, **options) for job in shown)
    return _in_processes(follower, listed, options, min(count, len(listed)), progress=progress)


def _in_processes(
    follower: Follower, jobs: Sequence[BatchJob], options: dict[str, Any], count: int, *, progress: bool
) -> tuple[FidelityResult, ...]:
    with ProcessPoolExecutor(count, initializer=_start, initargs=(follower, options)) as pool:
        done = pool.map(_restore_one, jobs, chunksize=max(1, len(jobs) // (8 * count)))
        shown = track(done, description="fidelity", total=len(jobs), disable=not progress)
        return tuple(shown)


def _start(follower: Follower, options: dict[str, Any]) -> None:
    _RESTORER["restorer"], _RESTORER["options"] = Restorer(follower), options


def _restore_one(job: BatchJob) -> FidelityResult:
    result: FidelityResult = _RESTORER["restorer"].restore(job.released, job.bands, **_RESTORER["options"])
    return result
