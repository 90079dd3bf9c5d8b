"""The solver of the game against a single-level program and against trying every commitment.

``python -m benchmarks.exactness`` does the same for more than 200 games.
"""

import numpy as np
import pytest
from benchmarks.exactness import compare
from tests.markets.reference import Enumeration
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import small_game
from tests.markets.tiny import best_by_trying, tiny_case

# Games with few commitments, so that the references take less than a second each.
SEEDS = (0, 3, 5, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 22, 23, 24, 26, 27, 28, 29)


@pytest.mark.parametrize("seed", SEEDS)
def test_three_ways_to_solve_a_game_agree(seed: int) -> None:
    result = compare(seed)
    assert result.faults == ()


@pytest.mark.parametrize("seed", [0, 2])
def test_the_references_agree_with_merit_orders(seed: int) -> None:
    """Games of one bus can also be tried with plain merit orders, a third piece of code."""
    case = tiny_case(seed)
    for demand in (500.0, 1300.0, 1900.0):
        expected = best_by_trying(case, 0.0, demand)
        assert expected is not None
        vector = np.array([demand])
        assert Enumeration(case, vector).best() == pytest.approx(expected, rel=1e-7)
        assert best_by_single_level(case, vector) == pytest.approx(expected, rel=1e-7)


def test_the_games_have_all_parts() -> None:
    """Otherwise agreement would say little."""
    cases = [small_game(seed)[0] for seed in SEEDS]
    assert {len(case.buses) for case in cases} == {1, 2, 3}
    assert {len(case.load_shape) for case in cases} == {2, 3}
    assert any(case.compressors for case in cases)
    assert any(case.reserve_fraction > 0 for case in cases)
    fleets = [fleet for case in cases for fleet in case.fleets]
    assert any(fleet.ramp_mw_per_h < fleet.unit_size_mw for fleet in fleets)
    assert any(fleet.min_up_h > 1 for fleet in fleets)
    assert any(fleet.must_run for fleet in fleets)
    assert any(fleet.unit_count > 1 for fleet in fleets)
