"""The mechanism over gas-aware unit commitment, on the two-node case."""

import math
import signal
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ppsm import Sensitive, load_case
from ppsm.arrays import FloatArray
from ppsm.cases import Case
from ppsm.cases.stress import check_stress
from ppsm.coordinations import GaucCoordination
from ppsm.coordinations.unit_commitment import case_days
from ppsm.errors import InputError
from ppsm.fidelity import Bands
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.mechanism import PPSM, Laplace, ModelBased, Outcome, PPSM_p, PublicOutcome
from ppsm.owner.distances import cost_errors
from ppsm.privacy import simulated_publication
from tests.markets.small_games import steep_game

GAS_STRESS = 0.0


@pytest.fixture(scope="module")
def case() -> Case:
    return load_case("two_node")


@pytest.fixture(scope="module")
def game(case: Case) -> GaucCoordination:
    return GaucCoordination(case, case.power_stress[0], gap=1e-5, time_limit=10.0)


@pytest.fixture(scope="module")
def secret(case: Case, game: GaucCoordination) -> Sensitive:
    demand = case.demand_mwh(GAS_STRESS)
    return Sensitive(demand, dataset="two-node", unit=game.unit, entry_names=game.entry_names)


@pytest.fixture(scope="module")
def public(case: Case, game: GaucCoordination) -> PublicOutcome:
    figures = game.market_result(case.demand_mwh(GAS_STRESS))
    return PublicOutcome(simulated_publication(figures, dataset="two-node"), seed=2)


def test_zones_are_those_that_the_case_names(case: Case, game: GaucCoordination) -> None:
    assert game.public_zones == ()
    northeast = load_case("northeast")
    zones = GaucCoordination(northeast, 0.36).public_zones
    of_name = {delivery.zone: number for delivery, number in zip(northeast.deliveries, zones, strict=True)}
    assert of_name == {"coast": 0, "inland": 1, "new-england": 2}
    assert [northeast.deliveries[zones.index(zone)].zone for zone in range(3)] == list(of_name)


def test_clearing_is_gas_aware_unit_commitment(case: Case, game: GaucCoordination) -> None:
    outcome = game.clear(case.demand_mwh(GAS_STRESS))
    assert outcome.leader_cost == pytest.approx(15700.0)
    assert outcome.prices is not None
    assert outcome.prices.round(6).tolist() == [20.0, 20.0]
    assert set(outcome.values) == {"electricity", "gas"}


def test_a_decision_follows_the_predicted_prices(case: Case, game: GaucCoordination) -> None:
    demand = case.demand_mwh(GAS_STRESS)
    unaware = game.decide(demand, None)
    cheap = game.decide(demand, np.full(len(game.price_names), 1e-3))
    dear = game.decide(demand, np.full(len(game.price_names), 1e3))
    assert cheap.felt.tolist() == pytest.approx(unaware.felt.tolist())
    # no bid covers 1000 $/MWh: gas plants stand still, or the note says why they may not
    assert dear.felt.sum() < cheap.felt.sum() or dear.note
    assert dear.leader_cost is not None
    assert cheap.leader_cost is not None
    assert dear.leader_cost >= cheap.leader_cost


def test_decisions_do_not_depend_on_what_was_cleared_before(case: Case, game: GaucCoordination) -> None:
    prices = np.full(len(game.price_names), 20.0)
    demand = case.demand_mwh(GAS_STRESS)
    before = GaucCoordination(case, case.power_stress[0]).decide(demand, prices)
    busy = GaucCoordination(case, case.power_stress[0], time_limit=2.0)
    for factor in (0.5, 0.9, 1.05):
        busy.clear(factor * demand)
    assert busy.decide(demand, prices).felt.tolist() == before.felt.tolist()
    solved = busy.decisions_solved
    busy.decide(demand, prices)
    assert busy.decisions_solved == solved


def test_ctrl_c_during_a_clearing_is_raised(
    case: Case, game: GaucCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = game.solver.solve

    def interrupted(*given: Any, **named: Any) -> GaucSolution:
        with suppress(KeyboardInterrupt):  # the solver keeps its incumbent and returns
            signal.raise_signal(signal.SIGINT)
        return solve(*given, **named)

    monkeypatch.setattr(game.solver, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        game.clear(case.demand_mwh(GAS_STRESS))


def test_a_public_past_needs_no_proof_and_no_other_solver(case: Case) -> None:
    days = case_days(case, case.power_stress[0], days=20, seed=5)
    again = case_days(case, case.power_stress[0], days=20, seed=5)
    one, two = (each.released(alpha=10.0) for each in (days, again))
    assert np.array_equal(one.features, two.features)
    assert one.targets == pytest.approx(two.targets)
    # days are spread over the whole range of gas stress, here 0 to 1
    drawn = one.features.ravel() / case.demand_mwh(0.0)
    assert drawn.min() < 1.3
    assert drawn.max() > 1.5


def test_ppsm_keeps_the_market_going_where_noise_breaks_it(
    case: Case, game: GaucCoordination, secret: Sensitive, public: PublicOutcome
) -> None:
    original = game.clear(case.demand_mwh(GAS_STRESS))
    broken = 0
    for seed in range(8):
        plain = Laplace(alpha=1500.0).simulate(secret, game, seed=seed)
        broken += not game.clear(plain.released.values).feasible
        for mechanism in (PPSM_p(alpha=1500.0), PPSM(alpha=1500.0)):
            release = mechanism.process(plain.noisy, game, public)
            errors = cost_errors(original, game.clear(release.released.values))
            assert errors is not None
            assert abs(errors["leader"]) < 0.2
            assert abs(errors["gas"]) < 0.11
    assert broken >= 1


def test_the_model_alone_makes_a_noisy_demand_servable(game: GaucCoordination, secret: Sensitive) -> None:
    release = PPSM(alpha=1500.0).simulate(secret, game, ModelBased(), seed=3)
    assert release.noisy.values[0] < -1000.0
    assert release.released.values[0] >= 0.0
    assert game.clear(release.released.values).feasible


def test_cost_of_privacy_is_at_most_a_decision_that_stays_valid(
    case: Case, game: GaucCoordination, public: PublicOutcome
) -> None:
    result = public.publication.result
    decision = game.decide(case.demand_mwh(GAS_STRESS), result.prices)
    prices = game.entry_prices(result.prices)
    narrow = game.cost_of_privacy(decision, Bands(None, 0.0, prices, np.full(prices.size, 1e-3)))
    assert not isinstance(narrow, str)
    assert narrow.lowest == -math.inf
    assert narrow.highest == decision.leader_cost
    original = game.clear(case.demand_mwh(GAS_STRESS)).leader_cost
    assert original is not None
    assert original <= narrow.highest * (1 + 1e-3)
    wide = game.cost_of_privacy(decision, Bands())
    assert isinstance(wide, str)
    assert "invalid" in wide


def test_a_stress_outside_the_calibrated_range_is_refused(case: Case) -> None:
    with pytest.raises(InputError, match="the power stress is 7; expected a number from"):
        check_stress(case, 7.0, None)
    with pytest.raises(InputError, match=r"the gas stress is -0\.9"):
        check_stress(case, case.power_stress[0], -0.9)


def _steep(seed: int) -> tuple[GaucCoordination, FloatArray, Outcome]:
    """A steep game, its demand, and its outcome."""
    case, demand = steep_game(seed)
    game = GaucCoordination(case, 0.0, gap=1e-5)
    return game, demand, game.clear(demand)


@pytest.mark.parametrize("seed", [3, 18])
def test_a_cheaper_day_is_found_by_its_pattern_and_no_day_that_is_not_there(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, demand, there = _steep(seed)
    assert there.leader_cost is not None
    assert there.prices is not None
    monkeypatch.setattr("ppsm.coordinations.unit_commitment.can_enumerate", lambda followers: False)
    monkeypatch.setattr(game, "clear", lambda demand: pytest.fail("the game was cleared"))
    dearer = game.cheapest_day(demand, there.prices, 1.5 * there.leader_cost)
    assert dearer is not None
    assert dearer.bound is not None
    at_demand = dearer.bound.at(demand)
    assert at_demand is not None
    assert dearer.cost == pytest.approx(at_demand.cost)
    assert dearer.cost < 1.5 * there.leader_cost
    # The relaxation of tiny games is loose: below its own bound there is none for certain.
    patterns = game.solver.patterns.search(0.0, demand)
    assert patterns is not None
    patterns.run(lambda: math.inf)
    least = patterns.bound_usd * (1 - 1e-3)
    none = game.cheapest_day(demand, there.prices, least)
    assert none is not None
    assert (none.cost, none.bound) == (least, None)
    # A demand that nobody can serve has no day.
    assert game.cheapest_day(1e3 * demand, there.prices, least) is None


def test_small_cases_are_cleared_for_their_cheapest_day(case: Case, game: GaucCoordination) -> None:
    demand = case.demand_mwh(GAS_STRESS)
    day = game.cheapest_day(demand, np.empty(0), 0.0)
    assert day is not None
    assert day.cost == game.clear(demand).leader_cost


def test_a_game_without_memory_has_a_solver_that_saw_nothing(case: Case) -> None:
    game = GaucCoordination(case, case.power_stress[0], gap=1e-3, time_limit=7.0, proof=False)
    assert game.without_memory() is game
    game.clear(case.demand_mwh(GAS_STRESS))
    other = game.without_memory()
    assert other.solver is not game.solver
    assert game.without_memory() is other  # made once: a stream of days asks for it every day
    assert (other.gap, other.time_limit, other.proof) == (1e-3, 7.0, False)
    shared = GaucCoordination(case, case.power_stress[0], game.solver)
    assert shared.without_memory().solver is not game.solver
