"""Kill processes at random moments while they spend from one ledger, then check that the ledger is right.

Run with ``python -m benchmarks.ledger_torture [spends] [processes]``. Workers release until the budget is
used up and acknowledge each release in a file of their own; a killer sends SIGKILL to a random one every few
milliseconds and starts another in its place.
"""

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path

from ppsm.errors import BudgetExceededError
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive

DATASET = "torture"
_fork = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """What was counted after the last process had ended."""

    spends_in_ledger: int
    acknowledged: int
    lost: int
    counted_twice: int
    unacknowledged: int
    kills: int
    budget_left: float
    chain_ok: bool
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every promise of the ledger was kept."""
        return (
            self.chain_ok
            and self.lost == 0
            and self.counted_twice == 0
            and self.unacknowledged <= self.kills
            and self.budget_left >= 0
        )


def _work(ledger_path: Path, acknowledgements: Path, worker: int) -> None:
    """Release until the budget is used up; the purpose makes every release unique."""
    ledger = Ledger(ledger_path, timeout_s=60.0)
    mechanism = LaplaceMechanism(alpha=1.0, epsilon=1.0)
    secret = Sensitive([1.0, 2.0], dataset=DATASET, unit="MWh")
    log = os.open(acknowledgements, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    number = 0
    while True:
        try:
            released = mechanism.release(secret, ledger=ledger, purpose=f"worker {worker} release {number}")
        except BudgetExceededError:
            return
        if released.receipt is not None:
            os.write(log, f"{released.receipt.entry_hash} {released.record.purpose}\n".encode())
        number += 1


def torture(directory: Path, *, spends: int, processes: int, seed: int = 0) -> Outcome:
    """Spend under fire and return what the ledger says afterwards."""
    ledger_path, acknowledgements = directory / "ledger.db", directory / "acknowledged"
    Ledger.create(ledger_path).grant(DATASET, epsilon=float(spends), alpha=1.0, unit="MWh")
    chance = random.Random(seed)  # noqa: S311 - the moments of the kills need no secrecy
    started = time.perf_counter()
    workers: list[ForkProcess] = []
    launched = kills = 0

    def launch() -> ForkProcess:
        nonlocal launched
        launched += 1
        process = _fork.Process(target=_work, args=(ledger_path, acknowledgements, launched))
        process.start()
        return process

    workers = [launch() for _ in range(processes)]
    while any(worker.is_alive() for worker in workers):
        time.sleep(chance.uniform(0.002, 0.03))
        index = chance.randrange(processes)
        # No more kills than spends: on a slow machine the workers must get somewhere in the end.
        if workers[index].is_alive() and kills < spends:
            workers[index].kill()
            workers[index].join()
            if workers[index].exitcode == -signal.SIGKILL:
                kills += 1
                workers[index] = launch()
    for worker in workers:
        worker.join()
    return _outcome(ledger_path, acknowledgements, kills, time.perf_counter() - started)


def _outcome(ledger_path: Path, acknowledgements: Path, kills: int, seconds: float) -> Outcome:
    ledger = Ledger(ledger_path)
    entries = [entry for entry in ledger.entries() if entry.kind == "spend"]
    acknowledged = [line.split(" ", 1)[0] for line in acknowledgements.read_text().splitlines()]
    known = [entry.hash for entry in entries]
    releases = [entry.detail.split('"purpose": ')[1].split(",")[0] for entry in entries]
    return Outcome(
        spends_in_ledger=len(entries),
        acknowledged=len(acknowledged),
        lost=len(set(acknowledged) - set(known)),
        counted_twice=len(releases) - len(set(releases)),
        unacknowledged=len(set(known) - set(acknowledged)),
        kills=kills,
        budget_left=float(ledger.balance(DATASET).left),
        chain_ok=ledger.verify(acknowledged).ok,
        seconds=seconds,
    )


def main(spends: int, processes: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        seed = random.SystemRandom().getrandbits(32)
        outcome = torture(Path(directory), spends=spends, processes=processes, seed=seed)
    for name, value in asdict(outcome).items():
        print(f"{name:18} {value}")
    print("all promises kept" if outcome.holds else "A PROMISE WAS BROKEN")
    sys.exit(0 if outcome.holds else 1)


if __name__ == "__main__":
    main(
        spends=int(sys.argv[1]) if len(sys.argv) > 1 else 500,
        processes=int(sys.argv[2]) if len(sys.argv) > 2 else 8,
    )
