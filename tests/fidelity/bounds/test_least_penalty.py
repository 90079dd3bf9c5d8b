"""The least penalty at a point: by hand, and its bounds against the truth about random nodes."""

import numpy as np
import pytest

from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.least_penalty import LeastPenalty, OptimalityMatrix
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum

NONE = np.empty(0, dtype=np.int64)


def at_support(core: Core, lps: FollowerLps) -> LeastPenalty | None:
    lps.set_band(core.price_lower, core.price_upper)
    dual = lps.dual(core.rows_at(np.clip(core.reference, core.lower, core.upper)))
    if dual is None or not np.isfinite(dual.value):
        return None
    support = dual.support(lps.inequalities)
    if not lps.free_parameter.is_feasible(core, support):
        return None
    point = Relaxation(core).solve(support)
    return None if point is None else LeastPenalty(core, OptimalityMatrix(core.follower), point)


@pytest.mark.parametrize("in_rows", [False, True])
def test_the_least_penalty_by_hand(in_rows: bool) -> None:
    # price 1 is worth d - 0.6 and the answer has to cost 0.693: d = 1.293, e = 0.493. The relaxation
    # e^2 + mu (0.493 - e) has its optimum there from mu = 2 e on.
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0), in_rows=in_rows)
    lps = FollowerLps(core.follower)
    least = at_support(core, lps)
    assert least is not None
    tangent = least.tangent(NONE, NONE)
    assert tangent is not None
    assert tangent.penalty == pytest.approx(2.0 * 0.493, rel=1e-4)
    assert tangent.bound(core, lps, NONE) == pytest.approx(0.493**2, rel=1e-6)
    assert tangent.loss == pytest.approx(0.0, abs=1e-9)


def test_a_side_that_is_held_tight_needs_no_penalty() -> None:
    # What keeps the penalty up is that x1 = 1 could be left; a node that holds it tight needs none.
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    lps = FollowerLps(core.follower)
    least = at_support(core, lps)
    assert least is not None
    free = least.tangent(NONE, NONE)
    assert free is not None
    assert free.pulls.tolist() == [3]  # x1 <= 1
    held = least.tangent(np.array([3]), NONE)
    assert held is not None
    assert held.penalty < 1e-3
    assert held.bound(core, lps, NONE) == pytest.approx(0.493**2, rel=1e-4)


def test_a_chord_costs_a_term_quadratic_in_the_band() -> None:
    # price 1 is the only one beyond d = 1, where the value is d - 0.6: e = 0.193
    core = one_node_core(1.1, (0.693, 0.707), (0.9, 1.1))
    lps = FollowerLps(core.follower)
    least = at_support(core, lps)
    assert least is not None
    tangent = least.tangent(NONE, NONE)
    assert tangent is not None
    assert tangent.loss == pytest.approx(0.25 * tangent.penalty**2 * 0.1**2, rel=1e-4)
    assert tangent.bound(core, lps, NONE) == pytest.approx(0.193**2 - tangent.loss, rel=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_for_every_node(seed: int) -> None:
    problem = Problem(seed, kind=0, columns=4)
    least = at_support(problem.core, problem.lps)
    if least is None:
        return
    for tight, zero in ((), ()), (problem.sides(2), ()), (problem.sides(2), problem.sides(2)):
        tangent = least.tangent(np.array(tight, dtype=np.int64), np.array(zero, dtype=np.int64))
        if tangent is None:
            continue
        truth = node_optimum(problem.core, tight, zero)
        bound = tangent.bound(problem.core, problem.lps, np.array(zero, dtype=np.int64))
        assert bound <= truth + 1e-6 * max(1.0, abs(truth) if np.isfinite(truth) else 1.0)


def test_the_bounds_that_were_looked_at_are_of_use() -> None:
    """The random test above means something only if bounds often are the optimum."""
    exact = 0
    for seed in range(60):
        problem = Problem(seed, kind=0, columns=4)
        least = at_support(problem.core, problem.lps)
        tangent = None if least is None else least.tangent(NONE, NONE)
        if tangent is not None:
            truth = node_optimum(problem.core)
            exact += tangent.bound(problem.core, problem.lps, NONE) > 0.99 * truth > 0.0
    assert exact >= 10
