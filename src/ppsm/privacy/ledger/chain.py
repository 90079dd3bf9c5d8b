"""The chain of a ledger: entries, of which each has a hash over itself and the hash before it.

Entries are only added, and are checked link by link as they are read. What they say together is in
:mod:`ppsm.privacy.ledger.books`, the file that they lie in is :mod:`ppsm.privacy.ledger.file`.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from ppsm.errors import LedgerError

NO_PREVIOUS = "0" * 64
_COLUMNS = (
    "sequence, kind, dataset, recipient, day, alpha, unit, days, amount, granted, spent, most_per_release, "
    "who, time, detail, previous, hash"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    Attributes
    ----------
    sequence
        The line's number, from 1 without gaps.
    kind
        ``genesis``, ``grant``, ``spend``, ``draw`` (:meth:`ppsm.privacy.Ledger.note_draw`) or ``publication``
        (:meth:`ppsm.privacy.Ledger.note_publication`).
    dataset, recipient
        The data set, and to whom a release of it goes or a budget is granted; empty for everybody.
    day
        Of which day a release of a stream is; else empty.
    alpha, unit, days
        The distance at which the budget is kept, and for how many consecutive days; 0 for all releases.
    amount
        What this line grants or spends, as a decimal.
    granted, spent
        The data set's totals after this line; of a grant to a recipient, that recipient's.
    most_per_release
        What one release may cost of the same budget, after this line.
    who, time
        Who wrote it, by login name, and when, UTC.
    detail
        JSON: the release record of a spend, which spend a draw is of, what a publication showed, the ledger's
        public name and its secret key in the first line.
    previous, hash
        The hash of the line before, and of this one.
    """

    sequence: int
    kind: str
    dataset: str
    recipient: str
    day: str
    alpha: float
    unit: str
    days: int
    amount: str
    granted: str
    spent: str
    most_per_release: str
    who: str
    time: str
    detail: str
    previous: str
    hash: str = ""

    def computed_hash(self) -> str:
        """Return the SHA-256 over everything else in the line, and so over all lines before it."""
        content = {name: getattr(self, name) for name in Entry.__slots__ if name != "hash"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()


def append(connection: sqlite3.Connection, entry: Entry) -> Entry:
    """Write an entry at the end of the chain and return it with its hash."""
    row = (*(getattr(entry, name) for name in Entry.__slots__[:-1]), entry.computed_hash())
    statement = f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
    connection.execute(statement, row)
    return Entry(*row)


def _unchanged(entry: Entry) -> Entry:
    if entry.hash != entry.computed_hash():
        raise _tampered(entry)
    return entry


def _tampered(entry: Entry) -> LedgerError:
    return LedgerError(
        f"Entry {entry.sequence} of the ledger does not match its hash, so it was tampered with or damaged: "
        "run 'ppsm ledger verify' and restore a copy that agrees with a published hash."
    )


def entry_number(connection: sqlite3.Connection, sequence: int) -> Entry | None:
    """Return one entry, with its own hash checked but not the chain; None where there is none."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM entries WHERE sequence = ?", (sequence,)).fetchone()  # noqa: S608
    return None if row is None else _unchanged(Entry(*row))


def checked_since(connection: sqlite3.Connection, sequence: int, previous: str) -> Iterator[Entry]:
    """Yield the entries after a number, whose hash is known, in order and checking the chain link by link.

    They are read by number, not through an index: a damaged index may hide an entry. An entry costs some ten
    microseconds.
    """
    query = f"SELECT {_COLUMNS} FROM entries WHERE sequence > ? ORDER BY sequence"  # noqa: S608
    for row in connection.execute(query, (sequence,)):
        entry = _unchanged(Entry(*row))
        if (entry.sequence, entry.previous) != (sequence + 1, previous):
            raise _missing(sequence + 1) if entry.sequence != sequence + 1 else _tampered(entry)
        sequence, previous = entry.sequence, entry.hash
        yield entry
    if sequence != highest_sequence(connection) or not sequence:
        raise _missing(sequence + 1)


def _missing(number: int) -> LedgerError:
    return LedgerError(
        f"Entry {number} of the ledger is missing, so entries were removed or its making was cut short: "
        "restore a copy that agrees with a published hash, or make a new ledger."
    )


def all_entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Yield the entries in order, unchecked."""
    for row in connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY sequence"):  # noqa: S608
        yield Entry(*row)


def highest_sequence(connection: sqlite3.Connection) -> int:
    """Return the highest number ever given to an entry, which SQLite remembers apart from the entries."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
    return 0 if row is None else int(row[0])
