"""The references that the solver of the game is measured by: by hand, against each other, and unpruned."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.exactness import equal
from tests.markets.reference import (
    Enumeration,
    Offers,
    commitment_cost,
    day_patterns,
    depth,
    has_capacity,
    selections,
)
from tests.markets.single_level import best_by_single_level
from tests.markets.small_games import steep_game
from tests.markets.tiny import TOY_DEMAND_MWH, TOY_OPTIMUM_USD, best_by_trying, tiny_case, toy_case

from ppsm.cases import Case
from ppsm.cases.entities import Bid, Fleet, LoadHour, SupplyBid

TOY_DEMAND = np.array([TOY_DEMAND_MWH])


def test_the_toy_game_is_best_with_a_block_kept_back() -> None:
    tried = Enumeration(toy_case(), TOY_DEMAND)
    answer = tried.answer()
    assert answer is not None
    assert answer.cost_usd == pytest.approx(TOY_OPTIMUM_USD)
    assert answer.offers == {(0, 0): (1, 0), (0, 1): (1, 0)}
    # without the choice of blocks the plant can run in one hour only
    assert tried.best_of_levels() == pytest.approx(10_400.0)


def test_the_toy_game_as_one_program_and_by_merit_orders() -> None:
    assert best_by_single_level(toy_case(), TOY_DEMAND) == pytest.approx(TOY_OPTIMUM_USD)
    assert best_by_trying(toy_case(), 0.0, TOY_DEMAND_MWH) == pytest.approx(TOY_OPTIMUM_USD)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("demand", [500.0, 1300.0, 1900.0])
def test_the_references_agree_with_merit_orders(seed: int, demand: float) -> None:
    """Games of one bus can also be tried with plain merit orders, a third piece of code."""
    case, vector = tiny_case(seed), np.array([demand])
    expected = best_by_trying(case, 0.0, demand)
    assert expected is not None
    assert Enumeration(case, vector).best() == pytest.approx(expected, rel=1e-7)
    assert best_by_single_level(case, vector) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("on", "blocks"), [(0, 3), (1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 4)])
def test_selections_are_all_sequences_that_never_rise(on: int, blocks: int) -> None:
    every = [
        choice
        for choice in itertools.product(range(on + 1), repeat=blocks)
        if choice[0] == on and all(a >= b for a, b in itertools.pairwise(choice))
    ]
    assert sorted(selections(on, blocks)) == sorted(every)
    assert len(every) == math.comb(on + blocks - 1, blocks - 1)


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        ([(2, 2, 1), (1, 1, 1)], 2),  # one unit of two stops at the second block
        ([(2, 1, 1), (1, 1, 1)], 1),
        ([(2, 2, 2), (0, 0, 0)], 3),  # an hour in which nothing runs asks for nothing
        ([(1, 1, 0), (1, 0, 0)], 1),
        ([(0, 0, 0), (0, 0, 0)], 0),
    ],
)
def test_depth_is_what_all_running_units_offer_at_all_times(
    offers: list[tuple[int, ...]], expected: int
) -> None:
    assert depth(offers) == expected


def cluster_case(load_mw: float) -> Case:
    """One hour, coal of 100 MW at 20 and 60 $, and two gas-fired units of 30 MW at 30 $ and 20 MW at 40 $."""
    toy = toy_case()
    fleets = (
        Fleet("coal", "east", "coal", "any", 1, 100.0, 0.0, 1000.0, 0, 0, 0.0, 0.0, 0),
        Fleet("gas", "east", "gas", "any", 2, 50.0, 10.0, 1000.0, 0, 0, 0.0, 0.0, 0),
    )
    bids = (Bid("coal", 1, 50.0, 20.0), Bid("coal", 2, 50.0, 60.0), Bid("gas", 1, 30.0, 30.0))
    return replace(
        toy,
        buses=tuple(replace(bus, load_mw=load_mw if bus.bus == "east" else 0.0) for bus in toy.buses),
        fleets=fleets,
        bids=(*bids, Bid("gas", 2, 20.0, 40.0)),
        load_shape=(LoadHour(0, 1.0),),
    )


@pytest.mark.parametrize(
    ("load", "offered", "gas_mw", "cost"),
    [
        # all is wanted: gas gives what it offers, coal the rest
        (145.0, (2, 2), 95.0, 50 * 20 + 60 * 30 + 35 * 40),
        (145.0, (2, 1), 80.0, 50 * 20 + 60 * 30 + 20 * 40 + 15 * 60),
        (145.0, (2, 0), 60.0, 50 * 20 + 60 * 30 + 35 * 60),
        # little is wanted: a unit that offers its second block gives all of its first
        (70.0, (2, 0), 20.0, 50 * 20 + 20 * 30),
        (70.0, (2, 1), 30.0, 40 * 20 + 30 * 30),
        (70.0, (2, 2), 60.0, 10 * 20 + 60 * 30),
        (15.0, (2, 1), None, None),
        (15.0, (2, 0), None, None),  # two running units give at least 10 MW each
        (15.0, (1, 0), 10.0, 5 * 20 + 10 * 30),
    ],
)
def test_a_cluster_gives_what_its_units_offer(
    load: float, offered: tuple[int, ...], gas_mw: float | None, cost: float | None
) -> None:
    tried = Enumeration(cluster_case(load), TOY_DEMAND)
    cleared = tried.dispatch(((1,), (offered[0],)), {(0, 0): offered})
    if gas_mw is None:
        assert cleared is None
        return
    assert cleared is not None
    assert cleared[0] == pytest.approx(cost)
    assert cleared[1] == pytest.approx([gas_mw * tried.plants[0].burn_rate])


def test_one_unit_of_a_cluster_may_keep_its_block_back() -> None:
    # Gas is cheap for 83 MW. Two units with one second block give 80 and coal 15 of its dear block; two with
    # both would burn too much for any bid, and one unit alone gives 50.
    case = cluster_case(145.0)
    rate = Enumeration(case, TOY_DEMAND).plants[0].burn_rate
    cheap, dear, tank = case.supplies
    wells = SupplyBid(cheap.supply, cheap.junction, 1, TOY_DEMAND_MWH + 83 * rate, cheap.price_usd_per_mwh)
    case = replace(case, supplies=(wells, dear, tank))
    answer = Enumeration(case, TOY_DEMAND).answer()
    assert answer is not None
    assert answer.offers == {(0, 0): (2, 1)}
    assert answer.cost_usd == pytest.approx(50 * 20 + 60 * 30 + 20 * 40 + 15 * 60)
    assert best_by_single_level(case, TOY_DEMAND) == pytest.approx(answer.cost_usd)


def by_trying_without_pruning(tried: Enumeration) -> float | None:
    """Every commitment with every selection, none left out by a bound."""
    case, hours = tried.case, range(len(tried.case.load_shape))
    rows = {fleet.fleet: row for row, fleet in enumerate(case.fleets)}
    costs = []
    for counts in itertools.product(*(list(day_patterns(fleet, len(hours))) for fleet in case.fleets)):
        if not has_capacity(case, counts):
            continue
        places = list(itertools.product(range(len(tried.plants)), hours))
        choices = [
            selections(counts[rows[tried.plants[plant].fleet.fleet]][hour], tried.plants[plant].blocks)
            for plant, hour in places
        ]
        for choice in itertools.product(*choices):
            offers: Offers = dict(zip(places, choice, strict=True))
            cleared = tried.dispatch(counts, offers)
            depths = [depth([offers[plant, hour] for hour in hours]) for plant in range(len(tried.plants))]
            if cleared is not None and tried.valid(depths, cleared[1]):
                costs.append(commitment_cost(case, counts) + cleared[0])
    return min(costs, default=None)


@pytest.mark.parametrize("seed", [14, 16, 22, 25, 40])
def test_pruning_loses_nothing(seed: int) -> None:
    tried = Enumeration(*steep_game(seed))
    assert equal(tried.best(), by_trying_without_pruning(tried))
