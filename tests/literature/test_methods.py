"""Every published problem by every method: one objective, verified, or a refusal that names a row."""

import pytest
from tests.bilevel.no_turns import without_turns
from tests.literature.problems import PROBLEMS, Problem

from ppsm.bilevel.methods.strong_duality import is_applicable
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import ModelError, NoValidBoundError
from ppsm.status import Status

# The problems whose big-M model is refused, because some multiplier or slack has no finite bound at all.
NO_BIG_M = {
    "mersha-dempe-2006",
    "bileveljump-16",
    "gams-jointc1",
    "bard-1991-1",
    "handbook-9-3-10",
    "lucchetti-1987",
    "dempe-2012",
    "morgan-patrone-2006-a",
    "dempe-franke-2014-3-8",
    "bileveljump-fruits",
    "bileveljump-fruits-cheap",
    "pao-t1",
    "bileveljump-price",
    "aiyoshi-shimizu-1984",
    "handbook-9-3-4",
    "floudas-2013",
    "hatz-2013",
}


@pytest.mark.parametrize("method", [Method.AUTO, Method.BRANCHING, Method.SOS1, Method.INDICATOR])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_known_optimum(problem: Problem, method: Method) -> None:
    assert_known_optimum(problem, method)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_known_optimum_where_the_automatic_choice_has_no_tree(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_turns(monkeypatch)
    assert_known_optimum(problem, Method.AUTO)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_known_optimum_by_big_m_or_a_refusal_that_names_a_row(problem: Problem) -> None:
    if problem.key not in NO_BIG_M:
        assert_known_optimum(problem, Method.BIG_M)
        return
    assert_refusal_names_a_row(problem, Method.BIG_M)


def assert_refusal_names_a_row(problem: Problem, method: Method) -> None:
    with pytest.raises(NoValidBoundError) as refusal:
        solve_bilevel(problem.program, method=method)
    names = (*problem.program.follower.row_names, *problem.program.follower.column_names)
    assert any(f"'{name}" in str(refusal.value) for name in names)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_strong_duality_solves_binary_coupling_and_refuses_other_by_name(problem: Problem) -> None:
    program = problem.program
    if is_applicable(program):
        assert_known_optimum(problem, Method.STRONG_DUALITY)
        return
    coupled = [program.variable_names[j] for j in sorted(set(program.coupling.indices.tolist()))]
    with pytest.raises(ModelError) as refusal:
        solve_bilevel(program, method=Method.STRONG_DUALITY)
    if not program.only_moves_right_hand_sides:
        assert "needs a linear follower whose right-hand sides alone are moved" in str(refusal.value)
        return
    assert any(f"'{name}'" in str(refusal.value) for name in coupled)


# The problems whose coupled leader variables are all bounded integers, or absent.
ENUMERABLE = {
    "wen-yang-1990",
    "mitsos-barton-2006-3-1",
    "mitsos-barton-2006-3-2",
    "dempe-2002-8-1",
    "dempe-2015-8-5",
    "bileveljump-16",
    "pao-simple",
    "pao-interdiction",
    "dempe-2015-integer",
}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.key)
def test_enumeration_lists_integers_and_refuses_the_rest(problem: Problem) -> None:
    if problem.key in ENUMERABLE:
        assert_known_optimum(problem, Method.ENUMERATION)
        return
    with pytest.raises(ModelError, match="that only bounded integers of the leader move"):
        solve_bilevel(problem.program, method=Method.ENUMERATION)


def test_strong_duality_is_tried_by_published_problems() -> None:
    assert sum(is_applicable(problem.program) for problem in PROBLEMS) >= 3


def assert_known_optimum(problem: Problem, method: Method) -> None:
    solution = solve_bilevel(problem.program, method=method)
    if problem.status == "infeasible":
        assert solution.status is Status.INFEASIBLE
        assert solution.explanation
        return
    program = problem.program
    assert problem.leader_objective is not None
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.verified
    expected = program.leader_sign * problem.leader_objective
    assert solution.leader_objective == pytest.approx(expected, abs=1e-6, rel=1e-6)
    assert solution.leader_bound == pytest.approx(expected, abs=1e-6, rel=1e-6)
    assert method in (Method.AUTO, solution.method)
    if problem.x is not None and problem.y is not None:
        assert solution.variables == pytest.approx(problem.x, abs=1e-5)
        assert solution.responses == pytest.approx(problem.y, abs=1e-5)
        assert problem.follower_objective is not None
        assert solution.follower_objective == pytest.approx(
            program.follower_sign * problem.follower_objective, abs=1e-5
        )


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.trap], ids=lambda p: p.key)
@pytest.mark.parametrize("method", [Method.AUTO, Method.BIG_M])
def test_the_trap_of_a_too_small_big_m_does_not_catch_us(problem: Problem, method: Method) -> None:
    """With plausible constants the textbook model answers wrongly (see test_problems_themselves)."""
    assert problem.trap is not None
    solution = solve_bilevel(problem.program, method=method)
    assert solution.leader_objective is not None
    minimised = problem.program.leader_sign * solution.leader_objective
    assert minimised == pytest.approx(problem.leader_objective, abs=1e-6)
    assert abs(minimised - problem.trap.wrong_objective) > 100
