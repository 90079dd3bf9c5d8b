"""Ridge regression with a strength chosen by leave-one-out: what predictors learn with by default.

Features are standardised and targets centred, so that one strength serves all of them. With the singular
vectors ``U`` and values ``s`` of the standardised features, the fit at strength ``a`` is ``H y`` with
``H = 1/n + U diag(s^2 / (s^2 + a)) U'``, and the error on a day that is left out is the residual over
``1 - H[i, i]``: no day has to be left out to know it.
"""

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError

_STRENGTHS = np.logspace(-3, 5, 25)


class Ridge:
    """An affine map from features to targets, fitted with shrinkage; ``strength`` is what was chosen."""

    def __init__(self) -> None:
        self.strength: float | None = None

    def fit(self, x: FloatArray, y: FloatArray) -> "Ridge":
        """Learn rows of y from rows of x."""
        self._mean, spread = x.mean(axis=0), x.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)  # a feature that never moves explains nothing
        self._centre = y.mean(axis=0)
        left, sizes, right = np.linalg.svd((x - self._mean) / self._spread, full_matrices=False)
        aligned = left.T @ (y - self._centre)
        errors = [_left_out_error(left, sizes, aligned, y - self._centre, a) for a in _STRENGTHS]
        self.strength = float(_STRENGTHS[int(np.argmin(errors))])
        self._slopes: FloatArray = right.T @ ((sizes / (sizes**2 + self.strength))[:, None] * aligned)
        return self

    def predict(self, x: FloatArray) -> FloatArray:
        """One row of targets for each row of features."""
        if self.strength is None:
            raise InputError("the ridge regression has learned nothing yet: fit it first.")
        predicted: FloatArray = (x - self._mean) / self._spread @ self._slopes + self._centre
        return predicted


def _left_out_error(
    left: FloatArray, sizes: FloatArray, aligned: FloatArray, y: FloatArray, strength: float
) -> float:
    """The mean square error on days that are left out one by one."""
    kept = sizes**2 / (sizes**2 + strength)
    residuals = y - left @ (kept[:, None] * aligned)
    own_weight = 1.0 / len(y) + (left**2 * kept).sum(axis=1)
    return float(np.mean((residuals / (1.0 - own_weight)[:, None]) ** 2))
