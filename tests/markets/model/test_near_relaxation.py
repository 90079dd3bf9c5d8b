"""Commitments next to the relaxation: as good as asked for, and a function of stress and levels alone."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markets.small_games import small_game

from ppsm.markets.model.commitment import CommitmentOutcome, UnitCommitment
from ppsm.program import LinearProgram
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status

LIMITS = SolveLimits(gap=0.01)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_the_gap_is_kept_and_the_bound_holds(seed: int) -> None:
    commitment = UnitCommitment(small_game(seed)[0])
    program = commitment.at(0.0)
    exact = commitment.solve(program, SolveLimits(gap=1e-9))
    assert exact.objective_usd is not None
    for gap in (0.2, 0.01, 1e-6):
        found = commitment.solve_near_relaxation(0.0, program, replace(LIMITS, gap=gap))
        assert found.objective_usd is not None
        assert found.bound_usd is not None
        assert found.bound_usd <= exact.objective_usd * (1 + 1e-7)
        assert (
            exact.objective_usd * (1 - 1e-7)
            <= found.objective_usd
            <= exact.objective_usd * (1 + gap) / (1 - gap)
        )


@pytest.mark.parametrize(("seed", "searches"), [(3, 1), (2, 2)])
def test_the_whole_is_searched_only_where_the_neighbourhood_misses_the_gap(
    seed: int, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    commitment = UnitCommitment(small_game(seed)[0])
    asked: list[LinearProgram | None] = []
    solve = UnitCommitment.solve

    def counted(
        self: UnitCommitment, program: LinearProgram | None, limits: SolveLimits
    ) -> CommitmentOutcome:
        asked.append(program)
        return solve(self, program, limits)

    monkeypatch.setattr(UnitCommitment, "solve", counted)
    program = commitment.at(0.0)
    commitment.solve_near_relaxation(0.0, program, LIMITS)
    assert len(asked) == searches
    assert asked[0] is not program
    assert (asked[-1] is program) == (searches == 2)


def test_what_was_solved_before_changes_nothing() -> None:
    case, _ = small_game(3)
    fresh, busy = UnitCommitment(case), UnitCommitment(case)
    for stress in (0.1, 0.0, 0.05):
        busy.solve_near_relaxation(stress, busy.at(stress), LIMITS)
    for stress in (0.0, 0.1):
        one, other = (each.basis_of_relaxation(stress) for each in (fresh, busy))
        assert (one.columns, one.rows) == (other.columns, other.rows)
        first, again = (
            each.solve_near_relaxation(stress, each.at(stress), LIMITS).on for each in (fresh, busy)
        )
        assert first is not None
        assert again is not None
        assert np.array_equal(first, again)


def test_a_load_that_nobody_can_serve_has_no_commitment() -> None:
    commitment = UnitCommitment(small_game(3)[0])
    assert commitment.solve_near_relaxation(50.0, commitment.at(50.0), LIMITS).status is Status.INFEASIBLE
    assert commitment.solve_near_relaxation(0.0, None, LIMITS).status is Status.INFEASIBLE
