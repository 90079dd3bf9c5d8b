"""Rounds on the disk: what was said survives a crash, and is never said twice.

One SQLite file for each party. A message is on the disk before it is sent, and a reply before it is given
out: whoever is killed in between finds it here and sends the same bytes again. Messages are only ever added.
"""

import os
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ppsm.errors import ProtocolError
from ppsm.files import OWNER_MODE
from ppsm.protocol.messages import LAST, Reply, Request, message_adapter
from ppsm.protocol.signatures import digest, encoded
from ppsm.protocol.transport import RefusedError
from ppsm.protocol.tuning import TUNING

APPLICATION_ID = 0x70707273  # "pprs"
_SCHEMA = (
    """CREATE TABLE rounds (
    id TEXT PRIMARY KEY, peer TEXT NOT NULL, epsilon REAL NOT NULL, opened REAL NOT NULL,
    touched REAL NOT NULL, last TEXT NOT NULL)""",
    """CREATE TABLE messages (
    round TEXT NOT NULL REFERENCES rounds (id), number INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (round, number))""",
    """CREATE TABLE refusals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, peer TEXT NOT NULL, code TEXT NOT NULL,
    message TEXT NOT NULL)""",
    """CREATE INDEX rounds_by_peer ON rounds (peer, opened)""",
    """CREATE TRIGGER messages_are_not_changed BEFORE UPDATE ON messages
    BEGIN SELECT RAISE(ABORT, 'messages are only added'); END""",
    """CREATE TRIGGER messages_are_not_deleted BEFORE DELETE ON messages
    BEGIN SELECT RAISE(ABORT, 'messages are only added'); END""",
)
_COLUMNS = "id, peer, epsilon, opened, touched, last"


@dataclass(frozen=True)
class Round:
    """A round as the store knows it: with whom, what it may cost, since when, and what was said last."""

    id: str
    peer: str
    epsilon: float
    opened: float
    touched: float
    last: str

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be said."""
        return self.last in LAST


@dataclass(frozen=True)
class RefusalNote:
    """A request that was not taken."""

    time: float
    peer: str
    code: str
    message: str


class RoundStore:
    """The rounds of one party; safe under many threads and processes.

    Parameters
    ----------
    path
        Made where there is none, for its owner alone.
    clock
        Seconds since 1970; tests have their own.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path, self.clock = path, clock
        self._lock = threading.RLock()
        with self._translated():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_MODE))
            self._connection = sqlite3.connect(
                path, timeout=TUNING.store_wait_s, isolation_level=None, check_same_thread=False
            )
            # EXTRA, as in the ledger: a commit returns once it has reached the disk.
            self._connection.execute("PRAGMA synchronous = EXTRA")
            self._connection.execute("PRAGMA foreign_keys = ON")
            # Rounds are read by their id: a large cache would only be memory that grows with the file.
            self._connection.execute(f"PRAGMA cache_size = -{TUNING.store_cache_kb}")
            self._make()

    def _make(self) -> None:
        with self._transaction() as connection:
            found = connection.execute("PRAGMA application_id").fetchone()[0]
            if found == APPLICATION_ID:
                return
            if found or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise ProtocolError(f"{self.path} is no store of rounds: choose another file.")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in _SCHEMA:
                connection.execute(statement)

    def now(self) -> datetime:
        """The time by the clock."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._translated():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise ProtocolError(
                f"The store of rounds {self.path} cannot be used ({name}): see to the disk, its free space "
                "and permissions, then repeat the request; nothing was sent."
            ) from None

    def begin(
        self, first: Request, peer: str, epsilon: float, *, insist: Callable[[int, float], None], since: float
    ) -> None:
        """Open a round with its first message, if its party's limit allows it.

        ``insist`` gets the number of rounds that the peer has opened since a time and what they may have
        cost, in the transaction that adds this one, and raises where that is too much.
        """
        now = self.clock()
        with self._transaction() as connection:
            insist(*self.spent_by(peer, since))
            self._insert(connection, first, peer, epsilon, now)

    def open(self, first: Request, peer: str) -> None:
        """Open a round that counts for nothing: one that we lead, or that is refused at once."""
        with self._transaction() as connection:
            self._insert(connection, first, peer, 0.0, self.clock())

    def _insert(
        self, connection: sqlite3.Connection, first: Request, peer: str, epsilon: float, now: float
    ) -> None:
        row = (first.round, peer, epsilon, now, now, first.kind)
        connection.execute(f"INSERT INTO rounds ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608
        self._add(connection, first)

    def append(self, message: Request | Reply, *, costs_nothing: bool = False) -> None:
        """Add a message to its round; ``costs_nothing`` gives back what the round was counted for."""
        with self._transaction() as connection:
            self._add(connection, message)
            connection.execute(
                "UPDATE rounds SET touched = ?, last = ? WHERE id = ?",
                (self.clock(), message.kind, message.round),
            )
            if costs_nothing:
                connection.execute("UPDATE rounds SET epsilon = 0.0 WHERE id = ?", (message.round,))

    def _add(self, connection: sqlite3.Connection, message: Request | Reply) -> None:
        connection.execute(
            "INSERT INTO messages (round, number, content) VALUES (?, ?, ?)",
            (message.round, message.number, encoded(message)),
        )

    def round(self, round_id: str) -> Round | None:
        """One round; None where there is none."""
        found = self._read(f"SELECT {_COLUMNS} FROM rounds WHERE id = ?", (round_id,))  # noqa: S608
        return Round(*found[0]) if found else None

    def rounds(self, *, newest: int = 200) -> list[Round]:
        """The newest rounds, the newest first."""
        query = f"SELECT {_COLUMNS} FROM rounds ORDER BY opened DESC, id LIMIT ?"  # noqa: S608
        return [Round(*row) for row in self._read(query, (newest,))]

    def messages(self, round_id: str) -> list[Request | Reply]:
        """All messages of a round, in order."""
        rows = self._read("SELECT content FROM messages WHERE round = ? ORDER BY number", (round_id,))
        return [message_adapter.validate_json(row[0]) for row in rows]

    def replies_to_ask(self) -> Iterator[Reply]:
        """What was answered to every ``ask``: what a ledger must agree with."""
        for (round_id,) in self._read("SELECT round FROM messages WHERE number = 1", ()):
            yield self.messages(round_id)[1]  # type: ignore[misc]  # number 1 is a reply

    def heads(self) -> Iterator[tuple[Round, str]]:
        """Every round with the hash of what was said last in it."""
        last = "SELECT content FROM messages WHERE round = id ORDER BY number DESC LIMIT 1"
        for *row, content in self._read(f"SELECT {_COLUMNS}, ({last}) FROM rounds", ()):  # noqa: S608
            yield Round(*row), digest(content)

    def free_rounds(self, peer: str, since: float) -> int:
        """How many rounds a peer has opened since a time that were over before they cost anything."""
        query = "SELECT COUNT(*) FROM rounds WHERE peer = ? AND opened >= ? AND epsilon = 0"
        return int(self._read(query, (peer, since))[0][0])

    def spent_by(self, peer: str, since: float) -> tuple[int, float]:
        """How many rounds a peer has opened since a time, and what they may have cost."""
        query = (
            "SELECT COUNT(*), COALESCE(SUM(epsilon), 0.0) FROM rounds WHERE peer = ? AND opened >= ? "
            "AND epsilon > 0"
        )
        count, spent = self._read(query, (peer, since))[0]
        return int(count), float(spent)

    def note_refusal(self, peer: str, code: str, message: str) -> None:
        """Remember that a request was not taken; the newest thousand are kept."""
        with self._transaction() as connection:
            row = (self.clock(), peer, code, message)
            connection.execute("INSERT INTO refusals (time, peer, code, message) VALUES (?, ?, ?, ?)", row)
            connection.execute(
                "DELETE FROM refusals WHERE id <= (SELECT MAX(id) FROM refusals) - ?", (TUNING.kept_refusals,)
            )

    def refusals(self, *, newest: int = 50) -> list[RefusalNote]:
        """The newest refusals, the newest first."""
        query = "SELECT time, peer, code, message FROM refusals ORDER BY id DESC LIMIT ?"
        return [RefusalNote(*row) for row in self._read(query, (newest,))]

    def _read(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock, self._translated():
            return self._connection.execute(query, values).fetchall()


@contextmanager
def soon(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; a request that would wait for long is to come again instead of keeping a thread."""
    if not lock.acquire(timeout=TUNING.longest_lock_wait_s):
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
