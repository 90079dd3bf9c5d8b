"""The mechanism end to end: five steps between two parties, over any game of the package.

::

    mechanisms            PPSM_p and PPSM: the five steps in order
    first_step            Laplace: step 1, all that sees the secret; and the Release that all return
    steps                 steps 2a to 3b one by one, and what is done where bands cannot be met
    coordination          what they ask of a game (two are in ppsm.coordinations), Decision, Outcome
    predictors, learned   the models of steps 2a and 3a: PublicOutcome, ModelBased, Learned
    history               what Learned learns from
    published_cost        step 2c: what the cost of a published decision says about the demand
    prior                 public knowledge about the entries
    dossier               how a release came about, public parts only
    guarantees, theory    what theory says of a release, and the theorems themselves
    band_game             what encloses the leader's cost for all vectors in the bands
    tuning                the numbers that steer the steps
"""

from ppsm.mechanism.coordination import Coordination, Decision, FollowerSide, Outcome
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.first_step import Laplace, Release
from ppsm.mechanism.history import History, InventedDays, invent_days
from ppsm.mechanism.learned import Learned
from ppsm.mechanism.mechanisms import MECHANISMS, PPSM, PPSM_p
from ppsm.mechanism.predictors import ModelBased, Prediction, Predictor, PublicOutcome
from ppsm.mechanism.prior import PublicPrior

__all__ = [
    "MECHANISMS",
    "PPSM",
    "Coordination",
    "Decision",
    "Dossier",
    "FollowerSide",
    "History",
    "InventedDays",
    "Laplace",
    "Learned",
    "ModelBased",
    "Outcome",
    "PPSM_p",
    "Prediction",
    "Predictor",
    "PublicOutcome",
    "PublicPrior",
    "Release",
    "invent_days",
]
