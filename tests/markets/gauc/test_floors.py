"""Price floors are proofs: nothing that they exclude exists, whatever the solver has seen before."""

import itertools
import math

import numpy as np
import pytest
from tests.markets.gauc.boxes import BoxRegion, followers_of, random_box
from tests.markets.small_games import small_game
from tests.markets.two_node import solved, two_node

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.floors import PriceFloors, _rounded_up, _with_total
from ppsm.markets.gauc.recourse import AffineRecourse
from ppsm.markets.gauc.region import BurnRegion
from ppsm.markets.gauc.solver import GasAwareCommitment, Search
from ppsm.markets.model.clearing import GasDay
from ppsm.markets.model.followers import GameAnswer, PowerAnswer
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution
from ppsm.solvers.mip import SolveLimits


def optimum(solver: GasAwareCommitment, demand: np.ndarray[tuple[int], np.dtype[np.float64]]) -> GameAnswer:
    """The best answer of a small game, proven by trying everything."""
    search = Search(solver, 0.0, demand, 1e-7, 60.0, None)
    search.run(proof=True)
    assert search.best is not None
    return search.best


def unlimited() -> float:
    return math.inf


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_no_answer_lies_below_what_floors_exclude(seed: int) -> None:
    """One object over several demands and targets, so that what it remembers is used."""
    case, demand = small_game(seed)
    solver = GasAwareCommitment(case)
    floors = PriceFloors(solver.followers)
    commitment, levels = solver.followers.commitment, solver.followers.levels
    raised = 0
    for factor in (0.9, 1.0, 1.1):
        best = optimum(solver, factor * demand)
        cost = best.power.leader_cost_usd
        for share in (0.99, 1.005, 1.02):
            proof = floors.levels(0.0, factor * demand, share * cost, best, unlimited)
            raised += proof.nothing or bool(proof.levels.any())
            if share < 1.0:
                continue  # nothing is there to be excluded
            assert not proof.nothing
            program = commitment.at(0.0, levels.least_at(proof.levels))
            outcome = commitment.solve(program, SolveLimits(gap=1e-9))
            assert outcome.objective_usd is not None
            assert outcome.objective_usd <= cost * (1 + 1e-7)
    assert raised > 0


def test_what_holds_at_lower_levels_holds_at_higher_ones() -> None:
    floors = PriceFloors(followers_of(2))
    one, two = np.array([1, 0]), np.array([1, 2])
    floors._note_empty(0.3, 100.0, two)
    assert floors._is_known_empty(0.3, 100.0, two)
    assert floors._is_known_empty(0.3, 90.0, np.array([0, 2]), np.array([1, 0]))
    assert not floors._is_known_empty(0.3, 100.0, one)
    assert not floors._is_known_empty(0.3, 101.0, two)
    assert not floors._is_known_empty(0.4, 100.0, two)
    floors._note_empty(0.3, 100.0, one)
    assert len(floors._empty) == 1  # the first follows from the second
    assert floors._is_known_empty(0.3, 100.0, one)


@pytest.mark.parametrize("what", ["extent", "guide"])
def test_programs_without_a_verdict_prove_nothing_and_end(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, demand = small_game(5)
    solver = GasAwareCommitment(case)
    best = optimum(solver, demand)
    asked: list[object] = []

    def without_extent(region: BurnRegion, weights: FloatArray) -> float:
        del region
        asked.append(weights)
        return math.inf

    def without_guide(program: LinearProgram) -> LpSolution:
        asked.append(program)
        raise SolverError("no verdict")

    if what == "extent":
        monkeypatch.setattr(BurnRegion, "_ask", without_extent)
    else:
        monkeypatch.setattr("ppsm.markets.gauc.recourse.solve_lp_inside", without_guide)
    proof = PriceFloors(solver.followers).levels(
        0.0, demand, 0.9999 * best.power.leader_cost_usd, best, unlimited
    )
    assert not proof.levels.any()
    assert asked


# The lowest optimal price in the city is 10 $/MWh up to a withdrawal of 1000, then 20 up to 1800, then 30.


def floors_by_hand(demand: float, low: float, high: float) -> float:
    followers = two_node().followers
    solved()
    best = two_node().followers.game_answer(_any_power(), np.array([800.0]))
    assert best is not None
    region = BoxRegion(np.array([low]), np.array([high]))
    floors = PriceFloors(followers)._floors(np.array([demand]), region, best, lambda _: False, unlimited)
    return float(floors[0])


def _any_power() -> PowerAnswer:
    on = solved().on
    assert on is not None
    offers = solved().offers
    assert offers is not None
    power = two_node().followers.power_answer(0.0, on, offers)
    assert power is not None
    return power


def test_floors_of_the_two_node_market_by_hand() -> None:
    assert floors_by_hand(1100.0, 100.0, 300.0) == pytest.approx(20.0, abs=0.01)
    # above the step by more than the plant is lowered in the argument (a fiftieth of its least burn, 3.3 MWh)
    assert floors_by_hand(850.0, 155.0, 300.0) == pytest.approx(20.0, abs=0.01)
    # 950 to 1150: where the burn is low gas costs 10
    assert floors_by_hand(850.0, 100.0, 300.0) == pytest.approx(10.0, abs=0.01)
    assert 9.9 <= floors_by_hand(850.0, 145.0, 300.0) <= 10.0
    assert floors_by_hand(850.0, 10.0, 140.0) == pytest.approx(10.0, abs=0.01)
    # 1810 and more are beyond the pipe; a region that reaches from 950 to there has the floor of its low end
    assert floors_by_hand(850.0, 970.0, 1300.0) == pytest.approx(30.0, abs=0.01)
    assert floors_by_hand(850.0, 100.0, 1300.0) <= 10.0


def test_the_inequality_by_hand() -> None:
    floors = PriceFloors(two_node().followers)
    region = BoxRegion(np.array([100.0]), np.array([300.0]))
    by_hand = {
        # U = V at q0 = 200 and p = y0 = 20: nothing is lost
        (16_000.0, 20.0, 16_000.0, 20.0): 20.0,
        # U0 - V(q0) = 500 over 50 MWh
        (16_500.0, 20.0, 16_000.0, 20.0): 20.0 - 10.0,
        # p - y0 = 10 and q - q0 up to 100
        (16_000.0, 20.0, 16_000.0, 10.0): 20.0 - 10.0 * 100 / 50,
        # p - y0 = -10 and q - q0 down to -100
        (16_000.0, 20.0, 16_000.0, 30.0): 20.0 - 10.0 * 100 / 50,
    }
    for (above, slope, value, price), expected in by_hand.items():
        recourse = AffineRecourse(above, np.array([slope]), np.zeros((1, 1)))
        day = GasDay(value, np.array([0.0, price]), np.zeros(0))
        found = floors._floors_by(recourse, region, np.array([200.0]), day, np.array([50.0]))
        assert found[0] == pytest.approx(expected, abs=1e-4)
        assert found[0] < expected  # rounding is on the safe side


def test_slices_cover_the_region_and_part_where_the_merit_order_steps() -> None:
    floors = PriceFloors(two_node().followers)
    region = BoxRegion(np.array([100.0]), np.array([1300.0]))
    # supplies in order of price: 1000, 1000 and 500 MWh; a demand of 850 takes the first of them
    parts = floors._slices(np.array([850.0]), region)
    assert [part.total_mwh for part in parts] == [(100.0, 150.0), (150.0, 1150.0), (1150.0, 1300.0)]
    assert floors._slices(np.array([2600.0]), region)[0].total_mwh == region.total_mwh
    generator = np.random.default_rng(2)
    for seed in (2, 3, 5):
        _, demand = small_game(seed)
        game = PriceFloors(followers_of(seed))
        whole = random_box(game.followers, generator)
        ends = [part.total_mwh for part in game._slices(demand, whole)]
        assert (ends[0][0], ends[-1][1]) == whole.total_mwh
        assert all(first[1] == second[0] for first, second in itertools.pairwise(ends))


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 11])
def test_no_optimal_price_of_a_region_is_below_its_floor(seed: int) -> None:
    _, demand = small_game(seed)
    followers, generator = followers_of(seed), np.random.default_rng(seed)
    floors, gas = PriceFloors(followers), followers.gas
    close = 0
    for _ in range(12):
        region = random_box(followers, generator)
        drawn = demand * generator.uniform(0.5, 1.2)
        centre = (region.lower_mwh + region.upper_mwh) / 2
        proven = floors._floors_of_slice(drawn, region, centre, lambda _: False, unlimited)
        for burn in region.burns(generator, 10):
            withdrawal = gas.market.withdrawal_mwh(drawn)
            withdrawal[floors.places] += burn
            for plant in np.flatnonzero(np.isfinite(proven)):
                caps = np.full(proven.size, np.inf)
                caps[plant] = proven[plant] - 1e-3
                day = gas.clear(withdrawal, caps)
                assert day is not None
                # prices respect the cap where any optimal ones do
                lowest = day.prices_usd_per_mwh[gas.plants[plant]]
                assert lowest > caps[plant]
                close += lowest < proven[plant] + 0.5
    assert close > 0


def test_targets_are_rounded_up_by_little() -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        target, room = generator.uniform(1e3, 1e8), 10 ** generator.uniform(-2, 6)
        assert 0 <= _rounded_up(target, room) - target <= 0.01 * room * (1 + 1e-9) + 1e-6
    assert _rounded_up(123.4, 0.0) == 123.4


def test_the_burn_of_the_argument_lies_in_its_slice() -> None:
    generator = np.random.default_rng(6)
    followers = followers_of(3)
    for _ in range(20):
        region = random_box(followers, generator)
        for burn in region.burns(generator, 4):
            moved = _with_total(burn, region)
            assert (moved >= region.lower_mwh - 1e-9).all()
            assert (moved <= region.upper_mwh + 1e-9).all()
            assert moved.sum() == pytest.approx(sum(region.total_mwh) / 2)
