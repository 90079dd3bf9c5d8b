"""The tuning numbers of the mechanism: what predictors learn from, and how far bands may open."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class MechanismTuning:
    """What no argument of a mechanism or predictor says."""

    # Folds of the cross-validation of a learned predictor.
    folds: int = 5
    # Strengths of shrinkage from which the regression of a learned predictor chooses.
    ridge_strengths: tuple[float, ...] = tuple(np.logspace(-3, 5, 25).tolist())
    # Days that a history must have to be learned from.
    least_days: int = 10
    # Invented days that cannot be served are drawn again, this many times as often as days are asked for.
    most_draws: int = 20
    # Past releases that agree more closely than this share of their mean are not believed to.
    least_prior_spread: float = 0.01
    # Bands are widened by at most this to see whether a vector satisfies them, and the least such factor is
    # found this closely.
    most_widening: float = 1e12
    widening_ratio: float = 1.01
    # Seconds for each side of what encloses the leader's optimum over the bands.
    band_game_seconds: float = 10.0


TUNING = MechanismTuning()
