"""The follower's desk over HTTP. Its description is at ``/openapi.json``.

Every request is a PUT of a signed message at its place, so that it may be repeated. 401: nobody vouches for
the caller; 403: not allowed, or not signed; 404: no such round; 409: it does not continue the round; 413 and
429: too much; 422: no message of this protocol; 503: try again. What ends a round is no HTTP error but a
signed message of kind ``failed``.
"""

import ipaddress
import ssl
from collections.abc import Callable
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

import ppsm
from ppsm.errors import InputError, ProtocolError
from ppsm.protocol.desk import FollowerDesk
from ppsm.protocol.door import CertificateProtocol, Door, note_refusal, refused
from ppsm.protocol.identities import AUTHORITY, TLS_CERTIFICATE, TLS_FILE, Identity
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
)
from ppsm.protocol.messages import Request as SignedRequest
from ppsm.protocol.signatures import encoded
from ppsm.protocol.transcript import Transcript
from ppsm.protocol.transport import RefusedError
from ppsm.protocol.tuning import TUNING

RoundPath = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal} for status in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}
_DESCRIPTION = "A round of the privacy-preserving Stackelberg mechanism, from the follower's side."


def make_app(desk: FollowerDesk, page: Callable[[], str] | None = None) -> FastAPI:
    """The application: the desk's paths behind the door.

    ``page`` renders what the follower's own people see at ``/``.
    """
    app = FastAPI(
        title="ppsm follower",
        version=ppsm.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
    )
    _add_rounds(app, desk)
    _add_readings(app, desk, page)
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


def _add_readings(app: FastAPI, desk: FollowerDesk, page: Callable[[], str] | None) -> None:
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

    if page is not None:

        @app.get("/", response_class=HTMLResponse, include_in_schema=False)
        def shown() -> HTMLResponse:
            """The follower's page."""
            return HTMLResponse(page(), headers=_PAGE_HEADERS)


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
        note_refusal(desk, getattr(request.state, "party", None), refusal)
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
    elif not _is_this_computer(host):
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
        timeout_keep_alive=TUNING.keep_alive_s,
        timeout_graceful_shutdown=TUNING.shutdown_s,
        **secured,
    )
    return uvicorn.Server(config)


def _is_this_computer(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
