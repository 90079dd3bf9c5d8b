"""The ledger: a privacy budget per data set, charged before any noise is drawn.

Order of a release: validate everything, charge and commit to disk, draw noise, return. A crash in between
loses budget, never privacy.

Two roles
    Whoever *keeps* a budget grants (:class:`LedgerKeeper`); whoever releases can only spend
    (:class:`Ledger`). Each entry says who wrote it and when.
What tampering shows
    Each entry's hash covers the entry and the hash before it, so a changed, inserted, removed or swapped
    entry breaks the chain. Triggers refuse updates and deletions. SQLite's own counter gives away a tail that
    was cut off.
What a hash chain cannot show
    Who can write the file can rewrite all of it consistently, or put back an old copy. Only a hash kept
    elsewhere reveals that: every private :class:`~ppsm.privacy.Released` carries the head of the ledger when
    it was charged, so published releases pin the history. :meth:`Ledger.verify` takes them.
"""

import getpass
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from ppsm.errors import BudgetExceededError, InputError, LedgerError
from ppsm.privacy import ledger_file, ledger_reading
from ppsm.privacy.balance import MOST_PER_RELEASE, Balance, first_balance, no_budget
from ppsm.privacy.ledger_file import NO_PREVIOUS, Entry, LedgerFile
from ppsm.privacy.ledger_place import grant_command, ledger_command
from ppsm.privacy.ledger_verification import LedgerVerification, verify
from ppsm.privacy.record import ReleaseRecord, dataset_id, positive_number, utc_text
from ppsm.privacy.released import Receipt, Released

_TIMEOUT_S = 10.0


class Ledger:
    """A file that keeps budgets and refuses to overspend them; safe under many processes and threads.

    It can spend and be read. Who may grant opens it as a :class:`LedgerKeeper`.

    Parameters
    ----------
    path
        A file made by :meth:`create`, on a local disk (locks over a network are not to be trusted).
    timeout_s
        How long to wait while other processes write.
    """

    def __init__(self, path: str | Path, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._file = LedgerFile(Path(path).resolve(), positive_number(timeout_s, "timeout_s"))
        with self._file.transaction(write=False):
            pass

    @staticmethod
    def create(path: str | Path) -> "LedgerKeeper":
        """Make a new, empty ledger; an existing file is refused. Who makes it keeps it."""
        # The key keeps hashes from being guessed by those who see only published ones; the name is public.
        identity = json.dumps({"ledger": secrets.token_hex(8), "key": secrets.token_hex(32)})
        genesis = Entry(
            sequence=1,
            kind="genesis",
            dataset=ledger_reading.ALL,
            alpha=0.0,
            unit="",
            amount="0",
            granted="0",
            spent="0",
            most_per_release="0",
            who=_who(),
            time=utc_text(now()),
            detail=identity,
            previous=NO_PREVIOUS,
        )
        LedgerFile(Path(path), _TIMEOUT_S).create(genesis)
        return LedgerKeeper(path)

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self._file.path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def close(self) -> None:
        """Close the file; it opens again by itself when it is needed."""
        self._file.close()

    def spend(self, draft: ReleaseRecord) -> Receipt:
        """Charge a release to its data set, on disk, before it happens; or refuse and change nothing.

        Parameters
        ----------
        draft
            The release that is about to happen. Its time is set anew, inside the transaction.

        Raises
        ------
        BudgetExceededError
            When the budget does not cover it; the message says what was spent, asked and left.
        LedgerError
            When the ledger cannot be trusted or written, or the clock runs backwards.
        """
        with self._file.transaction(write=True) as connection:
            head = next(ledger_file.newest_first(connection))
            time = _next_time(head)
            record = replace(draft, time=time)
            amount, after = self._charged(connection, record)
            detail = json.dumps(record.to_dict(), sort_keys=True)
            entry = _append(connection, head, "spend", amount, after, detail, time)
            return ledger_reading.receipt_of(connection, entry)

    def check(self, draft: ReleaseRecord) -> None:
        """Refuse what :meth:`spend` would refuse for its cost, and change nothing."""
        with self._file.transaction(write=False) as connection:
            self._charged(connection, draft)

    def _charged(self, connection: sqlite3.Connection, record: ReleaseRecord) -> tuple[Decimal, Balance]:
        """Return what a release costs and the balance after it, or refuse."""
        balance = ledger_reading.balance_of(connection, record.dataset)
        if balance is None:
            raise self._no_budget(record)
        amount = balance.price(record)
        return amount, balance.charge(amount, ledger_command("grant", self.path))

    def _no_budget(self, record: ReleaseRecord) -> BudgetExceededError:
        remedy = grant_command(
            self.path,
            record.dataset,
            epsilon=record.epsilon,
            alpha=record.alpha,
            unit=record.unit,
            most=float(MOST_PER_RELEASE),
        )
        return no_budget(record.dataset, remedy)

    def note_publication(self, dataset: str, content: Mapping[str, Any]) -> Entry:
        """Write down that figures of the true data were published, and which.

        No budget covers such a publication, so nothing is charged: it is public by law or contract and lies
        outside the promise. The entry makes it an act that is seen, dated and cannot be taken back.
        """
        detail = json.dumps(dict(content), sort_keys=True, allow_nan=False)
        with self._file.transaction(write=True) as connection:
            head = next(ledger_file.newest_first(connection))
            balance = ledger_reading.balance_of(connection, dataset_id(dataset))
            if balance is None:
                grant = ledger_command("grant", self.path)
                raise no_budget(dataset, f"{grant} {dataset} --epsilon EPSILON --alpha ALPHA --unit UNIT")
            return _append(connection, head, "publication", Decimal(0), balance, detail, _next_time(head))

    def balance(self, dataset: str) -> Balance:
        """Return the balance of a data set that has a budget."""
        with self._file.transaction(write=False) as connection:
            balance = ledger_reading.balance_of(connection, dataset_id(dataset))
        if balance is None:
            raise InputError(
                f"The ledger knows no data set '{dataset}': see '{ledger_command('show', self.path)}'."
            )
        return balance

    def balances(self) -> tuple[Balance, ...]:
        """Return the balances of all data sets, by name."""
        with self._file.transaction(write=False) as connection:
            found = ledger_reading.balances(connection)
        return tuple(found[dataset] for dataset in sorted(found))

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries in order, or refuse when the chain is broken."""
        with self._file.transaction(write=False) as connection:
            return tuple(ledger_file.newest_first(connection))[::-1]

    def confirm(self, released: Released) -> bool:
        """Tell whether this ledger charged the release; the values themselves it cannot vouch for."""
        return released.receipt is not None and self.confirm_receipt(released.receipt)

    def confirm_receipt(self, receipt: Receipt) -> bool:
        """Tell whether this ledger gave out the receipt, word for word."""
        with self._file.transaction(write=False) as connection:
            entry = ledger_file.entry_number(connection, receipt.sequence)
            return (
                entry is not None
                and (entry.kind, entry.hash) == ("spend", receipt.entry_hash)
                and ledger_reading.receipt_of(connection, entry) == receipt
            )

    def confirm_publication(self, entry_hash: str, content: Mapping[str, Any]) -> bool:
        """Tell whether this ledger noted the publication of exactly these figures."""
        detail = json.dumps(dict(content), sort_keys=True, allow_nan=False)
        query = "SELECT 1 FROM entries WHERE kind = 'publication' AND hash = ? AND detail = ?"
        with self._file.transaction(write=False) as connection:
            return connection.execute(query, (entry_hash, detail)).fetchone() is not None

    def unknown(self, hashes: Iterable[str]) -> tuple[str, ...]:
        """Return those of the hashes that are of no release or publication in this ledger."""
        query = "SELECT 1 FROM entries WHERE hash = ? AND kind IN ('spend', 'publication')"
        with self._file.transaction(write=False) as connection:
            return tuple(each for each in hashes if connection.execute(query, (each,)).fetchone() is None)

    @property
    def name(self) -> str:
        """The public name, which every receipt carries."""
        with self._file.transaction(write=False) as connection:
            return ledger_reading.identity(connection)["ledger"]

    def fingerprint(self, content: bytes) -> str:
        """Return what tells one content from another to those alone who have this ledger's key."""
        with self._file.transaction(write=False) as connection:
            key = ledger_reading.identity(connection)["key"]
        return hmac.digest(bytes.fromhex(key), content, "sha256").hex()

    def verify(self, heads: Iterable[str] = ()) -> LedgerVerification:
        """Read the whole ledger and report every fault.

        Parameters
        ----------
        heads
            Hashes seen earlier, from receipts or published heads: each must still be in the chain.
        """
        with self._file.transaction(write=False) as connection:
            return verify(connection, heads)


class LedgerKeeper(Ledger):
    """A ledger in the hands of whoever keeps the budgets: the only role that grants."""

    def grant(
        self,
        dataset: str,
        *,
        epsilon: float,
        alpha: float | None = None,
        unit: str | None = None,
        most_per_release: float | None = None,
    ) -> Balance:
        """Raise the budget of a data set; its first grant fixes the distance at which the budget is kept.

        Parameters
        ----------
        dataset
            The data set's identifier.
        epsilon
            The privacy loss to allow in addition; zero where only ``most_per_release`` is to change.
        alpha, unit
            The distance, and its unit. Needed once; later grants may leave them out and cannot change them.
        most_per_release
            What one release may cost from now on, in epsilon at ``alpha``; 1 unless a grant says otherwise.
        """
        dataset = dataset_id(dataset)
        most = None if most_per_release is None else _decimal(most_per_release, "most_per_release")
        amount = Decimal(0) if epsilon == 0 and most is not None else _decimal(epsilon, "epsilon")
        if alpha is not None:
            alpha = positive_number(alpha, "alpha")
        with self._file.transaction(write=True) as connection:
            head = next(ledger_file.newest_first(connection))
            balance = ledger_reading.balance_of(connection, dataset) or first_balance(dataset, alpha, unit)
            after = balance.grant(amount, alpha, unit, most)
            _append(connection, head, "grant", amount, after, "{}", _next_time(head))
        return after


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def _decimal(value: float, name: str) -> Decimal:
    return Decimal(repr(positive_number(value, name)))


def _who() -> str:
    """The login name; by the process's user where the system knows it, not by a variable anyone can set."""
    try:
        import pwd
    except ImportError:  # no POSIX system
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _next_time(head: Entry) -> datetime:
    """Return the time for the next entry; time in a ledger never runs backwards."""
    time = now()
    if utc_text(time) < head.time:
        raise LedgerError(
            f"The clock says {utc_text(time)}, which is before the ledger's last entry at {head.time}: set "
            "the clock right or wait until it has caught up; nothing was charged or released."
        )
    return time


def _append(
    connection: sqlite3.Connection,
    head: Entry,
    kind: str,
    amount: Decimal,
    after: Balance,
    detail: str,
    time: datetime,
) -> Entry:
    entry = Entry(
        sequence=head.sequence + 1,
        kind=kind,
        dataset=after.dataset,
        alpha=after.alpha,
        unit=after.unit,
        amount=str(amount),
        granted=str(after.granted),
        spent=str(after.spent),
        most_per_release=str(after.most_per_release),
        who=_who(),
        time=utc_text(time),
        detail=detail,
        previous=head.hash,
    )
    return ledger_file.append(connection, entry)
