"""The relaxation as an LP that stays alive: tangents never promise more than squares keep."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.errors import SolverError
from ppsm.fidelity.bounds.convex import DistanceLp, Relaxation
from ppsm.fidelity.restore import Restorer
from ppsm.fidelity.scaled import Core
from ppsm.solvers.highs import LpSolution
from ppsm.status import Status
from tests.fidelity.markets import Instance, one_node_core
from tests.fidelity.nodes import Problem, node_optimum

NONE = np.empty(0, dtype=np.int64)
FULL = np.array([3])  # x1 <= 1 of the one node, see ``one_node_core``


def _around(core: Core, parameter: float) -> DistanceLp:
    return DistanceLp(core, np.array([parameter]), gap=1e-6)


def test_one_round_has_the_height_of_its_best_tangent() -> None:
    # with x1 = 1 the value 0.693 needs a move of 0.493; around 1.3, a move of 0.5, tangents touch at +-0.15
    # and +-0.5, and the best of them is worth 2 (0.5) (0.493) - 0.5^2 there, where the square is 0.493^2
    core = one_node_core(0.8, (0.693, 0.707), None)
    point = _around(core, 1.3).solve(FULL, rounds=1)
    assert point is not None
    assert point.parameter == pytest.approx([1.293], abs=1e-7)
    assert point.bound == pytest.approx(0.243, abs=1e-7)
    assert point.bound < 0.493**2 - 4e-5


def test_moves_down_are_as_far_as_moves_up() -> None:
    # released at 1.6, of which the value band leaves 1.307 at most: a move of -0.293, around -0.3
    core = one_node_core(1.6, (0.693, 0.707), None)
    point = _around(core, 1.3).solve(FULL, rounds=1)
    assert point is not None
    assert point.parameter == pytest.approx([1.307], abs=1e-7)
    assert point.bound == pytest.approx(2 * 0.3 * 0.293 - 0.3**2, abs=1e-7)


def test_further_tangents_close_in_on_the_square_and_stay_for_other_nodes() -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lp = _around(core, 1.3)
    refined = lp.solve(FULL, rounds=30)
    assert refined is not None
    assert refined.bound == pytest.approx(0.493**2, rel=1e-6)
    free = lp.solve(NONE)  # a dear answer meets the band where it was released
    assert free is not None
    assert free.bound == pytest.approx(0.0, abs=1e-9)
    again = lp.solve(FULL, rounds=1)
    assert again is not None
    assert again.bound == pytest.approx(refined.bound, abs=1e-9)


def test_a_bound_that_is_enough_needs_no_further_tangent() -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lp = _around(core, 1.3)
    point = lp.solve(FULL, enough=0.2, rounds=30)
    assert point is not None
    assert point.bound == pytest.approx(0.243, abs=1e-7)


def test_where_nothing_is_left_there_is_no_point() -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lp = _around(core, 1.3)
    assert lp.solve(np.array([1, 3])) is None  # both ends of x1
    assert lp.solve(np.array([4])) is None  # x2 = 1 costs 1, beyond the value band
    assert lp.solve(FULL) is not None


@pytest.mark.parametrize("seed", range(16))
def test_tangents_are_below_the_squares_and_every_faithful_point(seed: int) -> None:
    problem = Problem(seed)
    core = problem.core
    around = np.clip(core.reference, core.lower, core.upper)
    lp, squares = DistanceLp(core, around, 1e-6), Relaxation(core)
    for tight in ((), problem.sides(1), problem.sides(2)):
        held = np.array(tight, dtype=np.int64)
        point, exact = lp.solve(held, rounds=1), squares.solve(held)
        assert (point is None) == (exact is None)
        if point is None or exact is None:
            continue
        room = 1e-6 * max(1.0, abs(exact.objective))
        assert point.bound <= exact.objective + room
        assert point.bound <= node_optimum(core, tight) + room
        refined = lp.solve(held, rounds=60)
        assert refined is not None
        assert exact.bound - 1e-3 * max(1.0, exact.bound) <= refined.bound <= exact.objective + room


@pytest.mark.parametrize("seed", range(6))
def test_absolute_distances_need_no_tangents(seed: int) -> None:
    problem = Problem(seed)
    instance = problem.instance
    core = problem.restorer.core(instance.released, instance.bands, instance.public_bounds, "l1", None)
    point = DistanceLp(core, np.clip(core.reference, core.lower, core.upper), 1e-6).solve(NONE, rounds=1)
    exact = Relaxation(core).solve(NONE)
    assert (point is None) == (exact is None)
    if point is not None and exact is not None:
        assert point.bound == pytest.approx(exact.objective, rel=1e-5, abs=1e-6)
        assert core.objective(point.parameter) == pytest.approx(point.bound, rel=1e-6, abs=1e-7)


def test_what_cannot_be_better_is_told_from_what_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lp = _around(core, 1.3)
    nothing = np.empty(0)
    stopped = LpSolution(Status.NO_INCUMBENT, 0.1 / lp._unit, nothing, nothing, nothing)
    with monkeypatch.context() as patched:
        patched.setattr(lp._lp, "solve", lambda: stopped)
        beaten = lp.solve(FULL, enough=0.1)
        assert beaten is not None
        assert beaten.bound == 0.1
        # a limit that is none of ours proves nothing
        patched.setattr(lp._lp, "solve", lambda: replace(stopped, objective=np.nan))
        with pytest.raises(SolverError):
            lp.solve(FULL, enough=0.1)
    assert lp.solve(np.array([2, 3]), enough=0.1) is None
    exact = lp.solve(FULL)  # nothing is enough here
    assert exact is not None
    assert exact.bound == pytest.approx(0.493**2, rel=1e-4)


def test_costs_stay_moderate_where_the_relaxation_misses_nothing() -> None:
    instance = Instance(12, kind=0)
    restorer = Restorer(instance.follower)
    core = restorer.core(instance.released, instance.bands, instance.public_bounds, "l1", None)
    lp = DistanceLp(core, core.reference, gap=1e-6)
    # in units of no distance at all they would be 1e9, of which HiGHS ends LPs without a verdict
    assert np.abs(lp._lp.program.cost).max() <= 1e4
