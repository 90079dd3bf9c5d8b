"""A total measured beside the entries: added up exactly, charged with them, noise of its own."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppsm.errors import BudgetExceededError, FileFormatError, InputError, PrivacyError
from ppsm.privacy import LaplaceMechanism, Ledger, Released, ReleaseRecord, Sensitive, price
from ppsm.privacy.measurements import Split, exact_total, on_grid

VALUES = [412.0, 87.5, 1290.0]
ENTRY = st.floats(0.0, 1e9)


def secret(values: list[float] | None = None) -> Sensitive:
    return Sensitive(VALUES if values is None else values, dataset="d", unit="MWh")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger.create(tmp_path / "ledger.db")
    book.grant("d", epsilon=2.0, alpha=10.0, unit="MWh")
    return book


@given(epsilon=st.floats(1e-6, 1e3), share=st.floats(0.001, 0.999))
def test_a_split_adds_up_to_epsilon_and_not_to_more(epsilon: float, share: float) -> None:
    split = Split.of(epsilon, share)
    assert split.total is not None
    whole = Fraction(repr(split.entries)) + Fraction(repr(split.total))
    assert whole <= Fraction(repr(epsilon))
    assert float(whole) == pytest.approx(epsilon, rel=1e-12)
    assert split.total == pytest.approx(share * epsilon, rel=1e-5)


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan, True, 1.0 - 1e-9])
def test_a_share_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="share"):
        LaplaceMechanism(alpha=1.0, total_share=share)


@given(
    values=st.lists(ENTRY, min_size=1, max_size=6), moved=ENTRY, alpha=st.floats(1e-3, 1e3), data=st.data()
)
def test_the_total_moves_by_no_more_than_its_entry(
    values: list[float], moved: float, alpha: float, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(values) - 1))
    other = list(values)
    # As near as floats allow to exactly alpha away.
    other[index] = values[index] + alpha if moved > values[index] else max(0.0, values[index] - alpha)
    distance = abs(Fraction(other[index]) - Fraction(values[index]))
    change = abs(
        Fraction(exact_total(np.array(other), alpha)) - Fraction(exact_total(np.array(values), alpha))
    )
    assert change <= on_grid(float(distance), alpha) or distance > Fraction(alpha)


def test_halves_of_the_grid_move_by_no_more_than_their_entry() -> None:
    # Rounded to even, half a step would go down and one and a half up: two steps for one.
    step = 2.0**-20
    alpha = 1.0 + step
    first, second = (exact_total(np.array([value]), alpha) for value in (step / 2, step / 2 + alpha))
    assert second - first <= float(on_grid(alpha, alpha))


def test_a_sum_of_floats_would_move_by_more() -> None:
    # Beside 1e16, where floats are 2 apart, 1 + 1e16 rounds to 1e16 and 1 + alpha + 1e16 to 1e16 + 2.
    alpha = 0.25
    first, second = np.array([1e16, 1.0]), np.array([1e16, 1.0 + alpha])
    assert np.sum(second) - np.sum(first) > alpha
    assert exact_total(second, alpha) - exact_total(first, alpha) <= float(on_grid(alpha, alpha))
    assert on_grid(alpha, alpha) <= Fraction(alpha) * (1 + Fraction(1, 2**19))


def test_totals_are_what_they_are() -> None:
    assert exact_total(np.array(VALUES), 10.0) == pytest.approx(sum(VALUES), abs=1e-4)


def test_one_charge_covers_both_measurements(ledger: Ledger) -> None:
    mechanism = LaplaceMechanism(alpha=10.0, epsilon=1.0, total_share=0.6)
    released = mechanism.release(secret(), ledger=ledger, purpose="test")
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "spend"]
    assert ledger.balance("d").spent == Decimal(1)
    record = released.record
    assert record.total_scale is not None
    assert released.total is not None
    assert (record.scale, record.total_scale) == pytest.approx((25.0, 10 / 0.6), rel=1e-5)
    assert price(record, 10.0) == Decimal(1)
    # Priced at another distance, each measurement is.
    assert float(price(record, 5.0)) == pytest.approx(0.5, rel=1e-5)
    assert ledger.verify().ok
    assert ledger.confirm(released)


def test_nothing_is_drawn_beyond_the_budget(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError):
        LaplaceMechanism(alpha=10.0, epsilon=2.1, total_share=0.5).release(
            secret(), ledger=ledger, purpose="test"
        )
    assert ledger.balance("d").spent == 0


def test_a_record_that_hides_a_measurement_is_refused(ledger: Ledger) -> None:
    released = LaplaceMechanism(alpha=10.0, total_share=0.5).release(secret(), ledger=ledger, purpose="test")
    fields = released.record.to_dict()
    # Noise that was made for all of epsilon, and a total beside it.
    with pytest.raises(FileFormatError, match="loses more than epsilon"):
        ReleaseRecord.from_dict({**fields, "scale": 10.0})
    content = released.to_dict()
    with pytest.raises(PrivacyError, match="whether it was measured"):
        Released.from_dict({**content, "total": None})
    without = LaplaceMechanism(alpha=10.0).release(secret(), ledger=ledger, purpose="test").to_dict()
    with pytest.raises(PrivacyError, match="whether it was measured"):
        Released.from_dict({**without, "total": 1800.0})


def test_a_total_travels_with_its_release_and_not_with_what_is_derived(ledger: Ledger) -> None:
    released = LaplaceMechanism(alpha=10.0, total_share=0.5).release(secret(), ledger=ledger, purpose="test")
    again = Released.from_json(released.to_json())
    assert again.total == released.total
    derived = again.derive(again.values + 1.0, "a step")
    assert derived.total is None
    assert Released.from_json(derived.to_json()).record == released.record


def test_the_total_has_noise_of_its_own() -> None:
    mechanism = LaplaceMechanism(alpha=10.0, total_share=0.8)
    runs = [mechanism.simulate(secret(), seed=seed) for seed in range(2000)]
    on_total = np.array([run.total for run in runs], dtype=np.float64) - sum(VALUES)
    on_entries = np.array([run.values for run in runs]) - VALUES
    assert np.abs(on_total).mean() == pytest.approx(12.5, rel=0.1)
    assert np.abs(on_entries).mean() == pytest.approx(50.0, rel=0.1)
    for other in (*on_entries.T, on_entries.sum(axis=1)):
        assert abs(np.corrcoef(on_total, other)[0, 1]) < 0.1
