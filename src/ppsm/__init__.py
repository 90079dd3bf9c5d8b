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
from ppsm.game.follower import Follower, FollowerOutcome
from ppsm.game.verify import Finding, Verification, verify
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.conflict import Conflict
from ppsm.stackelberg import GameSolution, StackelbergGame
from ppsm.status import Status

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
