"""What carries messages from the leader to the follower and replies back; here in memory.

A transport may lose, repeat, delay or spoil what it carries: what arrives is checked by whoever receives it.
"""

from collections.abc import Callable
from typing import Protocol

from ppsm.errors import ProtocolError
from ppsm.protocol.messages import Reply, Request, Terms, message_adapter
from ppsm.protocol.signatures import decoded, encoded


class RefusedError(ProtocolError):
    """A request was not taken; it is no part of a round, and may be mended and repeated.

    ``status`` is that of HTTP, ``code`` one word for machines.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def passes(self) -> bool:
        """Whether the same request may be taken later."""
        return self.status in (429, 503)


class UnreachableError(ProtocolError):
    """Nothing came back: whether the request arrived is not known."""


class Transport(Protocol):
    """The leader's way to a follower."""

    def terms(self) -> Terms:
        """What the follower's policy says."""

    def deliver(self, message: Request) -> Reply:
        """Send a message and return what came back, unchecked; or raise one of the two errors above."""


class Desk(Protocol):
    """Who answers at the other end."""

    def terms(self, party: str) -> Terms:
        """What a party may ask for."""

    def receive(self, party: str, message: Request) -> Reply:
        """Answer a message of a party that was let in."""


class InMemoryTransport:
    """Both parties in one process; everything passes as bytes, as on a wire.

    Parameters
    ----------
    desk
        The follower's.
    party
        As whom the leader was let in.
    on_wire
        Sees all bytes, in both directions.
    """

    def __init__(self, desk: Desk, party: str, on_wire: Callable[[bytes], None] | None = None) -> None:
        self._desk, self._party = desk, party
        self._on_wire = on_wire if on_wire is not None else lambda _: None

    def terms(self) -> Terms:
        """What the follower's policy says."""
        return Terms.model_validate(decoded(self._carried(encoded(self._desk.terms(self._party)))))

    def deliver(self, message: Request) -> Reply:
        """Hand over a message and bring back the reply."""
        arrived = message_adapter.validate_json(self._carried(encoded(message)))
        reply = self._desk.receive(self._party, arrived)  # type: ignore[arg-type]  # a request was sent
        return message_adapter.validate_json(self._carried(encoded(reply)))  # type: ignore[return-value]

    def _carried(self, content: bytes) -> bytes:
        self._on_wire(content)
        return content
