"""Two parties on a market of two towns, and a recorded round of the case 'medium'."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.party_proxy import Proxy, Recorder, Wire
from benchmarks.secret_forms import jittered, with_secret_units

from ppsm import Ledger, Sensitive, load_case
from ppsm.cases.sides import follower_side, leader_side, market_digest
from ppsm.coordinations import GameCoordination, GasSide, GaucCoordination
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import make_identities
from ppsm.protocol.leader_round import LeaderRound
from ppsm.protocol.round_pages import write_leader_page
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.service import make_app
from ppsm.protocol.shared_market import Market
from ppsm.protocol.transport import HttpTransport
from tests.mechanism.conftest import DATASET, towns
from tests.protocol.parties import FOLLOWER, LEADER, Parties, policy
from tests.protocol.wire import listening

__all__ = ["towns"]


@pytest.fixture
def parties(tmp_path: Path, towns: GameCoordination) -> Parties:
    return Parties.at(tmp_path, towns)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A round of the case 'medium' through a recording proxy, each side with its own part of the case."""
    root = tmp_path_factory.mktemp("wire")
    whole = load_case("medium")
    truth = jittered(whole.demand_mwh(0.5), 1)
    identities = make_identities(root / "identities", [FOLLOWER, LEADER])
    Ledger.create(root / "ledger.db").grant(DATASET, epsilon=1.0, alpha=20.0, unit="MWh")
    follower, leader = follower_side(whole), with_secret_units(leader_side(whole))
    assert market_digest(follower) == market_digest(leader) == market_digest(whole)
    secret = Sensitive(truth, dataset=DATASET, unit="MWh", entry_names=whole.delivery_ids)
    store, ledger = RoundStore(root / "follower.db"), Ledger(root / "ledger.db")
    market = Market(GasSide(follower), market_digest(follower))
    archive = root / "archive"
    desk = FollowerDesk(market, secret, ledger, policy(alpha=20.0), identities[FOLLOWER], store, archive)
    (root / "home").mkdir()
    with listening(make_app(desk)) as address:
        wire = Wire(int(address.rsplit(":", 1)[1]))
        proxy = Proxy(wire)
        recorder = Recorder(int(proxy.address.rsplit(":", 1)[1]))
        way = HttpTransport(recorder.address, identities[LEADER], FOLLOWER)
        own = Market(GaucCoordination(leader, 0.2), market_digest(leader))
        mine = RoundStore(root / "leader.db")
        round_ = LeaderRound(own, identities[LEADER], FOLLOWER, mine, way, root / "home")
        result = round_.run()
        write_leader_page(root / "home", leader, result, mine.messages(result.round_id))
        way.close()
        recorder.close()
        proxy.close()
    return {
        "wire": wire, "recorder": recorder, "truth": truth, "leader": leader, "root": root, "desk": desk,
        "result": result,
    }  # fmt: skip


@pytest.fixture(scope="session")
def leaders_page(recorded: dict[str, Any]) -> Path:
    page: Path = recorded["root"] / "home" / "round.html"
    return page
