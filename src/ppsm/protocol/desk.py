"""The follower's desk: one message in, one reply out, and never two different ones to the same message.

A message is put on the disk before it is acted upon, its reply before it is given out. A message that comes
again gets the reply that it got before. Where the desk was stopped in between, the round goes on from what is
on the disk: steps 3a and 3b are done again, since they see no secret. Noise goes through four states::

    charged     the ledger is charged, and says that this charge is open
    drawn       in the memory of this process alone
    kept        the signed reply is on the disk
    noted       the ledger has its fingerprint: only now may the reply leave

Stopped before the noise is kept, the same charge draws once more: nobody has seen the first draw. Stopped
before it is noted, the reply on the disk is noted and given out. A charge whose noise was noted, and whose
reply is not on the disk, is of a store that was set back: the round ends (``lost``).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import numpy as np

from ppsm.errors import BudgetExceededError, InputError, LedgerError, PpsmError, PrivacyError, printable
from ppsm.mechanism.coordination import Decision, FollowerSide
from ppsm.mechanism.predictors import ModelBased
from ppsm.mechanism.steps import StepLog, fidelity_output
from ppsm.privacy import Ledger, Released, Sensitive
from ppsm.privacy.released import Receipt
from ppsm.protocol.dossiers import archive_round, sealed_head
from ppsm.protocol.identities import Identity
from ppsm.protocol.messages import (
    FOLLOWS,
    LAST,
    NO_MESSAGE,
    AbandonMessage,
    Ask,
    AskMessage,
    Closed,
    CommitmentMessage,
    DecisionMessage,
    Failed,
    FailureCode,
    Felt,
    Fidelity,
    Noisy,
    NoisyMessage,
    Predicted,
    ReleasedVector,
    Reply,
    Request,
    Restored,
    RestoredMessage,
    Strict,
    Terms,
    Told,
    purpose_of,
)
from ppsm.protocol.policy import Policy
from ppsm.protocol.round_store import Round, RoundLocks, RoundStore, soon
from ppsm.protocol.shared_market import Market, mechanism_of
from ppsm.protocol.signatures import encoded, hash_of, is_signed_by, signed_message
from ppsm.protocol.transport import RefusedError
from ppsm.protocol.tuning import TUNING
from ppsm.status import Status

LOG = logging.getLogger("ppsm.protocol")


class _EndedError(Exception):
    """The round is over for a reason that the leader is told."""

    def __init__(self, code: FailureCode, message: str, *, free: bool = False) -> None:
        super().__init__(message)
        # A solver may have much to say, in lines; a message has one, of an end.
        shown = " ".join(printable(message).split())[:1000]
        self.body, self.free = Failed(code=code, message=shown), free


class FollowerDesk:
    """Answers the messages of leaders for one data set.

    Parameters
    ----------
    market
        The follower's side of it.
    secret, ledger
        The data, and where releases of them are charged.
    policy, identity, store
        What is allowed to whom, who we are, and what was said so far.
    archive
        Gets a directory for each round with dossier, transcript and seal; None for none.
    """

    def __init__(
        self,
        market: Market[FollowerSide],
        secret: Sensitive,
        ledger: Ledger,
        policy: Policy,
        identity: Identity,
        store: RoundStore,
        archive: Path | None = None,
    ) -> None:
        self.archive = archive
        self.market, self.secret, self.ledger = market, secret, ledger
        self.policy, self.identity, self.store = policy, identity, store
        self._predictor = ModelBased()
        self._rounds = RoundLocks()
        # Solvers keep state; one round at a time is in steps 3a and 3b.
        self._solving = threading.Lock()
        # Noise that is drawn and could not be put on the disk yet.
        self._unsaved: dict[str, Released] = {}
        self._newest: Receipt | None = None
        # Rounds whose files are behind what was said, and what was said last in them.
        self._behind: dict[str, str] = {}
        for finding in disagreements(ledger, store):
            raise LedgerError(f"{finding} Restore the ledger or the rounds that belong together.")
        self._insist_on_one_kind_of_noise()
        self._catch_up()

    def _insist_on_one_kind_of_noise(self) -> None:
        """Seeded noise can be subtracted: no private release of the same data would be worth anything."""
        dataset, replies = self.policy.dataset, self.store.replies_to_ask()
        drawn = (each.body.released.record for each in replies if isinstance(each, NoisyMessage))
        if self.policy.research_seed is None:
            if any(each.dataset == dataset and not each.private for each in drawn):
                raise PrivacyError(
                    f"'{dataset}' was handed out with seeded noise, so no release of it is private any more: "
                    "serve other data."
                )
        elif any(each.dataset == dataset and each.spent for each in self.ledger.balances()):
            raise PrivacyError(
                f"The policy has a research seed, and '{dataset}' was released privately before: give the "
                "data of research another name."
            )

    def terms(self, party: str) -> Terms:
        """What a party may ask for."""
        policy = self.policy
        self._insist_on_party(party)
        return Terms(
            follower=self.identity.name,
            market=self.market.digest,
            dataset=policy.dataset,
            day=policy.day,
            mechanism=policy.mechanism,
            alpha=policy.alpha,
            epsilon=policy.epsilon,
            eta_p=policy.eta_p,
            eta_d=policy.eta_d if policy.mechanism == "ppsm" else None,
            outcome=policy.outcome,
            private=policy.research_seed is None,
        )

    def receive(self, party: str, message: Request) -> Reply:
        """Answer a message of a party that was let in; :class:`RefusedError` where it is not to be taken."""
        self._insist_on_party(party)
        if (message.sender, message.recipient) != (party, self.identity.name):
            raise RefusedError(
                403, "party", "The message is not from whoever brought it, to whom it was brought."
            )
        if not is_signed_by(message, self.identity.peer(party).key):
            raise RefusedError(403, "signature", "The message is not signed by its sender.")
        with self._rounds.held(message.round):
            return self._reply_to(party, message)

    def history(self, party: str, round_id: str) -> list[Request | Reply]:
        """All that was said in a round, for the party that it was said with."""
        self._insist_on_party(party)
        self._insist_on_round(party, round_id)
        messages = self.store.messages(round_id)
        self._note_draw(messages[-1])
        return messages

    def _insist_on_party(self, party: str) -> None:
        if party not in self.policy.parties or party not in self.identity.peers:
            raise RefusedError(403, "party", "This party may not ask here.")

    def _insist_on_round(self, party: str, round_id: str) -> Round:
        found = self.store.round(round_id)
        # A round of somebody else is none that this party could know of.
        if found is None or found.peer != party:
            raise RefusedError(404, "round", "There is no such round.")
        return found

    def _reply_to(self, party: str, message: Request) -> Reply:
        kept = self.store.messages(message.round)
        if kept:
            self._insist_on_round(party, message.round)
        if message.number < len(kept):
            if encoded(kept[message.number]) != encoded(message):
                raise RefusedError(
                    409, "altered", "Another message stands in its place: repeat what was sent."
                )
            if message.number + 1 < len(kept):
                return self._given_out(message)
            again = True
        else:
            self._insist_on_place(message, kept)
            again = False
        try:
            if not again:
                self._note(party, message)
            self._answer(message, kept, again=again)
        except _EndedError as end:
            LOG.warning("round %s with %s ended: %s", message.round, party, end.body.code)
            self._say(message, end.body, "failed", costs_nothing=end.free)
        reply = self._given_out(message)
        self._write_down(reply.round, reply.kind)
        return reply

    def _given_out(self, message: Request) -> Reply:
        """The reply to a message as it is on the disk: nothing else leaves."""
        reply = self.store.messages(message.round)[message.number + 1]
        self._note_draw(reply)
        return reply  # type: ignore[return-value]  # a request's successor

    def _note_draw(self, message: Request | Reply) -> None:
        """Have the ledger note noise that is about to leave; noted before, nothing happens."""
        if isinstance(message, NoisyMessage):
            released = message.body.released.to_released()
            if released.receipt is not None:
                with self._ledger_at_hand():
                    self.ledger.note_draw(released.receipt, released.noise_content)

    def _catch_up(self) -> None:
        """Write down what was not when the desk was stopped, or had no room on its disk."""
        for found, head in self.store.heads():
            if self.archive is not None and sealed_head(self.archive / found.id) != head:
                self._write_down(found.id, found.last)

    def _write_down(self, round_id: str, kind: str) -> None:
        """Dossier, transcript and seal, where a round has come to something; all of it is in the store.

        What cannot be written is left for the next round that can, or the next start.
        """
        if kind not in ("restored", *LAST):
            return
        self._behind.pop(round_id, None)
        if not self._archived(round_id):
            self._behind[round_id] = kind
            return
        # Nobody says anything more in a round that is over: what one thread writes of it, all would.
        for each, last in list(self._behind.items()):
            if last in LAST and self._archived(each):
                self._behind.pop(each, None)

    def _archived(self, round_id: str) -> bool:
        if self.archive is None:
            return True
        try:
            archive_round(self.archive, self.identity, self.store.messages(round_id))
        except (OSError, PpsmError) as error:
            LOG.error("round %s is not in the archive yet: %s", round_id, type(error).__name__)  # noqa: TRY400
            return False
        return True

    def _insist_on_place(self, message: Request, kept: list[Request | Reply]) -> None:
        last = kept[-1] if kept else None
        if last is None and message.kind != "ask":
            raise RefusedError(404, "round", "There is no such round.")
        allowed = FOLLOWS[None if last is None else last.kind]
        in_order = message.kind in allowed and message.number == len(kept)
        if not in_order or message.previous != (NO_MESSAGE if last is None else hash_of(last)):
            raise RefusedError(409, "order", "The message does not continue the round: send what comes next.")

    def _note(self, party: str, message: Request) -> None:
        """Put a message on the disk before anything is done about it."""
        if not isinstance(message, AskMessage):
            self.store.append(message)
            return
        allowance = self.policy.parties[party]
        cost = self.policy.epsilon

        def insist(count: int, spent: float) -> None:
            if count + 1 > allowance.rounds or spent + cost > allowance.epsilon * (1 + TUNING.allowance_room):
                raise _EndedError(
                    "limit",
                    f"The policy allows at most {allowance.rounds} rounds and epsilon = "
                    f"{allowance.epsilon:g} in {allowance.window_days:g} days; rounds so far: {count}, with "
                    f"epsilon = {spent:g} in all: ask later.",
                    free=True,
                )

        since = self.store.clock() - allowance.window.total_seconds()
        if self.store.free_rounds(party, since) >= TUNING.most_free_rounds:
            raise RefusedError(
                403,
                "limit",
                f"{TUNING.most_free_rounds} rounds have ended at once: see to what is asked for.",
            )
        try:
            self.store.begin(message, party, cost, insist=insist, since=since)
        except _EndedError:
            self.store.open(message, party)
            raise

    def _answer(self, message: Request, kept: list[Request | Reply], *, again: bool) -> None:
        """Put the reply on the disk."""
        if isinstance(message, AskMessage):
            self._noise(message, again=again)
            return
        self._insist_on_time(message)
        if isinstance(message, AbandonMessage):
            self._say(message, Closed(), "closed")
            return
        noisy = next(each.body for each in kept if isinstance(each, NoisyMessage))
        self._insist_on_market(noisy.terms)
        with soon(self._solving):
            if isinstance(message, DecisionMessage):
                self._say(message, self._restored(noisy, message.body), "restored")
            else:
                restored = next(each.body for each in kept if isinstance(each, RestoredMessage))
                self._say(message, self._outcome(noisy.terms, restored, message), "outcome")

    def _insist_on_market(self, terms: Terms) -> None:
        """End a round of a market that was another one when the desk was last started."""
        if terms.market != self.market.digest:
            raise _EndedError("market", "The follower serves another market by now: begin a new round.")

    def _insist_on_time(self, message: Request) -> None:
        """End a round that has waited for too long; by our clock, not the sender's."""
        asked = self.store.messages(message.round)[message.number - 1]
        waited = (self.store.now() - datetime.fromisoformat(asked.time)).total_seconds()
        if waited > self.policy.round_timeout_s:
            raise _EndedError(
                "expired",
                f"The round had to go on within {self.policy.round_timeout_s:g} s: begin a new one.",
            )

    def _noise(self, message: AskMessage, *, again: bool) -> None:
        """Step 1, once."""
        party, terms = message.sender, self.terms(message.sender)
        if message.body != Ask(market=terms.market, dataset=terms.dataset, day=terms.day):
            raise _EndedError(
                "market", "Market, data set or day are not those of the terms: ask for the terms.", free=True
            )
        purpose = purpose_of(message.round, party)

        def keep(released: Released) -> None:
            self._unsaved[message.round] = released
            self._newest = released.receipt or self._newest
            self._say(message, Noisy(released=ReleasedVector.of(released), terms=terms), "noisy")
            del self._unsaved[message.round]

        unsaved = self._unsaved.get(message.round)
        if unsaved is not None:
            keep(unsaved)
            return
        with self._ledger_at_hand():
            self._insist_on_memory()
            if again:
                self._insist_on_open(terms, purpose)
            self._draw(terms, purpose, keep)

    def _insist_on_memory(self) -> None:
        """Charge nothing to a ledger that was set back while the desk is open."""
        if self._newest is not None and not self.ledger.confirm_receipt(self._newest):
            raise LedgerError("The ledger has forgotten a charge: restore its newest copy.")

    def _insist_on_open(self, terms: Terms, purpose: str) -> None:
        """End a round that was charged for noise that may have left, or under other terms."""
        for record, is_open in self.ledger.charges_for(purpose):
            same = (record.dataset, record.alpha, record.epsilon)
            if not is_open or same != (terms.dataset, terms.alpha, terms.epsilon):
                raise _EndedError(
                    "lost", "The budget was charged and the noise is not here any more: begin a new round."
                )

    def _draw(self, terms: Terms, purpose: str, keep: Callable[[Released], None]) -> None:
        mechanism, side, seed = mechanism_of(terms), self.market.side, self.policy.research_seed
        if seed is not None:
            keep(mechanism.perturb_with_seed(self.secret, side, self._predictor, seed=seed, purpose=purpose))
        else:
            mechanism.perturb(
                self.secret, side, self._predictor, ledger=self.ledger, purpose=purpose, keep=keep
            )

    @contextmanager
    def _ledger_at_hand(self) -> Iterator[None]:
        """Say what a ledger's trouble means for a round."""
        try:
            yield
        except BudgetExceededError as error:
            LOG.warning("the budget does not cover a round: %s", error)
            raise _EndedError(
                "budget", "The privacy budget of the data set does not cover another release.", free=True
            ) from None
        except (LedgerError, InputError, PrivacyError) as error:
            LOG.error("the ledger cannot be used: %s", error)  # noqa: TRY400 - one sentence, no traceback
            raise RefusedError(
                503, "ledger", "The follower's ledger cannot be used now: repeat the request later."
            ) from None

    def _restored(self, noisy: Noisy, felt: Felt) -> Restored:
        """Steps 3a and 3b."""
        decision = self._decision(felt)
        try:
            answer = mechanism_of(noisy.terms).answer(
                StepLog(), noisy.released.to_released(), self.market.side, self._predictor, decision
            )
        except PpsmError as error:
            raise _EndedError(
                "unsolved", f"Steps 3a and 3b found no answer to the decision ({error})"
            ) from None
        proof = fidelity_output(answer.fidelity)
        del proof["values"]  # they are those of the released vector
        return Restored(
            released=ReleasedVector.of(answer.released),
            predicted=Predicted(value=answer.prediction.value, prices=answer.prediction.prices.tolist()),
            fidelity=Fidelity.model_validate(proof),
        )

    def _outcome(self, terms: Terms, restored: Restored, message: CommitmentMessage) -> Told:
        """The market with the released vector: post-processing, so nothing of the true data is in it."""
        decision = self._decision(message.body)
        if terms.outcome == "nothing":
            return Told(told="nothing")
        side = self.market.side
        try:
            cleared = side.follower_at(decision).solve(restored.released.to_released().values)
        except PpsmError as error:
            raise _EndedError("unsolved", f"The market was not cleared beside it ({error})") from None
        if not cleared.status.has_answer:
            return Told(told="released", served=False)
        prices = side.row_prices(cleared.prices).tolist()
        return Told(told="released", served=True, value=cleared.value, prices=prices)

    def _decision(self, felt: Felt) -> Decision:
        """What was sent as a decision, if it is one of this market."""
        side, values = self.market.side, np.array(felt.values)
        names = side.felt_names
        if tuple(felt.names) != names or values.shape != (len(names),):
            raise _EndedError("unusable", "The decision names other things than this market feels.")
        if felt.unit != side.felt_unit:
            raise _EndedError("unusable", f"The decision has another unit than '{side.felt_unit}'.")
        if (np.abs(values) > TUNING.largest_felt).any():
            raise _EndedError("unusable", f"The decision has a number beyond {TUNING.largest_felt:g}.")
        return Decision(values, names, felt.unit, None, Status.INCUMBENT)

    def _say(self, message: Request, body: Strict, kind: str, *, costs_nothing: bool = False) -> None:
        """Put a signed reply on the disk."""
        reply = signed_message(
            self.identity,
            body,
            kind=kind,
            round_id=message.round,
            recipient=message.sender,
            time=self.store.now(),
            before=message,
        )
        self.store.append(reply, costs_nothing=costs_nothing)


def disagreements(ledger: Ledger, store: RoundStore) -> list[str]:
    """Where ledger and rounds contradict each other; nothing where they agree.

    An open charge without a noisy vector is no contradiction: it is what a crash leaves between the two.
    """
    findings, seen = [], set()
    for reply in store.replies_to_ask():
        if isinstance(reply, NoisyMessage) and reply.body.released.receipt is not None:
            released = reply.body.released.to_released()
            if not ledger.confirm(released):
                findings.append(f"The ledger has not charged the noisy vector of round {reply.round}.")
            elif released.receipt and ledger.other_draw(released.receipt, released.noise_content):
                findings.append(f"The ledger has noted other noise than that of round {reply.round}.")
            entry = reply.body.released.receipt.entry_hash
            if entry in seen:
                findings.append(f"The charge of round {reply.round} serves another round too.")
            seen.add(entry)
    return findings
