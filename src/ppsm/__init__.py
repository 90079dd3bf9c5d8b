"""ppsm: privacy-preserving coordination of markets.

A leader and a follower act in turn; the follower's data are secret and its prices feed back. The names here
are those for games, noise, budgets and cases::

    Follower, FollowerOutcome                   an LP whose right-hand side moves with a parameter
    StackelbergGame, GameSolution               a leader who anticipates it, written with linopy
    LinearProgram, BilevelProgram               the same in arrays
    solve_bilevel, BilevelSolution, Method      solve it exactly
    Status, Conflict                            how much an answer is worth, why there is none
    verify, Verification, Finding               the independent check
    read_bilevel                                the exchange format of the instance libraries
    Sensitive, Released, ReleaseRecord          the secret, what may travel, how it came about
    LaplaceMechanism, require_released          the noise, and the guard of every step after it
    Ledger, Balance, Receipt                    budgets that are charged before anything is released
    audit_mechanism, audit_laplace, AuditReport evidence against a privacy claim
    DistanceBound, CostOfPrivacy, cost_of_privacy   what can be said beforehand
    Case, load_case                             gas and power markets as tables

The other public names are those of the packages of one topic, which are imported by name::

    ppsm.mechanism      the five steps end to end: PPSM, coordinations, predictors, dossier
    ppsm.fidelity       step 3b alone: restore
    ppsm.privacy        all that touches the secret: publish_outcome, for_owner_only, ...
    ppsm.markets        gas, electricity, commitment and their game
    ppsm.experiments    grids of instances, their rows and reports
    ppsm.cases, ppsm.figures, ppsm.examples
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppsm.bilevel.files.exchange import read_bilevel
    from ppsm.bilevel.solution import BilevelSolution, Method
    from ppsm.bilevel.solve import solve_bilevel
    from ppsm.bilevel.verify import Finding, Verification, verify
    from ppsm.cases.schema import Case, load_case
    from ppsm.errors import (
        AuditFailedError,
        BudgetExceededError,
        FileFormatError,
        InputError,
        LedgerError,
        ModelError,
        NoValidBoundError,
        PpsmError,
        PrivacyError,
        SecretExposureError,
        SolverError,
    )
    from ppsm.games.follower import Follower, FollowerOutcome
    from ppsm.games.stackelberg import GameSolution, StackelbergGame
    from ppsm.privacy import (
        AuditReport,
        Balance,
        LaplaceMechanism,
        Ledger,
        Receipt,
        Released,
        ReleaseRecord,
        Sensitive,
        audit_laplace,
        audit_mechanism,
        require_released,
    )
    from ppsm.program import BilevelProgram, LinearProgram
    from ppsm.solvers.conflict import Conflict
    from ppsm.status import Status
    from ppsm.theory import CostOfPrivacy, DistanceBound, cost_of_privacy

__version__ = "0.1.0"

__all__ = [
    "AuditFailedError",
    "AuditReport",
    "Balance",
    "BilevelProgram",
    "BilevelSolution",
    "BudgetExceededError",
    "Case",
    "Conflict",
    "CostOfPrivacy",
    "DistanceBound",
    "FileFormatError",
    "Finding",
    "Follower",
    "FollowerOutcome",
    "GameSolution",
    "InputError",
    "LaplaceMechanism",
    "Ledger",
    "LedgerError",
    "LinearProgram",
    "Method",
    "ModelError",
    "NoValidBoundError",
    "PpsmError",
    "PrivacyError",
    "Receipt",
    "ReleaseRecord",
    "Released",
    "SecretExposureError",
    "Sensitive",
    "SolverError",
    "StackelbergGame",
    "Status",
    "Verification",
    "__version__",
    "audit_laplace",
    "audit_mechanism",
    "cost_of_privacy",
    "load_case",
    "read_bilevel",
    "require_released",
    "solve_bilevel",
    "verify",
]

# A name is loaded when it is first asked for: solvers and modelling libraries take a second, and who reads a
# case or a ledger needs none of them.
_NAMES = {
    "ppsm.bilevel.files.exchange": ("read_bilevel",),
    "ppsm.bilevel.solution": (
        "BilevelSolution",
        "Method",
    ),
    "ppsm.bilevel.solve": ("solve_bilevel",),
    "ppsm.cases.schema": (
        "Case",
        "load_case",
    ),
    "ppsm.errors": (
        "AuditFailedError",
        "BudgetExceededError",
        "FileFormatError",
        "InputError",
        "LedgerError",
        "ModelError",
        "NoValidBoundError",
        "PpsmError",
        "PrivacyError",
        "SecretExposureError",
        "SolverError",
    ),
    "ppsm.games.follower": (
        "Follower",
        "FollowerOutcome",
    ),
    "ppsm.bilevel.verify": (
        "Finding",
        "Verification",
        "verify",
    ),
    "ppsm.privacy": (
        "AuditReport",
        "Balance",
        "LaplaceMechanism",
        "Ledger",
        "Receipt",
        "Released",
        "ReleaseRecord",
        "Sensitive",
        "audit_laplace",
        "audit_mechanism",
        "require_released",
    ),
    "ppsm.program": (
        "BilevelProgram",
        "LinearProgram",
    ),
    "ppsm.solvers.conflict": ("Conflict",),
    "ppsm.games.stackelberg": (
        "GameSolution",
        "StackelbergGame",
    ),
    "ppsm.status": ("Status",),
    "ppsm.theory": (
        "CostOfPrivacy",
        "DistanceBound",
        "cost_of_privacy",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'ppsm' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
