"""What a measurement returns, and how it is timed."""

import statistics
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
