"""Prices split at levels: what stationarity says of them, and that no dual is lost or undervalued."""

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.fidelity import Restorer
from ppsm.fidelity.bounds.price_boxes import LinesAbove, PriceBoxes
from ppsm.fidelity.bounds.price_levels import Cut, Half, PriceLevels, PriceRows
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.scaled import ScaledFollower
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from tests.fidelity.bounds.test_price_boxes import low_problem
from tests.fidelity.markets import one_node_core, plant_of_two, two_nodes
from tests.fidelity.nodes import Problem, value_at


def test_rows_of_two_towns_by_hand() -> None:
    # prices (scaled by 3) of west and east: 1/3 and 1 are costs, and east - west <= the pipe's multiplier
    restorer = Restorer(two_nodes())
    rows = restorer.price_rows
    assert rows.count == 2
    assert rows.costs == pytest.approx([0.0, 1.0 / 3.0, 1.0])
    assert sorted(rows.cost) == pytest.approx([1.0 / 3.0, 1.0])
    differences = rows.differences.toarray()
    assert sorted(differences.tolist()) == [[-1.0, 1.0], [1.0, -1.0]]
    rising = int(np.flatnonzero(differences @ np.array([0.0, 1.0]) > 0)[0])
    # the pipe's upper limit covers that the price rises along it, its lower limit that it falls
    sides = restorer.scaled.sides
    names = [name for name, free in zip(sides.names, sides.is_free, strict=True) if not free]
    covering = [names[side].split()[1] for side in rows.covers[[rising], :].indices]
    assert covering == ["<="]


def test_of_many_costs_some_are_levels() -> None:
    program = LinearProgram.from_arrays(
        cost=np.arange(1.0, 51.0), matrix=np.ones((1, 50)), row_lower=[0.0], row_upper=[0.0]
    )
    costs = PriceRows.of(ScaledFollower.of(program, sp.csr_array(np.ones((1, 1))))).costs
    assert costs.size == TUNING.most_levels
    assert (costs[0], costs[-1]) == (0.0, 1.0)


def test_zero_is_always_a_level() -> None:
    # of these some are left out, and one differs from zero by rounding only
    cost = np.append(np.arange(-20.0, 31.0), -1e-12)
    program = LinearProgram.from_arrays(
        cost=cost, matrix=np.ones((1, cost.size)), row_lower=[0.0], row_upper=[0.0]
    )
    costs = PriceRows.of(ScaledFollower.of(program, sp.csr_array(np.ones((1, 1))))).costs
    assert 0.0 in costs
    assert costs.size == TUNING.most_levels


def test_prices_of_what_may_be_left_over_are_never_negative() -> None:
    rows = PriceRows.of(Restorer(plant_of_two()).scaled)
    assert rows.is_nonnegative.all()
    levels = PriceLevels(rows, np.array([-8.0, -1.0, 0.0, 1.0, 8.0]))
    lowest = np.zeros((rows.count, levels.width))
    lowest[:, 1:-1] = np.diff(levels.levels)
    cost = np.append(lowest, np.zeros(levels.program.shape[1] - lowest.size))
    solution = PersistentLp(levels.program.with_cost(cost)).solve()
    assert levels.prices(solution.columns) == pytest.approx(0.0)


def lines_of(problem: Problem, objective: float, levels: np.ndarray) -> LinesAbove:
    core = problem.core
    boxes = PriceBoxes(core, PrimalDualMatrices(core.follower), objective, 1.0, [])
    each = np.ones(core.reference.size)
    return LinesAbove(core, PriceBox(levels[0] * each, levels[-1] * each), boxes.ends, objective)


@pytest.mark.parametrize("in_shares", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_every_dual_is_there_and_worth_no_less(seed: int, in_shares: bool) -> None:
    problem = low_problem(seed)
    core, rng = problem.core, problem.rng
    objective = core.least + 0.8
    rows = PriceRows.of(core.follower)
    problem.lps.set_band(core.price_lower, core.price_upper)
    tried = 0
    for point in rng.uniform(core.lower, np.minimum(core.upper, 3.0), size=(20, core.reference.size)):
        dual = problem.lps.dual(core.rows_at(point))
        if dual is None or not np.isfinite(dual.value) or np.abs(dual.prices).max() == 0.0:
            continue
        tried += 1
        constant, largest = dual.value - float(dual.prices @ point), float(np.abs(dual.prices).max())
        size, needed = (largest, 0.3) if in_shares else (1.0, 0.0)
        used = rows.shares(needed, 0.5 * largest, 2.0 * largest) if in_shares else rows
        ends = np.array([-1.0, -0.4, 0.0, 0.3, 1.0])
        levels = PriceLevels(used, np.union1d(ends * max(1.0, largest / size), dual.prices / size))
        above = lines_of(problem, objective, levels.levels)
        best = most_at(levels, above, dual.prices / size)
        nearer = rng.uniform(above.ends[0], above.ends[1], size=(50, point.size))
        for near in nearer[[core.objective(one) <= objective for one in nearer]]:
            assert best * size >= constant - needed + float(dual.prices @ near) - 1e-6
    assert tried


def most_at(levels: PriceLevels, above: LinesAbove, prices: np.ndarray) -> float:
    """What duals with these prices of entries are worth at most by one line."""
    weights, constant = levels.line(above, Cut(0.7))
    halves = tuple(
        Half(int(place), float(price), is_above)
        for place, price in zip(levels.rows.of_entry, levels.levels[nearest(levels, prices)], strict=True)
        for is_above in (True, False)
    )
    lp = PersistentLp(levels.program)
    lp.set_cost(-weights)
    lp.set_column_bounds(np.arange(weights.size), *levels.limits_of(halves))
    solution = lp.solve()
    assert solution.status.has_answer
    found = levels.prices(solution.columns)[levels.rows.of_entry]
    assert found == pytest.approx(prices, abs=1e-6)
    assert levels.chord_losses(above, solution.columns, Cut(0.7)) == pytest.approx(0.0, abs=1e-6)
    said = levels.said(above, solution.columns, np.array([0.7]), None)
    assert said == pytest.approx([constant - solution.objective], abs=1e-6)
    return constant - solution.objective


def nearest(levels: PriceLevels, prices: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(levels.levels[None, :] - prices[:, None]).argmin(axis=1))


def test_a_price_below_a_cost_needs_no_cover_and_above_it_all_of_it_by_hand() -> None:
    # V(d) = 0.4 d up to 1, then 0.4 + (d - 1): at prices of 0.4 and 1 a dual is worth 0 and -0.6 at d = 0
    core = one_node_core(0.8, (0.693, 0.707), None)
    levels = PriceLevels(PriceRows.of(core.follower), np.array([0.0, 0.4, 1.0]))
    boxes = PriceBoxes(core, PrimalDualMatrices(core.follower), 0.36, 1.0, [])
    above = LinesAbove(core, PriceBox(np.zeros(1), np.ones(1)), boxes.ends, 0.36)
    # kappa = 1: the line adds 0.36 + 0.8 y + y^2 / 4 at a level
    for price, worth in ((0.4, 0.36 + 0.32 + 0.04), (1.0, -0.6 + 0.36 + 0.8 + 0.25)):
        weights, constant = levels.line(above, Cut(1.0))
        lp = PersistentLp(levels.program)
        lp.set_cost(-weights)
        halves = (Half(0, price, is_above=True), Half(0, price, is_above=False))
        lp.set_column_bounds(np.arange(weights.size), *levels.limits_of(halves))
        solution = lp.solve()
        assert constant - solution.objective == pytest.approx(worth)
        assert levels.constant(solution.columns) == pytest.approx(value_at(core, np.array([1.0])) - price)


def test_a_price_that_is_split_is_covered_on_both_sides_of_a_cost_by_hand() -> None:
    # the price is 0.5: half of the way from 0 to 0.4 and half of that from 0.4 to 1. Of the first seller, who
    # costs 0.4, the parts above are 0.3 and those below lack 0.2; stationarity alone would ask for 0.1 and 0
    core = one_node_core(0.8, (0.693, 0.707), None)
    levels = PriceLevels(PriceRows.of(core.follower), np.array([0.0, 0.4, 1.0]))
    rows, program = levels.rows, levels.program
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    lower[1:3] = upper[1:3] = 0.5
    lp = PersistentLp(program)
    lp.set_column_bounds(np.arange(lower.size), lower, upper)
    first = int(np.abs(rows.cost - 0.4).argmin())
    others = slice(levels.width, levels.width + rows.worth_of_others.size)
    for multipliers, least in ((rows.above, 0.3), (rows.below, 0.2)):
        cost = np.zeros(lower.size)
        cost[others] = multipliers[[first], :].toarray()[0]
        lp.set_cost(cost)
        assert lp.solve().objective == pytest.approx(least)


def test_a_line_beside_a_plane_by_hand() -> None:
    # V <= 0.707 where it is faithful, and the plane -0.6 + d is below it: beside its slope of 1 a price y
    # adds 0.36 + max_d ((y - 1) d - (d - 0.8)^2) + 0.707 + 0.6 at most; the plane's own constant counts too
    core = one_node_core(0.8, (0.693, 0.707), None)
    levels = PriceLevels(PriceRows.of(core.follower), np.array([0.0, 0.4, 1.0]))
    boxes = PriceBoxes(core, PrimalDualMatrices(core.follower), 0.36, 1.0, [])
    above = LinesAbove(core, PriceBox(np.zeros(1), np.ones(1)), boxes.ends, 0.36)
    cut = Cut(1.0, (-0.6, np.array([1.0])))
    for price, worth in ((1.0, -0.6 + 0.36 + 0.707 + 0.6), (0.4, 0.36 - 0.48 + 0.09 + 0.707 + 0.6)):
        weights, constant = levels.line(above, cut)
        lp = PersistentLp(levels.program)
        lp.set_cost(-weights)
        halves = (Half(0, price, is_above=True), Half(0, price, is_above=False))
        lp.set_column_bounds(np.arange(weights.size), *levels.limits_of(halves))
        assert constant - lp.solve().objective == pytest.approx(worth, abs=1e-6)


def test_entries_in_several_rows_have_a_price_of_their_own() -> None:
    follower = two_nodes()
    shared = ScaledFollower.of(
        follower.program, follower.parameter_map[:, [0]] + follower.parameter_map[:, [1]]
    )
    rows = PriceRows.of(shared)
    assert rows.count == 3
    assert rows.of_entry.tolist() == [2]
