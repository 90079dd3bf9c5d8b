"""The two trees, by sides and by prices: every node of either against the truth."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity import SearchLimits
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search import two_trees
from ppsm.fidelity.search.two_trees import BoxNode, Start, TwoTrees
from ppsm.fidelity.tuning import TUNING
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum
from tests.fidelity.search.steps import Steps, poor_incumbent

NONE = np.empty(0, dtype=np.int64)


def trees(core: Core, lps: FollowerLps, gap: float = 1e-6) -> TwoTrees:
    band = PriceBox(core.price_lower, core.price_upper)
    return TwoTrees(core, lps, SearchLimits(gap=gap), PrimalDualMatrices(core.follower), band)


def by_hand(low: float = 1.0, high: float = 1.0) -> TwoTrees:
    core = one_node_core(0.8, (0.693, 0.707), (low, high))
    return trees(core, FollowerLps(core.follower))


def test_the_first_penalty_by_hand() -> None:
    search = by_hand(0.9, 1.1)
    poor_incumbent(search, 0.36)
    held = np.zeros(1, dtype=np.int64)
    # chords may cost half of the gap: mu^2 / 4 x 0.2^2 / 4 ... = 0.5 x 1e-6 x 0.36
    assert search._first_penalty(search.box, held) == pytest.approx(np.sqrt(4.0 * 0.5e-6 * 0.36 / 0.01))
    # an entry at its bound has no chord: 30 sqrt(0.36) per price
    assert search._first_penalty(search.box, held + 1) == pytest.approx(30.0 * 0.6 / 1.1)


def test_a_price_is_split_where_it_is_unless_near_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    search = by_hand(0.9, 1.1)
    start = Start(0.4, np.zeros(1, dtype=np.int64))
    point = search.primal_dual.solve(NONE, NONE, search.box, 0.4, start.held)
    assert point is not None
    node = BoxNode(0.0, 0, search.box, start, narrowed=True)
    for price, expected in ((1.03, 1.03), (0.9001, 0.92), (1.1, 1.08)):
        search.heap.clear()
        assert search._splits_price(node, replace(point, prices=np.array([price])), least_width=0.05)
        below, above = sorted(search.heap, key=lambda one: one.order)
        assert (below.box.lower[0], below.box.upper[0]) == pytest.approx((0.9, expected))
        assert (above.box.lower[0], above.box.upper[0]) == pytest.approx((expected, 1.1))
        assert not below.narrowed
    assert not search._splits_price(node, point, least_width=0.3)


def narrowing() -> tuple[TwoTrees, BoxNode]:
    """An incumbent at 0.3, prices of 0.2 to 2, and the optimum at mu = 0.4, which is 0.1568 at d = 1."""
    search = by_hand(0.2, 2.0)
    search.lps.set_band(search.box.lower, search.box.upper)
    poor_incumbent(search, 0.3)
    start = Start(0.4, np.zeros(1, dtype=np.int64))
    point = search.primal_dual.solve(NONE, NONE, PriceBox(np.array([0.9]), np.array([1.1])), 0.4, start.held)
    assert point is not None
    search.best = point
    return search, BoxNode(0.1568, 0, search.box, start)


def test_a_supplier_that_must_stay_between_its_bounds_makes_the_price() -> None:
    search, node = narrowing()
    # x2 = 0 and x2 = 1 miss the value band, so neither side has a multiplier: the price is its cost
    narrowed = search._narrowed(node)
    assert narrowed is not None
    assert set(narrowed.zero) >= {2, 4}
    assert (narrowed.box.lower[0], narrowed.box.upper[0]) == pytest.approx((1.0, 1.0), abs=1e-6)


def test_prices_that_only_worse_points_have_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    search, node = narrowing()
    monkeypatch.setattr(search, "_with_marginal", lambda node, _: node.zero)
    # at d = 1 duals are worth 0.4 - (y - 1)+; better points need 0.4 - (0.3 - 0.1568) / 0.4 = 0.042
    narrowed = search._narrowed(node)
    assert narrowed is not None
    assert narrowed.box.upper == pytest.approx([1.358], abs=1e-4)
    # below 0.4 the price itself is what a dual is worth, so that 0.2 stays
    assert narrowed.box.lower == pytest.approx([0.2], abs=1e-6)
    assert search.dropped == search.cutoff()
    assert not narrowed.narrowed  # 1.158 of 1.8: there is more to gain


def test_when_turns_change_the_floor_is_what_both_trees_leave_open() -> None:
    search = by_hand()
    root = search.root(0.1)
    search.push(replace(root, bound=0.2))
    search.unsettled, search.dropped = 0.15, 0.3
    search._change_turns()
    assert search.floor == 0.15
    assert search.heap == [root]
    assert search.unsettled == np.inf
    search._change_turns()
    assert search.unsettled == 0.15
    assert search.floor == 0.15


@pytest.mark.parametrize("patience", [10, 1])
@pytest.mark.parametrize("seed", range(10))
def test_children_cover_their_parent_and_bounds_are_valid(
    seed: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_trees, "TUNING", replace(TUNING, patience=patience))
    problem = Problem(seed, kind=0, columns=3)
    search = trees(problem.core, problem.lps)
    if seed % 3:
        poor_incumbent(search, 1.2 * min(node_optimum(problem.core), 10.0) + 0.05)
    Steps(search, monkeypatch).run(5)


def test_either_tree_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random test above means something only if it reaches both kinds of branching."""
    monkeypatch.setattr(two_trees, "TUNING", replace(TUNING, patience=1))
    kinds = set()
    for seed in range(10):
        problem = Problem(seed, kind=0, columns=3)
        search = trees(problem.core, problem.lps)
        steps = Steps(search, monkeypatch)
        monkeypatch.setattr(steps, "optimum", lambda _: np.inf)
        steps.run(5)
        nodes = [*search.heap, *search._other[0]]
        kinds |= {"side" for node in nodes if node.tight or node.zero}
        kinds |= {"price" for node in nodes if node.box is not search.box}
    assert kinds == {"side", "price"}
