"""Claims of optimality and their second opinion: true ones are confirmed, planted wrong ones are refuted."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.network_games import toll_game
from tests.games.random_games import random_game
from tests.literature.brute_force import brute_force

from ppsm.arrays import FloatArray
from ppsm.bilevel import portfolio
from ppsm.bilevel import second_opinion as opinions
from ppsm.bilevel import solve as engine
from ppsm.bilevel import standing as standings
from ppsm.bilevel.incumbent import FirstLook, first_look
from ppsm.bilevel.kkt import KktSystem, build_kkt
from ppsm.bilevel.methods import Attempt, attempts
from ppsm.bilevel.methods.branching import Branching, branch
from ppsm.bilevel.methods.scip_forms import sos1
from ppsm.bilevel.searchers import Progress
from ppsm.bilevel.second_opinion import Claim, Opinion, Verdict, search_for_better, second_opinion
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.tuning import TUNING
from ppsm.errors import SolverError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers import scip as scips
from ppsm.solvers.highs import PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import ScipSearch, solve_mip_with_scip
from ppsm.status import Status

INF = math.inf


def handbook(variables: tuple[int, ...], columns: tuple[int, ...], rows: tuple[int, ...]) -> BilevelProgram:
    """Problem 9.2.8 of the Handbook of Test Problems (Floudas et al. 1999), its parts in any order.

    The sign conditions of the follower's answer are rows of both levels, as BilevelJuMP's tests write them.
    """
    x, y, r = list(variables), list(columns), list(rows)
    matrix = np.array([[-1, 1, 1], [-1, 2, -0.5], [2, -1, -0.5]])[np.ix_(r, y)]
    coupling = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[np.ix_(r, x)]
    follower = LinearProgram.from_arrays(
        cost=np.array([1.0, 1.0, 2.0])[y],
        matrix=np.vstack([matrix, np.eye(3)]),
        row_lower=[-INF, -INF, -INF, 0, 0, 0],
        row_upper=[1, 1, 1, INF, INF, INF],
        column_lower=-INF,
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        coupling=np.vstack([coupling, np.zeros((3, 2))]),
        leader_cost=np.array([-8.0, -4.0])[x],
        response_cost=np.array([4.0, -40.0, 4.0])[y],
        response_matrix=np.eye(3),
        leader_lower=np.zeros(3),
    )


ORDERS = [
    (x, y, r) for x in permutations(range(2)) for y in permutations(range(3)) for r in permutations(range(3))
]


@pytest.mark.parametrize("method", [Method.AUTO, Method.BIG_M])
@pytest.mark.parametrize("order", ORDERS[::4], ids=str)
def test_the_handbooks_game_in_any_order(order: tuple[tuple[int, ...], ...], method: Method) -> None:
    """HiGHS once called -23 optimal in twelve of the 72 orders; the optimum is -26."""
    solution = solve_bilevel(handbook(*order), method=method)
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.verified
    assert "at every leaf" in solution.second_opinion


@pytest.mark.parametrize("block", range(5))
def test_branching_agrees_with_enumeration(block: int) -> None:
    """No point beats the optimum, and one is found as soon as it may cost a little more."""
    for seed in range(20 * block, 20 * block + 20):
        program = random_game(seed)
        kkt, best = build_kkt(program), brute_force(program).objective

        def asked(cutoff: float | None, kkt: KktSystem = kkt) -> Opinion:
            return search_for_better(branch, "branching", kkt, cutoff, math.inf)

        if best is None:
            assert asked(None).verdict is Verdict.CONFIRMED, seed
            continue
        step = 1e-4 * max(1.0, abs(best))
        assert asked(best - step).verdict is Verdict.CONFIRMED, seed
        found = asked(best + step)
        assert found.verdict is Verdict.REFUTED, seed
        assert found.columns is not None
        assert kkt.relaxation.cost @ found.columns + kkt.relaxation.offset <= best + 2 * step


Search = Callable[[MixedIntegerProgram, SolveLimits], MipResult]


def planted(wrong: Callable[[MipResult], MipResult], times: int) -> tuple[Search, list[int]]:
    """HiGHS, whose first answers are tampered with."""
    calls = [0]

    def search(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        calls[0] += 1
        result = solve_mip_with_highs(problem, limits)
        return wrong(result) if calls[0] <= times else result

    return search, calls


def poor(result: MipResult) -> MipResult:
    """The claim of HiGHS 1.15.1: the cost of a poor point (here: that of the first look) as the bound."""
    return replace(result, columns=None, objective=None, bound=-23.0, status=Status.PROVEN_OPTIMAL)


def test_a_bound_that_is_too_high_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    search, calls = planted(poor, times=1)
    monkeypatch.setattr(engine, "solve_mip_with_highs", search)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert calls[0] == 2
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.verified


def test_a_solver_that_insists_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    search, _ = planted(poor, times=99)
    monkeypatch.setattr(engine, "solve_mip_with_highs", search)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.status is Status.INCUMBENT
    assert solution.leader_objective == pytest.approx(-26)  # the point of the second opinion
    assert solution.leader_bound is not None
    assert solution.leader_bound <= -26
    assert "failed verification" in solution.explanation


def test_a_wrong_verdict_of_infeasible_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def infeasible(result: MipResult) -> MipResult:
        return MipResult(Status.INFEASIBLE, result.solver, result.seconds)

    monkeypatch.setattr(engine, "first_look", lambda *_: FirstLook(None, None, False, False))
    search, calls = planted(infeasible, times=1)
    monkeypatch.setattr(engine, "solve_mip_with_highs", search)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert calls[0] == 2
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.verified


def test_without_time_for_a_second_opinion_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standings, "TUNING", replace(TUNING, opinion_seconds=0.0, opinion_share=0.0))
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.status is Status.PROVEN_OPTIMAL
    assert not solution.verified
    assert "the bound rests on HiGHS" in solution.explanation
    assert "not through" in solution.second_opinion


def test_the_second_way_confirms_where_branching_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Opinion(Verdict.UNDECIDED, "branching on pairs was not through after 1 node")
    monkeypatch.setattr(opinions, "search_for_better", lambda *_: late)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.verified
    assert solution.second_opinion.endswith("by SOS1 sets")


def test_constants_that_are_too_small_are_not_confirmed_by_the_program_they_are_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Branching is late and M cuts the optimum off: who asks the same program again is told the same."""
    late = Opinion(Verdict.UNDECIDED, "branching on pairs was not through after 1 node")
    monkeypatch.setattr(opinions, "search_for_better", lambda *_: late)
    monkeypatch.setattr(engine, "attempts", tampered_attempts)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.leader_objective == pytest.approx(-26)  # SCIP, which has no constants, knows better
    assert solution.status is Status.INCUMBENT
    assert "failed verification" in solution.explanation


def tampered_attempts(*arguments: Any) -> Iterator[Attempt]:
    """Programs that cut off what costs less than -23.5, as a constant that is too small does."""
    for attempt in attempts(*arguments):
        problem = attempt.form.problem
        linear = problem.linear.with_rows(sp.csr_array(problem.linear.cost[None, :]), lower=np.array([-23.5]))
        yield replace(attempt, form=replace(attempt.form, problem=replace(problem, linear=linear)))


def test_a_relaxations_bound_above_a_verified_point_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "first_look", lambda *given: replace(first_look(*given), bound=-20.0))
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.leader_bound == pytest.approx(-26)
    assert solution.verified


def test_a_solver_that_fails_the_second_opinion_does_not_cost_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SolverError("HiGHS ended an LP with 'Unknown'.")

    monkeypatch.setattr(opinions, "branch", fail)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.BIG_M)
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.leader_objective == pytest.approx(-26)


def test_a_tree_without_time_keeps_its_nodes_open() -> None:
    kkt = build_kkt(handbook(*ORDERS[0]))
    tree = branch(kkt, cutoff=None, gap=1e-9, deadline=-math.inf)
    assert (tree.nodes, tree.is_complete, tree.columns) == (0, False, None)
    assert tree.bound == -INF
    tree = branch(kkt, cutoff=None, gap=1e-9, deadline=math.inf)
    assert tree.is_complete
    assert tree.is_certified
    assert tree.objective == pytest.approx(-26)
    assert tree.bound == pytest.approx(-26)


def tolls() -> BilevelProgram:
    """A toll setter with more pairs than small games have, whose relaxation is bounded."""
    return toll_game(3, 4, 16, 3, 7)


def test_scip_is_asked_again_below_a_cutoff() -> None:
    """Nobody but SCIP has a turn: on another path it says the same of its claim, and refutes a poor one."""
    kkt = build_kkt(tolls())
    found = solve_mip_with_scip(sos1(kkt).problem, SolveLimits())
    assert found.objective is not None
    tree = Branching(kkt, cutoff=None, gap=1e-9)
    for worse, verdict in ((0.0, Verdict.CONFIRMED), (1.0, Verdict.REFUTED)):
        claim = Claim(found.objective + worse - 1e-6, Method.SOS1, is_bounded=True)
        opinion = second_opinion(kkt, claim, SolveLimits(), math.inf, tree)
        assert opinion.verdict is verdict
        assert "by SOS1 sets, again, with presolve" in opinion.words
        # Indicators were presolved.
        by_indicators = replace(claim, method=Method.INDICATOR, presolved=True)
        opinion = second_opinion(kkt, by_indicators, SolveLimits(), math.inf, tree)
        assert opinion.verdict is verdict
        assert "by SOS1 sets, again, without presolve" in opinion.words
        # Over a relaxation that may be unbounded the question is put without a cost.
        assert (
            second_opinion(kkt, replace(claim, is_bounded=False), SolveLimits(), math.inf).verdict is verdict
        )


def test_a_claim_is_doubted_in_the_model_that_made_it() -> None:
    """Nothing that the search found or was given goes on: below the best cost there is nothing."""
    kkt = build_kkt(tolls())
    limits = SolveLimits(feasibility=1e-7)
    for worse, verdict in ((0.0, Verdict.CONFIRMED), (1.0, Verdict.REFUTED)):
        search = ScipSearch(sos1(kkt).problem, limits)
        found = search.run(INF)
        assert found.objective is not None
        assert found.columns is not None
        search = ScipSearch(replace(sos1(kkt).problem, start=found.columns), limits)
        search.run(INF)
        claim = Claim(found.objective + worse - 1e-6, Method.SOS1, True, found.presolved, search)
        opinion = second_opinion(kkt, claim, SolveLimits(), INF, Branching(kkt, cutoff=None, gap=1e-9))
        assert opinion.verdict is verdict
        assert "again, with presolve" in opinion.words


@pytest.mark.parametrize("another_path", [False, True])
def test_the_last_resort_is_doubted_on_another_path(
    monkeypatch: pytest.MonkeyPatch, another_path: bool
) -> None:
    """SCIP gives up until it has its own settings, presolve too; who doubts them does without, or says so."""
    kkt = build_kkt(tolls())
    optimise, tolerances = scips.optimize_quietly, set()

    def gives_up(model: Any) -> None:
        tolerances.add(model.getParam("numerics/feastol"))
        if model.getParam("numerics/feastol") < 1e-6:
            raise SolverError("SCIP gave up: an LP.")
        optimise(model)

    monkeypatch.setattr(scips, "optimize_quietly", gives_up)
    found = solve_mip_with_scip(sos1(kkt).problem, SolveLimits())
    assert tolerances == {1e-9, 1e-7, 1e-6}
    assert found.presolved
    assert found.objective is not None
    claim = Claim(found.objective - 1e-6, Method.SOS1, True, found.presolved)
    doubted: list[tuple[int, int, int]] = []

    def optimise_below(model: Any) -> None:
        names = "randomization/randomseedshift", "separating/gomory/freq", "presolving/maxrounds"
        doubted.append(tuple(model.getParam(name) for name in names))
        optimise(model)

    if another_path:
        monkeypatch.setattr(scips, "optimize_quietly", optimise_below)
    tree = Branching(kkt, cutoff=None, gap=1e-9)
    opinion = second_opinion(kkt, claim, SolveLimits(), INF, tree)
    if another_path:
        assert "again, without presolve" in opinion.words
        assert doubted[-1] == (1, -1, 0)  # another seed, no cuts, no presolve
    else:  # its last resort is the path of the claim: the tree has the word
        assert opinion.words.startswith("branching on pairs")
    assert opinion.verdict is Verdict.CONFIRMED


def test_the_tree_goes_on_where_scip_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SolverError("SCIP gave up.")

    monkeypatch.setattr(opinions, "solve_mip_with_scip", fail)
    kkt = build_kkt(tolls())
    tree = Branching(kkt, cutoff=None, gap=1e-9)
    best = tree.run(math.inf)
    claim = Claim(best.objective - 1e-6, Method.SOS1, is_bounded=True)
    opinion = second_opinion(kkt, claim, SolveLimits(), math.inf, tree)
    assert opinion.verdict is Verdict.CONFIRMED
    assert opinion.words.startswith("branching on pairs")


@pytest.mark.parametrize("confirm", [False, True])
def test_who_asks_for_it_gets_a_claim_confirmed(monkeypatch: pytest.MonkeyPatch, confirm: bool) -> None:
    hurried = replace(TUNING, opinion_seconds=0.0, opinion_on_itself=0.0, opinion_among_turns=0.0)
    monkeypatch.setattr(standings, "TUNING", hurried)
    solution = solve_bilevel(handbook(*ORDERS[0]), method=Method.SOS1, confirm=confirm)
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.verified is confirm


class Player:
    """A search that says the same at every turn."""

    method, reason, solver = Method.SOS1, "planted", "liar"
    from_turn, share = 0.0, 1.0
    bound: float | None = None
    earlier: float | None = None

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def run(self, _deadline: float) -> Progress:
        return self._progress

    def offer(self, columns: FloatArray) -> None:
        pass


def test_the_bound_of_a_search_that_was_refuted_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One calls a poor point optimal, the other proves -50 and no more: that is what remains."""

    def players(kkt: KktSystem, limits: SolveLimits, *_: object) -> list[Player]:
        poor = first_look(kkt, limits).columns
        assert poor is not None
        cost = float(kkt.relaxation.cost @ poor) + kkt.relaxation.offset
        assert cost > -25
        liar = Progress(Status.PROVEN_OPTIMAL, poor, cost)
        return [Player(Progress(Status.NO_INCUMBENT, bound=-50.0)), Player(liar)]

    monkeypatch.setattr(portfolio, "searchers", players)
    solution = solve_bilevel(handbook(*ORDERS[0]), time_limit=1.0)
    assert solution.status is Status.INCUMBENT
    assert solution.leader_objective == pytest.approx(-26)
    assert solution.leader_bound == pytest.approx(-50)


def test_a_tree_that_is_expected_to_be_quick_comes_before_scip() -> None:
    kkt = build_kkt(tolls())
    tree = Branching(kkt, cutoff=None, gap=1e-9)
    best = tree.run(math.inf)
    claim = Claim(best.objective - 1e-6, Method.SOS1, is_bounded=True)
    opinion = second_opinion(kkt, claim, SolveLimits(), math.inf, tree, tree_first=True)
    assert opinion.verdict is Verdict.CONFIRMED
    assert opinion.words.startswith("branching on pairs")


def test_a_tree_is_left_after_some_nodes_and_knows_its_pace() -> None:
    kkt = build_kkt(toll_game(4, 6, 24, 5, 0))
    tree = Branching(kkt, cutoff=None, gap=1e-9)
    assert tree.pace == INF
    left = tree.run(math.inf, 2)
    assert (left.nodes, left.is_complete) == (2, False)
    assert tree.nodes == 2
    assert 0 < tree.pace < 1
    assert tree.looks_small  # few of 500 pairs are open
    assert tree.run(math.inf).is_complete


def test_the_lp_of_a_relaxation_goes_on_as_that_of_the_tree() -> None:
    """Which LP a tree begins with changes nothing in what it comes to."""
    kkt = build_kkt(handbook(*ORDERS[0]))
    lp = PersistentLp(kkt.relaxation)
    lp.skip_presolve()
    lp.solve()
    tree = Branching(kkt, cutoff=None, gap=1e-9, lp=lp).run(math.inf)
    assert tree.is_complete
    assert tree.is_certified
    assert tree.objective == pytest.approx(-26)


def test_whose_bound_lags_is_told_after_as_much_work() -> None:
    quick, slow = portfolio.Course(), portfolio.Course()
    quick.add(0.1, 5.0)
    slow.add(1.0, 6.0)
    assert not quick.is_behind(slow)  # nobody knows what the other had after so little work
    slow.add(1.0, 7.0)
    quick.add(1.0, 5.5)
    assert quick.is_behind(slow)
    assert not slow.is_behind(quick)
