"""What other programs make of a secret: libraries, task queues, test runners, and a stack that is full."""

import asyncio
import gc
import io
import statistics
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from unittest import TestCase, mock

import joblib
import linopy
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr
from matplotlib.figure import Figure
from sklearn.linear_model import Ridge
from tests.mechanism.conftest import towns_game

from ppsm import PPSM, GameCoordination, Ledger, Sensitive
from ppsm.errors import PrivacyError, SecretExposureError
from ppsm.examples import freight_game, permit_game, water_game
from ppsm.privacy import LaplaceMechanism, for_owner_only
from ppsm.privacy.noise import ExactLaplace

cloudpickle, yaml = pytest.importorskip("cloudpickle"), pytest.importorskip("yaml")
VALUES = [41.23456789, 33.98765432]
DIGITS = ("41.23", "33.98", "75.22")
WHOLE = PPSM(alpha=5.0, total_share=0.5)


@pytest.fixture
def secret() -> Sensitive:
    return Sensitive(VALUES, dataset="d", unit="MWh", entry_names=("west", "east"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    Ledger.create(tmp_path / "ledger.db").grant("d", epsilon=1000.0, alpha=5.0, unit="MWh")
    return Ledger(tmp_path / "ledger.db")


def shows_a_value(text: str) -> bool:
    return any(digits in text for digits in DIGITS)


def told_by(error: BaseException | None) -> str:
    """Message, notes and the local variables of every frame outside of this file, causes and contexts too."""
    told: list[str] = []
    while error is not None:
        told += [str(error), repr(getattr(error, "__notes__", ()))]
        for frame, _line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == __file__:
                continue
            for value in frame.f_locals.values():
                with suppress(Exception):  # what is half-built may have no repr
                    told.append(repr(value))
        error = error.__cause__ or error.__context__
    return "\n".join(told)


@pytest.mark.parametrize(
    "template",
    [
        "{0._vault}",
        "{0._vault.__closure__}",
        "{0._vault.__closure__[0].cell_contents}",
        "{0._vault.__closure__[0].cell_contents.__closure__[0].cell_contents}",
        "{0._vault.__globals__}",
        "{0.__class__.__init__.__globals__[_KEY]}",
        "{1._opened.__closure__[0].cell_contents}",
        "{1.__class__.__init__.__globals__}",
    ],
)
def test_no_format_string_leads_to_the_values(template: str, secret: Sensitive) -> None:
    """Attributes and items are all that a format string, which others may write, can follow."""
    mine = for_owner_only(secret, lambda values: values.tolist())
    with suppress(AttributeError, KeyError, IndexError):
        assert not shows_a_value(template.format(secret, mine))
    assert mine.reveal() == VALUES
    assert mine.reveal() == VALUES  # as often as the owner likes


# Typed loosely on purpose: a type checker stops most of them already.
LIBRARIES: dict[str, Callable[[Any], object]] = {
    "matplotlib line": lambda s: Figure().subplots().plot(s),
    "matplotlib bars": lambda s: Figure().subplots().bar([0, 1], s),
    "matplotlib text": lambda s: Figure().subplots().text(0, 0, s),
    "pandas json": lambda s: pd.Series([s], dtype=object).to_json(),
    "pandas csv": lambda s: pd.DataFrame({"demand": [s]}).to_csv(),
    "pandas html": lambda s: pd.DataFrame({"demand": [s]}).to_html(),
    "pandas arithmetic": lambda s: pd.Series([1.0, 2.0]) + s,
    "pandas comparison": lambda s: pd.Series([1.0, 2.0]) == s,
    "pandas membership": lambda s: pd.Series([1.0, 2.0]).isin(s),
    "pandas cast": lambda s: pd.Series([s], dtype=object).astype(float),
    "pandas numbers": pd.to_numeric,
    "pandas summary": lambda s: pd.Series([s], dtype=object).describe().to_string(),
    "pandas parquet": lambda s: pd.DataFrame({"demand": [s]}).to_parquet(io.BytesIO()),
    "xarray": xr.DataArray,
    "xarray of a list": lambda s: repr(xr.DataArray([s])),
    "sparse": sp.csr_array,
    "scikit-learn": lambda s: Ridge().fit([[1.0], [2.0]], s),
    "linopy bound": lambda s: linopy.Model().add_variables(lower=s, name="x"),
    "linopy row": lambda s: linopy.Model().add_variables(coords=[[0, 1]], name="x") >= s,
    "numpy text": lambda s: np.savetxt(io.StringIO(), s),
    "numpy file": lambda s: np.save(io.BytesIO(), s),
    "numpy item": lambda s: np.zeros(2).__setitem__(0, s),
    "numpy slice": lambda s: np.zeros(2).__setitem__(slice(None), s),
    "numpy copy": lambda s: np.copyto(np.zeros(2), s),
    "numpy in place": lambda s: np.add.at(np.zeros(2), [0, 1], s),
    "numpy scalar": lambda s: np.float64(2.0) ** s,
    "numpy vectorize": lambda s: np.vectorize(float)(s),
    "numpy assertion": lambda s: np.testing.assert_allclose(s, [1.0, 2.0]),
    "mean": statistics.mean,
    "deque": deque,
    "yaml": yaml.dump,
}


@pytest.mark.parametrize("way", LIBRARIES)
def test_libraries_get_no_value(way: str, secret: Sensitive) -> None:
    try:
        found = f"{LIBRARIES[way](secret)}"
    except (SecretExposureError, TypeError, ValueError, AttributeError) as error:
        found = told_by(error)
    assert not shows_a_value(found)


@pytest.mark.parametrize(
    "send",
    [
        cloudpickle.dumps,
        lambda s: cloudpickle.dumps(lambda: s),
        lambda s: joblib.dump(s, io.BytesIO()),
        joblib.hash,
        lambda s: joblib.Parallel(n_jobs=2)([joblib.delayed(repr)(s)]),
    ],
    ids=["cloudpickle", "a closure", "joblib's file", "joblib's hash", "a worker"],
)
def test_no_task_for_another_process_takes_a_secret(send: Callable[[Any], object], secret: Sensitive) -> None:
    with pytest.raises(Exception, match=r"Sensitive|pickle") as caught:
        send(secret)
    assert not shows_a_value(told_by(caught.value))


def test_assertions_and_mocks_show_no_value(secret: Sensitive) -> None:
    """What test runners print of a comparison that fails."""
    seen = mock.Mock()
    seen(secret)
    assert not shows_a_value(f"{seen.mock_calls}")
    other = Sensitive(VALUES, dataset="d", unit="MWh", entry_names=("west", "east"))
    ways: list[Callable[[], object]] = [
        lambda: seen.assert_called_with(other),
        lambda: TestCase().assertEqual(secret, other),  # noqa: PT009 - what others use
        lambda: TestCase().assertListEqual([secret], [other]),  # noqa: PT009
        lambda: pytest.approx(secret) == VALUES,
    ]
    for way in ways:
        with pytest.raises((SecretExposureError, TypeError, AssertionError)) as caught:
            way()
        assert not shows_a_value(told_by(caught.value))


def test_notes_on_a_failure_stay_behind_the_door(
    secret: Sensitive, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exceptions may carry notes, and others within them."""

    def fail(*given: Any) -> Any:
        error = ExceptionGroup(f"of {given[-1]}", [ValueError(f"{given[-1]}")])
        error.add_note(f"with {given[-1]}")
        raise error

    with pytest.raises(PrivacyError) as caught:
        for_owner_only(secret, fail)
    assert not shows_a_value(told_by(caught.value))
    monkeypatch.setattr(ExactLaplace, "add_to", fail)
    with pytest.raises(PrivacyError) as caught:
        LaplaceMechanism(alpha=5.0).release(secret, ledger=ledger, purpose="test")
    assert not shows_a_value(told_by(caught.value))


def test_failures_that_nobody_waits_for_show_no_value(
    secret: Sensitive, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread, and a task in the debug mode of asyncio, whose failures are printed by the interpreter."""

    def fail() -> None:
        for_owner_only(secret, lambda values: float(f"of {values}"))

    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    thread = threading.Thread(target=fail, args=())
    thread.start()
    thread.join()

    async def forget() -> None:
        async def task() -> None:
            fail()

        forgotten = asyncio.create_task(task(), name=f"{secret}")
        await asyncio.sleep(0)
        del forgotten

    asyncio.run(forget(), debug=True)
    gc.collect()
    printed = capsys.readouterr().err
    assert "PrivacyError" in printed
    assert not shows_a_value(printed)


def _at_depth(depth: int, action: Callable[[], object]) -> object:
    return action() if depth == 0 else _at_depth(depth - 1, action)


def test_a_stack_that_is_full_shows_no_value(secret: Sensitive, ledger: Ledger) -> None:
    """Little is left to call: a release fails anywhere within, its handlers too."""
    mechanism = LaplaceMechanism(alpha=5.0, total_share=0.5)
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1  # type: ignore[assignment]
    failed: list[str] = []
    for left in range(4, 60):
        try:
            _at_depth(
                sys.getrecursionlimit() - used - left,
                lambda: mechanism.release(secret, ledger=ledger, purpose="test"),
            )
        except Exception as error:  # noqa: BLE001 - of whatever type, it is looked into
            failed.append(told_by(error))
    assert failed
    assert not any(map(shows_a_value, failed))
    assert ledger.verify().ok


def _reachable(root: object) -> Iterator[object]:
    """All that a garbage collector, and so a pickler or an inspector, can reach; modules and types apart."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        found = waiting.pop()
        is_module = isinstance(found, dict) and "__builtins__" in found
        if id(found) in seen or is_module or isinstance(found, (ModuleType, type, FrameType)):
            continue
        seen.add(id(found))
        yield found
        waiting.extend(gc.get_referents(found))


def _is_of_the_secret(found: object) -> bool:
    if isinstance(found, np.ndarray) and found.dtype == np.float64 and found.size:
        return bool(np.isclose(found.reshape(-1, 1), [*VALUES, sum(VALUES)], rtol=1e-9, atol=0.0).any())
    return isinstance(found, Sensitive) or (isinstance(found, float) and found in VALUES)


def test_nothing_of_a_release_leads_to_the_secret(secret: Sensitive, ledger: Ledger) -> None:
    towns = GameCoordination(towns_game(), unit="MWh", bounds=(0.0, 100.0))
    release = WHOLE.release(secret, towns, ledger=ledger, purpose="test")
    assert any(map(_is_of_the_secret, _reachable([secret])))  # the search finds it where it is
    for what in (release, WHOLE, ledger, towns):
        assert not any(map(_is_of_the_secret, _reachable(what)))


def test_memory_that_was_not_cleared_reaches_no_release(
    secret: Sensitive, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array that is made without being filled holds what was there before: here, always the secret."""
    towns = GameCoordination(towns_game(), unit="MWh", bounds=(0.0, 100.0))
    plain = np.empty

    def haunted(*given: Any, **options: Any) -> Any:
        array = plain(*given, **options)
        if array.dtype == np.float64:
            array.fill(VALUES[0])
        return array

    monkeypatch.setattr(np, "empty", haunted)
    release = WHOLE.release(secret, towns, ledger=ledger, purpose="test")
    outcome = towns.clear(release.released.values)
    assert not shows_a_value(release.dossier.with_evaluation(outcome).to_json())


@pytest.mark.parametrize("build", [freight_game, water_game, permit_game, towns_game])
def test_a_game_that_has_seen_the_truth_releases_the_same(build: Callable[[], Any]) -> None:
    """The owner may clear the true market first: what solvers keep of it must not steer a release."""

    def released_after(seen: Iterable[float]) -> tuple[list[float], str]:
        game = GameCoordination(build(), unit="MWh")
        truth = np.asarray(build().follower.nominal)
        for share in seen:
            game.clear(share * truth)
        data = Sensitive(truth, dataset="d", unit="MWh", entry_names=game.entry_names)
        release = PPSM(alpha=3.0, total_share=0.5).simulate(data, game, seed=5)
        return release.released.values.tolist(), game.clear(release.released.values).to_dict().__repr__()

    assert released_after([]) == released_after([1.0]) == released_after([0.7, 1.1])
