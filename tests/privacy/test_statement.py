"""The statement: the truth of the data set, in words and in figures."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from ppsm.privacy import LaplaceMechanism, LedgerKeeper, Sensitive
from ppsm.privacy.statement import Interval, figures, headline, odds, statement


def test_it_counts_every_release_of_the_data_set(secret: Sensitive, ledger: LedgerKeeper) -> None:
    mechanism = LaplaceMechanism(alpha=100.0)
    texts = [statement(mechanism.release(secret, ledger=ledger, purpose="x"), None) for _ in range(3)]
    for factor, before, text in zip(("2.72", "7.39", "20.1"), range(3), texts, strict=True):
        assert f"by more than a factor of {factor} (epsilon = {before + 1} in all: {before} by" in text
    assert "Of that, 3 in the last 24 hours, 3 in the last 30 days, 3 in the last 365 days." in texts[2]
    assert "404 for k = 2" in texts[2]  # exp(2 x 3)


def test_a_release_for_a_smaller_alpha_is_told_at_the_distance_of_the_budget(
    secret: Sensitive, ledger: LedgerKeeper
) -> None:
    ledger.grant("gas/test", epsilon=10.0, most_per_release=10.0)
    released = LaplaceMechanism(alpha=10.0).release(secret, ledger=ledger, purpose="a finer look")
    text = statement(released, None)
    assert "moved by up to 100 MWh: no observation changes the odds by more than a factor of 2.21e+04" in text
    assert headline(released) == (
        "PRIVATE, epsilon = 1 at alpha = 10 MWh; all releases so far: 10 at 100 MWh"
    )


def test_larger_changes_lose_the_sum_of_their_sizes_over_alpha(
    secret: Sensitive, ledger: LedgerKeeper
) -> None:
    released = LaplaceMechanism(alpha=100.0, epsilon=0.5).release(secret, ledger=ledger, purpose="x")
    text = statement(released, None)
    assert "epsilon times the sum over all entries of |change| / alpha" in text
    assert "2.72 for k = 2, 12.2 for k = 5, 149 for k = 10" in text
    numbers = figures(released)
    assert numbers is not None
    assert numbers["epsilon_by_multiple_of_alpha"] == {"1": "0.5", "2": "1.0", "5": "2.5", "10": "5.0"}


def test_simulations_promise_nothing(secret: Sensitive, mechanism: LaplaceMechanism) -> None:
    simulated = mechanism.simulate(secret, seed=1)
    assert statement(simulated, None).startswith("NOT PRIVATE")
    assert figures(simulated) is None


@pytest.mark.parametrize(("loss", "text"), [(0.0, "1"), (1.0, "2.72"), (710.0, "more than 10^308")])
def test_no_loss_is_too_large_to_be_told(loss: float, text: str) -> None:
    assert odds(loss) == text


def test_the_odds_never_change_by_more_than_is_told() -> None:
    """exp(10) is 22,026 and exp(0.00001) more than 1, in whatever precision decimals are computed."""
    for loss in np.concatenate([[1e-5, 0.7, 5.0, 10.0], np.random.default_rng(5).uniform(0.0, 700.0, 500)]):
        told = float(odds(Decimal(repr(float(loss)))))
        assert math.exp(loss) <= told <= 1.01 * math.exp(loss) + 0.01
    with localcontext() as context:
        context.prec = 1
        assert odds(Decimal("1.5"), 5) == odds(7.5) == "1.81e+03"


@pytest.mark.parametrize("dimension", [1, 3, 41, 2000])
def test_intervals_hold_as_often_as_they_say(dimension: int) -> None:
    """Counted on seeded draws; the bounds are five standard deviations of the count."""
    runs, scale = 4000, 100.0
    noise = np.random.default_rng(7).laplace(scale=scale, size=(runs, min(dimension, 41)))
    mechanism = LaplaceMechanism(alpha=scale)
    spread = 5 * math.sqrt(0.95 * 0.05 / runs)
    if dimension <= 41:
        total = mechanism.total_within(0.95, dimension)
        assert (np.abs(noise.sum(axis=1)) <= total).mean() == pytest.approx(0.95, abs=spread)
        assert (np.abs(noise[:, 0]) <= mechanism.error_within(0.95)).mean() == pytest.approx(0.95, abs=spread)
    else:  # nearly normal
        normal = 1.959964 * math.sqrt(2.0 * dimension) * scale
        assert mechanism.total_within(0.95, dimension) == pytest.approx(normal, rel=1e-3)


def test_the_interval_of_one_entry_is_that_of_its_total() -> None:
    mechanism = LaplaceMechanism(alpha=3.0, epsilon=2.0)
    assert mechanism.total_within(0.9, 1) == pytest.approx(mechanism.error_within(0.9), rel=1e-6)


def test_every_entry_and_the_total_have_an_interval(secret: Sensitive, ledger: LedgerKeeper) -> None:
    released = LaplaceMechanism(alpha=100.0).release(secret, ledger=ledger, purpose="x")
    numbers, interval = figures(released), Interval.of(released.record)
    assert numbers is not None
    assert list(numbers["intervals"]) == list(released.entry_names)
    low, high = numbers["intervals"]["south"]
    assert (low + high) / 2 == pytest.approx(released.values[1])
    assert (high - low) / 2 == pytest.approx(interval.entry)
    low, high = numbers["interval_of_the_total"]
    assert (low + high) / 2 == pytest.approx(released.values.sum())
    assert interval.entry < interval.every_entry
    assert interval.entry < interval.total < 3 * interval.entry


def test_a_measured_total_is_charged_told_and_has_an_interval_of_its_own(
    secret: Sensitive, ledger: LedgerKeeper
) -> None:
    released = LaplaceMechanism(alpha=100.0, total_share=0.75).release(secret, ledger=ledger, purpose="x")
    text, numbers, interval = statement(released, None), figures(released), Interval.of(released.record)
    assert "(epsilon = 1 in all: 0 by earlier releases, 1 by this one)" in text
    assert "every entry (Laplace noise of scale 400 MWh) and their total (scale 133.3 MWh)" in text
    assert numbers is not None
    assert Decimal(numbers["epsilon_of_this_release"]) == 1
    low, high = numbers["interval_of_the_total"]
    assert (low + high) / 2 == pytest.approx(released.totals[0])
    assert (high - low) / 2 == pytest.approx(interval.total)
    assert interval.entry == pytest.approx(-400.0 * math.log(0.05), rel=1e-6)
    assert interval.total == pytest.approx(-100.0 / 0.75 * math.log(0.05), rel=1e-4)


def test_totals_of_zones_are_told_and_each_has_an_interval(secret: Sensitive, ledger: LedgerKeeper) -> None:
    zones = tuple(range(secret.dimension))
    mechanism = LaplaceMechanism(alpha=100.0, total_share=0.75, zones=zones)
    released = mechanism.release(secret, ledger=ledger, purpose="x")
    text, numbers, interval = statement(released, None), figures(released), Interval.of(released.record)
    assert f"the total of each of {len(zones)} zones (scale 133.3 MWh)" in text
    assert "on that of a given zone" in text
    assert numbers is not None
    assert interval.zone == pytest.approx(-100.0 / 0.75 * math.log(0.05), rel=1e-4)
    assert interval.to_dict()["zone"] == interval.zone
    # The sum of the totals of all zones has the noise of each, and is wider.
    assert interval.zone < interval.total < len(zones) * interval.zone
    low, high = numbers["interval_of_the_total"]
    assert (low + high) / 2 == pytest.approx(sum(released.totals))
    for (low, high), total in zip(numbers["intervals_of_zones"], released.totals, strict=True):
        assert (low + high) / 2 == pytest.approx(total)
        assert (high - low) / 2 == pytest.approx(interval.zone)


def test_without_a_total_no_second_measurement_is_told(secret: Sensitive, ledger: LedgerKeeper) -> None:
    released = LaplaceMechanism(alpha=100.0).release(secret, ledger=ledger, purpose="x")
    assert "measures two things" not in statement(released, None)
