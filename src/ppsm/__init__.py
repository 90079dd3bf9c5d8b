"""ppsm: privacy-preserving coordination of markets.

A leader and a follower act in turn; the follower's data are secret and its prices feed back. What one needs
first is here::

    Follower, StackelbergGame                   an LP with a parameter, and a leader who anticipates it
    LinearProgram, BilevelProgram               the same in arrays
    solve_bilevel, read_bilevel, verify         solve a game exactly, read one from files, check an answer
    Status                                      how much an answer is worth
    Sensitive, LaplaceMechanism, Released       the secret, the noise, what may travel
    Ledger, audit_mechanism                     budgets charged before a release; evidence against a claim
    PPSM, PPSM_p, Laplace                       the mechanisms, five steps in one call
    GameCoordination, GaucCoordination          what they run on: any game, gas-aware unit commitment
    ModelBased, Learned, PublicOutcome          where steps 2a and 3a have their predictions from
    restore                                     step 3b alone
    load_case                                   gas and power markets as tables
    PpsmError                                   the root of all errors of ours (ppsm.errors)

The rest is in the package of its topic::

    ppsm.bilevel, ppsm.games        how games are solved, and how they are written
    ppsm.privacy                    all that touches the secret
    ppsm.fidelity                   the search of step 3b
    ppsm.mechanism                  the paper: steps, predictors, prior, dossier, theory
    ppsm.coordinations              the games that the mechanism runs on
    ppsm.owner                      the owner's side of a release
    ppsm.streams                    a release every day
    ppsm.cases, ppsm.markets        tables of gas and power; their markets and game
    ppsm.experiments, ppsm.figures  grids of runs, tables and pages; pictures
    ppsm.examples                   three small games
"""

import logging
from typing import TYPE_CHECKING

from ppsm.front_door import front_door

if TYPE_CHECKING:
    from ppsm.bilevel.files.exchange import read_bilevel
    from ppsm.bilevel.solve import solve_bilevel
    from ppsm.bilevel.verify import verify
    from ppsm.cases.schema import load_case
    from ppsm.coordinations import GameCoordination, GaucCoordination
    from ppsm.errors import PpsmError
    from ppsm.fidelity import restore
    from ppsm.games.follower import Follower
    from ppsm.games.stackelberg import StackelbergGame
    from ppsm.mechanism import PPSM, Laplace, Learned, ModelBased, PPSM_p, PublicOutcome
    from ppsm.privacy import LaplaceMechanism, Ledger, Released, Sensitive, audit_mechanism
    from ppsm.program import BilevelProgram, LinearProgram
    from ppsm.status import Status

__version__ = "0.1.0"

# As libraries do: modules log below "ppsm", and whoever wants to see it says where to.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "PPSM",
    "BilevelProgram",
    "Follower",
    "GameCoordination",
    "GaucCoordination",
    "Laplace",
    "LaplaceMechanism",
    "Learned",
    "Ledger",
    "LinearProgram",
    "ModelBased",
    "PPSM_p",
    "PpsmError",
    "PublicOutcome",
    "Released",
    "Sensitive",
    "StackelbergGame",
    "Status",
    "__version__",
    "audit_mechanism",
    "load_case",
    "read_bilevel",
    "restore",
    "solve_bilevel",
    "verify",
]

__getattr__, __dir__ = front_door(
    __name__,
    {
        "bilevel.files.exchange": ("read_bilevel",),
        "bilevel.solve": ("solve_bilevel",),
        "bilevel.verify": ("verify",),
        "cases.schema": ("load_case",),
        "coordinations": ("GameCoordination", "GaucCoordination"),
        "errors": ("PpsmError",),
        "fidelity": ("restore",),
        "games.follower": ("Follower",),
        "games.stackelberg": ("StackelbergGame",),
        "mechanism": ("PPSM", "Laplace", "Learned", "ModelBased", "PPSM_p", "PublicOutcome"),
        "privacy": ("LaplaceMechanism", "Ledger", "Released", "Sensitive", "audit_mechanism"),
        "program": ("BilevelProgram", "LinearProgram"),
        "status": ("Status",),
    },
)
