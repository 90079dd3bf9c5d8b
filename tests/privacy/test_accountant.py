"""One contract for everything that keeps budgets: in memory and on disk."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppsm.errors import BudgetExceededError, InputError
from ppsm.privacy import Accountant, Balance, Ledger, NoiseSource, ReleaseRecord, price
from ppsm.privacy.accountant import exact_sum
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


@dataclass(frozen=True)
class Keeper:
    """What the contract needs of a keeper of budgets."""

    grant: Callable[[str, float, float | None], Balance]
    charge: Callable[[ReleaseRecord], object]
    balance: Callable[[str], Balance]


@pytest.fixture(params=["accountant", "ledger"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
    if request.param == "accountant":
        accountant = Accountant()
        return Keeper(
            lambda dataset, epsilon, alpha: accountant.grant(
                dataset, Decimal(str(epsilon)), alpha=alpha, unit=None if alpha is None else "MWh"
            ),
            accountant.charge,
            accountant.balance,
        )
    ledger = Ledger.create(tmp_path / "ledger.db")
    return Keeper(
        lambda dataset, epsilon, alpha: ledger.grant(
            dataset, epsilon=epsilon, alpha=alpha, unit=None if alpha is None else "MWh"
        ),
        ledger.spend,
        ledger.balance,
    )


def test_losses_of_one_data_set_add_up(keeper: Keeper) -> None:
    keeper.grant("a", 3.0, 100.0)
    keeper.charge(record())
    keeper.charge(record(epsilon=0.5))
    assert keeper.balance("a") == Balance("a", 100.0, "MWh", Decimal("3.0"), Decimal("1.5"))
    assert keeper.balance("a").left == Decimal("1.5")


def test_independent_data_sets_do_not_add(keeper: Keeper) -> None:
    for dataset in ("a", "b"):
        keeper.grant(dataset, 1.0, 100.0)
        keeper.charge(record(dataset=dataset))
    assert keeper.balance("a").left == keeper.balance("b").left == 0


def test_ten_tenths_are_one(keeper: Keeper) -> None:
    keeper.grant("a", 1.0, 100.0)
    for _ in range(10):
        keeper.charge(record(epsilon=0.1))
    assert keeper.balance("a").left == 0
    with pytest.raises(BudgetExceededError):
        keeper.charge(record(epsilon=1e-9))


def test_an_overspend_says_spent_asked_left_and_the_remedy(keeper: Keeper) -> None:
    keeper.grant("a", 1.0, 100.0)
    keeper.charge(record(epsilon=0.75))
    with pytest.raises(BudgetExceededError) as caught:
        keeper.charge(record(epsilon=0.5))
    for part in ("spent 0.75 of 1.0", "asked 0.5", "left 0.25", "ppsm ledger grant LEDGER a --epsilon 0.25"):
        assert part in str(caught.value)
    assert keeper.balance("a").spent == Decimal("0.75")


def test_grants_add_up(keeper: Keeper) -> None:
    keeper.grant("a", 1.0, 100.0)
    assert keeper.grant("a", 0.5, None).granted == Decimal("1.5")


def test_no_grant_no_release(keeper: Keeper) -> None:
    with pytest.raises(BudgetExceededError, match="no privacy budget"):
        keeper.charge(record())


def test_the_first_grant_says_its_alpha_and_later_ones_keep_it(keeper: Keeper) -> None:
    with pytest.raises(InputError, match="alpha"):
        keeper.grant("a", 1.0, None)
    keeper.grant("a", 1.0, 100.0)
    with pytest.raises(InputError, match=r"kept at alpha = 100\.0 MWh"):
        keeper.grant("a", 1.0, 10.0)


def test_releases_are_priced_at_the_alpha_of_the_budget(keeper: Keeper) -> None:
    keeper.grant("a", 11.0, 100.0)
    keeper.charge(record(alpha=1000.0, epsilon=1.0))
    assert keeper.balance("a").spent == Decimal("0.1")
    keeper.charge(record(alpha=10.0, epsilon=1.0))
    assert keeper.balance("a").spent == Decimal("10.1")
    with pytest.raises(BudgetExceededError):
        keeper.charge(record(alpha=1.0, epsilon=1.0))


def test_data_in_another_unit_are_refused(keeper: Keeper) -> None:
    keeper.grant("a", 5.0, 100.0)
    with pytest.raises(InputError, match="kept in MWh, found data in kWh"):
        keeper.charge(record(unit="kWh"))
    assert keeper.balance("a").spent == 0


def test_seeded_noise_has_no_price(keeper: Keeper) -> None:
    keeper.grant("a", 5.0, 100.0)
    with pytest.raises(InputError, match="subtracted"):
        keeper.charge(record(seed=3))
    assert keeper.balance("a").spent == 0


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
