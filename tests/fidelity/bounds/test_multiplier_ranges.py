"""Ranges of multipliers: by hand, and never above what an LP finds."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity.bounds.multiplier_ranges import MultiplierRanges
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import SearchLimits
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE
from ppsm.fidelity.search.side_tree import SideTree
from ppsm.fidelity.tuning import TUNING
from tests.fidelity.markets import one_node_core
from tests.fidelity.nodes import Problem


def _smallest(core: Core, lps: FollowerLps, side: int) -> float:
    """The least multiplier of a side in any dual of the band."""
    weights = np.zeros(core.follower.sides.count)
    weights[side] = 1.0
    lps.set_band(core.price_lower, core.price_upper)
    found = lps.cheapest_dual(weights, NONE)
    return np.inf if found is None else float(found.multipliers[side])


def test_a_price_leaves_the_dearness_of_what_is_used_up() -> None:
    # at prices of 0.9 to 1, x1 costs 0.4 and saves 0.5 at least; x2 costs 1, and need not be zero or full.
    # The sides: the balance, x1 >= 0, x2 >= 0, x1 <= 1, x2 <= 1
    ranges = MultiplierRanges(one_node_core(0.8, (0.6, 0.8), (0.9, 1.0)))
    assert ranges.least(NONE)[1:] == pytest.approx([0.0, 0.0, 0.5, 0.0])
    # where x2 >= 0 has no multiplier the price is at least its cost
    assert ranges.least(np.array([2]))[[0, 3]] == pytest.approx([1.0, 0.6])


@pytest.mark.parametrize("seed", range(40))
def test_ranges_promise_no_more_than_lps(seed: int) -> None:
    problem = Problem(seed, kind=0, columns=9)
    core = problem.core
    least = MultiplierRanges(core).least(NONE)
    for side in problem.lps.inequalities.tolist():
        assert least[side] <= _smallest(core, problem.lps, side) + 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_what_ranges_say_is_what_lps_say(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(seed, kind=0, columns=9)
    core = problem.core
    shift = core.rows_at(np.clip(core.reference, core.lower, core.upper))
    sides = problem.lps.inequalities

    def forced(few: int) -> set[int]:
        monkeypatch.setattr("ppsm.fidelity.search.side_tree.TUNING", replace(TUNING, many_forced=few))
        tree = SideTree(core, problem.lps, SearchLimits())
        return set(tree.forced(sides, (), shift))

    assert forced(0) == forced(1000)
