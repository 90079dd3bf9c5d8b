"""Statistical acceptance of the secure sampler: classical tests of a Laplace generator at several scales.

The noise cannot be seeded, so every limit leaves an honest sampler a chance below one in a million to fail:
all tests of this module together.
"""

import math

import numpy as np
import pytest

from ppsm.arrays import FloatArray
from ppsm.privacy import LaplaceMechanism
from ppsm.privacy.audits.laplace_audit import check_outputs, laplace_cdf

SCALES = (1e-6, 1.0, 100.0, 1e9)
DRAWS = 20_000
DEVIATIONS = 6.0  # of a nearly normal mean: 2e-9 each
# Anderson and Darling's statistic exceeds z with probability below 1.3 exp(-z) for large z.
ANDERSON_DARLING_LIMIT = 20.0


def anderson_darling(noise: FloatArray) -> float:
    """Return the statistic for a fully specified distribution [T. Anderson, D. Darling, JASA 1954]."""
    uniform = np.clip(laplace_cdf(np.sort(noise)), 1e-300, 1 - 1e-16)
    n = len(uniform)
    weights = 2.0 * np.arange(1, n + 1) - 1.0
    return float(-n - (weights * (np.log(uniform) + np.log1p(-uniform[::-1]))).sum() / n)


@pytest.fixture(scope="module", params=SCALES)
def noise(request: pytest.FixtureRequest) -> FloatArray:
    """Return standardised noise around a value that is not zero."""
    scale = float(request.param)
    mechanism = LaplaceMechanism(alpha=scale)
    values: FloatArray = (mechanism.perturb_public(np.full(DRAWS, 3.0 * scale)) - 3.0 * scale) / scale
    return values


def test_mean(noise: FloatArray) -> None:
    assert abs(noise.mean()) < DEVIATIONS * math.sqrt(2.0 / DRAWS)


def test_mean_size(noise: FloatArray) -> None:
    assert abs(np.abs(noise).mean() - 1.0) < DEVIATIONS * math.sqrt(1.0 / DRAWS)


def test_variance(noise: FloatArray) -> None:
    # The fourth moment is 24, so a square has variance 20; eight deviations allow for its long tail.
    assert abs((noise**2).mean() - 2.0) < 8.0 * math.sqrt(20.0 / DRAWS)


def test_signs_are_fair(noise: FloatArray) -> None:
    assert abs((noise > 0).mean() - 0.5) < DEVIATIONS * 0.5 / math.sqrt(DRAWS)


def test_quantiles(noise: FloatArray) -> None:
    for probability in (0.01, 0.1, 0.25, 0.75, 0.9, 0.99):
        share = float((noise < LaplaceMechanism(alpha=1.0).quantile(probability)).mean())
        assert abs(share - probability) < 6.5 * math.sqrt(probability * (1 - probability) / DRAWS)


def test_anderson_darling(noise: FloatArray) -> None:
    assert anderson_darling(noise) < ANDERSON_DARLING_LIMIT


def test_kolmogorov_smirnov_scale_tails_and_freshness(noise: FloatArray) -> None:
    rows = noise.reshape(2, -1, 2)
    checks = check_outputs([rows[0], rows[1]], np.zeros((2, 2)), 1.0, failure=1e-7)
    assert [check.name for check in checks if not check.passes] == []


def test_anderson_darling_rejects_a_scale_ten_percent_off() -> None:
    off = 0.9 * np.random.default_rng(3).laplace(size=DRAWS)
    assert anderson_darling(off) > ANDERSON_DARLING_LIMIT
