"""What a ledger's entries say: its name and key, the balances they make, the receipt of one that spends.

:class:`Books` are kept in memory and go on from the entry that they have read last, so that an operation
costs the same after ten entries and after ten thousand. The first one in a process reads the whole chain. No
index of the file is trusted for it: one that is damaged may hide an entry.
"""

import bisect
import json
import sqlite3
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from ppsm.errors import LedgerError
from ppsm.privacy.ledger import chain
from ppsm.privacy.ledger.balance import Balance
from ppsm.privacy.ledger.chain import NO_PREVIOUS, Entry
from ppsm.privacy.ledger.exact import exact_difference, exact_sum
from ppsm.privacy.ledger.windows import DayLosses
from ppsm.privacy.record import Asked, ReleaseRecord
from ppsm.privacy.released import Account, Receipt, WindowSpend

# Losses are also told for these windows, in days: who guards the data may care about a year.
WINDOWS = (1, 30, 365)
# What the first entry, which is of no data set, names in place of one.
ALL = "(all)"
# Says in the detail of a spend that its noise is noted before it leaves; spends of a day always are.
NOTED = "noted"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ChargeKey:
    """What is charged once until its noise is drawn: one question about one day, or for one purpose."""

    dataset: str
    recipient: str
    asked: Asked
    day: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, record: ReleaseRecord) -> "ChargeKey":
        """A day says what is released; data of no day are told apart by their purpose."""
        about = (record.dataset, record.recipient or "", record.asked)
        return cls(*about, purpose=record.purpose) if record.day is None else cls(*about, day=record.day)


class Books:
    """All balances as the chain makes them, up to the last entry that was read."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.head: Entry | None = None
        self._identity: dict[str, str] = {}
        self._balances: dict[tuple[str, str], Balance] = {}
        # When each data set has spent, in microseconds, and by which entry: for the windows of receipts.
        self._times: dict[str, array[int]] = {}
        self._spends: dict[str, array[int]] = {}
        self._open: dict[ChargeKey, Entry] = {}
        # Of days alone: rounds come without end, and what was drawn for them is found in the chain.
        self._drawn: dict[ChargeKey, str] = {}

    def read(self, connection: sqlite3.Connection) -> "Books":
        """Go on from the entry read last; from the first one if the file is another by now."""
        if self.head is not None:
            again = chain.entry_number(connection, self.head.sequence)
            if again is None or again.hash != self.head.hash:
                self._forget()
        last = (0, NO_PREVIOUS) if self.head is None else (self.head.sequence, self.head.hash)
        for entry in chain.checked_since(connection, *last):
            try:
                self._count(entry)
            except (InvalidOperation, ValueError, KeyError, TypeError):
                self._forget()
                raise LedgerError(
                    f"Entry {entry.sequence} of the ledger holds no numbers, or no record, that can be read: "
                    "restore a good copy."
                ) from None
            self.head = entry
        return self

    @property
    def newest(self) -> Entry:
        """The last entry of the ledger."""
        if self.head is None:
            raise LedgerError("The ledger has no entries: restore a good copy.")
        return self.head

    @property
    def identity(self) -> Mapping[str, str]:
        """The ledger's public name and its secret key."""
        if set(self._identity) != {"ledger", "key"}:
            raise LedgerError("The ledger's first entry names no ledger: restore a good copy.")
        return self._identity

    def balance(self, dataset: str, recipient: str | None = None) -> Balance | None:
        """The balance of a data set or of one recipient of it; None where it has no budget."""
        return self._balances.get((dataset, recipient or ""))

    def balances(self) -> list[Balance]:
        """All of them, by data set and recipient."""
        return [self._balances[key] for key in sorted(self._balances)]

    def open_charge(self, record: ReleaseRecord) -> Entry | None:
        """The charge for exactly this release, whose noise is to be noted and never was."""
        entry = self._open.get(ChargeKey.of(record))
        if entry is None:
            return None
        found = _record(entry)
        return entry if replace(record, time=found.time) == found else None

    def is_open(self, sequence: int) -> bool:
        """Whether an entry is a charge whose noise is to be noted and never was."""
        return any(entry.sequence == sequence for entry in self._open.values())

    def drawn(self, key: ChargeKey) -> str | None:
        """The fingerprint of the noise that was drawn last for a day; None where none was."""
        return self._drawn.get(key)

    def receipt(self, connection: sqlite3.Connection, entry: Entry) -> Receipt:
        """The receipt for an entry that spends."""
        spent = Decimal(entry.spent)
        before = {days: self._spent_before(connection, entry, days) for days in WINDOWS}
        windows = tuple(WindowSpend(days, exact_difference(spent, lost)) for days, lost in before.items())
        return Receipt(
            ledger=self.identity["ledger"],
            sequence=entry.sequence,
            entry_hash=entry.hash,
            charged=Decimal(entry.amount),
            account=Account(entry.alpha, entry.unit, spent, windows),
            record=_record(entry),
        )

    def _spent_before(self, connection: sqlite3.Connection, entry: Entry, days: int) -> Decimal:
        """What the entry's data set had spent so many days before it."""
        start = _microseconds(entry) - timedelta(days=days) // timedelta(microseconds=1)
        count = bisect.bisect_left(self._times.get(entry.dataset, ()), start)
        if not count:
            return Decimal(0)
        last = chain.entry_number(connection, self._spends[entry.dataset][count - 1])
        if last is None:
            raise LedgerError("Entries of the ledger are missing: restore a good copy.")
        return Decimal(last.spent)

    def _count(self, entry: Entry) -> None:
        if entry.kind == "genesis":
            self._identity = _names(entry)
        elif entry.kind == "grant":
            self._carry(entry, entry.recipient)
        elif entry.kind == "spend":
            self._charge(entry)
        elif entry.kind == "draw":
            self._draw(entry)
        else:
            self._carry(entry, "")

    def _carry(self, entry: Entry, recipient: str) -> Balance:
        """The balance that an entry carries."""
        known = self._balances.get((entry.dataset, recipient))
        balance = Balance(
            entry.dataset,
            entry.alpha,
            entry.unit,
            Decimal(entry.granted),
            Decimal(entry.spent),
            Decimal(entry.most_per_release),
            entry.days,
            recipient,
            DayLosses() if known is None else known.days,
        )
        self._balances[entry.dataset, recipient] = balance
        return balance

    def _charge(self, entry: Entry) -> None:
        amount = Decimal(entry.amount)
        charged = [self._carry(entry, "")]
        own = self._balances.get((entry.dataset, entry.recipient)) if entry.recipient else None
        if own is not None:
            own = replace(own, spent=exact_sum(own.spent, amount))
            self._balances[entry.dataset, entry.recipient] = own
            charged.append(own)
        self._times.setdefault(entry.dataset, array("q")).append(_microseconds(entry))
        self._spends.setdefault(entry.dataset, array("q")).append(entry.sequence)
        if entry.day:
            for balance in charged:
                balance.days.add(date.fromisoformat(entry.day), amount)
        if is_noted(entry):
            self._open[ChargeKey.of(_record(entry))] = entry

    def _draw(self, entry: Entry) -> None:
        detail = json.loads(entry.detail)
        of = int(detail["of"])
        key = next((key for key, charge in self._open.items() if charge.sequence == of), None)
        if key is None:
            raise LedgerError(
                f"Entry {entry.sequence} of the ledger notes noise that no open charge has paid for: run "
                "'ppsm ledger verify' and restore a good copy."
            )
        del self._open[key]
        if key.day:
            self._drawn[key] = str(detail["fingerprint"])


def is_noted(entry: Entry) -> bool:
    """Whether a spend says that its noise is noted before it leaves."""
    return bool(entry.day) or json.loads(entry.detail).get(NOTED) is True


def noted_draw(connection: sqlite3.Connection, charge: Entry) -> str | None:
    """The fingerprint that was noted for a charge; None where none was. It mostly stands right after it."""
    for entry in chain.checked_since(connection, charge.sequence, charge.hash):
        if entry.kind == "draw":
            detail = json.loads(entry.detail)
            if int(detail["of"]) == charge.sequence:
                return str(detail["fingerprint"])
    return None


def _microseconds(entry: Entry) -> int:
    return (datetime.fromisoformat(entry.time) - _EPOCH) // timedelta(microseconds=1)


def _names(entry: Entry) -> dict[str, str]:
    try:
        fields = json.loads(entry.detail)
        return {name: str(fields[name]) for name in ("ledger", "key")}
    except (ValueError, KeyError, TypeError):
        return {}


def _record(entry: Entry) -> ReleaseRecord:
    return ReleaseRecord.from_dict(json.loads(entry.detail))
