"""The QP over answers, parameters and duals: its bound, the search for its penalty, and its tangent."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity.bounds.primal_dual import (
    PenaltyRange,
    PriceBox,
    PrimalDualMatrices,
    PrimalDualPoint,
    PrimalDualRelaxation,
    Probe,
)
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum

NONE = np.empty(0, dtype=np.int64)


def solved(core: Core, penalty: float, held: int = 0) -> PrimalDualPoint:
    box = PriceBox(core.price_lower, core.price_upper)
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    point = relaxation.solve(NONE, NONE, box, penalty, np.array([held]))
    assert point is not None
    return point


@pytest.mark.parametrize("in_rows", [False, True])
def test_a_small_penalty_leaves_a_gap_by_hand(in_rows: bool) -> None:
    # price 1 is worth d - 0.6, the answer costs 0.693: e^2 + mu (0.493 - e) is least at e = mu / 2
    point = solved(one_node_core(0.8, (0.693, 0.707), (1.0, 1.0), in_rows=in_rows), 0.4)
    assert point.bound == pytest.approx(0.4 * 0.493 - 0.4**2 / 4, rel=1e-6)
    assert point.parameter == pytest.approx([1.0], abs=1e-5)
    assert point.gap == pytest.approx(0.293, rel=1e-4)
    assert point.ascent == pytest.approx(0.293, rel=1e-4)


@pytest.mark.parametrize("in_rows", [False, True])
def test_a_large_penalty_closes_the_gap_by_hand(in_rows: bool) -> None:
    point = solved(one_node_core(0.8, (0.693, 0.707), (1.0, 1.0), in_rows=in_rows), 2.0)
    assert point.bound == pytest.approx(0.493**2, rel=1e-6)
    assert point.gap == pytest.approx(0.0, abs=1e-6)
    # the tangent's slopes: 2 e - mu y in the move, and the parameter itself in the price
    assert point.move_slope == pytest.approx([2.0 * 0.493 - 2.0], rel=1e-5)
    assert point.dual_weight == pytest.approx([1.293], rel=1e-5)


def test_a_chord_costs_a_term_quadratic_in_the_band() -> None:
    # with prices in [0.9, 1.1] the chord takes mu^2 / 4 x 0.1 x 0.1, whatever the price up to 1
    core = one_node_core(0.8, (0.693, 0.707), (0.9, 1.1))
    point = solved(core, 0.4)
    assert point.bound == pytest.approx(0.4 * 0.493 - 0.4**2 / 4 - 0.04 * 0.01, rel=1e-6)
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    box = PriceBox(core.price_lower, core.price_upper)
    y = float(point.prices[0])
    assert relaxation.chord_loss(point, box) == pytest.approx(0.04 * (y - 0.9) * (1.1 - y), abs=1e-9)
    assert relaxation.widest(box, np.zeros(1, dtype=np.int64)) == pytest.approx(0.2**2 / 4)
    assert relaxation.widest(box, np.ones(1, dtype=np.int64)) == 0.0


def test_an_entry_at_its_bound_needs_no_chord() -> None:
    # released -0.3, so d = 0 at a distance of 0.3; a price of 0.36 to 0.44 is worth nothing there
    core = one_node_core(-0.3, (-0.1, 0.1), (0.36, 0.44))
    held, by_chord = solved(core, 1.0, held=-1), solved(core, 1.0)
    assert held.bound == pytest.approx(0.09, abs=1e-7)
    assert held.loss == pytest.approx([0.0], abs=1e-6)
    assert held.held.tolist() == [-1]
    assert by_chord.bound < 0.09 - 1e-4


def test_multipliers_that_are_zero_may_leave_no_dual() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    box = PriceBox(core.price_lower, core.price_upper)
    # a price of 1 needs x1 <= 1
    assert relaxation.solve(NONE, np.array([3]), box, 1.0, np.zeros(1, dtype=np.int64)) is None
    assert relaxation.failures == 0


def test_a_box_is_split_into_two_that_share_the_price() -> None:
    box = PriceBox(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    below, above = box.split(1, 1.5)
    assert (below.lower.tolist(), below.upper.tolist()) == ([0.0, 1.0], [2.0, 1.5])
    assert (above.lower.tolist(), above.upper.tolist()) == ([0.0, 1.5], [2.0, 3.0])
    assert box.upper.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_below_every_faithful_point_of_a_node(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core, rng = problem.core, problem.rng
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    for tight, zero in (((), ()), (problem.sides(2), problem.sides(1))):
        optimum = node_optimum(core, tight, zero)
        for penalty in 10.0 ** rng.uniform(-2.0, 1.5, 4):
            guess = rng.integers(-1, 2, core.reference.size)
            held = np.where((guess > 0) & ~np.isfinite(core.upper), 0, guess)
            point = relaxation.solve(
                np.array(tight, dtype=np.int64), np.array(zero, dtype=np.int64), problem.band, penalty, held
            )
            assert (np.inf if point is None else point.bound) <= optimum + 1e-6 * max(1.0, optimum)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_concave_in_the_penalty_with_the_slope_it_says(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core = problem.core
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    held = np.zeros(core.reference.size, dtype=np.int64)
    points = []
    for penalty in (0.05, 0.2, 0.5, 1.0, 2.0, 6.0):
        point = relaxation.solve(NONE, NONE, problem.band, penalty, held)
        assert point is not None
        points.append(point)
    for one in points:
        for other in points:
            most = one.bound + one.ascent * (other.penalty - one.penalty)
            assert other.bound <= most + 1e-5 * max(1.0, abs(most))


def point_at(penalty: float, bound: float, ascent: float, gap: float = 1.0) -> PrimalDualPoint:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    return replace(solved(core, 1.0), penalty=penalty, bound=bound, ascent=ascent, gap=gap)


def test_tangents_on_either_side_meet_at_the_next_penalty() -> None:
    ends = PenaltyRange()
    ends.add(point_at(1.0, 1.0, 1.0))
    assert ends.towards_best() == pytest.approx(1.5)  # still rising: farther up
    ends.add(point_at(5.0, 3.0, -0.5))
    # 1 + (p - 1) = 3 - 0.5 (p - 5) at p = 11 / 3
    assert ends.towards_best() == pytest.approx(11.0 / 3.0)
    ends.add(point_at(1.1 * 1.0, 1.05, -0.1))
    assert ends.towards_best() is None  # 1 and 1.1 are near enough
    falling = PenaltyRange()
    falling.add(point_at(3.0, 1.0, -1.0))
    assert falling.towards_best() == pytest.approx(2.0)


def test_the_meeting_point_keeps_away_from_the_ends() -> None:
    ends = PenaltyRange()
    ends.add(point_at(1.0, 1.0, 10.0))
    ends.add(point_at(3.0, 1.0, -0.01))
    assert ends.towards_best() == pytest.approx(1.2)


def test_the_next_penalty_by_hand() -> None:
    def after(*points: PrimalDualPoint, allowed: float, loss: float, changed: bool = False) -> float | None:
        ends = PenaltyRange()
        for point in points[:-1]:
            ends.add(point)
        return ends.next_after(points[-1], allowed, loss, changed=changed)

    # the gap is closed, the chords cost four times what is allowed: half the penalty
    assert after(point_at(2.0, 1.0, -1.0, gap=0.0), allowed=0.01, loss=0.04) == pytest.approx(1.0)
    assert after(point_at(2.0, 1.0, -1.0, gap=0.0), allowed=0.01, loss=0.0) is None
    assert after(point_at(2.0, 1.0, -1.0, gap=0.0), allowed=0.01, loss=0.0, changed=True) == 2.0
    # the gap is open and the bound rises: six times the penalty, or twice where six would cost too much
    assert after(point_at(2.0, 1.0, 1.0), allowed=0.01, loss=0.0) == pytest.approx(12.0)
    assert after(point_at(2.0, 1.0, 1.0), allowed=0.01, loss=0.01) == pytest.approx(4.0)
    assert after(point_at(2.0, 1.0, 1.0), allowed=0.01, loss=1.0) is None
    # open, and the bound falls: a smaller one
    assert after(point_at(2.0, 1.0, -1.0), allowed=0.01, loss=0.0) == pytest.approx(0.5)
    # between one that is too small and one that is too large: the geometric mean
    assert after(point_at(1.0, 1.0, 1.0), point_at(4.0, 1.0, -1.0), allowed=0.01, loss=0.0) == pytest.approx(
        2.0
    )


def test_probes_by_hand() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    point = solved(core, 2.0)
    probe = Probe(core, lps, point, NONE, NONE)
    # the tangent is 2 c'x - 1.014 d: -0.214 + 0.986 x 0.293 at (1, 0.293), but 0.986 x 0.693 at (0, 0.693)
    expected = 0.493**2 + 0.986 * 0.693 - (-0.214 + 0.986 * 0.293)
    assert probe.bound_if_tight(np.array([1])) == pytest.approx(expected, rel=1e-5)
    assert probe.bound_if_tight(np.array([3])) == pytest.approx(0.493**2, rel=1e-5)
    assert probe.bound_if_tight(np.array([2])) == np.inf  # x1 alone costs at most 0.4
    assert probe.bound_if_zero(np.array([2])) == pytest.approx(0.493**2, rel=1e-5)
    assert probe.bound_if_zero(np.array([3])) == np.inf  # a price of 1 needs x1 <= 1


def test_a_multiplier_that_must_vanish_costs_the_penalty_times_its_worth() -> None:
    # prices of 0.9 to 1.1 at mu = 0.4: the tangent's duals are worth V(1) = 0.4, those of prices from 1 on
    # (x2 >= 0 without multiplier) as much, those of a price of 1.05 only 0.35
    core = one_node_core(0.8, (0.693, 0.707), (0.9, 1.1))
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    probe = Probe(core, lps, solved(core, 0.4), NONE, NONE)
    assert probe.bound_if_zero(np.array([2])) == pytest.approx(0.1568, rel=1e-4)
    lps.set_band(np.array([1.05]), core.price_upper)
    assert probe.bound_if_zero(np.array([2])) == pytest.approx(0.1568 + 0.4 * 0.05, rel=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_probes_lie_between_the_node_and_its_child(seed: int) -> None:
    problem = Problem(seed, kind=0, columns=3)
    core, lps = problem.core, problem.lps
    lps.set_band(core.price_lower, core.price_upper)
    relaxation = PrimalDualRelaxation(core, PrimalDualMatrices(core.follower))
    held = np.zeros(core.reference.size, dtype=np.int64)
    points = [relaxation.solve(NONE, NONE, problem.band, penalty, held) for penalty in (0.3, 3.0)]
    for side in lps.inequalities.tolist():
        if_tight, if_zero = node_optimum(core, (side,)), node_optimum(core, (), (side,))
        for point in points:
            assert point is not None
            probe = Probe(core, lps, point, NONE, NONE)
            for bound, optimum in (
                (probe.bound_if_tight(np.array([side])), if_tight),
                (probe.bound_if_zero(np.array([side])), if_zero),
            ):
                assert point.bound - 1e-6 <= bound <= optimum + 1e-6 * max(1.0, optimum)
