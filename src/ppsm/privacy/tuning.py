"""The numbers of this room that decide nothing about privacy: how audits look, which splits are looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PrivacyTuning:
    """How a split is chosen, and how audits search: their bound is sound for any choice."""

    # Shares of epsilon for the total, of which one is chosen: the product of errors is flat around its least
    # value, and a fifth stays with the entries.
    shares: tuple[float, ...] = tuple(round(0.05 * step, 2) for step in range(17))
    # Bounds fewer scales of the noise apart than this: the first term of a series is exact enough.
    narrow: float = 1e-3
    # How long to wait for other processes that write to a ledger.
    ledger_wait_s: float = 10.0
    # What SQLite may keep of a ledger in memory.
    ledger_cache_kb: int = 256
    # Days that a budget's window may have, a hundred years: each charge adds up all windows around its day,
    # and nobody else can charge meanwhile.
    longest_window: int = 36_525
    # Runs of a mechanism between two calls of ``progress``.
    rows_at_once: int = 500
    # Cells of a histogram, without the finer ones at both ends.
    quantiles: int = 64
    # Exact values that come up at least so often, and at most so many of them, get cells of their own.
    atom_count: int = 5
    most_atoms: int = 16
    # Shares of the runs that fit histograms and that pick events; all others measure. Fitting and picking are
    # kept apart for power, not for soundness: a histogram flatters itself on the runs it was fitted to.
    fit: float = 0.15
    pick: float = 0.15
    # So many statistics are tried where there are more.
    most_statistics: int = 200
    # The penalty on the squared weights of the regression, without which it fits what is chance, and Newton's
    # steps.
    ridge: float = 10.0
    regression_steps: int = 8
    # Two draws closer than this (in scales) count as the same number, unless floats themselves are coarser.
    finest_resolution: float = 1e-13
    # Values at the end of the range that make up this share of all were put there by clipping.
    clipped_share: float = 0.02
    # Steps of a grid that outputs may lie on: more of them than this are just floats.
    most_steps: float = 1e8
    # Noise this far off its claimed scale is brought to scale before independence is tested: a wrong size is
    # found by other checks and must not be taken for dependence.
    largely_off: float = 1.25


TUNING = PrivacyTuning()
