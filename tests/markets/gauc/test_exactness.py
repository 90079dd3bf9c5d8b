"""The solver of the game against a single-level program and against trying everything the leader can do.

The references are tested in ``tests/markets/test_reference.py``; ``python -m benchmarks.exactness`` compares
the three ways for more than 200 games.
"""

from functools import cache

import pytest
from benchmarks.exactness import compare
from tests.markets.small_games import steep_game
from tests.markets.tiny import TOY_DEMAND_MWH, TOY_OPTIMUM_USD, toy_case

from ppsm.markets import certify
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.status import Status

# Games for which the references take about a second each: some in which it is best to keep blocks back, some
# in which it is not, and some without an answer.
HELD = (3, 18, 25, 27, 31, 40, 50, 106, 108)
OTHERS = (2, 11, 28, 29, 41, 48)
NONE = (22, 37)
# Games with milder steps of supply.
MILD = (3, 5, 13)
compared = cache(compare)


@pytest.mark.parametrize("seed", [*HELD, *OTHERS, *NONE])
def test_three_ways_to_solve_a_steep_game_agree(seed: int) -> None:
    assert compared(seed).faults == ()


@pytest.mark.parametrize("seed", MILD)
def test_three_ways_to_solve_a_mild_game_agree(seed: int) -> None:
    assert compare(seed, family="small").faults == ()


def test_the_toy_game_keeps_a_block_back() -> None:
    answer = GasAwareCommitment(toy_case()).solve(0.0, [TOY_DEMAND_MWH], gap=1e-7, time_limit=60)
    assert answer.status is Status.PROVEN_OPTIMAL
    assert answer.leader_cost_usd == pytest.approx(TOY_OPTIMUM_USD)
    assert answer.bound_usd == pytest.approx(TOY_OPTIMUM_USD, rel=1e-6)
    assert certify(answer).clean


def test_the_games_have_all_parts() -> None:
    """Otherwise agreement would say little."""
    assert all(compared(seed).references.held for seed in HELD)
    assert not any(compared(seed).references.held for seed in (*OTHERS, *NONE))
    assert all(compared(seed).references.enumeration is None for seed in NONE)
    spreads = [compared(seed).references.spread_usd_per_mwh for seed in (*HELD, *OTHERS)]
    assert sum(spread > 1.0 for spread in spreads) > 3  # full pipes
    cases = [steep_game(seed)[0] for seed in (*HELD, *OTHERS)]
    assert {len(case.buses) for case in cases} == {1, 2, 3}
    assert {len(case.load_shape) for case in cases} == {2, 3}
    assert any(case.compressors for case in cases)
    assert any(case.reserve_fraction > 0 for case in cases)
    assert {bid.block for case in cases for bid in case.bids if bid.fleet == "gas1"} == {1, 2, 3}
    fleets = [fleet for case in cases for fleet in case.fleets]
    assert any(fleet.ramp_mw_per_h < fleet.unit_size_mw for fleet in fleets if fleet.fuel == "gas")
    assert any(fleet.unit_count > 1 for fleet in fleets if fleet.fuel == "gas")
    assert any(fleet.min_up_h > 1 for fleet in fleets)
    assert any(fleet.must_run for fleet in fleets)
