"""The leader's whole round: ask, predict, decide, check what comes back, clear the game, commit.

Where its game has no answer at D^ it takes step 3c for itself: it plans with the nearest vector at which it
has one. What was released, its proof and the follower's side of the round stay as they are.

What the leader says is on its disk before it is sent; stopped anywhere, :meth:`LeaderRound.run` goes on from
there, and the follower sees the same bytes again. A directory is for one round: once that is over, the same
call reads it from the files again, and charges nobody. Only what its market feels of the decision leaves.
"""

import json
import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import FileFormatError, PpsmError, ProtocolError
from ppsm.fidelity.certificate import Certificate
from ppsm.files import OWNER_MODE, write_atomically
from ppsm.mechanism.coordination import Coordination, Decision, Outcome, reading
from ppsm.mechanism.dossier import Dossier, Step
from ppsm.mechanism.predictors import ModelBased
from ppsm.mechanism.steps import StepLog, repair_for_leader
from ppsm.privacy.measurements import checked_zones
from ppsm.protocol.dossiers import DOSSIER, Exchange, certified, write_seal
from ppsm.protocol.identities import Identity
from ppsm.protocol.messages import (
    FOLLOWS,
    LAST,
    Abandon,
    Ask,
    CommitmentMessage,
    FailedMessage,
    Felt,
    Noisy,
    NoisyMessage,
    OutcomeMessage,
    Reply,
    Request,
    RestoredMessage,
    Strict,
    Terms,
    Told,
    purpose_of,
)
from ppsm.protocol.round_store import RoundStore
from ppsm.protocol.shared_market import Market, mechanism_of
from ppsm.protocol.signatures import hash_of, is_signed_by, signed_message
from ppsm.protocol.transcript import Transcript
from ppsm.protocol.transport import RefusedError, Transport, UnreachableError
from ppsm.protocol.tuning import TUNING

T = TypeVar("T")

STEPS, EVALUATION = "own-steps.json", "evaluation.json"
# What a round is made of, for whoever waits.
PARTS = (
    "asking the follower for D~",
    "deciding with D~",
    "waiting for D^ to the decision, and checking it",
    "clearing the markets with D^",
    "telling the follower the commitment",
)


@dataclass(frozen=True, eq=False)
class LeaderResult:
    """What a round came to: the dossier, the game cleared with the release, and what the follower told.

    ``repair`` is step 3c, where the game had no answer at D^; the dossier then has no evaluation, since that
    is of the released vector.
    """

    round_id: str
    dossier: Dossier
    certificate: Certificate
    cleared: Outcome
    repair: Step | None
    told: Told | None

    @property
    def own_vector(self) -> FloatArray | None:
        """What the game was cleared with, where that is not D^ but a vector of the leader's own making."""
        return _own_vector(self.repair)

    @property
    def widening(self) -> float:
        """By how much the follower had to widen the bands, as it says: it alone has searched for less."""
        proof = next(step.output for step in self.dossier.steps if step.step == "3b")
        return float(proof["widening"])


class LeaderRound:
    """One round with a follower: the one that its directory is for, or a new one in an empty directory.

    Parameters
    ----------
    market
        The leader's side of it.
    identity, follower
        Who we are, and whom we ask.
    store, directory
        Where rounds are kept, and where this one is written down.
    transport
        The way to the follower.
    research
        Whether seeded noise, which is not private, is taken too.
    patience_s
        How long to try while the follower is out of reach.
    """

    def __init__(
        self,
        market: Market[Coordination],
        identity: Identity,
        follower: str,
        store: RoundStore,
        transport: Transport,
        directory: Path,
        *,
        research: bool = False,
        patience_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.market, self.identity, self.follower = market, identity, follower
        self.store, self.transport, self.directory = store, transport, directory
        self.research, self.patience_s, self._sleep = research, patience_s, sleep
        self._key = identity.peer(follower).key
        self.round_id = self._begun() or secrets.token_hex(16)

    def _begun(self) -> str | None:
        """The round that the directory is for, over or not; none where it is new."""
        return next((each.id for each in self.store.rounds() if each.peer == self.follower), None)

    def run(self, say: Callable[[str, int], None] | None = None) -> LeaderResult:
        """The whole round; the same call goes on with one that was stopped, and repeats one that is over.

        ``say`` is told what is waited for, and how many of the ``PARTS`` are done.
        """
        try:
            result = self._run(lambda part: None if say is None else say(PARTS[part], part))
        except BaseException:
            # What ended the round is what its caller must hear, also where a full disk takes no seal either.
            with suppress(OSError, ProtocolError):
                self._seal()
            raise
        self._seal()
        return result

    def _seal(self) -> None:
        messages = self.store.messages(self.round_id)
        if messages:
            kept = Transcript(kept_by=self.identity.name, messages=messages)
            write_seal(self.directory, self.identity, kept)

    def _run(self, begin: Callable[[int], None]) -> LeaderResult:
        begin(0)
        noisy = self._asked()
        begin(1)
        decision, steps = self._decided(noisy)
        begin(2)
        exchange, certificate = self._restored(noisy, decision)
        dossier = self._written(exchange, steps)
        begin(3)
        cleared, repair = self._cleared(exchange)
        if _own_vector(repair) is None:
            dossier = dossier.with_evaluation(cleared)
        if cleared.felt is None:
            self._abandon("not cleared")
            return LeaderResult(self.round_id, dossier, certificate, cleared, repair, None)
        begin(4)
        reply = self._exchanged(4, "commitment", lambda: self._felt(cleared.felt))
        told = reply.body if isinstance(reply, OutcomeMessage) else None
        return LeaderResult(self.round_id, dossier, certificate, cleared, repair, told)

    def _asked(self) -> Noisy:
        """D~ with the terms it was released under."""
        reply = self._exchanged(0, "ask", self._ask)
        if not isinstance(reply, NoisyMessage):
            raise ProtocolError("The round begins with something else than D~: begin a new round.")
        noisy = reply.body
        if noisy.terms.market != self.market.digest:
            self._refuse_market(noisy.terms)
        self._believed(lambda: self._check_noisy(noisy))
        self._insist_on_privacy(noisy.released.private)
        return noisy

    def _insist_on_privacy(self, private: bool) -> None:
        if not private and not self.research:
            raise ProtocolError(
                "The follower has seeded noise, which is not private, expected a private release: ask it to "
                "mend its policy, or take seeded noise with --research."
            )

    def _check_noisy(self, noisy: Noisy) -> None:
        """Whether D~ is what was asked for, under the terms that came with it, and of this round."""
        terms, released = noisy.terms, noisy.released.to_released()
        asked = self.store.messages(self.round_id)[0].body
        if asked != Ask(market=terms.market, dataset=terms.dataset, day=terms.day):
            raise ProtocolError("D~ is not what was asked for")
        record, side = released.record, self.market.side
        told = (record.dataset, record.alpha, record.epsilon, record.unit, released.entry_names)
        if told != (terms.dataset, terms.alpha, terms.epsilon, side.unit, side.entry_names):
            raise ProtocolError("D~ is not what the terms say")
        if record.total_scale is not None and record.zones != checked_zones(side.public_zones):
            raise ProtocolError("D~ comes with totals of other zones than the market has")
        if record.purpose != purpose_of(self.round_id, self.identity.name):
            raise ProtocolError("D~ was drawn for another round")

    def _believed(self, check: Callable[[], T]) -> T:
        """What a signed message comes to; where it is not true, the round is over and both sides know."""
        try:
            return check()
        except PpsmError as error:
            self._abandon("not faithful")
            raise ProtocolError(f"{error}: tell the follower; its message is signed.") from None

    def _ask(self) -> Ask:
        terms = self._persistently(self.transport.terms)
        if terms.market != self.market.digest:
            self._refuse_market(terms)
        self._insist_on_privacy(terms.private)  # before data leave that anybody could read
        return Ask(market=terms.market, dataset=terms.dataset, day=terms.day)

    def _refuse_market(self, terms: Terms) -> NoReturn:
        raise ProtocolError(
            f"The follower's market has the digest {terms.market[:12]}..., ours "
            f"{self.market.digest[:12]}...: compare the public gas tables of both cases."
        )

    def _decided(self, noisy: Noisy) -> tuple[Decision, list[Step]]:
        """Steps 2a and 2b, or what was decided before we were stopped."""
        file, side = self.directory / STEPS, self.market.side
        sent = self.store.messages(self.round_id)
        if len(sent) > 2 and file.exists():
            steps = [Step.from_dict(each) for each in _own(file)]
            return Decision.from_dict(steps[-1].output), steps
        log = StepLog()
        try:
            mechanism = mechanism_of(noisy.terms)
            decision = mechanism.lead(log, noisy.released.to_released(), side, ModelBased())
        except PpsmError:
            self._abandon("not decided")
            raise
        text = json.dumps([step.to_dict() for step in log.steps], allow_nan=False)
        write_atomically(file, text, mode=OWNER_MODE)
        return decision, log.steps

    def _restored(self, noisy: Noisy, decision: Decision) -> tuple[Exchange, Certificate]:
        """D^, once it is checked with our own copy of the public market."""
        mine = self._felt(decision.felt)
        reply = self._exchanged(2, "decision", lambda: mine)
        if not isinstance(reply, RestoredMessage):
            raise ProtocolError("The decision was answered with something else than D^: begin a new round.")
        messages = self.store.messages(self.round_id)
        if messages[2].body != mine:
            raise ProtocolError(
                f"{self.directory / STEPS} is not of the decision that was sent: put it back, or begin a new "
                "round in another directory."
            )
        return self._believed(lambda: self._checked(noisy, Exchange.of(messages, decision)))

    def _checked(self, noisy: Noisy, exchange: Exchange) -> tuple[Exchange, Certificate]:
        released, before = exchange.released, noisy.released.to_released()
        expected = (*before.steps, mechanism_of(noisy.terms).step_name)
        told = (released.record, released.receipt, released.steps, released.entry_names)
        if told != (before.record, before.receipt, expected, before.entry_names):
            raise ProtocolError("D^ does not come from D~")
        return exchange, certified(self.market.side, exchange)

    def _cleared(self, exchange: Exchange) -> tuple[Outcome, Step | None]:
        """What was played, or what came of it before we were stopped: a search need not end there again."""
        file, side = self.directory / EVALUATION, self.market.side
        sent = self.store.messages(self.round_id)[4:5]
        if sent and file.exists():
            known = _own(file)
            cleared = replace(Outcome.from_dict(known), price_names=side.price_names)
            with reading(EVALUATION):
                repair = None if known.get("repair") is None else Step.from_dict(known["repair"])
                _ = _own_vector(repair)  # what is read here and asked for later must be there
            if not isinstance(sent[0], CommitmentMessage):
                return cleared, repair
            felt = frozen_vector(sent[0].body.values, len(side.felt_names), "the commitment")
            return replace(cleared, felt=felt), repair
        cleared, repair = self._played(exchange)
        content = cleared.to_dict() | {"repair": None if repair is None else repair.to_dict()}
        text = json.dumps(content, allow_nan=False, indent=1)
        write_atomically(file, text + "\n", mode=OWNER_MODE)
        return cleared, repair

    def _played(self, exchange: Exchange) -> tuple[Outcome, Step | None]:
        """The game with D^; where that has no answer, with the nearest vector at which it has, step 3c.

        The vector is ours alone: it is made of what was released and of our own game, and never sent.
        """
        side, released, log = self.market.side, exchange.released, StepLog()
        cleared = side.clear(released.values)
        if cleared.felt is not None:
            return cleared, None
        noisy = exchange.noisy.released.to_released()
        own = repair_for_leader(log, noisy, released.values, side, prior=None)
        repair = log.steps[0] if log.steps else None
        if repair is None or own is None:
            return cleared, repair
        said = (
            f"no answer was found at the released vector ({repair.output['reason']}); the game was played "
            f"with a vector of the leader's own making, {repair.output['moved_l1']:.4g} {side.unit} from it "
            "in all"
        )
        return replace(side.clear(own), explanation=said), repair

    def _written(self, exchange: Exchange, steps: list[Step]) -> Dossier:
        dossier = exchange.dossier(steps, self.market.side)
        write_atomically(self.directory / DOSSIER, dossier.to_json() + "\n")
        return dossier

    def _felt(self, felt: FloatArray | None) -> Felt:
        names, unit = self.market.side.felt_names, self.market.side.felt_unit
        values = frozen_vector([] if felt is None else felt, len(names), "the decision", names=names)
        return Felt(names=list(names), values=values.tolist(), unit=unit)

    def _abandon(self, reason: str) -> None:
        """Tell the follower that nothing more will come; that it is out of reach changes nothing for us."""
        messages = self.store.messages(self.round_id)
        if messages[-1].kind in LAST:
            return
        number = len(messages) - (messages[-1].kind == "abandon")
        try:
            self._exchanged(number, "abandon", lambda: Abandon.model_validate({"reason": reason}))
        except ProtocolError:
            return

    def _exchanged(self, number: int, kind: str, body: Callable[[], Strict]) -> Reply:
        """Say something once, on the disk first, and return what was answered."""
        messages = self.store.messages(self.round_id)
        if len(messages) > number and messages[number].kind != kind:
            raise ProtocolError("The round was ended by us before: begin a new one in another directory.")
        if len(messages) <= number:
            mine = self._signed(kind, body(), messages[-1] if messages else None)
            self._keep(mine)
            messages.append(mine)
        if len(messages) == number + 1:
            reply = self._persistently(lambda: self._delivered(messages[number]))  # type: ignore[arg-type]
            self.store.append(reply)
            messages.append(reply)
        reply = messages[number + 1]  # type: ignore[assignment]
        if isinstance(reply, FailedMessage):
            raise ProtocolError(
                f"The follower has ended the round ({reply.body.code}): {reply.body.message} Another round "
                "needs another directory."
            )
        return reply

    def _keep(self, mine: Request) -> None:
        if mine.number:
            self.store.append(mine)
        else:
            self.store.open(mine, self.follower)

    def _signed(self, kind: str, body: Strict, before: Request | Reply | None) -> Request:
        return signed_message(  # type: ignore[return-value]  # kinds of requests only
            self.identity,
            body,
            kind=kind,
            round_id=self.round_id,
            recipient=self.follower,
            time=self.store.now(),
            before=before,
        )

    def _delivered(self, mine: Request) -> Reply:
        """What came back, if it is the follower's signed answer to exactly this message."""
        try:
            reply = self.transport.deliver(mine)
        except ValidationError:
            raise UnreachableError("What came back is no message of this protocol.") from None
        place = (reply.round, reply.number, reply.previous, reply.sender, reply.recipient)
        expected = (mine.round, mine.number + 1, hash_of(mine), self.follower, self.identity.name)
        if place != expected or reply.kind not in FOLLOWS[mine.kind] or not is_signed_by(reply, self._key):
            raise UnreachableError("What came back is not the follower's signed answer to what was sent.")
        return reply

    def _persistently(self, action: Callable[[], T]) -> T:
        """Try until something comes back, while patience lasts; the other side takes repetitions well."""
        deadline, wait, refused = time.monotonic() + self.patience_s, TUNING.first_wait_s, 0
        while True:
            try:
                return action()
            except (RefusedError, UnreachableError) as error:
                trouble = error
            refused += isinstance(trouble, RefusedError) and not trouble.passes
            if refused >= TUNING.tries_after_refusal or time.monotonic() > deadline:
                raise ProtocolError(
                    f"The follower does not answer as it should ({trouble}): run the same command again to "
                    "go on with the round."
                ) from None
            self._sleep(wait * (0.5 + random.random()))  # noqa: S311 - leaders shall not all come at once
            wait = min(2.0 * wait, TUNING.longest_wait_s)


def _own_vector(repair: Step | None) -> FloatArray | None:
    values = None if repair is None else repair.output["values"]
    return None if values is None else frozen_vector(values, len(values), "the leader's own vector")


def _own(file: Path) -> Any:
    """What we have written down ourselves."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(
            f"{file} cannot be read ({type(error).__name__}): put it back, or begin a new round in another "
            "directory."
        ) from None
