"""The affine minorant that knows strong duality."""

import numpy as np
import pytest

from ppsm.fidelity.bounds.convex import Relaxation
from ppsm.fidelity.bounds.primal_dual import PrimalDualMatrices, PrimalDualRelaxation
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.supports import DualityBound
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum

NONE = np.empty(0, dtype=np.int64)


def by_hand(low: float, high: float) -> float:
    """The bound at d = 1.293 for prices of 1 and the least penalty that holds x1 <= 1."""
    core = one_node_core(0.8, (0.693, 0.707), (low, high))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    dual = lps.dual(np.array([1.293]))
    assert dual is not None
    support = np.array([3])
    point = Relaxation(core).solve(support)
    assert point is not None
    minorant = DualityBound.at(core, point, dual, support, NONE)
    assert minorant is not None
    # the side pulls with 2 x 0.493 x 0.6 against a multiplier of 1 - 0.4
    assert minorant.penalty == pytest.approx(0.986, rel=1e-4)
    return minorant.value(lps, NONE)


def test_with_prices_known_the_bound_is_exact() -> None:
    assert by_hand(1.0, 1.0) == pytest.approx(0.493**2, rel=1e-5)


def test_a_band_of_prices_costs_a_term_quadratic_in_its_width() -> None:
    # mu^2 / 4 (y - low)(high - y) with mu = 0.986 and y = 1
    assert by_hand(0.9, 1.1) == pytest.approx(0.493**2 - 0.25 * 0.986**2 * 0.01, rel=1e-4)


def test_a_minorant_whose_move_is_pulled_back_by_hand() -> None:
    # mu = 2 at d = 1.293: the slope is 2 x 0.493 - 2, and the chord takes mu^2 / 4 x 0.1 x 0.1
    core = one_node_core(0.8, (0.693, 0.707), (0.9, 1.1))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    minorant = DualityBound.of(core, np.array([1.293]), np.array([1.0]), 2.0, 0.693)
    assert minorant is not None
    assert minorant.shift == pytest.approx([1.293])
    assert minorant.value(lps, NONE) == pytest.approx(0.493**2 - 0.01, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_at_the_primal_dual_optimum_the_minorant_is_as_good(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, lps = problem.core, problem.lps
    lps.set_band(core.price_lower, core.price_upper)
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    held = np.zeros(core.reference.size, dtype=np.int64)
    for penalty in (0.3, 2.0):
        point = relaxation.solve(NONE, NONE, problem.band, penalty, held)
        assert point is not None
        cost = float(core.follower.program.cost @ point.columns)
        minorant = DualityBound.of(core, point.parameter, point.prices, penalty, cost)
        assert minorant is not None
        here = _tangent(problem, point.columns, point.parameter, point.parameter, point.prices, penalty)
        least = _least_of_tangent(problem, point.parameter, point.prices, penalty)
        bound = minorant.value(lps, NONE) + least - here
        assert bound == pytest.approx(point.bound, rel=1e-4, abs=1e-5)


def test_no_dual_in_the_band_leaves_nothing() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    minorant = DualityBound.of(core, np.array([1.293]), np.array([1.0]), 1.0, 0.693)
    assert minorant is not None
    assert minorant.value(lps, np.array([3])) == np.inf


def test_without_a_penalty_or_a_band_there_is_no_minorant() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    assert DualityBound.of(core, np.array([1.0]), np.array([1.0]), 0.0, 0.7) is None
    open_band = one_node_core(0.8, (0.693, 0.707), None)
    lps = FollowerLps(open_band.follower)
    lps.set_band(open_band.price_lower, open_band.price_upper)
    point, dual = Relaxation(open_band).solve(np.array([3])), lps.dual(np.array([1.293]))
    assert point is not None
    assert dual is not None
    assert DualityBound.at(open_band, point, dual, np.array([3]), NONE) is None


@pytest.mark.parametrize("seed", range(10))
def test_every_minorant_is_below_every_faithful_point(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, lps, rng = problem.core, problem.lps, problem.rng
    lps.set_band(core.price_lower, core.price_upper)
    zero = problem.sides(1)
    optimum = node_optimum(core, zero=zero)
    for _ in range(12):
        # any point, any prices and any cost of an answer there give a valid minorant: c'x enters linearly
        answer = rng.uniform(core.follower.program.column_lower, core.follower.program.column_upper)
        parameter = core.reference + rng.normal(size=core.reference.size)
        prices = rng.uniform(core.price_lower, core.price_upper)
        penalty = float(rng.exponential())
        relaxed = _least_of_tangent(problem, parameter, prices, penalty)
        minorant = DualityBound.of(
            core, parameter, prices, penalty, float(core.follower.program.cost @ answer)
        )
        assert minorant is not None
        at_point = _tangent(problem, answer, parameter, parameter, prices, penalty)
        bound = minorant.value(lps, np.array(zero, dtype=np.int64)) + relaxed - at_point
        assert bound <= optimum + 1e-6 * max(1.0, optimum)


def _tangent(
    problem: Problem, answer: np.ndarray, at: np.ndarray, parameter: np.ndarray, prices: np.ndarray, mu: float
) -> float:
    """lambda'd + mu c'x with the slope lambda of the minorant that is made at ``at``."""
    core = problem.core
    slope = 2.0 * core.curvature * (at - core.reference) - mu * prices
    return float(slope @ parameter + mu * core.follower.program.cost @ answer)


def _least_of_tangent(problem: Problem, at: np.ndarray, prices: np.ndarray, mu: float) -> float:
    core = problem.core
    slope = 2.0 * core.curvature * (at - core.reference) - mu * prices
    return problem.lps.free_parameter.least(
        core, NONE, np.concatenate([mu * core.follower.program.cost, slope])
    )
