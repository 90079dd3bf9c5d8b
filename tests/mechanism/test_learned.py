"""Learned predictors: errors that are measured, models that are numbers, histories that are public."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppsm import Sensitive
from ppsm.coordinations import GameCoordination
from ppsm.errors import FileFormatError, InputError, SecretExposureError
from ppsm.mechanism import PPSM, History, InventedDays, Learned, invent_days
from ppsm.privacy import LaplaceMechanism


def _days(towns: GameCoordination) -> InventedDays:
    return invent_days(towns, [48.0, 58.0], days=40, stress=(0.0, 0.1), spread=0.02, seed=7)


@pytest.fixture(scope="module")
def history(towns: GameCoordination) -> History:
    return _days(towns).released(alpha=0.5)


@pytest.fixture(scope="module")
def learned(history: History) -> Learned:
    return Learned.train(history)


def test_a_history_can_be_simulated_again(towns: GameCoordination, history: History) -> None:
    again = _days(towns).released(alpha=0.5)
    assert np.array_equal(again.features, history.features)
    assert np.array_equal(again.targets, history.targets)
    assert history.features.shape == (40, 2)
    assert history.targets.shape == (40, 4)


def test_the_same_days_serve_every_alpha(towns: GameCoordination, history: History) -> None:
    days = _days(towns)
    quiet, loud = days.released(alpha=0.5), days.released(alpha=50.0)
    assert np.array_equal(quiet.features, history.features)
    assert np.array_equal(quiet.targets, loud.targets)
    values = quiet.targets[:, 0]
    sizes = [float(np.abs(each.features.sum(axis=1) - values).mean()) for each in (quiet, loud)]
    assert sizes[1] > 10.0 * sizes[0]


def test_errors_are_those_of_days_left_out(learned: Learned) -> None:
    errors = learned.cross_validation
    # the value is the sum of two demands, seen through noise of 0.5: about 1 % of 110
    assert 0.1 < errors.value_error_percent < 3.0
    assert errors.days == 40


def test_a_regressor_that_knows_nothing_has_large_errors(history: History, learned: Learned) -> None:
    from sklearn.dummy import DummyRegressor

    dummy = Learned.train(history, DummyRegressor())
    assert dummy.cross_validation.value_error_percent > 1.5 * learned.cross_validation.value_error_percent


def test_ppsm_with_learned_models_can_be_cleared(
    towns: GameCoordination, secret: Sensitive, learned: Learned
) -> None:
    for seed in range(5):
        release = PPSM(alpha=0.5).simulate(secret, towns, learned, seed=seed)
        assert towns.clear(release.released.values).feasible
        described = release.dossier.predictor
        assert described is not None
        assert described.cross_validation == learned.cross_validation


def test_a_model_survives_its_file(
    towns: GameCoordination, secret: Sensitive, learned: Learned, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        learned.save(tmp_path / "missing" / "model.json")
    learned.save(tmp_path / "model.json")
    again = Learned.load(tmp_path / "model.json")
    noisy = LaplaceMechanism(alpha=0.5).simulate(secret, seed=3)
    said, repeated = (each.predict_prices(noisy, towns) for each in (learned, again))
    assert repeated == pytest.approx(said, rel=1e-6, abs=1e-6)
    assert again.cross_validation == learned.cross_validation


def test_a_model_says_what_it_was_trained_for(learned: Learned, tmp_path: Path) -> None:
    replace(learned, trained_for={"case": "towns", "alpha": 0.5}).save(tmp_path / "model.json")
    again = Learned.load(tmp_path / "model.json")
    again.insist_on({"case": "towns", "alpha": 0.5})
    with pytest.raises(InputError, match=r"trained for alpha 0\.5, expected 5\.0"):
        again.insist_on({"case": "towns", "alpha": 5.0})
    learned.insist_on({"alpha": 5.0})  # says nothing, so it is taken as it is


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trained_for": 3}, "not a model that ppsm wrote"),
        ({"format": "pickle"}, "is not of format"),
        ({"matrix": [[1.0]]}, "holds a matrix of shape"),
        ({"offset": [1.0, None, 0.0, 0.0]}, "not a model that ppsm wrote|offset of entry"),
        ({"matrix": "numpy.load"}, "not a model that ppsm wrote|must be numbers"),
        ({"entry_names": 3}, "not a model that ppsm wrote"),
    ],
)
def test_strange_models_are_refused(
    change: dict[str, Any], message: str, learned: Learned, tmp_path: Path
) -> None:
    learned.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(InputError, match=message):
        Learned.load(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_bytes(b"\x80\x04\x95 a pickle")
    with pytest.raises(FileFormatError):
        Learned.load(tmp_path / "bad.json")
    with pytest.raises(InputError, match="cannot be read"):
        Learned.load(tmp_path / "missing.json")


def test_only_affine_models_are_saved(history: History, tmp_path: Path) -> None:
    from sklearn.neighbors import KNeighborsRegressor

    model = Learned.train(history, KNeighborsRegressor(3))
    with pytest.raises(InputError, match="KNeighborsRegressor is not an affine map"):
        model.save(tmp_path / "model.json")


class Broken:
    """A regressor that forgets the prices."""

    def fit(self, x: Any, y: Any) -> None:
        pass

    def predict(self, x: Any) -> Any:
        return np.full((len(x), 1), np.nan)


def test_bad_histories_and_regressors_are_one_sentence(
    history: History, towns: GameCoordination, secret: Sensitive, learned: Learned
) -> None:
    with pytest.raises(InputError, match=r"returned shape \(8, 1\)"):
        Learned.train(history, Broken())
    with pytest.raises(InputError, match="expected an object with fit and predict"):
        Learned.train(history, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least 10"):
        History(history.released[:3], history.results[:3])
    with pytest.raises(SecretExposureError, match="history are still secret"):
        History((secret,) * 10, history.results[:10])  # type: ignore[arg-type]
    other = Sensitive([1.0, 2.0], dataset="x", unit="MWh", entry_names=("a", "b"))
    with pytest.raises(InputError, match="train one for this market"):
        learned.predict_prices(LaplaceMechanism(alpha=1.0).simulate(other, seed=1), towns)
