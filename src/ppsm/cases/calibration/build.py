"""Published files and assumptions -> a case whose flow directions are still the published orientation."""

from collections.abc import Sequence

from ppsm.cases.calibration import gas as gas_tables
from ppsm.cases.calibration import power as power_tables
from ppsm.cases.calibration.assumptions import Assumptions
from ppsm.cases.entities import LoadHour
from ppsm.cases.links import GasLink
from ppsm.cases.matgas import GasNetwork
from ppsm.cases.matpower import PowerNetwork
from ppsm.cases.schema import Case


def build_case(
    power: PowerNetwork, gas: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> Case:
    """Return the case of two published networks and the links between them."""
    fleets, bids, heat_rates = power_tables.fleets(power, assumptions, links)
    return Case(
        name=assumptions.name,
        title=assumptions.title,
        source=assumptions.source,
        base_mva=power.base_mva,
        reserve_fraction=0.0,
        power_stress=assumptions.power_stress,
        gas_stress=assumptions.gas_stress,
        buses=power_tables.buses(power),
        lines=power_tables.lines(power, assumptions),
        fleets=fleets,
        bids=bids,
        junctions=gas_tables.junctions(gas, assumptions),
        pipes=gas_tables.pipes(gas, assumptions),
        compressors=gas_tables.compressors(gas, assumptions),
        regulators=gas_tables.regulators(gas, assumptions),
        supplies=gas_tables.supplies(gas, assumptions),
        deliveries=gas_tables.deliveries(gas, assumptions),
        links=power_tables.links(links, gas, heat_rates, assumptions),
        load_shape=tuple(
            LoadHour(hour=hour, load_factor=factor) for hour, factor in enumerate(assumptions.load_shape)
        ),
    )
