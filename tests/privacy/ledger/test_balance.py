"""Budgets: what a ledger grants, charges and refuses, and the balances it does so with."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ppsm.errors import BudgetExceededError, InputError
from ppsm.privacy import Balance, Ledger, LedgerKeeper, NoiseSource, ReleaseRecord, price
from ppsm.privacy.ledger.exact import exact_difference, exact_sum, in_words
from ppsm.privacy.ledger.units import converted, ratio
from ppsm.privacy.noise import scale_for
from ppsm.privacy.released import WindowSpend


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
def ledger(tmp_path: Path) -> LedgerKeeper:
    return Ledger.create(tmp_path / "ledger.db")


def granted(ledger: LedgerKeeper, dataset: str, epsilon: float, alpha: float | None) -> Balance:
    unit = None if alpha is None else "MWh"
    return ledger.grant(dataset, epsilon=epsilon, alpha=alpha, unit=unit)


def test_losses_of_one_data_set_add_up(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 3.0, 100.0)
    ledger.spend(record())
    ledger.spend(record(epsilon=0.5))
    assert ledger.balance("a") == Balance("a", 100.0, "MWh", Decimal("3.0"), Decimal("1.5"))
    assert ledger.balance("a").left == Decimal("1.5")


def test_independent_data_sets_do_not_add(ledger: LedgerKeeper) -> None:
    for dataset in ("a", "b"):
        granted(ledger, dataset, 1.0, 100.0)
        ledger.spend(record(dataset=dataset))
    assert ledger.balance("a").left == ledger.balance("b").left == 0


def test_ten_tenths_are_one(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1.0, 100.0)
    for _ in range(10):
        ledger.spend(record(epsilon=0.1))
    assert ledger.balance("a").left == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend(record(epsilon=1e-9))


def test_an_overspend_says_spent_asked_left_and_the_remedy(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1.0, 100.0)
    ledger.spend(record(epsilon=0.75))
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend(record(epsilon=0.5))
    for part in ("spent 0.75 of 1.0", "asked 0.5", "left 0.25", " a --epsilon 0.25'"):
        assert part in str(caught.value)
    assert ledger.balance("a").spent == Decimal("0.75")


def test_the_grant_that_a_refusal_suggests_is_enough(ledger: LedgerKeeper) -> None:
    """Grants are floats, and what is missing need not be one."""
    granted(ledger, "a", 0.1, 100.0)
    release = record(alpha=70.0, epsilon=0.9)
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend(release)
    epsilon, most = re.findall(r"(?:--epsilon|--most-per-release) ([\d.]+\d)", str(caught.value))
    ledger.grant("a", epsilon=float(epsilon), most_per_release=float(most))
    ledger.spend(release)
    assert 0 <= ledger.balance("a").left < Decimal("1e-15")


def test_budgets_stay_numbers(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1.7e308, 100.0)
    with pytest.raises(InputError, match="beyond all numbers"):
        granted(ledger, "a", 1.7e308, None)
    assert ledger.balance("a").granted == Decimal("1.7e308")


def test_grants_add_up(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1.0, 100.0)
    assert granted(ledger, "a", 0.5, None).granted == Decimal("1.5")


def test_no_grant_no_release(ledger: LedgerKeeper) -> None:
    with pytest.raises(BudgetExceededError, match="no privacy budget"):
        ledger.spend(record())


def test_the_first_grant_says_its_alpha_and_later_ones_keep_it(ledger: LedgerKeeper) -> None:
    with pytest.raises(InputError, match="alpha"):
        granted(ledger, "a", 1.0, None)
    granted(ledger, "a", 1.0, 100.0)
    with pytest.raises(InputError, match=r"kept at alpha = 100\.0 MWh"):
        granted(ledger, "a", 1.0, 10.0)


def test_releases_are_priced_at_the_alpha_of_the_budget(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 11.0, 100.0)
    ledger.spend(record(alpha=1000.0, epsilon=1.0))
    assert ledger.balance("a").spent == Decimal("0.1")
    ledger.grant("a", epsilon=0, most_per_release=10.0)
    ledger.spend(record(alpha=10.0, epsilon=1.0))
    assert ledger.balance("a").spent == Decimal("10.1")
    with pytest.raises(BudgetExceededError):
        ledger.spend(record(alpha=1.0, epsilon=1.0))


def test_data_in_a_unit_that_has_nothing_to_do_with_it_are_refused(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 5.0, 100.0)
    with pytest.raises(InputError, match="kept in MWh, found data in containers"):
        ledger.spend(record(unit="containers"))
    assert ledger.balance("a").spent == 0


def test_a_grant_in_kwh_covers_data_in_mwh(ledger: LedgerKeeper) -> None:
    ledger.grant("a", epsilon=2.0, alpha=100.0, unit="kWh")
    ledger.grant("a", epsilon=1.0, alpha=0.1, unit="MWh")  # the same distance
    ledger.spend(record(alpha=0.1, epsilon=1.0))
    assert ledger.balance("a") == Balance("a", 100.0, "kWh", Decimal("3.0"), Decimal("1.0"))
    with pytest.raises(InputError, match=r"kept at alpha = 100\.0 kWh"):
        ledger.grant("a", epsilon=1.0, alpha=100.0, unit="MWh")
    assert ledger.verify().ok


@example(259871.58510873132)
@given(st.floats(1e-6, 1e6))
def test_a_distance_is_never_made_shorter_by_its_unit(alpha: float) -> None:
    for unit, wanted in (("kWh", "MWh"), ("MWh", "kWh"), ("GWh", "Wh")):
        found = converted(alpha, unit, wanted)
        factor = ratio(unit, wanted)
        assert found is not None
        assert factor is not None
        assert Fraction(Decimal(repr(found))) >= Fraction(Decimal(repr(alpha))) * factor


def test_one_release_costs_no_more_than_its_grant_allows(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1e6, 100.0)
    with pytest.raises(BudgetExceededError, match="at once") as caught:
        ledger.spend(record(epsilon=2.0))
    assert str(caught.value).endswith("a --epsilon 0.0 --most-per-release 2.0'.")
    assert ledger.balance("a").spent == 0
    ledger.grant("a", epsilon=0.0, most_per_release=2.0)
    ledger.spend(record(epsilon=2.0))
    assert ledger.balance("a").most_per_release == 2
    assert ledger.verify().ok


def test_who_opens_a_ledger_to_spend_cannot_grant(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 1.0, 100.0)
    spender = Ledger(ledger.path)
    assert not hasattr(spender, "grant")
    spender.spend(record())
    written = [(entry.kind, bool(entry.who), bool(entry.time)) for entry in spender.entries()]
    assert written == [("genesis", True, True), ("grant", True, True), ("spend", True, True)]


def test_a_receipt_says_what_the_data_set_has_lost(
    ledger: LedgerKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    days = [0, 0, 0, 100, 390, 399, 399.5, 400]
    clock = iter([start + timedelta(days=day) for day in days])
    monkeypatch.setattr("ppsm.privacy.ledger.roles.now", lambda: next(clock))
    book = Ledger.create(ledger.path.with_name("dated.db"))
    for dataset in ("a", "b"):
        book.grant(dataset, epsilon=10.0, alpha=100.0, unit="MWh")
    names = ["a", "a", "b", "a", "a"]
    receipts = [book.spend(record(epsilon=0.5, dataset=name)) for name in names]
    account = receipts[-1].account
    assert (account.alpha, account.unit, account.spent) == (100.0, "MWh", Decimal("2.0"))
    assert account.windows == (
        WindowSpend(1, Decimal("1.0")),
        WindowSpend(30, Decimal("1.5")),
        WindowSpend(365, Decimal("2.0")),
    )
    assert all(book.confirm_receipt(each) for each in receipts)
    assert not book.confirm_receipt(replace(receipts[0], account=account))


def test_seeded_noise_has_no_price(ledger: LedgerKeeper) -> None:
    granted(ledger, "a", 5.0, 100.0)
    with pytest.raises(InputError, match="subtracted"):
        ledger.spend(record(seed=3))
    assert ledger.balance("a").spent == 0


def test_the_price_is_never_below_the_exact_loss() -> None:
    release = record(alpha=1.0, epsilon=3.0)
    assert Fraction(1.0) / Fraction(release.scale) <= Fraction(price(release, 1.0)) <= 3


@given(st.decimals(-1000, 1000, places=30), st.decimals(-1000, 1000, places=3))
def test_sums_are_exact_in_any_context(first: Decimal, second: Decimal) -> None:
    with localcontext() as context:
        context.prec = 3
        total, difference = exact_sum(first, second), exact_difference(first, second)
    with localcontext() as context:
        context.prec = 60
        assert total == first + second
        assert difference == first - second


def test_a_program_that_computes_with_few_digits_overspends_nothing(ledger: LedgerKeeper) -> None:
    """With one digit a minus in front of 14 makes it 10, and half a release is left where none is."""
    granted(ledger, "a", 14.5, 100.0)
    with localcontext() as context:
        context.prec = 1
        for _ in range(14):
            ledger.spend(record())
        with pytest.raises(BudgetExceededError, match=r"asked 1\.0, left 0\.5"):
            ledger.spend(record())
    assert ledger.verify().ok


def test_a_loss_is_never_told_as_less_than_it_is() -> None:
    assert in_words(Decimal("0.3000")) == "0.3"
    assert in_words(Decimal(1000)) == "1000"
    assert in_words(Decimal("0.3333333333333333")) == "0.3333333333333333"
    assert in_words(Decimal(0.00001)) == "0.000010000000000000001"  # noqa: RUF032 - all digits of the float
    assert in_words(Decimal("2.0000000000000000000000001")) == "2.0000000000000001"


def test_charges_and_grants_must_be_positive() -> None:
    with pytest.raises(InputError, match="more than zero"):
        Balance("a", 1.0, "MWh").grant(Decimal(-1))
    with pytest.raises(InputError, match="more than zero"):
        Balance("a", 1.0, "MWh", Decimal(1)).charge(Decimal(0))
