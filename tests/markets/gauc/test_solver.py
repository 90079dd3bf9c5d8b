"""Gas-aware unit commitment: by hand, and against trying everything."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.tiny import best_by_trying, tiny_case
from tests.markets.two_node import TWO_NODE, solved, two_node

from ppsm.cases.entities import Compressor
from ppsm.markets import GasAwareCommitment, certify
from ppsm.status import Status


def test_two_node_by_hand() -> None:
    # Without prices: coal 100 MW over the tie (2 units on at 100 $/h, 20 $/MWh), gas serves 20, 50, 50 and
    # 5 MW but at least 40. Then gas burns 369 MWh, the city pays 20 $/MWh for 1169 MWh, and a first block at
    # 35 $/MWh covers only 17.06. So the gas unit must give its first block, 60 MW, whenever it is on.
    answer = solved()
    assert answer.status is Status.PROVEN_OPTIMAL
    assert answer.levels is not None
    assert answer.levels.tolist() == [1]
    assert answer.gas_prices_usd_per_mwh is not None
    np.testing.assert_allclose(answer.gas_prices_usd_per_mwh, [20, 20])
    # 4 hours of gas at 60 MW: 60 x 35 x 4 + 200 x 4; coal 60, 90, 90, 45 MW at 20 $ with 2, 2, 2, 2 units on
    by_hand = 4 * (60 * 35 + 200) + 20 * (60 + 90 + 90 + 45) + 100 * 8
    assert answer.leader_cost_usd == pytest.approx(by_hand)
    assert certify(answer).findings == ()


def test_a_network_of_stations_alone() -> None:
    # a compressor that carries what the pipe did: the same game
    station = Compressor("only", "field", "city", "forward", 1.0, 1.2, 1800.0)
    case = replace(TWO_NODE, pipes=(), compressors=(station,))
    answer = GasAwareCommitment(case).solve(0.0, [800.0], gap=1e-6)
    assert answer.status is Status.PROVEN_OPTIMAL
    assert answer.leader_cost_usd == pytest.approx(solved().leader_cost_usd)


def test_too_dear_gas_turns_the_plant_off() -> None:
    # demand alone needs the tank: 30 $/MWh is more than any block covers, so oil replaces gas
    answer = two_node().solve(0.0, [1900.0], gap=1e-3, time_limit=10)
    assert answer.on is not None
    assert answer.on[1].sum() == 0
    assert certify(answer).clean


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 6, 7])
def test_equals_trying_every_commitment(seed: int) -> None:
    case = tiny_case(seed)
    solver = GasAwareCommitment(case)
    generator = np.random.default_rng(seed)
    for demand in generator.uniform(200, 2200, size=2):
        expected = best_by_trying(case, 0.0, demand)
        answer = solver.solve(0.0, [demand], gap=1e-7, time_limit=60)
        if expected is None:
            assert answer.status is Status.INFEASIBLE
        else:
            assert answer.leader_cost_usd == pytest.approx(expected, rel=1e-7)
            assert answer.status is Status.PROVEN_OPTIMAL
            assert certify(answer).clean


def test_infeasible_demand_is_a_status() -> None:
    answer = two_node().solve(0.0, [2400.0])
    assert answer.status is Status.INFEASIBLE
    assert answer.leader_cost_usd is None
