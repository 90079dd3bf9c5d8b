"""Everything that touches the secret: its type, the noise, the budget and the audit.

::

    sensitive                  the secret's type, and the two doors into it
    laplace, noise             step 1: check, charge, draw; the exact sampler
    measurements               the total beside the entries, and how epsilon is split
    released, record           what may travel, and what it says about how it came about
    ledger, ledger_file        budgets, charged before noise is drawn; the file and its hash chain
    balance                    what releases cost together
    publication, owner_only    the owner's acts: results made public on record, and what stays at home
    audit, events              evidence against a mechanism's claim, and the statistics behind it
"""

from ppsm.privacy.audit import AuditReport, audit_laplace, audit_mechanism
from ppsm.privacy.balance import Balance, price
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger import Ledger, LedgerVerification
from ppsm.privacy.owner_only import OwnerOnly, for_owner_only
from ppsm.privacy.publication import (
    MarketResult,
    Publication,
    publish_outcome,
    simulated_publication,
)
from ppsm.privacy.record import Adjacency, NoiseSource, ReleaseRecord
from ppsm.privacy.released import Receipt, Released, require_released
from ppsm.privacy.sensitive import Sensitive

__all__ = [
    "Adjacency",
    "AuditReport",
    "Balance",
    "LaplaceMechanism",
    "Ledger",
    "LedgerVerification",
    "MarketResult",
    "NoiseSource",
    "OwnerOnly",
    "Publication",
    "Receipt",
    "ReleaseRecord",
    "Released",
    "Sensitive",
    "audit_laplace",
    "audit_mechanism",
    "for_owner_only",
    "price",
    "publish_outcome",
    "require_released",
    "simulated_publication",
]
