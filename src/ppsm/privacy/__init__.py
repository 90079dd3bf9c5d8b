"""Everything that touches the secret: its type, the noise, the budget and the audit."""

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
