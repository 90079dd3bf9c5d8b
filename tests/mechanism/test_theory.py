import math

import numpy as np
import pytest

from ppsm.errors import InputError
from ppsm.mechanism.theory import CONFIDENCE, NoiseSize, nearness, size_of


@pytest.mark.parametrize("count", [1, 2, 5, 41])
def test_noise_is_as_large_as_is_said(count: int) -> None:
    noise = np.random.default_rng(7).laplace(size=(20_000, count))
    size = NoiseSize(count)
    share_l1 = (np.abs(noise).sum(axis=1) <= size.likely_l1).mean()
    assert share_l1 == pytest.approx(CONFIDENCE, abs=0.006)
    # Cantelli's inequality gives room away, but not all of it.
    assert (np.linalg.norm(noise, axis=1) <= size.likely_l2).mean() >= CONFIDENCE
    assert size.likely_l2 < 4.0 * math.sqrt(count)


def test_a_projection_is_within_twice_the_noise() -> None:
    # A halfspace that holds the truth stands for the bands.
    noise = np.random.default_rng(7).laplace(scale=6.0, size=(2_000, 5))
    direction = np.ones(5) / math.sqrt(5)
    repaired = noise - np.maximum(noise @ direction, 0.0)[:, None] * direction
    factor = nearness("l2", 0.0)
    assert factor == 2.0
    assert (np.linalg.norm(repaired, axis=1) <= [factor * size_of(z) + 1e-12 for z in noise]).all()


def test_papers_bound_without_dimension_is_wrong() -> None:
    # 4 alpha^2 at alpha = 0.1 and 50 entries is 0.04; noise alone has a mean L2 norm near 1.
    noise = np.linalg.norm(np.random.default_rng(1).laplace(scale=0.1, size=(2_000, 50)), axis=1)
    assert noise.mean() > 20 * 4 * 0.1**2


def test_a_gap_makes_the_bound_wider_and_none_makes_it_void() -> None:
    assert nearness("l1", 0.5) == pytest.approx(3.0)
    assert nearness("l2", 0.75) == pytest.approx(3.0)
    assert nearness("l2", -1e-9) == 2.0
    assert nearness("l2", 1.0) is None
    assert nearness("l2", math.inf) is None


def test_no_noise_has_no_size() -> None:
    with pytest.raises(InputError, match="at least 1"):
        NoiseSize(0)
