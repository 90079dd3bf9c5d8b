"""A service that listens."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ppsm.protocol.identities import Identity
from ppsm.protocol.service import server


@contextmanager
def listening(app: Any, identity: Identity | None = None) -> Iterator[str]:
    """The service on a port of its own, in a thread."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    service = server(app, "127.0.0.1", port, identity)
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    while not service.started:
        time.sleep(0.01)
    try:
        yield f"{'http' if identity is None else 'https'}://127.0.0.1:{port}"
    finally:
        service.should_exit = True
        thread.join()
