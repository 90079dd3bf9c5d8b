"""A ledger as it is read: balances, entries, what it charged and noted, and whether it is whole."""

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ppsm.errors import InputError
from ppsm.privacy.ledger import chain
from ppsm.privacy.ledger.balance import Balance
from ppsm.privacy.ledger.books import Books, ChargeKey, is_noted, noted_draw
from ppsm.privacy.ledger.chain import NO_PREVIOUS, Entry
from ppsm.privacy.ledger.composition import DELTA, composed_loss
from ppsm.privacy.ledger.file import LedgerFile
from ppsm.privacy.ledger.place import ledger_command
from ppsm.privacy.ledger.verification import LedgerVerification, verify
from ppsm.privacy.record import Asked, ReleaseRecord, dataset_id, positive_number
from ppsm.privacy.released import Receipt, Released
from ppsm.privacy.tuning import TUNING


class LedgerReader:
    """All that a ledger can be asked; :class:`~ppsm.privacy.Ledger` adds what it can be charged with.

    Parameters
    ----------
    path
        A file made by :meth:`ppsm.privacy.Ledger.create`, on a local disk (locks over a network are not to be
        trusted).
    timeout_s
        How long to wait while other processes write.
    """

    def __init__(self, path: str | Path, *, timeout_s: float = TUNING.ledger_wait_s) -> None:
        self._file = LedgerFile(Path(path).resolve(), positive_number(timeout_s, "timeout_s"))
        self._books = Books()
        with self._file.transaction(write=False):
            pass

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self._file.path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def close(self) -> None:
        """Close the file; it opens again by itself when it is needed."""
        self._file.close()

    @property
    def name(self) -> str:
        """The public name, which every receipt carries."""
        with self._file.transaction(write=False) as connection:
            return self._books.read(connection).identity["ledger"]

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

    def composed(self, dataset: str, recipient: str | None = None, delta: float = DELTA) -> float:
        """What all releases of a data set, or those to one recipient, lose together at a small delta.

        See :mod:`ppsm.privacy.ledger.composition`; the promise is the sum.
        """
        spends = [
            entry
            for entry in self.entries()
            if (entry.kind, entry.dataset) == ("spend", dataset) and recipient in (None, entry.recipient)
        ]
        if not spends:
            return 0.0
        records = [ReleaseRecord.from_dict(json.loads(entry.detail)) for entry in spends]
        return composed_loss(records, spends[-1].alpha, spends[-1].unit, delta)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries in order, or refuse when the chain is broken."""
        with self._file.transaction(write=False) as connection:
            return tuple(chain.checked_since(connection, 0, NO_PREVIOUS))

    def confirm(self, released: Released) -> bool:
        """Tell whether this ledger charged the release; the values themselves it cannot vouch for."""
        return released.receipt is not None and self.confirm_receipt(released.receipt)

    def confirm_receipt(self, receipt: Receipt) -> bool:
        """Tell whether this ledger gave out the receipt, word for word."""
        with self._file.transaction(write=False) as connection:
            entry = chain.entry_number(connection, receipt.sequence)
            return (
                entry is not None
                and (entry.kind, entry.hash) == ("spend", receipt.entry_hash)
                and self._books.read(connection).receipt(connection, entry) == receipt
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

    def fingerprint(self, content: bytes) -> str:
        """Return what tells one content from another to those alone who have this ledger's key."""
        with self._file.transaction(write=False) as connection:
            key = self._books.read(connection).identity["key"]
        return hmac.digest(bytes.fromhex(key), content, "sha256").hex()

    def fingerprint_of_draw(
        self, dataset: str, day: str, asked: Asked, recipient: str | None = None
    ) -> str | None:
        """The fingerprint of what was drawn last about a day; None where nothing was."""
        with self._file.transaction(write=False) as connection:
            return self._books.read(connection).drawn(ChargeKey(dataset, recipient or "", asked, day=day))

    def charges_for(self, purpose: str) -> list[tuple[ReleaseRecord, bool]]:
        """All releases that were charged for a purpose, and whether their noise never left.

        The whole chain is read for it: this is for those who come back after a crash.
        """
        found = []
        with self._file.transaction(write=False) as connection:
            books = self._books.read(connection)
            for entry in chain.checked_since(connection, 0, NO_PREVIOUS):
                record = _record_for(entry, purpose)
                if record is not None:
                    found.append((record, books.is_open(entry.sequence)))
        return found

    def other_draw(self, receipt: Receipt, content: bytes) -> bool:
        """Whether other noise than this was noted for a charge."""
        fingerprint = self.fingerprint(content)
        with self._file.transaction(write=False) as connection:
            charge = chain.entry_number(connection, receipt.sequence)
            noted = noted_draw(connection, charge) if charge is not None and is_noted(charge) else None
        return noted not in (None, fingerprint)

    def verify(self, heads: Iterable[str] = ()) -> LedgerVerification:
        """Read the whole ledger and report every fault.

        Parameters
        ----------
        heads
            Hashes seen earlier, from receipts or published heads: each must still be in the chain.
        """
        with self._file.transaction(write=False) as connection:
            return verify(connection, heads)


def _record_for(entry: Entry, purpose: str) -> ReleaseRecord | None:
    """The record of a spend for a purpose; None for all other entries."""
    if entry.kind != "spend":
        return None
    fields = json.loads(entry.detail)
    return ReleaseRecord.from_dict(fields) if fields["purpose"] == purpose else None
