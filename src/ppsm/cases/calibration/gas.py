"""Published gas network -> junctions, pipes, stations, supply bids and deliveries of a case."""

import math
from collections.abc import Sequence

from ppsm.cases.calibration.assumptions import Assumptions, spread_factor
from ppsm.cases.entities import MWH_PER_MMBTU, Compressor, Delivery, Junction, Pipe, Regulator, SupplyBid
from ppsm.cases.links import GasLink
from ppsm.cases.matgas import GasNetwork

_PA_PER_BAR = 1e5
_MWH_PER_KG = 14.7e-3  # higher heating value of pipeline gas, 53 MJ/kg
_SECONDS_PER_DAY = 86400.0
# Published "no limit" flows are far beyond any pipe.
_NO_LIMIT_MWH = 1e6


def mwh_per_kg_per_s(network: GasNetwork, assumptions: Assumptions) -> float:
    """Return the market's energy for a flow of 1 kg/s."""
    if assumptions.mwh_per_flow_unit is None:
        return _MWH_PER_KG * _SECONDS_PER_DAY
    return assumptions.mwh_per_flow_unit / network.base_flow_kg_per_s


def junctions(network: GasNetwork, assumptions: Assumptions) -> tuple[Junction, ...]:
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
    return round(mass_kg / _SECONDS_PER_DAY * mwh_per_kg_per_s(network, assumptions), 2)


def pipes(network: GasNetwork, assumptions: Assumptions) -> tuple[Pipe, ...]:
    """Return the pipes in their published orientation with ``flow = k sqrt(p_up**2 - p_down**2)``."""
    scale = mwh_per_kg_per_s(network, assumptions) * _PA_PER_BAR
    return tuple(
        Pipe(
            pipe=f"p{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            length_km=round(row.length_m / 1000, 3),
            diameter_m=row.diameter_m,
            weymouth_mwh_per_bar=round(math.sqrt(row.resistance_kg2_per_s2_pa2) * scale, 4),
        )
        for row in network.pipes
    )


def _capacity_mwh(flow_kg_per_s: float, scale: float) -> float:
    capacity = flow_kg_per_s * scale
    return math.inf if capacity >= _NO_LIMIT_MWH else round(capacity, 2)


def compressors(network: GasNetwork, assumptions: Assumptions) -> tuple[Compressor, ...]:
    """Return the compressors in their published orientation."""
    scale = mwh_per_kg_per_s(network, assumptions)
    return tuple(
        Compressor(
            compressor=f"c{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            ratio_min=row.ratio_min,
            ratio_max=row.ratio_max,
            capacity_mwh=_capacity_mwh(max(row.flow_max_kg_per_s, 0.0), scale),
        )
        for row in network.compressors
    )


def regulators(network: GasNetwork, assumptions: Assumptions) -> tuple[Regulator, ...]:
    """Return the regulators (and open valves) in their published orientation."""
    scale = mwh_per_kg_per_s(network, assumptions)
    return tuple(
        Regulator(
            regulator=f"r{row.id}",
            from_junction=row.from_junction,
            to_junction=row.to_junction,
            flow_direction="forward",
            ratio_min=min(row.reduction_min, 1.0),
            ratio_max=min(row.reduction_max, 1.0),
            capacity_mwh=_capacity_mwh(max(row.flow_max_kg_per_s, 0.0), scale),
        )
        for row in network.regulators
    )


def supplies(network: GasNetwork, assumptions: Assumptions) -> tuple[SupplyBid, ...]:
    """Return the bid blocks of each junction with receipts."""
    places = dict.fromkeys(row.junction for row in network.receipts)
    rows: list[SupplyBid] = []
    for index, place in enumerate(places):
        shift = spread_factor(index, assumptions.spread)
        prices = [price * shift / MWH_PER_MMBTU for price in assumptions.supply_prices_usd_per_mmbtu]
        sizes = _block_sizes_mwh(network, place, len(prices), assumptions)
        offered = [(size, price) for size, price in zip(sizes, prices, strict=True) if size > 0]
        rows += [
            SupplyBid(
                supply=f"s{place}",
                junction=place,
                block=number,
                size_mwh=size,
                price_usd_per_mwh=round(price, 3),
            )
            for number, (size, price) in enumerate(offered, start=1)
        ]
    return tuple(rows)


def _block_sizes_mwh(network: GasNetwork, place: str, count: int, assumptions: Assumptions) -> list[float]:
    """Return the sizes of a junction's blocks.

    With a chosen block size, a published fixed receipt is gas that flows in any case: it is added to the
    first, cheapest block.
    """
    scale = mwh_per_kg_per_s(network, assumptions)
    here = [row for row in network.receipts if row.junction == place]
    if assumptions.supply_block_flow_units is None:
        total = sum(row.flow_max_kg_per_s for row in here) * scale * assumptions.supply_factor
        return [round(total / count, 2)] * count
    block = assumptions.supply_block_flow_units * network.base_flow_kg_per_s * scale
    fixed = sum(row.flow_nominal_kg_per_s for row in here if not row.dispatchable) * scale
    return [round(block + fixed, 2)] + [round(block, 2)] * (count - 1)


def deliveries(
    network: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> tuple[Delivery, ...]:
    """Return the fixed deliveries as sensitive demand; those that links name are power plants."""
    scale = mwh_per_kg_per_s(network, assumptions)
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
            Delivery(delivery=f"d{row.id}", junction=row.junction, base_mwh=base_mwh, mdq_mwh=contracted)
        )
    return tuple(rows)
