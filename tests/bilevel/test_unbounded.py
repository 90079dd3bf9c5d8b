"""Games over an unbounded relaxation take several searches, all within one time limit."""

import itertools

import pytest
from tests.games.kinds import wild_game

from ppsm.bilevel import incumbent
from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods import unbounded
from ppsm.bilevel.solve import solve_bilevel
from ppsm.solvers.mip import MipResult, MixedIntegerProgram, SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip
from ppsm.status import Status


def test_searches_share_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[float] = []

    def recording(problem: MixedIntegerProgram, limits: SolveLimits) -> MipResult:
        allowed.append(limits.seconds)
        return solve_mip_with_scip(problem, limits)

    monkeypatch.setattr(unbounded, "solve_mip_with_scip", recording)
    solve_bilevel(wild_game(5120), method="sos1", time_limit=60)
    assert len(allowed) > 1
    assert all(later < earlier for earlier, later in itertools.pairwise(allowed))


def test_no_time_for_integers_does_not_hide_an_unbounded_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_time(_problem: MixedIntegerProgram, _limits: SolveLimits) -> MipResult:
        return MipResult(Status.NO_INCUMBENT, "HiGHS", 0.0)

    monkeypatch.setattr(incumbent, "solve_mip_with_highs", out_of_time)
    assert incumbent.first_look(build_kkt(wild_game(5120)), SolveLimits()).is_unbounded
