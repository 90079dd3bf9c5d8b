"""What a round says on the wire and leaves in files, searched for what must not be there."""

import base64
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.secret_forms import found, unit_data, unlinked_fleets
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


def test_a_number_is_found_in_whatever_form() -> None:
    value = 7266.393312345678
    forms = (
        *(b"[7266.393312345678]", b"7,266.393", b"7.266393312e+03", b"7266393.312345", b">7266.3933<"),
        *(struct.pack("<d", value), b"x" + struct.pack(">f", value), struct.pack(">d", value).hex().encode()),
        *(base64.b64encode(bytes(skipped) + struct.pack("<d", value) + b"more") for skipped in range(4)),
    )
    for form in forms:
        assert found(b"before " + form + b" after", [value]) == [value], form
    for other in (b"7266.394", b"17266.3933", b"7266.4", struct.pack("<d", value + 1e-9)):
        assert not found(other, [value, 0.0])


def test_no_true_demand_is_on_the_wire(recorded: dict[str, Any]) -> None:
    everything = recorded["recorder"].sent + recorded["recorder"].received
    truth = recorded["truth"]
    assert not found(everything, [*truth, truth.sum(), truth.mean()])
    noisy = recorded["result"].dossier.noisy.values
    assert len(found(everything, noisy)) == noisy.size  # the search finds what is there
    assert b"content-encoding" not in everything.lower()


def test_no_unit_data_are_on_the_wire(recorded: dict[str, Any]) -> None:
    everything, case = recorded["recorder"].sent + recorded["recorder"].received, recorded["leader"]
    numbers = [*np.ravel(unit_data(case)), recorded["result"].cleared.leader_cost]
    assert np.count_nonzero(numbers) > 40
    assert not found(everything, numbers)
    strangers = unlinked_fleets(case)
    assert strangers
    assert not [name for name in strangers if f'"{name}"'.encode() in everything]


def test_nothing_outside_the_schema_is_on_the_wire(recorded: dict[str, Any]) -> None:
    carried = recorded["wire"].carried
    assert [each.path.rsplit("/", 1)[-1] for each in carried] == ["terms", "ask", "decision", "commitment"]
    for each in carried[1:]:
        for body in (each.request_body, each.reply_body):
            assert encoded(message_adapter.validate_json(body)) == body
    with pytest.raises(ValidationError):
        message_adapter.validate_json(carried[1].reply_body.replace(b'"totals":', b'"true totals":'))
    allowed = {"host", "accept", "accept-encoding", "user-agent", "authorization", "content-type", "date"}
    for each in carried:
        for side in (each.request, each.reply):
            head = side.split(b"\r\n\r\n")[0].decode().splitlines()[1:]
            names = {line.split(":")[0].lower() for line in head}
            assert names <= allowed | {"content-length"}


def test_files_and_pages_hold_no_secret(recorded: dict[str, Any]) -> None:
    """All that either side keeps, but for the ledger, whose key is the follower's own."""
    files = [file for file in recorded["root"].rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        assert not found(file.read_bytes(), recorded["truth"]), file
    page = follower_page(recorded["desk"]).encode()
    assert not found(page, recorded["truth"])
    units = np.ravel(unit_data(recorded["leader"]))
    followers = [*(recorded["root"] / "archive").rglob("*.json"), recorded["root"] / "follower.db"]
    for content in (page, *(file.read_bytes() for file in followers)):
        assert not found(content, units)


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
