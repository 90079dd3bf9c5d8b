"""Prices below caps are found exactly where some optimal prices are below them."""

import numpy as np
import pytest
from tests.markets.small_games import small_game
from tests.markets.two_node import two_node

from ppsm.markets.model.clearing import GasClearing
from ppsm.markets.model.gas import build_gas_market


@pytest.mark.parametrize(
    ("withdrawal", "cap", "price"),
    [
        (900.0, 12.0, 10.0),
        (1000.0, 12.0, 10.0),  # at the step prices from 10 to 20 are optimal
        (1000.0, 9.0, None),  # none of them is below 9
        (1200.0, 12.0, None),
        (1200.0, 20.0, 20.0),
        (1800.0, 25.0, 20.0),  # the pipe is just full
        (1900.0, 25.0, None),
    ],
)
def test_caps_by_hand(withdrawal: float, cap: float, price: float | None) -> None:
    gas = two_node().followers.gas
    free, capped = (gas.clear(np.array([0.0, withdrawal]), caps) for caps in (None, np.array([cap])))
    assert free is not None
    assert capped is not None
    assert capped.cost_usd == free.cost_usd
    found = capped.prices_usd_per_mwh[1]
    if price is None:
        assert found > cap
    else:
        assert price - 1e-6 <= found <= cap + 1e-6


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_prices_with_caps_are_optimal_prices(seed: int) -> None:
    """Optimal prices are subgradients: cost at any other withdrawals lies above the plane they span."""
    case, demand = small_game(seed)
    market = build_gas_market(case)
    gas, generator = GasClearing(market), np.random.default_rng(seed)
    checked = 0
    for _ in range(10):
        burn = generator.uniform(0.0, 40.0, len(case.links))
        here = market.withdrawal_mwh(demand * generator.uniform(0.5, 1.0), burn)
        caps = generator.choice([12.0, 20.0, 30.0, np.inf], len(case.links))
        day = gas.clear(here, caps)
        if day is None:
            continue
        for _ in range(10):
            there = here * generator.uniform(0.8, 1.1, here.size)
            other = gas.clear(there)
            if other is not None:
                plane = day.cost_usd + day.prices_usd_per_mwh @ (there - here)
                assert other.cost_usd >= plane - 1e-6 * abs(day.cost_usd)
                checked += 1
    assert checked > 10
