"""Levels and caps of bids: by hand, and as two sides of one rule."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.small_games import small_game
from tests.markets.two_node import TWO_NODE

from ppsm.cases.entities import MWH_PER_MMBTU, Bid
from ppsm.markets.model.validity import BidLevels


def test_levels_and_caps_by_hand() -> None:
    levels = BidLevels.of(TWO_NODE)
    # 35 and 50 $/MWh at 7 MMBtu/MWh: 5 and 7.14 $/MMBtu, that is 17.06 and 24.37 $/MWh of gas
    np.testing.assert_allclose(levels.cap_usd_per_mwh[0], [17.0607, 24.3724, np.inf], rtol=1e-5)
    np.testing.assert_allclose(levels.least_mw[0], [40, 60, np.inf])
    assert [int(levels.needed(np.array([y]))[0]) for y in (10.0, 17.06, 20.0, 24.38)] == [0, 0, 1, 2]
    on = np.array([[0, 1, 1, 0]])
    assert levels.supported(np.array([[0.0, 59.0, 80.0, 0.0]]), on).tolist() == [0]
    assert levels.supported(np.array([[0.0, 60.0, 80.0, 0.0]]), on).tolist() == [1]
    assert levels.supported(np.zeros((1, 4)), np.zeros((1, 4), dtype=int)).tolist() == [2]


def test_a_level_asks_for_all_blocks_below_the_last_selected_one() -> None:
    gas = [Bid("gas", 1, 50.0, 35.0), Bid("gas", 2, 30.0, 42.0), Bid("gas", 3, 20.0, 70.0)]
    others = [bid for bid in TWO_NODE.bids if bid.fleet != "gas"]
    levels = BidLevels.of(replace(TWO_NODE, bids=(*gas, *others)))
    np.testing.assert_allclose(levels.least_mw[0], [40, 50, 80, np.inf])
    np.testing.assert_allclose(levels.cap_usd_per_mwh[0, :3] * 7 * MWH_PER_MMBTU, [35, 42, 70])


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8])
def test_a_level_is_needed_exactly_where_the_one_below_does_not_tolerate_the_price(seed: int) -> None:
    levels, generator = BidLevels.of(small_game(seed)[0]), np.random.default_rng(seed)
    caps = levels.cap_usd_per_mwh[np.isfinite(levels.cap_usd_per_mwh)]
    for _ in range(50):
        near = generator.choice(caps, levels.count) * generator.choice(
            [1.0, 1 - 1e-4, 1 + 1e-4], levels.count
        )
        far = generator.uniform(0.0, 1.5 * caps.max(), levels.count)
        prices = np.where(generator.random(levels.count) < 0.5, near, far)
        needed = levels.needed(prices)
        assert (prices <= levels.caps_at(needed) * (1 + 1e-7)).all()
        below = np.maximum(needed - 1, 0)
        assert ((needed == 0) | (prices > levels.caps_at(below))).all()


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8])
def test_a_dispatch_supports_the_highest_level_whose_blocks_it_fills(seed: int) -> None:
    case = small_game(seed)[0]
    levels, generator = BidLevels.of(case), np.random.default_rng(seed)
    sizes = {fleet.fleet: fleet.unit_size_mw for fleet in case.fleets}
    for _ in range(50):
        on = generator.integers(0, 3, size=(levels.count, 4))
        share = generator.uniform(0.0, 1.0, size=on.shape)
        least = levels.least_mw[:, :1]
        each = least + share * (np.array([[sizes[link.fleet]] for link in case.links]) - least)
        supported = levels.supported(each * on, on)
        for plant in range(levels.count):
            if not on[plant].any():
                assert supported[plant] == levels.blocks[plant]
                continue
            lowest = each[plant, on[plant] > 0].min()
            assert lowest >= levels.least_mw[plant, supported[plant]] * (1 - 1e-6) - 1e-6
            if supported[plant] + 1 < levels.blocks[plant]:
                assert lowest < levels.least_mw[plant, supported[plant] + 1]


def test_higher_levels_ask_for_more_and_tolerate_more() -> None:
    levels = BidLevels.of(small_game(2)[0])
    assert (np.diff(levels.least_mw[:, :-1], axis=1)[np.isfinite(levels.least_mw[:, 1:-1])] >= 0).all()
    assert (np.diff(levels.cap_usd_per_mwh[:, :-1], axis=1)[np.isfinite(levels.least_mw[:, 1:-1])] > 0).all()
