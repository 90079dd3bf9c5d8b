"""Prices divided at levels: the proof ends at the truth, with half-spaces too, and claims nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity import Bands, HalfSpaces, Restorer, SearchLimits
from ppsm.fidelity.bounds.convex import RelaxedPoint
from ppsm.fidelity.bounds.price_levels import PriceRows
from ppsm.fidelity.bounds.primal_dual import PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import SearchOutcome
from ppsm.fidelity.search.level_tree import LevelTree, _Region
from ppsm.fidelity.search.lower_side import Walker
from ppsm.fidelity.search.players import search_by_turns
from ppsm.fidelity.search.side_tree import SideTree
from ppsm.status import Status
from tests.fidelity.bounds.test_price_boxes import low_problem
from tests.fidelity.markets import plant_of_two
from tests.fidelity.nodes import node_optimum

LIMITS = SearchLimits(gap=1e-5, seconds=20.0)


def tree_of(core: Core, lps: FollowerLps, objective: float | None = None, *, monotone: bool) -> LevelTree:
    """With the end of a walk for an incumbent, as if it were at this distance."""
    lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, lps)
    best = walker.walk(np.clip(core.reference, core.lower, core.upper))
    assert best is not None
    known = best if objective is None else replace(best, objective=objective)
    matrices, rows = PrimalDualMatrices(core.follower), PriceRows.of(core.follower)
    return LevelTree(core, LIMITS, matrices, rows, walker, known, monotone=monotone)


def run_out(tree: LevelTree) -> SearchOutcome:
    for _ in tree.steps():
        pass
    return tree.outcome()


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_no_point_is_called_best_that_is_not(seed: int, monotone: bool) -> None:
    problem = low_problem(seed)
    optimum = node_optimum(problem.core)
    tree = tree_of(problem.core, problem.lps, 1.05 * optimum + 0.001, monotone=monotone)
    outcome = run_out(tree)
    assert outcome.bound <= optimum + 1e-6 * max(1.0, optimum)
    assert outcome.incumbent is not None
    assert outcome.incumbent.objective >= optimum - 1e-6 * max(1.0, optimum)
    if outcome.status is Status.PROVEN_OPTIMAL:
        assert outcome.incumbent.objective == pytest.approx(optimum, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_all_are_proven(seed: int, monotone: bool) -> None:
    # without the signs of prices five of them have something near that cannot be served
    problem = low_problem(seed)
    tree = tree_of(problem.core, problem.lps, monotone=monotone)
    tree.limits = SearchLimits(gap=0.01)  # so that it is more than rounding where the distance is tiny
    assert run_out(tree).status is Status.PROVEN_OPTIMAL


@pytest.mark.parametrize("seed", [2, 4, 8])
def test_a_plane_that_keeps_what_can_be_served_touches_the_nearest_point(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = low_problem(seed)
    core, touched = problem.core, []
    rules_out = LevelTree._rules_out

    def noted(
        tree: LevelTree, region: _Region, columns: FloatArray, prices: FloatArray, point: RelaxedPoint | None
    ) -> bool:
        known = len(region.limits)
        found = rules_out(tree, region, columns, prices, point)
        if point is not None and len(region.limits) > known:
            constant, weights = region.limits[-1]
            touched.append(constant + float(weights @ point.parameter))
        return found

    monkeypatch.setattr(LevelTree, "_rules_out", noted)
    run_out(tree_of(core, problem.lps, monotone=False))
    assert touched
    assert touched == pytest.approx([core.value_upper] * len(touched), abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_half_spaces_are_heeded(seed: int) -> None:
    problem = low_problem(seed)
    entries = problem.core.reference.size
    free = tree_of(problem.core, problem.lps, monotone=True).incumbent
    unit = problem.restorer.scaled.quantity_unit
    weights = np.random.default_rng(seed).uniform(0.0, 1.0, entries)
    least = np.array([1.02 * float(weights @ free.parameter) * unit])
    restorer = Restorer(problem.instance.follower, HalfSpaces(weights, least))
    core = replace(problem.core, follower=restorer.scaled)
    restorer.lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, restorer.lps)
    if walker.walk(np.clip(core.reference, core.lower, core.upper)) is None:
        return
    tree = tree_of(core, restorer.lps, monotone=True)
    outcome = run_out(tree)
    assert outcome.incumbent is not None
    by_sides = search_by_turns(LIMITS, [lambda: SideTree(core, restorer.lps, LIMITS, lift=walker.lift)])
    assert by_sides.incumbent is not None
    assert outcome.incumbent.objective >= by_sides.bound - 1e-6
    if outcome.status is Status.PROVEN_OPTIMAL:
        assert outcome.incumbent.objective == pytest.approx(by_sides.incumbent.objective, rel=1e-4, abs=1e-6)


def test_what_may_be_left_over_has_no_negative_price() -> None:
    # the larger entry has to be worth 3 to within 0.1: from (2, 1) it is raised to 2.9
    restorer = Restorer(plant_of_two())
    public = PublicBounds.of(None, restorer.names)
    core = restorer.core(np.array([2.0, 1.0]), Bands(3.0, 0.1).checked(restorer.names), public, "l2", None)
    tree = tree_of(core, restorer.lps, monotone=False)
    outcome = run_out(tree)
    assert outcome.incumbent is not None
    unit = restorer.scaled.quantity_unit
    assert outcome.incumbent.parameter * unit == pytest.approx([2.9, 1.0], abs=1e-4)
    assert all((prices >= -1e-9).all() for _, prices in tree.walker.planes)


def test_an_lp_without_a_verdict_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = low_problem(0)
    tree = tree_of(problem.core, problem.lps, monotone=True)

    def fails(*_: object) -> None:
        raise SolverError("no verdict")

    monkeypatch.setattr(_Region, "solve", fails)
    assert run_out(tree).status is Status.INCUMBENT


def test_a_tree_that_is_left_has_proven_nothing() -> None:
    problem = low_problem(0)
    tree = tree_of(problem.core, problem.lps, monotone=True)
    steps = tree.steps()
    next(steps)
    outcome = tree.outcome()
    assert outcome.status is Status.INCUMBENT
    assert outcome.bound == -np.inf
