"""Audits: run a mechanism on neighbouring inputs and look for evidence against its claim.

An audit can disprove privacy, never prove it: a passed audit says that this many runs on this pair of inputs
show no larger loss at the stated confidence. An honest mechanism fails with a probability of at most ``1 -
confidence``, over all checks together; see :mod:`ppsm.privacy.events` for why choosing events on the data
does not spoil that.

Where a mechanism claims additive Laplace noise, the noise itself is tested too. Bounds on epsilon see one
pair of inputs and one run at a time: they miss noise that repeats between runs, and need many runs to see
tails that end. Every p-value of these checks is exact or an upper bound at any sample size (but for a Poisson
limit in the count of repeats), so an honest mechanism fails no more often than stated. The noise is divided
by its claimed scale, so that honest noise is standard Laplace.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray
from ppsm.errors import AuditFailedError, InputError
from ppsm.privacy.events import FamilyBound, lower_bounds
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.record import integer, positive_number

Mechanism = Callable[[FloatArray], ArrayLike]
Progress = Callable[[int], None]

LEAST_SAMPLES = 200
DEFAULT_CONFIDENCE = 0.999
_ROWS_AT_ONCE = 500
# Outputs that are no numbers are outcomes like any other: they go where no honest number is.
_NOT_A_NUMBER, _INFINITE = 1e150, 1e149
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


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    claimed_epsilon
        The loss that the mechanism claims not to exceed between the two inputs.
    epsilon_lower_bound
        The true loss is at least this, at the stated confidence.
    confidence
        An honest mechanism passes with at least this probability.
    samples
        Runs on each of the two inputs.
    families
        The bound from each family of events.
    noise_checks
        Checks of additive noise; empty where the mechanism does not claim any.
    """

    claimed_epsilon: float
    epsilon_lower_bound: float
    confidence: float
    samples: int
    families: tuple[FamilyBound, ...]
    noise_checks: tuple[NoiseCheck, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether nothing speaks against the claim."""
        return self.epsilon_lower_bound <= self.claimed_epsilon and all(
            check.passes for check in self.noise_checks
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """One clause per piece of evidence against the claim."""
        found = []
        if self.epsilon_lower_bound > self.claimed_epsilon:
            found.append(
                f"epsilon is at least {self.epsilon_lower_bound:.4g} where {self.claimed_epsilon:.4g} is "
                "claimed"
            )
        failed = [check for check in self.noise_checks if not check.passes]
        return (*found, *(f"noise check '{check.name}': {check.meaning}" for check in failed))

    def raise_if_failed(self) -> None:
        """Raise :class:`AuditFailedError` with the findings, if there are any."""
        if not self.passes:
            raise AuditFailedError(
                f"The mechanism failed its audit ({'; '.join(self.findings)}): do not release with it."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON types."""
        return {
            "claimed_epsilon": self.claimed_epsilon,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "confidence": self.confidence,
            "passes": self.passes,
            "samples": self.samples,
            "findings": list(self.findings),
            "families": [vars(bound) for bound in self.families],
            "noise_checks": [{**vars(check), "passes": check.passes} for check in self.noise_checks],
        }


def audit_mechanism(
    mechanism: Mechanism,
    first: ArrayLike,
    second: ArrayLike,
    *,
    claimed_epsilon: float,
    samples: int,
    confidence: float = DEFAULT_CONFIDENCE,
    batched: bool = False,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit any callable mechanism on a pair of neighbouring inputs.

    Parameters
    ----------
    mechanism
        Takes an input vector and returns an output vector of fixed length, with fresh randomness on each
        call: the bound rests on runs that are independent of each other. Whole protocols
        qualify. Inputs are public test data, never a secret.
    first, second
        The neighbouring inputs.
    claimed_epsilon
        The loss that the mechanism claims not to exceed between them.
    samples
        Runs on each input; 30 % choose the events, 70 % measure them.
    confidence
        The probability with which an honest mechanism must pass.
    batched
        Whether the mechanism takes a matrix of inputs and returns a matrix of outputs, one run per row.
    progress
        Called with the number of runs finished since the last call.
    """
    epsilon = positive_number(claimed_epsilon, "claimed_epsilon")
    failure = 1.0 - _checked(samples, confidence)
    outputs = [_collect(mechanism, each, samples, batched, progress) for each in (first, second)]
    if outputs[0].shape != outputs[1].shape:
        raise InputError(
            f"The mechanism returned {outputs[0].shape[1]} numbers on one input and {outputs[1].shape[1]} on "
            "the other, expected as many: pad the output to a fixed length."
        )
    families = lower_bounds(outputs[0], outputs[1], failure)
    return _report(epsilon, confidence, samples, families, ())


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
    """Audit a mechanism that claims independent Laplace noise of scale ``alpha / epsilon`` on each entry.

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
    failure = (1.0 - _checked(samples, confidence)) / 2.0
    inputs = np.zeros((2, dimension))
    inputs[1, 0] = alpha
    outputs = [_collect(mechanism, each, samples, batched, progress) for each in inputs]
    for each in outputs:
        if each.shape[1] != dimension:
            raise InputError(
                f"The mechanism returned {each.shape[1]} numbers for {dimension}, expected noise on every "
                "entry: use audit_mechanism() for mechanisms of another shape."
            )
    families = lower_bounds(outputs[0], outputs[1], failure)
    noise = [(each - point) / (alpha / epsilon) for each, point in zip(outputs, inputs, strict=True)]
    # Noise cannot be told apart more finely than the floats that carry it.
    spacing = 4.0 * float(np.spacing(np.abs(outputs).max())) / (alpha / epsilon)
    checks = check_noise(noise[0], noise[1], failure, max(FINEST_RESOLUTION, spacing))
    return _report(epsilon, confidence, samples, families, checks)


def _report(
    epsilon: float,
    confidence: float,
    samples: int,
    families: tuple[FamilyBound, ...],
    noise_checks: tuple[NoiseCheck, ...],
) -> AuditReport:
    return AuditReport(
        claimed_epsilon=epsilon,
        epsilon_lower_bound=max(bound.epsilon_lower_bound for bound in families),
        confidence=confidence,
        samples=samples,
        families=families,
        noise_checks=noise_checks,
    )


def _checked(samples: int, confidence: float) -> float:
    if integer(samples, "samples") < LEAST_SAMPLES:
        raise InputError(f"samples is {samples}, expected at least {LEAST_SAMPLES}: ask for more runs.")
    if not 0.5 <= confidence < 1.0:
        raise InputError(f"confidence is {confidence}, expected 0.5 or more and below 1: pass 0.999, say.")
    return confidence


def _collect(
    mechanism: Mechanism, point: ArrayLike, samples: int, batched: bool, progress: Progress | None
) -> FloatArray:
    """Run the mechanism many times on one input and return one output per row."""
    vector = np.atleast_1d(np.asarray(point, dtype=np.float64))
    blocks: list[FloatArray] = []
    for start in range(0, samples, _ROWS_AT_ONCE):
        rows = min(_ROWS_AT_ONCE, samples - start)
        if batched:
            block = np.asarray(mechanism(np.tile(vector, (rows, 1))), dtype=np.float64)
        else:
            block = _stacked([np.asarray(mechanism(vector.copy()), dtype=np.float64) for _ in range(rows)])
        if block.ndim != 2 or len(block) != rows or (blocks and block.shape[1] != blocks[0].shape[1]):
            raise InputError(
                f"The mechanism returned outputs of shape {block.shape} for {rows} runs, expected one vector "
                "of fixed length per run: pad or flatten the output."
            )
        blocks.append(block)
        if progress is not None:
            progress(rows)
    return np.nan_to_num(np.concatenate(blocks), nan=_NOT_A_NUMBER, posinf=_INFINITE, neginf=-_INFINITE)


def _stacked(outputs: list[FloatArray]) -> FloatArray:
    flat = [output.ravel() for output in outputs]
    if len({len(output) for output in flat}) != 1:
        raise InputError("The mechanism's outputs differ in length, expected a fixed one: pad the output.")
    return np.stack(flat)


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
