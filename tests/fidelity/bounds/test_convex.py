"""The QP over answers and parameters, with some sides tight."""

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.fidelity.bounds.convex import Relaxation
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, is_faithful, node_optimum

NONE = np.empty(0, dtype=np.int64)


def test_without_tight_sides_a_dear_answer_meets_the_value_band() -> None:
    point = Relaxation(one_node_core(0.8, (0.693, 0.707), None)).solve(NONE)
    assert point is not None
    assert point.parameter == pytest.approx([0.8], abs=1e-6)
    assert point.bound == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("in_rows", [False, True])
def test_a_tight_side_costs_what_letting_go_of_it_would_gain(in_rows: bool) -> None:
    # with x1 = 1 the value 0.693 needs d = 1.293; each unit that x1 were smaller would bring d 0.6 nearer
    full = 2 if in_rows else 3
    point = Relaxation(one_node_core(0.8, (0.693, 0.707), None, in_rows=in_rows)).solve(np.array([full]))
    assert point is not None
    assert point.parameter == pytest.approx([1.293], abs=1e-6)
    assert point.bound == pytest.approx(0.493**2, rel=1e-6)
    assert point.side_multipliers[full] == pytest.approx(-2.0 * 0.493 * 0.6, rel=1e-5)
    assert np.flatnonzero(point.side_multipliers).tolist() == [full]


def test_a_tight_row_whose_matrix_is_negative() -> None:
    # x2 = 1 costs 1 at least, so that d = 1 + x1 with 0.4 x1 = 0.02 or more
    point = Relaxation(one_node_core(0.8, (1.02, 1.2), None, in_rows=True)).solve(np.array([1]))
    assert point is not None
    assert point.parameter == pytest.approx([1.05], abs=1e-6)
    # a unit less of x2 takes 2.5 more of x1: d moves 1.5 away, so that nothing pulls against the side
    assert point.side_multipliers[1] == pytest.approx(2.0 * 0.25 * 1.5, rel=1e-5)


def test_a_cut_has_the_multiplier_of_its_distance() -> None:
    relaxation = Relaxation(one_node_core(0.8, (0.0, 1.4), None))
    point = relaxation.solve(NONE, sp.csr_array([[2.0]]), np.array([1.8]))  # 2 d >= 1.8
    assert point is not None
    assert point.parameter == pytest.approx([0.9], abs=1e-6)
    assert point.cut_multipliers == pytest.approx([0.1], rel=1e-4)  # 2 x 0.1 / 2


def test_two_ends_of_one_column_cannot_be_held() -> None:
    assert Relaxation(one_node_core(0.8, (0.0, 1.4), None)).solve(np.array([1, 3])) is None


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_below_every_faithful_point_of_a_node(seed: int) -> None:
    problem = Problem(seed)
    relaxation = Relaxation(problem.core)
    for tight in ((), problem.sides(2)):
        point = relaxation.solve(np.array(tight, dtype=np.int64))
        optimum = node_optimum(problem.core, tight)
        assert (np.inf if point is None else point.bound) <= optimum + 1e-6 * max(1.0, optimum)
    assert relaxation.failures == 0


@pytest.mark.parametrize("seed", range(8))
def test_with_the_support_of_a_dual_tight_the_optimum_is_faithful(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, lps = problem.core, problem.lps
    lps.set_band(core.price_lower, core.price_upper)
    dual = lps.dual(core.rows_at(problem.rng.uniform(0.0, 1.0, core.reference.size)))
    assert dual is not None
    point = Relaxation(core).solve(dual.support(lps.inequalities))
    assert point is None or is_faithful(core, point.parameter)
