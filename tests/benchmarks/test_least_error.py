"""The least mean error of a promise, against cases that are worked out by hand."""

import numpy as np
import pytest
from benchmarks.least_error import least_mean_error


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_two_neighbours_are_told_apart_as_well_as_the_odds_allow(epsilon: float) -> None:
    # Randomised response: wrong with odds of exp(-epsilon), and then by all that lies between them.
    assert least_mean_error(np.array([5.0, 9.0]), epsilon) == pytest.approx(4.0 / (1.0 + np.exp(epsilon)))


def test_a_long_chain_has_the_error_of_geometric_noise() -> None:
    ratio = np.exp(-1.0)
    long_run = 2.0 * ratio / (1.0 - ratio**2)
    found = least_mean_error(np.arange(31.0), 1.0)
    assert found <= long_run
    assert found == pytest.approx(long_run, rel=0.02)


def test_no_measurement_with_laplace_noise_is_below_it() -> None:
    figures = np.array([0.0, 1.0, 2.5, 4.0, 6.0, 7.0])  # of a count that is measured
    noisy = np.random.default_rng(1).laplace(size=100_000) + np.arange(6.0)[:, None]
    found = np.abs(np.interp(noisy, np.arange(6.0), figures) - figures[:, None]).mean(axis=1)
    assert least_mean_error(figures, 1.0) < found.max()


def test_what_no_release_tells_is_guessed_in_the_middle() -> None:
    assert least_mean_error(np.array([0.0, 10.0]), 1e-9) == pytest.approx(5.0)
