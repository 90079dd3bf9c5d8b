"""The ledger: a privacy budget per data set, charged before any noise is drawn.

Order of a release: validate everything, charge and commit to disk, draw noise, return. A crash in between
loses budget, never privacy.

Streams and rounds
    A release of a *day*, or of a *round* between two parties, is charged once, however often it is
    interrupted: once its noise is drawn and kept the ledger notes that (:meth:`Ledger.note_draw`), and only
    then may it leave. Noise that was never noted was never seen, so the same charge may draw anew; of two
    processes that try, one is refused. That holds as long as it does not depend on the drawn values whether
    a process is interrupted.

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

::

    roles           Ledger spends and notes, LedgerKeeper grants
    reader          all that a ledger can be asked
    balance, units  what releases cost together, at one distance in one unit
    windows, exact  what windows of days have lost; sums without rounding
    composition     losses together at a small delta
    chain, file     the entries, hash by hash; the file that they lie in
    books           what the entries say: balances and receipts
    verification    the whole ledger read again, every fault told
    place           where a user's ledger lies, and what to type
"""

from ppsm.privacy.ledger.roles import Ledger, LedgerKeeper

__all__ = ["Ledger", "LedgerKeeper"]
