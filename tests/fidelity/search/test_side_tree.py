"""The plain tree: its branching rule, and every node against the truth."""

import heapq

import numpy as np
import pytest

from ppsm.errors import SolverError
from ppsm.fidelity import SearchLimits
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.side_tree import SideNode, SideTree
from ppsm.status import Status
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem, node_optimum
from tests.fidelity.search.steps import Steps, poor_incumbent


def test_nodes_come_by_bound_and_then_by_age() -> None:
    heap = [SideNode(2.0, 0), SideNode(1.0, 2, tight=(7,)), SideNode(1.0, 1, zero=(3,))]
    heapq.heapify(heap)
    assert [heapq.heappop(heap).order for _ in range(3)] == [1, 2, 0]


def test_what_is_tight_bars_the_other_side() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    tree = SideTree(core, FollowerLps(core.follower), SearchLimits())
    # x1 <= 1 tight: x1 >= 0 is slack, its multiplier zero
    assert tree.if_tight((), (), 3) == ((3,), (1,))
    assert tree.if_tight((), (1,), 3) == ((3,), (1,))


def test_a_side_with_a_multiplier_in_every_dual_is_tight_without_a_branch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    tree = SideTree(core, FollowerLps(core.follower), SearchLimits())
    steps = Steps(tree, monkeypatch)
    steps.run(1)
    # at price 1 the side x1 <= 1 has the multiplier 0.6, whatever the parameter
    assert not tree.heap
    assert min(steps.offered) == pytest.approx(0.493**2, rel=1e-5)


def test_dropped_nodes_cap_what_is_proven() -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    tree = SideTree(core, FollowerLps(core.follower), SearchLimits(gap=0.1))
    poor_incumbent(tree, 1.0)
    tree._has_begun = True
    assert tree.cutoff() == pytest.approx(0.9)
    assert not tree.beaten(0.89)
    assert tree.dropped == np.inf
    assert tree.beaten(0.95)
    tree.push(SideNode(0.92, 0))
    assert tree.heap == []
    outcome = tree.outcome()
    assert (outcome.bound, outcome.status) == (0.92, Status.PROVEN_OPTIMAL)
    tree.unsettled = 0.5
    outcome = tree.outcome()
    assert (outcome.bound, outcome.status) == (0.5, Status.INCUMBENT)


@pytest.mark.parametrize("seed", range(12))
def test_children_cover_their_parent_and_bounds_are_valid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(seed, columns=4)
    tree = SideTree(problem.core, problem.lps, SearchLimits(gap=1e-6))
    if seed % 2:
        poor_incumbent(tree, 1.5 * min(node_optimum(problem.core), 10.0) + 0.1)
    Steps(tree, monkeypatch).run(6)


@pytest.mark.parametrize("seed", range(6))
def test_a_side_is_tight_or_its_multiplier_is_zero(seed: int) -> None:
    problem = Problem(seed, kind=0, columns=3)
    core = problem.core
    tree = SideTree(core, problem.lps, SearchLimits())
    parent = node_optimum(core)
    for side in problem.lps.inequalities.tolist():
        children = (node_optimum(core, *tree.if_tight((), (), side)), node_optimum(core, (), (side,)))
        assert min(children) == pytest.approx(parent, rel=1e-5, abs=1e-7)


def test_a_dual_without_a_verdict_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    core = one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))
    lps = FollowerLps(core.follower)
    tree = SideTree(core, lps, SearchLimits())

    def no_verdict(*_: object) -> None:
        raise SolverError("HiGHS ended an LP with 'Not Set'.")

    monkeypatch.setattr(lps, "dual", no_verdict)
    assert tree.forced(np.array([3]), (), np.zeros(1)) == []
