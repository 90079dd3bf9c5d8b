"""Published networks and assumptions -> a checked case with flow directions."""

from collections.abc import Sequence

from ppsm.cases.calibration import gas as gas_tables
from ppsm.cases.calibration import power as power_tables
from ppsm.cases.calibration.assumptions import Assumptions
from ppsm.cases.calibration.directions import with_flow_directions
from ppsm.cases.calibration.dispatch import approximate_dispatch
from ppsm.cases.calibration.withdrawals import withdrawals_mwh
from ppsm.cases.checks import check_case
from ppsm.cases.entities import LoadHour
from ppsm.cases.links import GasLink
from ppsm.cases.matgas import GasNetwork
from ppsm.cases.matpower import PowerNetwork
from ppsm.cases.schema import Case


def build_case(
    power: PowerNetwork, gas: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> Case:
    """Return the case of two published networks and the links between them, checked."""
    case = _in_published_orientation(power, gas, links, assumptions)
    check_case(case, directed=False)
    dispatch = approximate_dispatch(case, max(case.power_stress), assumptions.direction_price_usd_per_mmbtu)
    stressed = withdrawals_mwh(case, case.demand_mwh(max(case.gas_stress)), dispatch.burn_mwh)
    directed = with_flow_directions(case, stressed)
    check_case(directed)
    return directed


def _in_published_orientation(
    power: PowerNetwork, gas: GasNetwork, links: Sequence[GasLink], assumptions: Assumptions
) -> Case:
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
        deliveries=gas_tables.deliveries(gas, links, assumptions),
        links=power_tables.links(links, gas, heat_rates, assumptions),
        load_shape=tuple(
            LoadHour(hour=hour, load_factor=factor) for hour, factor in enumerate(assumptions.load_shape)
        ),
    )
