"""What is known of a region of burns holds for all of it, asked for or not."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.markets.gauc.boxes import BoxRegion, followers_of, one_hour_game, some_offers
from tests.markets.small_games import small_game

from ppsm.arrays import FloatArray, IntArray
from ppsm.markets.gauc.enumeration import list_commitments
from ppsm.markets.gauc.region import BurnRegion, Extents, knapsack, place_map
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.followers import Followers
from ppsm.solvers.mip import SolveLimits

# Corners of a region in the plane whose extents everybody can check.
CORNERS = np.array([[1.0, 0.0], [4.0, 0.0], [4.0, 2.0], [2.0, 3.0]])


def extent(weights: FloatArray) -> float:
    return float((CORNERS @ weights).max())


def known_from(directions: FloatArray) -> Extents:
    extents = Extents(2)
    for weights in directions:
        extents.cut(weights, extent(weights))
        extents.hold(CORNERS[int(np.argmax(CORNERS @ weights))])
    return extents


def test_directions_that_were_not_asked_for_are_bounded_from_both_sides() -> None:
    generator = np.random.default_rng(1)
    extents = known_from(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for weights in generator.normal(size=(50, 2)):
        assert extents.at_least(weights) <= extent(weights) + 1e-9
        assert extents.at_most(weights) >= extent(weights) - 1e-9
    assert extents.at_most(np.array([2.0, 1.0])) == pytest.approx(10.0)  # between two answers: exact


def test_an_answer_counts_from_then_on_and_inside_but_points_do_not() -> None:
    whole = known_from(np.array([[1.0, 0.0], [0.0, 1.0]]))
    slope = np.array([20.0, 40.0])
    assert whole.at_most(slope) == pytest.approx(20 * 4 + 40 * 3)
    whole.cut(slope, extent(slope))
    assert whole.at_most(slope) == pytest.approx(extent(slope))
    part = Extents(2)
    part.inherit(whole)
    assert part.at_most(slope) == pytest.approx(extent(slope))
    assert part.at_least(slope) == -np.inf


def test_what_nothing_bounds_is_unbounded() -> None:
    extents = Extents(2)
    extents.cut(np.array([1.0, 0.0]), 4.0)
    extents.cut(np.array([0.0, 1.0]), np.inf)
    assert extents.at_most(np.array([0.0, 1.0])) == np.inf
    assert extents.at_most(np.array([1.0, 0.0])) == pytest.approx(4.0)


def region_of(seed: int) -> tuple[BurnRegion, float]:
    case, demand = small_game(seed)
    solver = GasAwareCommitment(case)
    cost = solver.solve(0.0, demand).leader_cost_usd
    program = solver.followers.commitment.at(0.0)
    assert cost is not None
    assert program is not None
    region = BurnRegion(solver.followers, 0.0, program, 1.05 * cost)
    assert region.bound(lambda: np.inf)
    return region, float(region.upper_mwh.max())


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_sharpening_asks_only_where_it_can_gain(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    region, size = region_of(seed)
    asked: list[FloatArray] = []
    ask = BurnRegion._ask

    def counted(region: BurnRegion, weights: FloatArray) -> float:
        asked.append(weights)
        return ask(region, weights)

    monkeypatch.setattr(BurnRegion, "_ask", counted)
    generator = np.random.default_rng(seed)
    for weights in generator.normal(size=(20, region.lower_mwh.size)):
        rounding = 0.1 * max(1.0, float(np.abs(weights).max()))  # what bounds are widened by, and more
        before = float(region.largest(weights[None, :])[0])
        region.sharpen(weights, worth=10.0 * size * float(np.abs(weights).sum()))
        assert not asked
        follows = float(region.largest(weights[None, :])[0])
        region.sharpen(weights, worth=0.0)
        exact = ask(region, weights)
        assert exact - rounding <= follows <= before
        assert region.largest(weights[None, :])[0] == pytest.approx(exact, abs=rounding)
        assert not asked or not region.sharpen(weights, worth=0.0)  # asked once
        asked.clear()


def test_knapsack_by_hand() -> None:
    low, high = np.zeros(3), np.array([4.0, 5.0, 6.0])
    weights = np.array([[1.0, 2.0, -1.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 100.0)), [14.0, 6.0])
    # the second in full, two of the first
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 7.0)), [12.0, 6.0])
    # two of the third are forced
    np.testing.assert_allclose(knapsack(weights, low, high, (11.0, 100.0)), [12.0, 6.0])
    np.testing.assert_allclose(knapsack(weights, low, high, (0.0, 3.0)), [6.0, 3.0])


def test_knapsack_is_the_linear_program() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        low = generator.uniform(0, 1, 6)
        high = low + generator.uniform(0, 2, 6)
        total = np.sort(generator.uniform(low.sum(), high.sum(), 2))
        weights = generator.normal(size=(3, 6))
        rows = np.vstack([np.ones(6), -np.ones(6)])
        for row, found in zip(weights, knapsack(weights, low, high, (total[0], total[1])), strict=True):
            limits = np.array([total[1], -total[0]])
            best = linprog(
                -row, A_ub=rows, b_ub=limits, bounds=list(zip(low.tolist(), high.tolist(), strict=True))
            )
            assert best.fun is not None
            assert found == pytest.approx(-best.fun, abs=1e-9)


@cache
def three_plants() -> Followers:
    """80 MW from two gas-fired plants of 60 MW (30 and 40 $/MWh) or from oil (120 $/MWh)."""
    blocks = {"one": [(60.0, 30.0)], "two": [(60.0, 40.0)], "oil": [(60.0, 120.0)]}
    return one_hour_game(80.0, blocks, {"one": "field", "two": "city"})


def region_by_hand(target_usd: float) -> BurnRegion:
    followers = three_plants()
    program = followers.commitment.at(0.0)
    assert program is not None
    return BurnRegion(followers, 0.0, program, target_usd)


def test_a_region_by_hand() -> None:
    # cheapest: 60 x 30 + 20 x 40 = 2600 $. With 100 $ more, 10 MW go from one to two; or 1.25 MW from two to
    # oil (80 $ a MW), or 1.11 MW from one to oil (90 $ a MW). A MW is 2 MWh of gas.
    region = region_by_hand(2700.0)
    assert not region.empty
    assert region.bound(lambda: np.inf)
    np.testing.assert_allclose(region.lower_mwh, [100.0, 37.5], atol=0.03)
    np.testing.assert_allclose(region.upper_mwh, [120.0, 60.0], atol=0.03)
    np.testing.assert_allclose(region.total_mwh, [157.5, 160.0], atol=0.03)
    # two less one: from (120, 37.5) to (100, 60), and knapsack with bounds alone says no less
    assert region.extent(np.array([-1.0, 1.0])) == pytest.approx(-40.0, abs=0.03)
    assert region.extent(np.array([1.0, -1.0])) == pytest.approx(82.5, abs=0.03)
    for bound, value in zip((*-region.lower_mwh, *region.upper_mwh), (-100, -37.5, 120, 60), strict=True):
        assert bound > value  # widened, never tightened


def test_below_the_cheapest_cost_a_region_is_empty() -> None:
    assert region_by_hand(2599.0).empty
    assert not region_by_hand(2600.0).empty


def answers_up_to(
    followers: Followers, target_usd: float, levels: IntArray, generator: np.random.Generator
) -> list[FloatArray]:
    """The burn by place of every commitment, with some offers, that costs no more than a target."""
    gather, listing = place_map(followers), list_commitments(followers.commitment, 0.0)
    assert listing is not None
    answers = [
        followers.power_answer(0.0, on, some_offers(followers, on, levels, generator))
        for bound, on in listing
        if bound <= target_usd
        for _ in range(3)
    ]
    return [
        gather @ answer.dispatch.burn_mwh
        for answer in answers
        if answer is not None and answer.leader_cost_usd <= target_usd
    ]


@pytest.mark.parametrize("seed", [3, 5, 13])
def test_every_answer_below_the_target_lies_in_the_region(seed: int) -> None:
    followers, generator = followers_of(seed), np.random.default_rng(seed)
    commitment, bids = followers.commitment, followers.levels
    cheapest = commitment.solve(commitment.at(0.0), SolveLimits(gap=1e-9)).objective_usd
    assert cheapest is not None
    within, inside = None, 0
    for levels in (np.zeros(bids.count, dtype=np.int64), np.minimum(1, bids.blocks - 1)):
        program = commitment.at(0.0, bids.least_at(levels))
        assert program is not None
        region = BurnRegion(followers, 0.0, program, 1.5 * cheapest, within)
        burns = answers_up_to(followers, 1.5 * cheapest, levels, generator)
        if region.empty or not burns:
            assert not burns
            continue
        assert region.bound(lambda: np.inf)
        directions = [*generator.normal(size=(8, region.lower_mwh.size))]
        for number, weights in enumerate(directions):
            region.sharpen(weights, worth=0.0 if number % 2 else 1e9)
        most = region.largest(np.array(directions))
        for burn in burns:
            assert (burn >= region.lower_mwh).all()
            assert (burn <= region.upper_mwh).all()
            assert region.total_mwh[0] <= burn.sum() <= region.total_mwh[1]
            assert (np.array(directions) @ burn <= most).all()
            inside += 1
        within = region  # what is known of it holds at higher levels too
    assert inside > 5


def test_a_slice_bounds_what_it_holds() -> None:
    region = BoxRegion(np.array([0.0, 0.0]), np.array([40.0, 50.0]))
    generator = np.random.default_rng(8)
    part = region.between(20.0, 30.0)
    assert region.total_mwh == (0.0, 90.0)
    weights = generator.normal(size=(20, 2))
    most = part.largest(weights)
    for burn in generator.uniform(0.0, [40.0, 50.0], size=(500, 2)):
        if 20.0 <= burn.sum() <= 30.0:
            assert (weights @ burn <= most + 1e-9).all()
    np.testing.assert_allclose(part.largest(np.array([[1.0, 1.0], [-1.0, -1.0]])), [30.0, -20.0])
