"""Ridge regression: the strength is that of leaving days out one by one, done the long way here."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.errors import InputError
from ppsm.mechanism import learned
from ppsm.mechanism.learned import Ridge
from ppsm.mechanism.tuning import TUNING


def _left_out_one_by_one(x: np.ndarray, y: np.ndarray, strength: float) -> float:
    """Solve the normal equations once for each day that is left out; scaled as on all days."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    errors = []
    for day in range(len(x)):
        rest = np.arange(len(x)) != day
        mean, centre = z[rest].mean(axis=0), y[rest].mean(axis=0)
        a = z[rest] - mean
        slopes = np.linalg.solve(a.T @ a + strength * np.eye(x.shape[1]), a.T @ (y[rest] - centre))
        errors.append(((z[day] - mean) @ slopes + centre - y[day]) ** 2)
    return float(np.mean(errors))


def test_strength_is_that_of_leave_one_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(500.0, [1.0, 20.0, 300.0], (15, 3))
    y = x @ rng.normal(size=(3, 2)) + 200.0 * rng.normal(size=(15, 2))
    strengths = np.array([0.1, 1.0, 10.0, 100.0])
    monkeypatch.setattr(learned, "TUNING", replace(TUNING, ridge_strengths=tuple(strengths)))
    best = min(strengths, key=lambda strength: _left_out_one_by_one(x, y, strength))
    assert Ridge().fit(x, y).strength == best


def test_an_affine_law_without_noise_is_found_and_a_feature_that_never_moves_does_no_harm() -> None:
    x = np.random.default_rng(4).normal(size=(30, 3))
    x[:, 1] = 7.0
    y = np.column_stack([2.0 * x[:, 0] - x[:, 2] + 5.0, x[:, 2]])
    assert Ridge().fit(x, y).predict(x) == pytest.approx(y, abs=1e-3)


def test_predicting_before_learning_is_refused() -> None:
    with pytest.raises(InputError, match="fit it first"):
        Ridge().predict(np.zeros((1, 2)))
