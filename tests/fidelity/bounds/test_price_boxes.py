"""Ranges for the prices of every point that could be better."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.fidelity.bounds.price_boxes import LinesAbove, PriceBoxes, largest_price, price_ranges
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.search.lower_side import Walker, is_monotone
from ppsm.program import LinearProgram
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, dual_value, value_at


def boxes_by_hand(objective: float, penalty: float = 0.986) -> PriceBoxes:
    """Around 0.8 with V >= 0.693; V = 0.4 + (d - 1), whose plane is (-0.6, 1), from d = 1 on."""
    core = one_node_core(0.8, (0.693, 0.707), None)
    matrices = PrimalDualMatrices(core.follower)
    return PriceBoxes(core, matrices, objective, penalty, [(-0.6, np.array([1.0]))])


def test_points_that_are_near_enough_by_hand() -> None:
    # 0.6 away at most: d in [0.2, 1.4]. At 1.4 a price y <= 1 is worth 0.4 + 0.4 y, one above 1.4 - 0.6 y
    boxes = boxes_by_hand(0.36)
    assert boxes.ends[0] == pytest.approx([0.2])
    assert boxes.ends[1] == pytest.approx([1.4])
    for monotone in (True, False):
        box = boxes.first(monotone=monotone)
        assert box is not None
        assert box.lower == pytest.approx([0.0 if monotone else -0.707 / 0.6], abs=1e-6)
        assert box.upper == pytest.approx([0.707 / 0.6], abs=1e-6)


def test_at_the_optimum_one_price_is_left_and_nearer_none() -> None:
    box = boxes_by_hand(0.493**2).first(monotone=True)
    assert box is not None
    assert box.upper == pytest.approx([1.0], abs=1e-5)
    tightened = boxes_by_hand(0.493**2).tightened(box, np.inf, every_entry=True)
    assert tightened is not None
    assert tightened.lower == pytest.approx([1.0], abs=1e-3)
    assert boxes_by_hand(0.49**2).first(monotone=True) is None
    assert boxes_by_hand(0.49**2).first(monotone=False) is None


def test_prices_have_no_largest_where_something_near_cannot_be_served() -> None:
    # 1.3 away at most: 2.1 is near, and only 2 can be served
    box = boxes_by_hand(1.3**2).first(monotone=True)
    assert box is not None
    assert not box.is_bounded


def test_a_public_bound_counts_in_what_is_near() -> None:
    # released -0.3: the nearest vector is 0 at 0.09; 0.34 leaves 0.25 to spare, sqrt(0.09 + 0.25) from -0.3
    core = one_node_core(-0.3, (0.1, 0.2), None)
    boxes = PriceBoxes(core, PrimalDualMatrices(core.follower), 0.34, 1.0, [])
    assert boxes.ends[0] == pytest.approx([0.0])
    assert boxes.ends[1] == pytest.approx([np.sqrt(0.34) - 0.3])


def test_what_every_point_costs_brings_none_nearer() -> None:
    # the same problem, of which 0.5 is lost wherever the point is
    core = replace(one_node_core(0.8, (0.693, 0.707), None), constant=0.5)
    with_constant = PriceBoxes(core, PrimalDualMatrices(core.follower), 0.86, 0.986, [])
    box, plain = PriceBox(np.zeros(1), np.ones(1)), boxes_by_hand(0.36)
    for boxes in (plain, with_constant):
        assert boxes.ends[1] == pytest.approx([1.4])
        slope, constant = LinesAbove(boxes.core, box, boxes.ends, boxes.objective).line(1.0)
        # kappa = 1: 0.36 and the chord of 0.8 y + y^2 / 4 from 0 to 1
        assert (slope[0], constant) == pytest.approx((1.05, 0.36))


def test_chords_lose_most_where_prices_are_wide_by_hand() -> None:
    # kappa = 1: max_d (y d - (d - 0.8)^2) is 0.8 y + y^2 / 4 while d stays within [0.2, 1.4]: y <= 1.2
    boxes = boxes_by_hand(0.36, penalty=1.0)
    loss = boxes.chord_losses(PriceBox(np.array([0.2]), np.array([1.0])))
    assert loss == pytest.approx([0.25 * (0.5 * (0.04 + 1.0) - 0.36)])
    assert boxes.chord_losses(PriceBox(np.array([0.7]), np.array([0.7]))) == pytest.approx([0.0])


def test_lines_find_that_no_price_is_left() -> None:
    boxes = boxes_by_hand(0.49**2)
    assert boxes.tightened(PriceBox(np.array([0.5]), np.array([1.5])), np.inf, every_entry=True) is None


def test_multipliers_that_are_zero_narrow_prices() -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    matrices = PrimalDualMatrices(core.follower)
    anything = PriceBox(np.zeros(1), np.full(1, 2.0))
    corner = [(np.array([1.4]), 0.0)]
    wanted = np.ones(1, np.bool_)
    # without x2 >= 0 prices are at least 1, without x2 <= 1 at most 1
    dear = price_ranges(core, matrices, corner, anything, wanted, np.inf, zero=np.array([2]))
    cheap = price_ranges(core, matrices, corner, anything, wanted, np.inf, zero=np.array([4]))
    assert dear is not None
    assert cheap is not None
    assert (dear.lower[0], dear.upper[0]) == pytest.approx((1.0, 0.707 / 0.6), abs=1e-6)
    assert (cheap.lower[0], cheap.upper[0]) == pytest.approx((0.293 / 0.4, 1.0), abs=1e-6)
    assert price_ranges(core, matrices, corner, anything, wanted, np.inf, zero=np.array([3])) is None


def low_problem(seed: int) -> Problem:
    """A problem whose value band is above what the released vector costs; prices may be nonnegative."""
    while True:
        problem = Problem(seed, kind=1)
        core, program = problem.core, problem.restorer.program
        if value_at(core, np.clip(core.reference, core.lower, core.upper)) < core.value_lower and is_monotone(
            program, problem.restorer.parameter_map, problem.instance.lower
        ):
            return problem
        seed += 100


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_prices_of_every_nearer_point_stay_in_the_box(seed: int, monotone: bool) -> None:
    problem = low_problem(seed)
    core, lps, rng = problem.core, problem.lps, problem.rng
    lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, lps)
    best = walker.walk(np.clip(core.reference, core.lower, core.upper))
    assert best is not None
    # As if a farther point were the best one known, so that there are nearer ones.
    objective = 1.3 * best.objective + 0.05
    boxes = PriceBoxes(core, PrimalDualMatrices(core.follower), objective, walker.penalty, walker.planes)
    first = boxes.first(monotone=monotone)
    assert first is not None
    if not first.is_bounded:
        return
    tightened = boxes.tightened(first, np.inf, every_entry=bool(seed % 2))
    assert tightened is not None
    assert (tightened.lower >= first.lower - 1e-12).all()
    assert (tightened.upper <= first.upper + 1e-12).all()
    points = [best.parameter, *rng.uniform(boxes.ends[0], boxes.ends[1], size=(60, best.parameter.size))]
    nearer = [point for point in points if core.objective(point) <= objective and in_band(problem, point)]
    assert nearer
    for point in nearer:
        value = value_at(core, point)
        for box in (first, tightened):
            assert dual_value(core, point, box.lower, box.upper) >= value - 1e-6


def in_band(problem: Problem, point: np.ndarray) -> bool:
    return problem.core.value_lower <= value_at(problem.core, point) + 1e-9 <= problem.core.value_upper


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_above_every_nearer_point(seed: int) -> None:
    problem = low_problem(seed)
    core, rng = problem.core, problem.rng
    low, high = rng.uniform(0.0, 0.5, (2, core.reference.size)).cumsum(axis=0)
    objective = core.least + 0.5
    at = np.clip(core.reference, core.lower, core.upper)
    problem.lps.set_band(core.price_lower, core.price_upper)
    dual = problem.lps.dual(core.rows_at(at))
    assert dual is not None
    planes = [(dual.value - float(dual.prices @ at), dual.prices)]
    ends = PriceBoxes(core, PrimalDualMatrices(core.follower), objective, 1.0, planes).ends
    above = LinesAbove(core, PriceBox(low, high), ends, objective)
    lines = [above.line(0.8), *above.lines_beside(planes)]
    assert len(lines) == 3
    tried = 0
    for point in rng.uniform(ends[0], ends[1], size=(80, at.size)):
        if core.objective(point) > objective or value_at(core, point) > core.value_upper:
            continue
        tried += 1
        for prices in rng.uniform(low, high, size=(5, at.size)):
            for slope, constant in lines:
                assert slope @ prices + constant >= prices @ point - 1e-9
    assert tried


def test_a_line_by_hand() -> None:
    # kappa = 1, prices of 0 to 1: max_d is 0 at y = 0 and 0.8 + 0.25 at y = 1, beside kappa x 0.36
    core = one_node_core(0.8, (0.693, 0.707), None)
    above = LinesAbove(core, PriceBox(np.zeros(1), np.ones(1)), (np.array([0.2]), np.array([1.4])), 0.36)
    slope, constant = above.line(1.0)
    assert slope == pytest.approx([1.05])
    assert constant == pytest.approx(0.36)
    # beside the plane -0.6 + d: y - 1 is -1 or 0, worth -0.8 + 0.25 and 0; what is known is d <= 1.307
    slope, constant = above.line(1.0, np.ones(1))
    assert slope == pytest.approx([0.55])
    assert constant == pytest.approx(0.36 - 0.55)
    beside = above.lines_beside([(-0.6, np.ones(1))])
    # the steepest difference in slope is 1, over sqrt(0.36)
    slope, constant = above.line(0.5 / 0.6, np.ones(1))
    assert beside[0][0] == pytest.approx(slope)
    assert beside[0][1] == pytest.approx(constant + 0.707 + 0.6)


def test_lines_with_numbers_that_no_solver_takes_say_nothing() -> None:
    """As where noise has carried an entry far beyond all that the market knows."""
    price = LinearProgram.of(np.zeros(1), sp.csr_array((0, 1)), column_lower=np.zeros(1))
    lines = [(np.array([1e18]), 1e18)]
    assert largest_price(price, np.zeros(1), 0.7, lines, signed=False) == np.inf
