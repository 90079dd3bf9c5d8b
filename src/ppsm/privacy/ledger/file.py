"""The ledger's file: an SQLite database that only grows, whose entries form a hash chain.

One file, one path, one lock: entries are written into the file itself, by way of a rollback journal, and
SQLite locks the file, not its name. (A write-ahead log lies beside a file under the file's *name*: whoever
comes by another name, after a rename or through a hard link, sees neither the log nor its lock, and spends
again.) A file with two names is refused all the same: a journal left by a crash is found under one of them
only.

The journal stays beside the file with an empty head (journal mode PERSIST): to make and remove one for each
charge is two more waits for the disk, of the dear kind that changes a directory. SQLite takes no such journal
for one that a crash has left.

One connection is kept open, because opening and closing costs three more waits for the disk than a commit.
It serves one thread at a time, is not used across a fork, and is opened anew when the file was replaced or
SQLite reported an error.
"""

import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from ppsm.errors import InputError, LedgerError
from ppsm.files import OWNER_MODE, sync_directory
from ppsm.privacy.ledger.chain import Entry, append
from ppsm.privacy.ledger.place import ledger_command
from ppsm.privacy.tuning import TUNING

APPLICATION_ID = 0x7070736D  # "ppsm"

SCHEMA = (
    """CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('genesis', 'grant', 'spend', 'draw', 'publication')),
    dataset TEXT NOT NULL,
    recipient TEXT NOT NULL,
    day TEXT NOT NULL,
    alpha REAL NOT NULL,
    unit TEXT NOT NULL,
    days INTEGER NOT NULL,
    amount TEXT NOT NULL,
    granted TEXT NOT NULL,
    spent TEXT NOT NULL,
    most_per_release TEXT NOT NULL,
    who TEXT NOT NULL,
    time TEXT NOT NULL,
    detail TEXT NOT NULL,
    previous TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE)""",
    """CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
)

# What SQLite reports, by the beginning of its error name, and what a person can do about it.
_TROUBLES = (
    ("SQLITE_BUSY", "is locked by another process", "wait until that process has finished, or end it"),
    ("SQLITE_LOCKED", "is locked by another process", "wait until that process has finished, or end it"),
    ("SQLITE_READONLY", "is read-only", "make the file and its directory writable"),
    ("SQLITE_FULL", "cannot grow because the disk is full", "free some space"),
    ("SQLITE_IOERR", "cannot be read or written by the disk", "check the disk, its free space and its quota"),
    ("SQLITE_CANTOPEN", "cannot be opened", "check the path and the permissions of file and directory"),
    ("SQLITE_CORRUPT", "is damaged", "restore it from a copy and verify that against a published hash"),
    ("SQLITE_NOTADB", "is not a ledger", "give the path of a file made by 'ppsm ledger init'"),
    ("SQLITE_CONSTRAINT", "refused an entry that breaks its rules", "run 'ppsm ledger verify'"),
)


class _Handle:
    """An open connection with the process and the file that it belongs to."""

    def __init__(self, connection: sqlite3.Connection, identity: tuple[int, int]) -> None:
        self.connection = connection
        self.identity = identity
        self.process = os.getpid()


# SQLite forbids the use, and the closing, of connections that were inherited by a fork: they are put here.
_inherited: list[_Handle] = []


class LedgerFile:
    """Transactions on a ledger file; SQLite's complaints come out as :class:`LedgerError`.

    Parameters
    ----------
    path
        The file.
    timeout_s
        How long to wait for other processes.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self.path = path
        self.timeout_s = timeout_s
        self._handle: _Handle | None = None
        # One lock per process: another thread may hold it at the moment of a fork, and would never let go of
        # the child's copy.
        self._locks: dict[int, threading.RLock] = {}

    def create(self, genesis: Entry) -> None:
        """Make a ledger with its first entry; under its name it appears complete or not at all."""
        try:
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".ledger-") as scratch:
                draft = LedgerFile(Path(scratch) / "draft", self.timeout_s)
                os.close(os.open(draft.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_MODE))
                draft._fill(genesis)
                os.link(draft.path, self.path)
            sync_directory(self.path.parent)
        except FileExistsError:
            raise InputError(
                f"{self.path} exists already: choose another path; a ledger is never overwritten."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.path} cannot be made ({error.strerror}): check the path and its "
                "permissions."
            ) from None

    def _fill(self, genesis: Entry) -> None:
        with self._translated(), closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for statement in SCHEMA:
                connection.execute(statement)
            append(connection, genesis)
            connection.execute("COMMIT")

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """Yield a connection in one transaction: committed to the disk at the end, undone on any error."""
        with self._one_thread(), self._translated():
            handle = self._current_handle()
            connection = handle.connection
            try:
                # IMMEDIATE takes the write lock before anything is read: check and spend see the same state.
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
                if write:
                    self._insist_on(handle)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file; the next transaction opens it again."""
        with self._one_thread():
            handle, self._handle = self._handle, None
            if handle is None:
                return
            if handle.process == os.getpid():
                handle.connection.close()
            else:
                _inherited.append(handle)

    def _one_thread(self) -> threading.RLock:
        return self._locks.setdefault(os.getpid(), threading.RLock())

    def _current_handle(self) -> _Handle:
        """Return the open connection, or a new one after a fork or when the file is not the same any more."""
        identity = self._identity()
        handle = self._handle
        if handle is None or (handle.process, handle.identity) != (os.getpid(), identity):
            self.close()
            handle = self._handle = _Handle(self._connection(), identity)
        return handle

    def _identity(self) -> tuple[int, int]:
        """Return what tells the file from another under its path; a file with two names is refused."""
        status = self.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(
                f"{self.path} is no file, expected a ledger: give the path of one made by 'ppsm ledger init'."
            )
        if status.st_nlink > 1:
            raise LedgerError(
                f"The ledger {self.path} has {status.st_nlink} names (hard links), expected one: remove the "
                "others; nothing was charged or released."
            )
        return status.st_dev, status.st_ino

    def _insist_on(self, handle: _Handle) -> None:
        """Refuse to commit into a file that lies elsewhere by now."""
        if self._identity() != handle.identity:
            raise LedgerError(
                f"The ledger {self.path} was replaced while it was written: nothing was charged or released, "
                "so see who moves it and try again."
            )

    def _connection(self) -> sqlite3.Connection:
        address = f"file:{quote(os.fsencode(self.path.absolute()))}?mode=rw"
        connection = sqlite3.connect(
            address, uri=True, timeout=self.timeout_s, isolation_level=None, check_same_thread=False
        )
        # EXTRA: a commit returns only once the file and the end of its journal have reached the disk.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: past the drive's own cache, too
        # Entries are read once, in order: a large cache would only be memory that grows with the file.
        connection.execute(f"PRAGMA cache_size = -{TUNING.ledger_cache_kb}")
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            connection.close()
            raise LedgerError(
                f"{self.path} is not a ppsm ledger: give the path of a file made by 'ppsm ledger init'."
            )
        # Another program may have switched the file to a write-ahead log.
        if connection.execute("PRAGMA journal_mode = PERSIST").fetchone() != ("persist",):
            connection.close()
            raise LedgerError(
                f"The ledger {self.path} is kept in more than one file by another program: end that program."
            )
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise LedgerError(
                f"There is no privacy ledger at {self.path}: make it with "
                f"'{ledger_command('init', self.path)}'."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"The ledger {self.path} cannot be reached ({error.strerror}): check the path and its "
                "permissions; nothing was released."
            ) from None
        except UnicodeDecodeError:  # SQLite quotes damaged text in its complaint
            self.close()
            raise LedgerError(
                f"The ledger {self.path} is damaged: restore it from a copy and verify that against a "
                "published hash; nothing was released."
            ) from None
        except sqlite3.Error as error:
            self.close()
            name = str(getattr(error, "sqlite_errorname", None) or "SQLITE_CORRUPT")
            for prefix, trouble, remedy in _TROUBLES:
                if name.startswith(prefix):
                    raise LedgerError(
                        f"The ledger {self.path} {trouble} ({error}): {remedy}; nothing was released."
                    ) from None
            raise LedgerError(
                f"The ledger {self.path} cannot be used ({error}): run 'ppsm ledger verify {self.path}'; "
                "nothing was released."
            ) from None


def damage(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with the file itself, its indexes included."""
    rows = connection.execute("PRAGMA integrity_check").fetchall()
    return [str(row[0]) for row in rows if row != ("ok",)]


def schema_of(connection: sqlite3.Connection) -> set[str]:
    """Return the statements that made the tables, indexes and triggers of this file."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    )
    return {str(row[0]) for row in rows}
