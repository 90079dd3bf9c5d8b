"""What a ledger's entries say: its name and key, the balances they carry, the receipt of one that spends."""

import json
import sqlite3
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from ppsm.errors import LedgerError
from ppsm.privacy import ledger_file
from ppsm.privacy.balance import Balance, exact_sum
from ppsm.privacy.ledger_file import Entry
from ppsm.privacy.record import ReleaseRecord, utc_text
from ppsm.privacy.released import Account, Receipt, WindowSpend

# Losses are also told for these windows, in days: who guards the data may care about a year.
WINDOWS = (1, 30, 365)
# What the first entry, which is of no data set, names in place of one.
ALL = "(all)"


def identity(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the ledger's public name and its secret key."""
    entry = ledger_file.entry_number(connection, 1)
    try:
        fields = json.loads("" if entry is None else entry.detail)
        return {name: str(fields[name]) for name in ("ledger", "key")}
    except (ValueError, KeyError, TypeError):
        raise LedgerError("The ledger's first entry names no ledger: restore a good copy.") from None


def receipt_of(connection: sqlite3.Connection, entry: Entry) -> Receipt:
    """Return the receipt for an entry that spends."""
    spent = Decimal(entry.spent)
    windows = tuple(
        WindowSpend(days, exact_sum(spent, -_spent_before(connection, entry, days))) for days in WINDOWS
    )
    return Receipt(
        ledger=identity(connection)["ledger"],
        sequence=entry.sequence,
        entry_hash=entry.hash,
        charged=Decimal(entry.amount),
        account=Account(entry.alpha, entry.unit, spent, windows),
        record=ReleaseRecord.from_dict(json.loads(entry.detail)),
    )


def _spent_before(connection: sqlite3.Connection, entry: Entry, days: int) -> Decimal:
    """Return what the entry's data set had spent so many days before it."""
    start = utc_text(datetime.fromisoformat(entry.time) - timedelta(days=days))
    first = ledger_file.first_since(connection, start, entry.sequence)
    before = ledger_file.newest_before(connection, entry.dataset, first)
    return Decimal(0) if before is None else Decimal(before.spent)


def balances(connection: sqlite3.Connection) -> dict[str, Balance]:
    """Return the balances of all data sets, which their newest entries carry."""
    found: dict[str, Balance] = {}
    for entry in ledger_file.newest_first(connection):
        if entry.dataset not in (ALL, *found):
            found[entry.dataset] = _balance_after(entry)
    return found


def balance_of(connection: sqlite3.Connection, dataset: str) -> Balance | None:
    """Return the balance of a data set, or nothing where it has no budget."""
    entries = (entry for entry in ledger_file.newest_first(connection) if entry.dataset == dataset != ALL)
    newest = next(entries, None)
    return None if newest is None else _balance_after(newest)


def _balance_after(entry: Entry) -> Balance:
    try:
        return Balance(
            entry.dataset,
            entry.alpha,
            entry.unit,
            Decimal(entry.granted),
            Decimal(entry.spent),
            Decimal(entry.most_per_release),
        )
    except InvalidOperation:
        raise LedgerError(
            f"Entry {entry.sequence} of the ledger holds no numbers: restore a good copy."
        ) from None
