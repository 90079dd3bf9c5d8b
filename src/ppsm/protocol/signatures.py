"""Who said it: Ed25519 signatures over canonical JSON, and the hashes that chain messages.

Canonical: keys sorted, no spaces, ASCII, numbers as Python prints them (the shortest text that reads back as
the same double). The hash of a message covers its signature too.
"""

import hashlib
import json
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ppsm.errors import FileFormatError
from ppsm.files import strict_json
from ppsm.privacy.record import utc_text
from ppsm.protocol.identities import Identity
from ppsm.protocol.messages import MESSAGES, NO_MESSAGE, Reply, Request, Strict, plain

_UNSIGNED = "0" * 128


def canonical(content: Any) -> bytes:
    """The one way to write something down."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(content: bytes) -> str:
    """The SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def encoded(model: Strict) -> bytes:
    """A message as it travels and as it is kept."""
    return canonical(plain(model))


def hash_of(message: Request | Reply) -> str:
    """What the next message of a chain carries."""
    return digest(encoded(message))


def signed_message(
    sender: Identity,
    body: Strict,
    *,
    kind: str,
    round_id: str,
    recipient: str,
    time: datetime,
    before: Request | Reply | None,
) -> Request | Reply:
    """The next message of a chain."""
    draft = MESSAGES[kind](
        round=round_id,
        number=0 if before is None else before.number + 1,
        sender=sender.name,
        recipient=recipient,
        time=utc_text(time),
        previous=NO_MESSAGE if before is None else hash_of(before),
        signature=_UNSIGNED,
        body=body,  # type: ignore[arg-type]  # checked when it runs, by kind
    )
    return draft.model_copy(update={"signature": sign(sender.key, _content(draft))})


def is_signed_by(message: Request | Reply, key: Ed25519PublicKey) -> bool:
    """Whether the holder of a key has said exactly this."""
    return is_signature(key, message.signature, _content(message))


def _content(message: Request | Reply) -> dict[str, Any]:
    content = plain(message)
    del content["signature"]
    return content


def sign(key: Ed25519PrivateKey, content: Any) -> str:
    """A signature as hexadecimal text."""
    return key.sign(canonical(content)).hex()


def is_signature(key: Ed25519PublicKey, signature: str, content: Any) -> bool:
    """Whether a signature is of this key and this content."""
    try:
        key.verify(bytes.fromhex(signature), canonical(content))
    except (InvalidSignature, ValueError):
        return False
    return True


def decoded(text: bytes, what: str = "The message") -> Any:
    """What a message says, by the strictest reading of JSON."""
    try:
        return strict_json(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{what} is not JSON ({error}): use one that ppsm wrote.") from None
