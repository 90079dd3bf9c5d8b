"""Everything that touches the secret: its type, the noise, the budget and the audit.

::

    sensitive                  the secret's type, and the two doors into it
    laplace, noise             step 1: check, charge, draw; the exact sampler
    measurements               the total beside the entries, and how epsilon is split
    released, record           what may travel, and what it says about how it came about
    ledger/                    budgets, charged before noise is drawn
    distance                   how far a secret is from a public vector, with noise
    publication, owner_only    the owner's acts: published figures on record, and what stays at home
    provenance                 where what a release uses came from
    statement                  what a release promises, in words and figures
    audits/                    evidence against a mechanism's claim
    tuning                     numbers that decide nothing about privacy
"""

from ppsm.privacy.audits.laplace_audit import audit_laplace
from ppsm.privacy.audits.mechanism_audit import AuditReport, audit_mechanism
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger import Ledger, LedgerKeeper
from ppsm.privacy.ledger.balance import Balance, price
from ppsm.privacy.ledger.verification import LedgerVerification
from ppsm.privacy.owner_only import OwnerOnly, for_owner_only
from ppsm.privacy.provenance import Provenance, Taint
from ppsm.privacy.publication import (
    MarketResult,
    Publication,
    PublishedFigures,
    note_publication,
    simulated_publication,
)
from ppsm.privacy.record import Adjacency, NoiseSource, ReleaseRecord
from ppsm.privacy.released import Account, Receipt, Released, require_released
from ppsm.privacy.sensitive import Sensitive

__all__ = [
    "Account",
    "Adjacency",
    "AuditReport",
    "Balance",
    "LaplaceMechanism",
    "Ledger",
    "LedgerKeeper",
    "LedgerVerification",
    "MarketResult",
    "NoiseSource",
    "OwnerOnly",
    "Provenance",
    "Publication",
    "PublishedFigures",
    "Receipt",
    "ReleaseRecord",
    "Released",
    "Sensitive",
    "Taint",
    "audit_laplace",
    "audit_mechanism",
    "for_owner_only",
    "note_publication",
    "price",
    "require_released",
    "simulated_publication",
]
