"""A total measured beside the entries: added up exactly, charged with them, noise of its own."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppsm.errors import BudgetExceededError, FileFormatError, InputError, PrivacyError
from ppsm.privacy import LaplaceMechanism, Ledger, Released, ReleaseRecord, Sensitive, price
from ppsm.privacy.measurements import (
    Split,
    _held_at_bounds,
    best_share,
    exact_totals,
    on_grid,
    rounding,
    zone_numbers,
)
from ppsm.privacy.tuning import TUNING

VALUES = [412.0, 87.5, 1290.0]
ENTRY = st.floats(0.0, 1e9)
WIDE = (np.zeros(41), np.full(41, np.inf))


def secret(values: list[float] | None = None) -> Sensitive:
    return Sensitive(VALUES if values is None else values, dataset="d", unit="MWh")


def total(values: list[float], alpha: float) -> float:
    return float(exact_totals(np.array(values), alpha)[0])


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


@pytest.mark.parametrize(("entries", "share"), [(1, 0.0), (4, 0.0), (12, 0.0), (16, 0.45), (40, 0.5)])
def test_of_many_entries_the_total_gets_half_by_hand(entries: int, share: float) -> None:
    """Wide bounds say nothing: the share s makes (1 - s)^2 (s^2 + (1 - s)^2 / n) the largest.

    Of 12 that is 1/12 at 0 and 0.36 x (0.16 + 0.03) = 0.068 at 0.4; of 16 it is 1/16 at 0 and 0.067 at 0.45.
    """
    assert best_share(100.0, np.zeros(entries), np.full(entries, 1e9)) == share


def test_many_entries_share_equally_with_their_total() -> None:
    assert best_share(10.0, *WIDE) == 0.5
    assert best_share(1e-6, *WIDE) == 0.5


def test_of_few_entries_the_noisy_sum_is_good_enough() -> None:
    for entries in (1, 2, 8):
        assert best_share(10.0, np.zeros(entries), np.full(entries, np.inf)) == 0.0


@pytest.mark.parametrize("width", [0.1, 3.0, 10.0, 20.0, 50.0, 100.0, 1e6])
def test_public_bounds_leave_few_entries_their_epsilon(width: float) -> None:
    """Noise for the rest of epsilon would carry most of them to their bounds, where step 3b puts them."""
    for entries in (1, 2, 3, 4, 6):
        assert best_share(10.0, np.zeros(entries), np.full(entries, width)) == 0.0


def test_bounds_that_know_the_entries_leave_epsilon_to_the_total() -> None:
    shares = [best_share(scale, np.zeros(41), np.full(41, 100.0)) for scale in (1.0, 10.0, 100.0)]
    assert shares == sorted(shares)
    assert shares[-1] == max(TUNING.shares)


def test_nothing_is_measured_beside_what_bounds_say_of_the_total_too() -> None:
    assert best_share(1e4, np.zeros(41), np.full(41, 100.0)) == 0.0
    assert best_share(1.0, np.ones(41), np.ones(41)) == 0.0


def test_noise_that_is_held_at_bounds_by_simulation() -> None:
    rng = np.random.default_rng(4)
    widths = np.array([1e-4, 0.3, 2.0, 9.0, np.inf])
    errors, biases = _held_at_bounds(widths)
    for width, error, bias in zip(widths[1:-1], errors[1:-1], biases[1:-1], strict=True):
        truth = width * (np.arange(400.0)[:, None] + 0.5) / 400
        off = np.clip(truth + rng.laplace(size=(400, 4000)), 0.0, width) - truth
        assert np.square(off).mean() == pytest.approx(error, rel=0.03)
        assert np.square(off.mean(axis=1)).mean() == pytest.approx(bias, rel=0.1)
    # Between bounds that leave nothing of it, and without bounds.
    assert (errors[0], biases[0]) == pytest.approx((1e-8 / 3, 1e-8 / 12))
    assert (errors[-1], biases[-1]) == (2.0, 0.0)


def test_the_split_is_no_worse_than_its_neighbours() -> None:
    """By simulation, on entries that are uniform between their bounds: the product of both mean errors."""
    rng = np.random.default_rng(3)
    upper, scale = np.full(41, 40.0), 1.0

    def product(share: float) -> float:
        truth = rng.uniform(0.0, upper, (1500, 41))
        entries = truth + rng.laplace(scale=scale / (1 - share), size=truth.shape)
        total = truth.sum(axis=1) + rng.laplace(scale=scale / share, size=len(truth))
        ratio = (share / (1 - share)) ** 2
        off = (total - entries.sum(axis=1)) * ratio / (1 + 41 * ratio)
        found = np.clip(entries + off[:, None], 0.0, upper)
        return float(np.square(found - truth).mean() * np.square(total - truth.sum(axis=1)).mean())

    best = best_share(scale, np.zeros(41), upper)
    assert product(best) < 0.8 * min(product(0.25), product(0.75))


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
    change = abs(Fraction(total(other, alpha)) - Fraction(total(values, alpha)))
    assert change <= on_grid(float(distance), alpha) or distance > Fraction(alpha)


def test_halves_of_the_grid_move_by_no_more_than_their_entry() -> None:
    # Rounded to even, half a step would go down and one and a half up: two steps for one.
    step = 2.0**-20
    alpha = 1.0 + step
    first, second = (total([value], alpha) for value in (step / 2, step / 2 + alpha))
    assert second - first <= float(on_grid(alpha, alpha))


def test_a_total_is_off_by_half_a_step_an_entry_at_most_by_hand() -> None:
    """At alpha = 2^20 a step of the grid is one: 0.9 is nearer to one than to none."""
    alpha = 2.0**20
    assert rounding(3, alpha) == 1.5
    assert total([0.9, 0.9, 0.9], alpha) == 3.0
    assert total([0.4, 0.4, 0.4], alpha) == 0.0
    assert total([-0.9, 0.5, 7.0], alpha) == -1.0 + 1.0 + 7.0


def test_a_sum_of_floats_would_move_by_more() -> None:
    # Beside 1e16, where floats are 2 apart, 1 + 1e16 rounds to 1e16 and 1 + alpha + 1e16 to 1e16 + 2.
    alpha = 0.25
    first, second = [1e16, 1.0], [1e16, 1.0 + alpha]
    assert sum(second) - sum(first) > alpha
    assert total(second, alpha) - total(first, alpha) <= float(on_grid(alpha, alpha))
    assert on_grid(alpha, alpha) <= Fraction(alpha) * (1 + Fraction(1, 2**19))


def test_totals_are_what_they_are() -> None:
    assert total(VALUES, 10.0) == pytest.approx(sum(VALUES), abs=1e-4)


def test_one_charge_covers_both_measurements(ledger: Ledger) -> None:
    mechanism = LaplaceMechanism(alpha=10.0, epsilon=1.0, total_share=0.6)
    released = mechanism.release(secret(), ledger=ledger, purpose="test")
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "spend"]
    assert ledger.balance("d").spent == Decimal(1)
    record = released.record
    assert record.total_scale is not None
    assert len(released.totals) == 1
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
    with pytest.raises(PrivacyError, match="what was measured"):
        Released.from_dict({**content, "totals": []})
    without = LaplaceMechanism(alpha=10.0).release(secret(), ledger=ledger, purpose="test").to_dict()
    with pytest.raises(PrivacyError, match="what was measured"):
        Released.from_dict({**without, "totals": [1800.0]})


def test_a_total_travels_with_its_release_and_not_with_what_is_derived(ledger: Ledger) -> None:
    released = LaplaceMechanism(alpha=10.0, total_share=0.5).release(secret(), ledger=ledger, purpose="test")
    again = Released.from_json(released.to_json())
    assert again.totals == released.totals
    derived = again.derive(again.values + 1.0, "a step")
    assert derived.totals == ()
    assert Released.from_json(derived.to_json()).record == released.record


def test_the_total_has_noise_of_its_own() -> None:
    mechanism = LaplaceMechanism(alpha=10.0, total_share=0.8)
    runs = [mechanism.simulate(secret(), seed=seed) for seed in range(2000)]
    on_total = np.array([run.totals[0] for run in runs]) - sum(VALUES)
    on_entries = np.array([run.values for run in runs]) - VALUES
    assert np.abs(on_total).mean() == pytest.approx(12.5, rel=0.1)
    assert np.abs(on_entries).mean() == pytest.approx(50.0, rel=0.1)
    for other in (*on_entries.T, on_entries.sum(axis=1)):
        assert abs(np.corrcoef(on_total, other)[0, 1]) < 0.1


@given(
    zones=st.lists(st.integers(0, 3), min_size=2, max_size=8).map(
        lambda some: zone_numbers(list(map(str, some)))
    ),
    alpha=st.floats(1e-3, 1e3),
    data=st.data(),
)
def test_an_entry_moves_the_total_of_its_own_zone_alone(
    zones: tuple[int, ...], alpha: float, data: st.DataObject
) -> None:
    size = len(zones) or 2
    values = np.array(data.draw(st.lists(ENTRY, min_size=size, max_size=size)))
    index, other = data.draw(st.integers(0, size - 1)), values.copy()
    other[index] = values[index] + alpha
    moved = exact_totals(other, alpha, zones) - exact_totals(values, alpha, zones)
    assert np.delete(moved, zones[index] if zones else 0).tolist() == [0.0] * (moved.size - 1)
    if Fraction(other[index]) - Fraction(values[index]) <= Fraction(alpha):
        assert np.abs(moved).sum() <= float(on_grid(alpha, alpha))


def test_the_totals_of_zones_cost_what_one_total_costs(ledger: Ledger) -> None:
    mechanism = LaplaceMechanism(alpha=10.0, total_share=0.6, zones=(0, 1, 0))
    released = mechanism.release(secret(), ledger=ledger, purpose="test")
    assert len(released.totals) == 2
    assert released.zones == (0, 1, 0)
    assert ledger.balance("d").spent == price(released.record, 10.0) == Decimal(1)
    assert released.total_scale == LaplaceMechanism(alpha=10.0, total_share=0.6).total_scale
    assert ReleaseRecord.from_dict(released.record.to_dict()) == released.record
    again = Released.from_json(released.to_json())
    assert (again.totals, again.zones) == (released.totals, released.zones)
    with pytest.raises(PrivacyError, match="what was measured"):
        Released.from_dict({**released.to_dict(), "totals": [1.0]})
    with pytest.raises(PrivacyError, match="what was measured"):
        Released.from_dict({**released.to_dict(), "totals": [1.0, 2.0, 3.0]})


def test_each_zone_has_noise_of_its_own() -> None:
    mechanism = LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 1, 0))
    runs = np.array([mechanism.simulate(secret(), seed=seed).totals for seed in range(2000)])
    noise = runs - [VALUES[0] + VALUES[2], VALUES[1]]
    assert np.abs(noise).mean(axis=0) == pytest.approx([20.0, 20.0], rel=0.1)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.1


@pytest.mark.parametrize("zones", [(0, 1), (0, 2, 0), (0, -1, 0), (1, 1, 1), (0, True, 0), (0, 1, 0, 1)])
def test_zones_that_are_none_are_refused_before_a_charge(zones: tuple[int, ...], ledger: Ledger) -> None:
    with pytest.raises(InputError, match="zone"):
        LaplaceMechanism(alpha=10.0, total_share=0.5, zones=zones).release(
            secret(), ledger=ledger, purpose="test"
        )
    assert ledger.balance("d").spent == 0


@pytest.mark.parametrize("zones", [None, 5, "010", (0.0, 1.0, 0.0), [[0], [1], [0]], (0, 1, 2**60)])
def test_zones_of_other_types_are_told_in_one_sentence(zones: Any) -> None:
    with pytest.raises(InputError, match="the number of its zone, counted from 0 and without gaps"):
        LaplaceMechanism(alpha=10.0, total_share=0.5, zones=zones)


def test_zones_may_come_as_an_array() -> None:
    zones = LaplaceMechanism(alpha=10.0, total_share=0.5, zones=np.array([0, 1, 0])).zones  # type: ignore[arg-type]
    assert zones == (0, 1, 0)
    assert all(type(zone) is int for zone in zones)


@pytest.mark.parametrize(
    "zones",
    [None, 5, True, {}, "", "010", [0.0, 1.0, 0.0], [0, 1, True], [0, 1, None], [0, 1, 10**12], [[]] * 3],
)
def test_zones_of_a_crafted_file_are_refused_at_once(zones: Any) -> None:
    """A number without end is refused as well, before anybody counts up to it."""
    content = (
        LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 1, 0)).simulate(secret(), seed=1).to_dict()
    )
    with pytest.raises(FileFormatError, match="zones") as caught:
        Released.from_dict({**content, "record": {**content["record"], "zones": zones}})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "totals", [None, "12", ["1", "2"], [True, False], {"1": 1.0, "2": 2.0}, [[1.0], [2.0]]]
)
def test_totals_that_are_no_numbers_are_refused(totals: Any) -> None:
    content = (
        LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 1, 0)).simulate(secret(), seed=1).to_dict()
    )
    with pytest.raises(FileFormatError, match="totals of the release are not a list of numbers"):
        Released.from_dict({**content, "totals": totals})


def test_a_ledger_from_before_there_were_zones_is_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_zones(record: ReleaseRecord) -> dict[str, Any]:
        return {name: value for name, value in now(record).items() if name != "zones"}

    now = ReleaseRecord.to_dict
    with monkeypatch.context() as patched:
        patched.setattr(ReleaseRecord, "to_dict", without_zones)
        LaplaceMechanism(alpha=10.0, total_share=0.5).release(secret(), ledger=ledger, purpose="test")
    assert "zones" not in ledger.entries()[-1].detail
    LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 1, 0)).release(
        secret(), ledger=ledger, purpose="test"
    )
    assert ledger.verify().findings == ()
    assert ledger.composed("d") > 0


def test_without_totals_zones_say_nothing() -> None:
    assert LaplaceMechanism(alpha=10.0, zones=(0, 1, 0)).zones == ()
    record = LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 1, 0)).simulate(secret(), seed=1).record
    with pytest.raises(FileFormatError, match="no totals"):
        ReleaseRecord.from_dict({**record.to_dict(), "total_scale": None})
    # All in one zone is one total.
    assert LaplaceMechanism(alpha=10.0, total_share=0.5, zones=(0, 0, 0)).zones == ()
    assert zone_numbers(["north", "south", "north"]) == (0, 1, 0)
    assert zone_numbers(["north", "north"]) == zone_numbers([]) == ()
