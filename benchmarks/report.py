"""What a measurement returns, and how it is timed."""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A titled table of figures; ``note`` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | int | bool, ...], ...]
    note: str = ""


def median_seconds(action: Callable[[], object], repetitions: int) -> float:
    """Median wall-clock time of an action."""
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def peak_memory_mib() -> float:
    """The most memory this process has had resident so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
