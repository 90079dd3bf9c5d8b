"""A service that listens, and what is searched for in what it says."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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


# What is searched for: numbers as text with all or fewer digits, and as they are kept in memory.
def forms_of(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[str]:
    return [
        form for each in values for form in (repr(float(each)), f"{each:.6f}", f"{each:.4f}", f"{each:.3f}")
    ]


def binary_forms_of(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[bytes]:
    return [struct.pack(code, each) for each in values for code in ("<d", ">d", "<f", ">f")]


def jittered(values: Any, seed: int) -> Any:
    """Numbers that nobody has by accident."""
    return values * (1.0 + 1e-3 * np.random.default_rng(seed).random(np.shape(values)))
