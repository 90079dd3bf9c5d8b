"""Who is at work: one lock for each round, and none that is waited for without end."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from ppsm.protocol.transport import RefusedError

_LONGEST_WAIT_S = 20.0


@contextmanager
def soon(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; a request that would wait for long is to come again instead of keeping a thread."""
    if not lock.acquire(timeout=_LONGEST_WAIT_S):
        raise RefusedError(503, "busy", "The follower is busy with other rounds: repeat the request.")
    try:
        yield
    finally:
        lock.release()


class RoundLocks:
    """One lock for each round that somebody is busy with."""

    def __init__(self) -> None:
        self._all = threading.Lock()
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._users: dict[str, int] = defaultdict(int)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock of a round; it is forgotten when nobody wants it any more."""
        with self._all:
            self._users[name] += 1
            lock = self._locks[name]
        try:
            with soon(lock):
                yield
        finally:
            with self._all:
                self._users[name] -= 1
                if not self._users[name]:
                    del self._users[name], self._locks[name]
