"""The fidelity phase: from a noisy vector to the nearest one that is faithful to the market (problem (5))."""

from ppsm.fidelity.batch import BatchJob, restore_batch
from ppsm.fidelity.branching import SearchLimits
from ppsm.fidelity.certificate import Certificate
from ppsm.fidelity.problem import Bands, Prior, PublicVector
from ppsm.fidelity.restore import Restorer, restore
from ppsm.fidelity.result import FidelityResult

__all__ = [
    "Bands",
    "BatchJob",
    "Certificate",
    "FidelityResult",
    "Prior",
    "PublicVector",
    "Restorer",
    "SearchLimits",
    "restore",
    "restore_batch",
]
