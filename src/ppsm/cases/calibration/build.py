"""Published networks and assumptions -> a checked case with flow directions."""

import math
from collections.abc import Sequence

from ppsm.cases.calibration.assumptions import (
    TECHNOLOGIES,
    Assumptions,
    SupplyBlock,
    Technology,
    spread_factor,
)
from ppsm.cases.calibration.directions import approximate_dispatch, with_flow_directions, withdrawals_mwh
from ppsm.cases.checks import check_case
from ppsm.cases.entities import (
    FUELS,
    MWH_PER_MMBTU,
    Bid,
    Bus,
    Compressor,
    Delivery,
    Fleet,
    Junction,
    Line,
    Link,
    LoadHour,
    Pipe,
    Regulator,
    SupplyBid,
)
from ppsm.cases.links import GasLink
from ppsm.cases.matgas import GasNetwork
from ppsm.cases.matpower import PowerBus, PowerGenerator, PowerNetwork
from ppsm.cases.schema import Case
from ppsm.errors import InputError

# Static compensators and DC terminals have no fuel: they are no fleets.
_NO_ENERGY = {"none"}
_PA_PER_BAR = 1e5
_MWH_PER_KG = 14.7e-3  # higher heating value of pipeline gas, 53 MJ/kg
_SECONDS_PER_DAY = 86400.0
# Published "no limit" flows are far beyond any pipe.
_NO_LIMIT_MWH = 1e6


def build_case(
    power: PowerNetwork, gas: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> Case:
    """Return the case of two published networks and the links between them, checked."""
    case = _in_published_orientation(power, gas, links, assumptions)
    check_case(case, directed=False)
    buses = {fleet.fleet: fleet.bus for fleet in case.fleets}
    prices = [
        assumptions.direction_multiple * _expected_usd_per_mmbtu(buses[link.fleet], assumptions)
        for link in case.links
    ]
    dispatch = approximate_dispatch(case, max(case.power_stress), prices)
    stressed = withdrawals_mwh(case, case.demand_mwh(max(case.gas_stress)), dispatch.burn_mwh)
    directed = with_flow_directions(case, stressed)
    check_case(directed)
    return directed


def _in_published_orientation(
    power: PowerNetwork, gas: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> Case:
    fleets, bids, heat_rates = _fleets(power, assumptions, links)
    return Case(
        name=assumptions.name,
        title=assumptions.title,
        source=assumptions.source,
        base_mva=power.base_mva,
        reserve_fraction=0.0,
        power_stress=assumptions.power_stress,
        gas_stress=assumptions.gas_stress,
        buses=_buses(power),
        lines=_lines(power, assumptions),
        fleets=fleets,
        bids=bids,
        junctions=_junctions(gas, assumptions),
        pipes=_pipes(gas, assumptions),
        compressors=_compressors(gas, assumptions),
        regulators=_regulators(gas, assumptions),
        supplies=_supplies(gas, assumptions),
        deliveries=_deliveries(gas, links, assumptions),
        links=_links(links, gas, heat_rates, assumptions),
        load_shape=tuple(
            LoadHour(hour=hour, load_factor=factor) for hour, factor in enumerate(assumptions.load_shape)
        ),
    )


def _buses(network: PowerNetwork) -> tuple[Bus, ...]:
    """Return the buses; negative loads and DC terminals with a fixed transfer become constant injections."""
    fixed: dict[str, float] = {}
    for generator in network.generators:
        if generator.in_service and generator.fuel in _NO_ENERGY and generator.min_mw == generator.max_mw:
            fixed[generator.bus] = fixed.get(generator.bus, 0.0) + generator.max_mw
    return tuple(_bus(bus, fixed.get(bus.id, 0.0)) for bus in network.buses if not bus.isolated)


def _bus(bus: PowerBus, fixed_mw: float) -> Bus:
    return Bus(
        bus=bus.id,
        name=bus.name,
        latitude_deg=0.0 if math.isnan(bus.latitude) else bus.latitude,
        longitude_deg=0.0 if math.isnan(bus.longitude) else bus.longitude,
        load_mw=max(bus.demand_mw, 0.0),
        injection_mw=max(-bus.demand_mw, 0.0) + fixed_mw,
    )


def _isolated(network: PowerNetwork) -> set[str]:
    return {bus.id for bus in network.buses if bus.isolated}


def _lines(network: PowerNetwork, assumptions: Assumptions) -> tuple[Line, ...]:
    """Return the lines of the DC power flow, ratings scaled where there are any."""
    return tuple(
        Line(
            line=f"l{branch.id}",
            from_bus=branch.from_bus,
            to_bus=branch.to_bus,
            reactance_pu=branch.reactance_pu * branch.tap_ratio,
            shift_deg=branch.shift_deg,
            rating_mw=branch.rating_mw * assumptions.line_rating_factor,
        )
        for branch in network.branches
        if branch.in_service and not {branch.from_bus, branch.to_bus} & _isolated(network)
    )


def _fleets(
    network: PowerNetwork, assumptions: Assumptions, links: Sequence[GasLink]
) -> tuple[tuple[Fleet, ...], tuple[Bid, ...], dict[str, float]]:
    """Return fleets, their bids, and the heat rate of each gas fleet by its generator's id."""
    linked = {link.generator for link in links}
    isolated = _isolated(network)
    rows: list[Fleet] = []
    bids: list[Bid] = []
    heat_rates: dict[str, float] = {}
    for generator in network.generators:
        if generator.fuel in _NO_ENERGY or generator.max_mw <= 0:
            continue
        if not generator.in_service or generator.bus in isolated:
            continue
        fuel = "gas" if generator.id in linked else generator.fuel if generator.fuel in FUELS else "other"
        kind = _technology_name(fuel, generator)
        technology = TECHNOLOGIES[kind]
        fleet = _fleet(generator, fuel, kind, technology, assumptions)
        rows.append(fleet)
        prices, shares = technology.bid_usd_per_mwh, _equal(len(technology.bid_usd_per_mwh))
        if fuel == "gas":
            heat_rates[generator.id] = heat_rate = _heat_rate(generator, technology)
            prices = _gas_prices(generator, heat_rate, assumptions)
            shares = _least_first(technology, len(prices))
        bids.extend(_bids(fleet, prices, shares))
    return tuple(rows), tuple(bids), heat_rates


def _technology_name(fuel: str, generator: PowerGenerator) -> str:
    if fuel == "gas":
        return "gas combined cycle" if "combined" in generator.kind else "gas single cycle"
    return fuel if fuel in TECHNOLOGIES else "other"


def _fleet(
    generator: PowerGenerator, fuel: str, kind: str, technology: Technology, assumptions: Assumptions
) -> Fleet:
    factor = assumptions.gas_capacity_factor if fuel == "gas" else 1.0
    capacity_mw = generator.max_mw * factor
    count = max(1, round(capacity_mw / assumptions.unit_size_mw))
    size_mw = round(capacity_mw / count, 2)
    return Fleet(
        fleet=f"g{generator.id}",
        bus=generator.bus,
        fuel=fuel,
        technology=kind,
        unit_count=count,
        unit_size_mw=size_mw,
        unit_min_mw=round(technology.min_output * size_mw, 2),
        ramp_mw_per_h=round(technology.ramp_per_h * size_mw, 2),
        min_up_h=technology.min_up_h,
        min_down_h=technology.min_down_h,
        no_load_usd_per_h=round(technology.no_load_usd_per_mw_h * size_mw, 2),
        start_usd=round(technology.start_usd_per_mw * size_mw, 2),
        must_run=int(technology.must_run),
    )


def _least_first(technology: Technology, count: int) -> tuple[float, ...]:
    """Return the least output of a unit, and the rest in equal parts."""
    return (technology.min_output, *((1.0 - technology.min_output) * share for share in _equal(count - 1)))


def _equal(count: int) -> tuple[float, ...]:
    return tuple(1.0 / count for _ in range(count))


def _heat_rate(generator: PowerGenerator, technology: Technology) -> float:
    """Return a heat rate within the technology's range, spread over the fleets."""
    low, high = technology.heat_rate_mmbtu_per_mwh
    middle, half = (low + high) / 2, (high - low) / 2
    return round(middle * spread_factor(int(generator.id), half / middle), 3)


def _gas_prices(generator: PowerGenerator, heat_rate: float, assumptions: Assumptions) -> tuple[float, ...]:
    """Return block prices: each covers the fuel at a multiple of the gas price the plant reckons with."""
    expected = _expected_usd_per_mmbtu(generator.bus, assumptions)
    expected *= spread_factor(7 * int(generator.id), assumptions.gas_price_spread)
    return tuple(round(heat_rate * expected * multiple, 2) for multiple in assumptions.bid_multiples)


def _expected_usd_per_mmbtu(bus: str, assumptions: Assumptions) -> float:
    """Return the gas price that plants at a bus reckon with."""
    return assumptions.gas_price_expected_at.get(bus, assumptions.gas_price_expected_usd_per_mmbtu)


def _bids(fleet: Fleet, prices: Sequence[float], shares: Sequence[float]) -> list[Bid]:
    sizes = [round(fleet.unit_size_mw * share, 3) for share in shares[:-1]]
    sizes.append(round(fleet.unit_size_mw - sum(sizes), 3))  # so that blocks add up to the unit
    return [
        Bid(fleet=fleet.fleet, block=number, size_mw=size, price_usd_per_mwh=price)
        for number, (size, price) in enumerate(zip(sizes, prices, strict=True), start=1)
    ]


def _links(
    published: Sequence[GasLink], gas: GasNetwork, heat_rates: dict[str, float], assumptions: Assumptions
) -> tuple[Link, ...]:
    """Return which fleet burns at which junction."""
    junction_of = {delivery.id: delivery.junction for delivery in gas.deliveries}
    rows = []
    for link in published:
        if link.generator not in heat_rates:
            raise InputError(
                f"link '{link.id}' names generator {link.generator}, which the power file does not have in "
                "service; correct the link file."
            )
        if link.delivery not in junction_of:
            raise InputError(
                f"link '{link.id}' names delivery {link.delivery}, which the gas file does not have in "
                "service; correct the link file."
            )
        rows.append(
            Link(
                fleet=f"g{link.generator}",
                junction=junction_of[link.delivery],
                heat_rate_mmbtu_per_mwh=heat_rates[link.generator],
                gas_share=assumptions.gas_share,
            )
        )
    return tuple(rows)


def _mwh_per_kg_per_s(network: GasNetwork, assumptions: Assumptions) -> float:
    """Return the market's energy for a flow of 1 kg/s."""
    if assumptions.mwh_per_flow_unit is None:
        return _MWH_PER_KG * _SECONDS_PER_DAY
    return assumptions.mwh_per_flow_unit / network.base_flow_kg_per_s


def _junctions(network: GasNetwork, assumptions: Assumptions) -> tuple[Junction, ...]:
    """Return the junctions with pressures in bar and the line pack at deliveries."""
    delivering = {delivery.junction for delivery in network.deliveries if not delivery.dispatchable}
    return tuple(
        Junction(
            junction=row.id,
            latitude_deg=0.0 if math.isnan(row.latitude) else row.latitude,
            longitude_deg=0.0 if math.isnan(row.longitude) else row.longitude,
            pressure_min_bar=round(row.pressure_min_pa / _PA_PER_BAR, 4),
            pressure_max_bar=round(row.pressure_max_pa / _PA_PER_BAR, 4),
            pack_mwh=_pack_mwh(network, row.id, assumptions) if row.id in delivering else 0.0,
        )
        for row in network.junctions
    )


def _pack_mwh(network: GasNetwork, junction: str, assumptions: Assumptions) -> float:
    """Return what a pressure rise stores in the near half of a junction's pipes.

    Density is p / a**2 at sound speed a, so a rise dp adds volume x dp / a**2 of gas.
    """
    volume_m3 = sum(
        0.5 * pipe.length_m * math.pi * pipe.diameter_m**2 / 4
        for pipe in network.pipes
        if junction in (pipe.from_junction, pipe.to_junction)
    )
    mass_kg = volume_m3 * assumptions.pack_swing_bar * _PA_PER_BAR / network.sound_speed_m_per_s**2
    # kg spread over a day are kg/s of the day's flow
    return round(mass_kg / _SECONDS_PER_DAY * _mwh_per_kg_per_s(network, assumptions), 2)


def _pipes(network: GasNetwork, assumptions: Assumptions) -> tuple[Pipe, ...]:
    """Return the pipes in their published orientation with ``flow = k sqrt(p_up**2 - p_down**2)``."""
    scale = _mwh_per_kg_per_s(network, assumptions) * _PA_PER_BAR
    return tuple(
        Pipe(
            pipe=f"p{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            length_km=round(row.length_m / 1000, 3),
            diameter_m=row.diameter_m,
            weymouth_mwh_per_bar=round(math.sqrt(row.resistance_kg2_per_s2_pa2) * scale, 4),
            capacity_mwh=_capacity_mwh(f"p{row.id}", math.inf, assumptions),
        )
        for row in network.pipes
    )


def _capacity_mwh(name: str, published_mwh: float, assumptions: Assumptions) -> float:
    """Return what a component can carry: the published limit where it is one, and what is assumed."""
    published = math.inf if published_mwh >= _NO_LIMIT_MWH else round(max(published_mwh, 0.0), 2)
    return min(published, assumptions.capacity_mwh.get(name, math.inf))


def _compressors(network: GasNetwork, assumptions: Assumptions) -> tuple[Compressor, ...]:
    """Return the compressors in their published orientation."""
    scale = _mwh_per_kg_per_s(network, assumptions)
    return tuple(
        Compressor(
            compressor=f"c{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            ratio_min=row.ratio_min,
            ratio_max=row.ratio_max,
            capacity_mwh=_capacity_mwh(f"c{row.id}", row.flow_max_kg_per_s * scale, assumptions),
        )
        for row in network.compressors
    )


def _regulators(network: GasNetwork, assumptions: Assumptions) -> tuple[Regulator, ...]:
    """Return the regulators (and open valves) in their published orientation."""
    scale = _mwh_per_kg_per_s(network, assumptions)
    return tuple(
        Regulator(
            regulator=f"r{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            ratio_min=min(row.reduction_min, 1.0),
            ratio_max=min(row.reduction_max, 1.0),
            capacity_mwh=_capacity_mwh(f"r{row.id}", row.flow_max_kg_per_s * scale, assumptions),
        )
        for row in network.regulators
    )


def _supplies(network: GasNetwork, assumptions: Assumptions) -> tuple[SupplyBid, ...]:
    """Return the bid blocks of each junction with receipts, and of those that the assumptions add."""
    receipts = (row.junction for row in network.receipts)
    places = dict.fromkeys((*receipts, *assumptions.supply_at))
    return tuple(
        SupplyBid(
            supply=f"s{place}",
            junction=place,
            block=number,
            size_mwh=block.size_mwh,
            price_usd_per_mwh=round(block.price_usd_per_mmbtu / MWH_PER_MMBTU, 3),
        )
        for place in places
        for number, block in enumerate(_blocks(network, place, assumptions), start=1)
    )


def _blocks(network: GasNetwork, place: str, assumptions: Assumptions) -> tuple[SupplyBlock, ...]:
    """Return what is offered at a junction: as assumed, else the published receipts in equal blocks."""
    if place in assumptions.supply_at:
        return assumptions.supply_at[place]
    flow = sum(row.flow_max_kg_per_s for row in network.receipts if row.junction == place)
    prices = assumptions.supply_prices_usd_per_mmbtu
    total = flow * _mwh_per_kg_per_s(network, assumptions) * assumptions.supply_factor
    size = round(total / len(prices), 2)
    return tuple(SupplyBlock(size, price) for price in prices) if size > 0 else ()


def _deliveries(
    network: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> tuple[Delivery, ...]:
    """Return the fixed deliveries as sensitive demand; those that links name are power plants."""
    scale = _mwh_per_kg_per_s(network, assumptions)
    highest = 1.0 + max(assumptions.gas_stress)
    plants = {link.delivery for link in links}
    rows = []
    for row in network.deliveries:
        if row.dispatchable or row.id in plants:
            continue
        base_mwh = round(row.flow_nominal_kg_per_s * scale, 3)
        step = assumptions.mdq_step_mwh
        contracted = max(1, math.ceil(base_mwh * highest * assumptions.mdq_margin / step)) * step
        rows.append(
            Delivery(f"d{row.id}", row.junction, base_mwh, contracted, assumptions.zone_of(row.junction))
        )
    return tuple(rows)
