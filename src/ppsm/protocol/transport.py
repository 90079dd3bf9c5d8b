"""What carries messages from the leader to the follower and replies back: in memory, or over HTTP.

A transport may lose, repeat, delay or spoil what it carries: what arrives is checked by whoever receives it.
"""

import ipaddress
import ssl
from collections.abc import Callable
from typing import Protocol

import httpx
from pydantic import ValidationError

from ppsm.errors import InputError, ProtocolError
from ppsm.protocol.identities import AUTHORITY, TLS_CERTIFICATE, TLS_FILE, TOKEN, Identity, certified_name
from ppsm.protocol.messages import Refusal, Reply, Request, Terms, message_adapter
from ppsm.protocol.signatures import decoded, encoded
from ppsm.protocol.tuning import TUNING


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


class HttpTransport:
    """Delivers messages to a follower's service, with TLS where its address begins with ``https``.

    Parameters
    ----------
    address
        Such as ``https://gas.example:8443``.
    identity
        Whose certificate and token are shown.
    follower
        The party that must be there. With TLS its name is that of the certificate: others have one of the
        same authority, and nobody shall get the token, or read along, in its place.
    timeout_s
        For one request; a repeated one finds what was done meanwhile.
    """

    def __init__(self, address: str, identity: Identity, follower: str, *, timeout_s: float = 60.0) -> None:
        if not address.startswith(("https://", "http://")):
            raise InputError(f"the follower is '{address}', expected an address such as https://HOST:PORT.")
        if address.startswith("http://") and not is_this_computer(httpx.URL(address).host):
            raise InputError(
                f"the follower is '{address}', which anybody on the way could read, token included: give an "
                "address that begins with https."
            )
        headers = {}
        token = identity.text(TOKEN)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(
            base_url=address,
            headers=headers,
            verify=_context(identity, follower) if address.startswith("https://") else _no_context(),
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, TUNING.connect_s)),
            follow_redirects=False,
            trust_env=False,
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def terms(self) -> Terms:
        """What the follower's policy says."""
        try:
            return Terms.model_validate_json(self._asked("GET", "/v1/terms"))
        except ValidationError:
            raise UnreachableError("What came back are no terms.") from None

    def deliver(self, message: Request) -> Reply:
        """Send a message and return what came back."""
        path = f"/v1/rounds/{message.round}/{message.kind}"
        return message_adapter.validate_json(self._asked("PUT", path, encoded(message)))  # type: ignore[return-value]

    def _asked(self, method: str, path: str, content: bytes | None = None) -> bytes:
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            with self._client.stream(method, path, content=content, headers=headers) as response:
                body = b""
                for part in response.iter_bytes():
                    body += part
                    if len(body) > TUNING.largest_reply_bytes:
                        raise UnreachableError("The reply has no end.")
        except httpx.HTTPError as error:
            raise UnreachableError(f"{type(error).__name__}: {error}"[:300]) from None
        if response.status_code == httpx.codes.OK:
            return body
        raise _refusal(response.status_code, body)


def _refusal(status: int, body: bytes) -> ProtocolError:
    try:
        told = Refusal.model_validate_json(body)
    except ValidationError:
        return UnreachableError(f"HTTP status {status}")
    return RefusedError(status, told.code, told.message)


def is_this_computer(host: str) -> bool:
    """Whether what is sent there stays on this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _no_context() -> ssl.SSLContext:
    """For connections without TLS: one that trusts nobody, should a connection turn out to have it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _context(identity: Identity, follower: str) -> ssl.SSLContext:
    home = identity.directory
    try:
        context = ssl.create_default_context(cafile=home / AUTHORITY)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(home / TLS_CERTIFICATE, home / TLS_FILE)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"{home} has no usable certificate ({type(error).__name__}), expected {AUTHORITY}, "
            f"{TLS_CERTIFICATE} and {TLS_FILE}: put them there."
        ) from None
    context.sslsocket_class = _ending_at(follower)
    return context


def _ending_at(party: str) -> type[ssl.SSLSocket]:
    """Connections that are cut before anything is said where the other end is somebody else."""

    class NamedEnd(ssl.SSLSocket):
        def do_handshake(self, block: bool = False) -> None:
            super().do_handshake(block)
            shown = certified_name(self.getpeercert())
            if shown != party:
                raise ssl.SSLCertVerificationError(f"the certificate is of '{shown}', expected '{party}'")

    return NamedEnd
