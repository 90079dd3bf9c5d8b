"""What can be said at all, and what is refused: forged, altered, replayed and re-ordered messages."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ppsm import Sensitive
from ppsm.errors import FileFormatError, InputError, SecretExposureError
from ppsm.protocol.dossiers import check_seal
from ppsm.protocol.identities import Identity
from ppsm.protocol.messages import MESSAGES, AskMessage, Felt, ReleasedVector, Request, message_adapter
from ppsm.protocol.signatures import decoded, encoded, signed_message
from ppsm.protocol.transcript import Transcript, check_transcript, compare_transcripts
from ppsm.protocol.transport import RefusedError
from tests.mechanism.conftest import DATASET, TRUTH
from tests.protocol.parties import FOLLOWER, LEADER, OTHER, Parties


def finished(parties: Parties) -> tuple[list[Any], Any]:
    desk = parties.desk()
    result = parties.leader(parties.in_memory(desk)).run()
    return desk.store.messages(result.round_id), desk


def test_a_secret_cannot_be_said() -> None:
    secret = Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("west", "east"))
    with pytest.raises(SecretExposureError):
        ReleasedVector.of(secret)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Released"):
        ReleasedVector.of(list(TRUTH))  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Felt.model_validate({"names": ["a"], "values": secret, "unit": "MWh"})


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"number": "0"},
        {"number": 99},
        {"round": "x"},
        {"kind": "gossip"},
        {"format": "ppsm-message/2"},
        {"signature": ""},
        {"body": {"market": "0" * 64, "dataset": "d", "day": "2026-01-15", "demand": [1.0]}},
    ],
)
def test_unknown_and_malformed_fields_are_refused(parties: Parties, change: dict[str, Any]) -> None:
    messages, _ = finished(parties)
    content = json.loads(encoded(messages[0])) | change
    with pytest.raises(ValidationError):
        message_adapter.validate_python(content)


def test_json_is_taken_literally() -> None:
    for text in (b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b"\xff"):
        with pytest.raises(FileFormatError):
            decoded(text)


def test_messages_read_back_as_they_were_written(parties: Parties) -> None:
    messages, _ = finished(parties)
    assert [each.kind for each in messages] == [
        *("ask", "noisy", "decision", "restored", "commitment", "outcome")
    ]
    for each in messages:
        assert encoded(message_adapter.validate_json(encoded(each))) == encoded(each)
        assert type(each) is MESSAGES[each.kind]


def test_forged_and_borrowed_messages_are_refused(parties: Parties) -> None:
    messages, desk = finished(parties)
    ask = messages[0]
    rival = parties.identities[OTHER]

    def said(key: Identity, **changes: Any) -> Request:
        fields = {"kind": "ask", "round_id": "a" * 32, "recipient": FOLLOWER}
        time = datetime.fromisoformat(ask.time)
        as_leader = replace(key, name=LEADER)
        made = signed_message(as_leader, ask.body, **(fields | changes), time=time, before=None)
        assert isinstance(made, AskMessage)
        return made

    for party, message, code in (
        (LEADER, said(rival), "signature"),  # another's key
        (OTHER, said(rival), "party"),  # another's name
        (OTHER, said(parties.identities[LEADER]), "party"),  # another's message
        (LEADER, said(parties.identities[LEADER], recipient=OTHER), "party"),
        ("stranger", said(rival), "party"),
        (LEADER, ask.model_copy(update={"round": "b" * 32}), "signature"),  # replayed as another round
    ):
        with pytest.raises(RefusedError) as refusal:
            desk.receive(party, message)
        assert (refusal.value.status, refusal.value.code) == (403, code)
    assert parties.keeper.balance(DATASET).spent == 1


def test_replayed_messages_get_the_same_reply_and_altered_ones_none(parties: Parties) -> None:
    messages, desk = finished(parties)
    for index in (0, 2, 4):
        assert desk.receive(LEADER, messages[index]) == messages[index + 1]
    decision = messages[2]
    other = decision.body.model_copy(update={"values": [2.0]})
    leader, time = parties.identities[LEADER], datetime.fromisoformat(decision.time)
    fields = {"round_id": decision.round, "recipient": FOLLOWER, "time": time}
    altered = signed_message(leader, other, kind="decision", before=messages[1], **fields)
    out_of_order = signed_message(leader, decision.body, kind="decision", before=messages[5], **fields)
    unknown = signed_message(
        leader, decision.body, kind="decision", before=messages[1], **(fields | {"round_id": "c" * 32})
    )
    for message, status, code in (
        (altered, 409, "altered"),
        (out_of_order, 409, "order"),
        (unknown, 404, "round"),
    ):
        with pytest.raises(RefusedError) as refusal:
            desk.receive(LEADER, message)
        assert (refusal.value.status, refusal.value.code) == (status, code)
    assert parties.keeper.balance(DATASET).spent == 1


def test_rounds_of_others_are_not_seen(parties: Parties) -> None:
    messages, desk = finished(parties)
    with pytest.raises(RefusedError, match="no such round"):
        desk.history(OTHER, messages[0].round)
    assert desk.history(LEADER, messages[0].round) == messages


def transcript(messages: list[Any], kept_by: str = LEADER) -> Transcript:
    return Transcript(kept_by=kept_by, messages=messages)


def test_a_transcript_is_checked_with_public_keys(parties: Parties) -> None:
    messages, _ = finished(parties)
    keys = parties.identities[LEADER].public_keys
    assert check_transcript(transcript(messages), keys).ok
    swapped = [messages[0], messages[1], *messages[4:], *messages[2:4]]
    for changed, finding in (
        (swapped, "chain is broken"),
        (messages[1:], "does not belong"),
        ([*messages[:2], *messages[3:]], "chain is broken"),
        ([messages[0].model_copy(update={"time": messages[1].time}), *messages[1:]], "not signed"),
        ([], "no message"),
    ):
        findings = check_transcript(transcript(changed), keys).findings
        assert any(finding in each for each in findings), (finding, findings)
    assert not check_transcript(transcript(messages), {LEADER: keys[LEADER]}).ok


def test_a_forged_release_is_found_in_a_transcript(parties: Parties) -> None:
    """A JSON that says 'private' is worth nothing without the follower's signature."""
    messages, _ = finished(parties)
    content = json.loads(encoded(messages[3]))
    content["body"]["released"]["values"][0] += 1.0
    forged = message_adapter.validate_python(content)
    findings = check_transcript(
        transcript([*messages[:3], forged, *messages[4:]]), parties.identities[LEADER].public_keys
    ).findings
    assert any("not signed" in each for each in findings)


def test_two_transcripts_are_held_against_each_other(parties: Parties) -> None:
    messages, _ = finished(parties)
    assert compare_transcripts(transcript(messages), transcript(messages, FOLLOWER)).ok
    assert not compare_transcripts(transcript(messages), transcript(messages[:4], FOLLOWER)).ok
    other = parties.leader(parties.in_memory(parties.desk()), home="another").run().round_id
    again = parties.desk().store.messages(other)
    found = compare_transcripts(transcript(messages), transcript(again, FOLLOWER)).findings
    assert found == ("Message 0 (ask) of 'power' is not that of 'gas'.",)


def test_seals_bind_dossier_and_transcript(parties: Parties, tmp_path: Path) -> None:
    desk = parties.desk()
    desk.archive = tmp_path / "archive"
    result = parties.leader(parties.in_memory(desk)).run()
    keys = parties.identities[OTHER].public_keys
    homes = (tmp_path / LEADER, tmp_path / "archive" / result.round_id)
    for home in homes:
        assert check_seal(home, keys) == []
    one, other = (Transcript.read(home / "transcript.json") for home in homes)
    assert compare_transcripts(one, other).ok
    file = homes[0] / "dossier.json"
    file.write_text(file.read_text().replace('"private": true', '"private": false', 1))
    assert any("another dossier" in each for each in check_seal(homes[0], keys))
    (homes[1] / "transcript.json").write_text((homes[1] / "transcript.json").read_text()[:-20])
    with pytest.raises(FileFormatError):
        check_seal(homes[1], keys)
    with pytest.raises(FileFormatError, match=r"transcript\.json is not JSON"):
        Transcript.read(homes[1] / "transcript.json")


def test_a_token_that_is_no_text_is_refused_unquoted(parties: Parties) -> None:
    identity = parties.identities[LEADER]
    (identity.directory / "token").write_bytes(b"\xffsecret")
    with pytest.raises(FileFormatError, match=r"token is no token: give a line of plain letters\.$"):
        identity.text("token")
