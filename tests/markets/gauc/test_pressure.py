"""Whether pressures bind: ways along which pressure runs out, against the linear program of all pressures."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ppsm.cases import load_case
from ppsm.cases.entities import MWH_PER_MMBTU, Compressor
from ppsm.cases.schema import Case
from ppsm.markets.gauc.areas import AreaMarket, GasAreas
from ppsm.markets.gauc.deliverable import largest_burn_mwh
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PriceSteps, root_box
from ppsm.markets.gauc.pressure import PressureCheck, PressureWays
from ppsm.markets.gauc.relaxation import AskedLevels, PlaceMap
from ppsm.markets.model.followers import Followers


def check_of(case: Case) -> tuple[PressureCheck, Followers, PlaceMap]:
    followers = Followers(case)
    places = PlaceMap(followers)
    return PressureCheck(followers.gas.market, places), followers, places


def test_the_room_of_a_single_pipe_by_hand() -> None:
    """Its drop may use what lies between the largest pressure upstream and the least one downstream."""
    case = load_case("two_node")
    (pipe,) = case.pipes
    ways = PressureWays(case)
    ends = {row.junction: row for row in case.junctions}
    room = ends[pipe.from_junction].pressure_max_bar ** 2 - ends[pipe.to_junction].pressure_min_bar ** 2
    most = pipe.weymouth_mwh_per_bar * np.sqrt(room)
    # the last tangent touches at the largest flow, so that its drop is exact there: (flow / k)**2
    assert ways.drop(np.array([most]))[0] == pytest.approx(room)
    assert not list(ways.exhausted_at(np.array([0.999 * most])))
    (way,) = [each for each in ways.exhausted_at(np.array([1.001 * most])) if each is not None]
    assert way.weights.tolist() == [1.0]
    assert way.room == pytest.approx(room)


def test_a_compressor_multiplies_what_was_lost_before_it_by_hand() -> None:
    """From 50 bar through a pipe, a compressor of ratio 1.2 and another pipe to 30 bar at least.

    What is left is 1.44 (2500 - first drop) - second drop, and has to be 900.
    """
    case = load_case("two_node")
    (pipe,), field = case.pipes, case.junctions[0]
    names = ("field", "before", "after", "city")
    junctions = [
        replace(field, junction=name, pressure_max_bar=60.0 if name == "after" else 50.0) for name in names
    ]
    compressor = Compressor(
        compressor="c",
        from_junction="before",
        to_junction="after",
        flow_direction="forward",
        ratio_min=1.0,
        ratio_max=1.2,
        capacity_mwh=np.inf,
    )
    pipes = (replace(pipe, to_junction="before"), replace(pipe, pipe="second", from_junction="after"))
    ways = PressureWays(replace(case, junctions=tuple(junctions), pipes=pipes, compressors=(compressor,)))
    # the first pipe alone may lose 1600 = (1800 / 45)^2, the second 2700 where nothing was lost before it
    flows = np.array([0.999 * 1800.0, 0.5 * 45.0 * np.sqrt(2700.0)])
    (way,) = [each for each in ways.exhausted_at(flows) if each is not None]
    assert way.weights == pytest.approx([1.44, 1.0])
    assert way.room == pytest.approx(1.44 * 2500.0 - 900.0)
    assert not list(ways.exhausted_at(flows * np.array([0.1, 1.0])))


@pytest.mark.parametrize("name", ["two_node", "medium", "northeast"])
def test_ways_run_out_exactly_where_no_pressures_allow_the_flows(name: str) -> None:
    case = load_case(name)
    check, _, _ = check_of(case)
    ways = PressureWays(case)
    rng = np.random.default_rng(7)
    verdicts = set()
    for _ in range(30):
        drawn = rng.random(ways.count) * rng.choice([1.0, 0.2, 0.05], ways.count)
        flows = drawn * 10 ** rng.uniform(2.0, 4.5)
        together = np.concatenate([flows, np.zeros(len(case.compressors) + len(case.regulators))])
        allowed = check._allows(together)
        verdicts.add(allowed)
        assert allowed == (not list(ways.exhausted_at(flows)))
    assert verdicts == {True, False}


def test_a_pipe_beside_another_takes_its_share() -> None:
    case = load_case("two_node")
    (pipe,) = case.pipes
    twin = replace(pipe, pipe="twin", weymouth_mwh_per_bar=3 * pipe.weymouth_mwh_per_bar)
    check, followers, places = check_of(replace(case, pipes=(pipe, twin)))
    areas = GasAreas.of(followers.case, np.zeros(len(case.junctions), dtype=bool))
    steps = PriceSteps.of(areas, AskedLevels.of(followers))
    box = PatternBox(np.zeros(areas.count, dtype=np.int64), np.full(areas.count, steps.count))
    burn = BurnBox(np.zeros(places.junctions.size), np.full(places.junctions.size, 10.0), (0.0, 10.0))
    withdrawal = followers.gas.market.withdrawal_mwh(case.demand_mwh(0.0))
    flows = check._largest_flows(check._transport_in(areas, steps, withdrawal, burn, box), lambda: math.inf)
    assert flows is not None
    assert flows[1] == pytest.approx(3 * flows[0], rel=1e-4)


@pytest.mark.parametrize("gas_stress", [0.1, 0.7])
def test_no_flows_of_a_box_with_room_are_refused(gas_stress: float) -> None:
    """Where the proof holds, every flow that some burn of the box can have is allowed by pressures."""
    case = load_case("northeast")
    check, followers, places = check_of(case)
    withdrawal = followers.gas.market.withdrawal_mwh(case.demand_mwh(gas_stress))
    areas = GasAreas.of(case, withdrawal < 0)
    gathered = areas.gathered(withdrawal)
    assert gathered is not None
    steps = PriceSteps.of(areas, AskedLevels.of(followers))
    area_of_place = areas.of_junction[places.junctions]
    rng = np.random.default_rng(11)
    held = 0
    for size in (50.0, 150.0, 400.0):
        low = rng.uniform(0.0, 300.0, places.junctions.size)
        burn = BurnBox(low, low + size, (float(low.sum()), float(low.sum()) + size * 5))
        root = root_box(AreaMarket(areas), steps, gathered, burn, area_of_place)
        root = None if root is None else root.narrowed(areas)
        if root is None:
            continue
        live = check._transport_in(areas, steps, withdrawal, burn, root)
        largest = check._largest_flows(live, lambda: math.inf)
        if largest is None or not check._has_room(live, largest):
            continue
        held += 1
        for _ in range(25):
            weights = rng.exponential(size=check._arcs) * (rng.random(check._arcs) < 0.3)
            cost = np.zeros(live.program.shape[1])
            cost[check._supplies : check._supplies + check._arcs] = -weights
            live.set_cost(cost)
            flows = live.solve().columns[check._supplies : check._supplies + check._arcs]
            assert check._allows(flows)
    assert held


# What the plant of the two-node case burns at most: 100 MW in four hours at 7 MMBtu/MWh.
MOST_BURN_MWH = 4 * 100 * 7 * MWH_PER_MMBTU


def never_binds(case: Case, demand_mwh: float, seconds: float = math.inf) -> bool:
    """Whether pressures bind at no burn of the plant, from nothing to all it can."""
    check, followers, places = check_of(case)
    areas = GasAreas.of(case, np.zeros(len(case.junctions), dtype=bool))
    steps = PriceSteps.of(areas, AskedLevels.of(followers))
    most = places.gather @ largest_burn_mwh(followers)
    assert most == pytest.approx([MOST_BURN_MWH])
    burn = BurnBox(np.zeros(most.size), most, (0.0, float(most.sum())))
    withdrawal = followers.gas.market.withdrawal_mwh([demand_mwh])
    return check.never_binds(areas, steps, withdrawal, burn, lambda: seconds)


@pytest.mark.parametrize(
    ("demand", "capacity", "expected"),
    [
        # pressures carry 1800 MWh to the city; the tank may give nothing, whatever prices say of it
        (1800.0 - MOST_BURN_MWH - 1.0, np.inf, True),
        (1800.0 - MOST_BURN_MWH + 1.0, np.inf, False),
        # less than pressures can carry is sold
        (1500.0, 1799.0, True),
        (1500.0, 1801.0, False),
        # no burn can be served: there is no price to be wrong about
        (2600.0, np.inf, True),
    ],
)
def test_where_pressures_never_bind_by_hand(demand: float, capacity: float, expected: bool) -> None:
    case = load_case("two_node")
    pipe = replace(case.pipes[0], capacity_mwh=capacity)
    assert never_binds(replace(case, pipes=(pipe,)), demand) == expected


def test_without_time_flows_are_as_large_as_fits() -> None:
    case = load_case("two_node")
    narrow = replace(case, pipes=(replace(case.pipes[0], capacity_mwh=1799.0),))
    assert never_binds(narrow, 1500.0, seconds=0.0)
    # that no more than this can be wanted takes a linear program
    demand = 1800.0 - MOST_BURN_MWH - 1.0
    assert never_binds(case, demand)
    assert not never_binds(case, demand, seconds=0.0)


@pytest.mark.parametrize(
    ("capacities", "demand", "expected"),
    [
        # a pipe that sells little leaves the rest to its twin, which pressures let carry 1800 MWh (that the
        # first is full before the twin is, the proof does not use)
        ((10.0, np.inf), 1800.0 - MOST_BURN_MWH - 1.0, True),
        ((10.0, np.inf), 1810.0 - MOST_BURN_MWH + 50.0, False),
        ((np.inf, 10.0), 1810.0 - MOST_BURN_MWH + 50.0, False),
        ((10.0, 1799.0), 1700.0, True),
        # the same to sell: each takes half
        ((np.inf, np.inf), 3600.0 - MOST_BURN_MWH - 1.0, True),
        ((1700.0, 1700.0), 2900.0, True),
    ],
)
def test_a_full_pipe_leaves_the_rest_to_its_twin(
    capacities: tuple[float, float], demand: float, expected: bool
) -> None:
    case = load_case("two_node")
    (pipe,) = case.pipes
    pipes = tuple(
        replace(pipe, pipe=f"twin{number}", capacity_mwh=capacity)
        for number, capacity in enumerate(capacities)
    )
    wells = tuple(replace(bid, size_mwh=5000.0) for bid in case.supplies)
    assert never_binds(replace(case, pipes=pipes, supplies=wells), demand) == expected
