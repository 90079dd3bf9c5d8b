"""Time and memory of one release as the network grows; each size in a process of its own."""

import multiprocessing
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fidelity_cells import draw, synthetic_cells
from benchmarks.report import peak_memory_mib
from ppsm.fidelity import Restorer, SearchLimits

# A later release is cheaper than the first.
_RUNS = 3


def growth(
    sizes: Sequence[int], alpha_mwh: float = 100.0, seconds: float = 120.0, first_draw: int = 0
) -> dict[str, Any]:
    """A row for each size, and the exponent of growth, without the sizes that hit the limit."""
    context = multiprocessing.get_context("spawn")
    table = []
    for junctions in sizes:
        # Memory is a high-water mark of a process, so each size needs a fresh one.
        with context.Pool(1) as pool:
            table.append(pool.apply(one_size, (junctions, alpha_mwh, seconds, first_draw)))
    logs = np.log([[row["junctions"], row["p50_s"]] for row in table if row["certified"] == row["runs"]])
    exponent = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]) if len(logs) > 1 else float("nan")
    return {"table": table, "exponent": exponent}


def one_size(junctions: int, alpha_mwh: float, seconds: float, first_draw: int = 0) -> dict[str, Any]:
    """CPU time of a first release and of a later one, and the largest memory of the process."""
    cell = synthetic_cells(junctions, (1.0,))[0]
    instances = draw([cell], _RUNS, prices=True, first=first_draw)
    picked = [one for one in instances if one.alpha_mwh == alpha_mwh]
    times, certified = [], 0
    for instance in picked:
        started = time.process_time()
        result = Restorer.of(cell.follower).restore(
            instance.released, instance.bands, (0.0, cell.largest), limits=SearchLimits(seconds=seconds)
        )
        times.append(time.process_time() - started)
        certified += result.certified
    return {
        "junctions": junctions,
        "first_s": times[0],
        "p50_s": statistics.median(times),
        "certified": certified,
        "runs": len(times),
        "memory_mb": _peak_memory_mb(),
    }


def _peak_memory_mb() -> float:
    """The most memory this process has had; a child's ``ru_maxrss`` starts from its parent's on Linux."""
    status = Path("/proc/self/status")
    if not status.exists():
        return peak_memory_mib()
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
