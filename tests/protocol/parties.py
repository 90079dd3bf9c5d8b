"""Two parties on the market of two towns: quick to solve, so that whole rounds are."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ppsm import Ledger, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.privacy import LedgerKeeper
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import Identity, make_identities
from ppsm.protocol.leader_round import LeaderRound
from ppsm.protocol.policy import Allowance, Policy
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.shared_market import Market, digest_of
from ppsm.protocol.transport import InMemoryTransport, Transport
from tests.mechanism.conftest import DATASET, TRUTH

FOLLOWER, LEADER, OTHER = "gas", "power", "rival"
ALPHA = 0.5  # so little noise that the leader can practically always clear its game


def policy(**changes: object) -> Policy:
    """A policy that is generous unless it is told otherwise."""
    fields: dict[str, object] = {
        "format": "ppsm-policy/1",
        "dataset": DATASET,
        "day": "2026-01-15",
        "alpha": ALPHA,
        "epsilon": 1.0,
        "requests_per_minute": 1e6,
        "parties": {LEADER: Allowance(rounds=10_000, epsilon=1e6), OTHER: Allowance(rounds=1, epsilon=1.0)},
    }
    return Policy.model_validate(fields | changes)


@dataclass
class Parties:
    """Both sides below one directory, as two machines would have them."""

    root: Path
    towns: GameCoordination
    identities: dict[str, Identity]
    keeper: LedgerKeeper

    @classmethod
    def at(cls, root: Path, towns: GameCoordination, *, budget: float = 1000.0) -> "Parties":
        identities = make_identities(root / "identities", [FOLLOWER, LEADER, OTHER])
        (root / "gas").mkdir()
        keeper = Ledger.create(root / "gas" / "ledger.db")
        keeper.grant(DATASET, epsilon=budget, alpha=ALPHA, unit="MWh", most_per_release=10.0)
        return cls(root, towns, identities, keeper)

    @property
    def market(self) -> Market[GameCoordination]:
        return Market(self.towns, digest_of(self.towns))

    def desk(
        self,
        rules: Policy | None = None,
        clock: Callable[[], float] | None = None,
        archive: Path | None = None,
    ) -> FollowerDesk:
        """The follower as it starts: from its files."""
        file = self.root / "gas" / "rounds.db"
        secret = Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("west", "east"))
        return FollowerDesk(
            self.market,
            secret,
            Ledger(self.root / "gas" / "ledger.db"),
            rules or policy(),
            self.identities[FOLLOWER],
            RoundStore(file) if clock is None else RoundStore(file, clock=clock),
            archive,
        )

    def leader(
        self,
        transport: Transport,
        name: str = LEADER,
        *,
        research: bool = False,
        patience_s: float = 120.0,
        sleep: Callable[[float], None] = lambda _: None,
        home: str | None = None,
    ) -> LeaderRound:
        """The leader as it starts: from its files."""
        directory = self.root / (home or name)
        directory.mkdir(exist_ok=True)
        return LeaderRound(
            self.market,
            self.identities[name],
            FOLLOWER,
            RoundStore(directory / "rounds.db"),
            transport,
            directory,
            research=research,
            patience_s=patience_s,
            sleep=sleep,
        )

    def in_memory(self, desk: FollowerDesk, name: str = LEADER) -> InMemoryTransport:
        return InMemoryTransport(desk, name)
