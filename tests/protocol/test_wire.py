"""What a round says on the wire and leaves in files, searched for what must not be there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ppsm import Ledger, Sensitive, load_case
from ppsm.cases.sides import follower_side, leader_side, market_digest
from ppsm.coordinations import GasSide, GaucCoordination
from ppsm.mechanism import PPSM, ModelBased
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import make_identities
from ppsm.protocol.leader_round import LeaderRound
from ppsm.protocol.messages import message_adapter
from ppsm.protocol.round_pages import follower_page
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.shared_market import Market
from ppsm.protocol.signatures import encoded
from ppsm.protocol.transport import InMemoryTransport
from tests.mechanism.conftest import DATASET
from tests.protocol.parties import FOLLOWER, LEADER, policy
from tests.protocol.wire import binary_forms_of, forms_of


def test_no_true_demand_is_on_the_wire(recorded: dict[str, Any]) -> None:
    everything = b"".join(each.request + each.reply for each in recorded["wire"].carried)
    truth = recorded["truth"]
    both = np.append(truth, [truth.sum(), truth.mean()])
    assert not [form for form in forms_of(both) if form.encode() in everything]
    assert not [form for form in binary_forms_of(both) if form in everything]
    noisy = recorded["result"].dossier.noisy.values
    assert [form for form in forms_of(noisy) if form.encode() in everything]  # the search finds what is there


def test_no_unit_data_are_on_the_wire(recorded: dict[str, Any]) -> None:
    sent = b"".join(each.request for each in recorded["wire"].carried)
    case = recorded["leader"]
    rows = [
        *[
            value
            for row in case.fleets
            for value in (row.no_load_usd_per_h, row.start_usd, row.ramp_mw_per_h)
        ],
        *[row.price_usd_per_mwh for row in case.bids],
        *[row.load_mw for row in case.buses],
        *[row.heat_rate_mmbtu_per_mwh for row in case.links],
        recorded["result"].cleared.leader_cost,
    ]
    numbers = np.array([value for value in rows if value])
    assert numbers.size > 40
    assert not [form for form in forms_of(numbers) if form.encode() in sent]
    assert not [form for form in binary_forms_of(numbers) if form in sent]
    plants = {row.fleet for row in case.links}
    strangers = [row.fleet for row in case.fleets if row.fleet not in plants]
    assert strangers
    assert not [name for name in strangers if f'"{name}"'.encode() in sent]


def test_nothing_outside_the_schema_is_on_the_wire(recorded: dict[str, Any]) -> None:
    carried = recorded["wire"].carried
    assert [each.path.rsplit("/", 1)[-1] for each in carried] == ["terms", "ask", "decision", "commitment"]
    for each in carried[1:]:
        for body in (each.request_body, each.reply_body):
            assert encoded(message_adapter.validate_json(body)) == body
    with pytest.raises(ValidationError):
        message_adapter.validate_json(carried[1].reply_body.replace(b'"total":', b'"true total":'))
    allowed = {"host", "accept", "accept-encoding", "user-agent", "authorization", "content-type", "date"}
    for each in carried:
        for side in (each.request, each.reply):
            head = side.split(b"\r\n\r\n")[0].decode().splitlines()[1:]
            names = {line.split(":")[0].lower() for line in head}
            assert names <= allowed | {"content-length"}


def test_files_and_pages_hold_no_secret(recorded: dict[str, Any]) -> None:
    """All that either side keeps, but for the ledger, whose key is the follower's own."""
    forms = [form.encode() for form in forms_of(recorded["truth"])] + binary_forms_of(recorded["truth"])
    files = [file for file in recorded["root"].rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        content = file.read_bytes()
        assert not [form for form in forms if form in content], file
    page = follower_page(recorded["desk"]).encode()
    assert not [form for form in forms if form in page]


def test_each_side_with_its_part_of_the_case_gets_what_one_process_gets(tmp_path: Path) -> None:
    whole = load_case("medium")
    secret = Sensitive(whole.demand_mwh(0.5), dataset=DATASET, unit="MWh", entry_names=whole.delivery_ids)
    game = GaucCoordination(whole, 0.2)
    alone = PPSM(alpha=20.0).simulate(secret, game, ModelBased(), seed=4)
    cleared = game.clear(alone.released.values)
    identities = make_identities(tmp_path / "identities", [FOLLOWER, LEADER])
    gas, power = follower_side(whole), leader_side(whole)
    Ledger.create(tmp_path / "ledger.db")
    desk = FollowerDesk(
        Market(GasSide(gas), market_digest(gas)),
        secret,
        Ledger(tmp_path / "ledger.db"),
        policy(alpha=20.0, research_seed=4),
        identities[FOLLOWER],
        RoundStore(tmp_path / "follower.db"),
    )
    own = Market(GaucCoordination(power, 0.2), market_digest(power))
    mine, way = RoundStore(tmp_path / "leader.db"), InMemoryTransport(desk, LEADER)
    result = LeaderRound(own, identities[LEADER], FOLLOWER, mine, way, tmp_path, research=True).run()
    assert result.dossier.released.values.tolist() == alone.released.values.tolist()
    assert result.cleared.leader_cost == cleared.leader_cost
    assert result.cleared.to_dict() == cleared.to_dict()
