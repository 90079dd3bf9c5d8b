"""The gas market against prices found by hand, and properties of its linearisation."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.northeast import Clearing, weymouth_error
from hypothesis import given, settings
from hypothesis import strategies as st

from ppsm.arrays import FloatArray
from ppsm.cases import Case, load_case
from ppsm.cases.calibration.directions import approximate_dispatch, withdrawals_mwh
from ppsm.cases.entities import MWH_PER_MMBTU, Compressor, Junction, Regulator
from ppsm.errors import InputError
from ppsm.figures.state import fitted_pressures
from ppsm.markets.model.gas import GasMarket, build_gas_market, tangent_points

TWO_NODE = load_case("two_node")


@cache
def two_node_market() -> GasMarket:
    return build_gas_market(TWO_NODE)


def cleared(
    market: GasMarket, demand: list[float], burn: float = 0.0
) -> tuple[float, FloatArray, dict[str, float]]:
    """Return cost, prices per junction in $/MWh, and the columns by name."""
    clearing = Clearing(market)
    assert clearing.feasible(market.withdrawal_mwh(demand, burn))
    values = clearing.solution()
    columns = dict(zip(market.program.column_names, values, strict=True))
    return float(market.program.cost @ values), clearing.prices_usd_per_mmbtu() / MWH_PER_MMBTU, columns


def feasible(market: GasMarket, demand: list[float], burn: float = 0.0) -> bool:
    return Clearing(market).feasible(market.withdrawal_mwh(demand, burn))


@pytest.mark.parametrize(
    ("demand", "cost", "field_price", "city_price"),
    [
        (800, 8_000, 10, 10),  # within the first block of the wells
        (1200, 10_000 + 4_000, 20, 20),  # 200 MWh of the second block
        # the pipe carries 45 sqrt(50^2 - 30^2) = 1800 MWh; 100 MWh come from the tank, prices part
        (1900, 10_000 + 16_000 + 3_000, 20, 30),
    ],
)
def test_two_node_prices_by_hand(demand: float, cost: float, field_price: float, city_price: float) -> None:
    found, prices, _ = cleared(two_node_market(), [demand])
    assert found == pytest.approx(cost)
    np.testing.assert_allclose(prices, [field_price, city_price])


def test_no_more_flows_than_is_sold_by_hand() -> None:
    # pressures would let the pipe carry 1800 MWh; of 1200 MWh the tank gives the 300 that 900 leave
    market = build_gas_market(replace(TWO_NODE, pipes=(replace(TWO_NODE.pipes[0], capacity_mwh=900.0),)))
    cost, prices, columns = cleared(market, [1200])
    assert cost == pytest.approx(9_000 + 300 * 30)
    np.testing.assert_allclose(prices, [10, 30])
    assert columns["pipe_flow_mwh[main]"] == pytest.approx(900)
    assert feasible(market, [1400])
    assert not feasible(market, [1401])


def test_burn_counts_like_demand() -> None:
    market = two_node_market()
    np.testing.assert_allclose(market.withdrawal_mwh([800], [400]), [0, 1200])
    assert cleared(market, [800], 400)[0] == pytest.approx(14_000)


def test_more_than_all_supply_is_infeasible() -> None:
    market = two_node_market()
    assert feasible(market, [2300])
    assert not feasible(market, [2301])


def test_a_negative_demand_is_an_injection_that_has_to_go_somewhere() -> None:
    market = two_node_market()
    # the city is a dead end: only a plant's burn can take the gas
    assert feasible(market, [-100], 100)
    assert not feasible(market, [-100], 99)


def test_line_pack_takes_up_small_injections_only() -> None:
    junctions = tuple(
        replace(row, pack_mwh=20.0 if row.junction == "city" else 0.0) for row in TWO_NODE.junctions
    )
    market = build_gas_market(replace(TWO_NODE, junctions=junctions))
    assert feasible(market, [-20])
    assert not feasible(market, [-21])
    # packed gas earns nothing, so that an ordinary day does not pack
    cost, _, columns = cleared(market, [800])
    assert cost == pytest.approx(8_000)
    assert columns["packed_mwh[city]"] == pytest.approx(0)


def station_case(compressor: Compressor | None = None, regulator: Regulator | None = None) -> Case:
    """Return the two-node case with a station between the field and the pipe."""
    outlet = Junction("outlet", 41.0, -75.9, 30.0, 80.0, 0.0)
    return replace(
        TWO_NODE,
        junctions=(TWO_NODE.junctions[0], outlet, TWO_NODE.junctions[1]),
        pipes=(replace(TWO_NODE.pipes[0], from_junction="outlet"),),
        compressors=(compressor,) if compressor else (),
        regulators=(regulator,) if regulator else (),
    )


def largest_pipe_flow(case: Case) -> float:
    """Return the flow over the pipe when demand takes all it can, without the tank."""
    supplies = tuple(replace(bid, size_mwh=1e5) for bid in case.supplies if bid.supply == "wells")
    market = build_gas_market(replace(case, supplies=supplies))
    low, high = 0.0, 1e5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if feasible(market, [middle]) else (low, middle)
    return low


def test_a_compressor_lifts_the_pressure_before_the_pipe() -> None:
    lifted = station_case(Compressor("c", "field", "outlet", "forward", 1.0, 1.2, np.inf))
    # the outlet reaches 1.2 x 50 = 60 bar: 45 sqrt(60^2 - 30^2) = 2338 MWh, tangents add up to 1.03 %
    exact = 45 * np.sqrt(60**2 - 30**2)
    largest = 45 * np.sqrt(80**2 - 30**2)
    assert exact <= largest_pipe_flow(lifted) <= exact + largest / (2 * 7**2)


def test_a_regulator_never_raises_the_pressure() -> None:
    case = station_case(regulator=Regulator("r", "field", "outlet", "forward", 0.0, 0.8, np.inf))
    exact = 45 * np.sqrt(40**2 - 30**2)
    largest = 45 * np.sqrt(80**2 - 30**2)
    assert exact <= largest_pipe_flow(case) <= exact + largest / (2 * 7**2)


def test_the_capacity_of_a_station_limits_its_flow() -> None:
    case = station_case(Compressor("c", "field", "outlet", "forward", 1.0, 1.2, 700.0))
    assert largest_pipe_flow(case) == pytest.approx(700)


def test_flow_directions_are_obeyed() -> None:
    turned = replace(TWO_NODE, pipes=(replace(TWO_NODE.pipes[0], flow_direction="reverse"),))
    market = build_gas_market(turned)
    assert feasible(market, [500])  # the tank alone
    assert not feasible(market, [501])


@given(tangents=st.integers(2, 20), where=st.floats(0, 1))
@settings(max_examples=200)
def test_tangents_overshoot_by_no_more_than_the_formula(tangents: int, where: float) -> None:
    largest = 4000.0
    at = tangent_points(np.array([largest]), tangents)[0]
    drop = (where * largest) ** 2  # k = 1: the true flow is where * largest
    positive = at[at > 0]
    allowed = float(np.min(positive / 2 + drop / (2 * positive)))
    assert allowed >= where * largest * (1 - 1e-12)
    assert allowed - where * largest <= largest / (2 * (tangents - 1) ** 2) * (1 + 1e-9)


def test_the_reported_error_is_the_distance_to_the_true_equation() -> None:
    field, city = TWO_NODE.junctions
    case = replace(TWO_NODE, junctions=(replace(field, pressure_max_bar=40.0), city))
    market = build_gas_market(case, tangents=3)
    # largest flow 45 sqrt(40^2 - 30^2) = 1190.6; tangents at 0, a quarter and all of it
    _, _, columns = cleared(market, [1000])
    error = weymouth_error(market, list(columns.values()))
    drop = columns["squared_pressure_bar2[field]"] - columns["squared_pressure_bar2[city]"]
    assert error.true_mwh[0] == pytest.approx(45 * np.sqrt(drop))
    assert error.flow_mwh[0] == pytest.approx(columns["pipe_flow_mwh[main]"])
    assert error.largest_mwh[0] == pytest.approx(1190.588, abs=1e-3)
    assert error.overshoot[0] <= 1 / (2 * 2**2)


def test_fitted_pressures_by_hand() -> None:
    # k = 45 MWh/bar: 900 MWh need a drop of 400 bar2, 1800 all of the 1600 there are, 1845 another 81
    for flow, missing in ((900.0, 0.0), (1800.0, 0.0), (1845.0, 81.0)):
        fitted = fitted_pressures(TWO_NODE, [flow])
        np.testing.assert_allclose(fitted.missing_bar2, [missing], atol=1e-6)
        np.testing.assert_allclose(fitted.throttled_bar2, [0], atol=1e-6)
        up, down = fitted.squared_pressure_bar2
        assert up - down == pytest.approx((flow / 45) ** 2 - missing)


def test_a_loop_that_does_not_close_has_to_be_throttled() -> None:
    # two equal pipes side by side with 900 and 450 MWh: drops of 400 and 100 bar2 between the same ends
    twin = replace(TWO_NODE.pipes[0], pipe="twin")
    fitted = fitted_pressures(replace(TWO_NODE, pipes=(TWO_NODE.pipes[0], twin)), [900.0, 450.0])
    np.testing.assert_allclose(fitted.missing_bar2, [0, 0], atol=1e-6)
    np.testing.assert_allclose(fitted.throttled_bar2, [0, 300], atol=1e-6)


def test_more_tangents_never_make_gas_cheaper() -> None:
    case = load_case("medium")
    burn = approximate_dispatch(case, 0.4, 5.0).burn_mwh
    costs = []
    for tangents in (2, 3, 5, 9):  # each set contains the one before
        market = build_gas_market(case, tangents=tangents)
        clearing = Clearing(market)
        assert clearing.feasible(market.withdrawal_mwh(case.demand_mwh(1.0), burn))
        costs.append(float(market.program.cost @ clearing.solution()))
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_prices_are_the_slope_of_the_cost() -> None:
    case = load_case("medium")
    market = build_gas_market(case)
    clearing = Clearing(market)
    burn = approximate_dispatch(case, 0.4, 5.0).burn_mwh
    demand = case.demand_mwh(1.0)
    base = market.withdrawal_mwh(demand, burn)
    assert clearing.feasible(base)
    prices = clearing.prices_usd_per_mmbtu() / MWH_PER_MMBTU
    cost = float(market.program.cost @ clearing.solution())
    assert prices.max() > 1.2 * prices.min()  # the network is congested here
    for entry in range(demand.size):
        step = np.zeros_like(demand)
        step[entry] = 1e-3
        assert clearing.feasible(market.withdrawal_mwh(demand + step, burn))
        slope = (float(market.program.cost @ clearing.solution()) - cost) / 1e-3
        assert slope == pytest.approx((market.demand_to_balance.T @ prices)[entry], rel=1e-4)


def test_names_and_maps() -> None:
    market = two_node_market()
    assert [market.program.row_names[row] for row in market.balance_rows] == [
        "balance[field]",
        "balance[city]",
    ]
    assert market.demand_to_balance.shape == (2, 1)
    assert market.burn_to_balance.shape == (2, 1)
    assert "supply_mwh[wells/2]" in market.program.column_names
    case = load_case("northeast")
    northeast = build_gas_market(case)
    demand, burn = case.demand_mwh(0.3), np.arange(len(case.links), dtype=float)
    np.testing.assert_allclose(northeast.withdrawal_mwh(demand, burn), withdrawals_mwh(case, demand, burn))


def test_what_cannot_be_built_is_named() -> None:
    with pytest.raises(InputError, match="1 tangents were asked for"):
        build_gas_market(TWO_NODE, tangents=1)
    with pytest.raises(InputError, match="gas demand"):
        two_node_market().withdrawal_mwh([1, 2])
    with pytest.raises(InputError, match="the burn"):
        two_node_market().withdrawal_mwh([1], [np.nan])
    with pytest.raises(InputError, match="the burn"):
        two_node_market().withdrawal_mwh([1], [1, 2, 3])


def test_the_market_is_a_follower_of_its_demand() -> None:
    market = two_node_market()
    follower = market.follower([800], burn_mwh=[100])
    assert follower.parameter_names == ("homes",)
    outcome = follower.solve()
    assert outcome.value == pytest.approx(9_000)
    np.testing.assert_allclose(outcome.price("balance"), [10, 10])
    assert follower.solve([1100]).value == pytest.approx(14_000)
    assert follower.solve([3000]).status == "infeasible"


def test_a_pipe_between_equal_fixed_pressures_carries_nothing() -> None:
    fixed = tuple(replace(row, pressure_min_bar=50.0, pressure_max_bar=50.0) for row in TWO_NODE.junctions)
    market = build_gas_market(replace(TWO_NODE, junctions=fixed))
    assert feasible(market, [500])
    assert not feasible(market, [501])


def test_every_northeast_cell_clears_at_sensible_prices() -> None:
    case = load_case("northeast")
    market = build_gas_market(case)
    clearing = Clearing(market)
    place = {row.junction: index for index, row in enumerate(case.junctions)}
    plants = [place[link.junction] for link in case.links]
    for power in case.power_stress:
        dispatch = approximate_dispatch(case, power, 10.0)
        assert dispatch.unserved_mwh == pytest.approx(0, abs=1e-6)
        previous = 0.0
        for gas in case.gas_stress:
            assert clearing.feasible(market.withdrawal_mwh(case.demand_mwh(gas), dispatch.burn_mwh))
            prices = clearing.prices_usd_per_mmbtu()[plants]
            assert 4.2 <= prices.min() <= prices.max() <= 25.001
            assert prices.mean() >= previous
            previous = float(prices.mean())
            overshoot = weymouth_error(market, clearing.solution()).overshoot
            assert overshoot.max() <= 1 / (2 * 7**2) + 1e-9
