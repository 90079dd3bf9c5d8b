"""Lies with good signatures, requests without end, and kills at the moments between two files."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

import ppsm.protocol.desk as desk_module
import ppsm.protocol.leader_round as leader_module
from ppsm.coordinations import GameCoordination
from ppsm.errors import InputError, ProtocolError, SolverError
from ppsm.files import write_bytes_atomically
from ppsm.games.follower import Follower
from ppsm.protocol.dossiers import DOSSIER, SEAL, TRANSCRIPT, Seal, archive_round, check_seal, write_seal
from ppsm.protocol.identities import make_identities
from ppsm.protocol.messages import Ask, Failed, Noisy, Reply, Request, Restored, Strict, Terms
from ppsm.protocol.round_pages import follower_page
from ppsm.protocol.service import make_app
from ppsm.protocol.signatures import encoded, sign, signed_message
from ppsm.protocol.transcript import Transcript, check_transcript, compare_transcripts
from ppsm.protocol.transport import HttpTransport, InMemoryTransport, RefusedError, UnreachableError
from ppsm.protocol.tuning import TUNING
from tests.mechanism.conftest import DATASET
from tests.protocol.parties import FOLLOWER, LEADER, OTHER, Parties
from tests.protocol.test_rounds import Lossy, Lying, Stopped, spent, stop_at


class NobodyThere(InMemoryTransport):
    """A way that leads nowhere."""

    def terms(self) -> Terms:
        raise UnreachableError("nobody is there")

    def deliver(self, message: Request) -> Reply:
        raise UnreachableError(f"nobody is there to take {message.kind}")


def test_the_same_round_again_is_read_from_the_files(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = parties.desk()
    first = parties.leader(parties.in_memory(desk)).run()
    written = (parties.root / LEADER / DOSSIER).read_bytes()
    monkeypatch.setattr(GameCoordination, "clear", None)  # what was committed is not decided again
    again = parties.leader(NobodyThere(desk, LEADER)).run()
    assert again.round_id == first.round_id
    assert again.cleared.to_dict() == first.cleared.to_dict()
    assert again.told == first.told
    assert (parties.root / LEADER / DOSSIER).read_bytes() == written
    assert spent(parties) == 1


def test_a_leader_killed_before_it_has_written_the_end_down_goes_on(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Stopped

    first = parties.leader(parties.in_memory(parties.desk()))
    with monkeypatch.context() as patched:
        patched.setattr(leader_module, "write_seal", killed)
        with pytest.raises(Stopped):
            first.run()
    second = parties.leader(parties.in_memory(parties.desk()))
    assert second.run().round_id == first.round_id
    assert spent(parties) == 1
    assert Transcript.read(parties.root / LEADER / TRANSCRIPT).is_complete


@pytest.mark.parametrize("kind", ["decision", "commitment"])
def test_what_was_sent_is_what_is_written_down(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A search that is stopped by its time limit may find something else the second time."""
    with pytest.raises(Stopped):
        parties.leader(Lossy(parties.desk(), after=stop_at(kind))).run()
    monkeypatch.setattr(GameCoordination, "decide", None)
    if kind == "commitment":
        monkeypatch.setattr(GameCoordination, "clear", None)
    desk = parties.desk()
    result = parties.leader(parties.in_memory(desk)).run()
    kept = {each.kind: each for each in desk.store.messages(result.round_id)}
    assert result.cleared.felt is not None
    assert kept["commitment"].body.values == result.cleared.felt.tolist()  # type: ignore[union-attr]


def test_a_round_that_was_ended_stays_ended_in_its_directory(parties: Parties) -> None:
    desk = parties.desk()
    parties.leader(parties.in_memory(desk, OTHER), OTHER).run()
    for _ in range(2):
        with pytest.raises(ProtocolError, match="limit"):
            parties.leader(parties.in_memory(desk, OTHER), OTHER, home="second").run()
    assert len(desk.store.rounds()) == 2


def archived(parties: Parties, messages: list[Any]) -> None:
    home = parties.root / "archive" / messages[0].round
    kept = Transcript.read(home / TRANSCRIPT)
    assert compare_transcripts(kept, Transcript(kept_by=LEADER, messages=messages)).ok
    assert check_seal(home, parties.identities[LEADER].public_keys) == []
    assert (home / DOSSIER).exists()


@pytest.mark.parametrize("why", ["killed", "full disk"])
@pytest.mark.parametrize("kind", ["decision", "commitment"])
def test_what_could_not_be_archived_is_archived_at_the_next_start(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, why: str, kind: str
) -> None:
    def fail(home: Path, identity: Any, messages: list[Any]) -> None:
        if messages[-2].kind == kind:
            raise Stopped if why == "killed" else OSError("no room")
        archive_round(home, identity, messages)

    first = parties.desk(archive=parties.root / "archive")
    with monkeypatch.context() as patched:
        patched.setattr(desk_module, "archive_round", fail)
        if why == "killed":
            with pytest.raises(Stopped):
                parties.leader(parties.in_memory(first)).run()
        else:
            parties.leader(parties.in_memory(first)).run()
    desk = parties.desk(archive=parties.root / "archive")
    leader = parties.leader(parties.in_memory(desk))
    archived(parties, desk.store.messages(leader.round_id))
    leader.run()
    archived(parties, desk.store.messages(leader.round_id))


def test_what_could_not_be_archived_is_archived_with_the_next_round(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no room")

    desk = parties.desk(archive=parties.root / "archive")
    with monkeypatch.context() as patched:
        patched.setattr(desk_module, "archive_round", full)
        first = parties.leader(parties.in_memory(desk)).run()
    parties.leader(parties.in_memory(desk), home="second").run()
    archived(parties, desk.store.messages(first.round_id))


def _changed(part: str, **update: Any) -> Callable[[Any], Strict]:
    def lie(body: Restored) -> Restored:
        told = getattr(body, part)
        return body.model_copy(update={part: told.model_copy(update=update)})

    return lie


@pytest.mark.parametrize(
    "lie",
    [
        _changed("predicted", prices=[1.0]),
        _changed("predicted", prices=[]),
        _changed("released", values=[1.0]),
        _changed("released", private=False),
        _changed("fidelity", widening=-1.0),
        _changed("fidelity", widening=0.5),
        _changed("fidelity", value=1e6),
        _changed("fidelity", objective=1e6),
        _changed("fidelity", value_band=[0.0, 1e9]),
        _changed("fidelity", has_price_band=False),
        _changed("fidelity", faithful=False),
        _changed("fidelity", gap=-0.5),
        _changed("fidelity", bound=1e9),
    ],
)
def test_a_false_proof_is_found_out_and_the_round_is_over(
    parties: Parties, lie: Callable[[Any], Strict]
) -> None:
    way = Lying(parties, "restored", lie)
    leader = parties.leader(way)
    with pytest.raises(ProtocolError, match="its message is signed"):
        leader.run()
    assert leader.store.messages(leader.round_id)[-1].kind == "abandon"  # its desk has said something else


@pytest.mark.parametrize("part", ["values", "purpose", "private", "dimension", "scale"])
def test_a_false_noisy_vector_is_found_out_and_the_round_is_over(parties: Parties, part: str) -> None:
    def lie(body: Noisy) -> Noisy:
        told = body.released
        record = told.record
        changes: dict[str, dict[str, Any]] = {
            "values": {"values": [1.0]},
            "purpose": {"record": record.model_copy(update={"purpose": f"round {'a' * 32} for {LEADER}"})},
            "private": {"private": False},
            "dimension": {"record": record.model_copy(update={"dimension": 99})},
            "scale": {"record": record.model_copy(update={"scale": 1e-9})},
        }
        return body.model_copy(update={"released": told.model_copy(update=changes[part])})

    leader = parties.leader(Lying(parties, "noisy", lie))
    with pytest.raises(ProtocolError, match="its message is signed"):
        leader.run()
    assert leader.store.messages(leader.round_id)[-1].kind == "abandon"  # its desk has said something else
    kept = Transcript(kept_by=LEADER, messages=leader.store.messages(leader.round_id))
    found = check_transcript(kept, parties.identities[LEADER].public_keys).findings
    assert any("noisy vector" in each for each in found), found


def test_totals_of_other_zones_than_the_markets_are_found_out(parties: Parties) -> None:
    """Each town is said to be a zone; the market has none, and the record agrees with its totals."""

    def lie(body: Noisy) -> Noisy:
        told = body.released
        coarser = 3.0 * told.record.scale
        record = told.record.model_copy(update={"scale": coarser, "total_scale": coarser, "zones": [0, 1]})
        return body.model_copy(
            update={"released": told.model_copy(update={"record": record, "totals": told.values})}
        )

    with pytest.raises(ProtocolError, match="totals of other zones than the market has"):
        parties.leader(Lying(parties, "noisy", lie)).run()


def sealed_round(parties: Parties) -> tuple[Path, dict[str, Any]]:
    parties.leader(parties.in_memory(parties.desk())).run()
    return parties.root / LEADER, parties.identities[OTHER].public_keys


def test_a_seal_says_the_day_and_market_of_its_transcript(parties: Parties) -> None:
    home, keys = sealed_round(parties)
    seal = Seal.model_validate_json((home / SEAL).read_bytes())
    for update in ({"day": "2026-01-16"}, {"market": "f" * 64}, {"signer": OTHER}):
        content = seal.content.model_copy(update=update)
        signer = parties.identities[content.signer]
        forged = Seal(content=content, signature=sign(signer.key, content.model_dump(mode="json")))
        write_bytes_atomically(home / SEAL, encoded(forged))
        assert check_seal(home, keys) != [], update


def test_a_dossier_of_other_numbers_is_found_out_though_it_is_sealed(parties: Parties) -> None:
    home, keys = sealed_round(parties)
    transcript, written = Transcript.read(home / TRANSCRIPT), json.loads((home / DOSSIER).read_text())
    for part in ("noisy", "released"):
        changed = json.loads(json.dumps(written))
        changed[part]["values"][0] += 1.0
        (home / DOSSIER).write_text(json.dumps(changed))
        write_seal(home, parties.identities[LEADER], transcript)
        assert any("dossier" in each for each in check_seal(home, keys)), part


LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "statement": lambda told: told.update(statement="Nobody learns anything."),
    "promise": lambda told: told["promise"].clear(),
    "mechanism": lambda told: told["mechanism"].update(eta_p=0.5),
    "no such vector": lambda told: told["released"]["receipt"].update(entry_hash="x"),
    "step 1": lambda told: told["steps"][0]["output"]["values"].reverse(),
    "decision": lambda told: told["steps"][2]["output"].update(values=[0.0]),
    "no decision": lambda told: told["steps"][2].update(output=1.0),
    "prediction": lambda told: told["steps"][3]["output"].update(value=1.0),
    "widening": lambda told: told["steps"][4]["output"].update(widening=1.5),
    "a step less": lambda told: told["steps"].pop(),
    "theory": lambda told: told["theory"]["distance"].update(likely_l1=0.0),
    "a word more": lambda told: told.update(audited=True),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_dossier_that_says_something_else_than_the_messages_is_found_out_though_it_is_sealed(
    parties: Parties, lie: Callable[[dict[str, Any]], object]
) -> None:
    home, keys = sealed_round(parties)
    assert check_seal(home, keys) == []
    told = json.loads((home / DOSSIER).read_text())
    lie(told)
    (home / DOSSIER).write_text(json.dumps(told))
    write_seal(home, parties.identities[LEADER], Transcript.read(home / TRANSCRIPT))
    assert any("dossier" in each for each in check_seal(home, keys))


def test_what_one_side_has_kept_is_no_second_opinion_of_itself(parties: Parties) -> None:
    home, keys = sealed_round(parties)
    kept = Transcript.read(home / TRANSCRIPT)
    assert not compare_transcripts(kept, kept).ok
    stranger = kept.model_copy(update={"kept_by": OTHER})
    assert any("kept" in each for each in check_transcript(stranger, keys).findings)


def test_a_market_that_fails_on_a_commitment_ends_the_round(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = parties.desk()

    def fail(message: Request) -> None:
        if message.kind == "commitment":
            monkeypatch.setattr(Follower, "solve", refuse)

    def refuse(*_: object) -> None:
        raise SolverError("the numbers are too far apart")

    with pytest.raises(ProtocolError, match=r"\(unsolved\).*too far apart"):
        parties.leader(Lossy(desk, before=fail)).run()
    assert desk.store.rounds()[0].last == "failed"


def test_a_size_of_five_thousand_digits_is_no_size(parties: Parties) -> None:
    client = TestClient(make_app(parties.desk()), raise_server_exceptions=False)
    answer = client.get("/health", headers={"Content-Length": "9" * 5000})
    assert answer.status_code == 413


def test_the_page_says_which_rounds_have_waited_too_long(parties: Parties) -> None:
    jump = [0.0]
    desk = parties.desk(clock=lambda: time.time() + jump[0])
    with pytest.raises(Stopped):
        parties.leader(Lossy(desk, after=stop_at("ask"))).run()
    assert "longer than a round may take" not in follower_page(desk)
    jump[0] = desk.policy.round_timeout_s + 60.0
    assert "waits for the decision, for longer than a round may take" in follower_page(desk)


def asking(parties: Parties, number: int) -> Request:
    leader = parties.identities[LEADER]
    body = Ask(market="f" * 64, dataset=DATASET, day="2026-01-15")
    when = datetime.fromisoformat("2026-01-15T00:00:00+00:00")
    fields = {"round_id": f"{number:032x}", "recipient": FOLLOWER, "time": when}
    return signed_message(leader, body, kind="ask", before=None, **fields)  # type: ignore[return-value, arg-type]


def test_rounds_that_cost_nothing_do_not_fill_the_disk(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, most = parties.desk(), 5
    monkeypatch.setattr(desk_module, "TUNING", replace(TUNING, most_free_rounds=most))
    for number in range(most):
        assert desk.receive(LEADER, asking(parties, number)).kind == "failed"
    with pytest.raises(RefusedError) as refusal:
        desk.receive(LEADER, asking(parties, most))
    assert refusal.value.status == 403
    assert desk.store.messages(f"{most:032x}") == []
    assert desk.receive(LEADER, asking(parties, 0)).kind == "failed"  # what was answered stays answered
    parties.leader(parties.in_memory(desk, OTHER), OTHER).run()  # others have theirs


@pytest.mark.parametrize("address", ["http://gas.example:8443", "http://192.0.2.1", "http://[2001:db8::1]:1"])
def test_a_token_is_not_sent_in_the_clear_to_another_computer(parties: Parties, address: str) -> None:
    with pytest.raises(InputError, match="https"):
        HttpTransport(address, parties.identities[LEADER], FOLLOWER)


@pytest.mark.parametrize("names", [["Gas"], ["power co"], ["gas", "gas"], ["authority"], ["../gas"], [""]])
def test_identities_have_names_that_messages_can_carry(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(InputError):
        make_identities(tmp_path / "identities", names)
    assert not (tmp_path / "identities").exists()


@pytest.mark.parametrize("sign_", ["\x9b2J", "\u202egas", "\u2028", "\x1b[2J"])
def test_texts_cannot_steer_a_terminal(sign_: str) -> None:
    with pytest.raises(ValidationError):
        Failed(code="budget", message=f"The budget {sign_} is empty.")
