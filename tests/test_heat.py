"""Heat and electricity: the year has its heat, bids are valid, Laplace breaks a day and PPSM mends it."""

import numpy as np
import pytest

from ppsm import PPSM, Laplace, PublicOutcome, Sensitive, Status
from ppsm.errors import InputError
from ppsm.examples.heat import HEAT_OF_A_YEAR_MWH, OFFERS, HeatDay, heat_day, heat_game, heat_year
from ppsm.privacy import simulated_publication

COLD = 30


@pytest.fixture(scope="module")
def cold_day() -> HeatDay:
    return heat_day(COLD)


def test_a_year_has_its_heat_and_its_seasons() -> None:
    year = heat_year()
    assert year.heat_mwh.sum() == pytest.approx(HEAT_OF_A_YEAR_MWH, rel=0.03)
    assert year.heat_mwh[:31].sum() > 4 * year.heat_mwh[181:212].sum()
    off = np.abs(year.heat_mwh / year.forecast_mwh - 1)
    assert 0.02 < off.mean() < 0.04


def test_what_a_bid_asks_of_heat_by_hand() -> None:
    asked = {offer.name: offer.heat_eur_per_mwh for offer in OFFERS}
    assert asked["pellets at 44"] == pytest.approx(58 - 0.5 * 44)
    assert asked["sewage at 105"] == pytest.approx(105 / 3.6)


def test_selected_bids_are_proven_best_and_valid() -> None:
    solution = heat_game(COLD).solve(time_limit=100)
    assert solution.verified
    assert solution.status is Status.PROVEN_OPTIMAL
    selected, price = solution.variable("selected"), solution.price("load").mean("hour")
    chosen = [offer for offer in OFFERS if selected.sel(offer=offer.name) > 0.5]
    assert chosen
    assert len({offer.plant.name for offer in chosen}) == len(chosen)
    for offer in chosen:
        assert price.sel(district=offer.plant.district) >= offer.heat_eur_per_mwh - 1e-6
        heat = solution.response("plant").sel(offer=offer.name)
        assert heat.min() >= offer.plant.least_heat_mw - 1e-6
        assert heat.max() <= offer.plant.heat_mw + 1e-6


def test_noise_breaks_a_cold_day_and_the_mechanism_mends_it(cold_day: HeatDay) -> None:
    market = cold_day.market
    secret = Sensitive(cold_day.loads, dataset="heat", unit="MWh", entry_names=market.entry_names)
    published = simulated_publication(market.market_result(cold_day.loads), dataset="heat")
    public = PublicOutcome(published, seed=1)
    noisy = Laplace(alpha=30.0).simulate(secret, market, public, seed=1).released
    mended = PPSM(alpha=30.0, prior=cold_day.forecast).simulate(secret, market, public, seed=1).released
    assert not market.clear(noisy.values).feasible
    cost, true_cost = market.clear(mended.values).leader_cost, published.result.leader_cost
    assert cost is not None
    assert abs(cost / true_cost - 1) < 1e-3


@pytest.mark.parametrize("day", [-1, 365, 1.5])
def test_only_days_of_the_year(day: int) -> None:
    with pytest.raises(InputError, match="from 0 "):
        heat_day(day)
