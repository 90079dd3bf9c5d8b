"""The coordination of small games: decisions with prices fixed, and three trades through one interface."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import linopy
import numpy as np
import pandas as pd
import pytest
from benchmarks.cleared import line_game, random_game

from ppsm import Follower, LinearProgram, Sensitive, StackelbergGame
from ppsm.arrays import LARGEST_ENTRY, FloatArray
from ppsm.coordinations import GameCoordination, any_game, fixed_prices
from ppsm.coordinations.tuning import TUNING
from ppsm.errors import InputError, SolverError
from ppsm.examples import freight_game, permit_game, water_game
from ppsm.fidelity import Bands
from ppsm.mechanism import MECHANISMS, PPSM, Laplace, ModelBased, PPSM_p, PublicOutcome
from ppsm.owner.distances import cost_errors, distances
from ppsm.privacy import simulated_publication
from ppsm.solvers.highs import solve_mip_with_highs
from ppsm.status import Status
from tests.mechanism.conftest import TRUTH, towns_market

GAMES: dict[str, tuple[Callable[[], StackelbergGame], str]] = {
    "water": (water_game, "ML/day"),
    "permits": (permit_game, "kt"),
    "freight": (freight_game, "containers"),
}


def game_of(name: str) -> tuple[StackelbergGame, GameCoordination, Sensitive, PublicOutcome]:
    build, unit = GAMES[name]
    game = build()
    coordination = GameCoordination(game, unit=unit)
    truth = game.follower.nominal
    secret = Sensitive(truth, dataset=name, unit=unit, entry_names=coordination.entry_names)
    published = simulated_publication(coordination.market_result(truth), dataset=name)
    return game, coordination, secret, PublicOutcome(published, seed=3)


def test_clearing_is_the_game_itself(towns: GameCoordination) -> None:
    outcome = towns.clear(np.array(TRUTH))
    # 61.99 in the east, 55 + 10 of line: all of it cheap
    assert outcome.leader_cost == pytest.approx(15.0)
    assert outcome.values["follower"] == pytest.approx(sum(TRUTH))
    assert outcome.prices is not None
    prices = towns.entry_prices(outcome.prices)
    assert prices[1] <= 2.5 + 1e-9


def test_the_demand_of_the_model_is_left_out() -> None:
    game = water_game()
    coordination = GameCoordination(game, unit="ML/day")
    decision = coordination.decide(game.follower.nominal, None)
    follower = coordination.follower_at(decision)
    assert not follower.nominal.any()
    assert not follower.program.row_lower[np.flatnonzero(np.diff(follower.parameter_map.indptr))].any()


def test_zones_are_numbered_as_they_occur_and_measured() -> None:
    """An entry with a zone of its own, and the others together; which is public."""
    game = permit_game()
    names = game.follower.parameter_names
    zoned = GameCoordination(game, unit="kt", zones=["rest"] * (len(names) - 1) + ["coast"])
    assert zoned.public_zones == (*[0] * (len(names) - 1), 1)
    secret = Sensitive(game.follower.nominal, dataset="permits", unit="kt", entry_names=names)
    release = PPSM(alpha=1.0, total_share=0.5).simulate(secret, zoned, seed=1)
    assert (release.noisy.zones, len(release.noisy.totals)) == (zoned.public_zones, 2)
    assert release.fidelity is not None
    assert release.fidelity.certified
    assert GameCoordination(game, unit="kt", zones=["all"] * len(names)).public_zones == ()


@pytest.mark.parametrize(
    "wrong", [["a"], "abc", b"abc", None, 5, [0, 0, 1], [["a"]] * 3, ["a", "", "b"], [None] * 3]
)
def test_zones_that_are_no_names_are_told_in_one_sentence(wrong: Any) -> None:
    with pytest.raises(InputError, match="the name of a zone for each entry, or none at all"):
        GameCoordination(permit_game(), unit="kt", zones=wrong)


def test_zones_with_labels_are_aligned_or_refused() -> None:
    """A mapping is not read as the list of its keys, nor a Series in its own order."""
    game = permit_game()
    steel, *others = game.follower.parameter_names
    zones = {**dict.fromkeys(reversed(others), "rest"), steel: "coast"}
    labelled: Any
    for labelled in (zones, pd.Series(zones)):
        assert GameCoordination(game, unit="kt", zones=labelled).public_zones == (0, 1, 1)
    with pytest.raises(InputError, match="the list of zones has other labels than expected"):
        GameCoordination(game, unit="kt", zones={**zones, "tin": "rest"})


@pytest.mark.parametrize("name", GAMES)
def test_exact_prices_lead_to_a_decision_that_is_consistent_with_them(name: str) -> None:
    """At the decision the original prices are still worth the follower's cost, up to 2 % of it."""
    game, coordination, _, _ = game_of(name)
    truth = game.follower.nominal
    original = coordination.clear(truth)
    assert original.prices is not None
    assert original.leader_cost is not None
    decision = coordination.decide(truth, original.prices)
    follower = coordination.follower_at(decision)
    value = follower.solve(truth).value
    assert value - dual_value(follower.at(truth), original.prices) <= 0.0201 * value
    assert decision.leader_cost is not None
    assert decision.leader_cost <= original.leader_cost * (1 + 1e-6)


@pytest.mark.parametrize("ends", [Status.PROVEN_OPTIMAL, Status.INCUMBENT])
def test_a_decision_says_whether_it_is_proven(
    towns: GameCoordination, ends: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that time cuts short leaves a decision, but not the best one."""
    monkeypatch.setattr(
        fixed_prices,
        "solve_mip_with_highs",
        lambda *given: replace(solve_mip_with_highs(*given), status=ends),
    )
    assert towns.decide(np.array(TRUTH), None).status is ends


def dual_value(program: LinearProgram, prices: FloatArray) -> float:
    """What a dual solution is worth: each price times the side it holds, each reduced cost likewise."""
    reduced = program.cost - program.matrix.T @ prices
    total = program.offset
    for slopes, lower, upper in (
        (prices, program.row_lower, program.row_upper),
        (reduced, program.column_lower, program.column_upper),
    ):
        side = np.where(slopes > 0, lower, upper)
        held = np.abs(slopes) > 1e-7
        total += float(slopes[held] @ side[held])
    return total


def test_a_price_row_without_decisions_does_not_make_the_leader_blind(towns: GameCoordination) -> None:
    """The promise says nothing about ``built`` once prices are constants; the market's rows do."""
    truth = np.array(TRUTH)
    prices = towns.clear(truth).prices
    assert towns.decide(truth, prices).felt.tolist() == [1.0]
    # at the price of dear supply in the east it is consistent to build nothing, which is cheaper
    assert towns.decide(truth, np.array([1.0, 3.0, -2.0])).felt.tolist() == [0.0]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_three_trades_through_the_same_interface(name: str, seed: int) -> None:
    game, coordination, secret, public = game_of(name)
    truth = game.follower.nominal
    original = coordination.clear(truth)
    for mechanism in (PPSM_p(alpha=2.0), PPSM(alpha=2.0)):
        release = mechanism.simulate(secret, coordination, public, seed=seed)
        result = release.fidelity
        assert result is not None
        assert result.certificate is not None
        assert result.certificate.faithful
        follower_value = original.values["follower"]
        assert result.value == pytest.approx(follower_value, rel=0.001 * result.widening * 1.001)
        figures = distances(truth, release)
        if figures.truth_in_bands:
            assert figures.l2_bound is not None
            assert figures.l2_released <= figures.l2_bound * (1 + 1e-9)
    # with both bands the released vector can be cleared
    assert coordination.clear(release.released.values).feasible


def test_freight_needs_the_price_band() -> None:
    """Noise upsets the even prices, the value band alone does not restore them, the price band does."""
    game, coordination, secret, public = game_of("freight")
    original = coordination.clear(game.follower.nominal)
    feasible = dict.fromkeys(MECHANISMS, 0)
    for seed in range(6):
        for mechanism in (Laplace(alpha=2.0), PPSM_p(alpha=2.0), PPSM(alpha=2.0)):
            released = mechanism.simulate(secret, coordination, public, seed=seed).released.values
            outcome = coordination.clear(released)
            feasible[mechanism.name] += outcome.feasible
            if isinstance(mechanism, PPSM):
                # The nearest faithful vector can lie where prices jump (demand equal to a capacity), so that
                # its last digit decides; a ten-millionth less is on the side where the prices stay.
                nearby = (outcome, coordination.clear(released * (1 - 1e-7)))
                errors = [cost_errors(original, each) for each in nearby]
                assert min(abs(each["leader"]) for each in errors if each is not None) < 1e-6
    assert feasible["ppsm"] == 6
    assert feasible["laplace"] < 6


def test_predictions_from_the_model_alone(towns: GameCoordination, secret: Sensitive) -> None:
    """Without any publication the release can at least be served, whatever the noise."""
    for seed in range(5):
        release = PPSM(alpha=50.0).simulate(secret, towns, ModelBased(), seed=seed)
        assert release.dossier.publication is None
        assert release.decision is not None
        follower = towns.follower_at(release.decision)
        assert follower.solve(release.released.values).status.has_answer


def test_cost_of_privacy_of_a_convex_leader() -> None:
    """A leader who must hold 2 $ per $ of the price in the east: prices that move by w cost it 2 w."""
    game = StackelbergGame(towns_market())
    held = game.leader.add_variables(lower=0, name="held")
    game.leader.add_constraints(held - 2 * game.price("east") >= 0, name="cover")
    game.leader.add_objective(1 * held)
    coordination = GameCoordination(game, unit="MWh")
    prices = np.array([1.0, 3.0, -2.0])
    decision = coordination.decide(np.array(TRUTH), prices)
    assert decision.felt.tolist() == pytest.approx([6.0])
    bands = Bands(None, 0.0, prices[:2], np.array([0.1, 0.1]))
    found = coordination.cost_of_privacy(decision, bands)
    assert not isinstance(found, str)
    # The price in the west is 1 up to its capacity, in the east 3 beyond the line's.
    assert found.highest == pytest.approx(6.2, abs=1e-3)
    assert found.lowest <= 6.0


@pytest.mark.parametrize(
    ("name", "has_upper_side"), [("permits", False), ("freight", True), ("water", False)]
)
def test_cost_of_privacy_encloses_the_original(name: str, has_upper_side: bool) -> None:
    """Permits: the leader sees answers. Water: the decision does not keep the price below the ceiling."""
    game, coordination, _, public = game_of(name)
    truth = game.follower.nominal
    decision = coordination.decide(truth, public.publication.result.prices)
    market = coordination.follower_at(decision).solve(truth)
    bands = Bands.relative(market.value, coordination.entry_prices(market.prices))
    original, found = coordination.clear(truth), coordination.cost_of_privacy(decision, bands)
    assert not isinstance(found, str)
    assert original.leader_cost is not None
    assert found.lowest <= original.leader_cost <= found.highest
    assert np.isfinite(found.highest) == has_upper_side


def test_a_game_without_any_decision_says_so() -> None:
    game = water_game()
    game.leader.add_constraints(game.leader.variables["open"].sum() >= 9, name="impossible")
    coordination = GameCoordination(game, unit="ML/day", bounds=(0, 100))
    # the leader's own rows are elastic; its bounds are not
    assert coordination.decide(game.follower.nominal, None).felt.sum() == pytest.approx(4)
    with pytest.raises(InputError, match="no outcome to publish"):
        coordination.market_result(game.follower.nominal)


@pytest.mark.parametrize(("kind", "bounded"), [("capacity", False), ("capacity", True), ("even", False)])
def test_noise_far_beyond_the_data_is_served_all_the_same(kind: str, bounded: bool) -> None:
    """It is charged for: 1e13 times the data, where the game's own numbers have no digits left beside it."""
    game = random_game(kind, 5)
    truth = game.follower.nominal
    market = GameCoordination(game, unit="MW", bounds=(0.0, 3.0 * truth if bounded else np.inf))
    secret = Sensitive(truth, dataset="d", unit="MW", entry_names=market.entry_names)
    for seed in range(2):
        release = PPSM_p(alpha=9e14).simulate(secret, market, seed=seed)
        lower, upper = market.public_bounds
        assert (release.released.values >= lower).all()
        assert (release.released.values <= upper).all()


def test_a_value_that_only_noise_explains_is_served_all_the_same() -> None:
    """Oil has no limit in the README's game: what it costs to burn so much is beyond what an entry may be."""
    market = GameCoordination(line_game(), unit="MW")
    secret = Sensitive([50.0], dataset="d", unit="MW", entry_names=market.entry_names)
    releases = [PPSM_p(alpha=9e14).simulate(secret, market, seed=seed) for seed in range(4)]
    values = [release.prediction.value for release in releases if release.prediction is not None]
    assert max(values) > LARGEST_ENTRY


def test_a_game_without_numbers_of_its_own_keeps_what_an_estimate_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All its bounds are zero or infinite: a cut at a multiple of them would leave nothing."""
    model = linopy.Model()
    line, oil = (model.add_variables(lower=0, name=name) for name in ("line", "oil"))
    model.add_constraints(line + oil == 0, name="demand")
    model.add_constraints(1 * line <= 0, name="limit")
    model.add_objective(10 * line + 30 * oil)
    game = StackelbergGame(Follower.from_linopy(model, parameter="demand"))
    built = game.leader.add_variables(binary=True, name="built")
    game.raise_right_hand_side("limit", 60 * built)
    game.leader.add_objective(40 * built)
    market = GameCoordination(game, unit="MW")
    seen: list[float] = []

    def fails_at_first(sides: Any, parameter_map: Any, public: fixed_prices.Public, prices: Any) -> Any:
        seen.append(float(public.demand[0]))
        if len(seen) == 1:
            raise SolverError("no digits are left.")
        return fixed_prices.decide_at_prices(sides, parameter_map, public, prices)

    monkeypatch.setattr(any_game, "decide_at_prices", fails_at_first)
    market.decide(np.array([4e12]), None)
    assert seen == [4e12, TUNING.far_numbers]


def test_an_estimate_beyond_its_bounds_counts_as_far_as_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[FloatArray] = []

    def noted(sides: Any, parameter_map: Any, public: fixed_prices.Public, prices: Any) -> Any:
        seen.append(public.demand)
        return fixed_prices.decide_at_prices(sides, parameter_map, public, prices)

    monkeypatch.setattr(any_game, "decide_at_prices", noted)
    market = GameCoordination(line_game(), unit="MW", bounds=(10.0, 60.0))
    decisions = [market.decide(np.array([demand]), None).felt.tolist() for demand in (1e9, 60.0, -5.0, 30.0)]
    assert [float(each[0]) for each in seen] == [60.0, 60.0, 10.0, 30.0]
    assert decisions[0] == decisions[1]
