"""The mechanism end to end: five steps between two parties, over any game of the package.

::

    Laplace, PPSM_p, PPSM, Release        the mechanisms, and what they return
    Coordination, Decision, Outcome       what they ask of a game (two are in ppsm.coordinations)
    PublicOutcome, ModelBased, Learned    the models of steps 2a and 3a
    History, InventedDays, invent_days    what Learned learns from
    PublicPrior                           public knowledge about the entries
    Dossier                               how a release came about, public parts only
"""

from ppsm.mechanism.coordination import Coordination, Decision, Outcome
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.history import History, InventedDays, invent_days
from ppsm.mechanism.learned import Learned
from ppsm.mechanism.mechanisms import MECHANISMS, PPSM, Laplace, PPSM_p, Release
from ppsm.mechanism.predictors import ModelBased, Prediction, Predictor, PublicOutcome
from ppsm.mechanism.prior import PublicPrior

__all__ = [
    "MECHANISMS",
    "PPSM",
    "Coordination",
    "Decision",
    "Dossier",
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
