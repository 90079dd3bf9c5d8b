"""Rays by hand, and that duals without them are worth as much wherever demand can be served."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.fidelity import Restorer
from ppsm.fidelity.bounds.price_levels import Condition, Half, PriceRows, Zero
from ppsm.fidelity.bounds.price_rays import Rays
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from tests.fidelity.bounds.test_price_boxes import low_problem
from tests.fidelity.markets import one_node, two_nodes
from tests.fidelity.nodes import value_at


def others_of(restorer: Restorer, positive: tuple[str, ...]) -> FloatArray:
    """1 for each multiplier that is not a price and whose side has one of these names."""
    sides = restorer.scaled.sides
    names = [name for name, free in zip(sides.names, sides.is_free, strict=True) if not free]
    assert set(positive) <= set(names)
    return np.array([float(name in positive) for name in names])


def test_a_town_at_the_end_of_its_supply_may_have_any_price() -> None:
    restorer = Restorer(one_node())
    rows = restorer.price_rows
    both = others_of(restorer, tuple(name for name in restorer.scaled.sides.names if "<=" in name))
    vanishing: list[Condition] = [Zero(int(other)) for other in np.flatnonzero(both)]
    assert len(vanishing) == 2
    assert Rays(rows, monotone=False).within(np.array([8.0]), both) == vanishing
    no_price = Half(0, 0.0, is_above=False)
    assert Rays(rows, monotone=True).within(np.array([8.0]), both) == [no_price, *vanishing]
    # with one of the two suppliers between its bounds the price is its cost
    both[vanishing[0].other if isinstance(vanishing[0], Zero) else 0] = 0.0
    assert Rays(rows, monotone=False).within(np.array([8.0]), both) is None


def test_of_a_ray_only_what_it_needs_is_named() -> None:
    # the east is an island once its own supply and the pipe are at their ends, whatever the west does
    restorer = Restorer(two_nodes())
    every = others_of(restorer, tuple(name for name in restorer.scaled.sides.names if "<=" in name))
    found = Rays(restorer.price_rows, monotone=False).within(np.array([1.0, 8.0]), every)
    assert found is not None
    assert len(found) == 2


def test_what_is_a_ray_within_a_tolerance_only_is_none() -> None:
    """Every column twice, once with multipliers that are worth a hair more: only none satisfy both."""
    restorer = Restorer(one_node())
    rows = restorer.price_rows
    both = others_of(restorer, tuple(name for name in restorer.scaled.sides.names if "<=" in name))
    for hair, is_ray in ((0.0, True), (1e-9, False)):
        twice = replace(
            rows,
            prices=sp.csr_array(sp.vstack([rows.prices, rows.prices])),
            others=sp.csr_array(sp.vstack([rows.others, (1.0 + hair) * rows.others])),
        )
        assert (Rays(twice, monotone=False).within(np.array([8.0]), both) is not None) == is_ray


def best_worth(rows: PriceRows, parameter: FloatArray, condition: Condition | None, *, most: float) -> float:
    """What the best dual with multipliers up to ``most`` is worth, one condition kept; one LP."""
    width = rows.count + rows.others.shape[1]
    lower = np.append(np.where(rows.is_nonnegative, 0.0, -most), np.zeros(rows.others.shape[1]))
    upper = np.full(width, most)
    if condition is not None:
        upper[rows.count + condition.other if isinstance(condition, Zero) else condition.price] = 0.0
    worth = np.concatenate([rows.worth, rows.worth_of_others])
    np.add.at(worth, rows.of_entry, parameter)
    program = LinearProgram.of(
        -worth,
        sp.csr_array(sp.hstack([rows.prices, rows.others])),
        row_lower=rows.value,
        row_upper=rows.value,
        column_lower=lower,
        column_upper=upper,
    )
    solution = solve_lp(program)
    return -solution.objective if solution.status.has_answer else -INFINITY


@pytest.mark.parametrize("seed", range(12))
def test_where_demand_can_be_served_something_of_a_ray_vanishes_in_an_optimal_dual(seed: int) -> None:
    problem = low_problem(seed)
    core, rows = problem.core, problem.restorer.price_rows
    rays, rng = Rays(rows, monotone=False), np.random.default_rng(seed)
    everything = np.ones(rows.count), np.ones(rows.others.shape[1])
    found = rays.within(*everything)
    assert found is not None
    checked = 0
    for _ in range(40):
        parameter = rng.uniform(0.0, 2.0, core.reference.size)
        value = value_at(core, parameter)
        if not np.isfinite(value):
            continue
        checked += 1
        # rays that hold a price, beside those of a column's two bounds
        allowed = np.where(rng.uniform(size=rows.others.shape[1]) < 0.7, 1.0, 0.0)
        for vanishing in (found, rays.within(everything[0], allowed)):
            if vanishing is not None:
                best = max(best_worth(rows, parameter, one, most=1e3) for one in vanishing)
                assert best == pytest.approx(value, abs=1e-6)
    assert checked > 5
