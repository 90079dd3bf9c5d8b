"""ppsm: privacy-preserving coordination of markets.

A leader and a follower act in turn; the follower's data are secret and its prices feed back. The names below
are the whole public interface::

    Follower, FollowerOutcome                   an LP whose right-hand side moves with a parameter
    StackelbergGame, GameSolution               a leader who anticipates it, written with linopy
    LinearProgram, BilevelProgram               the same in arrays
    solve_bilevel, BilevelSolution, Method      solve it exactly
    Status, Conflict                            how much an answer is worth, why there is none
    verify, Verification, Finding               the independent check
    read_bilevel                                the exchange format of the instance libraries
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ppsm.bilevel.exchange import read_bilevel
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import (
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
from ppsm.game.verify import Finding, Verification, verify
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.conflict import Conflict
from ppsm.status import Status

if TYPE_CHECKING:
    from ppsm.game.follower import Follower, FollowerOutcome
    from ppsm.stackelberg import GameSolution, StackelbergGame

__version__ = "0.1.0"

__all__ = [
    "BilevelProgram",
    "BilevelSolution",
    "BudgetExceededError",
    "Conflict",
    "FileFormatError",
    "Finding",
    "Follower",
    "FollowerOutcome",
    "GameSolution",
    "InputError",
    "LedgerError",
    "LinearProgram",
    "Method",
    "ModelError",
    "NoValidBoundError",
    "PpsmError",
    "PrivacyError",
    "SecretExposureError",
    "SolverError",
    "StackelbergGame",
    "Status",
    "Verification",
    "__version__",
    "read_bilevel",
    "solve_bilevel",
    "verify",
]

# These need linopy, whose import takes as long as all the rest; files and arrays do without it.
_ON_DEMAND = {
    "Follower": "ppsm.game.follower",
    "FollowerOutcome": "ppsm.game.follower",
    "GameSolution": "ppsm.stackelberg",
    "StackelbergGame": "ppsm.stackelberg",
}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name]), name)
    raise AttributeError(f"module 'ppsm' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
