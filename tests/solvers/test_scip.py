"""Searches by SCIP: what they are left and taken up again for, and rows as they were meant."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.random_games import integer_game

from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import ScipSearch, solve_mip_with_scip
from ppsm.status import Status

pytest.importorskip("pyscipopt")


def a_game() -> BilevelProgram:
    """Fifteen shared resources, enough for a tree of some nodes."""
    rng = np.random.default_rng(7)
    follower = LinearProgram.from_arrays(
        cost=-rng.uniform(0.0, 1.0, 15), matrix=rng.uniform(0.1, 1.0, (15, 15)), row_upper=np.full(15, 9.0)
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=rng.uniform(-1.0, 1.0, 15),
        response_cost=rng.uniform(-1.0, 1.0, 15),
        coupling=rng.uniform(-1.0, 1.0, (15, 15)),
        variable_upper=5.0,
    )


def test_a_search_that_is_left_at_every_node_stays_the_same() -> None:
    problem = sos1(build_kkt(a_game())).problem
    at_once = solve_mip_with_scip(problem, SolveLimits())
    search = ScipSearch(problem, SolveLimits())
    result, turns = search.run(0.0), 1
    while result.status is not Status.PROVEN_OPTIMAL:
        assert not result.interrupted
        result, turns = search.run(0.0), turns + 1
    assert turns > 5
    assert result.nodes == at_once.nodes
    assert result.objective == at_once.objective


@pytest.mark.parametrize("game", [a_game(), integer_game(15, 15, 30, 0.2, 19)])
def test_who_doubts_a_claim_searches_as_if_nobody_had_before(game: BilevelProgram) -> None:
    """SCIP keeps how it branched on sets that were apart; where presolve joins them that is no help."""
    problem, limits = sos1(build_kkt(game)).problem, SolveLimits(feasibility=1e-7)
    search = ScipSearch(problem, limits)
    found = search.run(60.0)
    assert found.objective is not None
    doubts = replace(limits, another_path=True, doubts_itself=True)
    cutoff = found.objective + 1e-3
    search.doubt(cutoff, doubts)
    again = search.run(60.0)
    fresh = ScipSearch(replace(problem, cutoff=cutoff), doubts).run(60.0)
    assert again.objective == pytest.approx(found.objective, rel=1e-6)
    assert again.nodes == fresh.nodes


def test_rows_have_both_sides_and_the_sum_of_double_entries() -> None:
    """The most of x + y with 1 <= 2 x + y <= 4 and an entry of x in two parts; y is at most 1."""
    doubled = sp.csr_array((np.array([1.0, 1.0, 1.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    linear = LinearProgram.of(
        np.array([-1.0, -1.0]),
        doubled,
        row_lower=np.array([1.0]),
        row_upper=np.array([4.0]),
        column_lower=np.zeros(2),
        column_upper=np.array([9.0, 1.0]),
    )
    problem = MixedIntegerProgram(linear, np.zeros(2, dtype=np.bool_))
    assert solve_mip_with_scip(problem, SolveLimits()).objective == pytest.approx(-2.5)
    least = MixedIntegerProgram(linear.with_cost(np.array([1.0, 3.0])), problem.is_integer)
    assert solve_mip_with_scip(least, SolveLimits()).objective == pytest.approx(0.5)
