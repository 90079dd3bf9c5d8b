"""A case in figures: what ``ppsm case show`` prints, and remarks on what is unusual but allowed."""

import math
from collections import defaultdict
from typing import Any

from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case


def summary(case: Case) -> dict[str, Any]:
    """Return the main figures of a case, ready for JSON."""
    return {
        "name": case.name,
        "title": case.title,
        "source": case.source,
        "power": _power(case),
        "gas": _gas(case),
        "stress": {"power": list(case.power_stress), "gas": list(case.gas_stress)},
        "remarks": remarks(case),
    }


def _power(case: Case) -> dict[str, Any]:
    fuels: dict[str, dict[str, float]] = defaultdict(lambda: {"fleets": 0, "units": 0, "capacity_mw": 0.0})
    for fleet in case.fleets:
        entry = fuels[fleet.fuel]
        entry["fleets"] += 1
        entry["units"] += fleet.unit_count
        entry["capacity_mw"] = round(entry["capacity_mw"] + fleet.unit_count * fleet.unit_size_mw, 2)
    return {
        "buses": len(case.buses),
        "lines": len(case.lines),
        "lines_with_rating": sum(math.isfinite(line.rating_mw) for line in case.lines),
        "hours": len(case.load_shape),
        "peak_load_mw": round(_peak_load_mw(case), 2),
        "fleets_by_fuel": dict(sorted(fuels.items())),
    }


def _peak_load_mw(case: Case) -> float:
    return float(case.load_mw(0.0).sum(axis=1).max())


def _gas(case: Case) -> dict[str, Any]:
    demand = case.demand_mwh(0.0)
    prices = [bid.price_usd_per_mwh * MWH_PER_MMBTU for bid in case.supplies]
    return {
        "junctions": len(case.junctions),
        "pipes": len(case.pipes),
        "compressors": len(case.compressors),
        "regulators": len(case.regulators),
        "supply_mwh": round(sum(bid.size_mwh for bid in case.supplies), 2),
        "supply_price_usd_per_mmbtu": [round(min(prices), 3), round(max(prices), 3)],
        "deliveries": len(case.deliveries),
        "base_demand_mwh": round(float(demand.sum()), 2),
        "largest_base_demand_mwh": round(float(demand.max()), 2),
        "contracted_mwh": round(float(case.mdq_mwh().sum()), 2),
        "linked_fleets": len(case.links),
    }


def remarks(case: Case) -> list[str]:
    """Return what a reader should know of a valid case, one sentence each."""
    found = []
    linked = {link.fleet for link in case.links}
    unlinked = [fleet.fleet for fleet in case.fleets if fleet.fuel == "gas" and fleet.fleet not in linked]
    if unlinked:
        found.append(
            f"{len(unlinked)} gas fleets have no link (first: {unlinked[0]}): gas prices do not reach them."
        )
    peak_mw = _peak_load_mw(case) * (1.0 + max(case.power_stress))
    capacity_mw = sum(fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets)
    if capacity_mw < peak_mw:
        found.append(
            f"At the highest power stress the peak of {peak_mw:.0f} MW exceeds all fleets "
            f"({capacity_mw:.0f} MW)."
        )
    demand_mwh = float(case.demand_mwh(max(case.gas_stress)).sum())
    supply_mwh = sum(bid.size_mwh for bid in case.supplies)
    if supply_mwh < demand_mwh:
        found.append(
            f"At the highest gas stress the demand of {demand_mwh:.0f} MWh exceeds all supply "
            f"({supply_mwh:.0f} MWh)."
        )
    return found
