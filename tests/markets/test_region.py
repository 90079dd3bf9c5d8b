"""What is known of a region of burns holds for all of it, asked for or not."""

import numpy as np
import pytest
from tests.markets.small_games import small_game

from ppsm.arrays import FloatArray
from ppsm.markets.gauc.region import BurnRegion, Extents
from ppsm.markets.gauc.solver import GasAwareCommitment

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
    cost = solver.solve(0.0, demand).objective_uc_usd
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
