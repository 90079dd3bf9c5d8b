"""Published power network and link file -> buses, lines, fleets, bids and links of a case."""

import math
from collections.abc import Sequence

from ppsm.cases.calibration.assumptions import TECHNOLOGIES, Assumptions, Technology, spread_factor
from ppsm.cases.entities import FUELS, Bid, Bus, Fleet, Line, Link
from ppsm.cases.links import GasLink
from ppsm.cases.matgas import GasNetwork
from ppsm.cases.matpower import PowerBus, PowerGenerator, PowerNetwork
from ppsm.errors import InputError

# Static compensators and DC terminals have no fuel: they are no fleets.
_NO_ENERGY = {"none"}


def buses(network: PowerNetwork) -> tuple[Bus, ...]:
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


def lines(network: PowerNetwork, assumptions: Assumptions) -> tuple[Line, ...]:
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


def fleets(
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
            shares = assumptions.bid_block_shares
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


def _equal(count: int) -> tuple[float, ...]:
    return tuple(1.0 / count for _ in range(count))


def _heat_rate(generator: PowerGenerator, technology: Technology) -> float:
    """Return a heat rate within the technology's range, spread over the fleets."""
    low, high = technology.heat_rate_mmbtu_per_mwh
    middle, half = (low + high) / 2, (high - low) / 2
    return round(middle * spread_factor(int(generator.id), half / middle), 3)


def _gas_prices(generator: PowerGenerator, heat_rate: float, assumptions: Assumptions) -> tuple[float, ...]:
    """Return block prices: each covers the fuel at its threshold gas price."""
    shift = spread_factor(7 * int(generator.id), assumptions.spread)
    return tuple(
        round(heat_rate * threshold * shift, 2) for threshold in assumptions.bid_thresholds_usd_per_mmbtu
    )


def _bids(fleet: Fleet, prices: Sequence[float], shares: Sequence[float]) -> list[Bid]:
    sizes = [round(fleet.unit_size_mw * share, 3) for share in shares[:-1]]
    sizes.append(round(fleet.unit_size_mw - sum(sizes), 3))  # so that blocks add up to the unit
    return [
        Bid(fleet=fleet.fleet, block=number, size_mw=size, price_usd_per_mwh=price)
        for number, (size, price) in enumerate(zip(sizes, prices, strict=True), start=1)
    ]


def links(
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
