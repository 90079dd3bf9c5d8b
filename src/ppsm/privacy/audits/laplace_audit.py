"""Audits of Laplace noise: bounds on epsilon, and whether noise is what it claims, fresh and independent.

Only what can leak is a fault. Noise that is larger than claimed is safe, and so is whatever happens to the
noisy value afterwards; rounding and clipping are therefore recognised (:class:`Treatment`) and allowed for.
What fails is noise that is too small, whose tails end, that is shared between entries, or that comes back.

Honest noise, divided by its claimed scale, is standard Laplace: its sizes are exponential, and so are the
parts of sizes beyond any threshold. Every p-value is exact or an upper bound at any sample size (but for a
Poisson limit in the count of repeats), so honest noise fails no more often than stated.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.privacy.audits.events import lower_bounds
from ppsm.privacy.audits.mechanism_audit import (
    DEFAULT_CONFIDENCE,
    AuditReport,
    Mechanism,
    NoiseCheck,
    Progress,
    checked,
    collect,
)
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.record import integer, positive_number
from ppsm.privacy.tuning import TUNING


def audit_laplace(
    mechanism: Mechanism | LaplaceMechanism,
    *,
    alpha: float,
    epsilon: float,
    samples: int,
    dimension: int = 2,
    confidence: float = DEFAULT_CONFIDENCE,
    batched: bool = False,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit a mechanism that claims independent Laplace noise on each entry, of at least ``alpha / epsilon``.

    What is done to the noisy values afterwards, such as rounding or clipping, is no leak and no fault.

    The inputs are zero everywhere, and the same with one entry at ``alpha``: for additive noise every pair of
    adjacent inputs is alike, and this one sets zero, where floats are densest, against a rounder number. Half
    of the allowed failure probability goes to the bounds on epsilon, half to the checks of the noise. The
    other parameters are those of :func:`audit_mechanism`.
    """
    alpha, epsilon = positive_number(alpha, "alpha"), positive_number(epsilon, "epsilon")
    if integer(dimension, "dimension") < 1:
        raise InputError(f"dimension is {dimension}, expected at least one: pass a larger one.")
    if isinstance(mechanism, LaplaceMechanism):
        mechanism, batched = mechanism.perturb_public, True
    failure = (1.0 - checked(samples, confidence)) / 2.0
    inputs = np.zeros((2, dimension))
    inputs[1, 0] = alpha
    outputs = [collect(mechanism, each, samples, batched, progress) for each in inputs]
    for each in outputs:
        if each.shape[1] != dimension:
            raise InputError(
                f"The mechanism returned {each.shape[1]} numbers for {dimension}, expected noise on every "
                "entry: use audit_mechanism() for mechanisms of another shape."
            )
    families = lower_bounds(outputs[0], outputs[1], failure)
    checks = check_outputs(outputs, inputs, alpha / epsilon, failure)
    return AuditReport(
        claimed_epsilon=epsilon,
        confidence=confidence,
        samples=samples,
        families=families,
        noise_checks=checks,
    )


@dataclass(frozen=True)
class Treatment:
    """What was done to noisy values afterwards, as far as it shows: rounded to a grid, clipped to a range."""

    step: float = 0.0
    lowest: float = -math.inf
    highest: float = math.inf

    @classmethod
    def of(cls, outputs: FloatArray) -> "Treatment":
        """What shows in all outputs together."""
        values, counts = np.unique(outputs, return_counts=True)
        often = counts >= max(2.0, TUNING.clipped_share * outputs.size)
        step = _grid_step(values)
        # On a coarse grid every value is frequent: ends count as clipped if they are more so than the next.
        low = often[0] and (len(values) < 2 or counts[0] > counts[1])
        high = often[-1] and (len(values) < 2 or counts[-1] > counts[-2])
        return cls(step, values[0] if low else -math.inf, values[-1] if high else math.inf)

    @property
    def none(self) -> bool:
        """Whether nothing shows."""
        return self == Treatment()


def _grid_step(values: FloatArray) -> float:
    """The step of the grid on which sorted distinct values lie; zero where there is none."""
    if len(values) < 2:
        return 0.0
    span = float(values[-1] - values[0])
    count = np.round(span / float(np.diff(values).min()))
    if not count < TUNING.most_steps:
        return 0.0
    # The least gap has lost digits; the span has not.
    step = span / float(count)
    steps = (values - values[0]) / step
    return step if np.abs(steps - np.round(steps)).max() < 1e-3 else 0.0


@dataclass(frozen=True)
class Noise:
    """The noise on one input, in units of its claimed scale, and what of it can be tested.

    ``low`` and ``high`` are where clipping begins for each entry, and ``step`` that of the grid.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    step: float

    @classmethod
    def of(cls, outputs: FloatArray, point: FloatArray, scale: float, treatment: Treatment) -> "Noise":
        """What was added to a point."""
        return cls(
            values=(outputs - point) / scale,
            low=(treatment.lowest - point) / scale,
            high=(treatment.highest - point) / scale,
            step=treatment.step / scale,
        )

    @property
    def sizes(self) -> Iterator[FloatArray]:
        """For each entry, sizes that are exponential if the noise is honest, or larger if it was rounded.

        Where one side is clipped the other is used: beyond a threshold t, ``size - t`` is exponential again.
        """
        for column, low, high in zip(self.values.T, self.low, self.high, strict=True):
            sides = []
            if high == math.inf:
                sides.append(self._beyond(column, max(0.0, low)))
            if low == -math.inf:
                sides.append(self._beyond(-column, max(0.0, -high)))
            yield np.concatenate([np.empty(0), *sides])

    def _beyond(self, column: FloatArray, threshold: float) -> FloatArray:
        start = threshold + self.step
        return column[column > start] - start + self.step


def check_outputs(
    outputs: Sequence[FloatArray], inputs: FloatArray, scale: float, failure: float
) -> tuple[NoiseCheck, ...]:
    """Check what a mechanism returned for two inputs, one run per row.

    Parameters
    ----------
    outputs, inputs
        The runs on either input, and the inputs.
    scale
        The claimed scale of the noise.
    failure
        The probability that honest noise may fail any check at all.
    """
    treatment = Treatment.of(np.concatenate(outputs))
    # Noise cannot be told apart more finely than the floats that carry it.
    spacing = 4.0 * float(np.spacing(np.abs(outputs).max())) / scale
    noise = [Noise.of(each, point, scale, treatment) for each, point in zip(outputs, inputs, strict=True)]
    return check_noise(noise[0], noise[1], failure, max(TUNING.finest_resolution, spacing))


def check_noise(
    first: Noise, second: Noise, failure: float, resolution: float = TUNING.finest_resolution
) -> tuple[NoiseCheck, ...]:
    """Check the noise drawn for two inputs.

    ``failure`` is the probability that honest noise may fail any check, ``resolution`` the distance below
    which two draws count as the same number.
    """
    sizes = [*first.sizes, *second.sizes]
    pooled = np.concatenate(sizes)
    pair = _to_scale(first.values, second.values)
    mean = float(pooled.mean()) if pooled.size else math.nan
    found: tuple[tuple[str, float, str], ...] = (
        ("scale", _scale(pooled), f"the noise is too small, about {mean:.2f} of the claimed scale"),
        (
            "distribution",
            _distribution(sizes),
            "the noise is more often small than Laplace of the claimed scale",
        ),
        ("tails", _tails(pooled), "large noise is cut off"),
        ("independent entries", _independent_entries(*pair), "entries share their noise"),
        ("independent runs", _independent_runs(*pair), "one run's noise tells of another's"),
        (
            "freshness",
            _freshness(first, second, resolution),
            "noise is used twice: a re-used seed or shared entries",
        ),
    )
    threshold = failure / len(found)
    return tuple(NoiseCheck(name, min(1.0, value), threshold, meaning) for name, value, meaning in found)


def laplace_cdf(noise: FloatArray) -> FloatArray:
    """Return the distribution function of standard Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(noise))
    return np.where(noise < 0, tail, 1.0 - tail)


def _scale(sizes: FloatArray) -> float:
    """Test whether the sum of sizes, which is Gamma distributed, is too small: exact."""
    from scipy.stats import gamma  # here and below: it takes a second to load

    return float(gamma.cdf(float(sizes.sum()), sizes.size)) if sizes.size else 1.0


def _distribution(columns: Sequence[FloatArray]) -> float:
    """Test by Kolmogorov and Smirnov, one-sided, per entry and input, whether sizes are too small too often.

    The p-value is the bound of Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
    """
    best = 1.0
    for sizes in columns:
        runs = len(sizes)
        if runs:
            share = np.arange(1, runs + 1) / runs
            excess = max(0.0, float((share + np.expm1(-np.sort(sizes))).max()))
            best = min(best, math.exp(-2.0 * runs * excess**2))
    return best * len(columns)


def _tails(sizes: FloatArray) -> float:
    """Test whether the largest of n sizes, below m with probability ``(1 - exp(-m))**n``, is small: exact."""
    largest = float(sizes.max(initial=0.0))
    if not sizes.size:
        return 1.0
    return math.exp(sizes.size * math.log1p(-math.exp(-largest))) if largest > 0 else 0.0


def _freshness(first: Noise, second: Noise, resolution: float) -> float:
    """Count noise that occurs twice; honest noise almost never repeats itself.

    Two independent sizes share a cell of width w with probability w / 2, and so n of them repeat about
    ``n**2 w / 4`` times, with a count that is Poisson but for an error of order ``n**3 w**2``. On a grid
    single numbers do repeat, so whole runs are compared; clipped values repeat anyway and prove nothing.
    """
    from scipy.stats import poisson

    clipped = any(np.isfinite(bound).any() for each in (first, second) for bound in (each.low, each.high))
    if clipped:
        return 1.0
    if first.step:
        return _repeated_runs(first, second)
    sizes = np.abs(np.concatenate([first.values.ravel(), second.values.ravel()]))
    cells = np.sort(np.floor(sizes / resolution))
    repeats = int((np.diff(cells) == 0).sum())
    return float(poisson.sf(repeats - 1, sizes.size**2 * resolution / 4.0))


def _repeated_runs(first: Noise, second: Noise) -> float:
    """Bound by Markov the probability of so many repeated runs on a grid.

    No value of the grid is likelier than half a step.
    """
    cells = np.round(np.concatenate([first.values, second.values]) / first.step)
    repeats = len(cells) - len(np.unique(cells, axis=0))
    expected = len(cells) ** 2 / 2.0 * min(1.0, first.step / 2.0) ** cells.shape[1]
    return min(1.0, expected / repeats) if repeats else 1.0


def _to_scale(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide noise that is largely off its claimed scale by its own, which its median tells."""
    own = float(np.median(np.abs(np.concatenate([first, second])))) / math.log(2.0)
    if own == 0 or 1.0 / TUNING.largely_off <= own <= TUNING.largely_off:
        return first, second
    return first / own, second / own


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
    """Yield noise mapped to numbers in [-1, 1]: once with its sign, once its size alone, each less its mean.

    Without the means noise of another shape, which may be safe, would seem to depend on itself.
    """
    signed = 2.0 * laplace_cdf(noise) - 1.0
    for scores in (signed, 2.0 * np.abs(signed) - 1.0):
        yield scores - scores.mean(axis=0)


def _correlation_p_value(mean_product: float, runs: int) -> float:
    """Bound the probability of a mean product of centred scores, which are uniform where noise is honest.

    Without centring, Bernstein's inequality holds for products of independent scores (variance 1/9). Products
    of neighbouring runs are dependent, yet form a martingale difference sequence with the same conditional
    variance bound of 1/3, for which Freedman's version of the inequality holds; that larger variance is used.
    Centring moves the mean product by the product of two means, which exceeds s with a probability of at most
    ``4 exp(-runs s / 2)`` (Hoeffding), for any s.
    """
    bounds: list[float] = []
    for share in (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4):
        moved = share * mean_product
        left = mean_product - moved
        exponent = runs * left**2 / 2.0 / (1.0 / 3.0 + left / 3.0)
        bounds.append(2.0 * math.exp(-exponent) + 4.0 * math.exp(-runs * moved / 2.0))
    return min(bounds)
