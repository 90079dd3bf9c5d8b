"""Where bids tie EM has many answers; which one it gives depends on its input alone, not on its past."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.small_games import small_game

from ppsm.markets.electricity import ElectricityMarket
from ppsm.markets.evaluate import Followers
from ppsm.solvers.mip import SolveLimits


@pytest.mark.parametrize("seed", [8, 9])
def test_the_burn_of_a_commitment_does_not_depend_on_what_was_dispatched_before(seed: int) -> None:
    drawn, _ = small_game(seed)
    case = replace(drawn, bids=tuple(replace(bid, price_usd_per_mwh=30.0) for bid in drawn.bids))
    followers = Followers(case)
    least = followers.levels.least_at(np.zeros(followers.levels.count, dtype=np.int64))
    on = followers.commitment.solve(followers.commitment.at(0.0), (), SolveLimits(gap=1e-6)).on
    assert on is not None
    first = ElectricityMarket(case).clear(0.0, on, least)
    assert first is not None
    busy = ElectricityMarket(case)
    generator = np.random.default_rng(seed)
    most = np.array([fleet.unit_count for fleet in case.fleets])[:, None] + 1
    for _ in range(30):
        busy.clear(generator.uniform(-0.5, 0.2), generator.integers(0, most, size=on.shape), least)
        again = busy.clear(0.0, on, least)
        assert again is not None
        assert first.burn_mwh.tolist() == again.burn_mwh.tolist()
