"""From a dual to an incumbent and a bound."""

import numpy as np
import pytest

from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.best_first import Incumbent
from ppsm.fidelity.search.supports import Supports, Trial
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, is_faithful, node_optimum

NONE = np.empty(0, dtype=np.int64)


def test_a_support_that_is_held_leads_to_the_optimum_by_hand() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    supports = Supports(Relaxation(core), lps)
    dual = lps.dual(np.array([0.8]))
    assert dual is not None
    found: list[Incumbent] = []
    trial = Trial(dual, np.array([0.8]), NONE, NONE)
    assert supports.lift(trial, found.append) == pytest.approx(0.493**2, rel=1e-5)
    assert found[0].parameter == pytest.approx([1.293], abs=1e-6)
    assert found[0].support.tolist() == [3]
    # the same support again: no QP, the same bound
    assert supports.lift(trial, found.append) == pytest.approx(0.493**2, rel=1e-5)
    assert len(found) == 1


def test_a_neighbour_leans_less_on_what_costs() -> None:
    # at d = 1.2 the price is 1 and holds x1 = 1, so that d = 1 is nearest. There 0.4 is a price as well and
    # needs x2 = 0 only: d = 0.8 has it
    core = one_node_core(0.8, (0.0, 0.6), (0.4, 1.0))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    dual = lps.dual(np.array([1.2]))
    assert dual is not None
    found: list[Incumbent] = []
    Supports(Relaxation(core), lps).lift(Trial(dual, np.array([1.2]), NONE, NONE), found.append)
    assert [one.objective for one in found] == pytest.approx([0.2**2, 0.0], abs=1e-6)
    assert [one.support.tolist() for one in found] == [[3], [2]]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_offered_is_faithful_and_what_is_proven_holds(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, lps, rng = problem.core, problem.lps, problem.rng
    lps.set_band(core.price_lower, core.price_upper)
    supports = Supports(Relaxation(core), lps)
    zero = problem.sides(1)
    optimum = node_optimum(core, (), zero)
    for _ in range(4):
        at = rng.uniform(0.0, 1.0, core.reference.size)
        dual = lps.dual(core.rows_at(at), np.array(zero, dtype=np.int64))
        if dual is None or not np.isfinite(dual.value):
            continue
        found: list[Incumbent] = []
        trial = Trial(dual, at, NONE, np.array(zero, dtype=np.int64))
        bound = supports.lift(trial, found.append)
        assert bound <= optimum + 1e-6 * max(1.0, optimum)
        for incumbent in found:
            assert is_faithful(core, incumbent.parameter)
            assert incumbent.objective == pytest.approx(
                core.objective(incumbent.parameter), rel=1e-5, abs=1e-7
            )
