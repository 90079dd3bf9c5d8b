"""The follower over HTTP: who is let in, what is refused and noted, and what a round says on the wire."""

import base64
import datetime
import json
import logging
import shutil
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from benchmarks.party_proxy import FAULTS, Proxy, Wire
from benchmarks.secret_forms import found
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from starlette.types import Receive, Scope, Send

from ppsm.errors import InputError, ProtocolError
from ppsm.protocol.desk import disagreements
from ppsm.protocol.identities import Identity, make_identities
from ppsm.protocol.messages import Terms
from ppsm.protocol.service import Rates, make_app, server
from ppsm.protocol.signatures import encoded
from ppsm.protocol.transport import HttpTransport, RefusedError, UnreachableError
from tests.mechanism.conftest import DATASET, TRUTH
from tests.protocol.parties import FOLLOWER, LEADER, OTHER, Parties, policy
from tests.protocol.wire import listening

ROOT = Path(__file__).parents[2]


def token(parties: Parties, name: str = LEADER) -> dict[str, str]:
    text = (parties.identities[name].directory / "token").read_text()
    return {"Authorization": f"Bearer {text}"}


def test_a_round_with_certificates(parties: Parties) -> None:
    desk = parties.desk(policy(certificate_required=True))
    with listening(make_app(desk), parties.identities[FOLLOWER]) as address:
        way = HttpTransport(address, parties.identities[LEADER], FOLLOWER)
        result = parties.leader(way).run()
        with pytest.raises(RefusedError, match="Neither a certificate nor a token"):
            no_certificate(address, parties)
    assert result.told is not None
    assert parties.keeper.balance(DATASET).spent == 1
    assert any(note.code.startswith("401") for note in desk.store.refusals())


def no_certificate(address: str, parties: Parties) -> None:
    """A token where a certificate is required."""
    home = parties.identities[LEADER].directory
    context = ssl.create_default_context(cafile=home / "authority.pem")
    with httpx.Client(verify=context, headers=token(parties), trust_env=False) as client:
        told = client.get(f"{address}/v1/terms")
    raise RefusedError(told.status_code, told.json()["code"], told.json()["message"])


def test_strange_and_expired_certificates_get_no_connection(
    parties: Parties, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strangers = make_identities(tmp_path / "strangers", [FOLLOWER, LEADER])
    old = make_identities(tmp_path / "old", [FOLLOWER, LEADER], lifetime=-datetime.timedelta(seconds=1))
    with listening(make_app(parties.desk()), parties.identities[FOLLOWER]) as address:
        # It does not know the follower's authority, so it does not talk to it.
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            HttpTransport(address, strangers[LEADER], FOLLOWER).terms()
        # It knows the authority, but shows a certificate of another one.
        for foreign in (strangers, old):
            mixed = tmp_path / f"mixed-{foreign[LEADER].directory.parent.name}"
            shutil.copytree(foreign[LEADER].directory, mixed)
            shutil.copy(parties.identities[LEADER].directory / "authority.pem", mixed / "authority.pem")
            with pytest.raises(UnreachableError):
                HttpTransport(address, Identity.read(mixed), FOLLOWER).terms()
    assert caplog.text.count("refused a connection: unable to get local issuer certificate") == 2
    with (
        listening(make_app(parties.desk()), old[FOLLOWER]) as address,
        pytest.raises(UnreachableError, match="expired"),
    ):
        HttpTransport(address, old[LEADER], FOLLOWER).terms()


def test_who_is_not_known_is_told_nothing_and_noted(
    parties: Parties, caplog: pytest.LogCaptureFixture
) -> None:
    desk = parties.desk()
    client = TestClient(make_app(desk), raise_server_exceptions=False, client=("192.0.2.7", 4711))
    with caplog.at_level(logging.WARNING, logger="ppsm.protocol"):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
            reply = client.get("/v1/terms", headers=headers)
            assert reply.status_code == 401
            assert reply.json()["code"] == "credentials"
    assert caplog.text.count("refused nobody we know: 401 credentials, from 192.0.2.7") == 3
    assert client.get("/v1/terms", headers=token(parties)).status_code == 200
    assert [note.peer for note in desk.store.refusals()] == ["nobody we know, 192.0.2.7"] * 3


def test_a_certificate_of_nobody_we_know_is_not_enough(
    parties: Parties, caplog: pytest.LogCaptureFixture
) -> None:
    """The authority vouches for the rival, but the follower has neither its key nor a place for it."""
    known = parties.identities[FOLLOWER]
    closed = replace(known, peers={LEADER: known.peers[LEADER]})
    desk = parties.desk()
    desk.identity = closed
    with listening(make_app(desk), known) as address:
        with pytest.raises(RefusedError) as refusal:
            HttpTransport(address, parties.identities[OTHER], FOLLOWER).terms()
        assert HttpTransport(address, parties.identities[LEADER], FOLLOWER).terms().follower == FOLLOWER
    assert refusal.value.status == 401
    assert "refused nobody we know: 401 credentials" in caplog.text


def test_a_rival_in_the_followers_place_gets_nothing(parties: Parties) -> None:
    """It has a certificate of the same authority, for the same host: it could read along with the token."""
    heard = []

    async def rival(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append(scope["type"])
        if scope["type"] == "http":
            await PlainTextResponse("no terms")(scope, receive, send)

    with listening(rival, parties.identities[OTHER]) as address:
        with pytest.raises(UnreachableError, match="certificate is of 'rival', expected 'gas'"):
            HttpTransport(address, parties.identities[LEADER], FOLLOWER).terms()
        assert "http" not in heard
        way = HttpTransport(address, parties.identities[LEADER], OTHER)
        with pytest.raises(UnreachableError, match="no terms"):
            way.terms()
        way.close()


def test_a_wrong_signature_is_refused_and_noted(parties: Parties, caplog: pytest.LogCaptureFixture) -> None:
    """Made up, or taken from another message: 403 on every path, in the log and on the page."""
    desk = parties.desk()
    result = parties.leader(parties.in_memory(desk)).run()
    client, said = TestClient(make_app(desk)), desk.store.messages(result.round_id)
    headers = token(parties) | {"Content-Type": "application/json"}
    for message, other in ((said[0], said[2]), (said[2], said[4]), (said[4], said[0])):
        for signature in ("0" * 128, message.signature[::-1], said[1].signature, other.signature):
            body = encoded(message.model_copy(update={"signature": signature}))
            path = f"/v1/rounds/{message.round}/{message.kind}"
            reply = client.put(path, content=body, headers=headers)
            assert (reply.status_code, reply.json()["code"]) == (403, "signature")
    assert caplog.text.count(f"refused {LEADER}: 403 signature") == 12
    assert len(desk.store.refusals()) == 12
    assert parties.keeper.balance(DATASET).spent == 1


def test_a_party_without_a_place_in_the_policy_may_not_ask(parties: Parties) -> None:
    rules = policy()
    closed = rules.model_copy(update={"parties": {LEADER: rules.parties[LEADER]}})
    client = TestClient(make_app(parties.desk(closed)))
    reply = client.get("/v1/terms", headers=token(parties, OTHER))
    assert (reply.status_code, reply.json()["code"]) == (403, "party")


def test_sizes_and_rates_are_limited(parties: Parties) -> None:
    desk = parties.desk(policy(largest_request_bytes=1000, requests_per_minute=5.0))
    client = TestClient(make_app(desk))
    path = f"/v1/rounds/{'0' * 32}/ask"
    assert client.put(path, content=b"x" * 2000, headers=token(parties)).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 100

    assert client.put(path, content=endless(), headers=token(parties)).status_code == 413
    codes = [client.get("/v1/terms", headers=token(parties)).status_code for _ in range(10)]
    assert codes[0] == 200
    assert codes[-1] == 429
    assert {note.code for note in desk.store.refusals()} == {"413 size"}


def test_nobody_has_another_address_by_saying_so(parties: Parties) -> None:
    desk = parties.desk(policy(requests_per_minute=5.0))
    with listening(make_app(desk)) as address, httpx.Client(base_url=address, trust_env=False) as client:
        said = [client.get("/v1/terms", headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(8)]
    assert [each.status_code for each in said] == [401] * 5 + [429] * 3
    assert {note.peer for note in desk.store.refusals()} == {"nobody we know, 127.0.0.1"}


def test_rates_recover_and_do_not_grow_without_end() -> None:
    now = [0.0]
    rates = Rates(60.0, clock=lambda: now[0])
    for _ in range(60):
        rates.insist("a")
    with pytest.raises(RefusedError):
        rates.insist("a")
    rates.insist("b")
    now[0] = 2.0
    rates.insist("a")
    for number in range(10_050):
        rates.insist(f"caller {number}")
    assert len(rates._left) <= 10_000


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"nonsense", b'{"a": NaN}', b"[" * 50_000, b"\xff\xfe", b'{"kind": "ask"}'],
)
def test_what_is_no_message_is_refused_without_repeating_it(parties: Parties, content: bytes) -> None:
    client = TestClient(make_app(parties.desk()), raise_server_exceptions=False)
    for kind in ("ask", "decision", "commitment", "abandon"):
        reply = client.put(f"/v1/rounds/{'0' * 32}/{kind}", content=content, headers=token(parties))
        assert reply.status_code in (400, 422)
        assert set(reply.json()) == {"code", "message"}
        assert "nonsense" not in reply.text


def test_nobody_is_sent_elsewhere(parties: Parties) -> None:
    client = TestClient(make_app(parties.desk()), follow_redirects=False)
    reply = client.get("/v1/terms/", headers=token(parties) | {"Host": "rival.example"})
    assert (reply.status_code, reply.json()["code"]) == (404, "http")
    assert "location" not in reply.headers


def test_a_failure_inside_says_nothing(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = parties.desk()

    def fails(party: str) -> Terms:
        raise RuntimeError(f"the demand is {TRUTH[0]}")

    monkeypatch.setattr(desk, "terms", fails)
    reply = TestClient(make_app(desk), raise_server_exceptions=False).get("/v1/terms", headers=token(parties))
    assert reply.status_code == 500
    assert str(TRUTH[0]) not in reply.text


def test_without_tls_only_this_computer_is_served(parties: Parties) -> None:
    with pytest.raises(InputError, match="without TLS"):
        server(make_app(parties.desk()), "0.0.0.0", 0, None)  # noqa: S104


def test_the_description_in_the_docs_is_that_of_the_service(parties: Parties) -> None:
    kept = json.loads((ROOT / "docs" / "assets" / "openapi.json").read_text())
    assert kept == make_app(parties.desk()).openapi()


@pytest.mark.parametrize("fault", FAULTS)
def test_rounds_survive_a_bad_wire(parties: Parties, fault: str) -> None:
    desk = parties.desk()
    with listening(make_app(desk)) as address:
        wire = Wire(int(address.rsplit(":", 1)[1]), faults=[None, fault, fault, None, fault, fault], seed=1)
        proxy = Proxy(wire)
        result = parties.leader(HttpTransport(proxy.address, parties.identities[LEADER], FOLLOWER)).run()
        proxy.close()
    assert result.told is not None
    assert parties.keeper.balance(DATASET).spent == 1
    assert disagreements(desk.ledger, desk.store) == []


def page_password(parties: Parties) -> dict[str, str]:
    word = (parties.identities[FOLLOWER].directory / "page-token").read_text()
    return {"Authorization": "Basic " + base64.b64encode(f"me:{word}".encode()).decode()}


def test_the_page_is_for_the_followers_own_people(parties: Parties) -> None:
    desk = parties.desk()
    parties.leader(parties.in_memory(desk)).run()
    client = TestClient(make_app(desk))
    for headers in ({}, token(parties), {"Authorization": "Basic eDp5"}):
        assert client.get("/", headers=headers).status_code == 401
    page = client.get("/", headers=page_password(parties))
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "left 999" in page.text
    # A browser that is about to ask for the password is no attempt.
    assert page.text.count("401 password") == 2
    assert "http://" not in page.text
    assert not found(page.content, TRUTH)


def test_a_leader_loses_patience_with_one_sentence(parties: Parties) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    leader = parties.leader(HttpTransport(address, parties.identities[LEADER], FOLLOWER), patience_s=0.0)
    with pytest.raises(ProtocolError, match="run the same command again"):
        leader.run()
