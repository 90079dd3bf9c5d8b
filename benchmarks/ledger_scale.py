"""A ledger of 10,000 days and 1,000 recipients: what an operation takes, and how large the file grows.

Run ``python -m benchmarks.ledger_scale [DAYS] [RECIPIENTS]``. Each day is charged once, to one recipient in
turn, and its draw is noted. Wall times hold the waits for the disk; CPU times do not.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive

DATASET = "benchmark/daily"
T = TypeVar("T")


class Watch:
    """Wall and CPU times of operations, in milliseconds."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def run(self, action: Callable[[], T]) -> T:
        """Time an operation."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = action()
        self.wall.append(1e3 * (time.perf_counter() - wall))
        self.cpu.append(1e3 * (time.process_time() - cpu))
        return result

    def __str__(self) -> str:
        last = slice(-1000, None)
        wall, cpu = statistics.median(self.wall[last]), statistics.median(self.cpu[last])
        return f"median of the last 1,000: {wall:.2f} ms wall, {cpu:.2f} ms CPU"


def main(days: int, recipients: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        keeper = Ledger.create(Path(place) / "ledger.db")
        keeper.grant(DATASET, epsilon=1.0, alpha=100.0, unit="MWh", window=30)
        for number in range(recipients):
            keeper.grant(DATASET, epsilon=1.0, recipient=f"recipient-{number}", window=30)
        ledger = Ledger(keeper.path)
        noise = LaplaceMechanism(alpha=100.0, epsilon=1.0 / 32.0)
        spends, draws = Watch(), Watch()
        for number in range(days):
            day = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
            secret = Sensitive([1.0] * 41, dataset=DATASET, unit="MWh", day=day)
            draft = noise._draft(secret, "benchmark", None)
            addressed = replace(draft, recipient=f"recipient-{number % recipients}")
            receipt = spends.run(partial(ledger.spend, addressed))
            draws.run(partial(ledger.note_draw, receipt, b"noise"))
            if number == days // 10:
                print(f"after {number} days: charges {spends}; draws {draws}", flush=True)
        print(f"after {days} days: charges {spends}; draws {draws}")
        reads = Watch()
        for number in range(1000):
            to = f"recipient-{number % recipients}"
            reads.run(partial(ledger.balance, DATASET, to))
        print(f"balances: {reads}")
        fresh = Watch()
        fresh.run(lambda: Ledger(keeper.path).balance(DATASET))
        print(f"the first operation of a process, which reads the chain: {fresh.cpu[0]:.0f} ms CPU")
        print(f"file: {keeper.path.stat().st_size / 1e6:.1f} MB")
        begun = time.process_time()
        print(f"verified: {ledger.verify().ok}, {time.process_time() - begun:.0f} s CPU")


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "10000", "1000")[:2]))
