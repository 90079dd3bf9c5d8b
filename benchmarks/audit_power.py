"""How many runs the auditor needs to catch planted faults, and how often it wrongs an honest mechanism.

Run with ``python -m benchmarks.audit_power [repetitions]``. A row says in what share of repeated audits the
fault was caught: by the whole audit, and by the lower bound on epsilon alone.
"""

import sys

import numpy as np

from benchmarks.faults import FAULTS, honest
from ppsm.privacy.audits.laplace_audit import audit_laplace
from ppsm.privacy.audits.mechanism_audit import AuditReport

SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 60_000, 100_000, 150_000, 200_000)
HONEST_SIZES = (2_000, 20_000)
CONFIDENCE = 0.999
ENOUGH = 0.99


def _audits(name: str, samples: int, repetitions: int) -> list[AuditReport]:
    make = FAULTS.get(name, honest)
    seeds = np.random.SeedSequence([len(name), samples]).spawn(repetitions)
    return [
        audit_laplace(
            make(np.random.default_rng(seed)),
            alpha=1.0,
            epsilon=1.0,
            samples=samples,
            confidence=CONFIDENCE,
            batched=True,
        )
        for seed in seeds
    ]


def power(name: str, samples: int, repetitions: int) -> tuple[float, float]:
    """Return the share of audits that failed, and the share in which the bound alone exceeded the claim."""
    reports = _audits(name, samples, repetitions)
    failed = float(np.mean([not report.passes for report in reports]))
    exceeded = float(np.mean([report.epsilon_lower_bound > report.claimed_epsilon for report in reports]))
    return failed, exceeded


def main(repetitions: int) -> None:
    print(f"{repetitions} audits per row, confidence {CONFIDENCE}, alpha = epsilon = 1, two entries")
    print(f"{'mechanism':24} {'samples':>8} {'caught':>8} {'by bound':>9}")
    for name in (*FAULTS, "honest"):
        for size in SIZES if name in FAULTS else HONEST_SIZES:
            caught, by_bound = power(name, size, repetitions)
            print(f"{name:24} {size:8} {caught:8.1%} {by_bound:9.1%}", flush=True)
            if min(caught, by_bound) >= ENOUGH:
                break


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
