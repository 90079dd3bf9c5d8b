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
    # So many ever cheaper days are looked for where no vector keeps the first ones out.
    cost_days: int = 3
    # So many times that share dearer is far out.
    cost_far: float = 10.0
    # Of a day with other prices more is asked for, by this share: many others are like it.
    cost_margin: float = 0.03
    # Rounds of half-spaces that keep it, steps uphill to find one, and steps down from there.
    cost_rounds: int = 20
    cost_climbs: int = 6
    cost_descents: int = 8
    # No further one is looked for after so many seconds of the processor: far more than rounds take.
    cost_search_seconds: float = 120.0
    # What a move of a rounded price weighs beside a reduced cost that it leaves: little.
    price_move: float = 1e-3
    # Nodes and searches of step 3b within half-spaces, which are a wish: what the most promising search does
    # not find or refute takes others far longer. With a price band it may end at once, without a point.
    cost_nodes: int = 100
    cost_searches: int = 1
    cost_searches_by_prices: int = 2
    # Nodes for what a search begins with.
    first_nodes: int = 8


TUNING = MechanismTuning()
