"""The scaled problem and its matrices, cut for QPs."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.solvers.qp import SlicedMatrix
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem


def test_a_matrix_is_cut_by_hand() -> None:
    sliced = SlicedMatrix(sp.csr_array(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])))
    lower, upper = np.array([1.0, -np.inf, -np.inf]), np.array([1.0, 4.0, np.inf])
    part = sliced.part(np.array([False, True, False]), lower, upper, keep=False)
    assert part.columns.tolist() == [0, 2]
    assert part.equality.toarray().tolist() == [[1.0, 3.0]]
    assert part.rows.toarray().tolist() == [[4.0, 6.0]]  # the last row limits nothing
    assert (part.equalities.tolist(), part.inequalities.tolist()) == ([0], [1])


def test_a_part_is_kept_only_for_the_same_cut() -> None:
    sliced = SlicedMatrix(sp.csr_array(np.eye(2)))
    free, lower, upper = np.zeros(2, np.bool_), np.zeros(2), np.array([0.0, 1.0])
    kept = sliced.part(free, lower, upper, keep=True)
    assert sliced.part(free, lower + 5.0, upper + 5.0, keep=False) is kept
    other = sliced.part(np.array([True, False]), lower, upper, keep=False)
    assert other is not kept
    assert other.columns.tolist() == [1]
    assert sliced.part(free, lower, np.array([1.0, 1.0]), keep=False).equalities.size == 0
    assert sliced.part(free, lower, upper, keep=False) is kept


@pytest.mark.parametrize("seed", range(5))
def test_a_cut_says_the_same_as_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = sp.csr_array(rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6))
    lower = rng.choice([-np.inf, 0.0, 1.0], 6)
    upper = np.where((rng.random(6) < 0.5) & np.isfinite(lower), lower, np.inf)
    fixed, values = rng.random(5) < 0.4, rng.normal(size=5)
    part = SlicedMatrix(matrix).part(fixed, lower, upper, keep=False)
    moved, whole = np.asarray(matrix @ np.where(fixed, values, 0.0)), np.asarray(matrix @ values)
    assert part.equality @ values[~fixed] + moved[part.equalities] == pytest.approx(whole[part.equalities])
    assert part.rows @ values[~fixed] + moved[part.inequalities] == pytest.approx(whole[part.inequalities])
    limited = np.isfinite(lower) | np.isfinite(upper)
    assert sorted([*part.equalities, *part.inequalities]) == np.flatnonzero(limited).tolist()


def test_slacks_multipliers_and_held_entries_by_hand() -> None:
    core = one_node_core(0.8, (0.0, 1.0), None)
    # x = (1, 0.3) at d = 1.3: x1 is full, x2 has 0.3 below and 0.7 above it
    assert core.follower.slacks(np.array([1.0, 0.3]), np.array([1.3])) == pytest.approx([0, 1.0, 0.3, 0, 0.7])
    # at price 1 the reduced costs are -0.6 and 0: only x1 <= 1 earns, and the balance has the price
    multipliers = core.follower.multipliers(np.array([1.0]), np.array([-0.6, 0.0]))
    assert multipliers == pytest.approx([1.0, 0.0, 0.0, 0.6, 0.0])
    assert core.held_at(np.array([0.0])).tolist() == [-1]
    assert core.held_at(np.array([0.5])).tolist() == [0]


def test_sides_that_are_tight_or_left_out_move_the_right_bounds() -> None:
    follower = one_node_core(0.8, (0.0, 1.0), None).follower
    *_, lower, upper = follower.bounds(np.zeros(1), tight=np.array([3]), dropped=np.array([2]))
    assert (lower.tolist(), upper.tolist()) == ([1.0, -np.inf], [1.0, 1.0])


@pytest.mark.parametrize("seed", range(6))
def test_no_vector_within_the_bounds_is_nearer_than_the_least_distance(seed: int) -> None:
    problem = Problem(seed)
    restorer, instance = problem.restorer, problem.instance
    prior = (instance.released + problem.rng.normal(size=instance.released.size), np.full(1, 0.7))
    for norm in ("l1", "l2"):
        core = restorer.core(instance.released, instance.bands, instance.public_bounds, norm, prior)
        highest = np.where(np.isfinite(core.upper), core.upper, core.lower + 3.0)
        points = problem.rng.uniform(core.lower, highest, size=(300, core.reference.size))
        assert core.least <= min(core.objective(point) for point in points) + 1e-12


def test_the_least_distance_by_hand() -> None:
    # |e| + e^2 / 2 - 2 e is least at e = 1, and at the upper bound if that comes first
    core = replace(
        one_node_core(0.8, (0.0, 1.0), None),
        weight=np.ones(1),
        curvature=np.full(1, 0.5),
        slope=np.full(1, -2.0),
    )
    assert core.least == pytest.approx(-0.5)
    assert replace(core, upper=np.array([1.2])).least == pytest.approx(0.4 + 0.08 - 0.8)
