"""The least mean error of a promise, against cases that are worked out by hand."""

import math

import numpy as np
import pytest
from benchmarks.least_error import least_mean_error, least_relative_error


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


def test_what_a_proof_leaves_open_is_taken_off_whatever_the_figures_are() -> None:
    rng = np.random.default_rng(2)
    low = np.array([100.0, 102.0, 101.0, 106.0, 110.0])
    high = low + np.array([0.0, 1.0, 0.5, 0.0, 2.0])
    bound = least_relative_error(low, high, 1.0)
    assert 0.0 < bound < least_relative_error(high, high, 1.0)
    for _ in range(50):
        figures = rng.uniform(low, high)
        assert bound <= least_relative_error(figures, figures, 1.0)


def test_a_relative_error_by_hand() -> None:
    """To call 10 a 20 is twice as bad as to call 20 a 10, so this is done twice as often: p and q = 2 p.

    The odds of "20" differ by e: 1 - q = e p.
    """
    figures = np.array([10.0, 20.0])
    assert least_relative_error(figures, figures, 1.0) == pytest.approx(1.0 / (2.0 + math.e))


def test_gaps_as_wide_as_the_figures_are_apart_leave_nothing() -> None:
    assert least_relative_error(np.array([1.0, 1.1, 1.2]), np.array([1.5, 1.6, 1.7]), 1.0) <= 0.0
