"""A follower's service and leaders as processes of their own, on a market that takes milliseconds.

Processes are forked from one that has loaded everything, so that hundreds can be started and killed. The
follower listens on loopback; ``TRUTH`` is its secret.
"""

import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.tiny_market import TOWNS, TinyMarket
from ppsm import Ledger, Sensitive
from ppsm.errors import PpsmError
from ppsm.privacy.ledger import roles
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import Identity, make_identities
from ppsm.protocol.leader_round import LeaderRound
from ppsm.protocol.messages import ReleasedVector
from ppsm.protocol.policy import Allowance, Policy
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.service import make_app, server
from ppsm.protocol.shared_market import Market, digest_of
from ppsm.protocol.transport import HttpTransport

TRUTH = np.array([8.123456789, 5.567891234, 6.912345678])
DATASET, ALPHA = "tiny/rounds", 1.0
GAS, POWER = "gas", "power"
FORK = multiprocessing.get_context("fork")
# Moments of drawing noise, right after a call of these: the desk's docstring tells what each leaves behind.
MOMENTS: dict[str, tuple[Any, str]] = {
    "charged": (Ledger, "spend"),
    "drawn": (ReleasedVector, "of"),
    "kept": (FollowerDesk, "_say"),
    "noted": (Ledger, "note_draw"),
}


@dataclass
class World:
    """Everything that both parties have on their disks, below one directory."""

    root: Path
    budget: float = 1000.0
    timeout_s: float = 3600.0
    requests_per_minute: float = 1e9
    lifetime_s: float = 1e6
    identities: dict[str, Identity] = field(init=False)

    def __post_init__(self) -> None:
        lifetime = timedelta(seconds=self.lifetime_s)
        self.identities = make_identities(self.root / "identities", [GAS, POWER], lifetime=lifetime)
        (self.root / GAS).mkdir()
        keeper = Ledger.create(self.root / GAS / "ledger.db")
        keeper.grant(DATASET, epsilon=self.budget, alpha=ALPHA, unit=TinyMarket.unit)
        keeper.close()

    @property
    def policy(self) -> Policy:
        """Generous in all but what a run is about."""
        return Policy(
            format="ppsm-policy/1",
            dataset=DATASET,
            day="2026-01-15",
            alpha=ALPHA,
            round_timeout_s=self.timeout_s,
            requests_per_minute=self.requests_per_minute,
            parties={POWER: Allowance(rounds=10**6, epsilon=1e9)},
        )

    def ledger(self) -> Ledger:
        """The follower's."""
        return Ledger(self.root / GAS / "ledger.db")

    def follower_store(self) -> RoundStore:
        """What the follower has kept."""
        return RoundStore(self.root / GAS / "rounds.db")

    def leader_home(self, name: str = "leader") -> Path:
        """The directory of a leader."""
        home = self.root / name
        home.mkdir(exist_ok=True)
        return home

    def desk(self, clock: Callable[[], float] = time.time) -> FollowerDesk:
        """The follower as it starts."""
        market = TinyMarket()
        secret = Sensitive(TRUTH, dataset=DATASET, unit=market.unit, entry_names=TOWNS)
        store = RoundStore(self.root / GAS / "rounds.db", clock=clock)
        known = Market(market, digest_of(market))
        who = self.identities[GAS]
        return FollowerDesk(known, secret, self.ledger(), self.policy, who, store, self.archive)

    @property
    def archive(self) -> Path:
        """Where the follower writes rounds down."""
        return self.root / GAS / "archive"

    def leader(self, address: str, home: Path, **options: Any) -> LeaderRound:
        """A leader as it starts."""
        market = TinyMarket()
        return LeaderRound(
            Market(market, digest_of(market)),
            Identity.read(self.root / "identities" / POWER),
            GAS,
            RoundStore(home / "rounds.db"),
            HttpTransport(address, Identity.read(self.root / "identities" / POWER), GAS, timeout_s=20.0),
            home,
            **options,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Follower:
    """The follower's service as a process that can be killed and started again.

    ``clock_offset`` moves its clock while it runs. ``dies_at`` is a moment of drawing noise
    (:data:`MOMENTS`) at which it kills itself, once.
    """

    def __init__(self, world: World, port: int, *, tls: bool = False) -> None:
        self.world, self.port, self.tls = world, port, tls
        self.clock_offset = FORK.Value("d", 0.0)
        self.dies_at: str | None = None
        self._died = FORK.Value("i", 0)
        self.process: Any = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = FORK.Process(target=self._serve, daemon=True)
        self.process.start()
        identity = Identity.read(self.world.root / "identities" / POWER)
        while True:
            try:
                HttpTransport(self.address, identity, GAS, timeout_s=2.0).terms()
            except PpsmError:
                if not self.process.is_alive():
                    raise RuntimeError("the follower did not start") from None
                if "CERTIFICATE" in str(sys.exc_info()[1]):
                    return  # it is there, and its certificate is not good: that may be the point
                time.sleep(0.02)
            else:
                return

    def _serve(self) -> None:
        log = self.world.root / GAS / "service.log"
        logging.basicConfig(filename=log, level=logging.INFO, force=True)

        def clock() -> float:
            return time.time() + float(self.clock_offset.value)

        roles.now = lambda: datetime.fromtimestamp(clock(), UTC)
        self._prepare_death()
        identity = Identity.read(self.world.root / "identities" / GAS)
        desk = self.world.desk(clock)
        app = make_app(desk)
        server(app, "127.0.0.1", self.port, identity if self.tls else None).run()

    def _prepare_death(self) -> None:
        if self.dies_at is None or self._died.value:
            return
        owner, name = MOMENTS[self.dies_at]
        done = getattr(owner, name)

        def last(*arguments: Any, **options: Any) -> Any:
            result = done(*arguments, **options)
            self._died.value = 1
            os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, name, last)

    @property
    def has_died(self) -> bool:
        """Whether the moment to die has come."""
        return bool(self._died.value)

    def kill(self) -> None:
        """Kill -9."""
        if self.process is not None and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.join()

    def resident_mb(self) -> float:
        """Memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024.0


def limit_files(process: int, size: int | None) -> None:
    """A full disk: no file of a process can grow beyond a size; None ends it."""
    limit = resource.RLIM_INFINITY if size is None else size
    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


@contextmanager
def running(world: World, *, tls: bool = False) -> Iterator[Follower]:
    """A follower that is there, and gone at the end."""
    follower = Follower(world, free_port(), tls=tls)
    follower.start()
    try:
        yield follower
    finally:
        follower.kill()


def bearer(world: World) -> dict[str, str]:
    """What the leader shows where there is no TLS."""
    token = (world.root / "identities" / POWER / "token").read_text()
    return {"Authorization": f"Bearer {token}"}


def client(world: World, follower: Follower) -> httpx.Client:
    """Plain HTTP to the service, as the leader."""
    return httpx.Client(base_url=follower.address, headers=bearer(world), trust_env=False, timeout=60.0)
