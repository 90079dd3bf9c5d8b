"""PPSM_p in l1: along the axes from corner to corner."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity import Bands, Restorer
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.problem import PublicBounds
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.search.corners import CornerSearch
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status
from tests.fidelity.markets import LIMITS, Instance, two_nodes
from tests.fidelity.oracle import Distance, brute_force


def two_towns(released: list[float], value: float, upper: list[float]) -> tuple[Core, float]:
    """``two_nodes`` in l1 with a value to reach and public bounds; and its unit of quantity.

    Serving west costs 1 each; serving east 1 each up to the pipe's 4, then 3 each.
    """
    restorer = Restorer(two_nodes())
    bands = Bands(value + 0.1, 0.1).checked(restorer.names)
    bounds = PublicBounds.of(([0.0, 0.0], upper), restorer.names)
    core = restorer.core(np.array(released), bands, bounds, "l1", None)
    return core, restorer.scaled.quantity_unit


def search(core: Core, best: float) -> SearchOutcome:
    """As if a point at this distance were known."""
    point = Incumbent(best, core.reference, np.empty(0), NONE)
    return CornerSearch(core, FollowerLps(core.follower), point, np.inf).run()


def test_a_single_entry_moves_by_hand() -> None:
    # (3, 5) costs 4 + 3 + 3 = 10; 6 more are 2 in the east, or 6 in the west
    core, unit = two_towns([3.0, 5.0], 16.0, [50.0, 50.0])
    found = search(core, 10.0)
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.incumbent is not None
    assert found.incumbent.parameter * unit == pytest.approx([3.0, 7.0])
    assert found.incumbent.objective * unit == pytest.approx(2.0)
    assert found.bound * unit == pytest.approx(2.0)


def test_an_entry_at_its_public_bound_leaves_the_rest_to_another_by_hand() -> None:
    # east may only reach 6, which is worth 3; the other 3 are in the west
    core, unit = two_towns([3.0, 5.0], 16.0, [50.0, 6.0])
    found = search(core, 10.0)
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.incumbent is not None
    assert found.incumbent.parameter * unit == pytest.approx([6.0, 6.0])
    assert found.bound * unit == pytest.approx(4.0)
    assert found.nodes == 2


def test_what_is_released_below_its_bound_starts_there_by_hand() -> None:
    # -1 in the west is 0 at a distance of 1; (0, 5) costs 7, and 3 more are 1 in the east
    core, unit = two_towns([-1.0, 5.0], 10.0, [50.0, 50.0])
    found = search(core, 10.0)
    assert found.incumbent is not None
    assert found.incumbent.parameter * unit == pytest.approx([0.0, 6.0])
    assert found.bound * unit == pytest.approx(2.0)


def test_ways_that_nothing_can_serve_leave_a_bound_by_hand() -> None:
    # east takes 24 at most, which costs 4 + 3 * 20 = 64 beside 20 in the west: never 90
    core, unit = two_towns([19.0, 23.0], 90.0, [50.0, 50.0])
    found = search(core, 100.0)
    assert found.status is Status.INCUMBENT
    assert found.bound * unit <= 1.0 + 1e-6


def test_too_many_corners_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    core, unit = two_towns([3.0, 5.0], 16.0, [50.0, 6.0])
    one = replace(TUNING, most_corners=1)
    monkeypatch.setattr("ppsm.fidelity.search.corners.TUNING", one)
    found = search(core, 10.0)
    assert found.status is Status.INCUMBENT
    assert found.bound * unit == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(500, 530))
def test_the_optimum_equals_enumeration_of_patterns(seed: int) -> None:
    instance = Instance(seed, kind=1)
    nothing = np.zeros(instance.released.size)
    truth = brute_force(
        instance.follower,
        instance.released,
        instance.bands,
        instance.lower,
        instance.upper,
        Distance("l1", nothing, nothing),
    )
    found = Restorer(instance.follower).restore(
        instance.released, instance.bands, (instance.lower, instance.upper), norm="l1", limits=LIMITS
    )
    assert found.certified
    assert found.objective == pytest.approx(truth, rel=1e-5, abs=1e-6)
