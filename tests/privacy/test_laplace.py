"""The mechanism: its claims, its order of events, its closed forms and its refusals."""

import math
import multiprocessing
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import opendp.mod as opendp_features
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.conftest import DATASET, VALUES

from ppsm.errors import BudgetExceededError, InputError, PrivacyError
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive
from ppsm.privacy.noise import ExactLaplace, charged_loss, scale_for

BAD_NUMBERS: list[Any] = [0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, 10**400]
MODERATE = st.floats(min_value=1e-9, max_value=1e9)


@pytest.mark.parametrize("name", ["alpha", "epsilon"])
@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_parameters_must_be_positive_numbers(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        LaplaceMechanism(**{"alpha": 1.0, "epsilon": 1.0, name: value})


@pytest.mark.parametrize(("alpha", "epsilon"), [(1e300, 1e-300), (5e-324, 1e10)])
def test_scales_beyond_floats_are_refused(alpha: float, epsilon: float) -> None:
    with pytest.raises(InputError, match="noise scale"):
        LaplaceMechanism(alpha=alpha, epsilon=epsilon)


def test_repr_builds_the_mechanism_again() -> None:
    mechanism = LaplaceMechanism(alpha=100.0, epsilon=0.1)
    assert eval(repr(mechanism)).scale == mechanism.scale == 1000.0  # noqa: S307


@given(alpha=MODERATE, epsilon=MODERATE)
def test_the_loss_never_exceeds_the_claim(alpha: float, epsilon: float) -> None:
    scale = scale_for(alpha, epsilon)
    charge = charged_loss(scale, alpha, 50)
    assert Fraction(alpha) / Fraction(scale) <= Fraction(charge) <= Fraction(Decimal(repr(epsilon)))
    assert scale <= alpha / epsilon * (1 + 1e-15)


def test_a_quotient_that_rounds_down_is_mended() -> None:
    assert Fraction(1.0) / Fraction(1.0 / 3.0) > 3
    assert scale_for(1.0, 3.0) == math.nextafter(1.0 / 3.0, 1.0)


def test_the_charge_does_not_grow_with_the_dimension() -> None:
    assert charged_loss(100.0, 100.0, 1) == charged_loss(100.0, 100.0, 5000) == 1


def test_a_release_carries_its_record(secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger) -> None:
    released = mechanism.release(secret, ledger=ledger, purpose="day-ahead")
    record = released.record
    assert (record.mechanism, record.alpha, record.epsilon, record.dimension) == ("laplace", 100.0, 1.0, 3)
    assert (record.dataset, record.purpose, record.private, record.seed) == (DATASET, "day-ahead", True, None)
    assert released.entry_names == secret.entry_names
    assert released.unit == "MWh"
    assert not released.values.flags.writeable
    assert np.abs(released.values - VALUES).max() > 0
    assert released.receipt is not None
    assert released.receipt.charged == 1
    assert ledger.balance(DATASET).spent == 1


def test_the_budget_is_charged_before_noise_is_drawn(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent_when_drawing = []
    draw = ExactLaplace.add_to

    def watched(self: ExactLaplace, values: Any) -> Any:
        spent_when_drawing.append(ledger.balance(DATASET).spent)
        return draw(self, values)

    monkeypatch.setattr(ExactLaplace, "add_to", watched)
    mechanism.release(secret, ledger=ledger, purpose="test")
    assert spent_when_drawing == [1]


def test_a_refused_charge_draws_nothing(
    secret: Sensitive, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws: list[int] = []
    monkeypatch.setattr(ExactLaplace, "add_to", lambda *_: draws.append(1))
    with pytest.raises(BudgetExceededError):
        LaplaceMechanism(alpha=100.0, epsilon=3.5).release(secret, ledger=ledger, purpose="test")
    assert not draws
    assert ledger.balance(DATASET).spent == 0


def test_a_sampler_with_a_looser_bound_is_refused(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coarser grid, as another version of OpenDP may choose, must not slip through."""
    monkeypatch.setattr("ppsm.privacy.laplace.price", lambda *_: Decimal("1.0000001"))
    with pytest.raises(PrivacyError, match="privacy map says"):
        mechanism.release(secret, ledger=ledger, purpose="test")
    assert ledger.balance(DATASET).spent == 0


def test_a_mechanism_cannot_be_bent_after_it_was_made(mechanism: LaplaceMechanism) -> None:
    with pytest.raises(FrozenInstanceError):
        mechanism.scale = 1e-9  # type: ignore[misc]


def test_a_failed_draw_loses_budget_and_releases_nothing(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactLaplace, "add_to", lambda *_: 1 / 0)
    with pytest.raises(PrivacyError, match="ZeroDivisionError"):
        mechanism.release(secret, ledger=ledger, purpose="test")
    assert ledger.balance(DATASET).spent == 1


@pytest.mark.parametrize("purpose", ["", "  ", "two\nlines", "x" * 300, None, 3])
def test_bad_purposes_are_refused_before_the_charge(
    purpose: Any, secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    with pytest.raises(InputError, match="purpose"):
        mechanism.release(secret, ledger=ledger, purpose=purpose)
    assert ledger.balance(DATASET).spent == 0


def test_only_secrets_and_ledgers_are_accepted(
    secret: Sensitive, mechanism: LaplaceMechanism, ledger: Ledger
) -> None:
    with pytest.raises(InputError, match="expected Sensitive"):
        mechanism.release([1.0], ledger=ledger, purpose="test")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Ledger"):
        mechanism.release(secret, ledger=None, purpose="test")  # type: ignore[arg-type]


def test_research_mode_repeats_itself_and_says_that_it_is_not_private(
    secret: Sensitive, mechanism: LaplaceMechanism
) -> None:
    first, second = (mechanism.simulate(secret, seed=7) for _ in range(2))
    assert first.values.tolist() == second.values.tolist()
    assert mechanism.simulate(secret, seed=8).values.tolist() != first.values.tolist()
    assert not first.private
    assert first.receipt is None
    assert first.record.seed == 7
    assert "NOT PRIVATE" in repr(first)
    assert "NOT PRIVATE" in first.to_json()


@pytest.mark.parametrize("seed", [-1, 1.5, None, "1", True])
def test_seeds_must_be_counting_numbers(seed: Any, secret: Sensitive, mechanism: LaplaceMechanism) -> None:
    with pytest.raises(InputError, match="seed"):
        mechanism.simulate(secret, seed=seed)


def test_numpy_seeds_do_not_reach_secure_noise(mechanism: LaplaceMechanism) -> None:
    outputs = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        outputs.append(mechanism.perturb_public(np.zeros(3)).tolist())
    assert outputs[0] != outputs[1]


def _draw_into(queue: Any) -> None:
    queue.put(LaplaceMechanism(alpha=1.0).perturb_public(np.zeros(4)).tolist())


def test_forked_processes_draw_different_noise(mechanism: LaplaceMechanism) -> None:
    mechanism.perturb_public(np.zeros(4))
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    processes = [fork.Process(target=_draw_into, args=(queue,)) for _ in range(4)]
    for process in processes:
        process.start()
    draws = [tuple(queue.get(timeout=30)) for _ in processes]
    for process in processes:
        process.join()
    draws.append(tuple(mechanism.perturb_public(np.zeros(4)).tolist()))
    assert len({value for draw in draws for value in draw}) == 20


def test_the_sampler_is_given_only_what_it_can_handle() -> None:
    noise = ExactLaplace(size=2, scale=1.0)
    for values in ([1.0], [1.0, 2.0, 3.0], [1.0, math.nan], [1.0, math.inf]):
        with pytest.raises(InputError, match="2 finite numbers"):
            noise.add_to(np.array(values))


def test_opendp_features_stay_as_they_were() -> None:
    before = set(opendp_features.GLOBAL_FEATURES)
    ExactLaplace(size=1, scale=1.0)
    assert set(opendp_features.GLOBAL_FEATURES) == before


def test_closed_forms_by_hand() -> None:
    mechanism = LaplaceMechanism(alpha=6.0, epsilon=2.0)
    assert mechanism.scale == 3.0
    assert mechanism.variance == 18.0
    assert mechanism.expected_l1_error(10) == 30.0
    assert mechanism.quantile(0.5) == 0.0
    assert mechanism.quantile(0.75) == pytest.approx(3.0 * math.log(2.0))
    assert mechanism.quantile(0.25) == pytest.approx(-3.0 * math.log(2.0))
    assert mechanism.error_within(1.0 - math.exp(-2.0)) == pytest.approx(6.0)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True])
def test_errors_need_a_dimension(dimension: Any) -> None:
    mechanism = LaplaceMechanism(alpha=1.0)
    for form in (
        mechanism.expected_l1_error,
        mechanism.expected_l2_error,
    ):
        with pytest.raises(InputError, match="dimension"):
            form(dimension)


def test_sums_beyond_all_floats_are_the_largest_float() -> None:
    largest = np.finfo(np.float64).max
    noisy = LaplaceMechanism(alpha=1e308).perturb_public(np.full(200, largest))
    assert np.isfinite(noisy).all()
    assert (noisy == largest).any()
    assert LaplaceMechanism(alpha=1e200).variance == math.inf


def test_public_values_must_be_numbers(mechanism: LaplaceMechanism) -> None:
    for values in (["a"], [[1.0], [1.0, 2.0]], [None], [math.nan]):
        with pytest.raises(InputError, match="numbers"):
            mechanism.perturb_public(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1, math.nan, "0.5", None])
def test_quantiles_need_probabilities(probability: Any) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        LaplaceMechanism(alpha=1.0).quantile(probability)


@pytest.mark.parametrize("dimension", [1, 2, 50])
def test_expected_l2_error_agrees_with_simulation(dimension: int) -> None:
    mechanism = LaplaceMechanism(alpha=2.0)
    norms = np.linalg.norm(np.random.default_rng(5).laplace(scale=2.0, size=(100_000, dimension)), axis=1)
    error = 6.0 * float(norms.std()) / math.sqrt(len(norms))
    assert mechanism.expected_l2_error(dimension) == pytest.approx(float(norms.mean()), abs=error)
    assert mechanism.expected_l2_error(dimension) <= 2.0 * math.sqrt(2 * dimension)


def test_expected_l2_error_of_one_entry_is_the_scale() -> None:
    assert LaplaceMechanism(alpha=7.0).expected_l2_error(1) == pytest.approx(7.0, rel=1e-9)


def test_noise_that_leaves_nothing_of_the_data_is_refused_before_the_charge(
    secret: Sensitive, tmp_path: Path
) -> None:
    """Step 3b takes no vector of that size."""
    ledger = Ledger.create(tmp_path / "large.db")
    ledger.grant(DATASET, epsilon=3.0, alpha=1e16, unit="MWh")
    huge = LaplaceMechanism(alpha=1e16)
    said = r"scale of 1e\+16, expected at most 1e\+15"
    with pytest.raises(InputError, match=said):
        huge.release(secret, ledger=ledger, purpose="test")
    with pytest.raises(InputError, match=said):
        huge.simulate(secret, seed=1)
    assert ledger.balance(DATASET).spent == 0
