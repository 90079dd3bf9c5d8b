"""The lower side of the value band: walks from dual to dual, the proof by prices, monotone networks."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity import SearchLimits
from ppsm.fidelity.bounds.primal_dual import PriceBox, PrimalDualMatrices
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.best_first import Incumbent, SearchOutcome
from ppsm.fidelity.search.lower_side import Prover, Walker, is_monotone, look_at_lower_side
from ppsm.fidelity.search.players import search_by_turns
from ppsm.fidelity.search.side_tree import SideTree
from ppsm.fidelity.search.supports import Trial
from ppsm.fidelity.search.two_trees import TwoTrees
from ppsm.program import LinearProgram
from ppsm.status import Status
from tests.fidelity.bounds.test_price_boxes import low_problem
from tests.fidelity.hostile import hostile_follower
from tests.fidelity.markets import one_node_core, one_node_in_rows, two_nodes
from tests.fidelity.nodes import Problem, dual_value, is_faithful, node_optimum, value_at

NONE = np.empty(0, dtype=np.int64)


def walker_by_hand() -> Walker:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    return Walker(core, lps)


def test_a_walk_ends_at_the_optimum_by_hand() -> None:
    walker = walker_by_hand()
    best = walker.walk(np.array([1.2]))
    assert best is not None
    assert best.parameter == pytest.approx([1.293], abs=1e-6)
    # the half-space is d >= 1.293, its multiplier the derivative of the distance
    assert walker.penalty == pytest.approx(2.0 * 0.493, rel=1e-4)
    assert walker.planes[0][0] == pytest.approx(-0.6)
    assert walker.planes[0][1] == pytest.approx([1.0])


def test_a_cheap_dual_that_cannot_reach_the_band_is_left_behind() -> None:
    # at 0.8 the price is 0.4, and 0.4 d never reaches 0.693 within what costs 0.707
    walker = walker_by_hand()
    dual = walker.lps.dual(np.array([0.8]))
    assert dual is not None
    assert walker.nearest(dual, np.array([0.8])) is None
    best = walker.walk(np.array([0.8]))
    assert best is not None
    assert best.parameter == pytest.approx([1.293], abs=1e-6)


def test_lifting_a_dual_offers_the_nearest_point_of_its_half_space() -> None:
    walker = walker_by_hand()
    dual = walker.lps.dual(np.array([1.2]))
    assert dual is not None
    found: list[Incumbent] = []
    assert walker.lift(Trial(dual, np.array([1.2]), NONE, NONE), found.append) == -np.inf
    assert found[0].parameter == pytest.approx([1.293], abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_walks_end_at_faithful_points_and_planes_are_below_the_value(seed: int) -> None:
    problem = low_problem(seed)
    core, rng = problem.core, problem.rng
    problem.lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, problem.lps)
    best = walker.walk(np.clip(core.reference, core.lower, core.upper))
    assert best is not None
    assert is_faithful(core, best.parameter)
    assert best.objective >= node_optimum(core) - 1e-6
    for point in rng.uniform(0.0, 1.5, size=(20, core.reference.size)):
        for constant, prices in walker.planes:
            assert constant + prices @ point <= value_at(core, point) + 1e-7


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_proof_ends_at_the_truth(seed: int, monotone: bool) -> None:
    problem = low_problem(seed)
    core = problem.core
    matrices = PrimalDualMatrices(core.follower)
    limits = SearchLimits(gap=1e-5, seconds=20.0)
    seen = look_at_lower_side(core, problem.lps)
    walker, best = seen.walker, seen.best
    outcome = seen.outcome
    if outcome is None:
        assert walker is not None
        assert best is not None
        player = (
            Prover(core, problem.lps, limits, matrices, walker, best, monotone=True)
            if monotone
            else SideTree(core, problem.lps, limits, lift=walker.lift)
        )
        outcome = search_by_turns(limits, [lambda: player], best, seen.bound)
    optimum = node_optimum(core)
    assert outcome.incumbent is not None
    assert outcome.bound <= optimum + 1e-6 * max(1.0, optimum)
    assert outcome.status is Status.PROVEN_OPTIMAL
    assert outcome.incumbent.objective == pytest.approx(optimum, rel=1e-4, abs=1e-6)


def prover_of(problem: Problem, objective: float, *, monotone: bool = True) -> tuple[Prover, PriceBox]:
    """As if a point at this distance were the best one known; and the box of all prices up to 2."""
    core, lps = problem.core, problem.lps
    lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, lps)
    best = walker.walk(np.clip(core.reference, core.lower, core.upper))
    assert best is not None
    prover = Prover(
        core,
        lps,
        SearchLimits(gap=1e-5, seconds=20.0),
        PrimalDualMatrices(core.follower),
        walker,
        replace(best, objective=objective),
        monotone=monotone,
    )
    entries = core.reference.size
    return prover, PriceBox(np.zeros(entries), np.full(entries, 2.0))


def run_out(prover: Prover) -> SearchOutcome:
    """What it ends with when nothing limits it."""
    for _ in prover.steps():
        pass
    return prover.outcome()


def test_a_box_is_halved_where_chords_lose_most_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    core = one_node_core(0.8, (0.693, 0.707), None)
    lps = FollowerLps(core.follower)
    lps.set_band(core.price_lower, core.price_upper)
    walker = Walker(core, lps)
    best = walker.walk(np.array([1.2]))
    assert best is not None
    limits = SearchLimits(gap=1e-5, seconds=20.0)
    matrices = PrimalDualMatrices(core.follower)
    prover = Prover(core, lps, limits, matrices, walker, replace(best, objective=0.36), monotone=True)
    # points are refuted that are better by half of the gap
    assert prover._target() == pytest.approx(0.36 * (1.0 - 0.5e-5), rel=1e-9)
    monkeypatch.setattr(prover, "_tightened", lambda box, **_: box)
    below, above = prover._divided(PriceBox(np.array([0.5]), np.array([1.5])))
    assert (below.lower[0], below.upper[0]) == (0.5, 1.0)
    assert (above.lower[0], above.upper[0]) == (1.0, 1.5)


def test_a_narrow_box_that_a_limit_left_open_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    prover, box = prover_of(low_problem(0), 1.0)
    narrow = PriceBox(box.lower, box.lower + 1e-9)
    monkeypatch.setattr(prover, "_tightened", lambda box, **_: narrow)
    monkeypatch.setattr(type(prover._boxes()), "first", lambda *_, **__: narrow)
    stopped = SearchOutcome(Status.INCUMBENT, prover.incumbent, 0.1, 1)
    monkeypatch.setattr(prover, "_run", lambda _: stopped)
    outcome = run_out(prover)
    assert outcome.status is Status.INCUMBENT
    assert outcome.bound == 0.1
    prover.has_open_box = False
    monkeypatch.setattr(prover, "_run", lambda _: replace(stopped, status=Status.PROVEN_OPTIMAL))
    assert run_out(prover).status is Status.PROVEN_OPTIMAL


def test_searches_in_boxes_share_one_limit_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    prover, box = prover_of(low_problem(0), 1.0)
    prover.limits = replace(prover.limits, nodes=5)
    allowed = []

    def stopped_at_its_limit(search: TwoTrees) -> SearchOutcome:
        allowed.append(search.limits.nodes)
        prover.nodes += search.limits.nodes
        return SearchOutcome(Status.INCUMBENT, prover.incumbent, 0.1, prover.nodes)

    monkeypatch.setattr(prover, "_tightened", lambda box, **_: box)
    monkeypatch.setattr(type(prover._boxes()), "first", lambda *_, **__: box)
    monkeypatch.setattr(prover, "_run", stopped_at_its_limit)
    assert search_by_turns(prover.limits, [lambda: prover]).status is Status.INCUMBENT
    assert sum(allowed) == prover.nodes == 5


@pytest.mark.parametrize("seed", range(8))
def test_what_is_divided_keeps_every_better_point(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = low_problem(seed)
    core = problem.core
    optimum = node_optimum(core)
    prover, everything = prover_of(problem, 1.2 * optimum + 0.05)
    truth = nearest_point(problem)
    left = [everything]
    # Points that searches in boxes find count as found; nothing else may make a box disappear.
    for _ in range(6):
        if not left:
            break
        left += prover._divided(left.pop(0))
        found = prover.incumbent.objective <= optimum * (1.0 + 2e-5) + 1e-6
        inside = [
            dual_value(core, truth, box.lower, box.upper) >= value_at(core, truth) - 1e-5 for box in left
        ]
        assert found or any(inside)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_no_point_is_called_best_that_is_not(seed: int, monotone: bool) -> None:
    problem = low_problem(seed)
    optimum = node_optimum(problem.core)
    prover, _ = prover_of(problem, 1.05 * optimum + 0.001, monotone=monotone)
    outcome = run_out(prover)
    assert outcome.bound <= optimum + 1e-6 * max(1.0, optimum)
    assert outcome.incumbent is not None
    if outcome.status is Status.PROVEN_OPTIMAL:
        assert outcome.incumbent.objective == pytest.approx(optimum, rel=2e-5, abs=1e-6)


def nearest_point(problem: Problem) -> np.ndarray:
    outcome = problem.instance.restore()
    assert outcome.certified
    return np.asarray(outcome.parameter / problem.restorer.scaled.quantity_unit)


@pytest.mark.parametrize("seed", range(40))
def test_values_of_monotone_networks_never_fall(seed: int) -> None:
    rng = np.random.default_rng(seed)
    follower = hostile_follower(rng)
    entries = len(follower.parameter_names)
    if not is_monotone(follower.program, follower.parameter_map, np.zeros(entries)):
        return
    for _ in range(10):
        less = rng.uniform(0.0, 4.0, entries)
        more = less + rng.uniform(0.0, 2.0, entries) * (rng.random(entries) < 0.5)
        high = follower.solve(more)
        if high.status.has_answer:
            low = follower.solve(less)
            assert low.status.has_answer
            assert low.value <= high.value + 1e-7 * max(1.0, abs(high.value))


def test_most_random_networks_are_monotone() -> None:
    followers = [hostile_follower(np.random.default_rng(seed)) for seed in range(40)]
    told = [
        is_monotone(one.program, one.parameter_map, np.zeros(len(one.parameter_names))) for one in followers
    ]
    assert sum(told) >= 20


def test_monotone_networks_are_recognised() -> None:
    follower = two_nodes()
    assert is_monotone(follower.program, follower.parameter_map, np.zeros(2))
    earning = replace(follower.program, cost=np.array([1.0, -3.0, 0.0]))
    assert not is_monotone(earning, follower.parameter_map, np.zeros(2))
    assert not is_monotone(follower.program, follower.parameter_map, np.array([-1.0, 0.0]))
    forced = LinearProgram.from_arrays(
        cost=follower.program.cost,
        matrix=follower.program.matrix,
        row_lower=[0.0, 0.0],
        row_upper=[0.0, 0.0],
        column_lower=[0.0, 0.0, 1.0],
        column_upper=follower.program.column_upper,
    )
    assert not is_monotone(forced, follower.parameter_map, np.zeros(2))


def test_rows_that_limit_flows_from_above_do_no_harm() -> None:
    follower = one_node_in_rows()
    balance, entry = [1.0, 1.0], follower.parameter_map

    def with_row(row: list[float], lower: float, upper: float) -> LinearProgram:
        return LinearProgram.from_arrays(
            cost=[2.0, 5.0], matrix=[balance, row], row_lower=[0.0, lower], row_upper=[0.0, upper]
        )

    assert is_monotone(follower.program, entry, np.zeros(1))
    one = entry[:2, :]
    assert is_monotone(with_row([0.0, 1.0], -np.inf, 10.0), one, np.zeros(1))
    assert is_monotone(with_row([0.0, -1.0], -10.0, np.inf), one, np.zeros(1))
    # x2 >= 1: less than 1 cannot be served any more
    assert not is_monotone(with_row([0.0, 1.0], 1.0, np.inf), one, np.zeros(1))
    assert not is_monotone(with_row([0.0, -1.0], -np.inf, -1.0), one, np.zeros(1))
