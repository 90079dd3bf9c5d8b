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


def test_fewest_offers_by_hand() -> None:
    """Blocks of 60 and 40 MW: three units at 200 MW fill block 1 and half of one unit's block 2."""
    levels = BidLevels.of(TWO_NODE)
    on = np.array([[3, 3, 3, 0]])
    output = np.array([[200.0, 180.0, 221.0, 0.0]])
    offers = levels.fewest_offers(output, on, np.array([0]))
    assert offers.tolist() == [[[3, 3, 3, 0], [1, 0, 2, 0]]]
    assert levels.selected_levels(offers, on).tolist() == [0]
    # at level 1 every running unit offers block 2, whatever it gives
    offers = levels.fewest_offers(output, on, np.array([1]))
    assert offers.tolist() == [[[3, 3, 3, 0], [3, 3, 3, 0]]]
    assert levels.selected_levels(offers, on).tolist() == [1]
    assert levels.selected_levels(np.zeros((1, 2, 4), dtype=int), np.zeros((1, 4), dtype=int)).tolist() == [2]


def test_a_level_counts_only_what_all_units_offer_in_all_hours() -> None:
    levels = BidLevels.of(TWO_NODE)
    on = np.array([[2, 1]])
    for second, level in (([2, 1], 1), ([1, 1], 0), ([2, 0], 0)):
        offers = np.array([[on[0].tolist(), second]])
        assert levels.selected_levels(offers, on).tolist() == [level]


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8])
def test_offers_let_through_the_output_that_asked_for_them_and_no_whole_unit_more(seed: int) -> None:
    case = small_game(seed)[0]
    levels, generator = BidLevels.of(case), np.random.default_rng(seed)
    sizes = np.array([[f.unit_size_mw for f in case.fleets if f.fleet == link.fleet] for link in case.links])
    for _ in range(50):
        on = generator.integers(0, 3, size=(levels.count, 4))
        output = generator.uniform(0.0, 1.0, size=on.shape) * sizes * on
        offers = levels.fewest_offers(output, on, np.zeros(levels.count, dtype=np.int64))
        assert (np.diff(offers, axis=1) <= 0).all()
        assert (offers[:, 0] == on).all()
        most = (levels.size_mw[:, :, None] * offers).sum(axis=1)
        least = (levels.size_mw[:, :-1, None] * offers[:, 1:]).sum(axis=1)
        assert (output <= most * (1 + 1e-6)).all()
        assert (output >= least * (1 - 1e-6)).all()
        fewer = offers.copy()
        last = (offers > 0).cumsum(axis=1).argmax(axis=1)  # the last block that anybody offers
        plants, hours = np.nonzero((last > 0) & (on > 0))
        fewer[plants, last[plants, hours], hours] -= 1
        short = (levels.size_mw[:, :, None] * fewer).sum(axis=1)
        assert (short[plants, hours] <= output[plants, hours] * (1 + 1e-6)).all()
