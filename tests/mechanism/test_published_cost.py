"""What a published decision cost says about the demand: no cheaper day, no dearer one, nothing true lost."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import linopy
import numpy as np
import pytest

from ppsm import Follower, Sensitive, StackelbergGame, load_case
from ppsm.coordinations import GameCoordination, GaucCoordination
from ppsm.errors import SolverError
from ppsm.fidelity.problem import HalfSpaces
from ppsm.fidelity.restore import SamePrices
from ppsm.mechanism import PPSM, PPSM_p, PublicOutcome, published_cost
from ppsm.mechanism.coordination import Decision
from ppsm.mechanism.published_cost import (
    CostlyDecision,
    CostThere,
    Day,
    Days,
    KeptCost,
    LeastCost,
    half_spaces_that_keep,
    unrounded_prices,
)
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy import MarketResult, PublishedFigures, simulated_publication

TRUTH = np.array([6.0, 5.0])
BURN_WORTH = 3.0


def _two_wells(first: float = 2.0) -> Follower:
    """Two places without a pipe, in each 10 units at 2 and 10 at 5."""
    market = linopy.Model()
    for place in ("north", "south"):
        cheap = market.add_variables(lower=0, upper=10, name=f"cheap {place}")
        dear = market.add_variables(lower=0, upper=10, name=f"dear {place}")
        market.add_constraints(cheap + dear == 0, name=place)
        market.objective = market.objective + (first * cheap + 5 * dear)
    return Follower.from_linopy(market, parameter=["north", "south"])


def _game(*, maximise: bool = False) -> StackelbergGame:
    """The leader burns gas in the north, worth 3 a unit, as long as that leaves its price at 2."""
    game = StackelbergGame(_two_wells())
    burn = game.leader.add_variables(lower=0, upper=10, name="burn")
    game.raise_right_hand_side("north", burn)
    game.leader.add_constraints(game.price("north") <= 2.0, name="promise")
    if maximise:
        game.leader.add_objective(BURN_WORTH * burn, sense="max")
    else:
        game.leader.add_objective(-BURN_WORTH * burn)
    return game


def _public(market: GameCoordination) -> PublicOutcome:
    return PublicOutcome(simulated_publication(market.market_result(TRUTH), dataset="wells"), seed=1)


@pytest.fixture(scope="module", params=[False, True], ids=["cost", "profit"])
def market(request: pytest.FixtureRequest) -> GameCoordination:
    return GameCoordination(_game(maximise=request.param), unit="MWh")


def test_the_leader_holds_back_below_the_step(market: GameCoordination) -> None:
    outcome = market.clear(TRUTH)
    assert outcome.leader_cost is not None
    assert abs(outcome.leader_cost) == pytest.approx(4 * BURN_WORTH)


def test_the_bound_and_its_slope_by_hand(market: GameCoordination) -> None:
    # At a price of 2 the north has 10 units: the leader burns 10 - d, each worth 3.
    bound = market.least_cost_at(market.market_result(TRUTH).prices)
    assert bound is not None
    there = bound.at(np.array([7.0, 4.0]))
    assert there is not None
    assert there.cost == pytest.approx(-3 * BURN_WORTH)
    assert there.slope == pytest.approx([BURN_WORTH, 0.0])
    half_space = there.half_space(np.array([7.0, 4.0]), -4 * BURN_WORTH)
    assert half_space.missed(TRUTH) == pytest.approx(0.0, abs=1e-9)
    assert half_space.missed(np.array([5.0, 6.0])) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [PPSM, PPSM_p])
def test_what_is_released_keeps_the_published_cost(
    market: GameCoordination, kind: type[PPSM_p], seed: int
) -> None:
    # Value and prices fix the sum of both places only: without the cost, what is north is up to the noise.
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    release = kind(alpha=2.0).simulate(secret, market, _public(market), seed=seed)
    outcome = market.clear(release.released.values)
    assert outcome.leader_cost is not None
    assert abs(outcome.leader_cost) == pytest.approx(4 * BURN_WORTH, rel=2e-3)
    assert release.fidelity is not None
    assert release.fidelity.recertify().faithful


def test_without_the_cost_it_would_not_be_kept(
    market: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GameCoordination, "least_cost_at", lambda self, prices: None)
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    costs = []
    for seed in range(6):
        release = PPSM(alpha=2.0).simulate(secret, market, _public(market), seed=seed)
        assert [step.step for step in release.dossier.steps] == ["1", "2a", "2b", "3a", "3b"]
        costs.append(abs(market.clear(release.released.values).leader_cost or 0.0))
    assert max(abs(cost - 4 * BURN_WORTH) for cost in costs) > 1.0


def test_a_cost_that_cannot_be_kept_does_not_end_a_release(
    market: GameCoordination, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-spaces are a wish, and the noise is charged for by then."""

    def failing(game: GameCoordination, demand: np.ndarray, prices: np.ndarray, enough: float) -> None:
        raise SolverError("the game was not cleared.")

    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    monkeypatch.setattr(GameCoordination, "cheapest_day", failing)
    for seed in range(3):
        release = PPSM(alpha=2.0).simulate(secret, market, _public(market), seed=seed)
        assert release.fidelity is not None
        assert release.fidelity.recertify().faithful
        if release.decision is not None and release.decision.half_spaces is None:
            break
    else:
        pytest.fail("the game was never asked for its cheapest day")


def test_half_spaces_are_sent_with_the_decision(market: GameCoordination) -> None:
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    releases = [PPSM(alpha=2.0).simulate(secret, market, _public(market), seed=seed) for seed in range(6)]
    sent = [each.decision for each in releases if each.decision is not None and each.decision.half_spaces]
    assert sent
    for decision in sent:
        read = Decision.from_dict(decision.to_dict())
        assert read.half_spaces is not None
        assert decision.half_spaces is not None
        assert read.half_spaces.weights.tolist() == decision.half_spaces.weights.tolist()
        assert read.half_spaces.least.tolist() == decision.half_spaces.least.tolist()
    steps = [step.step for step in releases[0].dossier.steps]
    assert steps == ["1", "2a", "2b", "2c", "3a", "3b"]


def _rounded(result: MarketResult, *, value_step: float = 0.01, price_step: float = 0.01) -> MarketResult:
    steps = {"value_step": value_step, "price_step": price_step, "decision_step": 0.01}
    return PublishedFigures.rounded(result, day="2026-01-15", source="gazette", **steps).result


def _holding_back(first: float) -> GameCoordination:
    """As above, with another cost of the first units."""
    game = StackelbergGame(_two_wells(first))
    burn = game.leader.add_variables(lower=0, upper=10, name="burn")
    game.raise_right_hand_side("north", burn)
    game.leader.add_constraints(game.price("north") <= 2.5, name="promise")
    game.leader.add_objective(-BURN_WORTH * burn)
    return GameCoordination(game, unit="MWh")


def test_rounded_prices_are_those_of_who_sets_them() -> None:
    market = _holding_back(2.344)
    published = _rounded(market.market_result(TRUTH))
    assert published.price_step == 0.01
    assert MarketResult.from_dict(published.to_dict()).price_step == 0.01
    assert published.prices == pytest.approx([2.34, 2.34])
    assert unrounded_prices(published, _two_wells(2.344)) == pytest.approx([2.344, 2.344], abs=1e-9)
    # Nobody sets a price within the rounding: it stays.
    assert unrounded_prices(published, _two_wells(2.3)) == pytest.approx([2.34, 2.34], abs=1e-9)


@pytest.mark.parametrize("kind", [PPSM, PPSM_p])
def test_rounded_figures_keep_the_cost_as_well(kind: type[PPSM_p]) -> None:
    # A price band of 0.1 % around 2.34 does not have 2.344: PPSM widens it, and keeps the cost in that.
    market = _holding_back(2.344)
    publication = simulated_publication(_rounded(market.market_result(TRUTH)), dataset="wells")
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    release = kind(alpha=2.0).simulate(secret, market, PublicOutcome(publication, seed=1), seed=1)
    assert market.clear(release.released.values).leader_cost == pytest.approx(-4 * BURN_WORTH, rel=2e-3)
    assert release.fidelity is not None
    assert release.fidelity.recertify().faithful
    if kind is PPSM:
        assert release.fidelity.widening == pytest.approx(0.004 / 0.00234, rel=1e-2)


def test_a_rounded_cost_that_no_demand_has_is_no_half_space() -> None:
    # The leader pays the price alone: 3 x 2.344 and 1 are 8.032 whatever the demand, 8 is published.
    game = StackelbergGame(_two_wells(2.344))
    burn = game.leader.add_variables(lower=1, upper=10, name="burn")
    game.raise_right_hand_side("north", burn)
    game.leader.add_objective(3.0 * game.price("north") + burn)
    market = GameCoordination(game, unit="MWh")
    published = _rounded(market.market_result(TRUTH), value_step=1.0, price_step=0.001)
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    predictor = PublicOutcome(simulated_publication(published, dataset="wells"), seed=1)
    release = PPSM_p(alpha=2.0).simulate(secret, market, predictor, seed=1)
    assert release.decision is not None
    assert release.decision.half_spaces is None


@pytest.fixture(scope="module")
def gas_aware() -> GaucCoordination:
    case = load_case("two_node")
    return GaucCoordination(case, case.power_stress[0], gap=1e-5, time_limit=10.0)


def _demands(game: GaucCoordination) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(91)
    for stress in (0.0, 0.3, 0.6):
        demand = game.case.demand_mwh(stress)
        yield demand
        yield demand * rng.uniform(0.9, 1.1, demand.size)


def test_no_answer_of_the_game_is_below_the_bound_at_its_prices(gas_aware: GaucCoordination) -> None:
    seen = 0
    for demand in _demands(gas_aware):
        outcome = gas_aware.clear(demand)
        if outcome.prices is None or outcome.leader_cost is None:
            continue
        there = gas_aware.least_cost_at(outcome.prices).at(demand)
        assert there is not None
        assert there.cost <= outcome.leader_cost * (1 + 1e-7)
        seen += 1
    assert seen >= 3


def test_slopes_are_tangents_of_a_convex_bound(gas_aware: GaucCoordination) -> None:
    outcome = gas_aware.clear(gas_aware.case.demand_mwh(0.3))
    assert outcome.prices is not None
    bound: LeastCost = gas_aware.least_cost_at(outcome.prices)
    found: list[tuple[np.ndarray, CostThere]] = []
    for demand in _demands(gas_aware):
        there = bound.at(demand)
        if there is not None:
            found.append((demand, there))
    assert len(found) >= 3
    for at, here in found:
        for other, there in found:
            tangent = here.cost + float(here.slope @ (other - at))
            assert there.cost >= tangent - 1e-6 * abs(tangent)


@pytest.mark.parametrize("seed", range(4))
def test_a_rounded_cost_does_not_rule_the_truth_out(market: GameCoordination, seed: int) -> None:
    # 12 is published as 10, to the next 5: anything from 7.5 to 12.5 may have been meant.
    exact = market.market_result(TRUTH)
    figures = PublishedFigures.rounded(
        exact, day="2026-01-15", source="gazette", value_step=5.0, price_step=0.01, decision_step=0.01
    )
    assert abs(figures.result.leader_cost) == 10.0
    assert MarketResult.from_dict(figures.result.to_dict()).value_step == 5.0
    public = PublicOutcome(simulated_publication(figures.result, dataset="wells"), seed=1)
    secret = Sensitive(TRUTH, dataset="wells", unit="MWh", entry_names=market.entry_names)
    release = PPSM_p(alpha=2.0, eta_p=0.5).simulate(secret, market, public, seed=seed)
    assert release.decision is not None
    asked = release.decision.half_spaces
    assert asked is None or asked.missed(TRUTH) <= 1e-6


@pytest.mark.parametrize(
    ("costs", "kept"),
    [
        # Published are 10: the second half-space comes nearest, and others after it lose that again.
        ([5.0, 8.0, 9.5, 7.0], 2),
        ([5.0, 10.5, 8.0], 1),
        ([9.9, 5.0, 4.0], 0),
        ([5.0, 8.0, 10.0], 2),
        ([None, 8.0], 1),
        # What was not looked at says nothing.
        ([5.0, "unseen", 6.0], 2),
        (["unseen", "unseen", 4.0], 2),
    ],
)
def test_the_half_spaces_that_come_nearest_are_kept(
    costs: list[float | str | None], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-space k asks for k; the cheapest day on the vector k, its release, costs what the list says."""

    class Nearest:
        def nearest(self, half_spaces: HalfSpaces | None) -> np.ndarray:
            return np.zeros(1) if half_spaces is None else half_spaces.least

        def first(self, half_spaces: HalfSpaces) -> None:
            pytest.fail("every step is scripted")

        def at_published_prices(self, half_spaces: HalfSpaces | None) -> None:
            pytest.fail("every step is scripted")

    def cheapest(demand: np.ndarray, enough: float) -> Day | None:
        del enough
        cost = costs[int(demand[0])]
        assert cost != "unseen"
        return None if cost is None else Day(float(cost), None)

    def step(
        decision: CostlyDecision, vectors: Nearest, days: Days, standing: published_cost._Standing
    ) -> published_cost._Standing | None:
        if costs[int(standing.vector[0])] != "unseen":
            days._day(decision, standing.vector)
        number = standing.vector + 1.0
        if number[0] >= len(costs):
            return None
        return published_cost._Standing(HalfSpaces(np.ones(1), number), number, is_final=True)

    monkeypatch.setattr(published_cost, "_better", step)
    days = Days(cheapest, _NoBound())
    found = half_spaces_that_keep(CostlyDecision(np.zeros(1), 10.0), Nearest(), days)
    assert (0 if found is None else int(found.least[0])) == kept


@pytest.mark.parametrize("seconds", [60.0, -1.0])
def test_what_rounds_that_run_out_leave_is_made_final_and_judged(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every vector needs one half-space more, and its search is never begun before the rounds are over."""
    monkeypatch.setattr(published_cost, "TUNING", replace(TUNING, cost_search_seconds=seconds))

    class Endless:
        def nearest(self, half_spaces: HalfSpaces | None) -> np.ndarray:
            return np.zeros(1) if half_spaces is None else half_spaces.least

        def first(self, half_spaces: HalfSpaces) -> np.ndarray:
            return half_spaces.least

        def at_published_prices(self, half_spaces: HalfSpaces | None) -> SamePrices:
            return _nearest(self.nearest(half_spaces))

    class OneMore(Days):
        def needed(self, kept: KeptCost, released: np.ndarray, *, is_final: bool) -> Iterator[HalfSpaces]:
            yield HalfSpaces(np.ones(1), np.ones(1))

    looked_at = []

    def cheapest(demand: np.ndarray, enough: float) -> Day:
        looked_at.append(demand.size)
        return Day(10.0, None)

    found = half_spaces_that_keep(CostlyDecision(np.zeros(1), 10.0), Endless(), OneMore(cheapest, _NoBound()))
    # Without any time it is the vector without half-spaces that is judged.
    assert (0 if found is None else found.least.size) == (TUNING.cost_rounds if seconds > 0.0 else 0)
    assert len(looked_at) == 1


class _Bowl:
    """A cost that is the square of the distance from nowhere."""

    sign = 1.0

    def at(self, demand: np.ndarray) -> CostThere:
        return CostThere(float(demand @ demand), 2.0 * demand)

    def directions(self, felt: np.ndarray) -> Iterator[np.ndarray]:
        yield from (felt,)


def test_a_ceiling_touches_the_vectors_that_it_keeps() -> None:
    """Of a released vector far out one tangent is not enough: a round of step 3b for each is too many."""
    released, near = np.array([30.0, 40.0]), np.array([0.3, 0.4])
    kept = KeptCost(CostlyDecision(near, 1.0), _nearest(near))
    found = kept.ceiling(_Bowl(), released)
    assert found is not None
    for angle in np.linspace(0.0, 6.2, 50):
        assert found.missed(np.array([np.cos(angle), np.sin(angle)])) <= 1e-9  # all that cost 1 are kept
    assert found.missed(np.array([0.9, 1.2])) > 0.1  # the first tangent alone would keep what costs 625
    # Where even the nearest vector at the published prices is too dear, its tangent is added.
    both = KeptCost(CostlyDecision(near, 0.01), _nearest(near)).ceiling(_Bowl(), released)
    assert both is not None
    assert both.least.size == 2
    assert kept.ceiling(_Bowl(), near) is None


@pytest.mark.parametrize("goal", [1.0, 100.0, 2400.0])
def test_the_way_down_ends_at_or_above_the_goal_after_a_few_bounds(goal: float) -> None:
    """By Newton's method from above, which no convex cost undershoots."""

    class Counted(_Bowl):
        asked = 0

        def at(self, demand: np.ndarray) -> CostThere:
            self.asked += 1
            return super().at(demand)

    bowl, top, below = Counted(), np.array([30.0, 40.0]), np.array([0.3, 0.4])
    kept = KeptCost(CostlyDecision(below, goal, rounding=0.05 * goal), _nearest(below))
    hill = published_cost._Hill(below, top, _Bowl().at(top))
    place, there = kept._down_to(goal, bowl, hill)
    assert goal <= there.cost <= 1.05 * goal
    assert there.cost == pytest.approx(float(place @ place))
    assert bowl.asked <= 8


def test_a_much_cheaper_day_behind_one_that_cannot_be_kept_out_is_found() -> None:
    """Nothing faithful makes the first day dearer; the next one, which is cheaper still, something does."""

    class Flat(_Bowl):
        def at(self, demand: np.ndarray) -> CostThere:
            return CostThere(99.0, np.zeros(2))

    near, top = np.array([0.3, 0.4]), np.array([3.0, 4.0])
    prices = cast("SamePrices", SimpleNamespace(nearest=near, farthest=lambda direction: top))
    asked: list[float] = []

    def cheapest(demand: np.ndarray, enough: float) -> Day:
        asked.append(enough)
        if enough > 99.0:
            return Day(99.0, Flat())
        return Day(0.25, _Bowl()) if enough > 0.25 else Day(enough, None)

    kept = KeptCost(CostlyDecision(near, 100.0), prices)
    days = Days(cheapest, _NoBound())
    found = list(days.needed(kept, near, is_final=True))
    assert asked[0] > 99.0 > asked[1]
    assert [each is not None for each in found] == [False, False, False, True]
    assert found[3] is not None
    assert found[3].missed(near) > 0.0
    assert days.off(kept.decision, near, look=False) == pytest.approx(99.75)
    assert list(days.needed(kept, near, is_final=False)) == [
        None,
        None,
    ]  # no day of a vector that is not final


def test_climbs_end_at_a_height_that_two_ways_reach() -> None:
    class Valley(_Bowl):
        asked = 0

        def directions(self, felt: np.ndarray) -> Iterator[np.ndarray]:
            for turn in range(9):
                self.asked += 1
                yield felt + turn

    valley, near, top = Valley(), np.array([0.3, 0.4]), np.array([3.0, 4.0])
    prices = cast("SamePrices", SimpleNamespace(nearest=near, farthest=lambda direction: top))
    found = KeptCost(CostlyDecision(near, 100.0), prices).floor(valley, near)
    assert found is not None
    assert found.missed(near) > 0.0
    assert valley.asked == 1  # uphill and one other way end at the same height


def _nearest(vector: np.ndarray) -> SamePrices:
    return cast("SamePrices", SimpleNamespace(nearest=vector))


class _NoBound:
    """Of a leader who minimises."""

    sign = 1.0

    def at(self, demand: np.ndarray) -> None:
        del demand

    def directions(self, felt: np.ndarray) -> Iterator[np.ndarray]:
        del felt
        yield from ()
