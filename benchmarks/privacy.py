"""Times of the privacy core: a private release with and without its ledger, and the auditor's throughput."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive, audit_laplace

ENTRIES = 50
RELEASES = 200
AUDIT_SAMPLES = 20_000
RELEASE_LIMIT_MS = 5.0


def _median_ms(action: Callable[[], object], repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1e3


def measure() -> list[dict[str, float | str]]:
    """Return one row per measurement: its name, its value, its unit and, where one is claimed, its limit."""
    mechanism = LaplaceMechanism(alpha=100.0)
    demand = np.linspace(0.0, 9831.0, ENTRIES)
    secret = Sensitive(demand, dataset="benchmark", unit="MWh")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        ledger = Ledger.create(Path(directory) / "ledger.db")
        ledger.grant("benchmark", epsilon=10.0 * RELEASES, alpha=100.0, unit="MWh")
        release = _median_ms(lambda: mechanism.release(secret, ledger=ledger, purpose="benchmark"), RELEASES)
    draw = _median_ms(lambda: mechanism.perturb_public(demand), RELEASES)
    audit = _median_ms(lambda: audit_laplace(mechanism, alpha=100.0, epsilon=1.0, samples=AUDIT_SAMPLES), 1)
    return [
        {
            "name": f"private release of {ENTRIES} entries, ledger synced to disk",
            "value": release,
            "unit": "ms",
            "limit": RELEASE_LIMIT_MS,
        },
        {"name": f"exact noise for {ENTRIES} entries alone", "value": draw, "unit": "ms"},
        {"name": f"audit of {AUDIT_SAMPLES} runs per input", "value": audit / 1e3, "unit": "s"},
    ]


def main() -> None:
    for row in measure():
        limit = f" (limit {row['limit']})" if "limit" in row else ""
        print(f"{row['name']}: {row['value']:.2f} {row['unit']}{limit}")


if __name__ == "__main__":
    main()
