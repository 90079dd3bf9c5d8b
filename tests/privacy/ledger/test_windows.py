"""Windows of days, recipients, draws and composition in the ledger."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ppsm.errors import BudgetExceededError, InputError, LedgerError
from ppsm.privacy import LaplaceMechanism, Ledger, LedgerKeeper, Released, Sensitive
from ppsm.privacy.distance import DistanceMechanism
from ppsm.privacy.measurements import exact_distance

DATASET = "gas/daily"


def secret(day: str | None) -> Sensitive:
    return Sensitive([5.0, 7.0], dataset=DATASET, unit="MWh", day=day)


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerKeeper:
    keeper = Ledger.create(tmp_path / "ledger.db")
    keeper.grant(DATASET, epsilon=1.0, alpha=10.0, unit="MWh", window=3)
    return keeper


def release(ledger: Ledger, day: str | None, epsilon: float = 0.4, recipient: str | None = None) -> Released:
    noise = LaplaceMechanism(alpha=10.0, epsilon=epsilon)
    return noise.release(secret(day), ledger=ledger, purpose="test", recipient=recipient)


def test_no_window_is_exceeded_in_whatever_order_days_come(ledger: LedgerKeeper) -> None:
    release(ledger, "2026-01-03")
    release(ledger, "2026-01-05")
    # Between the two: the window from the third to the fifth would lose 1.2.
    with pytest.raises(BudgetExceededError, match=r"have lost 0.8, asked 0.4, left 0.2 .* is 2026-01-06"):
        release(ledger, "2026-01-04")
    release(ledger, "2026-01-06")
    release(ledger, "2026-01-02", epsilon=0.2)
    balance = ledger.balance(DATASET)
    assert balance.days.largest(3) == Decimal("0.8")
    assert balance.spent == Decimal("1.4")
    assert ledger.verify().ok


def test_budget_comes_back_on_the_day_that_is_shown(ledger: LedgerKeeper) -> None:
    release(ledger, "2026-01-01", epsilon=1.0)
    balance = ledger.balance(DATASET)
    assert (balance.next_day, balance.comes_back) == (date(2026, 1, 2), date(2026, 1, 4))
    assert balance.left == 0
    with pytest.raises(BudgetExceededError, match="the first day that can is 2026-01-04"):
        release(ledger, "2026-01-02")
    release(ledger, "2026-01-04", epsilon=1.0)


@pytest.mark.parametrize("day", ["0001-01-01", "1899-12-31", "3000-01-01", "9999-12-31"])
def test_a_day_at_the_end_of_the_calendar_is_refused(day: str, ledger: LedgerKeeper) -> None:
    """Its windows would end after the last of all days, and no command could show the budget any more."""
    with pytest.raises(InputError, match="expected one from 1900 to 2999"):
        release(ledger, day)
    for first_or_last in ("1900-01-01", "2999-12-31"):
        release(ledger, first_or_last)
    balance = ledger.balance(DATASET)
    assert (balance.next_day, balance.comes_back) == (date(3000, 1, 1), date(3000, 1, 3))


@pytest.mark.parametrize("window", [0, -1, 36_526, 10**9, 10**30])
def test_a_window_of_more_days_than_anybody_lives_is_refused(window: int, tmp_path: Path) -> None:
    """Each charge would count them all, with the ledger locked for everybody else."""
    keeper = Ledger.create(tmp_path / "other.db")
    with pytest.raises(InputError, match="expected 1 to 36,525"):
        keeper.grant(DATASET, epsilon=1.0, alpha=10.0, unit="MWh", window=window)
    assert keeper.balances() == ()


def test_data_of_no_day_are_refused(ledger: LedgerKeeper) -> None:
    with pytest.raises(InputError, match="do not say of which day"):
        release(ledger, None)


def test_a_window_never_changes(ledger: LedgerKeeper) -> None:
    with pytest.raises(InputError, match="for any 3 consecutive days, found a grant for any 7"):
        ledger.grant(DATASET, epsilon=1.0, window=7)
    assert ledger.grant(DATASET, epsilon=1.0).window == 3


def test_a_recipient_has_a_budget_within_that_of_the_data_set(ledger: LedgerKeeper) -> None:
    with pytest.raises(
        BudgetExceededError,
        match=rf"no privacy budget.* {DATASET} --recipient utility --epsilon 0.4 --window 3'",
    ):
        release(ledger, "2026-01-01", recipient="utility")
    ledger.grant(DATASET, epsilon=0.5, recipient="utility", window=3)
    ledger.grant(DATASET, epsilon=0.9, recipient="trader", window=3)
    release(ledger, "2026-01-01", recipient="utility")
    with pytest.raises(BudgetExceededError, match="for 'utility' does not cover"):
        release(ledger, "2026-01-02", recipient="utility")
    release(ledger, "2026-01-02", recipient="trader")
    # The trader's own budget would cover it, what both could put together does not.
    with pytest.raises(BudgetExceededError, match="'gas/daily' does not cover"):
        release(ledger, "2026-01-03", recipient="trader")
    assert ledger.balance(DATASET, "utility").spent == Decimal("0.4")
    assert ledger.balance(DATASET).spent == Decimal("0.8")
    assert ledger.verify().ok
    again = Ledger(ledger.path)
    assert again.balances() == ledger.balances()


def test_an_open_charge_is_not_charged_again_and_one_draw_of_it_leaves(
    ledger: LedgerKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "note_draw", lambda *_: None)
        unseen = release(ledger, "2026-01-01")
    released = release(Ledger(ledger.path), "2026-01-01")
    assert released.receipt is not None
    assert released.receipt == unseen.receipt
    assert ledger.balance(DATASET).spent == Decimal("0.4")
    ledger.note_draw(released.receipt, released.noise_content)
    with pytest.raises(LedgerError, match="must not leave"):
        ledger.note_draw(released.receipt, unseen.noise_content)
    release(ledger, "2026-01-01")
    assert ledger.balance(DATASET).spent == Decimal("0.8")
    assert ledger.verify().ok


def test_data_of_no_day_are_charged_once_where_their_noise_is_noted(tmp_path: Path) -> None:
    keeper = Ledger.create(tmp_path / "plain.db")
    keeper.grant(DATASET, epsilon=3.0, alpha=10.0, unit="MWh")
    draft = LaplaceMechanism(alpha=10.0, epsilon=0.5)._draft(secret(None), "round 1", None)
    open_charge = keeper.spend(draft, noted=True)
    assert Ledger(keeper.path).spend(draft, noted=True) == open_charge
    assert keeper.charges_for("round 1") == [(open_charge.record, True)]
    # Whoever does not note its draws gets no charge that may still draw anew.
    plain = keeper.spend(draft)
    assert plain.sequence != open_charge.sequence
    with pytest.raises(LedgerError, match="none is to be noted"):
        keeper.note_draw(plain, b"noise")
    keeper.note_draw(open_charge, b"noise")
    keeper.note_draw(open_charge, b"noise")
    assert not keeper.other_draw(open_charge, b"noise")
    assert keeper.other_draw(open_charge, b"other noise")
    with pytest.raises(LedgerError, match="must not leave"):
        keeper.note_draw(open_charge, b"other noise")
    assert keeper.spend(draft, noted=True).sequence > plain.sequence
    assert keeper.balance(DATASET).spent == Decimal("1.5")
    assert [each for _, each in keeper.charges_for("round 1")] == [False, False, True]
    assert keeper.verify().ok


def test_a_distance_is_exact_and_charged(ledger: LedgerKeeper) -> None:
    asked = DistanceMechanism(alpha=10.0, epsilon=0.25)
    answer = asked.release(secret("2026-01-01"), [5.0, 5.0], ledger=ledger, purpose="test")
    assert answer.receipt is not None
    assert answer.receipt.charged == Decimal("0.25")
    assert exact_distance(np.array([5.0, 7.0]), np.array([5.5, 5.0]), 10.0) == pytest.approx(2.5, abs=1e-4)


def test_composition_is_told_beside_the_sum(tmp_path: Path) -> None:
    keeper = Ledger.create(tmp_path / "plain.db")
    keeper.grant(DATASET, epsilon=20.0, alpha=10.0, unit="MWh")
    for _ in range(100):
        keeper.spend(LaplaceMechanism(alpha=10.0, epsilon=0.2)._draft(secret(None), "test", None))
    assert keeper.balance(DATASET).spent == 20
    # By advanced composition, a looser bound of the same kind: 0.2 sqrt(200 ln 1e6) + 100 x 0.2 (e^0.2 - 1).
    assert 8.0 < keeper.composed(DATASET) < 14.94
    with pytest.raises(BudgetExceededError, match=r"lose .* together, except with probability 1e-06"):
        release(keeper, None)
