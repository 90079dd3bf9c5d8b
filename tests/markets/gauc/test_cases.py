"""Patterns by cases: against a search over integers, with lying multipliers, and as a cover of all."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.markets.gauc.test_pattern_rows import AREAS, box, full_pipe
from tests.markets.small_games import steep_game

from ppsm.arrays import FloatArray
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.by_patterns import DemandPatterns, PricePatterns
from ppsm.markets.gauc.cases import (
    BoundedPatterns,
    Branch,
    CaseTree,
    CheapestCase,
    cheapest_by_cases,
    weak_bound,
)
from ppsm.markets.gauc.patterns import PatternBox, PatternProgram
from ppsm.markets.gauc.relaxation import Cut
from ppsm.markets.model.followers import Followers
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp


def unlimited() -> float:
    return math.inf


def program_by_hand(weight: float) -> PatternProgram:
    """A burn of 6 saves 600 $ and asks for a level that costs the weight, one of 2 saves 200 without."""
    program = PatternProgram(full_pipe(), np.array([1, 2]), np.array([4.0]), 1e6)
    program.add_cut(Cut(1000.0, np.array([100.0]), np.array([weight])))
    return program


def by_cases(program: PatternProgram, target: float) -> CheapestCase | None:
    root, tree = box((0, 0), (2, 2)), CaseTree()
    return cheapest_by_cases(program, AREAS, root, tree, [tree.everything(2, 2)], target, unlimited)


@pytest.mark.parametrize(
    ("weight", "cost", "pattern"), [(350.0, 750.0, (1, 2)), (450.0, 800.0, (1, 1)), (500.0, 800.0, (1, 1))]
)
def test_the_cheapest_pattern_by_hand(weight: float, cost: float, pattern: tuple[int, int]) -> None:
    program = program_by_hand(weight)
    found = by_cases(program, 1e4)
    assert found is not None
    assert found.bound_usd == pytest.approx(cost, rel=1e-6)
    assert found.pattern is not None
    assert found.pattern.lowest[1] == pattern[1]
    assert found.pattern.lowest[0] <= pattern[0] <= found.pattern.highest[0]
    for share, is_below in ((1.001, True), (0.999, False)):
        asked = by_cases(program, share * cost)
        assert asked is not None
        assert (asked.pattern is not None) == is_below
        assert asked.bound_usd == pytest.approx(cost if is_below else share * cost, rel=1e-6)


def searched(patterns: PricePatterns, demand: FloatArray, target: float = math.inf) -> DemandPatterns:
    search = patterns.search(0.0, demand)
    assert search is not None
    search.look_below(target)
    search.run(unlimited)
    return search


@pytest.mark.parametrize("seed", [0, 3, 7, 18, 25])
def test_cases_and_a_search_over_integers_say_the_same(seed: int) -> None:
    case, demand = steep_game(seed)
    search = searched(PricePatterns(Followers(case)), demand)._search
    counted = search._counted
    assert counted is not None
    root, areas, program = counted.space.root, search._market.areas, counted.program
    tree = CaseTree()
    every = [tree.everything(areas.of_junction.size, search.steps.count)]
    bound, _ = program.cheapest_pattern(1e9, 1e-9, 60.0)
    for share in (2.0, 1.01, 0.99, 0.5):
        found = cheapest_by_cases(program, areas, root, tree, every, share * bound, unlimited)
        assert found is not None
        assert found.bound_usd == pytest.approx(min(share, 1.0) * bound, rel=1e-5)
        assert (found.pattern is None) == (share < 1)


def last_boxes(branch: Branch) -> Iterator[PatternBox]:
    if not branch.parts:
        yield branch.box
    for part in branch.parts:
        yield from last_boxes(part)


@pytest.mark.parametrize("seed", [3, 18, 25])
def test_what_is_told_apart_still_holds_every_pattern(seed: int) -> None:
    """Also in a network in which a delivery gives gas, whose areas are others."""
    case, demand = steep_game(seed)
    patterns = PricePatterns(Followers(case))
    cost = searched(patterns, demand).bound_usd
    for share in (1.0, 0.9, 1.1):
        searched(patterns, share * demand, 0.999 * cost)
    tree = patterns._learned[0.0].cases
    assert tree.root is not None
    assert tree.splits > 0
    boxes = list(last_boxes(tree.root))
    draw = np.random.default_rng(seed)
    steps = int(tree.root.box.highest.max())
    for gives in (np.zeros(len(case.junctions), dtype=bool), draw.random(len(case.junctions)) < 0.3):
        areas = GasAreas.of(case, gives)
        for _ in range(100):
            classes = draw.integers(0, steps + 1, areas.count)[areas.of_junction]
            assert any(((each.lowest <= classes) & (classes <= each.highest)).all() for each in boxes)


def test_a_demand_after_others_takes_no_search_over_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    case, demand = steep_game(18)
    patterns = PricePatterns(Followers(case))
    cost = searched(patterns, demand).bound_usd

    def refuse(*_: object, **__: object) -> tuple[float, None]:
        raise AssertionError("a search over integers")

    monkeypatch.setattr(PatternProgram, "cheapest_pattern", refuse)
    for share in (1.0, 1.02, 0.98):
        search = searched(patterns, share * demand, 0.95 * cost)
        assert search.bound_usd == pytest.approx(0.95 * cost)
        assert search.is_confirmed(unlimited)


@pytest.mark.parametrize("seed", [3, 18, 25])
def test_a_pattern_barely_below_a_target_is_found(seed: int) -> None:
    """Its plan may be the answer that proves the gap: a bound that is nearly the target ends no search."""
    case, demand = steep_game(seed)
    patterns = PricePatterns(Followers(case))
    cost = searched(patterns, demand)._search.cheapest(1)[0].relaxed.bound_usd
    found = searched(patterns, demand, cost * (1 + 1e-4))._search.cheapest_below_target
    assert found is not None
    assert found.relaxed.bound_usd == pytest.approx(cost, rel=1e-4)
    assert searched(patterns, demand, cost * (1 - 2e-4))._search.cheapest_below_target is None


@pytest.mark.parametrize("lie", [0.5, 1.5, -1.0, math.nan, math.inf])
def test_no_bound_leans_on_the_multipliers_of_the_solver(lie: float, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PersistentLp.solve

    def lying(live: PersistentLp, *, is_bounded: bool = False) -> LpSolution:
        solution = honest(live, is_bounded=is_bounded)
        return replace(solution, prices=lie * solution.prices, objective=1e9)

    monkeypatch.setattr(PersistentLp, "solve", lying)
    found = by_cases(program_by_hand(350.0), 1e4)
    assert found is None or found.bound_usd <= 750.0 * (1 + 1e-9)


def test_too_many_cases_are_given_up_and_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    case, demand = steep_game(18)
    cost = searched(PricePatterns(Followers(case)), demand).bound_usd
    monkeypatch.setattr("ppsm.markets.gauc.cases.TUNING", replace(TUNING, cases_solved=-1))
    search = searched(PricePatterns(Followers(case)), demand, 0.95 * cost)
    assert search.bound_usd == pytest.approx(0.95 * cost)
    assert not search._search._is_by_cases
    asked = by_cases(program_by_hand(350.0), 1e4)
    assert asked is not None
    assert not asked.is_complete
    assert asked.pattern is None
    assert asked.bound_usd <= 750.0


def test_no_box_is_empty_on_the_word_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_by_hand(350.0)
    # an area that reaches the second step with supply to spare below it has no pattern
    none = box((2, 0), (2, 0))
    assert BoundedPatterns(program, 1e5).cheapest(none)[0] == math.inf
    monkeypatch.setattr(PersistentLp, "ray", lambda live: np.ones(live.program.shape[0]))
    tree = CaseTree()
    assert cheapest_by_cases(program, AREAS, none, tree, [tree.everything(2, 2)], 1e4, unlimited) is None


def test_any_prices_bound_a_program_from_below() -> None:
    draw = np.random.default_rng(5)
    matrix = draw.normal(size=(6, 8))
    lower, upper = np.zeros(8), draw.uniform(0.5, 2.0, 8)
    inside = matrix @ (upper * draw.random(8))
    row_lower = np.where(draw.random(6) < 0.5, inside - 0.1, -np.inf)
    program = LinearProgram.of(
        draw.normal(size=8),
        sp.csr_array(matrix),
        row_lower=row_lower,
        row_upper=inside + 0.2,
        column_lower=lower,
        column_upper=upper,
    )
    best = PersistentLp(program).solve()
    assert weak_bound(program, (lower, upper), program.cost, best.prices)[0] == pytest.approx(best.objective)
    for _ in range(200):
        prices = best.prices + draw.normal(size=6) * draw.choice([1e-3, 1.0, 10.0])
        assert weak_bound(program, (lower, upper), program.cost, prices)[0] <= best.objective + 1e-9
