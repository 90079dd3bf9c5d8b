"""What comes back when there is no time, no answer, or an answer that cannot be believed."""

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.games.hard_game import hard_game

from ppsm.bilevel import solve as engine
from ppsm.bilevel import standing
from ppsm.bilevel.bounds.finder import BoundFinder, BoundsOutOfTimeError
from ppsm.bilevel.incumbent import first_look
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.status import Status


@pytest.mark.parametrize("method", [Method.AUTO, Method.SOS1, Method.INDICATOR])
def test_time_limit_returns_incumbent_and_bound(method: Method) -> None:
    started = time.perf_counter()
    solution = solve_bilevel(hard_game(), method=method, time_limit=3)
    assert time.perf_counter() - started < 20
    assert solution.status is Status.INCUMBENT
    assert solution.verified
    assert solution.leader_objective is not None
    assert solution.leader_bound is not None
    assert solution.leader_bound < solution.leader_objective
    assert solution.gap == pytest.approx(
        (solution.leader_objective - solution.leader_bound) / max(1, abs(solution.leader_objective))
    )


def test_time_limit_during_bound_derivation_keeps_the_first_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs out after the first incumbent: its value and the relaxation's bound are the answer."""
    program = hard_game()
    monkeypatch.setattr(BoundFinder, "multiplier", _out_of_time)
    solution = solve_bilevel(program, method=Method.BIG_M)
    assert solution.status is Status.INCUMBENT
    assert solution.verified
    assert solution.leader_bound is not None
    assert "time limit" in solution.explanation


def _out_of_time(*_: object) -> float:
    raise BoundsOutOfTimeError("the time limit came while bounds were being proven.")


def test_no_time_at_all_is_no_incumbent() -> None:
    solution = solve_bilevel(hard_game(), method=Method.BIG_M, time_limit=1e-9)
    assert solution.status is Status.NO_INCUMBENT
    assert solution.leader_objective is None
    assert solution.values() == {}
    assert not solution.verified


def small() -> BilevelProgram:
    """min -x + y, x in [0, 3] whole; the follower serves y >= 4 - x: x = 3, y = 1, worth -2."""
    follower = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[4], column_upper=[9])
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[-1],
        response_cost=[1],
        coupling=[[1]],
        variable_upper=[3],
        is_integer=True,
    )


def lying(lie: MipResult) -> object:
    """A solver that answers the search itself with a lie and everything else truly."""
    honest = solve_mip_with_highs

    def solve(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        result = honest(problem, limits)
        columns = result.columns if lie.columns is None or result.columns is None else result.columns.copy()
        if columns is not None and lie.columns is not None:
            columns[: lie.columns.size] = lie.columns
        return replace(lie, columns=columns, objective=result.objective)

    return solve


def test_an_infeasible_answer_is_never_returned_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver claims y = 0; neither its point nor the claim of optimality survives."""
    lie = MipResult(Status.PROVEN_OPTIMAL, "liar", 0.0, bound=-3.0, columns=np.array([3.0, 0.0]))
    monkeypatch.setattr(engine, "solve_mip_with_highs", lying(lie))
    monkeypatch.setattr(standing, "polish", lambda _kkt, columns: columns)
    monkeypatch.setattr(engine, "first_look", without_bound(first_look))
    solution = solve_bilevel(small(), method=Method.BIG_M)
    assert {finding.what for finding in solution.findings} >= {"follower constraint violated"}
    assert "failed verification" in solution.explanation
    # The first verified point remains, without a proof.
    assert solution.leader_objective == pytest.approx(-2)
    assert solution.status is Status.INCUMBENT
    assert solution.gap is None


def test_a_wrong_bound_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = MipResult(Status.PROVEN_OPTIMAL, "liar", 0.0, bound=5.0)
    monkeypatch.setattr(engine, "solve_mip_with_highs", lying(lie))
    monkeypatch.setattr(engine, "first_look", without_bound(first_look))
    solution = solve_bilevel(small(), method=Method.BIG_M)
    assert [finding.what for finding in solution.findings] == ["feasible point below the proven bound of"]
    assert solution.findings[0].amount == pytest.approx(7)
    assert solution.leader_bound is None


def test_a_gap_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = MipResult(Status.PROVEN_OPTIMAL, "liar", 0.0, bound=-2.1)
    monkeypatch.setattr(engine, "solve_mip_with_highs", lying(lie))
    monkeypatch.setattr(engine, "first_look", without_bound(first_look))
    solution = solve_bilevel(small(), method=Method.BIG_M)
    assert solution.status is Status.INCUMBENT
    assert solution.gap == pytest.approx(0.05)


def without_bound(look: object) -> object:
    def blind(*arguments: object) -> object:
        return replace(look(*arguments), bound=None)  # type: ignore[operator]

    return blind


def test_a_point_contradicts_the_verdict_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(_problem: MixedIntegerProgram, _limits: SolveLimits) -> MipResult:
        return MipResult(Status.INFEASIBLE, "liar", 0.0)

    monkeypatch.setattr(engine, "solve_mip_with_highs", solve)
    # The relaxation's bound proves the first point optimal, so that the search does not matter ...
    assert solve_bilevel(small(), method=Method.BIG_M).status is Status.PROVEN_OPTIMAL
    # ... and without that bound the contradiction shows.
    monkeypatch.setattr(engine, "first_look", without_bound(first_look))
    solution = solve_bilevel(small(), method=Method.BIG_M)
    assert solution.status is Status.INCUMBENT
    assert solution.leader_objective == pytest.approx(-2)
    assert "contradicts" in solution.explanation
