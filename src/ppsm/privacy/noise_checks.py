"""Check whether additive noise looks like fresh, independent Laplace noise of the claimed scale.

Bounds on epsilon see one pair of inputs and one run at a time. They miss noise that repeats between runs, and
need many runs to see tails that end. Here the noise itself is tested. Every p-value is exact or an upper
bound at any sample size (but for a Poisson limit in the count of repeats), so an honest mechanism fails no
more often than stated.

The noise is divided by its claimed scale, so that honest noise is standard Laplace.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray

# Two draws closer than this (in scales) count as the same number, unless floats themselves are coarser.
FINEST_RESOLUTION = 1e-13


@dataclass(frozen=True)
class NoiseCheck:
    """The outcome of one check of the noise.

    Attributes
    ----------
    name
        What was checked.
    p_value
        An upper bound on the probability that honest noise looks this odd.
    threshold
        The p-value below which the check fails.
    meaning
        What a failure points to.
    """

    name: str
    p_value: float
    threshold: float
    meaning: str

    @property
    def passes(self) -> bool:
        """Whether honest noise could plausibly look like this."""
        return self.p_value >= self.threshold


def check_noise(
    first: FloatArray, second: FloatArray, failure: float, resolution: float = FINEST_RESOLUTION
) -> tuple[NoiseCheck, ...]:
    """Check standardised noise drawn for two inputs, one run per row.

    Parameters
    ----------
    first, second
        The noise in units of its claimed scale.
    failure
        The probability that honest noise may fail any check at all.
    resolution
        The distance below which two draws count as the same number.
    """
    threshold = failure / (len(_CHECKS) + 1)
    fresh = NoiseCheck(
        "freshness",
        _freshness(first, second, resolution),
        threshold,
        "noise is used twice: a re-used seed, shared entries or clamped values",
    )
    others = [
        NoiseCheck(name, min(1.0, check(first, second)), threshold, meaning)
        for name, check, meaning in _CHECKS
    ]
    return (*others, fresh)


def laplace_cdf(noise: FloatArray) -> FloatArray:
    """Return the distribution function of standard Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(noise))
    return np.where(noise < 0, tail, 1.0 - tail)


def _distribution(first: FloatArray, second: FloatArray) -> float:
    """Test by Kolmogorov and Smirnov per entry and input.

    The p-value is the bound of Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
    """
    columns = np.hstack([first, second])
    runs = len(columns)
    expected = laplace_cdf(np.sort(columns, axis=0))
    steps = np.arange(runs + 1)[:, None] / runs
    distance = max(float((steps[1:] - expected).max()), float((expected - steps[:-1]).max()))
    return 2.0 * int(columns.shape[1]) * math.exp(-2.0 * runs * distance**2)


def _scale(first: FloatArray, second: FloatArray) -> float:
    """Test the sum of sizes, which is Gamma distributed: exact and two-sided."""
    from scipy.stats import gamma  # here and below: it takes a second to load

    sizes = np.abs(np.concatenate([first.ravel(), second.ravel()]))
    total = float(sizes.sum())
    return 2.0 * min(float(gamma.cdf(total, sizes.size)), float(gamma.sf(total, sizes.size)))


def _tails(first: FloatArray, second: FloatArray) -> float:
    """Test the largest of n sizes, which stays below m with probability ``(1 - exp(-m))**n``: exact."""
    sizes = np.abs(np.concatenate([first.ravel(), second.ravel()]))
    largest = float(sizes.max())
    log_below = sizes.size * math.log1p(-math.exp(-largest)) if largest > 0 else -math.inf
    return 2.0 * min(math.exp(log_below), -math.expm1(log_below))


def _freshness(first: FloatArray, second: FloatArray, resolution: float) -> float:
    """Count sizes of noise that occur twice anywhere; honest noise almost never repeats itself.

    Two independent sizes share a cell of width w with probability w / 2, and so n of them repeat about
    ``n**2 w / 4`` times, with a count that is Poisson but for an error of order ``n**3 w**2``.
    """
    from scipy.stats import poisson

    sizes = np.abs(np.concatenate([first.ravel(), second.ravel()]))
    cells = np.sort(np.floor(sizes / resolution))
    repeats = int((np.diff(cells) == 0).sum())
    return float(poisson.sf(repeats - 1, sizes.size**2 * resolution / 4.0))


def _independent_entries(first: FloatArray, second: FloatArray) -> float:
    """Test correlations between entries of the same run."""
    worst, pairs = 0.0, 0
    for scores in (*_scores(first), *_scores(second)):
        products = scores.T @ scores / len(scores)
        above = products[np.triu_indices(scores.shape[1], k=1)]
        worst = max(worst, float(np.abs(above).max(initial=0.0)))
        pairs += above.size
    return pairs * _correlation_p_value(worst, len(first)) if pairs else 1.0


def _independent_runs(first: FloatArray, second: FloatArray) -> float:
    """Test correlations between one run and the next, and between the same run on either input."""
    worst, pairs = 0.0, 0
    for a, b in zip(_scores(first), _scores(second), strict=True):
        for earlier, later in ((a[:-1], a[1:]), (b[:-1], b[1:]), (a[1:], b[1:])):
            products = (earlier * later).mean(axis=0)
            worst = max(worst, float(np.abs(products).max()))
            pairs += products.size
    return pairs * _correlation_p_value(worst, len(first) - 1)


def _scores(noise: FloatArray) -> Iterator[FloatArray]:
    """Yield noise mapped to uniform numbers in [-1, 1]: once with its sign, once its size alone."""
    signed = 2.0 * laplace_cdf(noise) - 1.0
    yield signed
    yield 2.0 * np.abs(signed) - 1.0


def _correlation_p_value(mean_product: float, runs: int) -> float:
    """Bernstein's inequality for the mean of products of two independent uniform scores (variance 1/9).

    Products of neighbouring runs are dependent, yet form a martingale difference sequence with the same
    conditional variance bound of 1/3, for which Freedman's version of the inequality holds; that larger
    variance is used.
    """
    exponent = runs * mean_product**2 / 2.0 / (1.0 / 3.0 + mean_product / 3.0)
    return 2.0 * math.exp(-exponent)


_CHECKS: tuple[tuple[str, Callable[[FloatArray, FloatArray], float], str], ...] = (
    ("distribution", _distribution, "the noise is not Laplace of the claimed scale"),
    ("scale", _scale, "the noise is too small or too large"),
    ("tails", _tails, "large noise is cut off, or far too large"),
    ("independent entries", _independent_entries, "entries share their noise"),
    ("independent runs", _independent_runs, "one run's noise tells of another's"),
)
