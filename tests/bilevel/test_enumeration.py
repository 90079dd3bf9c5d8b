"""All decisions of a leader who has few: against brute force, and each proof by hand."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks.network_games import flow_interdiction
from tests.games.random_games import random_game
from tests.literature.brute_force import brute_force

from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods import every_decision
from ppsm.bilevel.methods.every_decision import Market, assignments_of, enumerate_assignments
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import LpSolution
from ppsm.status import Status


def switches(cap: float) -> BilevelProgram:
    """Each of two plants of 4 costs the leader 3 and 5; without them 10 is served at 1 up to 3, then at 7.

    The price is at most the cap: with both plants 2 is left, which costs 1; with one 6, which costs 7.
    """
    market = LinearProgram.from_arrays(
        cost=[1, 7], matrix=[[1, 1]], row_lower=[10], column_upper=[3, np.inf], row_names=["balance"]
    )
    return BilevelProgram.from_arrays(
        follower=market,
        leader_cost=[3, 5],
        coupling=[[4, 4]],
        variable_upper=1,
        is_integer=True,
        price_matrix=[[1]],
        leader_upper=[cap],
    )


@pytest.mark.parametrize(("cap", "cost", "visited"), [(2.0, 8.0, 4), (7.0, 0.0, 1), (9.0, 0.0, 1)])
def test_prices_below_a_cap_by_hand(cap: float, cost: float, visited: int) -> None:
    found = enumerate_assignments(build_kkt(switches(cap)), cutoff=None, gap=1e-9, deadline=math.inf)
    assert found.objective == pytest.approx(cost)
    assert found.bound == pytest.approx(cost)
    assert found.is_complete
    assert found.is_certified
    assert found.nodes == visited


def test_no_assignment_holds_a_price_below_all_costs() -> None:
    found = solve_bilevel(switches(0.5), method=Method.ENUMERATION)
    assert found.status is Status.INFEASIBLE
    assert "4 of 4 assignments" in found.second_opinion


def test_a_bound_on_all_prices_and_answers_where_there_are_several() -> None:
    """``min y1 + 3 y2`` with ``y1 + y2 >= 2`` and ``y1 <= 2``: the price is anything from 1 to 3."""
    market = LinearProgram.from_arrays(cost=[1, 3], matrix=[[1, 1]], row_lower=[2], column_upper=[2, np.inf])
    alive = Market(market)
    answer = alive.answer(market)
    zero = np.zeros(2)
    assert alive.least(market, answer, zero, np.array([1.0])) == pytest.approx(1.0, abs=1e-6)
    assert alive.least(market, answer, zero, np.array([-1.0])) == pytest.approx(-3.0, abs=1e-6)
    tied = replace(market, cost=np.array([1.0, 1.0]))
    answer = alive.answer(tied)
    assert alive.least(tied, answer, np.array([1.0, 0.0]), np.zeros(1)) == pytest.approx(0.0, abs=1e-6)
    assert alive.least(tied, answer, np.array([-1.0, 0.0]), np.zeros(1)) == pytest.approx(-2.0, abs=1e-6)


@pytest.mark.parametrize("block", range(4))
def test_random_games_whose_leader_has_integers_only(block: int) -> None:
    seen = []
    for seed in range(10 * block, 10 * block + 10):
        program = random_game(seed)
        one = np.ones_like(program.variable_upper)
        program = replace(program, is_integer=one > 0, variable_upper=one)
        truth = brute_force(program)
        found = solve_bilevel(program, method=Method.ENUMERATION)
        seen.append(found.status)
        if found.status is Status.PROVEN_OPTIMAL:
            assert found.verified
            assert found.leader_objective == pytest.approx(truth.objective, abs=1e-6), seed
        elif found.status is Status.INFEASIBLE:
            assert truth.status == "infeasible", seed
    assert seen.count(Status.PROVEN_OPTIMAL) >= 7


def test_a_continuous_decision_in_the_followers_rows_is_refused() -> None:
    program = replace(switches(2.0), is_integer=np.array([True, False]))
    with pytest.raises(ModelError, match="only bounded integers"):
        solve_bilevel(program, method=Method.ENUMERATION)


def test_a_follower_without_an_answer_is_explained() -> None:
    """Its cost falls without limit: the list proves nothing of such a follower, and says so."""
    follower = LinearProgram.from_arrays(cost=[-1], matrix=[[1]], row_lower=[0])
    program = BilevelProgram.from_arrays(
        follower=follower, leader_cost=[1], coupling=[[1]], variable_upper=1, is_integer=True
    )
    found = solve_bilevel(program, method=Method.ENUMERATION)
    assert found.status is Status.NO_INCUMBENT
    assert found.explanation.startswith(
        "a list of 2 of 2 assignments is through, but not all of it is proven"
    )
    assert solve_bilevel(program).status is Status.INFEASIBLE


@pytest.mark.parametrize("method", [Method.ENUMERATION, Method.BRANCHING, Method.AUTO, Method.BIG_M])
def test_a_range_without_an_integer_is_infeasible(method: Method) -> None:
    program = replace(switches(9.0), variable_lower=np.full(2, 0.2), variable_upper=np.full(2, 0.8))
    found = solve_bilevel(program, method=method)
    assert found.status is Status.INFEASIBLE
    assert "integers" in found.explanation


def test_a_budget_leaves_few_of_very_many_assignments() -> None:
    """Of 34 arcs two are removed: 596 choices, each proven, and what SCIP says."""
    program = flow_interdiction(3, 4, 2, seed=3)
    assert assignments_of(program) == 1 + 34 + 34 * 33 // 2
    assert assignments_of(program, most=500) is None
    assert assignments_of(flow_interdiction(3, 4, 34, seed=3)) is None
    found = solve_bilevel(program)
    assert found.method is Method.ENUMERATION
    assert found.verified
    other = solve_bilevel(program, method=Method.SOS1)
    assert found.leader_objective == pytest.approx(other.leader_objective, abs=1e-6)


def test_rows_of_the_leader_leave_what_brute_force_leaves() -> None:
    """Integers from -1 to 2 in rows with both sides, beside a variable that can help a row by up to one."""
    rng = np.random.default_rng(4)
    matrix = rng.integers(-2, 3, (3, 5)).astype(float)
    help_ = np.array([[1.0], [0.0], [-1.0]])
    lower, upper = np.array([-2.0, -3.0, -np.inf]), np.array([2.0, np.inf, 1.0])
    program = BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[1]),
        leader_cost=np.zeros(6),
        coupling=[[1, 1, 1, 1, 1, 0]],
        variable_lower=[-1, -1, -1, -1, -1, 0],
        variable_upper=[2, 2, 2, 2, 2, 1],
        is_integer=[True, True, True, True, True, False],
        leader_matrix=np.hstack([matrix, help_]),
        leader_lower=lower,
        leader_upper=upper,
    )
    all_of_them = np.array(list(product(range(-1, 3), repeat=5)), dtype=float) @ matrix.T
    most, least = all_of_them + help_.clip(0).ravel(), all_of_them + help_.clip(None, 0).ravel()
    assert assignments_of(program) == int(((most >= lower) & (least <= upper)).all(axis=1).sum())


def test_a_leader_who_harms_or_shares_the_followers_cost_needs_no_step_aside() -> None:
    market = LinearProgram.from_arrays(cost=[1, 3], matrix=[[1, 1]], row_lower=[2], column_upper=[1, np.inf])
    alive = Market(market)
    answer = alive.answer(market)
    for multiple in (-2.0, 0.5):
        bound = alive.least(market, answer, multiple * market.cost, np.zeros(1))
        assert bound == pytest.approx(multiple * 4.0, abs=1e-9)
        assert bound <= multiple * 4.0


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_that_is_still_there_spares_a_solve(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Of most ways to cut two arcs the flow needs none: fewer solves, and the same optimum, proven."""
    kkt = build_kkt(flow_interdiction(3, 3, 2, seed))
    solve, solved = Market.answer, [0]

    def counted(market: Market, follower: LinearProgram) -> LpSolution:
        solved[0] += 1
        return solve(market, follower)

    monkeypatch.setattr(Market, "answer", counted)
    found, few = enumerate_assignments(kkt, cutoff=None, gap=1e-9, deadline=math.inf), solved[0]
    monkeypatch.setattr(every_decision, "TUNING", replace(TUNING, earlier_answers=0))
    each = enumerate_assignments(kkt, cutoff=None, gap=1e-9, deadline=math.inf)
    assert found.objective == pytest.approx(each.objective)
    assert found.is_certified
    assert each.is_certified
    assert solved[0] - few == each.nodes == found.nodes
    assert few < 0.7 * each.nodes
