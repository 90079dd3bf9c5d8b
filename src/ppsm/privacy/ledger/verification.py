"""The whole ledger read again and every fault told: file, schema, tail, chain, budgets, published hashes."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from ppsm.errors import InputError, PpsmError
from ppsm.privacy.ledger import chain, file, units
from ppsm.privacy.ledger.balance import Balance
from ppsm.privacy.ledger.books import is_noted
from ppsm.privacy.ledger.chain import NO_PREVIOUS, Entry
from ppsm.privacy.ledger.file import SCHEMA
from ppsm.privacy.record import ReleaseRecord


@dataclass(frozen=True, slots=True)
class LedgerVerification:
    """What a verification of a ledger found.

    Attributes
    ----------
    entries
        How many entries were read.
    head
        The hash of the last entry: publish it to pin the history so far.
    findings
        One sentence per fault; empty when all is well.
    """

    entries: int
    head: str
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.findings


def verify(connection: sqlite3.Connection, heads: Iterable[str] = ()) -> LedgerVerification:
    """Return every fault of a ledger; ``heads`` are hashes seen earlier that must still be in the chain."""
    entries = tuple(chain.all_entries(connection))
    findings = (
        *_file_findings(connection),
        *_schema_findings(connection),
        *_tail_findings(connection, entries),
        *_chain_findings(entries),
        *_budget_findings(entries),
        *_head_findings(entries, heads),
    )
    return LedgerVerification(len(entries), entries[-1].hash if entries else NO_PREVIOUS, findings)


def _file_findings(connection: sqlite3.Connection) -> list[str]:
    found = file.damage(connection)
    return [f"SQLite finds the file damaged ({found[0]})."] if found else []


def _schema_findings(connection: sqlite3.Connection) -> list[str]:
    found = file.schema_of(connection)
    if found == set(SCHEMA):
        return []
    return [
        f"Tables or triggers differ from what ppsm makes ({len(set(SCHEMA) - found)} missing, "
        f"{len(found - set(SCHEMA))} foreign): someone changed the file."
    ]


def _tail_findings(connection: sqlite3.Connection, entries: tuple[Entry, ...]) -> list[str]:
    highest = chain.highest_sequence(connection)
    last = entries[-1].sequence if entries else 0
    if highest == last and entries:
        return []
    return [f"The last entry is number {last}, but number {highest} was once written: the end was cut off."]


def _chain_findings(entries: tuple[Entry, ...]) -> list[str]:
    """Check numbers, hashes and times, entry by entry."""
    findings = []
    previous, time = NO_PREVIOUS, ""
    for number, entry in enumerate(entries, start=1):
        if entry.sequence != number:
            findings.append(f"Entry {entry.sequence} stands where number {number} was expected.")
        if entry.hash != entry.computed_hash():
            findings.append(f"Entry {entry.sequence} does not match its hash: it was changed.")
        if entry.previous != previous:
            findings.append(
                f"Entry {entry.sequence} does not continue the entry before it: the chain is broken."
            )
        if str(entry.time) < time:
            findings.append(f"Entry {entry.sequence} is dated before the entry ahead of it.")
        if (entry.kind == "genesis") != (number == 1):
            findings.append(f"Entry {entry.sequence} is of kind {entry.kind} out of its place.")
        previous, time = entry.hash, str(entry.time)
    return findings


def _budget_findings(entries: tuple[Entry, ...]) -> list[str]:
    """Replay grants and spends from nothing: totals must agree and no budget may ever have been exceeded."""
    findings = []
    balances: dict[tuple[str, str], Balance] = {}
    charges: set[int] = set()
    for entry in entries:
        if entry.kind == "genesis":
            continue
        account = (entry.dataset, entry.recipient if entry.kind == "grant" else "")
        balance = balances.get(account) or _empty(entry, account[1])
        try:
            if entry.kind == "spend" and entry.recipient:
                to = (entry.dataset, entry.recipient)
                balances[to] = _replayed(balances[to], entry)
            balance = _replayed(balance, entry)
            _count_draws(entry, charges)
        except (PpsmError, ValueError, ArithmeticError, KeyError, TypeError) as error:
            findings.append(f"Entry {entry.sequence} cannot be replayed: {error}")
            continue
        totals = (balance.granted, balance.spent, balance.most_per_release)
        carried = (entry.granted, entry.spent, entry.most_per_release)
        if (*map(str, totals), balance.window) != (*carried, entry.days):
            findings.append(
                f"Entry {entry.sequence} carries totals other than the sum of the entries up to it."
            )
        balances[account] = balance
    return findings


def _empty(entry: Entry, recipient: str) -> Balance:
    return Balance(entry.dataset, entry.alpha, entry.unit, window=entry.days, recipient=recipient)


def _count_draws(entry: Entry, charges: set[int]) -> None:
    """Refuse noise that was drawn without a charge of its own."""
    if entry.kind == "spend" and is_noted(entry):
        charges.add(entry.sequence)
    elif entry.kind == "draw":
        try:
            charges.remove(int(json.loads(entry.detail)["of"]))
        except KeyError:
            raise InputError("it draws noise that no open charge has paid for.") from None


def _replayed(balance: Balance, entry: Entry) -> Balance:
    amount = Decimal(entry.amount)
    if entry.kind == "grant":
        most = Decimal(entry.most_per_release)
        return balance.grant(amount, entry.alpha, entry.unit, most, entry.days or None)
    if entry.kind in ("publication", "draw"):
        if amount:
            raise InputError(f"it is a {entry.kind}, which costs nothing, and charges {amount}.")
        return balance
    record = ReleaseRecord.from_dict(json.loads(entry.detail))
    distance = units.converted(balance.alpha, balance.unit, record.unit)
    about = (record.dataset, record.recipient or "", record.day or "")
    if about != (balance.dataset, entry.recipient, entry.day) or distance is None:
        raise InputError("its record is for another data set, recipient, day or unit.")
    # The exact quotient, not the map: a later OpenDP may round its bound differently.
    if Fraction(amount) < record.loss_over(distance):
        raise InputError(f"it charges {amount}, less than the loss of its release.")
    charged = balance.charge(amount, record.day)
    if record.day is not None:
        charged.days.add(date.fromisoformat(record.day), amount)
    return charged


def _head_findings(entries: tuple[Entry, ...], heads: Iterable[str]) -> list[str]:
    known = {entry.hash for entry in entries}
    return [
        f"The published hash {head} is not in the chain: entries were rewritten or an old copy was put back."
        for head in heads
        if head not in known
    ]
