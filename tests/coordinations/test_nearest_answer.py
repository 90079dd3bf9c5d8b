"""Step 3c for games: where the leader has no answer at a faithful vector, the nearest at which it has one."""

import signal
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.cleared import random_game

from ppsm import Sensitive, StackelbergGame
from ppsm.bilevel.solve import solve_bilevel
from ppsm.coordinations import GameCoordination, any_game, nearest_answer
from ppsm.coordinations.tuning import TUNING
from ppsm.errors import FileFormatError, SolverError
from ppsm.fidelity.problem import Nearness
from ppsm.mechanism import PPSM, Dossier, PPSM_p, PublicPrior
from ppsm.mechanism.coordination import LeaderRepair, Outcome
from ppsm.owner.distances import distances
from ppsm.status import Status
from tests.coordinations.test_several_followers import independent
from tests.mechanism.conftest import towns_game, towns_market


def near(center: list[float], weights: tuple[float, ...] = (1.0, 1.0), ratio: float = 0.0) -> Nearness:
    """Nearness of two entries, by default as noise on each tells it."""
    members = np.ones((1 if ratio else 0, len(center)))
    return Nearness(np.array(center), np.array(weights), members, ratio, scale=1.0)


def repaired(game: GameCoordination, asked: Nearness) -> np.ndarray:
    """The vector that the leader makes of one, at which the game has an answer however it is written down."""
    assert not game.clear(asked.center).feasible
    found = game.repaired_for_leader(asked)
    assert found is not None
    assert found.reason
    assert found.vector is not None
    assert game.clear(found.vector).feasible
    lower, upper = game.public_bounds
    assert (found.vector >= lower).all()
    assert (found.vector <= upper).all()
    return found.vector


@pytest.mark.parametrize(
    ("center", "nearest"),
    [
        # Cheap supply of 120 must do for both towns: both give up as much.
        ([70.0, 60.0], [65.0, 55.0]),
        # The line carries 85 at most.
        ([20.0, 95.0], [20.0, 85.0]),
        ([40.0, 95.0], [35.0, 85.0]),
    ],
)
def test_of_two_towns_by_hand(towns: GameCoordination, center: list[float], nearest: list[float]) -> None:
    vector = repaired(towns, near(center))
    assert vector == pytest.approx(nearest, abs=0.04)
    # A little room is left before prices jump, so digits that are not written down do no harm.
    assert vector.sum() < 120 - 1e-4
    assert towns.clear(vector * (1 + 1e-7)).feasible


def test_what_is_known_better_is_moved_less(towns: GameCoordination) -> None:
    assert repaired(towns, near([70.0, 60.0], weights=(1.0, 4.0))) == pytest.approx([62.0, 58.0], abs=0.04)
    # A total that was measured: it is below 120 anyway, and both entries share what is left.
    assert repaired(towns, near([70.0, 60.0], ratio=3.0)) == pytest.approx([65.0, 55.0], abs=0.04)
    # Here it is not: what the line cannot carry to the east is made up for in the west.
    kept = repaired(towns, near([20.0, 95.0], ratio=3.0))
    assert kept == pytest.approx([29.0, 85.0], abs=0.04)


def test_it_keeps_to_public_bounds() -> None:
    bounded = GameCoordination(towns_game(), unit="MWh", bounds=([68.0, 0.0], [100.0, 100.0]))
    assert repaired(bounded, near([70.0, 60.0])) == pytest.approx([68.0, 52.0], abs=0.04)


def test_nothing_is_done_where_the_leader_has_an_answer(towns: GameCoordination) -> None:
    assert towns.repaired_for_leader(near([50.0, 60.0])) is None


def test_where_no_vector_within_bounds_has_an_answer_it_says_so() -> None:
    hopeless = GameCoordination(towns_game(), unit="MWh", bounds=([70.0, 60.0], [90.0, 80.0]))
    found = hopeless.repaired_for_leader(near([75.0, 65.0]))
    assert found is not None
    assert found.vector is None
    secret = Sensitive([75.0, 65.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    release = PPSM(alpha=1.0).simulate(secret, hopeless, seed=1)
    assert release.fidelity is not None
    assert release.released.values.tolist() == release.fidelity.parameter.tolist()
    assert "no other vector within the public bounds" in release.dossier.statement


def test_what_fails_there_does_not_lose_what_was_charged_for(
    towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faithful vector is released, and the dossier says why it was not moved."""

    def failing(*args: Any, **options: Any) -> None:
        raise SolverError("the solver refused the game.")

    secret = Sensitive([75.0, 60.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    monkeypatch.setattr(nearest_answer, "solve_bilevel", failing)
    release = PPSM_p(alpha=1.0).simulate(secret, towns, seed=3)
    assert release.fidelity is not None
    assert release.released.values.tolist() == release.fidelity.parameter.tolist()
    assert release.dossier.steps[-1].output["reason"] == "the solver refused the game."
    assert "no other vector within the public bounds" in release.dossier.statement
    assert Dossier.from_json(release.dossier.to_json()).statement == release.dossier.statement


@pytest.mark.parametrize(
    ("repair", "reason"),
    [
        (lambda near: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda near: LeaderRepair(np.array([1.0]), "too short"), "the leader's repair has shape (1,)"),
        (lambda near: LeaderRepair(np.array([np.nan, 1.0]), "no number"), "the leader's repair of 'west'"),
    ],
)
def test_nor_does_a_repair_of_ones_own(
    repair: Any, reason: str, towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Sensitive([75.0, 60.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    monkeypatch.setattr(towns, "repaired_for_leader", repair)
    release = PPSM_p(alpha=1.0).simulate(secret, towns, seed=3)
    assert release.fidelity is not None
    assert release.released.values.tolist() == release.fidelity.parameter.tolist()
    assert reason in release.dossier.steps[-1].output["reason"]


def _refused_bound(decision: Any, bands: Any) -> Any:
    raise SolverError("the solver refused the bound.")


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        (_refused_bound, "the solver refused the bound."),
        (lambda decision, bands: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda decision, bands: (1.0, 2.0), "it returned tuple, expected CostOfPrivacy or text"),
    ],
)
def test_nor_does_a_bound_that_cannot_be_found(
    bound: Any, reason: str, towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Sensitive([50.0, 40.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    monkeypatch.setattr(towns, "cost_of_privacy", bound)
    dossier = PPSM_p(alpha=1.0).simulate(secret, towns, seed=3).dossier
    assert dossier.theory.cost_of_privacy == f"the search for what encloses it failed ({reason})"
    assert Dossier.from_json(dossier.to_json()).statement == dossier.statement


def test_an_interrupted_search_ends_the_release(
    towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solvers keep what they have on Ctrl-C and return; nobody may take that for the nearest vector."""

    def interrupted(*args: Any, **options: Any) -> Any:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return solve_bilevel(*args, **options)

    monkeypatch.setattr(nearest_answer, "solve_bilevel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        towns.repaired_for_leader(near([70.0, 60.0]))


class _Clock:
    """A clock that every solve moves on by all the time that it may take, as the slowest games do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(nearest_answer, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(nearest_answer, "solve_bilevel", self.solve)
        monkeypatch.setattr(any_game, "solve_bilevel", self.solve)

    def solve(self, *args: Any, time_limit: float, **options: Any) -> Any:
        self.now += time_limit
        return solve_bilevel(*args, time_limit=60.0, **options)


def test_all_of_it_has_one_limit(towns: GameCoordination, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow every search and every game is, what was found first is what counts."""
    clock = _Clock(monkeypatch)
    found = towns.repaired_for_leader(near([70.0, 60.0]))
    assert found is not None
    assert found.vector == pytest.approx([65.0, 55.0], abs=0.04)
    # Played once, searched with half of what was left, and played with what was found until time was up.
    assert clock.now <= 1000.0 + TUNING.nearest_seconds + 0.1
    hopeless = GameCoordination(towns_game(), unit="MWh", bounds=([70.0, 60.0], [90.0, 80.0]), time_limit=1e6)
    clock.now = 1000.0
    assert hopeless.repaired_for_leader(near([75.0, 65.0])) is not None
    assert clock.now <= 1000.0 + TUNING.nearest_seconds + 0.1


def test_what_was_found_is_not_lost_where_a_later_search_fails(
    towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here every vector is one that does not bear rounding, and the second search fails."""
    calls: list[int] = []

    def failing(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise SolverError("the solver refused the game.")
        return solve_bilevel(*args, **options)

    monkeypatch.setattr(nearest_answer, "solve_bilevel", failing)
    monkeypatch.setattr(any_game, "rounded", lambda values, digits: values + 1000.0)
    found = towns.repaired_for_leader(near([70.0, 60.0]))
    assert len(calls) == 2
    assert found is not None
    assert found.vector == pytest.approx([65.0, 55.0], abs=0.04)


def test_an_interrupted_game_ends_the_release_too(
    towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the games is being played: the first, or one with a vector that was found."""
    for number in (1, 2, 3):
        plays = iter(range(1, 10))

        def interrupted(*args: Any, plays: Any = plays, number: int = number, **options: Any) -> Any:
            if next(plays) == number:
                with suppress(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
            return solve_bilevel(*args, **options)

        monkeypatch.setattr(any_game, "solve_bilevel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            towns.repaired_for_leader(near([70.0, 60.0]))


@pytest.mark.parametrize("status", [Status.NO_INCUMBENT, Status.UNBOUNDED])
def test_nothing_is_moved_without_proof_that_there_is_no_answer(
    status: Status, towns: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where time is up before an answer is found, or the leader's cost falls without end."""
    outcome = Outcome(status, None, None, None, {}, None)
    monkeypatch.setattr(towns, "_cleared", lambda demand, seconds: outcome)
    assert towns.repaired_for_leader(near([70.0, 60.0])) is None


def test_a_dossier_without_what_the_leader_did_is_refused(towns: GameCoordination) -> None:
    secret = Sensitive([75.0, 60.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    content = PPSM_p(alpha=1.0).simulate(secret, towns, seed=3).dossier.to_dict()
    assert content["steps"][-1]["step"] == "3c"
    for output in ({}, {"values": [1.0, 2.0]}, {"values": [1.0], "moved_l1": "far"}):
        content["steps"][-1]["output"] = output
        with pytest.raises(FileFormatError, match="dossier"):
            Dossier.from_dict(content)


def test_an_answer_at_a_jump_alone_is_found_there() -> None:
    """A price of 2 in the east is between those of cheap and dear supply: the line must be exactly full."""
    game = StackelbergGame(towns_market())
    built = game.leader.add_variables(lower=0, upper=3, integer=True, name="built")
    game.raise_right_hand_side("line", 10 * built)
    game.leader.add_constraints(game.price("east") == 2.0, name="promise")
    game.leader.add_objective(15 * built)
    vector = repaired(GameCoordination(game, unit="MWh"), near([30.0, 57.0]))
    assert vector == pytest.approx([30.0, 55.0], abs=1e-6)


def test_beside_another_follower() -> None:
    """At most 8 of cheap gas and 20 that the leader pipes keep what was promised to the west."""
    game = GameCoordination(independent(), of="west", unit="GWh")
    asked = Nearness(np.array([40.0]), np.ones(1), np.empty((0, 1)), 0.0, scale=1.0)
    assert repaired(game, asked) == pytest.approx([28.0], abs=0.04)


@pytest.mark.parametrize("kind", ["ceiling", "even", "budget", "capacity"])
@pytest.mark.parametrize("seed", [16, 63])
def test_every_release_of_a_random_game_can_be_cleared(kind: str, seed: int) -> None:
    """With a third of a typical entry as alpha, nothing published, and as the digits are written down."""
    game = random_game(kind, seed)
    truth = game.follower.nominal
    market = GameCoordination(game, unit="MW", bounds=(0.0, 3.0 * truth))
    secret = Sensitive(truth, dataset="d", unit="MW", entry_names=market.entry_names)
    mechanisms = PPSM(alpha=15.0), PPSM_p(alpha=15.0), PPSM(alpha=15.0, total_share=0.5)
    for draw, mechanism in enumerate(mechanisms):
        release = mechanism.simulate(secret, market, seed=draw)
        released, dossier = release.released, release.dossier
        assert market.clear(released.values).feasible
        assert release.fidelity is not None
        is_moved = dossier.moved_by_leader is not None
        assert (released.values.tolist() != release.fidelity.parameter.tolist()) == is_moved
        assert [step.step for step in dossier.steps] == ["1", "2a", "2b", "3a", "3b", *["3c"] * is_moved]
        assert ("leader" in dossier.statement) == is_moved
        assert Dossier.from_json(dossier.to_json()).to_json() == dossier.to_json()
        if not is_moved:
            continue
        assert released.steps[-1] == "leader's repair"
        off = released.values - release.noisy.values
        likely = dossier.theory.distance
        assert likely.premise.startswith("none")
        assert likely.likely_l2 is not None
        assert likely.likely_l2 > np.linalg.norm(off)
        digits = np.array([float(f"{value:.7g}") for value in released.values])
        assert market.clear(digits).feasible
        figures = distances(truth, release)
        assert figures.l2_bound is not None
        assert not figures.truth_in_bands or figures.l2_released <= figures.l2_bound * (1 + 1e-9)


@pytest.mark.parametrize("spread", [0.1, 1e-6, 1e-9])
def test_a_prior_weighs_in(spread: float, towns: GameCoordination) -> None:
    secret = Sensitive([75.0, 60.0], dataset="d", unit="MWh", entry_names=("west", "east"))
    known = PublicPrior.of([74.0, 60.0], [spread, 50.0], source="the west is metered")
    release = PPSM_p(alpha=1.0, prior=known).simulate(secret, towns, seed=3)
    assert release.dossier.moved_by_leader is not None
    # Nearly all of the move is made where nothing is known.
    assert release.released.values == pytest.approx([74.0, 46.0], abs=0.2)
