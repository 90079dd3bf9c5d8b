"""The tuning numbers of the coordinations: how exactly, and for how long, a decision is sought."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CoordinationTuning:
    """What steers step 2b and the clearing of invented days; no result is wrong for another choice.

    Attributes
    ----------
    inconsistency
        Share of the follower's value by which a decision of a game may be less consistent with the prices
        than the best one.
    violation_weight
        A violated row of a game's leader weighs this many times the largest price.
    rounding
        What a solve of step 2b may be off by, where the next one must allow what it found.
    price_rounding
        Share of the largest cost below which a price or reduced cost counts as zero: published ones are
        rounded.
    decision_seconds
        For each solve of step 2b.
    decision_gap
        Of unit commitment in step 2b, which is a prediction.
    decision_feasibility
        By which rows of that unit commitment may be violated.
    far_numbers
        An estimate that leaves solvers without an answer is cut off at this many times the largest bound,
        or at this where all bounds are zero or infinite.
    nearest_gap
        Of the game that finds the nearest vector at which the leader has an answer.
    nearest_seconds
        For all of that: two searches, and playing with what they find.
    nearest_weights
        Entries that are known better than this many times the weight of the others are not told apart.
    nearest_margin, nearest_share
        How far that vector stays away from where prices jump: by the first share of the noise's scale, and by
        no more than the second of the largest entry.
    nearest_digits
        The game must still have an answer where somebody writes down so many digits of it.
    tight
        What a side may be away from, beside its size, to count as tight.
    cheaper_day_seconds
        Of the processor, for each look for a day that is cheaper than a published one: beyond what its turns
        take.
    day_gap, day_seconds
        Of clearing an invented day: its outcome counts, not its proof.
    history_days
        Of an invented past: a year, at less than 10 ms a day once the first one is cleared.
    """

    inconsistency: float = 0.02
    violation_weight: float = 1e3
    rounding: float = 1e-9
    price_rounding: float = 1e-4
    decision_seconds: float = 60.0
    decision_gap: float = 0.01
    decision_feasibility: float = 1e-7
    far_numbers: float = 1e9
    nearest_gap: float = 1e-4
    nearest_seconds: float = 120.0
    nearest_weights: float = 1e6
    nearest_margin: float = 0.01
    nearest_share: float = 1e-4
    nearest_digits: int = 7
    tight: float = 1e-7
    cheaper_day_seconds: float = 300.0
    day_gap: float = 0.01
    day_seconds: float = 60.0
    history_days: int = 365


TUNING = CoordinationTuning()
