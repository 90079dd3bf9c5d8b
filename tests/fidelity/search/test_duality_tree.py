"""The tree whose nodes have their duals: every node against the truth, and few of them in l1."""

import numpy as np
import pytest
from benchmarks.market_structures import market

from ppsm.fidelity import SearchLimits, restore
from ppsm.fidelity.search.duality_tree import DualityTree
from ppsm.status import Status
from tests.fidelity.nodes import Problem, node_optimum
from tests.fidelity.search.steps import Steps, poor_incumbent


@pytest.mark.parametrize("seed", range(12))
def test_children_cover_their_parent_and_bounds_are_valid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(seed, columns=4, kind=0)
    tree = DualityTree(problem.core, problem.lps, SearchLimits(gap=1e-6))
    if seed % 2:
        poor_incumbent(tree, 1.5 * min(node_optimum(problem.core), 10.0) + 0.1)
    Steps(tree, monkeypatch).run(6)


def test_a_storage_market_in_l1_needs_few_nodes() -> None:
    # a battery over a day of 24 hours: without duals in its LP the tree is open after thousands of nodes
    made = market("storage", "large", 7000)
    outcome = made.follower.solve(made.truth)
    prices = made.follower.parameter_map.T @ outcome.prices
    noise = 0.2 * made.truth.mean() * np.random.default_rng([7000, 1]).laplace(size=made.truth.size)
    result = restore(
        made.follower,
        made.truth + noise,
        outcome.value,
        prices,
        0.0001,
        0.0001,
        (0.0, 3.0 * made.truth.max()),
        norm="l1",
        limits=SearchLimits(nodes=60),
    )
    assert result.status is Status.PROVEN_OPTIMAL
    assert result.recertify().faithful


def test_what_is_proven_of_a_small_move_is_as_near_as_was_asked() -> None:
    # two entries move by about a hundredth of a typical quantity, where what solvers round counts in the gap
    made = market("redundant rows", "small", 9100)
    outcome = made.follower.solve(made.truth)
    prices = made.follower.parameter_map.T @ outcome.prices
    noise = 0.2 * made.truth.mean() * np.random.default_rng([9100, 1]).laplace(size=made.truth.size)
    bounds = (0.0, 3.0 * made.truth.max())
    result = restore(
        made.follower, made.truth + noise, outcome.value, prices, 0.0001, 0.0001, bounds, norm="l1"
    )
    assert result.status is Status.PROVEN_OPTIMAL
    assert result.gap <= 1e-4
