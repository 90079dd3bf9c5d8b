"""A search one node at a time, checked against the truth about every node."""

import heapq
from typing import Any

import numpy as np

from ppsm.fidelity.bounds.primal_dual import PriceBox
from ppsm.fidelity.search.best_first import NONE, BestFirst, Incumbent
from ppsm.fidelity.search.side_tree import SideNode
from ppsm.fidelity.search.two_trees import BoxNode, TwoTrees
from tests.fidelity.nodes import is_faithful, node_optimum


def poor_incumbent(search: BestFirst[Any], objective: float) -> None:
    """As if a point at this distance had been found: what is no better may be dropped."""
    search.incumbent = Incumbent(objective, search.core.reference, np.empty(0), NONE)


class Steps:
    """Expands node after node; points that are offered are checked and noted, but never kept.

    So branching goes on where a search would long be over.
    """

    def __init__(self, search: BestFirst[Any], monkeypatch: Any) -> None:
        self.search = search
        self.offered: list[float] = []
        self.expanded = 0
        monkeypatch.setattr(search, "offer", self._note)

    def _note(self, candidate: Incumbent) -> None:
        assert is_faithful(self.search.core, candidate.parameter, 1e-5)
        assert abs(self.search.core.objective(candidate.parameter) - candidate.objective) < 1e-6
        self.offered.append(candidate.objective)

    def run(self, most: int) -> None:
        """Expand up to so many nodes: bounds are valid, and children cover what is better than the cutoff."""
        search = self.search
        search.start = search.relaxation.solve(NONE)
        search.push(search.root(search.core.least))
        truth = {search.heap[0].order: self.optimum(search.heap[0])} if search.heap else {}
        while search.heap and self.expanded < most:
            self.expanded += 1
            search.nodes += 1
            node = heapq.heappop(search.heap)
            optimum = truth.get(node.order)
            optimum = self.optimum(node) if optimum is None else optimum
            before, tree = {one.order for one in search.heap}, search.heap
            self.offered.clear()
            search.expand(node)
            children = [one for one in tree if one.order not in before]
            for child in children:
                truth[child.order] = self.optimum(child)
                assert child.bound <= truth[child.order] + slack(child.bound)
            left = [truth[child.order] for child in children]
            if optimum < search.cutoff() - slack(optimum):
                assert min([*left, *self.offered, self.unsettled(tree)]) <= optimum + slack(optimum)
            if isinstance(search, TwoTrees) and self.expanded == 1:
                self.check_other(search, tree, optimum)

    def check_other(self, search: TwoTrees, tree: list[BoxNode], optimum: float) -> None:
        """The other tree holds everything that is better, too."""
        other = search._other[0] if search.heap is tree else search.heap
        if optimum < search.cutoff() - slack(optimum):
            assert min(self.optimum(node) for node in other) <= optimum + slack(optimum)

    def unsettled(self, tree: list[Any]) -> float:
        if isinstance(self.search, TwoTrees) and self.search.heap is not tree:
            return self.search._other[1]
        return self.search.unsettled

    def optimum(self, node: SideNode | BoxNode) -> float:
        box: PriceBox | None = getattr(node, "box", None)
        return node_optimum(self.search.core, node.tight, node.zero, box)


def slack(number: float) -> float:
    return 1e-5 * max(1.0, abs(number)) if np.isfinite(number) else 0.0
