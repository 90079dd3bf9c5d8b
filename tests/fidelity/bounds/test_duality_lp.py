"""Answers and duals in one LP: what it promises, every faithful point keeps."""

import numpy as np
import pytest

from ppsm.fidelity.bounds.convex import DistanceLp
from ppsm.fidelity.bounds.duality_lp import DualityLp
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum

NONE = np.empty(0, dtype=np.int64)


def test_where_the_price_is_known_strong_duality_is_all_that_is_needed() -> None:
    # at the price 1 the value 0.693 needs a move of 0.493, see ``one_node_core``; without duals a dear answer
    # meets the band where it was released
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    around = np.array([1.3])
    free = DistanceLp(core, around, 1e-6).solve(NONE, rounds=30)
    point = DualityLp(core, around, 1e-6).solve_with(NONE, NONE, rounds=30)
    assert free is not None
    assert point is not None
    assert free.bound == pytest.approx(0.0, abs=1e-9)
    assert point.bound == pytest.approx(0.493**2, rel=1e-5)
    assert point.multipliers is not None
    # x1 <= 1 saves 0.6 a unit
    assert point.multipliers[3] == pytest.approx(0.6)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("is_narrowed", [False, True])
def test_bounds_are_below_every_faithful_point(seed: int, *, is_narrowed: bool) -> None:
    problem = Problem(seed, kind=0)
    core = problem.core
    lp = DualityLp(core, np.clip(core.reference, core.lower, core.upper), 1e-6)
    best = node_optimum(core)
    if is_narrowed and best < np.inf:
        lp.narrow(1.1 * best + 1e-3)
    for _ in range(4):
        tight, zero = problem.sides(2), problem.sides(2)
        truth = node_optimum(core, tight, zero)
        point = lp.solve_with(np.array(tight, dtype=np.int64), np.array(zero, dtype=np.int64), rounds=60)
        if point is not None:
            assert point.bound <= truth + 1e-6 * max(1.0, truth)
        elif is_narrowed:
            assert truth >= 1.1 * best
        else:
            assert truth == np.inf
