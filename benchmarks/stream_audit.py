"""Audit small streams on neighbours that differ on one day and on a whole window, and plant faults in them.

Run ``python -m benchmarks.stream_audit [RUNS]``; by default 100,000 runs on each of two neighbouring streams.
"""

import sys

from tests.streams.faults import PLANTED, PROMISE, WHERE, honest

from ppsm.streams.policies import Absorption, Distribution
from ppsm.streams.stream_audit import audit_stream

_FAULT_RUNS = 5_000


def main(runs: int) -> None:
    print(f"promise: any {PROMISE.window} days lose at most epsilon = {PROMISE.epsilon}", flush=True)
    for policy in (Absorption(), Distribution()):
        for count in (1, PROMISE.window):
            report = audit_stream(honest(policy), first=1, count=count, samples=runs)
            print(
                f"{policy.name:13} {count} of 3 days differ, {runs} runs each: epsilon at least "
                f"{report.epsilon_lower_bound:.3f}, passes: {report.passes}",
                flush=True,
            )
    for fault, stream in PLANTED.items():
        first, count = WHERE[fault]
        report = audit_stream(stream, first=first, count=count, samples=_FAULT_RUNS)
        print(
            f"{fault}, {_FAULT_RUNS} runs each: epsilon at least {report.epsilon_lower_bound:.3f}, "
            f"passes: {report.passes}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
