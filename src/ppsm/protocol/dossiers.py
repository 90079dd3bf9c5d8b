"""What each side writes down: the release with its dossier, the transcript, and seals on both; its proof.

A seal says whose dossier it is and binds it to case, day, ledger head, request and transcript; whoever has
the public key can check it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

import ppsm
from ppsm.arrays import frozen_vector
from ppsm.errors import FileFormatError, PpsmError, ProtocolError
from ppsm.fidelity.certificate import TOLERANCE, Certificate, Claim, certify
from ppsm.fidelity.problem import MeasuredTotals
from ppsm.files import write_bytes_atomically
from ppsm.mechanism.coordination import Coordination, Decision
from ppsm.mechanism.dossier import Dossier, Step
from ppsm.mechanism.guarantees import Guarantees, faithful_distance
from ppsm.mechanism.predictors import ModelBased, Prediction
from ppsm.mechanism.steps import FOLLOWER, LEADER, StepLog
from ppsm.privacy.released import Released
from ppsm.protocol.identities import Identity
from ppsm.protocol.messages import (
    AskMessage,
    DecisionMessage,
    Felt,
    Hash,
    Noisy,
    NoisyMessage,
    PartyName,
    Reply,
    Request,
    Restored,
    RestoredMessage,
    RoundId,
    Signature,
    Strict,
    plain,
)
from ppsm.protocol.shared_market import mechanism_of
from ppsm.protocol.signatures import decoded, digest, encoded, hash_of, is_signature, sign
from ppsm.protocol.transcript import Transcript
from ppsm.status import Status

DOSSIER, TRANSCRIPT, SEAL = "dossier.json", "transcript.json", "seal.json"
# What the leader alone does; the follower's dossier has as much of it as it was told.
_OWN_STEPS = ("2a", "2b")
_ELSEWHERE = "the leader alone knows which bids it selected"


@dataclass(frozen=True, eq=False)
class Exchange:
    """A round up to the released vector, as its messages tell it."""

    ask: AskMessage
    noisy: Noisy
    decision: Decision
    restored: Restored

    @classmethod
    def of(cls, messages: Sequence[Request | Reply], decision: Decision) -> "Exchange":
        """Read the messages of a round that has come to its released vector."""
        kinds = {each.kind: each for each in messages}
        ask, noisy, restored = kinds.get("ask"), kinds.get("noisy"), kinds.get("restored")
        if (
            not isinstance(ask, AskMessage)
            or not isinstance(noisy, NoisyMessage)
            or not isinstance(restored, RestoredMessage)
        ):
            raise ProtocolError("The round has no released vector, so there is no dossier of it.")
        return cls(ask, noisy.body, decision, restored.body)

    @property
    def released(self) -> Released:
        """D^."""
        return self.restored.released.to_released()

    @property
    def prediction(self) -> Prediction:
        """What the follower predicted in step 3a."""
        said = self.restored.predicted
        return Prediction(said.value, frozen_vector(said.prices, len(said.prices), "the price"))

    def dossier(self, own_steps: Sequence[Step], side: Coordination | None) -> Dossier:
        """How the release came about; the leader's side of the market tells its cost of privacy too."""
        mechanism, fidelity = mechanism_of(self.noisy.terms), self.restored.fidelity
        noisy, log = self.noisy.released.to_released(), StepLog()
        log.steps.extend([*own_steps, *self._follower_steps()])
        widening, gap = fidelity.widening, 1.0 if fidelity.gap is None else fidelity.gap
        if side is None:
            distance = faithful_distance(
                noisy.record,
                mechanism.norm,
                has_prior=False,
                has_half_spaces=False,
                widening=widening,
                gap=gap,
            )
            theory = Guarantees(distance, _ELSEWHERE)
        else:
            theory = mechanism.guarantees(
                noisy, side, self.decision, self.prediction, widening=widening, gap=gap
            )
        return mechanism.dossier(noisy, self.released, log, ModelBased(), theory)

    def _follower_steps(self) -> list[Step]:
        said, proof = plain(self.restored.predicted), plain(self.restored.fidelity)
        proof["values"] = self.restored.released.values
        inputs = ("noisy demand", "leader's decision", "predictor model")
        return [
            Step("3a", FOLLOWER, inputs, said, None, None),
            Step("3b", FOLLOWER, (*inputs[:2], "predictions", "public bounds"), proof, None, None),
        ]


def _told_decision(message: DecisionMessage) -> Step:
    """Step 2b as far as the follower knows it."""
    return Step("2b", LEADER, ("not told",), plain(message.body), None, None)


def _decision_in(messages: Sequence[Request | Reply]) -> DecisionMessage:
    for each in messages:
        if isinstance(each, DecisionMessage):
            return each
    raise ProtocolError("The round has no decision, so there is no dossier of it.")


def _as_decision(message: DecisionMessage) -> Decision:
    said = message.body
    felt = frozen_vector(said.values, len(said.names), "the decision")
    return Decision(felt, tuple(said.names), said.unit, None, Status.INCUMBENT)


def archive_round(archive: Path, identity: Identity, messages: Sequence[Request | Reply]) -> None:
    """Write down the follower's side of a round in a directory of its own."""
    directory = archive / messages[0].round
    directory.mkdir(parents=True, exist_ok=True)
    if any(isinstance(each, RestoredMessage) for each in messages):
        sent = _decision_in(messages)
        dossier = Exchange.of(messages, _as_decision(sent)).dossier([_told_decision(sent)], None)
        write_bytes_atomically(directory / DOSSIER, dossier.to_json().encode() + b"\n")
    write_seal(directory, identity, Transcript(kept_by=identity.name, messages=list(messages)))


class SealContent(Strict):
    """What a seal is about."""

    format: Literal["ppsm-seal/1"] = "ppsm-seal/1"
    signer: PartyName
    round: RoundId
    market: Hash
    day: str
    ledger_head: Hash | None
    request: Hash
    transcript_head: Hash
    dossier_sha256: Hash | None


class Seal(Strict):
    """A signed :class:`SealContent`."""

    content: SealContent
    signature: Signature


def write_seal(directory: Path, identity: Identity, transcript: Transcript) -> Seal:
    """Write the transcript and a seal on it and on the dossier beside it, if there is one."""
    transcript.write(directory / TRANSCRIPT)
    file = directory / DOSSIER
    content = _sealed(identity.name, transcript, digest(file.read_bytes()) if file.exists() else None)
    seal = Seal(content=content, signature=sign(identity.key, plain(content)))
    write_bytes_atomically(directory / SEAL, encoded(seal) + b"\n")
    return seal


def _sealed(signer: str, transcript: Transcript, dossier_sha256: str | None) -> SealContent:
    ask = transcript.messages[0] if transcript.messages else None
    if not isinstance(ask, AskMessage):
        raise ProtocolError("The round does not begin with a request, so it cannot be sealed.")
    return SealContent(
        signer=signer,
        round=ask.round,
        market=ask.body.market,
        day=ask.body.day,
        ledger_head=_ledger_head(transcript),
        request=hash_of(ask),
        transcript_head=transcript.head,
        dossier_sha256=dossier_sha256,
    )


def sealed_head(directory: Path) -> str | None:
    """The head of the transcript that a directory is sealed with; None where it has no seal."""
    try:
        return _read_seal(directory).content.transcript_head
    except FileFormatError:
        return None


def _read_seal(directory: Path) -> Seal:
    try:
        return Seal.model_validate(decoded((directory / SEAL).read_bytes()))
    except (OSError, ValidationError) as error:
        raise FileFormatError(
            f"{directory / SEAL} cannot be read ({type(error).__name__}): use one that ppsm wrote."
        ) from None


def check_seal(directory: Path, keys: dict[str, Ed25519PublicKey]) -> list[str]:
    """What is wrong with the seal of a directory and with what it seals; nothing where all is well."""
    transcript, seal = Transcript.read(directory / TRANSCRIPT), _read_seal(directory)
    content, findings = seal.content, []
    key = keys.get(content.signer)
    if key is None or not is_signature(key, seal.signature, plain(content)):
        findings.append(f"The seal is not signed by '{content.signer}', as far as the keys tell.")
    if content.signer != transcript.kept_by:
        findings.append(f"The seal is of '{content.signer}', the transcript of '{transcript.kept_by}'.")
    file = directory / DOSSIER
    written = file.read_bytes() if file.exists() else None
    expected = _sealed(content.signer, transcript, None if written is None else digest(written))
    if content.model_copy(update={"dossier_sha256": expected.dossier_sha256}) != expected:
        findings.append("The seal is of another transcript.")
    if content.dossier_sha256 != expected.dossier_sha256:
        findings.append("The seal is of another dossier: it was altered, or comes from another round.")
    return findings + ([] if written is None else _check_dossier(written, transcript))


def _check_dossier(written: bytes, transcript: Transcript) -> list[str]:
    """Whether a dossier tells of what was sent, all through: its own seal does not say so.

    It is made once more from the messages. What its side alone knows is taken as it stands: how the leader
    came to its decision, and what privacy may cost it.
    """
    try:
        told = decoded(written)
        dossier = Dossier.from_dict(told)
        own = [step for step in dossier.steps if step.step in _OWN_STEPS]
        sent = _decision_in(transcript.messages)
        again = Exchange.of(transcript.messages, _as_decision(sent)).dossier(own, None).to_dict()
    except PpsmError as error:
        return [f"The dossier is not one of this round: {error}"]
    parts = {name: (told.get(name), again.get(name)) for name in sorted({*told, *again} - {"theory"})}
    parts["theory"] = told["theory"]["distance"], again["theory"]["distance"]
    decided = own[-1].output if own else {}
    parts["decision"] = [decided.get(name) for name in Felt.model_fields], list(plain(sent.body).values())
    return [
        f"The dossier's part '{name}' is not what ppsm {ppsm.__version__} makes of the messages."
        for name, (one, other) in parts.items()
        if one != other
    ]


def _ledger_head(transcript: Transcript) -> str | None:
    noisy = next((each for each in transcript.messages if isinstance(each, NoisyMessage)), None)
    receipt = None if noisy is None else noisy.body.released.receipt
    return None if receipt is None else receipt.entry_hash


def certified(side: Coordination, exchange: Exchange) -> Certificate:
    """Check what the follower says of D^; :class:`ProtocolError` where it is not true.

    All of it that the leader's own copy of the public market can tell: that D^ is in the bands, by code that
    shares nothing with the search, and what goes into the leader's dossier, distance, value, bands and
    widening. Only how near to D~ a faithful vector can be (the bound, the gap, the least widening) would take
    the follower's own search.
    """
    told, names = exchange.restored.predicted.prices, side.price_names
    if len(told) != len(names):
        raise ProtocolError(f"The follower predicts {len(told)} prices of a market that has {len(names)}")
    claim = claim_of(side, exchange)
    certificate = certify(claim)
    if not certificate.faithful:
        found = certificate.findings[0]
        raise ProtocolError(
            f"D^ is not faithful to the bands that it claims ({found.what} '{found.name}', off by "
            f"{found.amount:g})"
        )
    for what in _false_statements(exchange, claim, certificate):
        raise ProtocolError(f"The proof of D^ states a false {what}")
    return certificate


def claim_of(side: Coordination, exchange: Exchange) -> Claim:
    """What the follower claims of D^, in terms of our own copy of the public market."""
    follower = side.follower_at(exchange.decision)
    bands = mechanism_of(exchange.noisy.terms).bands(exchange.prediction, side)
    # A widening below one is found false; until then it must not turn bands around.
    wide = bands.widened(max(1.0, exchange.restored.fidelity.widening))
    lower, upper = side.public_bounds
    return Claim(
        program=follower.program,
        parameter_map=follower.parameter_map,
        names=follower.parameter_names,
        sign=follower.sign,
        parameter=exchange.released.values,
        lower=lower,
        upper=upper,
        value=wide.value,
        value_width=wide.value_width,
        prices=wide.prices,
        price_width=wide.price_width,
    )


def _false_statements(exchange: Exchange, claim: Claim, certificate: Certificate) -> list[str]:
    """What the proof says and is not so."""
    said = exchange.restored.fidelity
    floor = claim.typical_price * claim.typical_quantity
    # Two builds of a solver differ in the last digits; a lie that small would change nothing.
    rounding = 10.0 * TOLERANCE

    def near(one: float, other: float, least: float) -> bool:
        return abs(one - other) <= rounding * max(abs(one), abs(other), least)

    distance, tiny = _distance(exchange), claim.typical_quantity**2
    band = (claim.value, claim.value_width)
    told = (None, 0.0) if said.value_band is None else tuple(said.value_band)
    true = {
        "verdict": said.faithful,
        "widening": said.widening >= 1.0,
        "distance": near(said.objective, distance, tiny),
        "bound": said.bound is None or said.bound <= distance + rounding * max(distance, tiny),
        "gap": said.gap is None or said.gap >= 0.0,
        "value": near(said.value, certificate.value, floor),
        "value band": all(
            one == other if one is None or other is None else near(one, other, floor)
            for one, other in zip(told, band, strict=True)
        ),
        "price band": said.has_price_band == (claim.prices is not None),
    }
    return [what for what, holds in true.items() if not holds]


def _distance(exchange: Exchange) -> float:
    """The objective of step 3b at D^, as :class:`~ppsm.fidelity.problem.MeasuredTotals` writes it down."""
    noisy, values = exchange.noisy.released.to_released(), exchange.released.values
    totals, distance = MeasuredTotals.of(noisy), float(((values - noisy.values) ** 2).sum())
    if totals is not None:
        distance += float((totals.missed(values) ** 2).sum())
    return distance
