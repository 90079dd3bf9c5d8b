"""The tree at the optimum of one support: nodes against the truth, and networks without the large QP."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.fidelity_cells import draw, synthetic_cells

from ppsm.fidelity import Bands, Restorer, SearchLimits
from ppsm.fidelity.bounds.least_penalty import OptimalityMatrix
from ppsm.fidelity.bounds.primal_dual import PrimalDualRelaxation
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import HalfSpaces
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search import support_tree
from ppsm.fidelity.search.support_tree import SupportTree
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status
from tests.fidelity.markets import one_node, one_node_core
from tests.fidelity.nodes import Problem, node_optimum
from tests.fidelity.search.steps import Steps, poor_incumbent


def tree(core: Core, lps: FollowerLps | None = None, gap: float = 1e-6) -> SupportTree:
    lps = FollowerLps(core.follower) if lps is None else lps
    return SupportTree(core, lps, SearchLimits(gap=gap), OptimalityMatrix(core.follower))


def test_one_support_by_hand() -> None:
    found = tree(one_node_core(0.8, (0.693, 0.707), (1.0, 1.0))).run()
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.incumbent is not None
    assert found.incumbent.parameter == pytest.approx([1.293], abs=1e-6)
    assert found.bound == pytest.approx(0.493**2, rel=1e-6)


def test_a_vector_outside_a_half_space_is_not_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    # large markets start from the released vector: 13 has the value and the price asked for, but d >= 13.2
    monkeypatch.setattr(support_tree, "TUNING", replace(TUNING, small_market=0))
    restorer = Restorer(one_node(), HalfSpaces(np.array([[1.0]]), np.array([13.2])))
    bands = Bands(35.0, 3.0, np.array([5.0]), np.array([0.1]))
    found = restorer.restore([13.0], bands)
    assert found.certified
    assert found.parameter == pytest.approx([13.2], abs=1e-6)


def test_a_faithful_vector_needs_no_node() -> None:
    found = tree(one_node_core(1.3, (0.6, 0.8), (0.9, 1.1))).run()
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.nodes == 0
    assert found.bound == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_children_cover_their_parent_and_bounds_are_valid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(seed, kind=0, columns=3)
    search = tree(problem.core, problem.lps)
    search.opening()
    if not hasattr(search, "_first"):
        return
    search.incumbent, search.unsettled = None, np.inf
    poor_incumbent(search, 1.2 * min(node_optimum(problem.core), 10.0) + 0.05)
    Steps(search, monkeypatch).run(5)


@pytest.mark.parametrize("seed", range(6))
def test_a_side_is_tight_in_one_half_and_has_no_multiplier_in_the_other(seed: int) -> None:
    """Whatever the side: the halves of a node together hold its optimum."""
    problem = Problem(seed, kind=0, columns=3)
    search = tree(problem.core, problem.lps)
    search.opening()
    if not hasattr(search, "_first"):
        return
    node, truth = search.root(0.0), node_optimum(problem.core)
    sides = problem.core.follower.sides
    for side in np.flatnonzero(~sides.is_free).tolist():
        search.heap.clear()
        search._split(node, [(side, 0.5 * truth)])
        tight, slack = sorted(search.heap, key=lambda half: side in half.zero)
        # Other sides may be decided with the one, but not that one both ways.
        assert side in tight.tight
        assert side not in tight.zero
        assert side in slack.zero
        assert side not in slack.tight
        assert (tight.bound, slack.bound) == (0.0, 0.5 * truth)
        halves = [node_optimum(problem.core, half.tight, half.zero) for half in search.heap]
        assert min(halves) == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_proven_is_the_optimum(seed: int) -> None:
    problem = Problem(seed, kind=0, columns=4)
    found = tree(problem.core, problem.lps).run()
    truth = node_optimum(problem.core)
    assert found.bound <= truth + 1e-5 * max(1.0, truth if np.isfinite(truth) else 1.0)
    if found.incumbent is not None:
        assert found.incumbent.objective >= truth - 1e-5
    assert found.status is not Status.INFEASIBLE or truth == np.inf


@pytest.mark.parametrize("junctions", [80, 400])
def test_networks_are_proven_without_the_large_qp(junctions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the time of large networks went to it; sides in series are decided together."""

    def never(*_: Any) -> None:
        pytest.fail("the QP over answers and duals was solved")

    monkeypatch.setattr(PrimalDualRelaxation, "solve", never)
    cell = synthetic_cells(junctions, (1.0,))[0]
    for instance in draw([cell], 2, prices=True, first=10):
        if instance.alpha_mwh <= 100.0:
            found = Restorer.of(cell.follower).restore(
                instance.released, instance.bands, (0.0, cell.largest), limits=SearchLimits(seconds=30.0)
            )
            assert found.certified
