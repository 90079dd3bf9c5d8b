"""Bounds are proven: no optimal dual of the follower at any decision of the leader exceeds them."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from tests.games.random_games import random_game
from tests.literature.brute_force import brute_force

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError, _enumerate_dual_vertices
from ppsm.bilevel.bounds.slater import slater_row, within
from ppsm.bilevel.kkt import build_kkt
from ppsm.errors import NoValidBoundError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp

SLACK = 1e-6


def sampled_decisions(program: BilevelProgram, count: int, rng: np.random.Generator) -> list[FloatArray]:
    low, high = program.variable_lower, np.minimum(program.variable_upper, 10)
    points = [rng.uniform(low, high) for _ in range(count)]
    return [np.where(program.is_integer, np.round(point), point) for point in points]


def extreme_duals(program: BilevelProgram, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The follower's answer and, row by row, the least and largest price over all optimal duals.

    Written with SciPy from the textbook dual: lower sides s, upper sides t, both >= 0, price = s - t.
    """
    follower = program.follower
    shift = program.coupling @ x
    matrix = np.vstack([follower.matrix.toarray(), np.eye(follower.shape[1])])
    low = np.concatenate([follower.row_lower - shift, follower.column_lower])
    high = np.concatenate([follower.row_upper - shift, follower.column_upper])
    below, above = np.isfinite(low), np.isfinite(high)
    primal = linprog(
        follower.cost,
        A_ub=np.vstack([-matrix[below], matrix[above]]),
        b_ub=np.concatenate([-low[below], high[above]]),
        bounds=(None, None),
    )
    if primal.status != 0 or primal.fun is None or primal.x is None:
        return None
    earned = np.concatenate([low[below], -high[above]])
    stationarity = np.vstack([matrix[below], -matrix[above]]).T
    position = np.concatenate([np.flatnonzero(below), np.flatnonzero(above)])
    sign = np.concatenate([np.ones(below.sum()), -np.ones(above.sum())])
    rows = follower.shape[0]
    ends = np.zeros((2, rows))
    for row in range(rows):
        for which, direction in enumerate((1.0, -1.0)):
            cost = direction * np.where(position == row, sign, 0.0)
            dual = linprog(
                cost,
                A_eq=stationarity,
                b_eq=follower.cost,
                A_ub=-earned[None, :],
                b_ub=[-(primal.fun - 1e-9 * max(1.0, abs(primal.fun)))],
            )
            bounded = dual.status == 0 and dual.fun is not None
            ends[which, row] = direction * float(dual.fun or 0.0) if bounded else -direction * INFINITY
    return np.asarray(primal.x), ends[0], ends[1]


@pytest.mark.parametrize("seed", range(25))
def test_no_optimal_dual_exceeds_its_bound(seed: int) -> None:
    """Without leader rows every decision counts; the extreme optimal duals are found by an oracle."""
    program = random_game(seed)
    free = BilevelProgram.from_arrays(
        follower=program.follower,
        leader_cost=program.leader_cost,
        price_cost=np.ones(program.follower.shape[0]),
        coupling=program.coupling,
        variable_upper=program.variable_upper,
        is_integer=program.is_integer,
    )
    finder = BoundFinder(build_kkt(free))
    rng = np.random.default_rng(seed)
    answered = 0
    for x in sampled_decisions(free, 6, rng):
        extremes = extreme_duals(free, x)
        if extremes is None:
            continue
        answered += 1
        y, least, most = extremes
        for row in range(free.follower.shape[0]):
            low, high = finder.price_range(row)
            assert low - SLACK <= least[row]
            assert most[row] <= high + SLACK
        point = np.concatenate([x, y, np.zeros(finder.kkt.multipliers.count)])
        slacks = finder.kkt.slacks(point)
        for side in finder.kkt.pairs:
            assert slacks[side] <= finder.slack(int(side)) + SLACK
    assert answered > 0


@pytest.mark.parametrize("reacts", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_slater_row_holds_at_every_optimal_dual(seed: int, reacts: bool) -> None:
    """The enumeration's optimal points, which share no code with the row, all obey it and its bounds."""
    program = random_game(seed, boxed=False)
    kkt = build_kkt(program)
    coupled = np.unique(program.coupling.indices).astype(np.int64)
    box = program.variable_lower[coupled], program.variable_upper[coupled]
    found = slater_row(kkt, coupled, *box, reacts=reacts)
    answer = brute_force(program)
    if found is None or answer.x is None or answer.y is None or answer.prices is None:
        return
    reduced = program.follower.cost - program.follower.matrix.T @ answer.prices
    net = np.concatenate([answer.prices, reduced])
    rows = program.follower.shape[0]
    where = np.where(kkt.multipliers.is_row, kkt.multipliers.index, rows + kkt.multipliers.index)
    multipliers = np.where(
        kkt.multipliers.is_free, net[where], np.maximum(0.0, kkt.multipliers.sign * net[where])
    )
    row, limit = found
    point = np.concatenate([answer.x, answer.y, multipliers])
    assert row @ point <= limit + 1e-6
    bounded = within(kkt.relaxation, row, limit)
    assert (bounded.column_lower - 1e-6 <= point).all()
    assert (point <= bounded.column_upper + 1e-6).all()


def test_bounds_that_a_row_implies() -> None:
    """By hand: 2 a + b - c <= 10 with a, b >= 0 and c <= 4; without that bound only c's is known."""
    row = np.array([2.0, 1.0, -1.0, 0.0])
    linear = LinearProgram.of(
        np.zeros(4),
        sp.csr_array((0, 4)),
        column_lower=np.array([0.0, 0.0, -np.inf, -np.inf]),
        column_upper=np.array([np.inf, 5.0, 4.0, np.inf]),
    )
    found = within(linear, row, 10.0)
    assert found.column_upper == pytest.approx([7.0, 5.0, 4.0, np.inf])
    assert found.column_lower == pytest.approx([0.0, 0.0, -10.0, -np.inf])
    open_ended = replace(linear, column_upper=np.array([np.inf, 5.0, np.inf, np.inf]))
    found = within(open_ended, row, 10.0)
    assert found.column_upper == pytest.approx(open_ended.column_upper)
    assert found.column_lower == pytest.approx([0.0, 0.0, -10.0, -np.inf])


@pytest.mark.parametrize("answer", [3.0, 9.001])
def test_a_rule_of_slaters_that_is_none_is_refused(answer: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for ``4 - x <= y <= 9`` with x in [0, 1] the solver suggests answers that miss a side."""
    follower = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[4], column_upper=[9])
    program = BilevelProgram.from_arrays(
        follower=follower, leader_cost=[1], coupling=[[1]], variable_upper=[1.0]
    )
    given = build_kkt(program), np.array([0]), np.zeros(1), np.ones(1)
    assert slater_row(*given) is not None

    def wrong(lp: PersistentLp) -> LpSolution:
        return replace(solve(lp), columns=np.concatenate([[answer, 0.0], solve(lp).columns[2:]]))

    solve = PersistentLp.solve
    monkeypatch.setattr(PersistentLp, "solve", wrong)
    assert slater_row(*given) is None


def test_slater_rows_are_found_often_enough_to_be_tested() -> None:
    found = 0
    for seed in range(40):
        program = random_game(seed, boxed=False)
        coupled = np.unique(program.coupling.indices).astype(np.int64)
        box = program.variable_lower[coupled], program.variable_upper[coupled]
        found += slater_row(build_kkt(program), coupled, *box) is not None
    assert found >= 10


def open_ended() -> BilevelProgram:
    """y >= x must hold with y <= 1: at x = 1 its price may be anything from 1 up, and the leader sees it."""
    follower = LinearProgram.from_arrays(
        cost=[1], matrix=[[1]], row_lower=[0], column_upper=[1], row_names=["need"], column_names=["y"]
    )
    return BilevelProgram.from_arrays(
        follower=follower, leader_cost=[-1], price_cost=[1], coupling=[[-1]], variable_upper=[1]
    )


def test_refusal_names_the_row_and_the_remedies() -> None:
    finder = BoundFinder(build_kkt(open_ended()))
    with pytest.raises(NoValidBoundError) as refusal:
        finder.price_range(0)
    for word in ("'need'", "add a leader constraint", "method 'sos1'"):
        assert word in str(refusal.value)
    with pytest.raises(NoValidBoundError, match="multiplier of 'need >= 0'"):
        finder.multiplier(0)


def test_cutoff_of_an_incumbent_gives_the_bound() -> None:
    """A leader with cost at most 0 cannot sit at a price above 1: -x + price <= 0 with x <= 1."""
    finder = BoundFinder(build_kkt(open_ended()), cutoff=0.0)
    low, high = finder.price_range(0)
    assert low == 0.0
    assert 1.0 <= high <= 1.1


def test_vertices_serve_only_leaders_who_do_not_see_prices() -> None:
    blind = BilevelProgram.from_arrays(
        follower=open_ended().follower, leader_cost=[-1], coupling=[[-1]], variable_upper=[1]
    )
    finder = BoundFinder(build_kkt(blind))
    assert finder.multiplier(0) == pytest.approx(1)
    assert not finder.holds_for_every_dual(0)


def test_deadline_is_kept() -> None:
    finder = BoundFinder(build_kkt(open_ended()), deadline=time.perf_counter() - 1)
    with pytest.raises(BoundsOutOfTimeError, match="time limit"):
        finder.multiplier(0)


def test_dual_vertices_of_columns_in_very_different_units() -> None:
    # A basis of the first row's price and the last row's has condition 1e16, yet it is not singular.
    follower = LinearProgram.from_arrays(
        cost=[1.0, 3e-8],
        matrix=[[1e8, 0.0], [1.0, 0.0], [0.0, 1e-8]],
        row_lower=[0.0, -INFINITY, 1e-8],
        row_upper=[INFINITY, 4.0, 1e-8],
        column_lower=[0.0, -INFINITY],
    )
    program = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[0.5],
        response_cost=[-1.0, 0.0],
        coupling=[[-1e8], [1.0], [0.0]],
        variable_upper=2.0,
    )
    vertices = _enumerate_dual_vertices(build_kkt(program))
    assert vertices is not None
    assert sorted(vertices[1]) == pytest.approx([0.0, 1e-8, 1.0, 3.0], rel=1e-6, abs=1e-12)
