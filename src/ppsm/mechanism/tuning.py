"""The tuning numbers of the mechanism: what predictors learn from, and how far bands may open."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class MechanismTuning:
    """What no argument of a mechanism or predictor says.

    Attributes
    ----------
    folds
        Of the cross-validation of a learned predictor.
    ridge_strengths
        Of the shrinkage, from which the regression of a learned predictor chooses.
    least_days
        That a history must have to be learned from.
    most_draws
        Invented days that cannot be served are drawn again, this many times as often as days are asked for.
    least_prior_spread
        Past releases that agree more closely than this share of their mean are not believed to.
    widening_ratio
        How closely such a factor is found.
    band_game_seconds
        For each side of what encloses the leader's optimum over the bands.
    most_widening
        By which bands are widened at most to see whether a vector satisfies them.
    """

    folds: int = 5
    ridge_strengths: tuple[float, ...] = tuple(np.logspace(-3, 5, 25).tolist())
    least_days: int = 10
    most_draws: int = 20
    least_prior_spread: float = 0.01
    widening_ratio: float = 1.01
    band_game_seconds: float = 10.0
    most_widening: float = 1e12


TUNING = MechanismTuning()
