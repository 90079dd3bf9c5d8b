"""The follower's desk over HTTP. Its description is at ``/openapi.json``.

Every request is a PUT of a signed message at its place, so that it may be repeated. What ends a round is no
HTTP error but a signed message of kind ``failed``.

Who is let in, how often, and with how much is decided at the :class:`Door`, before a message is read. A party
shows a certificate (its common name is the party's) or a token; a person who wants to see the page types a
password. Whoever shows nothing is told nothing.
"""

import base64
import binascii
import hmac
import logging
import ssl
import threading
import time
from asyncio import BaseTransport
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

import ppsm
from ppsm.errors import InputError, ProtocolError
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.identities import (
    AUTHORITY,
    PAGE_TOKEN,
    TLS_CERTIFICATE,
    TLS_FILE,
    Identity,
    certified_name,
    token_hash,
)
from ppsm.protocol.messages import (
    AbandonMessage,
    AskMessage,
    ClosedMessage,
    CommitmentMessage,
    DecisionMessage,
    FailedMessage,
    NoisyMessage,
    OutcomeMessage,
    Refusal,
    RestoredMessage,
    RoundStatus,
    Terms,
    plain,
)
from ppsm.protocol.messages import Request as SignedRequest
from ppsm.protocol.round_pages import follower_page
from ppsm.protocol.signatures import encoded
from ppsm.protocol.transcript import Transcript
from ppsm.protocol.transport import RefusedError, is_this_computer
from ppsm.protocol.tuning import TUNING

LOG = logging.getLogger("ppsm.protocol")
OPEN_PATHS = ("/health", "/openapi.json")
PAGE_PATHS = ("/",)
# What every browser gets before it asks whoever sits there.
NOT_ASKED_YET = "not asked yet"
RoundPath = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
# Our words: those that Python has for them differ between its versions.
_MEANINGS = {
    400: "The request was cut off",
    401: "Nobody vouches for the caller",
    403: "Not allowed, or not signed by its sender",
    404: "No such round",
    409: "It does not continue the round",
    413: "Too large",
    422: "No message of this protocol",
    429: "Too many requests: wait",
    503: "Busy: try again",
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": meaning} for status, meaning in _MEANINGS.items()
}
_DESCRIPTION = "A round of the privacy-preserving Stackelberg mechanism, from the follower's side."


def make_app(desk: FollowerDesk) -> FastAPI:
    """The application: the desk's paths behind the door, and the page of the follower's own people."""
    app = FastAPI(
        title="ppsm follower",
        version=ppsm.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        # A path is what it is: no caller is sent to where its own header says that we are.
        redirect_slashes=False,
        responses=_REFUSALS,
    )
    _add_rounds(app, desk)
    _add_readings(app, desk)
    _add_refusals(app, desk)
    app.add_middleware(Door, desk=desk)
    return app


def _add_rounds(app: FastAPI, desk: FollowerDesk) -> None:
    """One path for each message of the leader."""

    def answered(request: Request, round_id: str, message: SignedRequest) -> Response:
        if message.round != round_id:
            raise RefusedError(409, "round", "The message is of another round than its path says.")
        reply = desk.receive(request.state.party, message)
        return Response(encoded(reply), media_type="application/json")

    @app.put("/v1/rounds/{round_id}/ask", response_model=NoisyMessage | FailedMessage)
    def ask(request: Request, round_id: RoundPath, message: AskMessage) -> Response:
        """Begin a round: the ledger is charged and D~ comes back."""
        return answered(request, round_id, message)

    @app.put("/v1/rounds/{round_id}/decision", response_model=RestoredMessage | FailedMessage)
    def decision(request: Request, round_id: RoundPath, message: DecisionMessage) -> Response:
        """Send step 2b's decision: D^ comes back with its proof."""
        return answered(request, round_id, message)

    @app.put("/v1/rounds/{round_id}/commitment", response_model=OutcomeMessage | FailedMessage)
    def commitment(request: Request, round_id: RoundPath, message: CommitmentMessage) -> Response:
        """Send the final commitment: the market's outcome comes back, as far as the policy allows."""
        return answered(request, round_id, message)

    @app.put("/v1/rounds/{round_id}/abandon", response_model=ClosedMessage | FailedMessage)
    def abandon(request: Request, round_id: RoundPath, message: AbandonMessage) -> Response:
        """End the round from the leader's side."""
        return answered(request, round_id, message)


def _add_readings(app: FastAPI, desk: FollowerDesk) -> None:
    @app.get("/v1/terms", response_model=Terms)
    def terms(request: Request) -> Terms:
        """What the caller may ask for."""
        return desk.terms(request.state.party)

    @app.get("/v1/rounds/{round_id}", response_model=RoundStatus)
    def status(request: Request, round_id: RoundPath) -> RoundStatus:
        """Where one of the caller's rounds is."""
        messages = desk.history(request.state.party, round_id)
        return RoundStatus(round=round_id, state=messages[-1].kind, messages=len(messages))

    @app.get("/v1/rounds/{round_id}/transcript", response_model=Transcript)
    def transcript(request: Request, round_id: RoundPath) -> Response:
        """All messages of one of the caller's rounds, as the follower has kept them."""
        messages = desk.history(request.state.party, round_id)
        kept = Transcript(kept_by=desk.identity.name, messages=messages)
        return Response(encoded(kept), media_type="application/json")

    @app.get("/health")
    def health() -> dict[str, str]:
        """Whether somebody is there."""
        return {"status": "ok"}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def page() -> HTMLResponse:
        """The follower's page."""
        return HTMLResponse(follower_page(desk), headers=_PAGE_HEADERS)


# The page loads nothing, runs nothing, and is not kept or framed by others.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def _add_refusals(app: FastAPI, desk: FollowerDesk) -> None:
    """One form for everything that is not taken; what was sent is not repeated in it."""

    def answer(request: Request, refusal: RefusedError) -> Response:
        note_refusal(desk, request.scope, refusal)
        return refused(refusal)

    @app.exception_handler(RefusedError)
    def on_refusal(request: Request, error: RefusedError) -> Response:
        return answer(request, error)

    @app.exception_handler(ProtocolError)
    def on_trouble(request: Request, error: ProtocolError) -> Response:
        del error  # it names files
        return answer(request, RefusedError(503, "store", "The follower cannot write now: repeat later."))

    @app.exception_handler(RequestValidationError)
    def on_schema(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        # The name of an unknown field is the sender's own text, and is not repeated.
        known = first["loc"][:-1] if first["type"] == "extra_forbidden" else first["loc"]
        where = ".".join(str(part) for part in known)[:200]
        return answer(request, RefusedError(422, "schema", f"No message of this protocol, at {where}"))

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> Response:
        return answer(request, RefusedError(error.status_code, "http", "There is nothing here to do that."))


def server(app: FastAPI, host: str, port: int, identity: Identity | None) -> uvicorn.Server:
    """A server with TLS by the files of an identity; without it, on this computer alone."""
    secured: dict[str, Any] = {}
    if identity is not None:
        secured = {
            "ssl_keyfile": str(identity.directory / TLS_FILE),
            "ssl_certfile": str(identity.directory / TLS_CERTIFICATE),
            "ssl_ca_certs": str(identity.directory / AUTHORITY),
            # Whoever shows a certificate must show a good one; whoever shows none needs a token.
            "ssl_cert_reqs": ssl.CERT_OPTIONAL,
        }
    elif not is_this_computer(host):
        raise InputError(
            f"the service was to listen at {host} without TLS, expected an address of this computer alone: "
            "give --tls, or listen at 127.0.0.1."
        )
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=CertificateProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Where a request comes from is where its connection ends, not what it says.
        proxy_headers=False,
        timeout_keep_alive=TUNING.keep_alive_s,
        timeout_graceful_shutdown=TUNING.shutdown_s,
        **secured,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.sslobject_class = NotedHandshake
    return uvicorn.Server(config)


class NotedHandshake(ssl.SSLObject):
    """TLS that says in the log whose certificate was not taken; the other end gets no connection."""

    def do_handshake(self) -> None:
        """Agree on a connection."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", None) or error.reason
            LOG.warning("refused a connection: %s", why)
            raise


class CertificateProtocol(H11Protocol):
    """HTTP of uvicorn, which also tells the application whose certificate the other end has shown."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Note the common name of a certificate that the TLS layer has checked."""
        super().connection_made(transport)  # type: ignore[arg-type]
        shown = transport.get_extra_info("ssl_object")
        name = None if shown is None else certified_name(shown.getpeercert())
        self.app_state = {**self.app_state, "certificate": name}


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
            # It waits for the disk, which others need not.
            await run_in_threadpool(note_refusal, self._desk, scope, refusal)
            await refused(refusal)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - whatever fails must not end the service, or tell anything
            LOG.error("%r failed with %s", scope["path"], type(error).__name__)  # noqa: TRY400
            if not started:
                trouble = RefusedError(500, "internal", "The follower failed on this request.")
                await refused(trouble)(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive) -> Callable[[], Awaitable[Message]]:
        """Decide about a request; its body is read here, up to the largest size."""
        headers, path = Headers(scope=scope), scope["path"]
        state = scope.setdefault("state", {})
        address = address_of(scope)
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
        if not scheme:
            raise RefusedError(401, NOT_ASKED_YET, "The page is for the follower's own people.")
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
        # More digits than that are no size, and Python would rather not read them.
        if not declared.isdecimal() or len(declared) > len(str(most)) or int(declared) > most:
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


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    return str(scope["client"][0]) if scope.get("client") else "unknown"


def note_refusal(desk: FollowerDesk, scope: Scope, refusal: RefusedError) -> None:
    """Put a refusal into the log and, but for rates and for browsers that are about to ask, on the page."""
    party, address = scope.get("state", {}).get("party"), address_of(scope)
    caller = party or f"nobody we know, {address}"
    LOG.warning(
        "refused %s: %d %s, from %s", party or "nobody we know", refusal.status, refusal.code, address
    )
    # Of rates there is no end, and each note is a wait for the disk.
    if refusal.status == 429 or refusal.code == NOT_ASKED_YET:
        return
    try:
        desk.store.note_refusal(caller, f"{refusal.status} {refusal.code}", str(refusal))
    except Exception as error:  # noqa: BLE001 - a note that cannot be written must not hide the refusal
        LOG.error("a refusal could not be noted: %s", type(error).__name__)  # noqa: TRY400


def refused(refusal: RefusedError) -> Response:
    """What whoever was refused is told."""
    body = plain(Refusal(code=refusal.code, message=str(refusal)))
    headers: dict[str, Any] = {}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = (
            'Basic realm="ppsm"' if refusal.code in ("password", NOT_ASKED_YET) else "Bearer"
        )
    if refusal.passes:
        headers["Retry-After"] = "1"
    return JSONResponse(body, status_code=refusal.status, headers=headers)
