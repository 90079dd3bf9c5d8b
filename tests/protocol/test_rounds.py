"""Whole rounds in memory: the same as in one process, each message answered once, the budget exact."""

import errno
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ppsm import Ledger, Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import FileFormatError, LedgerError, PrivacyError, ProtocolError, SolverError
from ppsm.mechanism import PPSM, ModelBased, PPSM_p
from ppsm.mechanism.coordination import LeaderRepair
from ppsm.privacy import Released
from ppsm.privacy.record import ReleaseRecord
from ppsm.privacy.released import Receipt
from ppsm.protocol import desk as desk_module
from ppsm.protocol import leader_round
from ppsm.protocol.desk import FollowerDesk, disagreements
from ppsm.protocol.dossiers import check_seal
from ppsm.protocol.leader_round import EVALUATION, PARTS
from ppsm.protocol.messages import (
    FailedMessage,
    Felt,
    Noisy,
    NoisyMessage,
    Reply,
    Request,
    Restored,
    Strict,
    Terms,
)
from ppsm.protocol.signatures import encoded, signed_message
from ppsm.protocol.transcript import Transcript, check_transcript
from ppsm.protocol.transport import InMemoryTransport, RefusedError, UnreachableError
from tests.mechanism.conftest import DATASET, TRUTH
from tests.protocol.parties import ALPHA, FOLLOWER, LEADER, OTHER, Parties, policy


class Stopped(BaseException):
    """Stands for kill -9: nobody catches it."""


class Lossy:
    """A way to the desk on which something happens before or after a message is delivered."""

    def __init__(
        self,
        desk: FollowerDesk,
        before: Callable[[Request], None] = lambda _: None,
        after: Callable[[Request, Reply], Reply] = lambda _, reply: reply,
    ) -> None:
        self._inner, self._before, self._after = InMemoryTransport(desk, LEADER), before, after

    def terms(self) -> Terms:
        return self._inner.terms()

    def deliver(self, message: Request) -> Reply:
        self._before(message)
        return self._after(message, self._inner.deliver(message))


def spent(parties: Parties) -> Decimal:
    return parties.keeper.balance(DATASET).spent


@pytest.mark.parametrize("name", ["ppsm", "ppsm-p"])
def test_a_round_equals_the_mechanism_in_one_process(parties: Parties, name: str) -> None:
    desk = parties.desk(policy(research_seed=3, mechanism=name, alpha=5.0))
    result = parties.leader(parties.in_memory(desk), research=True).run()
    secret = Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("west", "east"))
    mechanism = PPSM(alpha=5.0) if name == "ppsm" else PPSM_p(alpha=5.0)
    alone = mechanism.simulate(secret, parties.towns, ModelBased(), seed=3)
    cleared = parties.towns.clear(alone.released.values)
    assert result.dossier.noisy.values.tolist() == alone.noisy.values.tolist()
    assert result.dossier.released.values.tolist() == alone.released.values.tolist()
    assert result.cleared.leader_cost == cleared.leader_cost
    assert cleared.leader_cost is not None
    assert [step.step for step in result.dossier.steps] == ["1", "2a", "2b", "3a", "3b"]
    mine, others = result.dossier.steps, alone.dossier.steps
    for index in (1, 2, 3):
        assert mine[index].output == others[index].output
    assert result.dossier.theory.to_dict() == alone.dossier.theory.to_dict()
    assert result.told is not None
    assert result.told.value == pytest.approx(cleared.values["follower"])
    assert spent(parties) == 0  # seeded noise is no release


def test_who_waits_for_a_round_is_told_of_its_parts(parties: Parties) -> None:
    told: list[tuple[str, int]] = []
    parties.leader(parties.in_memory(parties.desk())).run(lambda text, done: told.append((text, done)))
    assert told == [(text, done) for done, text in enumerate(PARTS)]


def test_a_private_round_charges_once(parties: Parties) -> None:
    desk = parties.desk()
    result = parties.leader(parties.in_memory(desk)).run()
    assert result.dossier.private
    assert parties.keeper.confirm(result.dossier.released)
    assert spent(parties) == 1
    assert disagreements(desk.ledger, desk.store) == []


def test_seeded_noise_is_not_taken_for_private(parties: Parties) -> None:
    desk = parties.desk(policy(research_seed=3))
    with pytest.raises(ProtocolError, match="seeded noise"):
        parties.leader(parties.in_memory(desk)).run()
    assert desk.store.rounds() == []  # the terms say so: nothing was asked for, so nothing left
    told = desk.terms(LEADER).model_copy(update={"private": True})
    desk.terms = lambda party: told  # type: ignore[method-assign]
    with pytest.raises(ProtocolError, match="seeded noise"):
        parties.leader(parties.in_memory(desk)).run()


def test_data_with_seeded_noise_are_never_served_as_private_nor_the_other_way_round(parties: Parties) -> None:
    seeded = policy(research_seed=3)
    parties.leader(parties.in_memory(parties.desk(seeded)), research=True).run()
    with pytest.raises(PrivacyError, match="handed out with seeded noise"):
        parties.desk()
    (parties.root / "gas" / "rounds.db").unlink()
    parties.leader(parties.in_memory(parties.desk()), home="another").run()
    with pytest.raises(PrivacyError, match="released privately before"):
        parties.desk(seeded)


@pytest.mark.parametrize("lost", ["request", "reply"])
@pytest.mark.parametrize("kind", ["ask", "decision", "commitment"])
def test_what_is_lost_is_sent_again_and_answered_once(parties: Parties, kind: str, lost: str) -> None:
    losses = [kind, kind]

    def lose(message: Request) -> None:
        if message.kind in losses:
            losses.remove(message.kind)
            raise UnreachableError("lost")

    def lose_reply(message: Request, reply: Reply) -> Reply:
        lose(message)
        return reply

    desk = parties.desk()
    way = Lossy(desk, before=lose) if lost == "request" else Lossy(desk, after=lose_reply)
    result = parties.leader(way).run()
    assert not losses
    assert spent(parties) == 1
    assert [each.kind for each in desk.store.messages(result.round_id)][-1] == "outcome"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["ask", "decision", "commitment"])
def test_both_sides_killed_at_a_message_go_on(parties: Parties, kind: str, when: str) -> None:
    def stop(message: Request) -> None:
        if message.kind == kind:
            raise Stopped

    def stop_after(message: Request, reply: Reply) -> Reply:
        stop(message)
        return reply

    way = Lossy(parties.desk(), **({"before": stop} if when == "before" else {"after": stop_after}))
    first = parties.leader(way)
    with pytest.raises(Stopped):
        first.run()
    desk = parties.desk()  # everything anew, from the files
    second = parties.leader(parties.in_memory(desk))
    result = second.run()
    assert result.round_id == first.round_id
    assert spent(parties) == 1
    ours, theirs = second.store.messages(first.round_id), desk.store.messages(first.round_id)
    assert ours == theirs
    assert len(ours) == 6


MOMENTS = ("charged", "drawn", "kept", "noted")


def killed_while_drawing(parties: Parties, moment: str, monkeypatch: pytest.MonkeyPatch) -> list[Released]:
    """Kill the follower right after a moment of drawing noise; all noise that was drawn."""
    drawn: list[Released] = []
    desk = parties.desk()
    spend, say, note = Ledger.spend, FollowerDesk._say, Ledger.note_draw

    def spending(self: Ledger, draft: ReleaseRecord, **options: bool) -> Receipt:
        receipt = spend(self, draft, **options)
        if moment == "charged":
            raise Stopped
        return receipt

    def saying(self: FollowerDesk, message: Request, body: Strict, kind: str, **options: bool) -> None:
        if isinstance(body, Noisy):
            drawn.append(body.released.to_released())
            if moment == "drawn":
                raise Stopped
        say(self, message, body, kind, **options)
        if kind == "noisy" and moment == "kept":
            raise Stopped

    def noting(self: Ledger, receipt: Receipt, content: bytes) -> None:
        note(self, receipt, content)
        if moment == "noted":
            raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "spend", spending)
        patched.setattr(FollowerDesk, "_say", saying)
        patched.setattr(Ledger, "note_draw", noting)
        with pytest.raises(Stopped):
            parties.leader(parties.in_memory(desk)).run()
    return drawn


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_follower_killed_while_it_draws_goes_on_with_the_same_charge(
    parties: Parties, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = killed_while_drawing(parties, moment, monkeypatch)
    assert spent(parties) == 1
    desk = parties.desk()
    result = parties.leader(parties.in_memory(desk)).run()
    assert result.told is not None
    assert spent(parties) == 1
    if moment in ("kept", "noted"):  # what is on the disk is what leaves
        assert result.dossier.noisy.values.tolist() == drawn[0].values.tolist()
    kinds = [entry.kind for entry in parties.keeper.entries()]
    assert (kinds.count("spend"), kinds.count("draw")) == (1, 1)
    assert disagreements(desk.ledger, desk.store) == []
    assert parties.keeper.verify().ok


def test_noise_that_was_noted_is_never_drawn_again(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sets the follower's store back, and not its ledger: the noise may have been seen."""
    killed_while_drawing(parties, "charged", monkeypatch)
    rounds = parties.root / "gas" / "rounds.db"
    before = rounds.read_bytes()
    cut_off = Lossy(parties.desk(), after=stop_at("ask"))
    with pytest.raises(Stopped):
        parties.leader(cut_off).run()
    rounds.write_bytes(before)
    with pytest.raises(ProtocolError, match="lost"):
        parties.leader(parties.in_memory(parties.desk())).run()
    assert spent(parties) == 1
    parties.leader(parties.in_memory(parties.desk()), home="another").run()  # a new round
    assert spent(parties) == 2


def stop_at(kind: str) -> Callable[[Request, Reply], Reply]:
    def stop(message: Request, reply: Reply) -> Reply:
        if message.kind == kind:
            raise Stopped
        return reply

    return stop


def test_a_charge_is_not_used_under_another_policy(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_while_drawing(parties, "charged", monkeypatch)
    other = parties.desk(policy(epsilon=0.5))
    with pytest.raises(ProtocolError, match="lost"):
        parties.leader(parties.in_memory(other)).run()
    assert spent(parties) == 1


def test_a_round_of_a_market_that_was_changed_is_over(parties: Parties) -> None:
    with pytest.raises(Stopped):
        parties.leader(Lossy(parties.desk(), after=stop_at("ask"))).run()
    desk = parties.desk()
    desk.market = type(desk.market)(desk.market.side, "f" * 64)
    with pytest.raises(ProtocolError, match="another market by now"):
        parties.leader(parties.in_memory(desk)).run()


@pytest.mark.parametrize("told", ["released", "nothing"])
def test_a_round_is_told_what_its_terms_say_though_the_policy_is_another_by_now(
    parties: Parties, told: str
) -> None:
    with pytest.raises(Stopped):
        parties.leader(Lossy(parties.desk(policy(outcome=told)), after=stop_at("decision"))).run()
    other = parties.desk(policy(outcome="nothing" if told == "released" else "released"))
    result = parties.leader(parties.in_memory(other)).run()
    assert result.told is not None
    assert result.told.told == told


def test_a_decision_in_another_unit_is_not_taken_for_one_in_ours(parties: Parties) -> None:
    desk = parties.desk()
    with pytest.raises(Stopped):
        parties.leader(Lossy(desk, after=stop_at("ask"))).run()
    noisy = next(desk.store.replies_to_ask())
    side = desk.market.side
    assert side.felt_unit == "leader's variables"
    names = side.felt_names
    mine = signed_message(
        parties.identities[LEADER],
        Felt(names=list(names), values=[1.0] * len(names), unit="thousands of them"),
        kind="decision",
        round_id=noisy.round,
        recipient=FOLLOWER,
        time=datetime.now(UTC),
        before=noisy,
    )
    reply = desk.receive(LEADER, mine)  # type: ignore[arg-type]  # a decision
    assert isinstance(reply, FailedMessage)
    assert (reply.body.code, "another unit" in reply.body.message) == ("unusable", True)


def test_a_ledger_that_was_set_back_is_not_charged(parties: Parties) -> None:
    file = parties.root / "gas" / "ledger.db"
    before, desk = file.read_bytes(), parties.desk()
    parties.leader(parties.in_memory(desk)).run()
    parties.keeper.close()
    file.write_bytes(before)
    with pytest.raises(ProtocolError, match="ledger cannot be used"):
        parties.leader(parties.in_memory(desk), patience_s=0.0, home="another").run()
    with pytest.raises(LedgerError, match="not charged the noisy vector"):
        parties.desk()  # nor by one that is started now
    assert spent(parties) == 0


def test_two_followers_on_one_ledger_release_one_draw_of_a_charge(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes answer the same request at the same time, by mistake."""
    first, second = parties.desk(), parties.desk()
    say, replies = FollowerDesk._say, []

    def overtaken(self: FollowerDesk, message: Request, body: Strict, kind: str, **options: bool) -> None:
        if self is first and kind == "noisy":
            replies.append(second.receive(LEADER, message))
        say(self, message, body, kind, **options)

    monkeypatch.setattr(FollowerDesk, "_say", overtaken)
    with pytest.raises(ProtocolError, match="cannot be used"):
        parties.leader(parties.in_memory(first)).run()
    monkeypatch.undo()
    result = parties.leader(parties.in_memory(parties.desk())).run()
    assert isinstance(replies[0], NoisyMessage)
    assert result.dossier.noisy.values.tolist() == replies[0].body.released.values
    assert spent(parties) == 1


def test_noise_outlives_a_full_disk(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = parties.desk()
    append, failures = desk.store.append, [1, 2, 3]

    def full(message: Request | Reply, *, costs_nothing: bool = False) -> None:
        if message.kind == "noisy" and failures:
            failures.pop()
            raise ProtocolError("the disk is full")
        append(message, costs_nothing=costs_nothing)

    monkeypatch.setattr(desk.store, "append", full)

    class Service(InMemoryTransport):
        def deliver(self, message: Request) -> Reply:
            try:
                return super().deliver(message)
            except RefusedError:
                raise
            except ProtocolError:
                raise RefusedError(503, "store", "cannot write") from None

    parties.leader(Service(desk, LEADER)).run()
    assert not failures
    assert spent(parties) == 1


def test_a_disk_that_takes_no_seal_either_does_not_hide_what_ended_the_round(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = parties.leader(parties.in_memory(parties.desk()))

    def full(message: Request | Reply, **_: bool) -> None:
        if message.kind == "noisy":
            raise ProtocolError("The store of rounds cannot be used: see to the disk.")
        append(message)

    def no_room(*_: object) -> None:
        raise OSError(errno.EFBIG, "File too large")

    append = leader.store.append
    monkeypatch.setattr(leader.store, "append", full)
    monkeypatch.setattr(leader_round, "write_seal", no_room)
    with pytest.raises(ProtocolError, match="see to the disk"):
        leader.run()
    monkeypatch.undo()
    parties.leader(parties.in_memory(parties.desk())).run()
    assert spent(parties) == 1


def test_a_ledger_in_trouble_is_waited_for(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = parties.desk()
    spend, failures = desk.ledger.spend, [1, 2]

    def backwards(draft: ReleaseRecord, **options: bool) -> Receipt:
        if failures:
            failures.pop()
            raise LedgerError("The clock runs backwards.")
        return spend(draft, **options)

    monkeypatch.setattr(desk.ledger, "spend", backwards)
    parties.leader(parties.in_memory(desk)).run()
    assert spent(parties) == 1


def test_an_empty_budget_ends_the_round_and_costs_nothing(parties: Parties) -> None:
    desk = parties.desk(policy(epsilon=10.0, alpha=0.01))  # 500 at the budget's alpha
    with pytest.raises(ProtocolError, match="budget"):
        parties.leader(parties.in_memory(desk)).run()
    assert spent(parties) == 0
    assert desk.store.spent_by(LEADER, 0.0) == (0, 0.0)


def test_a_party_is_held_to_its_allowance(parties: Parties) -> None:
    desk = parties.desk()
    parties.leader(parties.in_memory(desk, OTHER), OTHER).run()
    with pytest.raises(ProtocolError, match="limit"):
        parties.leader(parties.in_memory(desk, OTHER), OTHER, home="another").run()
    assert spent(parties) == 1
    parties.leader(parties.in_memory(desk)).run()  # others have theirs
    assert spent(parties) == 2


def test_a_round_that_waits_too_long_is_over(parties: Parties) -> None:
    import time

    jump = [0.0]
    desk = parties.desk(clock=lambda: time.time() + jump[0])

    def late(message: Request) -> None:
        if message.kind == "decision":
            jump[0] = 4000.0

    with pytest.raises(ProtocolError, match="expired"):
        parties.leader(Lossy(desk, before=late)).run()
    assert spent(parties) == 1
    assert desk.store.rounds()[0].last == "failed"


BREAKS_THE_PROMISE = 7  # a seed at whose release the leader has no answer


@pytest.mark.parametrize(
    "repair", [None, LeaderRepair(None, "too much in the east")], ids=["unknown", "none"]
)
def test_a_market_that_cannot_be_cleared_is_abandoned(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, repair: LeaderRepair | None
) -> None:
    """As in unit commitment, which knows of no such search, and where no vector has an answer."""
    monkeypatch.setattr(GameCoordination, "repaired_for_leader", lambda self, near: repair)
    desk = parties.desk(policy(research_seed=BREAKS_THE_PROMISE, alpha=5.0))
    result = parties.leader(parties.in_memory(desk), research=True).run()
    assert not result.cleared.feasible
    assert result.own_vector is None
    assert (result.repair is None) == (repair is None)
    assert result.dossier.evaluation is result.cleared
    assert result.told is None
    assert desk.store.rounds()[0].last == "closed"


def test_a_leader_without_an_answer_plans_with_a_vector_of_its_own_and_says_so(parties: Parties) -> None:
    rules = policy(research_seed=BREAKS_THE_PROMISE, alpha=5.0, outcome="released")
    desk = parties.desk(rules)
    result = parties.leader(parties.in_memory(desk), research=True).run()
    secret = Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("west", "east"))
    alone = PPSM(alpha=5.0).simulate(secret, parties.towns, ModelBased(), seed=BREAKS_THE_PROMISE)
    assert alone.dossier.moved_by_leader is not None
    assert alone.fidelity is not None
    # The vector of step 3c in one process; what is released, and both dossiers, stay at step 3b's.
    own, released = result.own_vector, result.dossier.released
    assert own is not None
    assert own.tolist() == alone.released.values.tolist()
    assert released.values.tolist() == alone.fidelity.parameter.tolist()
    assert [step.step for step in result.dossier.steps] == ["1", "2a", "2b", "3a", "3b"]
    assert result.dossier.evaluation is None
    # The round ends with a decision, and no word of it hides with what it was made.
    assert result.cleared.leader_cost == parties.towns.clear(own).leader_cost
    assert result.cleared.explanation.startswith("no answer was found at the released vector (")
    away = f"of the leader's own making, {np.abs(own - released.values).sum():.4g} MWh from it in all"
    assert result.cleared.explanation.endswith(away)
    home = parties.root / LEADER
    written = json.loads((home / EVALUATION).read_text())
    assert written["repair"]["output"]["values"] == own.tolist()
    assert written["explanation"] == result.cleared.explanation
    assert check_seal(home, parties.identities[LEADER].public_keys) == []
    assert result.told is not None
    sent = b"".join(encoded(each) for each in desk.store.messages(result.round_id))
    assert not any(repr(value).encode() in sent for value in own)
    # Read from its files once more it is the same.
    again = parties.leader(parties.in_memory(desk), research=True).run()
    assert again.own_vector is not None
    assert again.own_vector.tolist() == own.tolist()
    assert again.cleared.explanation == result.cleared.explanation
    assert again.cleared.felt is not None
    assert again.dossier.evaluation is None
    del written["repair"]["output"]["values"]
    (home / EVALUATION).write_text(json.dumps(written))
    with pytest.raises(FileFormatError, match=r"evaluation\.json has no field 'values'"):
        parties.leader(parties.in_memory(desk), research=True).run()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_leader_killed_after_its_repair_commits_to_the_same(parties: Parties, when: str) -> None:
    def stop(message: Request) -> None:
        if message.kind == "commitment":
            raise Stopped

    def stop_after(message: Request, reply: Reply) -> Reply:
        stop(message)
        return reply

    rules = policy(research_seed=BREAKS_THE_PROMISE, alpha=5.0)
    way = Lossy(parties.desk(rules), **({"before": stop} if when == "before" else {"after": stop_after}))
    with pytest.raises(Stopped):
        parties.leader(way, research=True).run()
    written = json.loads((parties.root / LEADER / EVALUATION).read_text())
    result = parties.leader(parties.in_memory(parties.desk(rules)), research=True).run()
    assert result.own_vector is not None
    assert result.own_vector.tolist() == written["repair"]["output"]["values"]
    assert result.told is not None


def test_a_false_release_is_found_out(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = parties.desk()
    answer = PPSM.answer

    def lying(self: PPSM, *arguments: object) -> object:
        from dataclasses import replace

        found = answer(self, *arguments)  # type: ignore[arg-type]
        moved = arguments[1].derive(found.released.values + 25.0, self.step_name)  # type: ignore[attr-defined]
        return replace(found, released=moved)

    monkeypatch.setattr(desk_module, "mechanism_of", lambda terms: PPSM(alpha=ALPHA))
    monkeypatch.setattr(PPSM, "answer", lying)
    with pytest.raises(ProtocolError, match="not faithful"):
        parties.leader(parties.in_memory(desk)).run()
    assert desk.store.rounds()[0].last == "closed"


def test_a_long_complaint_of_a_solver_ends_the_round_in_one_line(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SolverError("nothing\nfits\n" * 500)

    monkeypatch.setattr(PPSM, "answer", fails)
    with pytest.raises(ProtocolError, match=r"\(unsolved\): Steps 3a and 3b .* nothing fits nothing"):
        parties.leader(parties.in_memory(parties.desk())).run()


class Lying(InMemoryTransport):
    """A follower that says something else than its desk does, and signs it."""

    def __init__(self, parties: Parties, kind: str, lie: Callable[[Any], Strict]) -> None:
        super().__init__(parties.desk(), LEADER)
        self._identity, self._kind, self._lie = parties.identities[FOLLOWER], kind, lie

    def deliver(self, message: Request) -> Reply:
        reply = super().deliver(message)
        if reply.kind != self._kind:
            return reply
        return signed_message(  # type: ignore[return-value]  # a reply again
            self._identity,
            self._lie(reply.body),
            kind=reply.kind,
            round_id=reply.round,
            recipient=reply.recipient,
            time=datetime.fromisoformat(reply.time),
            before=message,
        )


def test_a_follower_that_answers_another_question_is_found_out(parties: Parties) -> None:
    def lie(body: Noisy) -> Noisy:
        return body.model_copy(update={"terms": body.terms.model_copy(update={"day": "2026-01-16"})})

    with pytest.raises(ProtocolError, match="not what was asked for"):
        parties.leader(Lying(parties, "noisy", lie)).run()


@pytest.mark.parametrize("part", ["labels", "record", "receipt"])
def test_a_release_of_something_else_is_found_out(parties: Parties, part: str) -> None:
    def lie(body: Restored) -> Restored:
        told = body.released
        assert told.receipt is not None
        others: dict[str, dict[str, Any]] = {
            "labels": {"labels": told.labels[::-1]},
            "record": {"record": told.record.model_copy(update={"purpose": "another"})},
            "receipt": {"receipt": told.receipt.model_copy(update={"sequence": 99})},
        }
        return body.model_copy(update={"released": told.model_copy(update=others[part])})

    leader = parties.leader(Lying(parties, "restored", lie))
    with pytest.raises(ProtocolError, match="does not come from D~"):
        leader.run()
    kept = Transcript(kept_by=LEADER, messages=leader.store.messages(leader.round_id))
    found = check_transcript(kept, parties.identities[LEADER].public_keys).findings
    assert found == ("The released vector does not come from the noisy one.",)


def test_one_request_that_comes_many_times_at_once_is_answered_once(parties: Parties) -> None:
    seen: list[Request] = []

    def stop(message: Request) -> None:
        seen.append(message)
        raise Stopped

    desk = parties.desk()
    with pytest.raises(Stopped):
        parties.leader(Lossy(desk, before=stop)).run()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: desk.receive(LEADER, seen[0]), range(16)))
    assert len({encoded(reply) for reply in replies}) == 1
    assert spent(parties) == 1


def test_a_round_with_somebody_else_is_not_gone_on_with(parties: Parties) -> None:
    with pytest.raises(Stopped):
        parties.leader(Lossy(parties.desk(), after=stop_at("ask"))).run()
    leader = parties.leader(parties.in_memory(parties.desk()))
    unfinished = leader.round_id
    leader.follower = OTHER
    assert leader._begun() is None
    assert parties.leader(parties.in_memory(parties.desk())).round_id == unfinished


def test_another_market_is_refused(parties: Parties) -> None:
    leader = parties.leader(parties.in_memory(parties.desk()))
    leader.market = type(leader.market)(leader.market.side, "f" * 64)
    with pytest.raises(ProtocolError, match="digest"):
        leader.run()
    assert spent(parties) == 0


def test_the_policy_may_tell_nothing(parties: Parties) -> None:
    result = parties.leader(parties.in_memory(parties.desk(policy(outcome="nothing")))).run()
    assert result.told is not None
    assert (result.told.told, result.told.value, result.told.prices) == ("nothing", None, None)


def test_what_is_told_does_not_depend_on_the_secret_past_the_noise(parties: Parties) -> None:
    """The outcome is a function of D^ and the commitment, which the leader can compute itself."""
    result = parties.leader(parties.in_memory(parties.desk())).run()
    assert result.told is not None
    assert result.cleared.prices is not None
    assert result.told.prices is not None
    assert np.array(result.told.prices).shape == result.cleared.prices.shape
    assert result.told.value == pytest.approx(result.cleared.values["follower"])
