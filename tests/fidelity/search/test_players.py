"""Searches that take turns: who goes on for how long, what they tell each other, and what is claimed."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from ppsm.arrays import INFINITY
from ppsm.fidelity import Restorer, SearchLimits
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.search.best_first import NONE, Incumbent, SearchOutcome
from ppsm.fidelity.search.players import InSquares, Restarting, search_by_turns
from ppsm.fidelity.tuning import TUNING
from ppsm.status import Status
from tests.fidelity.markets import Instance
from tests.fidelity.nodes import Problem, node_optimum

LIMITS = SearchLimits(gap=1e-6, seconds=1000.0, nodes=10**9)


def _itself(player: "Fake") -> "Fake":
    return player


def incumbent(objective: float) -> Incumbent:
    return Incumbent(objective, np.empty(0), np.empty(0), NONE)


class Fake:
    """A search whose bound after each of its steps is said beforehand; it may find points and have an end."""

    def __init__(
        self, bounds: list[float], finds: dict[int, float] | None = None, *, verdict: Status | None = None
    ) -> None:
        self.bounds, self.finds, self.verdict = bounds, finds or {}, verdict
        self.nodes = 0
        self.stop = INFINITY
        self.best: Incumbent | None = None
        self.offered: list[float] = []
        self.turns: list[int] = []

    def steps(self) -> Iterator[None]:
        for _ in self.bounds:
            self.nodes += 1
            if self.nodes in self.finds:
                self.offer(incumbent(self.finds[self.nodes]))
            yield

    def offer(self, candidate: Incumbent) -> None:
        self.offered.append(candidate.objective)
        if self.best is None or candidate.objective < self.best.objective:
            self.best = candidate

    def outcome(self) -> SearchOutcome:
        self.turns.append(self.nodes)
        bound = self.bounds[max(0, self.nodes - 1)]
        if self.nodes == len(self.bounds) and self.verdict is not None:
            return SearchOutcome(self.verdict, self.best, bound, self.nodes)
        status = Status.NO_INCUMBENT if self.best is None else Status.INCUMBENT
        return SearchOutcome(status, self.best, bound, self.nodes)


def test_turns_double_and_who_lags_gets_less() -> None:
    first, lagging = int(TUNING.first_turn), TUNING.lagging
    ahead, behind = Fake([2.0] * 10**4), Fake([1.0] * 10**4)
    limits = SearchLimits(seconds=1000.0, nodes=int((3 + 3 * lagging + 0.5) * first))
    search_by_turns(limits, [lambda: ahead, lambda: behind])
    # a player that sits down late lags behind; the third turn is cut short by the nodes
    assert ahead.turns[:2] == [first, 3 * first]
    assert behind.turns[:2] == [int(lagging * first), int(3 * lagging * first)]
    assert ahead.nodes + behind.nodes == limits.nodes


def test_a_bound_that_lacks_twice_as_much_is_worth_half_a_turn() -> None:
    first = int(TUNING.first_turn)
    ahead, behind, lost = (Fake([bound] * 10**4) for bound in (8.0, 6.0, -990.0))
    limits = SearchLimits(seconds=1000.0, nodes=12 * first)
    search_by_turns(limits, [lambda: ahead, lambda: behind, lambda: lost], incumbent(10.0))
    assert ahead.turns[1] - ahead.turns[0] == 2 * first
    assert behind.turns[1] - behind.turns[0] == first
    assert lost.turns[1] - lost.turns[0] == pytest.approx(TUNING.least_share * 2 * first, abs=1)


def test_a_point_of_one_is_what_the_others_have_to_beat() -> None:
    first = int(TUNING.first_turn)
    finder, other = Fake([0.0] * 10 * first, {3: 7.0}), Fake([0.0] * 10 * first, {2 * first: 5.0})
    limits = SearchLimits(seconds=1000.0, nodes=6 * first)
    outcome = search_by_turns(limits, [lambda: finder, lambda: other])
    assert other.offered[0] == 7.0
    assert outcome.incumbent is not None
    assert outcome.incumbent.objective == 5.0
    assert (outcome.status, outcome.bound) == (Status.INCUMBENT, 0.0)


def test_the_first_that_is_through_is_the_proof() -> None:
    slow, quick = Fake([0.0] * 10**4), Fake([1.0, 2.0, 3.0], {2: 3.0}, verdict=Status.PROVEN_OPTIMAL)
    outcome = search_by_turns(LIMITS, [lambda: slow, lambda: quick])
    assert (outcome.status, outcome.bound) == (Status.PROVEN_OPTIMAL, 3.0)
    assert outcome.nodes == slow.nodes + 3


def test_who_gives_up_leaves_the_rest_to_the_others_and_its_bound_stays() -> None:
    tired, steady = Fake([2.0] * 5), Fake([1.0] * 1000)
    outcome = search_by_turns(LIMITS, [lambda: tired, lambda: steady])
    # alone, nobody waits: all of it is one turn
    assert steady.turns == [1000]
    assert (outcome.status, outcome.bound, outcome.nodes) == (Status.NO_INCUMBENT, 2.0, 1005)


def test_only_so_many_searches_take_part() -> None:
    first, second = Fake([0.0] * 10), Fake([0.0] * 10)
    limits = replace(LIMITS, searches=1)
    assert search_by_turns(limits, [lambda: first, lambda: second]).nodes == 10
    assert second.nodes == 0
    # Without any the answer is what was known before.
    known = search_by_turns(replace(LIMITS, searches=0), [lambda: first], incumbent(4.0), 2.0)
    assert known.incumbent is not None
    assert (known.status, known.bound, known.nodes) == (Status.INCUMBENT, 2.0, 0)


def test_what_is_known_before_counts() -> None:
    outcome = search_by_turns(LIMITS, [lambda: Fake([1.0] * 3)], incumbent(4.0), 2.0)
    assert outcome.incumbent is not None
    assert (outcome.status, outcome.incumbent.objective, outcome.bound) == (Status.INCUMBENT, 4.0, 2.0)
    beaten = search_by_turns(LIMITS, [lambda: Fake([9.0] * 3)], incumbent(4.0))
    assert beaten.bound == 4.0  # nothing is proven beyond what was found


def test_without_a_point_the_time_is_that_of_barren_searches() -> None:
    limits = SearchLimits(seconds=1000.0, barren_seconds=0.0, nodes=50)
    barren, known = Fake([0.0] * 10**4), Fake([0.0] * 10**4)
    search_by_turns(limits, [lambda: barren])
    assert barren.nodes == 1
    search_by_turns(limits, [lambda: known], incumbent(1.0))
    assert known.nodes == 50


def test_a_point_found_within_a_turn_ends_the_hurry() -> None:
    limits = SearchLimits(seconds=1000.0, barren_seconds=0.0, nodes=50)
    finder = Fake([0.0] * 10**4, {1: 7.0})
    outcome = search_by_turns(limits, [lambda: finder])
    assert finder.nodes == 50
    assert outcome.incumbent is not None


@pytest.mark.parametrize("seed", range(20))
def test_honest_players_make_honest_claims(seed: int) -> None:
    rng = np.random.default_rng(seed)
    optimum = 5.0

    def player() -> Fake:
        count = int(rng.integers(1, 300))
        bounds = np.sort(rng.uniform(0.0, optimum, count)).tolist()
        finds = {int(step): optimum + float(rng.exponential()) for step in rng.integers(1, count + 1, 3)}
        return Fake(bounds, finds if rng.random() < 0.7 else None)

    players = [player() for _ in range(int(rng.integers(1, 4)))]
    limits = SearchLimits(seconds=1000.0, nodes=int(rng.integers(1, 500)))
    outcome = search_by_turns(limits, [partial(_itself, each) for each in players])
    assert outcome.bound <= optimum
    assert outcome.bound == max(each.bounds[each.nodes - 1] for each in players if each.nodes)
    found = [each.best.objective for each in players if each.best is not None]
    assert (outcome.incumbent is None) == (not found)
    assert outcome.incumbent is None or outcome.incumbent.objective == min(found)
    assert outcome.nodes == sum(each.nodes for each in players) <= limits.nodes


def _restarted(monkeypatch: pytest.MonkeyPatch, *attempts: Fake) -> Restarting:
    """Two trees of which each step takes a second of 100, until they are over."""
    waiting, core = list(attempts), Problem(0, kind=0)
    monkeypatch.setattr(Restarting, "_fresh", lambda _: waiting.pop(0))
    monkeypatch.setattr(Fake, "incumbent", property(lambda fake: fake.best), raising=False)
    monkeypatch.setattr(time, "perf_counter", lambda: float(sum(one.nodes for one in attempts)))
    player = Restarting(core.core, core.lps, SearchLimits(seconds=100.0), core.restorer.matrices)
    player.offer(incumbent(10.0))
    for _ in player.steps():
        pass
    return player


def test_a_tree_whose_bound_rises_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rising = Fake(np.linspace(0.0, 9.0, 20).tolist() + [9.0] * 80)
    player = _restarted(monkeypatch, rising)
    assert player.nodes == rising.nodes == 100


def test_of_two_trees_at_a_halt_the_better_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for better in (0, 1):
        attempts = [Fake([2.0 + 3.0 * (number == better)] * 100) for number in range(2)]
        player = _restarted(monkeypatch, *attempts)
        assert attempts[1].offered[0] == 10.0
        assert attempts[better].nodes == 100
        assert attempts[1 - better].nodes < 40
        found = player.outcome()
        assert (found.bound, found.nodes) == (5.0, sum(one.nodes for one in attempts))


@pytest.mark.parametrize("seed", range(6))
def test_two_trees_that_begin_anew_find_the_same(seed: int) -> None:
    problem = Problem(seed, kind=0)
    core = problem.core
    truth = node_optimum(core)
    shared = problem.restorer.matrices
    player = Restarting(core, problem.lps, SearchLimits(gap=1e-6, seconds=1e-9), shared)
    # with so little time every step is past the first two shares of it
    outcome = search_by_turns(LIMITS, [lambda: player])
    assert outcome.status is (Status.INFEASIBLE if truth == INFINITY else Status.PROVEN_OPTIMAL)
    if outcome.incumbent is not None:
        assert outcome.incumbent.objective == pytest.approx(truth, rel=1e-5, abs=1e-6)
        assert outcome.bound <= truth + 1e-6 * max(1.0, truth)


def test_points_of_squares_are_measured_by_the_distance_that_is_asked_for() -> None:
    instance = Instance(12, kind=0)
    restorer = Restorer(instance.follower)
    core = restorer.core(instance.released, instance.bands, instance.public_bounds, "l1", None)
    player = InSquares(core, FollowerLps(restorer.scaled), LIMITS, restorer.matrices)
    assert player.outcome().status is Status.NO_INCUMBENT
    for _ in player.steps():
        pass
    found = player.outcome()
    assert found.status is Status.INCUMBENT
    assert found.incumbent is not None
    assert found.incumbent.objective == pytest.approx(core.objective(found.incumbent.parameter))
    assert found.bound <= found.incumbent.objective


def test_squares_are_of_no_use_where_there_is_a_point() -> None:
    instance = Instance(12, kind=0)
    restorer = Restorer(instance.follower)
    core = restorer.core(instance.released, instance.bands, instance.public_bounds, "l1", None)
    player = InSquares(core, FollowerLps(restorer.scaled), LIMITS, restorer.matrices)
    parameter = core.reference
    player.offer(Incumbent(core.objective(parameter), parameter, np.empty(0), NONE))
    assert not list(player.steps())
    assert player.outcome().status is Status.NO_INCUMBENT
