from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.cases.samples import GAS_PER_UNIT, LINKS, POWER

from ppsm.cases.calibration.assumptions import (
    NORTHEAST,
    TECHNOLOGIES,
    Assumptions,
    spread_factor,
    winter_load_shape,
)
from ppsm.cases.calibration.build import build_case
from ppsm.cases.calibration.directions import approximate_dispatch, with_flow_directions, withdrawals_mwh
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.links import parse_links
from ppsm.cases.matgas import parse_matgas
from ppsm.cases.matpower import parse_matpower
from ppsm.cases.schema import Case, load_case, save_case
from ppsm.errors import InputError
from ppsm.markets import explain_gas
from ppsm.markets.model.gas import build_gas_market

ASSUMPTIONS = Assumptions(mwh_per_flow_unit=1000.0, gas_share=0.1, gas_stress=(0.0, 1.0), pack_swing_bar=1.0)


@cache
def sample_case(assumptions: Assumptions = ASSUMPTIONS) -> Case:
    return build_case(parse_matpower(POWER), parse_matgas(GAS_PER_UNIT), parse_links(LINKS), assumptions)


def test_power_tables() -> None:
    case = sample_case()
    # the third generator is a DC terminal: 40 MW more at the bus whose negative load is 20 MW
    assert [bus.load_mw for bus in case.buses] == [50.5, 200, 0]
    assert [bus.injection_mw for bus in case.buses] == [0, 0, 60]
    assert [fleet.fleet for fleet in case.fleets] == ["g1", "g2"]
    assert case.fleets[1].technology == "gas single cycle"
    assert case.lines[1].reactance_pu == pytest.approx(0.2 * 1.05)
    gas = [bid for bid in case.bids if bid.fleet == "g2"]
    heat_rate = case.links[0].heat_rate_mmbtu_per_mwh
    thresholds = np.array([bid.price_usd_per_mwh / heat_rate for bid in gas])
    # generator 2 reckons with 5 $/MMBtu, shifted by the golden ratio: 14 x 0.618034 leaves 0.652476
    expected = 5.0 * (1 + 0.4 * (2 * 0.652476 - 1))
    np.testing.assert_allclose(thresholds, expected * np.array([1.0, 1.08, 1.17, 1.27]), rtol=1e-3)
    # the first block is the least output of a combustion turbine, 0.4 of the unit
    assert gas[0].size_mw == pytest.approx(0.4 * case.fleets[1].unit_size_mw, abs=1e-3)
    assert gas[1].size_mw == pytest.approx(0.2 * case.fleets[1].unit_size_mw, abs=1e-3)


def test_gas_tables_by_hand() -> None:
    case = sample_case()
    # 0.5 per unit at 1000 MWh per unit
    assert [delivery.base_mwh for delivery in case.deliveries] == [500, 500]
    # twice that at the highest stress, 1.25 times for the contract: 1250 is a multiple of 50
    assert [delivery.mdq_mwh for delivery in case.deliveries] == [1250, 1250]
    assert [junction.pressure_max_bar for junction in case.junctions] == [80] * 4
    # flow at full pressure difference: k sqrt(80^2 - 40^2) bar; k^2 = w (1000/40)^2 10^10 MWh^2/bar^2
    resistance = parse_matgas(GAS_PER_UNIT).pipes[0].resistance_kg2_per_s2_pa2
    assert case.pipes[0].weymouth_mwh_per_bar == pytest.approx(resistance**0.5 * 25 * 1e5, rel=1e-6)
    # 25 km of 0.456 m2 hold 11401 m3; one bar of them is 11401e5/317.35^2 = 11320 kg or 0.131 kg/s of a day
    assert case.junctions[1].pack_mwh == pytest.approx(0.131 * 25, rel=1e-2)
    assert [bid.block for bid in case.supplies] == [1, 2, 3, 4, 5, 6]
    assert sum(bid.size_mwh for bid in case.supplies) == pytest.approx(2500, abs=0.1)


def test_directions_follow_the_gas() -> None:
    case = sample_case()
    # the second pipe is published from 4 to 3, but gas comes from 3
    assert [pipe.flow_direction for pipe in case.pipes] == ["forward", "reverse"]
    assert case.compressors[0].flow_direction == "forward"


def test_directions_need_enough_supply() -> None:
    case = load_case("medium")
    with pytest.raises(InputError, match="no flow directions serve a demand and burn of"):
        with_flow_directions(case, withdrawals_mwh(case, case.demand_mwh(50.0), np.zeros(len(case.links))))


def test_the_medium_case_has_the_directions_that_the_calibration_finds() -> None:
    case = load_case("medium")
    burn = approximate_dispatch(case, 0.4, 5.0).burn_mwh
    assert with_flow_directions(case, withdrawals_mwh(case, case.demand_mwh(1.0), burn)) == case


def test_links_to_absent_plants_are_refused() -> None:
    for old, new, part in [
        ('"id": "2"', '"id": "9"', "generator 9"),
        ('"id": "40"', '"id": "41"', "delivery 41"),
    ]:
        links = parse_links(LINKS.replace(old, new, 1))
        with pytest.raises(InputError, match=part):
            build_case(parse_matpower(POWER), parse_matgas(GAS_PER_UNIT), links, ASSUMPTIONS)


def test_an_imported_case_can_be_saved_and_loaded(tmp_path: Path) -> None:
    case = sample_case()
    save_case(case, tmp_path)
    assert load_case(tmp_path) == case


def test_dispatch_by_hand() -> None:
    # Two-node: 100 MW of coal over the tie, the rest from the gas plant: 20, 50, 50 and 5 MW in the 4 hours.
    case = load_case("two_node")
    result = approximate_dispatch(case, 0.0, 3.0)
    np.testing.assert_allclose(result.burn_mwh, [125 * 7 * MWH_PER_MMBTU])
    assert result.cost_usd == pytest.approx(400 * 20 + 125 * 35)
    assert result.unserved_mwh == pytest.approx(0, abs=1e-9)
    # at 20 $/MMBtu fuel costs 140 $/MWh, more than oil: the gas plant stands still
    np.testing.assert_allclose(approximate_dispatch(case, 0.0, 20.0).burn_mwh, [0], atol=1e-9)


def test_load_shape_peaks_at_one_in_the_evening() -> None:
    shape = winter_load_shape()
    assert len(shape) == 24
    assert max(shape) == 1.0
    assert 17 <= int(np.argmax(shape)) <= 18
    assert min(shape) == pytest.approx(0.77, abs=0.02)


def test_spread_stays_within_its_bounds_and_never_repeats() -> None:
    factors = [spread_factor(index, 0.03) for index in range(100)]
    assert all(0.97 <= factor <= 1.03 for factor in factors)
    assert len(set(factors)) == 100


def test_northeast_is_the_paper_s_case() -> None:
    case = load_case("northeast")
    counts = [len(rows) for rows in (case.buses, case.lines, case.fleets, case.junctions, case.pipes)]
    assert counts == [36, 121, 84, 146, 93]
    assert [len(rows) for rows in (case.compressors, case.regulators, case.deliveries)] == [29, 42, 41]
    assert len(case.power_stress) * len(case.gas_stress) == 42
    demand = case.demand_mwh(1.3)
    assert demand.max() == pytest.approx(9831, abs=0.5)
    # the paper's median 3.38e2 counts five nodes without demand
    assert np.median(np.concatenate([demand, np.zeros(5)])) == pytest.approx(338, abs=0.5)


def test_northeast_figures_are_what_the_page_says() -> None:
    case = load_case("northeast")
    rates = [link.heat_rate_mmbtu_per_mwh for link in case.links]
    assert 6 <= min(rates) < 7
    assert 10 < max(rates) <= 11
    sizes = [fleet.unit_size_mw for fleet in case.fleets if fleet.unit_count > 1]
    assert 400 <= min(sizes) <= max(sizes) <= 800
    gas_mw = sum(fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets if fleet.fuel == "gas")
    assert gas_mw == pytest.approx(0.55 * 364_788.8, rel=1e-3)
    prices = sorted(bid.price_usd_per_mwh * MWH_PER_MMBTU for bid in case.supplies)
    assert (prices[0], prices[-1]) == pytest.approx((3.2, 25.0), rel=1e-3)
    pipes = {row.pipe: row.capacity_mwh for row in case.pipes}
    stations = {row.compressor: row.capacity_mwh for row in case.compressors}
    capacities = {name: mwh for name, mwh in {**pipes, **stations}.items() if np.isfinite(mwh)}
    assert capacities == NORTHEAST.capacity_mwh
    assert sum(bid.size_mwh for bid in case.supplies if bid.junction == "64") == 2400
    assert {fleet.technology for fleet in case.fleets} < set(TECHNOLOGIES)
    assert NORTHEAST.gas_share == pytest.approx(1 / 480, rel=1e-3)


def test_still_components_keep_an_orientation_that_pressures_allow() -> None:
    """The most stressed withdrawals can be served along the directions found at them."""
    case = load_case("northeast")
    reckoned = {
        fleet.fleet: NORTHEAST.gas_price_expected_at.get(
            fleet.bus, NORTHEAST.gas_price_expected_usd_per_mmbtu
        )
        for fleet in case.fleets
    }
    burn = approximate_dispatch(case, 0.6, [reckoned[link.fleet] for link in case.links]).burn_mwh
    market = build_gas_market(case)
    assert explain_gas(market, market.withdrawal_mwh(case.demand_mwh(1.3), burn)) is None


def test_assumptions_change_the_case() -> None:
    base, doubled = sample_case(), sample_case(replace(ASSUMPTIONS, line_rating_factor=2.0))
    assert doubled.lines[0].rating_mw == 2 * base.lines[0].rating_mw
