"""Times of the privacy core: a private release with and without its ledger, and the auditor's throughput.

Run with ``make bench``.
"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.report import Table, median_seconds
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive, audit_laplace

ENTRIES = 50
RELEASES = 200
AUDIT_SAMPLES = 20_000
RELEASE_LIMIT_MS = 20.0


def measure() -> list[Table]:
    """Time a release with its ledger, the noise alone, and an audit."""
    mechanism = LaplaceMechanism(alpha=100.0)
    demand = np.linspace(0.0, 9831.0, ENTRIES)
    secret = Sensitive(demand, dataset="benchmark", unit="MWh")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        ledger = Ledger.create(Path(directory) / "ledger.db")
        ledger.grant("benchmark", epsilon=10.0 * RELEASES, alpha=100.0, unit="MWh")
        release = median_seconds(
            lambda: mechanism.release(secret, ledger=ledger, purpose="benchmark"), RELEASES
        )
    draw = median_seconds(lambda: mechanism.perturb_public(demand), RELEASES)
    audit = median_seconds(
        lambda: audit_laplace(mechanism, alpha=100.0, epsilon=1.0, samples=AUDIT_SAMPLES), 1
    )
    rows = (
        (f"private release of {ENTRIES} entries, ledger synced to disk", 1e3 * release, RELEASE_LIMIT_MS),
        (f"exact noise for {ENTRIES} entries alone", 1e3 * draw, ""),
        (f"audit of {AUDIT_SAMPLES} runs per input", 1e3 * audit, ""),
    )
    return [Table("Privacy core", ("what", "median ms", "target ms"), rows)]
