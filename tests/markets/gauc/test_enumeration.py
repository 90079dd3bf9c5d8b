"""Enumeration looks at every commitment and every selection of bids that can be better."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.markets.gauc.boxes import one_hour_game
from tests.markets.reference import selections
from tests.markets.small_games import small_game

from ppsm.arrays import IntArray
from ppsm.cases import load_case
from ppsm.markets.gauc.enumeration import (
    _every_selection,
    _Master,
    best_selection,
    day_patterns,
    enumerate_commitments,
    list_commitments,
)
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.markets.model.followers import Followers
from ppsm.markets.tuning import TUNING
from ppsm.solvers.highs import solve_lp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.status import Status


@cache
def one_hour(seed: int) -> Followers:
    """A small game of one hour: few enough commitments to try each as a linear program."""
    case = small_game(seed)[0]
    return Followers(replace(case, load_shape=case.load_shape[:1]))


def cost_of_every_commitment(commitment: UnitCommitment) -> dict[tuple[int, ...], float]:
    """UC's cost of each commitment that it allows."""
    program = commitment.at(0.0)
    assert program is not None
    columns = commitment.on_columns.ravel()
    low, high = (bound[columns].astype(int) for bound in (program.column_lower, program.column_upper))
    costs = {}
    for on in itertools.product(*(range(first, last + 1) for first, last in zip(low, high, strict=True))):
        solution = solve_lp(program.with_fixed(columns, np.array(on, dtype=float)))
        if solution.status is Status.PROVEN_OPTIMAL:
            costs[on] = solution.objective
    return costs


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_cuts_exclude_one_commitment_each_and_the_rest_comes_in_order_of_cost(seed: int) -> None:
    commitment = one_hour(seed).commitment
    program = commitment.at(0.0)
    assert program is not None
    expected = cost_of_every_commitment(commitment)
    assert len(expected) > 3
    master = _Master(program, commitment.on_columns, commitment.is_integer)
    seen: list[tuple[int, ...]] = []
    while True:
        status, bound, on = master.solve(1e-9, 60.0)
        if on is None:
            break
        left = [cost for other, cost in expected.items() if other not in seen]
        assert bound is not None
        assert bound == pytest.approx(min(left), rel=1e-6)
        seen.append(tuple(on.ravel().tolist()))
        assert expected[seen[-1]] == pytest.approx(min(left), rel=1e-6)
        master.exclude(on)
    assert status is Status.INFEASIBLE
    assert sorted(seen) == sorted(expected)


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_the_listing_has_every_commitment_with_a_bound_below_its_cost(seed: int) -> None:
    commitment = one_hour(seed).commitment
    listing = list_commitments(commitment, 0.0)
    assert listing is not None
    bounds = {tuple(on.ravel().tolist()): bound for bound, on in listing}
    for on, cost in cost_of_every_commitment(commitment).items():
        assert bounds[on] <= cost * (1 + 1e-9)


def test_listing_bounds_by_hand() -> None:
    # hour 0 of the two-node day: 120 MW; one coal unit and the gas unit run
    case = replace(load_case("two_node"), load_shape=load_case("two_node").load_shape[:1])
    listing = list_commitments(UnitCommitment(case), 0.0)
    assert listing is not None
    bounds = {tuple(on.ravel().tolist()): bound for bound, on in listing}
    # 60 MW of coal at 20 $ and 60 MW of gas at 35 $, no-load 100 and 200 $; what always runs never starts
    assert bounds[1, 1, 0] == pytest.approx(60 * 20 + 60 * 35 + 100 + 200)
    # both coal units can serve 120 MW as far as the listing knows, which does not know the tie of 100 MW
    assert bounds[2, 0, 0] == pytest.approx(120 * 20 + 2 * 100)
    assert (1, 0, 1) not in bounds  # 60 MW of coal and 50 MW of oil are too little


def every_selection(followers: Followers, on: IntArray) -> Iterator[IntArray]:
    """All offers (links x blocks x hours) that the running units of a commitment can make."""
    running, width = on[followers.commitment.link_fleets], followers.levels.size_mw.shape[1]
    choices = [
        [(*counts, *[0] * (width - len(counts))) for counts in selections(int(count), int(blocks))]
        for plant, blocks in enumerate(followers.levels.blocks)
        for count in running[plant]
    ]
    for chosen in itertools.product(*choices):
        yield np.array(chosen).reshape(*running.shape, width).swapaxes(1, 2)


def by_trying_every_selection(
    followers: Followers, on: IntArray, demand: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    """The least cost of a commitment over all offers at which its bids are valid."""
    best = math.inf
    for offers in every_selection(followers, on):
        power = followers.power_answer(0.0, on, offers)
        answer = None if power is None else followers.game_answer(power, demand)
        if answer is not None and not answer.invalid:
            best = min(best, answer.power.leader_cost_usd)
    return best


def test_the_best_selection_may_be_that_of_several_plants() -> None:
    # Gas costs 20 $/MWh. First blocks cover 15 $ and 15.5 $, so that both plants must fill them, 30 MW each,
    # and coal the rest of 70 MW; with less from one of them the other or coal would give what it does not.
    blocks = {
        "coal": [(40.0, 20.0)],
        "one": [(30.0, 30.0), (30.0, 60.0)],
        "two": [(30.0, 31.0), (30.0, 62.0)],
    }
    followers = one_hour_game(70.0, blocks, {"one": "city", "two": "city"})
    found = best_selection(followers, 0.0, np.ones((3, 1), dtype=np.int64), np.array([1100.0]), math.inf)
    assert found is not None
    assert found.power.levels.tolist() == [1, 1]
    assert found.power.leader_cost_usd == pytest.approx(10 * 20 + 30 * 30 + 30 * 31)


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 13])
def test_the_best_selection_is_the_best_of_all(seed: int) -> None:
    _, demand = small_game(seed)
    followers = one_hour(seed)
    listing = list_commitments(followers.commitment, 0.0)
    assert listing is not None
    valid = 0
    for _, on in listing:
        expected = by_trying_every_selection(followers, on, demand)
        found = best_selection(followers, 0.0, on, demand, math.inf)
        assert (found is None) == math.isinf(expected)
        if found is None:
            continue
        valid += 1
        assert found.invalid == ()
        assert found.power.leader_cost_usd == pytest.approx(expected, rel=1e-9)
        # a cutoff at the cost itself leaves nothing that is cheaper
        assert best_selection(followers, 0.0, on, demand, expected * (1 - 1e-9)) is None
    assert valid > 0


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_all_offers_between_two_bound_each_of_them(seed: int) -> None:
    """Otherwise the search over offers could stop before the best."""
    followers, generator = one_hour(seed), np.random.default_rng(seed)
    listing = list_commitments(followers.commitment, 0.0)
    assert listing is not None
    compared = 0
    for _ in range(20):
        on = listing[int(generator.integers(len(listing)))][1]
        every = list(every_selection(followers, on))
        one, other = (every[int(generator.integers(len(every)))] for _ in range(2))
        fewest, most = np.minimum(one, other), np.maximum(one, other)
        bound = followers.electricity.clear(0.0, on, fewest, most)
        for offers in every:
            power = followers.power_answer(0.0, on, offers)
            if power is not None and (offers >= fewest).all() and (offers <= most).all():
                assert bound is not None
                assert bound.cost_usd <= power.dispatch.cost_usd * (1 + 1e-9)
                compared += 1
    assert compared > 0


@pytest.mark.parametrize("seed", [2, 5, 8])
def test_a_split_loses_no_selection_and_shares_none(seed: int) -> None:
    followers = one_hour(seed)
    listing = list_commitments(followers.commitment, 0.0)
    assert listing is not None
    on = listing[-1][1]
    every = {offers.tobytes() for offers in every_selection(followers, on)}
    found: list[bytes] = []
    nodes = [_every_selection(followers, on[followers.commitment.link_fleets])]
    while nodes:
        node = nodes.pop()
        parts = node.split(node.fewest)
        nodes += parts
        if not parts:
            found.append(node.fewest.tobytes())
    assert sorted(found) == sorted(every)


def test_listing_bounds_never_exceed_the_true_cost() -> None:
    case, _ = small_game(13)
    listing = list_commitments(UnitCommitment(case), 0.0)
    assert listing is not None
    bounds = [bound for bound, _ in listing]
    assert bounds == sorted(bounds)
    core = UnitCommitment(case)
    cheapest = core.solve(core.at(0.0), SolveLimits()).objective_usd
    assert cheapest is not None
    assert 0.5 * cheapest < bounds[0] <= cheapest * (1 + 1e-9)


def test_listing_respects_minimum_times_and_size() -> None:
    fleet = load_case("two_node").fleets[0]  # two units, minimum times of four hours
    assert day_patterns(fleet, 2) == [(0, 0), (1, 1), (2, 2)]
    assert list_commitments(UnitCommitment(load_case("medium")), 0.0) is None


def test_the_listing_counts_what_minimum_times_leave() -> None:
    case = load_case("two_node")
    hours = len(case.load_shape)
    assert math.prod((fleet.unit_count + 1) ** hours for fleet in case.fleets) > TUNING.largest_listing
    listing = list_commitments(UnitCommitment(case), 0.0)
    assert listing is not None
    assert len(listing) <= math.prod(len(day_patterns(fleet, hours)) for fleet in case.fleets)


@pytest.mark.parametrize("seed", [2, 3, 8])
def test_the_listing_and_the_cuts_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    followers, demand = one_hour(seed), small_game(seed)[1]

    def found() -> tuple[float, float]:
        result = enumerate_commitments(followers, 0.0, demand, None, 1e-7, lambda: 600.0)
        assert result.finished
        assert result.answer is not None
        return result.answer.power.leader_cost_usd, result.bound_usd

    listed = found()
    monkeypatch.setattr("ppsm.markets.gauc.enumeration.list_commitments", lambda *_: None)
    assert found() == pytest.approx(listed, rel=1e-6)


def test_a_search_that_finds_nothing_left_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One path of the solver sees no commitment at all: the other goes through them all the same."""
    followers, demand = one_hour(2), small_game(2)[1]
    expected = enumerate_commitments(followers, 0.0, demand, None, 1e-7, lambda: 600.0)
    assert expected.answer is not None
    monkeypatch.setattr("ppsm.markets.gauc.enumeration.affordable_answers", lambda *_: iter(()))

    def blind(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        if limits.another_path:
            return solve_mip_with_highs(problem, limits)
        return MipResult(Status.INFEASIBLE, "blind", 0.0)

    monkeypatch.setattr("ppsm.markets.gauc.enumeration.list_commitments", lambda *_: None)
    monkeypatch.setattr("ppsm.markets.gauc.enumeration.solve_mip_with_highs", blind)
    found = enumerate_commitments(followers, 0.0, demand, None, 1e-7, lambda: 600.0)
    assert found.finished
    assert found.answer is not None
    assert found.answer.power.leader_cost_usd == pytest.approx(expected.answer.power.leader_cost_usd)
    assert found.bound_usd == pytest.approx(expected.bound_usd, rel=1e-6)
