"""Many leaders at one follower: does the budget hold, how long do they wait, does memory stay flat.

``python -m benchmarks.party_load`` starts 100 leaders at once, each a process, on a budget for 60 rounds, and
then runs 4,000 rounds one after the other. The last line is the verdict.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.party_processes import DATASET, FORK, Follower, World, running
from ppsm.errors import ProtocolError
from ppsm.protocol.messages import Reply, Request, Terms
from ppsm.protocol.transport import Transport

# The least-squares growth of memory that counts as flat, for the second half of the rounds.
FLAT_KB_PER_ROUND = 1.0


class Timed:
    """A transport that notes how long each request took."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.seconds = inner, list[tuple[str, float]]()

    def terms(self) -> Terms:
        """What the follower's policy says."""
        return self.inner.terms()

    def deliver(self, message: Request) -> Reply:
        """Send a message on, and look at the clock."""
        start = time.perf_counter()
        try:
            return self.inner.deliver(message)
        finally:
            self.seconds.append((message.kind, time.perf_counter() - start))


def lead(world: World, address: str, name: str, channel: Any, start: Any) -> None:
    """One leader's round in a process of its own."""
    leader = world.leader(address, world.leader_home(name), patience_s=300.0)
    leader.transport = timed = Timed(leader.transport)
    start.wait()
    try:
        leader.run()
        end = "outcome"
    except ProtocolError as error:
        end = str(error)
    channel.put((end, timed.seconds))


def parallel(leaders: int, budget: int) -> bool:
    """All leaders at once; whether exactly the budget was spent."""
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory), budget=float(budget))
        with running(world) as follower:
            ends, seconds = _all_at_once(world, follower, leaders)
        spent, verified = world.ledger().balance(DATASET).spent, world.ledger().verify().ok
    done = ends["outcome"]
    print(f"{leaders} leaders at once, a budget for {budget} rounds: {done} rounds, spent {spent}")
    print(f"all ends: {dict(ends)}")
    for kind in ("ask", "decision", "commitment"):
        taken = np.array([each for name, each in seconds if name == kind])
        middle, high, most = np.quantile(taken, [0.5, 0.95, 1.0])
        print(
            f"{kind:10} {taken.size:4} requests: median {middle:.2f} s, 95 % {high:.2f} s, most {most:.2f} s"
        )
    return verified and spent == min(budget, leaders) == done and ends.total() == leaders


def _all_at_once(
    world: World, follower: Follower, leaders: int
) -> tuple[Counter[str], list[tuple[str, float]]]:
    channel, start = FORK.Queue(), FORK.Event()
    names = [f"leader-{number}" for number in range(leaders)]
    arguments = [(world, follower.address, name, channel, start) for name in names]
    processes = [FORK.Process(target=lead, args=each, daemon=True) for each in arguments]
    for process in processes:
        process.start()
    start.set()
    found = [channel.get() for _ in processes]
    for process in processes:
        process.join()
    ends = Counter(end if end == "outcome" else end.split(":")[0] for end, _ in found)
    return ends, [each for _, seconds in found for each in seconds]


def sequence(rounds: int) -> bool:
    """Rounds one after the other; whether the follower's memory stays flat."""
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory), budget=float(rounds))
        with running(world) as follower:
            start, sizes = time.process_time(), []
            for number in range(rounds):
                leader = world.leader(follower.address, world.leader_home(f"round-{number}"))
                leader.run()
                leader.store.close()
                leader.transport.close()  # type: ignore[attr-defined]
                sizes.append(follower.resident_mb())
                if number % (rounds // 10) == rounds // 10 - 1:
                    print(f"after {number + 1} rounds: {sizes[-1]:.1f} MB")
            taken = time.process_time() - start
        spent = world.ledger().balance(DATASET).spent
    half = sizes[rounds // 2 :]
    growth = 1024.0 * float(np.polyfit(np.arange(len(half)), half, 1)[0])
    print(f"{rounds} rounds, spent {spent}, leader's CPU {taken / rounds:.3f} s a round, growth of the ")
    print(f"follower in the second half {growth:.2f} kB a round")
    return spent == rounds and growth < FLAT_KB_PER_ROUND


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.party_load", description=__doc__)
    parser.add_argument("--leaders", type=int, default=100)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=4000)
    options = parser.parse_args()
    good = parallel(options.leaders, options.budget)
    good &= sequence(options.rounds)
    print("the budget held and memory stayed flat" if good else "WRONG: see above")
    sys.exit(not good)


if __name__ == "__main__":
    main()
