"""Where a market has many optimal answers, which one it gives depends on its input alone, not on its past."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.small_games import small_game

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases import load_case
from ppsm.markets.model.clearing import GasClearing
from ppsm.markets.model.electricity import ElectricityMarket
from ppsm.markets.model.followers import Followers
from ppsm.markets.model.gas import build_gas_market
from ppsm.solvers.mip import SolveLimits


def every_block(followers: Followers, on: IntArray) -> IntArray:
    """All blocks of all running units (links x blocks x hours)."""
    there = np.arange(followers.levels.size_mw.shape[1])[None, :] < followers.levels.blocks[:, None]
    running = on[followers.commitment.link_fleets]
    offers: IntArray = np.where(there[:, :, None], running[:, None, :], 0)
    return offers


@pytest.mark.parametrize("seed", [8, 9])
def test_the_burn_of_a_commitment_does_not_depend_on_what_was_dispatched_before(seed: int) -> None:
    drawn, _ = small_game(seed)
    case = replace(drawn, bids=tuple(replace(bid, price_usd_per_mwh=30.0) for bid in drawn.bids))
    followers = Followers(case)
    on = followers.commitment.solve(followers.commitment.at(0.0), SolveLimits(gap=1e-6)).on
    assert on is not None
    offers = every_block(followers, on)
    first = ElectricityMarket(case).clear(0.0, on, offers // 2, offers)
    assert first is not None
    busy = ElectricityMarket(case)
    generator = np.random.default_rng(seed)
    most = np.array([fleet.unit_count for fleet in case.fleets])[:, None] + 1
    for _ in range(30):
        other = generator.integers(0, most, size=on.shape)
        busy.clear(generator.uniform(-0.5, 0.2), other, 0 * offers, every_block(followers, other))
        again = busy.clear(0.0, on, offers // 2, offers)
        assert again is not None
        assert first.burn_mwh.tolist() == again.burn_mwh.tolist()


def test_gas_prices_of_a_day_do_not_depend_on_the_days_before() -> None:
    case = load_case("northeast")
    market = build_gas_market(case)
    generator = np.random.default_rng(0)

    def withdrawal(stress: float) -> FloatArray:
        noise = generator.laplace(0.0, 10.0, len(case.deliveries))
        burn = generator.uniform(0.0, 300.0, len(case.links))
        return market.withdrawal_mwh(np.maximum(case.demand_mwh(stress) + noise, 0.0), burn)

    days = [withdrawal(stress) for stress in np.linspace(0.0, 0.6, 12)]
    caps = np.full(len(case.links), 40.0)
    forth, back = GasClearing(market), GasClearing(market)
    first = [forth.clear(day, caps) for day in days]
    again = [back.clear(day, caps) for day in reversed(days)][::-1]
    for one, other in zip(first, again, strict=True):
        assert one is not None
        assert other is not None
        assert one.prices_usd_per_mwh.tolist() == other.prices_usd_per_mwh.tolist()
