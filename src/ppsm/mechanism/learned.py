"""Learned predictors: regressors trained on a public history of released demands and published outcomes.

The features are released vectors, noise included, because that is what the model will see. Any object with
``fit`` and ``predict`` will do; the default is :class:`Ridge`. Its errors are
cross-validated and go into every dossier.

A model is saved as the numbers of its affine map, in JSON: reading it runs no code of the file's. Regressors
that are not affine can be used but not saved.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, as_numbers, frozen_vector
from ppsm.errors import FileFormatError, InputError
from ppsm.files import of_format, write_atomically
from ppsm.mechanism.coordination import Coordination, Decision, FollowerSide
from ppsm.mechanism.history import History
from ppsm.mechanism.predictors import CrossValidation
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.publication import Publication
from ppsm.privacy.released import Released, require_released

FORMAT = "ppsm-learned/2"


class Regressor(Protocol):
    """What a regressor has to offer, in the way of scikit-learn."""

    def fit(self, x: FloatArray, y: FloatArray) -> Any:
        """Learn rows of y from rows of x."""

    def predict(self, x: FloatArray) -> ArrayLike:
        """One row of y for each row of x."""


class Ridge:
    """Ridge regression with a strength chosen by leave-one-out: what predictors learn with by default.

    Features are standardised and targets centred, so that one strength serves all of them. With the singular
    vectors ``U`` and values ``s`` of the standardised features, the fit at strength ``a`` is ``H y`` with
    ``H = 1/n + U diag(s^2 / (s^2 + a)) U'``, and the error on a day that is left out is the residual over
    ``1 - H[i, i]``: no day has to be left out to know it. ``strength`` is what was chosen.
    """

    def __init__(self) -> None:
        self.strength: float | None = None

    def fit(self, x: FloatArray, y: FloatArray) -> "Ridge":
        """Learn rows of y from rows of x."""
        self._mean, spread = x.mean(axis=0), x.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)  # a feature that never moves explains nothing
        self._centre = y.mean(axis=0)
        left, sizes, right = np.linalg.svd((x - self._mean) / self._spread, full_matrices=False)
        aligned = left.T @ (y - self._centre)
        strengths = TUNING.ridge_strengths
        errors = [_left_out_error(left, sizes, aligned, y - self._centre, a) for a in strengths]
        self.strength = strengths[int(np.argmin(errors))]
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


@dataclass(frozen=True, eq=False)
class Learned:
    """A predictor that learned from history; make one with :meth:`train` or :meth:`load`.

    ``cross_validation`` has the errors on days that were left out; ``provenance`` is that of the history and
    stays with a saved model. ``trained_for`` says what a saved model is
    good for, such as the alpha of its history; who loads it may insist on it (:meth:`insist_on`).
    """

    regressor: Regressor
    entry_names: tuple[str, ...]
    price_names: tuple[str, ...]
    cross_validation: CrossValidation
    provenance: Provenance
    name: str = "learned"
    publication: Publication | None = field(default=None)
    trained_for: Mapping[str, str | float] = field(default_factory=dict)

    @classmethod
    def train(cls, history: History, regressor: Regressor | None = None) -> "Learned":
        """Fit a regressor to a history and measure its errors by five-fold cross-validation."""
        chosen = Ridge() if regressor is None else regressor
        if not (hasattr(chosen, "fit") and hasattr(chosen, "predict")):
            raise InputError(
                f"the regressor is a {type(chosen).__name__}; expected an object with fit and predict."
            )
        features, targets = history.features, history.targets
        errors = _cross_validated(chosen, features, targets)
        fitted = copy.deepcopy(chosen)
        fitted.fit(features, targets)
        names = history.released[0].entry_names, history.results[0].price_names
        return cls(fitted, *names, errors, history.provenance)

    def predict_prices(self, noisy: Released, coordination: Coordination) -> FloatArray:
        """The learned prices."""
        return self._predict(require_released(noisy, "demand of step 2a"), coordination)[1:]

    def predict_outcome(
        self, noisy: Released, decision: Decision, coordination: FollowerSide
    ) -> tuple[float, FloatArray]:
        """The learned value and prices."""
        del decision
        said = self._predict(require_released(noisy, "demand of step 3a"), coordination)
        return float(said[0]), said[1:]

    def _predict(self, noisy: Released, coordination: FollowerSide) -> FloatArray:
        if noisy.entry_names != self.entry_names or coordination.price_names != self.price_names:
            raise InputError(
                f"the model was trained on the market of '{self.entry_names[0]}', ... and "
                f"'{self.price_names[0]}', ..., found another: train one for this market."
            )
        width = 1 + len(self.price_names)
        said = as_numbers(self.regressor.predict(noisy.values[None, :]), "what the regressor predicts")
        if said.shape != (1, width):
            raise InputError(
                f"the regressor returned shape {said.shape}, expected (1, {width}): the value and one price "
                "each."
            )
        return frozen_vector(said[0], width, "the regressor's prediction", names=("value", *self.price_names))

    def insist_on(self, purpose: Mapping[str, str | float]) -> None:
        """Refuse a model that was trained for something else; one that does not say is taken as it is."""
        for what, wanted in purpose.items():
            if self.trained_for.get(what, wanted) != wanted:
                raise InputError(
                    f"the model was trained for {what} {self.trained_for[what]}, expected {wanted}: give the "
                    "path of another model, or of a new file to train one."
                )

    def save(self, path: str | Path) -> None:
        """Write the model as numbers; refused where it is not an affine map."""
        matrix, offset = _affine(self.regressor, len(self.entry_names))
        content = {
            "format": FORMAT,
            "entry_names": list(self.entry_names),
            "price_names": list(self.price_names),
            "cross_validation": self.cross_validation.to_dict(),
            "trained_for": dict(self.trained_for),
            "provenance": self.provenance.to_dict(),
            "matrix": matrix.tolist(),
            "offset": offset.tolist(),
        }
        try:
            write_atomically(Path(path), json.dumps(content, allow_nan=False))
        except OSError as error:
            raise InputError(
                f"the model {path} cannot be written ({error.strerror}): choose another path."
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> "Learned":
        """Read what :meth:`save` wrote. The file holds numbers only; nothing in it is run."""
        content = _content(Path(path))
        try:
            entries = tuple(str(name) for name in content["entry_names"])
            prices = tuple(str(name) for name in content["price_names"])
            matrix, offset = as_numbers(content["matrix"], "matrix"), as_numbers(content["offset"], "offset")
            errors = CrossValidation.from_dict(content["cross_validation"])
            purpose = {str(key): value for key, value in content.get("trained_for", {}).items()}
            provenance = Provenance.from_dict(content["provenance"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(
                f"{path} is not a model that ppsm wrote ({error}): train it again."
            ) from None
        shape = (len(entries), 1 + len(prices))
        if matrix.shape != shape or offset.shape != shape[1:] or not np.isfinite(matrix).all():
            raise FileFormatError(
                f"{path} holds a matrix of shape {matrix.shape}, expected {shape} of finite numbers."
            )
        frozen_vector(offset, shape[1], "the model's offset")
        return cls(AffineMap(matrix, offset), entries, prices, errors, provenance, trained_for=purpose)


@dataclass(frozen=True, eq=False)
class AffineMap:
    """``x @ matrix + offset``: what a saved model is."""

    matrix: FloatArray
    offset: FloatArray

    def fit(self, x: FloatArray, y: FloatArray) -> "AffineMap":
        """It has been fitted already."""
        raise InputError(
            f"a loaded model cannot be trained again on {len(x)} days ({y.shape}): train a new one."
        )

    def predict(self, x: FloatArray) -> FloatArray:
        """Apply the map."""
        return x @ self.matrix + self.offset


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the model {path} cannot be read ({error.strerror}): check the path.") from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a model that ppsm wrote ({error}): train it again.") from None
    return of_format(content, FORMAT, f"The model {path}")


def _affine(regressor: Regressor, entries: int) -> tuple[FloatArray, FloatArray]:
    """Read an affine map off its values at zero and at the unit vectors, and make sure that it is one."""
    size = 1e3
    offset = np.asarray(regressor.predict(np.zeros((1, entries))))[0]
    matrix = (np.asarray(regressor.predict(size * np.eye(entries))) - offset) / size
    probe = np.random.default_rng(0).uniform(0.0, 2.0 * size, (8, entries))
    said = np.asarray(regressor.predict(probe))
    if not np.allclose(probe @ matrix + offset, said, rtol=1e-6, atol=1e-6 * np.abs(said).max(initial=1.0)):
        raise InputError(
            f"the regressor {type(regressor).__name__} is not an affine map, and only those can be saved "
            "safely: train the default one, or keep yours in memory."
        )
    return matrix, offset


def _cross_validated(regressor: Regressor, features: FloatArray, targets: FloatArray) -> CrossValidation:
    days = len(features)
    fold_of = np.random.default_rng(0).permutation(days) % TUNING.folds
    said = np.empty_like(targets)
    for fold in range(TUNING.folds):
        held = fold_of == fold
        model = copy.deepcopy(regressor)
        model.fit(features[~held], targets[~held])
        part = as_numbers(model.predict(features[held]), "what the regressor predicts")
        if part.shape != (int(held.sum()), targets.shape[1]) or not np.isfinite(part).all():
            raise InputError(
                f"the regressor returned shape {part.shape} or numbers that are not finite for "
                f"{int(held.sum())} days, expected ({int(held.sum())}, {targets.shape[1]}): mend it."
            )
        said[held] = part
    return CrossValidation(
        days=float(days),
        value_error_percent=_relative(said[:, :1], targets[:, :1]),
        price_error_percent=_relative(said[:, 1:], targets[:, 1:]),
    )


def _relative(said: FloatArray, true: FloatArray) -> float:
    return float(100.0 * np.abs(said - true).mean() / max(float(np.abs(true).mean()), 1e-12))
