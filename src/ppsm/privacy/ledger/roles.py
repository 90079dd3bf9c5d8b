"""The two roles of a ledger: whoever releases spends, whoever keeps the budget grants."""

import getpass
import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from ppsm.errors import BudgetExceededError, InputError, LedgerError
from ppsm.privacy.ledger import chain
from ppsm.privacy.ledger.balance import MOST_PER_RELEASE, Balance, first_balance, no_budget
from ppsm.privacy.ledger.books import ALL, NOTED, Books, noted_draw
from ppsm.privacy.ledger.chain import NO_PREVIOUS, Entry
from ppsm.privacy.ledger.composition import DELTA
from ppsm.privacy.ledger.file import LedgerFile
from ppsm.privacy.ledger.place import grant_command, grant_to_recipient, ledger_command
from ppsm.privacy.ledger.reader import LedgerReader
from ppsm.privacy.record import ReleaseRecord, dataset_id, positive_number, utc_text
from ppsm.privacy.released import Receipt
from ppsm.privacy.tuning import TUNING


@dataclass(frozen=True)
class _About:
    """For whom an entry is, and of which day; empty for everybody and for data that are of no day."""

    recipient: str = ""
    day: str = ""


_EVERYBODY = _About()


class Ledger(LedgerReader):
    """A file that keeps budgets and refuses to overspend them; safe under many processes and threads.

    It can be read and spend. Who may grant opens it as a :class:`LedgerKeeper`.
    """

    @staticmethod
    def create(path: str | Path) -> "LedgerKeeper":
        """Make a new, empty ledger; an existing file is refused. Who makes it keeps it."""
        # The key keeps hashes from being guessed by those who see only published ones; the name is public.
        identity = json.dumps({"ledger": secrets.token_hex(8), "key": secrets.token_hex(32)})
        genesis = Entry(
            sequence=1,
            kind="genesis",
            dataset=ALL,
            recipient="",
            day="",
            alpha=0.0,
            unit="",
            days=0,
            amount="0",
            granted="0",
            spent="0",
            most_per_release="0",
            who=_who(),
            time=utc_text(now()),
            detail=identity,
            previous=NO_PREVIOUS,
        )
        LedgerFile(Path(path), TUNING.ledger_wait_s).create(genesis)
        return LedgerKeeper(path)

    def spend(self, draft: ReleaseRecord, *, noted: bool = False) -> Receipt:
        """Charge a release to its data set, on disk, before it happens; or refuse and change nothing.

        Parameters
        ----------
        draft
            The release that is about to happen. Its time is set anew, inside the transaction.
        noted
            Whether :meth:`note_draw` is called before the noise leaves. The same release, by its purpose, is
            then charged once until that is done. So it always is for data of a day.

        Raises
        ------
        BudgetExceededError
            When the budget does not cover it; the message says what was spent, asked and left.
        LedgerError
            When the ledger cannot be trusted or written, or the clock runs backwards.
        """
        try:
            return self._spend(draft, noted=noted)
        except BudgetExceededError as refusal:
            raise self._with_composition(refusal, draft.dataset) from None

    def _spend(self, draft: ReleaseRecord, *, noted: bool) -> Receipt:
        with self._file.transaction(write=True) as connection:
            books = self._books.read(connection)
            # A release that is not noted must not leave on a charge that may still draw anew.
            charged = books.open_charge(draft) if noted or draft.day is not None else None
            if charged is None:
                time = _next_time(books.newest)
                record = replace(draft, time=time)
                amount, after = self._charged(books, record)
                mark = {NOTED: True} if noted else {}
                detail = json.dumps(record.to_dict() | mark, sort_keys=True)
                about = _About(record.recipient or "", record.day or "")
                charged = _append(connection, books.newest, "spend", amount, after, detail, time, about)
            return books.receipt(connection, charged)

    def _with_composition(self, refusal: BudgetExceededError, dataset: str) -> BudgetExceededError:
        """A refusal that also says what the releases so far lose together at a small delta."""
        loss = self.composed(dataset)
        if not loss:
            return refusal
        return BudgetExceededError(
            f"{refusal} (Not the promise, but for comparison: the releases so far lose {loss:.4g} together, "
            f"except with probability {DELTA:g}.)"
        )

    def note_draw(self, receipt: Receipt, content: bytes) -> None:
        """Write down that the noise of a release was drawn and is kept: only then may it leave.

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
            charge, record = self._charge_of(connection, receipt), receipt.record
            balance = books.balance(record.dataset)
            if books.is_open(charge.sequence) and balance is not None:
                detail = json.dumps({"of": charge.sequence, "fingerprint": fingerprint})
                about = _About(charge.recipient, charge.day)
                # A note costs nothing and must not wait for a clock that was set back after the charge.
                time = max(now(), datetime.fromisoformat(books.newest.time))
                _append(connection, books.newest, "draw", Decimal(0), balance, detail, time, about)
            elif noted_draw(connection, charge) != fingerprint:
                raise LedgerError(
                    f"Other noise was drawn already for {record.day or record.purpose} of "
                    f"'{record.dataset}', or none is to be noted for it, so this draw must not leave: go on "
                    "from the files of the process that drew it."
                )

    def _charge_of(self, connection: sqlite3.Connection, receipt: Receipt) -> Entry:
        charge = chain.entry_number(connection, receipt.sequence)
        if charge is None or (charge.kind, charge.hash) != ("spend", receipt.entry_hash):
            raise LedgerError(
                f"The ledger {self.path} has not charged this release, or has forgotten it: restore the "
                "newest copy; the draw must not leave."
            )
        return charge

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
                remedy = grant_to_recipient(
                    self.path,
                    record.dataset,
                    record.recipient,
                    epsilon=record.epsilon,
                    window=balance.window,
                )
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
            return _append(connection, books.newest, "publication", Decimal(0), balance, detail, time)


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
            _append(connection, books.newest, "grant", amount, after, "{}", time, _About(to or ""))
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


def _append(
    connection: sqlite3.Connection,
    head: Entry,
    kind: str,
    amount: Decimal,
    after: Balance,
    detail: str,
    time: datetime,
    about: _About = _EVERYBODY,
) -> Entry:
    """Write an entry after the last one, with the balance after it."""
    entry = Entry(
        sequence=head.sequence + 1,
        kind=kind,
        dataset=after.dataset,
        recipient=about.recipient,
        day=about.day,
        alpha=after.alpha,
        unit=after.unit,
        days=after.window,
        amount=str(amount),
        granted=str(after.granted),
        spent=str(after.spent),
        most_per_release=str(after.most_per_release),
        who=_who(),
        time=utc_text(time),
        detail=detail,
        previous=head.hash,
    )
    return chain.append(connection, entry)


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
