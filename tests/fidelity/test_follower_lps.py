"""The LPs that stay alive: values, duals in a band, and the follower with its parameter free."""

import numpy as np
import pytest

from ppsm.fidelity.follower_lps import FollowerLps
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, dual_value, value_at

NONE = np.empty(0, dtype=np.int64)


def test_value_and_duals_by_hand() -> None:
    core = one_node_core(0.8, (0.0, 1.0), (0.9, 0.95))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    at = np.array([1.3])
    found = lps.value(at)
    assert found is not None
    assert found[0] == pytest.approx(0.7)  # 1 x 0.4 + 0.3 x 1
    # a price y <= 1 is worth 1.3 y - (y - 0.4), best at the upper end of the band
    dual = lps.dual(at)
    assert dual is not None
    assert dual.value == pytest.approx(0.4 + 0.3 * 0.95)
    assert dual.prices == pytest.approx([0.95])
    assert lps.inequalities[0] == 1
    assert dual.support(lps.inequalities).tolist() == [2, 3]  # x2 >= 0 by 0.05, x1 <= 1 by 0.55
    assert dual.multipliers[[2, 3]] == pytest.approx([0.05, 0.55])
    assert lps.dual(at, np.array([3])) is None  # without x1 <= 1 the price cannot exceed 0.4


def test_duals_of_rows_by_hand() -> None:
    core = one_node_core(0.8, (0.0, 1.0), (0.9, 1.1), in_rows=True)
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    dual = lps.dual(np.array([2.5, 0.0, 0.0]))
    assert dual is not None
    # beyond what can be served every price pays: 2.5 y - (y - 0.4) - (y - 1) at y = 1.1
    assert dual.value == pytest.approx(1.4 + 0.5 * 1.1)
    assert dual.multipliers == pytest.approx([1.1, 0.1, 0.7, 0.0, 0.0])
    cheapest = lps.cheapest_dual(np.array([0.0, 1.0, 1.0, 0.0, 0.0]), NONE)
    assert cheapest is not None
    assert cheapest.prices == pytest.approx([0.9])
    slacks = core.follower.slacks(np.array([0.7, 0.4]), np.array([1.1, 0.0, 0.0]))
    assert slacks == pytest.approx([0.0, 0.6, 0.3, 0.7, 0.4])


def test_an_answer_that_costs_no_less_than_asked() -> None:
    core = one_node_core(0.8, (0.0, 1.0), None)
    found = FollowerLps(core.follower).value(np.array([0.5]), at_least=0.32)
    assert found is not None
    assert found[0] == pytest.approx(0.32)  # 0.3 of the cheap and 0.2 of the dear block
    assert found[1] == pytest.approx([0.3, 0.2])


@pytest.mark.parametrize("seed", range(8))
def test_duals_in_the_band_are_worth_what_linprog_says(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, lps = problem.core, problem.lps
    lps.set_band(core.price_lower, core.price_upper)
    for _ in range(4):
        at, zero = problem.rng.uniform(0.0, 1.0, core.reference.size), problem.sides(2)
        expected = dual_value(core, at, core.price_lower, core.price_upper, zero)
        found = lps.dual(core.rows_at(at), np.array(zero, dtype=np.int64))
        assert (-np.inf if found is None else found.value) == pytest.approx(expected, abs=1e-6)
        if found is not None and not zero:
            assert found.value <= value_at(core, at) + 1e-7


def test_the_cheapest_dual_leans_on_the_cheapest_side_by_hand() -> None:
    # prices of 0.4 to 1 need x1 <= 1 (m = y - 0.4) and x2 >= 0 (m = 1 - y)
    core = one_node_core(0.8, (0.0, 1.0), (0.5, 0.8))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    for pulls, price in (([0.0, 0.0, 0.0, 1.0, 0.0], 0.5), ([0.0, 0.0, 1.0, 0.0, 0.0], 0.8)):
        dual = lps.cheapest_dual(np.array(pulls), NONE)
        assert dual is not None
        assert dual.prices == pytest.approx([price])


def test_with_its_parameter_free_the_follower_stays_within_bounds_and_value_band() -> None:
    core = one_node_core(0.8, (0.5, 0.6), None)
    free = FollowerLps(core.follower).free_parameter
    dearest = np.array([0.0, 0.0, -1.0])
    # the most that can be had for 0.6: all of the cheap block and 0.2 of the dear one
    assert free.least(core, NONE, dearest) == pytest.approx(-1.2)
    # the least that costs 0.5: only of the dear block
    assert free.least(core, NONE, -dearest) == pytest.approx(0.5)
    assert free.least(core, np.array([3]), -dearest) == pytest.approx(1.1)  # the cheap block being full
    assert not free.is_feasible(core, np.array([4]))  # the dear block alone costs 1


@pytest.mark.parametrize("seed", range(6))
def test_what_the_free_parameter_allows_bounds_every_served_vector(seed: int) -> None:
    problem = Problem(seed, kind=1)
    core = problem.core
    answers = core.follower.program.shape[1]
    slope = problem.rng.normal(size=core.reference.size)
    least = problem.lps.free_parameter.least(core, NONE, np.concatenate([np.zeros(answers), slope]))
    for _ in range(40):
        point = problem.rng.uniform(core.lower, 1.5)
        if (point <= core.upper).all() and core.value_lower <= value_at(core, point) <= core.value_upper:
            assert least <= slope @ point + 1e-9
