"""Commitments beside the gas network: what it can serve and no more, and a bound that holds."""

import numpy as np
import pytest
from tests.markets.gauc.boxes import followers_of
from tests.markets.reference import Enumeration
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import small_game
from tests.markets.two_node import TWO_NODE, two_node

from ppsm.markets.gauc.deliverable import affordable_answers, deliverable_commitment
from ppsm.status import Status

LEVEL_0 = np.zeros(1, dtype=np.int64)


@pytest.mark.parametrize(
    ("demand", "highest_price", "runs"),
    [
        # the tie carries 100 of up to 150 MW: gas is the cheapest in the east
        (800.0, np.inf, True),
        # 2300 MWh can be delivered: 50 are less than the plant burns in an hour at its least
        (2250.0, np.inf, False),
        # without the tank (30 $) it is 1800
        (1750.0, 20.0, False),
        (1750.0, 30.0, True),
        # without the second block of the wells it is 1000
        (950.0, 10.0, False),
    ],
)
def test_what_the_network_can_serve_by_hand(demand: float, highest_price: float, runs: bool) -> None:
    outcome = deliverable_commitment(
        two_node().followers,
        0.0,
        LEVEL_0,
        np.array([demand]),
        gap=1e-6,
        seconds=60.0,
        highest_price_usd_per_mwh=highest_price,
    )
    assert outcome is not None
    assert outcome.on is not None
    gas = [fleet.fleet for fleet in TWO_NODE.fleets].index("gas")
    assert bool(outcome.on[gas].any()) == runs


def test_gas_that_only_a_plant_can_take_forces_it_to_burn() -> None:
    # 300 MWh are injected into the city, where the pipe ends: the plant must burn them at least
    outcome = deliverable_commitment(
        two_node().followers, 0.0, LEVEL_0, np.array([-300.0]), gap=1e-6, seconds=60.0
    )
    assert outcome is not None
    assert outcome.columns is not None
    commitment = two_node().followers.commitment
    burn = commitment.burn_map @ outcome.columns[: commitment.program.shape[1]]
    assert burn[0] >= 300.0 - 1e-6


def test_more_than_all_supply_is_infeasible() -> None:
    outcome = deliverable_commitment(
        two_node().followers, 0.0, LEVEL_0, np.array([2301.0]), gap=1e-6, seconds=60.0
    )
    assert outcome is not None
    assert outcome.status is Status.INFEASIBLE


@pytest.mark.parametrize("seed", [3, 5, 13])
def test_the_bound_holds_and_answers_are_valid_and_no_better_than_the_best(seed: int) -> None:
    _, demand = small_game(seed)
    followers = followers_of(seed)
    none = np.zeros(followers.levels.count, dtype=np.int64)
    for factor in (0.6, 1.0):
        expected = Enumeration(followers.case, factor * demand).best()
        outcome = deliverable_commitment(followers, 0.0, none, factor * demand, gap=1e-6, seconds=60.0)
        assert outcome is not None
        found = list(affordable_answers(followers, 0.0, factor * demand, lambda: 60.0))
        if expected is None:
            assert not found
            continue
        assert outcome.bound_usd is not None
        assert outcome.bound_usd <= expected * (1 + 1e-7)
        for answer in found:
            assert answer.invalid == ()
            assert answer.power.leader_cost_usd >= expected * (1 - 1e-7)


def test_taking_dear_gas_away_finds_valid_answers() -> None:
    case, demand = small_game(4)
    found = list(affordable_answers(followers_of(4), 0.0, demand, lambda: 60.0))
    assert found
    assert all(answer.invalid == () for answer in found)
    best = min(answer.power.leader_cost_usd for answer in found)
    expected = best_by_single_level(case, demand)
    assert expected is not None
    assert expected * (1 - 1e-7) <= best <= expected * 1.01
