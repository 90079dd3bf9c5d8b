"""Ctrl-C: what was found so far comes back."""

import numpy as np
import pytest

from ppsm.cases import load_case
from ppsm.markets.check.certificate import certify
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.solvers import highs
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status


def test_the_best_answer_so_far_comes_back() -> None:
    case = load_case("two_node")

    def press_after_the_first_answer(_: str, objective: float | None, bound: float | None) -> None:
        if objective is not None:
            raise KeyboardInterrupt

    answer = GasAwareCommitment(case).solve(0.0, [800.0], gap=1e-6, progress=press_after_the_first_answer)
    assert answer.status is Status.INCUMBENT
    assert answer.bound_usd is not None
    assert answer.leader_cost_usd is not None
    assert answer.bound_usd < answer.leader_cost_usd
    assert certify(answer).clean


def test_before_any_answer_there_is_at_least_a_bound() -> None:
    case = load_case("two_node")

    def press_after_the_first_bound(_: str, objective: float | None, bound: float | None) -> None:
        if bound is not None:
            raise KeyboardInterrupt

    answer = GasAwareCommitment(case).solve(0.0, [800.0], progress=press_after_the_first_bound)
    assert answer.status is Status.NO_INCUMBENT
    assert answer.bound_usd is not None


def test_an_interrupted_unit_commitment_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS takes Ctrl-C as an end of its own search; the search around it must end as well."""
    monkeypatch.setattr(highs, "_run_interruptibly", lambda solver, _: bool(solver.run()) or True)
    core = UnitCommitment(load_case("two_node"))
    with pytest.raises(KeyboardInterrupt):
        core.solve(core.at(0.0), SolveLimits())
    answer = GasAwareCommitment(load_case("two_node")).solve(0.0, np.array([800.0]))
    assert answer.status is Status.NO_INCUMBENT
