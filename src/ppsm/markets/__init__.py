"""The markets of a case and the game that the leader plays with them, in three rooms and a page of numbers.

==========  ==========================================================================================
``model/``  the markets one by one: UC, EM and GM of the paper's appendix, and what ties them together
``gauc/``   gas-aware unit commitment: the search for the best valid commitment and for its bound
``check/``  the independent certificate of an answer, and why there is none
``tuning``  every number that steers the search, with a sentence each
==========  ==========================================================================================

Each room may import those above it. The names here are imported on demand: they need linopy, which takes
longer than all the rest.
"""

from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.markets.check.certificate import Certificate, Fault, certify
    from ppsm.markets.check.shortages import GasExplanation, explain_gas
    from ppsm.markets.gauc.gauc_solution import GaucSolution
    from ppsm.markets.gauc.solver import GasAwareCommitment
    from ppsm.markets.gauc.unaware import InvalidBid, UnawareSolution
    from ppsm.markets.model.commitment import Before, UnitCommitment
    from ppsm.markets.model.electricity import Dispatch, ElectricityMarket
    from ppsm.markets.model.gas import GasMarket, build_gas_market

__all__ = [
    "Before",
    "Certificate",
    "Dispatch",
    "ElectricityMarket",
    "Fault",
    "GasAwareCommitment",
    "GasExplanation",
    "GasMarket",
    "GaucSolution",
    "InvalidBid",
    "UnawareSolution",
    "UnitCommitment",
    "build_gas_market",
    "certify",
    "explain_gas",
]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "check.certificate": ("Certificate", "Fault", "certify"),
        "check.shortages": ("GasExplanation", "explain_gas"),
        "gauc.gauc_solution": ("GaucSolution",),
        "gauc.solver": ("GasAwareCommitment",),
        "gauc.unaware": ("InvalidBid", "UnawareSolution"),
        "model.commitment": ("Before", "UnitCommitment"),
        "model.electricity": ("Dispatch", "ElectricityMarket"),
        "model.gas": ("GasMarket", "build_gas_market"),
    },
)
