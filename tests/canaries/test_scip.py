"""Canaries for SCIP: a feasible problem with indicators that it calls infeasible unless told not to."""

import importlib.metadata

import pytest
from tests.games.kinds import wild_game

from ppsm.bilevel.incumbent import first_look
from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.methods.scip_forms import indicator, sos1
from ppsm.bilevel.methods.unbounded import question
from ppsm.solvers.mip import SolveLimits
from ppsm.solvers.scip import solve_mip_with_scip


@pytest.mark.parametrize("form", [indicator, sos1])
def test_a_known_point_is_not_denied(form: object) -> None:
    """PySCIPOpt 6.3 (SCIP 10) says infeasible here with dual reductions on and indicators."""
    assert int(importlib.metadata.version("pyscipopt").split(".")[0]) >= 6
    kkt = build_kkt(wild_game(5312))
    known = first_look(kkt, SolveLimits()).columns
    assert known is not None
    cost = float(kkt.relaxation.cost @ known)
    assert cost == pytest.approx(0)
    problem = form(kkt).problem  # type: ignore[operator]
    found = solve_mip_with_scip(question(problem, cost + 4), SolveLimits())
    assert found.columns is not None
    assert float(problem.linear.cost @ found.columns) <= cost + 4 + 1e-6
