"""Who is let in, how often, and with how much: everything that is decided before a message is read.

A party shows a certificate (its common name is the party's) or a token; a person who wants to see the page
types a password. Whoever shows nothing is told nothing.
"""

import base64
import binascii
import hmac
import logging
import threading
import time
from asyncio import BaseTransport
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import PAGE_TOKEN, token_hash
from ppsm.protocol.messages import Refusal, plain
from ppsm.protocol.transport import RefusedError
from ppsm.protocol.tuning import TUNING

LOG = logging.getLogger("ppsm.protocol")
OPEN_PATHS = ("/health", "/openapi.json")
PAGE_PATHS = ("/",)


class CertificateProtocol(H11Protocol):
    """HTTP of uvicorn, which also tells the application whose certificate the other end has shown."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Note the common name of a certificate that the TLS layer has checked."""
        super().connection_made(transport)  # type: ignore[arg-type]
        shown = transport.get_extra_info("ssl_object")
        subject = (shown.getpeercert() or {}).get("subject", ()) if shown is not None else ()
        names = [value for part in subject for key, value in part if key == "commonName"]
        self.app_state = {**self.app_state, "certificate": names[0] if len(names) == 1 else None}


class Rates:
    """At most so many requests a minute from each caller, with a minute's worth at once."""

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock, self._lock = per_minute, clock, threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def insist(self, caller: str) -> None:
        """Count a request, or refuse it."""
        with self._lock:
            now = self._clock()
            left, then = self._left.pop(caller, (self._per_minute, now))
            left = min(self._per_minute, left + (now - then) * self._per_minute / 60.0)
            # The newest stand last, so that the first is the one that was quiet for longest.
            self._left[caller] = (max(left - 1.0, 0.0), now)
            if len(self._left) > TUNING.most_callers:
                del self._left[next(iter(self._left))]
        if left < 1.0:
            raise RefusedError(429, "rate", f"More than {self._per_minute:g} requests a minute: wait.")


class Door:
    """The outermost part of the service.

    Parameters
    ----------
    app
        What is behind it.
    desk
        Has the policy, the peers and the place where refusals are noted.
    """

    def __init__(self, app: ASGIApp, desk: FollowerDesk) -> None:
        self._app, self._desk = app, desk
        self._rates = Rates(desk.policy.requests_per_minute)
        self._page_token = desk.identity.text(PAGE_TOKEN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, await self._let_in(scope, receive), sending)
        except RefusedError as refusal:
            self.note(scope, refusal)
            await refused(refusal)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever fails must not end the service, or tell anything
            LOG.error("%s failed with %s", scope["path"], type(error).__name__)  # noqa: TRY400
            if not started:
                trouble = RefusedError(500, "internal", "The follower failed on this request.")
                await refused(trouble)(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive) -> Callable[[], Awaitable[Message]]:
        """Decide about a request; its body is read here, up to the largest size."""
        headers, path = Headers(scope=scope), scope["path"]
        state = scope.setdefault("state", {})
        address = scope["client"][0] if scope.get("client") else "unknown"
        if path in OPEN_PATHS:
            self._rates.insist(f"address {address}")
        elif path in PAGE_PATHS:
            self._rates.insist(f"address {address}")
            self._insist_on_reader(headers)
        else:
            party = self._party(headers, state.get("certificate"))
            self._rates.insist(f"address {address}" if party is None else f"party {party}")
            if party is None:
                raise RefusedError(401, "credentials", "Neither a certificate nor a token of a known party.")
            state["party"] = party
        return await self._limited_body(headers, receive)

    def _party(self, headers: Headers, certificate: str | None) -> str | None:
        """Which party a request is from; None where nobody vouches for it."""
        if certificate is not None:
            return certificate if certificate in self._desk.identity.peers else None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if self._desk.policy.certificate_required or scheme.lower() != "bearer":
            return None
        shown = token_hash(token.strip())
        found = None
        for name, peer in self._desk.identity.peers.items():  # all of them: the time shall tell nothing
            if peer.token_sha256 is not None and hmac.compare_digest(shown, peer.token_sha256):
                found = name
        return found

    def _insist_on_reader(self, headers: Headers) -> None:
        scheme, _, code = headers.get("authorization", "").partition(" ")
        try:
            password = base64.b64decode(code, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            password = b""
        expected = (self._page_token or "").encode()
        if scheme.lower() != "basic" or not expected or not hmac.compare_digest(password, expected):
            raise RefusedError(401, "password", "The page is for the follower's own people.")

    async def _limited_body(self, headers: Headers, receive: Receive) -> Callable[[], Awaitable[Message]]:
        most = self._desk.policy.largest_request_bytes
        declared = headers.get("content-length", "0")
        body, more = b"", True
        if not declared.isdecimal() or int(declared) > most:
            raise RefusedError(413, "size", f"A request may have {most} bytes.")
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "cut off", "The request was cut off.")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > most:
                raise RefusedError(413, "size", f"A request may have {most} bytes.")

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return again

    def note(self, scope: Scope, refusal: RefusedError) -> None:
        """Put a refusal into the log and on the page."""
        note_refusal(self._desk, scope.get("state", {}).get("party"), refusal)


def note_refusal(desk: FollowerDesk, party: str | None, refusal: RefusedError) -> None:
    """Put a refusal into the log and on the page."""
    caller = party or "nobody we know"
    LOG.warning("refused %s: %d %s", caller, refusal.status, refusal.code)
    try:
        desk.store.note_refusal(caller, f"{refusal.status} {refusal.code}", str(refusal))
    except Exception as error:  # noqa: BLE001 - a note that cannot be written must not hide the refusal
        LOG.error("a refusal could not be noted: %s", type(error).__name__)  # noqa: TRY400


def refused(refusal: RefusedError) -> Response:
    """What whoever was refused is told."""
    body = plain(Refusal(code=refusal.code, message=str(refusal)))
    headers: dict[str, Any] = {}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="ppsm"' if refusal.code == "password" else "Bearer"
    if refusal.passes:
        headers["Retry-After"] = "1"
    return JSONResponse(body, status_code=refusal.status, headers=headers)
