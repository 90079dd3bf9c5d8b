import math

import numpy as np
import pytest

from ppsm.errors import InputError, ModelError
from ppsm.examples import permit_game
from ppsm.mechanism.theory import DistanceBound, cost_of_privacy
from ppsm.program import BilevelProgram, LinearProgram


def test_distance_bound_holds_for_projections_on_average() -> None:
    # A halfspace that holds the truth stands for the bands; projecting on it can only be closer than twice.
    bound = DistanceBound.of_laplace(alpha=3.0, epsilon=0.5, dimension=5)
    assert bound.expected == pytest.approx(2 * 6 * math.sqrt(10))
    assert bound.expected_square == pytest.approx(8 * 5 * 36)
    rng = np.random.default_rng(7)
    noise = rng.laplace(scale=6.0, size=(20_000, 5))
    direction = np.ones(5) / math.sqrt(5)
    repaired = noise - np.maximum(noise @ direction, 0.0)[:, None] * direction
    distance = np.linalg.norm(repaired, axis=1)
    assert (distance <= [DistanceBound.realised(z) + 1e-12 for z in noise]).all()
    assert distance.mean() < bound.expected
    assert (distance**2).mean() < bound.expected_square


def test_papers_bound_without_dimension_is_wrong() -> None:
    # 4 alpha^2 at alpha = 0.1 and 50 entries is 0.04; noise alone has a mean L2 norm near 1.
    rng = np.random.default_rng(1)
    noise = np.linalg.norm(rng.laplace(scale=0.1, size=(2_000, 50)), axis=1)
    assert noise.mean() > 20 * 4 * 0.1**2
    assert noise.mean() < DistanceBound.of_laplace(alpha=0.1, epsilon=1.0, dimension=50).expected


def covering_leader() -> BilevelProgram:
    """min 3 x  s.t.  x - p >= 0, x <= 10, with p the price of the follower's only row (which is 2)."""
    follower = LinearProgram.from_arrays(cost=[2.0], matrix=[[1.0]], row_lower=[5.0])
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[3.0],
        coupling=[[0.0]],
        variable_upper=10.0,
        leader_matrix=[[1.0]],
        price_matrix=[[-1.0]],
        leader_lower=[0.0],
    )


def test_cost_of_privacy_by_hand() -> None:
    found = cost_of_privacy(covering_leader(), [2.0], 0.5)
    assert found.optimum == pytest.approx(6.0)
    assert found.first_order == pytest.approx(1.5)
    assert (found.lowest, found.highest) == pytest.approx((4.5, 7.5))
    assert not found.indicative


def test_first_order_figure_is_no_bound_once_the_basis_changes() -> None:
    # max(0, p - 2) costs nothing at p = 2 and 3 for each unit above: the slope at 2 may be 0.
    follower = LinearProgram.from_arrays(cost=[2.0], matrix=[[1.0]], row_lower=[5.0])
    program = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[3.0],
        coupling=[[0.0]],
        leader_matrix=[[1.0]],
        price_matrix=[[-1.0]],
        leader_lower=[-2.5],
    )
    found = cost_of_privacy(program, [2.0], 1.0)
    assert found.first_order == pytest.approx(0.0)
    assert found.highest == pytest.approx(1.5)
    assert found.lowest == pytest.approx(0.0)


def test_tightened_beyond_all_solutions_is_infinite() -> None:
    found = cost_of_privacy(covering_leader(), [9.0], 2.0)
    assert math.isinf(found.highest)
    assert found.lowest == pytest.approx(21.0)


def test_integers_are_fixed_and_marked() -> None:
    program = covering_leader()
    integer = BilevelProgram.from_arrays(
        follower=program.follower,
        leader_cost=[3.0, 1.0],
        coupling=[[0.0, 0.0]],
        variable_upper=10.0,
        is_integer=[False, True],
        leader_matrix=[[1.0, 1.0]],
        price_matrix=[[-1.0]],
        leader_lower=[0.0],
    )
    found = cost_of_privacy(integer, [2.0], 0.5, variables=[1.0, 1.0])
    assert found.indicative
    assert found.optimum == pytest.approx(3 * 1.0 + 1.0)
    with pytest.raises(InputError, match="integer variables"):
        cost_of_privacy(integer, [2.0], 0.5)


def test_refuses_what_it_cannot_bound() -> None:
    game = permit_game().program()
    with pytest.raises(ModelError, match="follower's answer"):
        cost_of_privacy(game, np.zeros(game.follower.shape[0]), 0.1)
    with pytest.raises(InputError, match="at least 0"):
        cost_of_privacy(covering_leader(), [2.0], -0.1)
    with pytest.raises(InputError, match="no solution"):
        cost_of_privacy(covering_leader(), [12.0], 0.0)
    with pytest.raises(InputError, match="dimension"):
        DistanceBound.of_laplace(alpha=1.0, epsilon=1.0, dimension=0)
    with pytest.raises(InputError, match="alpha"):
        DistanceBound.of_laplace(alpha=-1.0, epsilon=1.0, dimension=3)
