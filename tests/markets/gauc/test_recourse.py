"""An affine recourse is feasible on all of its region, so that its cost bounds GM's value from above."""

import math

import numpy as np
import pytest
from tests.markets.gauc.boxes import BoxRegion, followers_of, random_box
from tests.markets.small_games import small_game
from tests.markets.two_node import two_node

from ppsm.arrays import FloatArray
from ppsm.markets.gauc.recourse import AffineRecourse, RecourseFinder, _Room
from ppsm.markets.model.followers import Followers


def unlimited() -> float:
    return math.inf


def found(
    followers: Followers, demand: FloatArray, region: BoxRegion, base: FloatArray, lowered: FloatArray
) -> AffineRecourse | None:
    places = np.unique(followers.gas.plants)
    withdrawal = followers.gas.market.withdrawal_mwh(demand)
    withdrawal[places] += base
    finder = RecourseFinder(followers.gas.market, places)
    recourse = finder.find(withdrawal, base, region, lowered, unlimited)
    if recourse is not None:  # what was found is found again from its gains alone
        again = finder.recall(recourse.gains, withdrawal, base, region, lowered)
        assert again is not None
        assert again.base_cost_usd == pytest.approx(recourse.base_cost_usd, rel=1e-9)
    return recourse


@pytest.mark.parametrize(
    ("demand", "lowered", "cost"),
    [
        # 1100 + 200: 1000 at 10 $ and 300 at 20 $; the second block has room for 100 either way
        (1100.0, 0.0, 16_000.0),
        # 850 + 200: the second block gives 50, but has to fall by 100. It must give 100 in place of the first
        (850.0, 0.0, 950 * 10 + 100 * 20),
        # and 150 where the place then burns 50 less
        (850.0, 50.0, 900 * 10 + 150 * 20),
        # 1400 + 200: the pipe carries 1800 and has room for 100 more; the place may burn 50 less
        (1400.0, 50.0, 1000 * 10 + 600 * 20),
    ],
)
def test_cost_and_slope_by_hand(demand: float, lowered: float, cost: float) -> None:
    region = BoxRegion(np.array([100.0]), np.array([300.0]))
    recourse = found(two_node().followers, np.array([demand]), region, np.array([200.0]), np.array([lowered]))
    assert recourse is not None
    assert recourse.base_cost_usd == pytest.approx(cost, rel=1e-6)
    np.testing.assert_allclose(recourse.slope_usd_per_mwh, [20.0])


@pytest.mark.parametrize(
    ("demand", "cost"),
    [
        # 1750 through a pipe of 1800 that must have room for 100 more: 1700, and 50 from the tank
        (1550.0, 1000 * 10 + 700 * 20 + 50 * 30),
        (1450.0, 1000 * 10 + 650 * 20),
    ],
)
def test_rows_have_the_room_that_gains_need(demand: float, cost: float) -> None:
    # one more MWh in the city from the second block of the wells through the pipe; pressures stay as they are
    market = two_node().followers.gas.market
    gains = np.zeros((market.program.shape[1], 1))
    for name in ("supply_mwh[wells/2]", "pipe_flow_mwh[main]"):
        gains[market.program.column_names.index(name)] = 1.0
    region = BoxRegion(np.array([100.0]), np.array([300.0]))
    finder = RecourseFinder(market, np.array([1]))
    withdrawal = market.withdrawal_mwh([demand], [200.0])
    recourse = finder.recall(gains, withdrawal, np.array([200.0]), region, np.zeros(1))
    assert recourse is not None
    assert recourse.base_cost_usd == pytest.approx(cost, rel=1e-6)


def test_there_is_none_where_the_network_cannot_follow() -> None:
    # the wells behind the pipe give 1800 and the tank 500: a burn of 300 to 600 beside 1900 is too much
    region = BoxRegion(np.array([300.0]), np.array([600.0]))
    for base in (320.0, 380.0):
        none = found(two_node().followers, np.array([1900.0]), region, np.array([base]), np.zeros(1))
        assert none is None


def test_room_by_hand() -> None:
    region = BoxRegion(np.array([1.0, 10.0]), np.array([3.0, 40.0]), (12.0, 40.0))
    room = _Room(region, np.array([2.0, 20.0]), np.array([0.5, 4.0]))
    rise, fall = room.needed(np.array([[1.0, 0.0], [0.0, -2.0], [0.0, 0.0], [1.0, 1.0]]))
    # first: up to 3 (+1), down to 1 (-1) and 0.5 more where the place burns less
    # second: -2 x 10 = -20 (+20) and 8 more; -2 x 39, since the total is at most 40 (-38)
    # all: the total is 12 to 40, 22 at the base, and the larger of the two may burn 4 less
    np.testing.assert_allclose(rise, [1.0, 28.0, 0.0, 18.0])
    np.testing.assert_allclose(fall, [1.5, 38.0, 0.0, 14.0])


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 11])
def test_its_cost_is_never_below_the_market(seed: int) -> None:
    _, demand = small_game(seed)
    followers, generator = followers_of(seed), np.random.default_rng(seed)
    places = np.unique(followers.gas.plants)
    count, tight = 0, 0
    for _ in range(12):
        region = random_box(followers, generator)
        base = (region.lower_mwh + region.upper_mwh) / 2
        lowered = generator.uniform(0.0, 0.3) * region.lower_mwh
        drawn = demand * generator.uniform(0.5, 1.2)
        recourse = found(followers, drawn, region, base, lowered)
        if recourse is None:
            continue
        count += 1
        for burn in region.burns(generator, 10):
            for less in (np.zeros(places.size), *(lowered * row for row in np.eye(places.size))):
                withdrawal = followers.gas.market.withdrawal_mwh(drawn)
                withdrawal[places] += burn - less
                day = followers.gas.clear(withdrawal)
                assert day is not None  # what the recourse does is feasible
                above = recourse.base_cost_usd + recourse.slope_usd_per_mwh @ (burn - less - base)
                assert above >= day.cost_usd - 1e-6 * abs(day.cost_usd)
                tight += above <= day.cost_usd + 1e-6 * abs(day.cost_usd)
    assert count > 2
    assert tight > 0
