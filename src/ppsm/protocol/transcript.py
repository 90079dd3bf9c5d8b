"""The chain of a round, and how it is checked with public keys alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from ppsm.errors import FileFormatError, PpsmError
from ppsm.files import write_bytes_atomically
from ppsm.protocol.messages import (
    FOLLOWS,
    LAST,
    NO_MESSAGE,
    REQUESTS,
    Message,
    NoisyMessage,
    PartyName,
    Reply,
    Request,
    RestoredMessage,
    Strict,
    plain,
    purpose_of,
)
from ppsm.protocol.signatures import canonical, decoded, encoded, hash_of, is_signed_by

FORMAT: Literal["ppsm-transcript/1"] = "ppsm-transcript/1"


class Transcript(Strict):
    """All messages of a round, as one side has kept them."""

    format: Literal["ppsm-transcript/1"] = FORMAT
    kept_by: PartyName
    messages: list[Message]

    @property
    def head(self) -> str:
        """The hash of the last message, which pins all of them."""
        return hash_of(self.messages[-1]) if self.messages else NO_MESSAGE

    @property
    def is_complete(self) -> bool:
        """Whether the round is over."""
        return bool(self.messages) and self.messages[-1].kind in LAST

    def write(self, file: Path) -> None:
        """Write the transcript."""
        write_bytes_atomically(file, encoded(self) + b"\n")

    @classmethod
    def read(cls, file: Path) -> "Transcript":
        """Read what :meth:`write` wrote; anything else is refused."""
        try:
            content = decoded(file.read_bytes(), str(file))
            found = cls.model_validate(content)
        except OSError as error:
            raise FileFormatError(f"{file} cannot be read ({error.strerror}): check the path.") from None
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "all of it"
            raise FileFormatError(
                f"{file} is no transcript ({where}: {first['msg']}): use one that ppsm wrote."
            ) from None
        if canonical(content) != canonical(plain(found)):
            raise FileFormatError(f"{file} says less or more than it seems to: use one that ppsm wrote.")
        return found


@dataclass(frozen=True)
class TranscriptCheck:
    """What was found wrong; nothing where all is well."""

    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def check_transcript(transcript: Transcript, keys: Mapping[str, Ed25519PublicKey]) -> TranscriptCheck:
    """Check one transcript: order, chain, signatures, and that its parts speak of the same things."""
    messages = transcript.messages
    if not messages:
        return TranscriptCheck(("The transcript has no message.",))
    findings = [finding for index in range(len(messages)) for finding in _place(messages, index)]
    if transcript.kept_by not in (messages[0].sender, messages[0].recipient):
        findings.append(f"It is kept by '{transcript.kept_by}', who has no part in the round.")
    findings += _signatures(messages, keys)
    findings += _contents(messages)
    return TranscriptCheck(tuple(findings))


def compare_transcripts(one: Transcript, other: Transcript) -> TranscriptCheck:
    """Hold what one side has kept against what the other has."""
    names = one.kept_by, other.kept_by
    if names[0] == names[1]:
        return TranscriptCheck((f"Both were kept by '{names[0]}': compare with what the other has kept.",))
    for index, (first, second) in enumerate(zip(one.messages, other.messages, strict=False)):
        if encoded(first) != encoded(second):
            return TranscriptCheck(
                (f"Message {index} ({first.kind}) of '{names[0]}' is not that of '{names[1]}'.",)
            )
    counts = len(one.messages), len(other.messages)
    if counts[0] != counts[1]:
        return TranscriptCheck(
            (f"'{names[0]}' has kept {counts[0]} messages, '{names[1]}' {counts[1]}: a round was cut short.",)
        )
    return TranscriptCheck(())


def _place(messages: Sequence[Request | Reply], index: int) -> list[str]:
    """What is wrong with where a message stands."""
    message, first = messages[index], messages[0]
    before = messages[index - 1] if index else None
    called = f"Message {index} ({message.kind})"
    findings = []
    if message.number != index:
        findings.append(f"{called} says that it is number {message.number}.")
    if message.previous != (NO_MESSAGE if before is None else hash_of(before)):
        findings.append(f"{called} does not continue the message before it: the chain is broken.")
    if message.kind not in FOLLOWS[None if before is None else before.kind]:
        findings.append(f"{called} stands where it does not belong.")
    if message.round != first.round:
        findings.append(f"{called} is of another round.")
    leads = message.kind in REQUESTS
    expected = (first.sender, first.recipient) if leads else (first.recipient, first.sender)
    if (message.sender, message.recipient) != expected:
        findings.append(f"{called} is not from '{expected[0]}' to '{expected[1]}'.")
    return findings


def _signatures(messages: Sequence[Request | Reply], keys: Mapping[str, Ed25519PublicKey]) -> list[str]:
    findings = []
    for index, message in enumerate(messages):
        key = keys.get(message.sender)
        if key is None:
            findings.append(f"There is no public key of '{message.sender}' to check message {index} with.")
        elif not is_signed_by(message, key):
            findings.append(f"Message {index} ({message.kind}) is not signed by '{message.sender}'.")
    return findings


def _contents(messages: Sequence[Request | Reply]) -> list[str]:
    """Whether the data set, the market and the ledger's receipt are the same all along."""
    findings = []
    ask = messages[0].body
    noisy = next((each.body for each in messages if isinstance(each, NoisyMessage)), None)
    restored = next((each.body for each in messages if isinstance(each, RestoredMessage)), None)
    if noisy is not None:
        terms, record = noisy.terms, noisy.released.record
        told = terms.market, terms.dataset, terms.day
        if messages[0].kind == "ask" and told != (ask.market, ask.dataset, ask.day):  # type: ignore[union-attr]
            findings.append(
                "The follower answered for another market, data set or day than it was asked for."
            )
        if (record.dataset, record.alpha, record.epsilon) != (terms.dataset, terms.alpha, terms.epsilon):
            findings.append("The noisy vector was made for other terms than the round's.")
        if record.purpose != purpose_of(messages[0].round, messages[0].sender):
            findings.append("The noisy vector was drawn for another round.")
        try:
            noisy.released.to_released()
        except PpsmError as error:
            findings.append(f"The noisy vector contradicts itself: {error}")
    if restored is not None and noisy is not None:
        parts = ("record", "receipt", "labels")
        if any(getattr(restored.released, part) != getattr(noisy.released, part) for part in parts):
            findings.append("The released vector does not come from the noisy one.")
    return findings
