"""What stands between two parties: one that records all bytes, and one that spoils what it carries."""

import http.client
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

FAULTS = (
    "lose request",
    "lose reply",
    "cut reply",
    "send twice",
    "delay",
    "send old one again",
    "deliver later",
    "spoil request",
    "spoil reply",
)
_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")
# Method, path, headers and body.
Sent = tuple[str, str, dict[str, str], bytes]


@dataclass(frozen=True)
class Carried:
    """One request with its reply, as bytes of the wire."""

    request: bytes
    reply: bytes
    path: str
    request_body: bytes
    reply_body: bytes


@dataclass
class Wire:
    """Where to, what was carried, and what is done to which of the next requests.

    ``faults`` are used up, one a request, None for none. ``on_event`` is told ``(path, moment)``, where the
    moment is ``before`` or ``after`` a request was forwarded.
    """

    port: int
    faults: list[str | None] = field(default_factory=list)
    on_event: Callable[[str, str], None] = lambda *_: None
    seed: int = 0
    carried: list[Carried] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - which fault comes is no secret
        self.old: list[Sent] = []
        self.held: list[Sent] = []
        self.lock = threading.Lock()

    def forwarded(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """Send a request on and bring back the reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            reply = response.read()
        finally:
            connection.close()
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        back = "".join(f"{name}: {value}\r\n" for name, value in response.getheaders())
        record = Carried(
            f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body,
            f"HTTP/1.1 {response.status}\r\n{back}\r\n".encode() + reply,
            path,
            body,
            reply,
        )
        with self.lock:
            self.carried.append(record)
        return response.status, reply

    def deliver_held(self, path: str) -> None:
        """Send on what was held back until a request to another place has passed it."""
        with self.lock:
            late = [each for each in self.held if each[1] != path]
            self.held = [each for each in self.held if each[1] == path]
        for each in late:
            self.forwarded(*each)

    def spoilt(self, content: bytes) -> bytes:
        """The same with one byte changed."""
        if not content:
            return content
        place = self.random.randrange(len(content))
        changed = bytes([content[place] ^ (1 << self.random.randrange(8))])
        return content[:place] + changed + content[place + 1 :]


class _Handler(BaseHTTPRequestHandler):
    wire: ClassVar[Wire]
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def _handle(self) -> None:
        wire = self.wire
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        with wire.lock:
            fault = wire.faults.pop(0) if wire.faults else None
        wire.on_event(self.path, "before")
        if fault == "lose request":
            return self._hang_up()
        if fault == "deliver later":
            wire.held.append((self.command, self.path, headers, body))
            return self._hang_up()
        if fault == "delay":
            time.sleep(0.3 * wire.random.random())
        if fault == "spoil request":
            body = wire.spoilt(body)
        self._carry(fault, headers, body)
        return None

    def _carry(self, fault: str | None, headers: dict[str, str], body: bytes) -> None:
        wire, request = self.wire, (self.command, self.path, headers, body)
        try:
            if fault == "send old one again" and wire.old:
                wire.forwarded(*wire.random.choice(wire.old))
            status, reply = wire.forwarded(*request)
            if fault == "send twice":
                status, reply = wire.forwarded(*request)
            wire.deliver_held(self.path)
        except (OSError, http.client.HTTPException):
            return self._hang_up()
        wire.old.append(request)
        wire.on_event(self.path, "after")
        if fault == "lose reply":
            return self._hang_up()
        if fault == "spoil reply":
            reply = wire.spoilt(reply)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply[: len(reply) // 2] if fault == "cut reply" else reply)
        if fault == "cut reply":
            return self._hang_up()
        return None

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = _handle  # noqa: N815


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about connections that whoever was killed has left."""


class Proxy:
    """The proxy as a thread; ``address`` is where the leader goes."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        handler = type("Handler", (_Handler,), {"wire": wire})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class Recorder:
    """Passes bytes on as they come, and keeps all of them: those to the service and those from it."""

    def __init__(self, port: int) -> None:
        self._parts: dict[bool, list[bytes]] = {True: [], False: []}
        self._port, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def sent(self) -> bytes:
        """All that went to the service."""
        return b"".join(self._parts[True])

    @property
    def received(self) -> bytes:
        """All that came from it."""
        return b"".join(self._parts[False])

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near = self._listener.accept()[0]
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            for ends in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, to_service: bool) -> None:
        try:
            while part := source.recv(65536):
                self._parts[to_service].append(part)
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return
