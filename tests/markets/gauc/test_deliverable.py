"""Commitments beside the gas network: what it can serve and no more, and a bound that holds."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.gauc.boxes import followers_of
from tests.markets.reference import Enumeration
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import small_game
from tests.markets.two_node import TWO_NODE, two_node

from ppsm.cases import Case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.markets import GasAwareCommitment
from ppsm.markets.gauc.deliverable import (
    ServableDemand,
    affordable_answers,
    all_miss,
    deliverable_commitment,
    largest_burn_mwh,
    none_is_deliverable,
)
from ppsm.markets.gauc.solver import Search
from ppsm.markets.model.commitment import CommitmentOutcome, UnitCommitment
from ppsm.markets.model.followers import Followers
from ppsm.program import LinearProgram
from ppsm.solvers.mip import SolveLimits
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


# What the plant burns at most: 100 MW in four hours at 7 MMBtu/MWh.
MOST_BURN_MWH = 4 * 100 * 7 * MWH_PER_MMBTU


def missing_mwh(case: Case, demand_mwh: float) -> float:
    return ServableDemand(Followers(case)).missing_mwh(np.array([demand_mwh]))


@pytest.mark.parametrize(
    ("demand", "missing"),
    [
        (800.0, 0.0),
        # 1800 MWh through the pipe and 500 from the tank
        (2300.0, 0.0),
        (2400.0, 100.0),
        # gas that comes out in the city, where the pipe ends, can only be burned
        (-MOST_BURN_MWH + 1.0, 0.0),
        (-MOST_BURN_MWH - 80.0, 80.0),
    ],
)
def test_what_is_missing_by_hand(demand: float, missing: float) -> None:
    found = two_node().servable.missing_mwh(np.array([demand]))
    assert found == pytest.approx(missing, abs=1e-6)


def test_what_is_missing_with_line_pack_twins_and_capacity_by_hand() -> None:
    injected = -MOST_BURN_MWH - 80.0
    packing = tuple(
        replace(row, pack_mwh=30.0 if row.junction == "city" else 0.0) for row in TWO_NODE.junctions
    )
    assert missing_mwh(replace(TWO_NODE, junctions=packing), injected) == pytest.approx(50.0)
    # a second plant in the city burns as much again
    gas = next(fleet for fleet in TWO_NODE.fleets if fleet.fleet == "gas")
    twin = replace(
        TWO_NODE,
        fleets=(*TWO_NODE.fleets, replace(gas, fleet="twin")),
        bids=(*TWO_NODE.bids, *(replace(bid, fleet="twin") for bid in TWO_NODE.bids if bid.fleet == "gas")),
        links=(*TWO_NODE.links, replace(TWO_NODE.links[0], fleet="twin")),
    )
    assert missing_mwh(twin, injected) == pytest.approx(0.0, abs=1e-6)
    assert missing_mwh(twin, -2 * MOST_BURN_MWH - 80.0) == pytest.approx(80.0)
    # 400 MWh are sold of the pipe
    narrow = replace(TWO_NODE, pipes=(replace(TWO_NODE.pipes[0], capacity_mwh=400.0),))
    assert missing_mwh(narrow, 900.0) == pytest.approx(0.0, abs=1e-6)
    assert missing_mwh(narrow, 930.0) == pytest.approx(30.0)


def test_a_plant_that_must_run_is_no_promise() -> None:
    """The test asks for some burn from nothing on: it says nothing of what the plant burns at least."""
    must = replace(
        TWO_NODE, fleets=tuple(replace(row, must_run=int(row.fleet == "gas")) for row in TWO_NODE.fleets)
    )
    assert missing_mwh(must, 2300.0) == pytest.approx(0.0, abs=1e-6)
    # 40 MW in four hours need 328 MWh, which the search finds missing
    assert GasAwareCommitment(must).solve(0.0, [2300.0]).status is Status.INFEASIBLE


@pytest.mark.parametrize("demand", [2301.0, -MOST_BURN_MWH - 1.0])
def test_a_demand_that_no_burn_can_serve_is_infeasible(demand: float) -> None:
    answer = two_node().solve(0.0, [demand])
    assert answer.status is Status.INFEASIBLE
    assert answer.leader_cost_usd is None


@pytest.mark.parametrize("seed", [5, 13])
def test_no_demand_with_an_answer_is_called_unservable(seed: int) -> None:
    _, demand = small_game(seed)
    followers = followers_of(seed)
    servable = ServableDemand(followers)
    draw = np.random.default_rng(seed)
    verdicts = set()
    for _ in range(40):
        drawn = demand * draw.uniform(-1.0, 6.0, demand.size)
        burn = draw.uniform(0.0, 1.0, len(followers.case.links)) * largest_burn_mwh(followers)
        served = followers.gas.clear(followers.gas.market.withdrawal_mwh(drawn, burn)) is not None
        missing = servable.missing_mwh(drawn)
        verdicts.add(missing > 1e-6)
        assert not served or missing < 1e-6
    assert verdicts == {True, False}


def never_on_the_first_path(
    commitment: UnitCommitment, program: LinearProgram | None, limits: SolveLimits
) -> CommitmentOutcome:
    """A solver that finds no commitment unless it is asked for a second opinion."""
    if limits.another_path:
        return HONEST(commitment, program, limits)
    return CommitmentOutcome(Status.INFEASIBLE)


HONEST = UnitCommitment.solve


def test_a_search_without_a_commitment_is_no_proof_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnitCommitment, "solve", never_on_the_first_path)
    # 800 MWh have an answer, whatever the first path says
    assert GasAwareCommitment(TWO_NODE).solve(0.0, [800.0]).status is Status.NO_INCUMBENT
    # a load of three times as much has none, and the second path confirms it
    assert GasAwareCommitment(TWO_NODE).solve(2.0, [800.0]).status is Status.INFEASIBLE


@pytest.mark.parametrize(("demand", "has_none"), [(800.0, False), (2250.0, True)])
def test_the_verdict_beside_the_gas_network_is_confirmed_or_not(
    monkeypatch: pytest.MonkeyPatch, demand: float, has_none: bool
) -> None:
    # 2250 MWh leave less than what a plant that must run burns at its least
    must = tuple(replace(row, must_run=int(row.fleet == "gas")) for row in TWO_NODE.fleets)
    monkeypatch.setattr(UnitCommitment, "solve", never_on_the_first_path)
    solver = GasAwareCommitment(replace(TWO_NODE, fleets=must))
    search = Search(solver, 0.0, np.array([demand]), 1e-3, 60.0, None)
    assert search._deliverable(LEVEL_0, 1e-3) is None
    assert search.infeasible == has_none


def test_what_all_commitments_miss_by_hand() -> None:
    followers = two_node().followers
    for stress, none in ((0.0, False), (2.0, True)):
        assert all_miss(followers, followers.commitment.loaded(stress), 60.0) == none
    # 2300 MWh can be delivered, and plants need not run
    assert not none_is_deliverable(followers, 0.0, np.array([2299.0]), 60.0)
    assert none_is_deliverable(followers, 0.0, np.array([2301.0]), 60.0)
