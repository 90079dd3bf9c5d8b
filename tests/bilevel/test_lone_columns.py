"""Columns that only one row wants are never larger than what it needs."""

import numpy as np
import pytest
from benchmarks.random_games import integer_game
from tests.games.random_games import random_game

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.bounds import slater
from ppsm.bilevel.bounds.lone_columns import with_lone_columns_bounded
from ppsm.bilevel.bounds.slater import bounded
from ppsm.bilevel.kkt import build_kkt
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status


def demand(cost: float, weight: float, lower: float = -INFINITY, upper: float = INFINITY) -> BilevelProgram:
    """One row ``weight y + z + x`` with z in [1, 4] and x in [0, 2], and y from 0 on at a cost."""
    follower = LinearProgram.from_arrays(
        cost=[cost, 1.0],
        matrix=[[weight, 1.0]],
        row_lower=[lower],
        row_upper=[upper],
        column_lower=[0.0, 1.0],
        column_upper=[INFINITY, 4.0],
    )
    return BilevelProgram.from_arrays(
        follower=follower, leader_cost=[1.0], response_cost=[-1.0, 0.0], coupling=[[1.0]], variable_upper=2.0
    )


@pytest.mark.parametrize(
    ("game", "most"),
    [
        (demand(3.0, 2.0, lower=9.0), (9.0 - 1.0) / 2.0),  # a demand, the others at their least
        (demand(3.0, 2.0, lower=0.5), 0.0),  # met without it
        (demand(-3.0, 2.0, upper=9.0), (9.0 - 1.0) / 2.0),  # a gain within a limit
        (demand(3.0, -2.0, upper=3.0), (4.0 + 2.0 - 3.0) / 2.0),  # it takes away what is too much
        (demand(3.0, 2.0, lower=9.0, upper=20.0), 4.0),  # its cost says which side is tight
        (demand(0.0, 2.0, lower=9.0), INFINITY),  # what costs nothing may be any
        (demand(1e-6, 2.0, lower=9.0), INFINITY),  # within tolerances the same
        (demand(-3.0, 2.0, lower=9.0), INFINITY),  # nothing ends what gains
    ],
)
def test_what_one_row_wants_bounds_a_column(game: BilevelProgram, most: float) -> None:
    kkt = build_kkt(game)
    upper = with_lone_columns_bounded(kkt).column_upper[kkt.responses.start]
    assert upper == pytest.approx(most, abs=1e-6)


def test_a_column_of_two_rows_or_with_costs_that_the_leader_moves_stays_as_it_is() -> None:
    two = LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0], [1.0]], row_lower=[2.0, 3.0])
    moved = LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0]], row_lower=[2.0])
    for game in (
        BilevelProgram.from_arrays(follower=two, leader_cost=[1.0], variable_upper=1.0),
        BilevelProgram.from_arrays(
            follower=moved, leader_cost=[1.0], cost_coupling=[[-1.0]], variable_upper=1.0
        ),
    ):
        kkt = build_kkt(game)
        assert np.isinf(with_lone_columns_bounded(kkt).column_upper[kkt.responses]).all()


def most_of_answers(follower: LinearProgram) -> FloatArray | None:
    """The largest value of each column over all optimal answers, None where there is none."""
    best = solve_lp(follower)
    if best.status is not Status.PROVEN_OPTIMAL:
        return None
    optimal = follower.capped(best.objective + 1e-9)
    each = np.eye(follower.shape[1])
    return np.array([-solve_lp(optimal.with_cost(-one)).objective for one in each]) + follower.offset


@pytest.mark.parametrize("seed", range(40))
def test_all_optimal_answers_to_all_kinds_of_decisions_obey(seed: int) -> None:
    games = [integer_game(3, 3, 4, 0.5, seed)]
    # Of other random games too those that have such columns.
    games += [random_game(seed)] if random_game(seed).only_moves_right_hand_sides else []
    rng = np.random.default_rng(seed)
    for game in games:
        kkt = build_kkt(game)
        upper = with_lone_columns_bounded(kkt).column_upper[kkt.responses]
        for _ in range(6):
            decision = rng.uniform(game.variable_lower, np.minimum(game.variable_upper, 10.0))
            decision = np.where(game.is_integer, np.round(decision), decision)
            most = most_of_answers(game.follower_at(decision, np.zeros(game.follower.shape[1])))
            assert most is None or (most <= upper + 1e-5).all()


def test_with_such_bounds_no_lp_has_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price cap game's relaxation is bounded at once; Slater's LP is for others."""

    def none(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(slater, "PersistentLp", none)
    found = bounded(build_kkt(integer_game(10, 10, 10, 0.3, 1)), INFINITY)
    assert found is not None
    assert found[1] is None
