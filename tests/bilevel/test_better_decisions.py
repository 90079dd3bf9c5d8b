"""Steps from decision to decision: points of the game only, and the optimum where no trap is on the way."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.random_games import integer_game
from tests.games.random_games import random_game
from tests.literature.brute_force import brute_force

from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods.better_decisions import Steps, has_steps
from ppsm.bilevel.searchers import StepSearcher, searchers
from ppsm.bilevel.tuning import TUNING
from ppsm.bilevel.verify import verify
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.mip import SolveLimits


def relief(most: int) -> BilevelProgram:
    """Each of up to so many units at 3 spares the follower 2 of 10, each of which costs the leader 2."""
    market = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[10])
    return BilevelProgram.from_arrays(
        follower=market,
        leader_cost=[3],
        response_cost=[2],
        coupling=[[2]],
        variable_upper=[most],
        is_integer=True,
    )


@pytest.mark.parametrize(("most", "cost"), [(0, 20.0), (3, 17.0), (5, 15.0), (40, 15.0)])
def test_by_hand(most: int, cost: float) -> None:
    kkt = build_kkt(relief(most))
    steps = Steps(kkt)
    steps.run(math.inf)
    assert steps.is_through
    assert steps.columns is not None
    assert kkt.relaxation.cost @ steps.columns == pytest.approx(cost)


def test_numbers_that_are_no_integers_are_found_by_halves() -> None:
    """Relief at 3 pays while 2 of 10 are spared: up to 5, and here no more than 3.3 is to be had."""
    program = replace(relief(5), is_integer=np.array([False]), variable_upper=np.array([3.3]))
    kkt = build_kkt(program)
    steps = Steps(kkt)
    steps.run(math.inf)
    assert steps.columns is not None
    assert kkt.relaxation.cost @ steps.columns == pytest.approx(20.0 - 3.3)
    free = build_kkt(replace(program, variable_upper=np.array([7.0])))
    steps = Steps(free)
    steps.run(math.inf)
    assert steps.columns is not None
    assert free.relaxation.cost @ steps.columns == pytest.approx(15.0, abs=1e-3)


def test_a_walk_can_be_left_and_taken_up_again() -> None:
    kkt = build_kkt(relief(5))
    steps = Steps(kkt)
    for _ in range(100):
        steps.run(-math.inf)
    assert steps.is_through
    assert steps.columns is not None
    assert kkt.relaxation.cost @ steps.columns == pytest.approx(15)


def test_a_better_point_of_somebody_else_is_where_it_goes_on() -> None:
    kkt = build_kkt(relief(5))
    far, near = Steps(kkt), Steps(kkt)
    far.run(math.inf)
    assert far.columns is not None
    near.offer(far.columns)
    assert near.columns is far.columns


def test_who_has_steps() -> None:
    assert has_steps(relief(5))
    market = relief(5).follower
    assert not has_steps(BilevelProgram.from_arrays(follower=market, leader_cost=[1], coupling=[[1]]))
    many = TUNING.numbers_with_steps + 1
    for count in (1, many):
        numbers = BilevelProgram.from_arrays(
            follower=market, leader_cost=[1] * count, coupling=[[1] * count], variable_upper=[2] * count
        )
        assert has_steps(numbers) == (count < many)
    endless = BilevelProgram.from_arrays(follower=market, leader_cost=[1], coupling=[[1]], is_integer=True)
    assert not has_steps(endless)


@pytest.mark.parametrize(("rows", "is_first"), [(20, True), (10, False)])
def test_a_good_point_comes_before_a_long_search(rows: int, is_first: bool) -> None:
    """Where pairs are many the first turn of all is theirs, as long as there are integers."""
    kkt = build_kkt(integer_game(12, rows, rows, 0.3, 0))
    steps = next(one for one in searchers(kkt, SolveLimits(), math.inf) if isinstance(one, StepSearcher))
    assert (steps.from_turn == 0) == is_first
    seconds = steps.share * TUNING.glance
    assert not is_first or seconds == pytest.approx(12 * TUNING.first_steps)
    steps.run(math.inf)
    assert steps.share == TUNING.share_of_steps


def test_random_games() -> None:
    """What it calls a point of the game passes verification, and none costs less than the optimum."""
    seen = 0
    for seed in range(60):
        program = random_game(seed)
        if not has_steps(program):
            continue
        kkt, best = build_kkt(program), brute_force(program).objective
        steps = Steps(kkt)
        steps.run(math.inf)
        if steps.columns is None:
            continue
        assert best is not None
        seen += 1
        cost = float(kkt.relaxation.cost @ steps.columns) + kkt.relaxation.offset
        parts = steps.columns[kkt.variables], steps.columns[kkt.responses], kkt.prices(steps.columns)
        assert verify(program, *parts, cost).verified
        assert cost >= best - 1e-6 * max(1.0, abs(best))
    assert seen
