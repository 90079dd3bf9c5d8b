"""The ledger: a privacy budget per data set, charged before any noise is drawn.

Order of a release: validate everything, charge and commit to disk, draw noise, return. A crash in between
loses budget, never privacy.

Streams
    A release of a *day* is charged once, however often it is interrupted: once its noise is drawn and kept
    the ledger notes that (:meth:`Ledger.note_draw`), and only then may it leave. Noise that was never noted
    was never seen, so the same charge may draw anew; of two processes that try, one is refused.

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

import hmac
import json
import secrets
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
from ppsm.privacy.ledger_reading import Books, DayKey
from ppsm.privacy.ledger_verification import LedgerVerification, verify
from ppsm.privacy.ledger_writing import About, append, who
from ppsm.privacy.record import Asked, ReleaseRecord, dataset_id, positive_number, utc_text
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
        self._books = Books()
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
            recipient="",
            day="",
            alpha=0.0,
            unit="",
            days=0,
            amount="0",
            granted="0",
            spent="0",
            most_per_release="0",
            who=who(),
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
            books = self._books.read(connection)
            charged = books.open_charge(draft)
            if charged is None:
                time = _next_time(books.newest)
                record = replace(draft, time=time)
                amount, after = self._charged(books, record)
                detail = json.dumps(record.to_dict(), sort_keys=True)
                about = About(record.recipient or "", record.day or "")
                charged = append(connection, books.newest, "spend", amount, after, detail, time, about)
            return books.receipt(charged)

    def note_draw(self, receipt: Receipt, content: bytes) -> None:
        """Write down that the noise of a day's release was drawn and is kept: only then may it leave.

        Noted again with the same content nothing happens. Where other noise was noted for the same charge, by
        another process, this one is refused and must be forgotten.

        Parameters
        ----------
        receipt
            Of the charge.
        content
            What came out, with its noise; the ledger keeps a fingerprint.
        """
        fingerprint = self.fingerprint(content)
        with self._file.transaction(write=True) as connection:
            books = self._books.read(connection)
            record, key = receipt.record, DayKey.of(receipt.record)
            if key is None:
                raise InputError("The release is of no day, expected one of a stream: nothing was noted.")
            if books.is_open(receipt.sequence):
                detail = json.dumps({"of": receipt.sequence, "fingerprint": fingerprint})
                about = About(record.recipient or "", key.day)
                balance = books.balance(record.dataset)
                if balance is not None:
                    time = _next_time(books.newest)
                    append(connection, books.newest, "draw", Decimal(0), balance, detail, time, about)
            elif books.drawn(key) != fingerprint:
                raise LedgerError(
                    f"Other noise was drawn already for {key.day} of '{key.dataset}', so this draw must not "
                    "leave: go on from the files of the process that drew it."
                )

    def fingerprint_of_draw(
        self, dataset: str, day: str, asked: Asked, recipient: str | None = None
    ) -> str | None:
        """The fingerprint of what was drawn last about a day; None where nothing was."""
        with self._file.transaction(write=False) as connection:
            return self._books.read(connection).drawn(DayKey(dataset, recipient or "", day, asked))

    def check(self, draft: ReleaseRecord) -> None:
        """Refuse what :meth:`spend` would refuse for its cost, and change nothing."""
        with self._file.transaction(write=False) as connection:
            books = self._books.read(connection)
            if books.open_charge(draft) is None:
                self._charged(books, draft)

    def _charged(self, books: Books, record: ReleaseRecord) -> tuple[Decimal, Balance]:
        """Return what a release costs and the data set's balance after it, or refuse."""
        balance = books.balance(record.dataset)
        if balance is None:
            raise self._no_budget(record)
        amount = balance.price(record)
        grant = ledger_command("grant", self.path)
        if record.recipient is not None:
            own = books.balance(record.dataset, record.recipient)
            if own is None:
                to = f"{record.dataset} --recipient {record.recipient}"
                remedy = f"{grant} {to} --epsilon {record.epsilon!r}"
                raise no_budget(f"{record.dataset}' for '{record.recipient}", remedy)
            own.charge(amount, record.day, grant)
        return amount, balance.charge(amount, record.day, grant)

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
            books = self._books.read(connection)
            balance = books.balance(dataset_id(dataset))
            if balance is None:
                grant = ledger_command("grant", self.path)
                raise no_budget(dataset, f"{grant} {dataset} --epsilon EPSILON --alpha ALPHA --unit UNIT")
            time = _next_time(books.newest)
            return append(connection, books.newest, "publication", Decimal(0), balance, detail, time)

    def balance(self, dataset: str, recipient: str | None = None) -> Balance:
        """Return the balance of a data set that has a budget, or of one recipient of it."""
        with self._file.transaction(write=False) as connection:
            balance = self._books.read(connection).balance(dataset_id(dataset), recipient)
        if balance is None:
            raise InputError(
                f"The ledger knows no data set '{dataset}'{f' for {recipient!r}' if recipient else ''}: see "
                f"'{ledger_command('show', self.path)}'."
            )
        return replace(balance, days=balance.days.copy())

    def balances(self) -> tuple[Balance, ...]:
        """Return the balances of all data sets and recipients, by name."""
        with self._file.transaction(write=False) as connection:
            found = self._books.read(connection).balances()
        return tuple(replace(balance, days=balance.days.copy()) for balance in found)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries in order, or refuse when the chain is broken."""
        with self._file.transaction(write=False) as connection:
            return tuple(ledger_file.checked_since(connection, 0, NO_PREVIOUS))

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
                and self._books.read(connection).receipt(entry) == receipt
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
            return self._books.read(connection).identity["ledger"]

    def fingerprint(self, content: bytes) -> str:
        """Return what tells one content from another to those alone who have this ledger's key."""
        with self._file.transaction(write=False) as connection:
            key = self._books.read(connection).identity["key"]
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
        window: int | None = None,
        recipient: str | None = None,
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
        window
            For how many consecutive days of a stream the budget is: any so many days may lose it. Said once,
            with the first grant; without it the budget is for all releases together.
        recipient
            Whose budget is raised: that of one recipient, within the data set's own, at its distance.
        """
        dataset = dataset_id(dataset)
        to = None if recipient is None else dataset_id(recipient, "recipient")
        most = None if most_per_release is None else _decimal(most_per_release, "most_per_release")
        amount = Decimal(0) if epsilon == 0 and most is not None else _decimal(epsilon, "epsilon")
        if alpha is not None:
            alpha = positive_number(alpha, "alpha")
        with self._file.transaction(write=True) as connection:
            books = self._books.read(connection)
            balance = books.balance(dataset, to)
            if balance is None:
                balance = _first(books, dataset, to, alpha, unit, window)
            after = balance.grant(amount, alpha, unit, most, window)
            time = _next_time(books.newest)
            append(connection, books.newest, "grant", amount, after, "{}", time, About(to or ""))
        return after


def _first(
    books: Books,
    dataset: str,
    recipient: str | None,
    alpha: float | None,
    unit: str | None,
    window: int | None,
) -> Balance:
    """The empty balance of a data set, or of a recipient at the distance of its data set."""
    if recipient is None:
        return first_balance(dataset, alpha, unit, window)
    whole = books.balance(dataset)
    if whole is None:
        raise InputError(
            f"The data set '{dataset}' has no budget yet, expected one before a recipient's: grant the data "
            "set what all its recipients together may be given."
        )
    own = first_balance(dataset, whole.alpha, whole.unit, window)
    return replace(own, recipient=recipient)


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def _decimal(value: float, name: str) -> Decimal:
    return Decimal(repr(positive_number(value, name)))


def _next_time(head: Entry) -> datetime:
    """Return the time for the next entry; time in a ledger never runs backwards."""
    time = now()
    if utc_text(time) < head.time:
        raise LedgerError(
            f"The clock says {utc_text(time)}, which is before the ledger's last entry at {head.time}: set "
            "the clock right or wait until it has caught up; nothing was charged or released."
        )
    return time
