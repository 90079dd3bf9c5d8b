"""The tuning numbers of the mechanism: what predictors learn from, how far bands open, how a cost is kept."""

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
    # A published cost counts as kept if a day is cheaper by no more than this share of it, and two costs as
    # equal if they differ by no more than the second.
    cost_slack: float = 3e-4
    cost_rounding: float = 1e-6
    # Of a day with other prices more is asked for, by this share: many others are like it.
    cost_margin: float = 0.03
    # Half-spaces that keep it, steps uphill to find one, and halvings of the last step.
    cost_rounds: int = 16
    cost_climbs: int = 6
    cost_halvings: int = 6
    # No further one is looked for after so many seconds of the processor, however busy the machine is.
    cost_search_seconds: float = 60.0
    # What a move of a rounded price weighs beside a reduced cost that it leaves: little.
    price_move: float = 1e-3
    # Seconds for a search within half-spaces: they are a wish, and an empty one may take long to show.
    cost_seconds: float = 3.0


TUNING = MechanismTuning()
