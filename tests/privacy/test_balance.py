"""Budgets: what a ledger grants, charges and refuses, and the balances it does so with."""

from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppsm.errors import BudgetExceededError, InputError
from ppsm.privacy import Balance, Ledger, NoiseSource, ReleaseRecord, price
from ppsm.privacy.balance import exact_sum
from ppsm.privacy.noise import scale_for


def record(
    *,
    epsilon: float = 1.0,
    alpha: float = 100.0,
    dataset: str = "a",
    seed: int | None = None,
    unit: str = "MWh",
) -> ReleaseRecord:
    return ReleaseRecord(
        mechanism="laplace",
        alpha=alpha,
        epsilon=epsilon,
        scale=scale_for(alpha, epsilon),
        unit=unit,
        dimension=5,
        dataset=dataset,
        purpose="test",
        source=NoiseSource.SECURE if seed is None else NoiseSource.SEEDED,
        time=datetime.now(UTC),
        seed=seed,
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db")


def granted(ledger: Ledger, dataset: str, epsilon: float, alpha: float | None) -> Balance:
    unit = None if alpha is None else "MWh"
    return ledger.grant(dataset, epsilon=epsilon, alpha=alpha, unit=unit)


def test_losses_of_one_data_set_add_up(ledger: Ledger) -> None:
    granted(ledger, "a", 3.0, 100.0)
    ledger.spend(record())
    ledger.spend(record(epsilon=0.5))
    assert ledger.balance("a") == Balance("a", 100.0, "MWh", Decimal("3.0"), Decimal("1.5"))
    assert ledger.balance("a").left == Decimal("1.5")


def test_independent_data_sets_do_not_add(ledger: Ledger) -> None:
    for dataset in ("a", "b"):
        granted(ledger, dataset, 1.0, 100.0)
        ledger.spend(record(dataset=dataset))
    assert ledger.balance("a").left == ledger.balance("b").left == 0


def test_ten_tenths_are_one(ledger: Ledger) -> None:
    granted(ledger, "a", 1.0, 100.0)
    for _ in range(10):
        ledger.spend(record(epsilon=0.1))
    assert ledger.balance("a").left == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(record(epsilon=1e-9))


def test_an_overspend_says_spent_asked_left_and_the_remedy(ledger: Ledger) -> None:
    granted(ledger, "a", 1.0, 100.0)
    ledger.spend(record(epsilon=0.75))
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend(record(epsilon=0.5))
    for part in ("spent 0.75 of 1.0", "asked 0.5", "left 0.25", "ppsm ledger grant LEDGER a --epsilon 0.25"):
        assert part in str(caught.value)
    assert ledger.balance("a").spent == Decimal("0.75")


def test_the_grant_that_a_refusal_suggests_is_enough(ledger: Ledger) -> None:
    """Grants are floats, and what is missing need not be one."""
    granted(ledger, "a", 0.1, 100.0)
    release = record(alpha=70.0, epsilon=0.9)
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend(release)
    suggested = str(caught.value).rpartition("--epsilon ")[2].rstrip("'.")
    granted(ledger, "a", float(suggested), None)
    ledger.spend(release)
    assert 0 <= ledger.balance("a").left < Decimal("1e-15")


def test_budgets_stay_numbers(ledger: Ledger) -> None:
    granted(ledger, "a", 1.7e308, 100.0)
    with pytest.raises(InputError, match="beyond all numbers"):
        granted(ledger, "a", 1.7e308, None)
    assert ledger.balance("a").granted == Decimal("1.7e308")


def test_grants_add_up(ledger: Ledger) -> None:
    granted(ledger, "a", 1.0, 100.0)
    assert granted(ledger, "a", 0.5, None).granted == Decimal("1.5")


def test_no_grant_no_release(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError, match="no privacy budget"):
        ledger.spend(record())


def test_the_first_grant_says_its_alpha_and_later_ones_keep_it(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="alpha"):
        granted(ledger, "a", 1.0, None)
    granted(ledger, "a", 1.0, 100.0)
    with pytest.raises(InputError, match=r"kept at alpha = 100\.0 MWh"):
        granted(ledger, "a", 1.0, 10.0)


def test_releases_are_priced_at_the_alpha_of_the_budget(ledger: Ledger) -> None:
    granted(ledger, "a", 11.0, 100.0)
    ledger.spend(record(alpha=1000.0, epsilon=1.0))
    assert ledger.balance("a").spent == Decimal("0.1")
    ledger.spend(record(alpha=10.0, epsilon=1.0))
    assert ledger.balance("a").spent == Decimal("10.1")
    with pytest.raises(BudgetExceededError):
        ledger.spend(record(alpha=1.0, epsilon=1.0))


def test_data_in_another_unit_are_refused(ledger: Ledger) -> None:
    granted(ledger, "a", 5.0, 100.0)
    with pytest.raises(InputError, match="kept in MWh, found data in kWh"):
        ledger.spend(record(unit="kWh"))
    assert ledger.balance("a").spent == 0


def test_seeded_noise_has_no_price(ledger: Ledger) -> None:
    granted(ledger, "a", 5.0, 100.0)
    with pytest.raises(InputError, match="subtracted"):
        ledger.spend(record(seed=3))
    assert ledger.balance("a").spent == 0


def test_the_price_is_never_below_the_exact_loss() -> None:
    release = record(alpha=1.0, epsilon=3.0)
    assert Fraction(1.0) / Fraction(release.scale) <= Fraction(price(release, 1.0)) <= 3


@settings(deadline=None)
@given(st.decimals(-1000, 1000, places=30), st.decimals(-1000, 1000, places=3))
def test_sums_are_exact_in_any_context(first: Decimal, second: Decimal) -> None:
    with localcontext() as context:
        context.prec = 3
        total = exact_sum(first, second)
    with localcontext() as context:
        context.prec = 60
        assert total == first + second


def test_charges_and_grants_must_be_positive() -> None:
    with pytest.raises(InputError, match="more than zero"):
        Balance("a", 1.0, "MWh").grant(Decimal(-1))
    with pytest.raises(InputError, match="more than zero"):
        Balance("a", 1.0, "MWh", Decimal(1)).charge(Decimal(0))
