"""Cuts from strong duality: every point of the game obeys them, and who doubts SCIP's claims does without."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.random_games import integer_game
from tests.games.random_games import random_game

from ppsm.arrays import INFINITY, FloatArray
from ppsm.bilevel import searchers
from ppsm.bilevel.bounds.duality_cuts import duality_cuts, price_ranges
from ppsm.bilevel.bounds.slater import bounded
from ppsm.bilevel.incumbent import respond
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.bilevel.second_opinion import Claim, Verdict, second_opinion
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.tuning import TUNING
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.solvers.mip import Cuts, SolveLimits
from ppsm.solvers.scip import ScipSearch
from ppsm.status import Status


def system(program: BilevelProgram) -> KktSystem:
    found = bounded(build_kkt(program), INFINITY)
    assert found is not None
    return found[0]


def points(kkt: KktSystem, count: int) -> list[FloatArray]:
    """The follower's answers to decisions anywhere in the leader's box."""
    rng, program = np.random.default_rng(0), kkt.program
    most = np.minimum(program.variable_upper, 10)
    boxes = (rng.uniform(program.variable_lower, most) for _ in range(count))
    answers = (respond(kkt, np.where(program.is_integer, np.round(x), x)) for x in boxes)
    return [answer for answer in answers if answer is not None]


def test_every_point_of_a_game_obeys_them() -> None:
    cut = 0
    games = [*map(random_game, range(60)), *(integer_game(10, 10, 10, 0.3, seed) for seed in range(4))]
    for program in games:
        kkt = system(program)
        cuts = duality_cuts(kkt)
        if cuts is None:
            continue
        cut += 1
        low, high = price_ranges(kkt)
        for point in points(kkt, 6):
            assert (cuts.matrix @ point <= cuts.upper + 1e-6 * (1 + np.abs(cuts.upper))).all()
            prices = kkt.prices(point)
            assert (prices >= low - 1e-6).all()
            assert (prices <= high + 1e-6).all()
    assert cut > 20


def test_a_price_is_at_most_what_replaces_the_row() -> None:
    """One row that a column of cost 12 covers at 3 each: its price is at most 4."""
    follower = LinearProgram.from_arrays(
        cost=[1, 12], matrix=[[1, 3]], row_lower=[6], column_upper=[2, np.inf]
    )
    kkt = build_kkt(BilevelProgram.from_arrays(follower=follower, leader_cost=[1], coupling=[[1]]))
    low, high = price_ranges(kkt)
    assert low == pytest.approx([0])
    assert high == pytest.approx([4])


def test_they_raise_the_bound_and_are_made_where_they_are_worth_it() -> None:
    kkt = system(integer_game(10, 10, 10, 0.3, 0))
    cuts = duality_cuts(kkt)
    assert cuts is not None
    assert solve_lp(kkt.relaxation).objective == pytest.approx(0)
    raised = solve_lp(kkt.relaxation.with_rows(cuts.matrix, upper=cuts.upper)).objective
    assert raised > 80  # of 112.7
    assert duality_cuts(kkt, worth=112.0) is None


def test_games_without_them() -> None:
    """Where the leader moves costs the inequality would hold other products."""
    program = integer_game(10, 10, 10, 0.3, 0)
    raised = sp.csr_array(([1.0], ([0], [0])), shape=(program.follower.shape[1], 10))
    assert duality_cuts(build_kkt(replace(program, cost_coupling=raised))) is None


def dearer_than(kkt: KktSystem, cost: float) -> Cuts:
    """Not a cut: it takes away what costs less."""
    return Cuts(sp.csr_array(-kkt.relaxation.cost[None, :]), np.array([-cost]))


def test_a_wrong_cut_is_found_out() -> None:
    """A cut that takes the best point away: the claim made with it is refuted in the same model."""
    kkt = system(integer_game(10, 10, 10, 0.3, 0))
    best = solve_bilevel(kkt.program).leader_objective
    assert best is not None
    wrong = dearer_than(kkt, best + 5.0)
    limits = SolveLimits(feasibility=1e-7)
    search = ScipSearch(replace(sos1(kkt).problem, cuts=wrong), limits)
    claimed = search.run(INFINITY)
    assert claimed.status is Status.PROVEN_OPTIMAL
    assert claimed.objective is not None
    assert claimed.objective >= best + 5 - 1e-6
    claim = Claim(claimed.objective - 1e-6, Method.SOS1, True, claimed.presolved, search)
    assert second_opinion(kkt, claim, limits, INFINITY).verdict is Verdict.REFUTED


def test_a_game_is_solved_with_wrong_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    program = integer_game(12, 15, 20, 0.2, 4)
    best = solve_bilevel(program).leader_objective
    assert best is not None

    made = []

    def poor(kkt: KktSystem, *_: float) -> Cuts:
        made.append(dearer_than(kkt, best + 5.0))
        return made[-1]

    monkeypatch.setattr(searchers, "duality_cuts", poor)
    monkeypatch.setattr(searchers, "TUNING", replace(TUNING, integers_worth_cuts=1))
    found = solve_bilevel(program, time_limit=60)
    assert made
    assert found.leader_objective == pytest.approx(best)
    assert found.verified
