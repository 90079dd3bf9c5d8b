"""Rounds between two processes while everything goes wrong: each must end right or clearly, the budget exact.

``python -m benchmarks.party_faults --runs 300``: every run has one to three faults out of: requests and
replies lost, cut, doubled, delayed, repeated and delivered out of order, and spoilt; kill -9 of either side
before, after and amid each message, and of the follower at each moment of drawing noise; a full disk at
either side; a clock that jumps; a certificate that expires in the middle of the round. Killed sides are
started again, and the leader once more when its round is over: nothing may come of that. The last line is the
verdict.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.party_processes import (
    DATASET,
    FORK,
    GAS,
    MOMENTS,
    POWER,
    Follower,
    World,
    free_port,
    limit_files,
)
from benchmarks.party_proxy import FAULTS, Proxy, Wire
from ppsm.errors import PpsmError
from ppsm.protocol.desk import disagreements
from ppsm.protocol.dossiers import check_seal, sealed_head
from ppsm.protocol.identities import Identity, make_identities
from ppsm.protocol.messages import LAST, FailedMessage, NoisyMessage, Reply, Request, Terms
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.transcript import Transcript, check_transcript, compare_transcripts

STEPS = ("terms", "ask", "decision", "commitment")
KILLS = tuple(
    f"kill {who} {moment} {step}"
    for who in ("follower", "leader", "both")
    for moment in ("before", "after", "amid")
    for step in STEPS
)
DEATHS = tuple(f"follower dies when noise is {moment}" for moment in MOMENTS)
OTHERS = ("full disk", "full disk of the leader", "clock back", "clock ahead")
EXPIRY = "certificate expires"
ALL = (*FAULTS, *KILLS, *DEATHS, *OTHERS)
# A leader that was killed, or lost patience, is started again so often.
_STARTS = 8


class _Slow:
    """A way on which messages take long, each by a new connection: an open one shows no certificate again."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        inner._client.headers["Connection"] = "close"

    def terms(self) -> Terms:
        return self._inner.terms()  # type: ignore[no-any-return]

    def deliver(self, message: Request) -> Reply:
        time.sleep(0.8)
        return self._inner.deliver(message)  # type: ignore[no-any-return]


class Run:
    """One round with its faults, in a directory of its own."""

    def __init__(self, root: Path, faults: tuple[str, ...], seed: int) -> None:
        self.faults, self.random = faults, random.Random(seed)  # noqa: S311
        expires = EXPIRY in faults
        self.world = World(root, budget=5.0, lifetime_s=self.random.uniform(1.0, 2.2) if expires else 1e6)
        self.follower = Follower(self.world, free_port(), tls=expires)
        self.follower.dies_at = next((fault.split()[-1] for fault in faults if fault in DEATHS), None)
        self.wire = Wire(self.follower.port, seed=seed, on_event=self._on_event)
        self.leader: Any = None
        self.pending = [fault for fault in faults if fault in (*KILLS, *OTHERS)]
        spoilt = [fault for fault in faults if fault in FAULTS]
        self.wire.faults = [*spoilt, *[None] * 4]
        self.random.shuffle(self.wire.faults)
        self.said: list[str] = []
        self._timers: list[threading.Timer] = []

    def play(self) -> list[str]:
        """Run the round to its end; what is wrong about it."""
        self.follower.start()
        proxy = Proxy(self.wire)
        address = self.follower.address if self.follower.tls else proxy.address
        try:
            for _ in range(_STARTS):
                self._one_start(address)
                if self._is_over():
                    break
                self._repair()
            self._one_start(address)
        finally:
            proxy.close()
            self._end_timers()
            self.follower.kill()
        return self.findings()

    def _later(self, seconds: float, action: Callable[..., None], *arguments: object) -> None:
        self._timers.append(threading.Timer(seconds, action, arguments))
        self._timers[-1].start()

    def _end_timers(self) -> None:
        """Nothing may happen to the next run; a timer that runs may start one more."""
        for timer in self._timers:
            timer.cancel()
            timer.join()

    def _one_start(self, address: str) -> None:
        parent, child = FORK.Pipe()
        self.leader = FORK.Process(target=self._lead, args=(address, child), daemon=True)
        self.leader.start()
        child.close()
        try:
            self.said.append(parent.recv())
        except EOFError:
            self.said.append("killed")
        self.leader.join()

    def _lead(self, address: str, channel: Any) -> None:
        try:
            leader = self.world.leader(address, self.world.leader_home(), patience_s=1.5)
            if EXPIRY in self.faults:
                leader.transport = _Slow(leader.transport)
            leader.run()
            channel.send("done")
        except PpsmError as error:
            channel.send(str(error))

    def _on_event(self, path: str, moment: str) -> None:
        step = path.rsplit("/", 1)[-1]
        for fault in [each for each in self.pending if each in KILLS]:
            _, who, when, where = fault.split()
            if where != step or moment != ("before" if when == "amid" else when):
                continue
            self.pending.remove(fault)
            delay = 0.03 * self.random.random() if when == "amid" else 0.0
            if delay:
                self._later(delay, self._kill, who)
            else:
                self._kill(who)
        for fault in [each for each in self.pending if each in OTHERS]:
            if moment == "before" and self.random.random() < 0.5:
                self.pending.remove(fault)
                self._upset(fault)

    def _kill(self, who: str) -> None:
        if who in ("follower", "both"):
            self.follower.kill()
            if who == "follower":
                self._later(0.1, self._start_follower)
        if who in ("leader", "both"):
            pid = getattr(self.leader, "pid", None)
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    return

    def _start_follower(self) -> None:
        try:
            self.follower.start()
        except RuntimeError:  # killed again, or no room on the disk: whoever repairs starts it
            return

    def _upset(self, fault: str) -> None:
        if fault == "full disk":
            limit_files(self.follower.process.pid, self.random.choice([0, 4096, 20_000, 45_000]))
            self._later(0.4, self._free_disk)
        elif fault == "full disk of the leader":  # it is started again with an empty one
            limit_files(self.leader.pid, self.random.choice([0, 4096, 20_000]))
        elif fault == "clock back":
            self.follower.clock_offset.value = -3600.0
            self._later(0.4, self._set_clock)
        else:
            self.follower.clock_offset.value = 2 * 3600.0
            self._later(0.4, self._set_clock)

    def _free_disk(self) -> None:
        if self.follower.process.is_alive():
            limit_files(self.follower.process.pid, None)

    def _set_clock(self) -> None:
        self.follower.clock_offset.value = 0.0

    def _repair(self) -> None:
        """What an operator does before it tries again."""
        time.sleep(0.5)
        if EXPIRY in self.faults:
            fresh = self.world.root / "fresh"
            if not fresh.exists():
                make_identities(fresh, [GAS, POWER])
                for party in (GAS, POWER):
                    for name in ("tls-key.pem", "tls-certificate.pem", "authority.pem"):
                        shutil.copy(fresh / party / name, self.world.root / "identities" / party / name)
                self.follower.kill()
        if not self.follower.process.is_alive():
            self.follower.kill()
            self.follower.start()

    def _stores(self) -> tuple[RoundStore, RoundStore]:
        return RoundStore(self.world.leader_home() / "rounds.db"), self.world.follower_store()

    def _is_over(self) -> bool:
        mine = RoundStore(self.world.leader_home() / "rounds.db")
        rounds = mine.rounds()
        mine.close()
        return bool(rounds) and rounds[0].is_over

    def findings(self) -> list[str]:
        """Everything that must hold at the end, whatever happened."""
        mine, theirs = self._stores()
        ledger, found = self.world.ledger(), []
        archive = self.world.archive
        self.world.desk().store.close()  # whoever starts writes down what is not
        keys = Identity.read(self.world.root / "identities" / POWER).public_keys
        ended = mine.rounds()
        if len(ended) != 1 or not ended[0].is_over:
            found.append(f"the leader's round is not over: {self.said}")
        for each in ended:
            ours = Transcript(kept_by=POWER, messages=mine.messages(each.id))
            others = Transcript(kept_by=GAS, messages=theirs.messages(each.id))
            found += check_transcript(ours, keys).findings + compare_transcripts(ours, others).findings
            for home in (self.world.leader_home(), archive / each.id):
                found += check_seal(home, keys) or compare_heads(home, ours)
        if EXPIRY in self.faults and not any("certificate" in each for each in self.said):
            found.append(f"no certificate was refused: {self.said}")
        noisy = [each for each in theirs.replies_to_ask() if isinstance(each, NoisyMessage)]
        spent, drawn = ledger.balance(DATASET).spent, [each.kind for each in ledger.entries()].count("draw")
        if spent != Decimal(len(noisy)) or drawn != len(noisy):
            found.append(f"spent {spent} and noted {drawn} draws for {len(noisy)} releases")
        found += disagreements(ledger, theirs)
        found += ledger.verify().findings
        for store in (mine, theirs):
            store.close()
        ledger.close()
        return found

    @property
    def met(self) -> list[str]:
        """The faults that really came."""
        left = [*self.pending, *self.wire.faults]
        if not self.follower.has_died:
            left += DEATHS
        return [fault for fault in self.faults if fault not in left]

    @property
    def end(self) -> str:
        """How the round ended, in a word."""
        mine = RoundStore(self.world.leader_home() / "rounds.db")
        messages = mine.messages(mine.rounds()[0].id) if mine.rounds() else []
        mine.close()
        if not messages or messages[-1].kind not in LAST:
            return "not over"
        last = messages[-1]
        return f"failed: {last.body.code}" if isinstance(last, FailedMessage) else last.kind


def compare_heads(home: Path, kept: Transcript) -> list[str]:
    """Whether a directory has all of a round."""
    return [] if sealed_head(home) == kept.head else [f"{home.name} has not all of the round"]


def faults_of(number: int, choice: random.Random) -> tuple[str, ...]:
    """The faults of a run: each kind in turn, and up to two more; expiry needs a round without a proxy."""
    if number % 25 == 24:
        return (EXPIRY,)
    first = ALL[number % len(ALL)]
    return (first, *choice.sample(ALL, choice.randrange(3)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.party_faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    ends: collections.Counter[str] = collections.Counter()
    met: collections.Counter[str] = collections.Counter()
    wrong = 0
    for number in range(options.first, options.first + options.runs):
        choice = random.Random(number)  # noqa: S311
        faults = faults_of(number, choice)
        with tempfile.TemporaryDirectory() as directory:
            run = Run(Path(directory), faults, number)
            findings = run.play()
            ends[run.end] += 1
            met.update(run.met)
        if findings:
            wrong += 1
            print(f"run {number} {faults}: {findings}", flush=True)
        if number % 25 == 0:
            print(f"run {number}: {dict(ends)}", flush=True)
    never = [fault for fault in (*ALL, EXPIRY) if not met[fault]]
    print(f"faults that came: {dict(met)}; that never came: {never or 'none'}")
    print(f"{options.runs} runs ended {dict(ends)}; {wrong} of them wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
