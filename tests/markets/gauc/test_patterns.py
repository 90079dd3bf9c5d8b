"""Price patterns: areas are the gas market where pressures are free; cuts and bounds hold."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.markets.small_games import small_game, steep_game

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case
from ppsm.markets.gauc import by_patterns
from ppsm.markets.gauc.areas import AreaMarket, GasAreas
from ppsm.markets.gauc.by_patterns import PricePatterns
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PatternProgram, PriceSteps, root_box
from ppsm.markets.gauc.pressure import PressureCheck
from ppsm.markets.gauc.relaxation import AskedLevels, PlaceMap, PowerRelaxation
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.tuning import TUNING
from ppsm.solvers.highs import PersistentLp
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status


def unlimited() -> float:
    return math.inf


def area_market(followers: Followers) -> AreaMarket:
    return AreaMarket(GasAreas.of(followers.case, np.zeros(len(followers.case.junctions), dtype=bool)))


@pytest.mark.parametrize("seed", range(12))
def test_all_prices_rise_with_every_withdrawal(seed: int) -> None:
    case, demand = steep_game(seed)
    followers = Followers(case)
    market = area_market(followers)
    draw = np.random.default_rng(seed)
    withdrawal = followers.gas.market.withdrawal_mwh(demand)
    compared = 0
    for _ in range(20):
        less = market.areas.gathered(withdrawal * draw.uniform(0.2, 1.0))
        assert less is not None
        more = less * draw.uniform(1.0, 1.5, less.size)
        low, high = market.least_prices(less), market.least_prices(more)
        if low is None:
            assert high is None
        elif high is not None:
            assert (low <= high + 1e-9).all()
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("seed", range(8))
def test_no_bound_of_patterns_is_above_the_optimum_and_no_answer_below(seed: int) -> None:
    case, demand = steep_game(seed)
    solver = GasAwareCommitment(case)
    best = solver.solve(0.0, demand, gap=1e-6)
    patterns = PricePatterns(solver.followers)
    search = patterns.search(0.0, demand)
    assert search is not None
    search.run(unlimited)
    valid: list[float] = []

    def offer(power: PowerAnswer) -> bool:
        answer = solver.followers.game_answer(power, demand)
        if answer is None or answer.invalid:
            return False
        valid.append(power.leader_cost_usd)
        return True

    search.plan(1e-4, unlimited, offer, lambda bound: 0.0 if valid and min(valid) <= bound else math.inf)
    if best.leader_cost_usd is None:
        assert not valid
        return
    cost = best.leader_cost_usd
    assert min(valid, default=math.inf) >= cost * (1 - 1e-6)
    if patterns.pressures_are_free(0.0, demand, cost * 1.001, unlimited):
        assert search.bound_usd <= cost * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_cuts_hold_for_every_commitment(seed: int) -> None:
    case, demand = small_game(seed)
    followers = Followers(case)
    areas = GasAreas.of(case, np.zeros(len(case.junctions), dtype=bool))
    relaxation = PowerRelaxation(followers, 0.0, areas)
    withdrawal = areas.gathered(followers.gas.market.withdrawal_mwh(demand))
    assert withdrawal is not None
    draw = np.random.default_rng(seed)
    everything = np.zeros(areas.width), areas.upper_mwh()
    cuts = []
    for _ in range(6):
        asked = draw.random(relaxation.asked.link.size) < 0.4
        relaxed = relaxation.solve(withdrawal * draw.uniform(0.3, 1.5), asked, everything)
        if relaxed is not None:
            cuts.append(relaxed.cut)
    assert cuts
    places = PlaceMap(followers)
    commitments = 0
    for _ in range(12):
        levels = draw.integers(0, followers.levels.blocks + 1)
        program = followers.commitment.at(0.0, followers.levels.least_at(levels))
        found = followers.commitment.solve(program, SolveLimits(gap=1e-6))
        if found.columns is None or found.objective_usd is None:
            continue
        commitments += 1
        burn: FloatArray = places.burn @ found.columns
        asked = relaxation.asked.level <= levels[relaxation.asked.link]
        for cut in cuts:
            bound = cut.constant_usd - cut.price_usd_per_mwh @ burn + cut.weight_usd @ asked
            assert found.objective_usd >= bound - 1e-6 * abs(found.objective_usd) - 1e-3
    assert commitments > 0


def test_gas_that_is_missed_is_no_cost_of_power() -> None:
    """Without any supply all gas is missed, at a price that is none: what is learned of power alone holds."""
    case = load_case("two_node")
    areas = GasAreas.of(case, np.zeros(len(case.junctions), dtype=bool))
    followers = Followers(case)
    relaxation = PowerRelaxation(followers, 0.0, areas)
    withdrawal = areas.gathered(followers.gas.market.withdrawal_mwh(case.demand_mwh(0.0)))
    assert withdrawal is not None
    nothing, asked = np.zeros(areas.width), np.zeros(relaxation.asked.link.size, dtype=bool)
    served = relaxation.solve(withdrawal, asked, (nothing, areas.upper_mwh()))
    missed = relaxation.solve(withdrawal, asked, (nothing, nothing))
    assert served is not None
    assert missed is not None
    assert (served.is_served, missed.is_served) == (True, False)
    cut = missed.cut
    bound = cut.constant_usd - cut.price_usd_per_mwh @ served.burn_mwh + cut.weight_usd @ asked
    assert bound <= served.bound_usd + 1e-6 * abs(served.bound_usd)
    # what is missed is paid for in the bound all the same
    assert missed.bound_usd > served.bound_usd


@pytest.mark.parametrize("seed", range(8))
def test_where_pressures_are_free_the_areas_are_the_market(seed: int) -> None:
    case, demand = steep_game(seed)
    solver = GasAwareCommitment(case)
    followers = solver.followers
    best = solver.solve(0.0, demand, gap=1e-6)
    if best.leader_cost_usd is None or best.burn_mwh is None:
        return
    patterns = PricePatterns(followers)
    assert patterns.search(0.0, demand) is not None
    if not patterns.pressures_are_free(0.0, demand, best.leader_cost_usd * 1.0001, unlimited):
        return
    market = area_market(followers)
    withdrawal = followers.gas.market.withdrawal_mwh(demand, best.burn_mwh)
    gathered = market.areas.gathered(withdrawal)
    assert gathered is not None
    day = followers.gas.clear(withdrawal)
    assert day is not None
    assert day.cost_usd == pytest.approx(_cost(market, gathered), rel=1e-6)


def _cost(market: AreaMarket, withdrawal: FloatArray) -> float:
    """The value of the market of areas, from its dual: withdrawals at prices less what limits are worth."""
    prices = market.least_prices(withdrawal)
    assert prices is not None
    areas = market.areas
    rent = np.maximum(prices[areas.supply_area] - areas.supply_usd_per_mwh, 0.0) @ areas.supply_mwh
    limited = ~areas.is_free
    price_of = np.maximum(prices[areas.downstream] - prices[areas.upstream], 0.0)[limited]
    return float(prices @ withdrawal - rent - price_of @ areas.capacity_mwh[limited])


@pytest.mark.parametrize("seed", [3, 18, 25])
def test_a_bound_that_is_too_high_is_not_confirmed(seed: int) -> None:
    case, demand = steep_game(seed)
    search = PricePatterns(Followers(case)).search(0.0, demand)
    assert search is not None
    search.run(unlimited)
    assert search.is_confirmed(unlimited)
    search._search.bound_usd *= 1.5
    assert not search.is_confirmed(unlimited)


def test_gas_that_is_given_may_need_a_burn_to_take_it() -> None:
    case, demand = steep_game(3)
    followers = Followers(case)
    market = area_market(followers)
    relaxation = PowerRelaxation(followers, 0.0, market.areas)
    withdrawal = market.areas.gathered(followers.gas.market.withdrawal_mwh(demand))
    assert withdrawal is not None
    steps = PriceSteps.of(market.areas, relaxation.asked)
    burn = BurnBox(
        np.zeros(relaxation.area_of_place.size), np.ones(relaxation.area_of_place.size), (0.0, 9.0)
    )
    withdrawal[0] = -1e6
    box = root_box(market, steps, withdrawal, burn, relaxation.area_of_place)
    assert box is not None
    assert not box.lowest.any()
    withdrawal[0] = 1e6
    assert root_box(market, steps, withdrawal, burn, relaxation.area_of_place) is None


def test_flows_round_in_a_circle_are_no_proof() -> None:
    """Without a limit they are unbounded, which must not pass as a box without prices."""
    case = load_case("two_node")
    (pipe,) = case.pipes
    back = replace(pipe, pipe="back", from_junction=pipe.to_junction, to_junction=pipe.from_junction)
    followers = Followers(replace(case, pipes=(pipe, back)))
    areas = GasAreas.of(followers.case, np.zeros(len(case.junctions), dtype=bool))
    places = PlaceMap(followers)
    steps = PriceSteps.of(areas, AskedLevels.of(followers))
    classes = np.zeros(areas.count, dtype=np.int64)
    box = PatternBox(classes, np.full(areas.count, steps.prices_usd_per_mwh.size))
    burn = BurnBox(np.zeros(places.junctions.size), np.full(places.junctions.size, 10.0), (0.0, 10.0))
    withdrawal = followers.gas.market.withdrawal_mwh(case.demand_mwh(0.0))
    check = PressureCheck(followers.gas.market, places)
    flows = check._largest_flows(check._transport_in(areas, steps, withdrawal, burn, box), unlimited)
    assert flows is not None
    assert np.isfinite(flows).all()
    assert flows.max() == pytest.approx(areas.supply_mwh.sum(), rel=1e-6)


def test_counting_prices_by_fewer_steps_asks_for_less() -> None:
    every = PriceSteps(np.array([10.0, 20.0, 30.0, 40.0, 50.0]), np.arange(6), np.array([1, 2, 3, 5, 6]))
    whole = every.only(np.arange(1, every.count + 1))
    assert np.array_equal(whole.supply_class, every.supply_class)
    assert np.array_equal(whole.asked_at, every.asked_at)
    kept = np.arange(2, every.count + 1, 2)
    some = every.only(kept)
    prices = np.linspace(0.0, 1.2 * every.prices_usd_per_mwh.max(), 40)
    for fine, coarse in zip(every.classes(prices), some.classes(prices), strict=True):
        assert coarse == (kept <= fine).sum()
        # a level that the coarse classes ask for is asked for by the fine ones, not the other way round
        assert (every.asked_at[some.asked_at <= coarse] <= fine).all()
    assert (some.asked_at <= kept.size).sum() <= (every.asked_at <= every.count).sum()


@pytest.mark.parametrize("seed", [3, 18])
def test_a_demand_after_others_gets_the_same_bound_from_their_cuts_and_steps(seed: int) -> None:
    case, demand = steep_game(seed)
    followers = Followers(case)
    fresh, used = PricePatterns(followers), PricePatterns(followers)
    bounds = []
    for patterns, before in ((fresh, ()), (used, (0.8, 1.1, 0.95))):
        for share in (*before, 1.0):
            search = patterns.search(0.0, share * demand)
            assert search is not None
            search.run(unlimited)
        assert search is not None
        bounds.append(search.bound_usd)
    assert bounds[1] == pytest.approx(bounds[0], rel=5e-4)


@pytest.mark.parametrize("seed", range(10))
def test_a_search_without_a_limit_closes_what_it_opened(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the solver stops as soon as it may, at the end the bound is the cheapest pattern's cost."""
    found = PatternProgram.cheapest_pattern

    def lazy(
        program: PatternProgram, target: float, gap: float, seconds: float, **path: bool
    ) -> tuple[float, PatternBox | None]:
        bound, pattern = found(program, target, gap, seconds, **path)
        return (bound if pattern is None else bound * (1 - gap)), pattern

    monkeypatch.setattr(PatternProgram, "cheapest_pattern", lazy)
    case, demand = steep_game(seed)
    patterns = PricePatterns(Followers(case))
    for share in (0.8, 1.1, 0.95, 1.0):
        search = patterns.search(0.0, share * demand)
        if search is None:
            continue
        search.run(unlimited)
        for cheapest in search._search.cheapest(1):
            assert search.bound_usd >= cheapest.relaxed.bound_usd * (1 - 3e-4)


def test_a_refuted_bound_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """One path of the solver sees no pattern at all: the other refutes it and is gone on with."""
    found = PatternProgram.cheapest_pattern

    def blind(
        program: PatternProgram, target: float, gap: float, seconds: float, *, another_path: bool = False
    ) -> tuple[float, PatternBox | None]:
        return found(program, target, gap, seconds, another_path=True) if another_path else (math.inf, None)

    refuted = 0
    for seed in range(12):
        case, demand = steep_game(seed)
        honest = PricePatterns(Followers(case)).search(0.0, demand)
        assert honest is not None
        honest.run(unlimited)
        with monkeypatch.context() as patch:
            patch.setattr(PatternProgram, "cheapest_pattern", blind)
            search = PricePatterns(Followers(case)).search(0.0, demand)
            assert search is not None
            search.run(unlimited)
            if search.bound_usd <= honest.bound_usd * (1 + 2e-4):
                continue
            assert not search.is_confirmed(unlimited)
            assert search.is_refuted
            refuted += 1
            search.run(unlimited)
            assert search.is_confirmed(unlimited)
        assert search.bound_usd == pytest.approx(honest.bound_usd, rel=3e-4)
    assert refuted > 0


def test_near_classes_are_a_part_of_a_box() -> None:
    box = PatternBox(np.array([0, 2, 5]), np.array([6, 4, 6]))
    part = box.near(np.array([3, 9, 0]), 1)
    assert (part.lowest.tolist(), part.highest.tolist()) == ([2, 4, 5], [4, 4, 5])


@pytest.mark.parametrize("seed", range(6))
def test_patterns_near_prices_are_patterns(seed: int) -> None:
    """Looking near some prices alone finds no pattern that is cheaper than the cheapest of all."""
    case, demand = steep_game(seed)
    solver = GasAwareCommitment(case)
    prices = solver.solve(0.0, demand, gap=1e-5).gas_prices_usd_per_mwh
    everywhere, near = solver.patterns.search(0.0, demand), solver.patterns.search(0.0, demand)
    assert everywhere is not None
    assert near is not None
    if prices is None:
        return
    everywhere.run(unlimited)
    near.look_below(2.0 * everywhere.bound_usd)
    found = near.cheaper_near(prices, unlimited)
    assert found is not None
    assert found.relaxed.bound_usd >= everywhere.bound_usd * (1 - 2e-4)
    limits = near.limits_of(found.box)
    assert limits.relaxation is solver.patterns.relaxation(0.0)


def test_a_look_near_prices_ends_after_so_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the clock: of a target that nothing is below each reach has all its turns."""
    case, demand = steep_game(1)
    solver = GasAwareCommitment(case)
    prices = np.full(len(case.junctions), 20.0)
    taken = []
    for turns in (0, 1, 30):
        monkeypatch.setattr("ppsm.markets.gauc.by_patterns.TUNING", replace(TUNING, turns_near=turns))
        search = PricePatterns(solver.followers).search(0.0, demand)
        assert search is not None
        search.look_below(1e-3)
        assert search.cheaper_near(prices, unlimited) is None
        taken.append(search._search.turns)
    assert taken[0] == 0 < taken[1]
    assert taken[1] <= 1 <= taken[2] <= 30


def test_networks_that_noise_makes_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppsm.markets.gauc.by_patterns.TUNING", replace(TUNING, networks_kept=2))
    followers, demand, given = of_both_signs(3)
    patterns = PricePatterns(followers)
    for stress, asked in ((0.0, demand), (0.0, given), (0.0, demand), (0.1, demand)):
        search = patterns.search(stress, asked)
        assert search is not None
        search.run(unlimited)
    # the one unused for longest went, what was learned of its power stress did not
    assert [stress for stress, _ in patterns._kept] == [0.0, 0.1]
    assert patterns.learned(0.0)


def test_coefficients_of_cuts_stay_small() -> None:
    """A million beside a one makes HiGHS call poor patterns optimal: rows are in k$."""
    followers = Followers(load_case("northeast"))
    areas = GasAreas.of(followers.case, np.zeros(len(followers.case.junctions), dtype=bool))
    relaxation = PowerRelaxation(followers, 0.3, areas)
    withdrawal = areas.gathered(followers.gas.market.withdrawal_mwh(followers.case.demand_mwh(1.3)))
    assert withdrawal is not None
    asked = np.ones(relaxation.asked.link.size, dtype=bool)  # every plant off, which the load does not allow
    relaxed = relaxation.solve(withdrawal, asked, (np.zeros(areas.width), areas.upper_mwh()))
    assert relaxed is not None
    assert not relaxed.is_served
    assert 1e4 < relaxed.cut.weight_usd.max() / 1e3 < 1e6


def of_both_signs(seed: int) -> tuple[Followers, FloatArray, FloatArray]:
    """A demand, and one whose last entry gives a little gas, which parts the network otherwise."""
    case, demand = steep_game(seed)
    given = demand.copy()
    given[-1] *= -0.05
    return Followers(case), demand, given


@pytest.mark.parametrize("seed", [0, 5])
def test_cuts_and_steps_of_one_network_hold_in_another(seed: int) -> None:
    followers, demand, given = of_both_signs(seed)
    relaxations, points = [], []
    draw = np.random.default_rng(seed)
    for each in (demand, given):
        withdrawal = followers.gas.market.withdrawal_mwh(each)
        areas = GasAreas.of(followers.case, withdrawal < 0)
        relaxation = PowerRelaxation(followers, 0.0, areas)
        relaxations.append(relaxation)
        gathered = areas.gathered(withdrawal)
        assert gathered is not None
        for _ in range(4):
            asked = draw.random(relaxation.asked.link.size) < 0.3
            relaxed = relaxation.solve(gathered, asked, (np.zeros(areas.width), areas.upper_mwh()))
            if relaxed is not None:
                points.append((relaxed.burn_mwh, asked, relaxed.cut))
    one, other = (PriceSteps.of(each.areas, each.asked) for each in relaxations)
    assert relaxations[0].areas.count < relaxations[1].areas.count
    assert np.array_equal(one.prices_usd_per_mwh, other.prices_usd_per_mwh)
    assert np.array_equal(one.supply_class, other.supply_class)
    assert np.array_equal(one.asked_at, other.asked_at)
    for burn, asked, mine in points:
        said = [
            cut.constant_usd - cut.price_usd_per_mwh @ burn + cut.weight_usd @ asked for _, _, cut in points
        ]
        # at its own point a cut is exact
        exact = mine.constant_usd - mine.price_usd_per_mwh @ burn + mine.weight_usd @ asked
        assert max(said) <= exact + 1e-6 * abs(exact)


@pytest.mark.parametrize("seed", [5])
def test_demands_of_both_signs_share_cuts_and_keep_their_bounds(seed: int) -> None:
    followers, demand, given = of_both_signs(seed)
    shared = PricePatterns(followers)
    for each in (demand, given, demand):
        bounds = []
        for patterns in (shared, PricePatterns(followers)):
            search = patterns.search(0.0, each)
            assert search is not None
            search.run(unlimited)
            bounds.append(search.bound_usd)
        assert bounds[0] == pytest.approx(bounds[1], rel=5e-4)
    assert len(shared._kept) == 2
    assert len(shared._learned) == 1


def _full_pipe() -> Case:
    """Two nodes whose pipe carries 1,000 MWh at any pressures; beyond that the city's gas costs 30 $/MWh."""
    case = load_case("two_node")
    return replace(case, pipes=(replace(case.pipes[0], capacity_mwh=1000.0),))


@pytest.mark.parametrize(
    ("power_stress", "demand_mwh", "has_none"),
    [
        # Up to 180 MW others can do without gas.
        (0.0, 1400.0, False),
        # At 240 MW the plant is needed, and gas at 20 $/MWh is covered by its second bid.
        (0.6, 500.0, False),
        # Beside 1,000 MWh it would burn gas at 30 $/MWh, which no bid covers: 2.05 x 30 > 50.
        (0.6, 1000.0, True),
        (0.6, 1400.0, True),
    ],
)
def test_a_game_without_an_answer_is_proven_to_have_none(
    power_stress: float, demand_mwh: float, *, has_none: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppsm.markets.gauc.solver.can_enumerate", lambda followers: False)
    solver = GasAwareCommitment(_full_pipe())
    assert solver.patterns.have_no_answer(power_stress, np.array([demand_mwh]), unlimited) is has_none
    solution = solver.solve(power_stress, [demand_mwh], gap=1e-4, time_limit=60.0)
    assert (solution.status is Status.INFEASIBLE) is has_none
    assert (solution.leader_cost_usd is None) is has_none


@pytest.mark.parametrize("beyond_mwh", [1e-7, 5e-4, 1e-2])
def test_what_is_missed_by_less_than_the_margin_is_no_proof(beyond_mwh: float) -> None:
    """Pipe and tank serve 1,500 MWh, at 180 MW nobody burns gas: the least excess is infeasible to an LP."""
    demand = np.array([1500.0 + beyond_mwh])
    solver = GasAwareCommitment(_full_pipe())
    assert not solver.patterns.have_no_answer(0.0, demand, unlimited)
    # What is missed by more is told before any search.
    is_told = solver.servable.missing_mwh(demand) > TUNING.missed_mwh
    assert is_told is (beyond_mwh > TUNING.missed_mwh)


def test_linear_programs_without_an_optimum_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AreaMarket, "least_prices", lambda market, withdrawal: None)
    assert not PricePatterns(Followers(_full_pipe())).have_no_answer(0.6, np.array([1400.0]), unlimited)


def test_no_proof_where_pressures_may_bind_or_the_time_is_up() -> None:
    demand = np.array([1400.0])
    assert not PricePatterns(Followers(load_case("two_node"))).have_no_answer(0.6, demand, unlimited)
    assert not PricePatterns(Followers(_full_pipe())).have_no_answer(0.6, demand, lambda: 0.0)


def test_without_time_nothing_costly_is_begun_to_prove_it(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns, demand = PricePatterns(Followers(_full_pipe())), np.array([1400.0])

    def costly(*_: object, **__: object) -> None:
        pytest.fail("the time is up")

    monkeypatch.setattr(by_patterns, "PowerRelaxation", costly)
    times = iter([1.0])
    assert not patterns.have_no_answer(0.6, demand, lambda: next(times, 0.0))
    monkeypatch.setattr(PressureCheck, "never_binds", costly)
    assert not patterns.have_no_answer(0.6, demand, lambda: 0.0)
    monkeypatch.undo()
    monkeypatch.setattr("ppsm.markets.gauc.solver.can_enumerate", lambda followers: False)
    monkeypatch.setattr(PricePatterns, "have_no_answer", costly)
    solution = GasAwareCommitment(_full_pipe()).solve(0.6, demand, time_limit=0.0)
    assert solution.status is Status.NO_INCUMBENT


def test_no_single_relaxation_outlasts_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told when to stop, and one without a limit is told that the last one's is over."""
    deadlines: list[float] = []
    monkeypatch.setattr(PersistentLp, "stop_at", lambda lp, deadline: deadlines.append(deadline))
    patterns, demand = PricePatterns(Followers(_full_pipe())), np.array([500.0])
    for seconds in (1000.0, math.inf):
        deadlines.clear()
        search = patterns.search(0.6, demand)
        assert search is not None
        before = time.perf_counter()
        search.run(lambda left=seconds: left)  # type: ignore[misc]
        assert deadlines
        assert all(before + seconds <= each <= time.perf_counter() + seconds for each in deadlines)


@pytest.mark.parametrize("seed", range(6))
def test_games_with_an_answer_are_not_proven_to_have_none(seed: int) -> None:
    case, demand = steep_game(seed)
    solver = GasAwareCommitment(case)
    if solver.solve(0.0, demand, gap=1e-2, time_limit=60.0, proof=False).leader_cost_usd is not None:
        assert not solver.patterns.have_no_answer(0.0, demand, unlimited)


@pytest.mark.parametrize("seed", [3, 25])
def test_bids_below_zero_get_no_bound_by_patterns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their days may cost less than nothing, where the programs of patterns begin to count."""
    case, demand = steep_game(seed)
    bids = tuple(replace(bid, price_usd_per_mwh=bid.price_usd_per_mwh - 300.0) for bid in case.bids)
    paid = replace(case, bids=bids)
    best = GasAwareCommitment(paid).solve(0.0, 0.7 * demand, gap=1e-6, time_limit=60.0)
    assert best.status is Status.PROVEN_OPTIMAL
    assert best.leader_cost_usd is not None
    assert best.leader_cost_usd < 0.0
    assert PricePatterns(Followers(paid)).search(0.0, 0.7 * demand) is None
    monkeypatch.setattr("ppsm.markets.gauc.solver.can_enumerate", lambda _: False)
    found = GasAwareCommitment(paid).solve(0.0, 0.7 * demand, gap=1e-3, time_limit=10.0)
    assert found.bound_from != "price patterns"
    assert (found.bound_usd or -math.inf) <= best.leader_cost_usd + 1.0
