"""What must hold between the tables of a case: ids, references, networks that hang together, bids in order.

Each check raises an error naming the file, the row and the remedy; ranges of single values are in
:mod:`ppsm.cases.entities`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ppsm.cases.csv_tables import check_values, fail
from ppsm.cases.entities import TABLES, Compressor, Pipe, Regulator, upstream_downstream
from ppsm.errors import FileFormatError

if TYPE_CHECKING:
    from ppsm.cases.schema import Case

_TOLERANCE_MW = 1e-6


def check_case(case: Case, *, directed: bool = True) -> None:
    """Raise an error for the first thing that is wrong with a case.

    With ``directed`` false the flow directions are not looked at: they may still have to be found.
    """
    for table, kind in TABLES.items():
        check_values(f"{table}.csv", kind, getattr(case, table))
    _check_not_empty(case)
    _check_ids(case)
    _check_references(case)
    _check_fleets(case)
    _check_bids(case)
    _check_supplies(case)
    _check_gas_numbers(case)
    _check_zones(case)
    _check_links(case)
    _check_load_shape(case)
    _check_power_network(case)
    _check_gas_network(case)
    if directed:
        _check_flow_directions(case)


def _check_not_empty(case: Case) -> None:
    for table in ("buses", "fleets", "bids", "junctions", "supplies", "deliveries", "load_shape"):
        if not getattr(case, table):
            raise FileFormatError(f"{table}.csv has no rows; a case needs at least one, add it.")


def _check_unique(file: str, keys: Iterable[Any], what: str) -> None:
    seen: dict[Any, int] = {}
    for index, key in enumerate(keys):
        if key in seen:
            shown = " block ".join(str(part) for part in key) if isinstance(key, tuple) else key
            fail(file, index, f"{what} '{shown}' is already in row {seen[key] + 2}; give each row its own.")
        seen[key] = index


def _check_ids(case: Case) -> None:
    single = {"buses": "bus", "lines": "line", "fleets": "fleet", "junctions": "junction", "pipes": "pipe"}
    single |= {"compressors": "compressor", "regulators": "regulator", "deliveries": "delivery"}
    single |= {"links": "fleet"}
    for table, column in single.items():
        _check_unique(f"{table}.csv", (getattr(row, column) for row in getattr(case, table)), column)
    _check_unique("bids.csv", ((bid.fleet, bid.block) for bid in case.bids), "fleet")
    _check_unique("supplies.csv", ((bid.supply, bid.block) for bid in case.supplies), "supply")


def _check_references(case: Case) -> None:
    buses = {bus.bus for bus in case.buses}
    fleets = {fleet.fleet for fleet in case.fleets}
    junctions = {junction.junction for junction in case.junctions}
    expected: list[tuple[str, tuple[str, ...], set[str], str]] = [
        ("lines", ("from_bus", "to_bus"), buses, "buses"),
        ("fleets", ("bus",), buses, "buses"),
        ("bids", ("fleet",), fleets, "fleets"),
        ("links", ("fleet",), fleets, "fleets"),
    ]
    ends = ("from_junction", "to_junction")
    expected += [(table, ends, junctions, "junctions") for table in ("pipes", "compressors", "regulators")]
    expected += [
        (table, ("junction",), junctions, "junctions") for table in ("supplies", "deliveries", "links")
    ]
    for table, columns, known, home in expected:
        for index, row in enumerate(getattr(case, table)):
            values = [getattr(row, column) for column in columns]
            for column, value in zip(columns, values, strict=True):
                if value not in known:
                    fail(
                        f"{table}.csv",
                        index,
                        f"{column} '{value}' is not in {home}.csv; add it or correct it.",
                    )
            if len(set(values)) < len(values):
                fail(f"{table}.csv", index, f"both ends are '{values[0]}'; connect two different ones.")


def _check_fleets(case: Case) -> None:
    for index, fleet in enumerate(case.fleets):
        if fleet.unit_min_mw > fleet.unit_size_mw:
            fail(
                "fleets.csv",
                index,
                f"the least output {fleet.unit_min_mw:g} MW of '{fleet.fleet}' is above its size "
                f"{fleet.unit_size_mw:g} MW; correct one.",
            )
    for index, line in enumerate(case.lines):
        if line.reactance_pu == 0:
            fail(
                "lines.csv", index, f"line '{line.line}' has reactance 0; DC power flow needs another value."
            )


def _check_blocks(
    file: str, rows: Sequence[Any], owner: Callable[[Any], str]
) -> dict[str, list[tuple[int, Any]]]:
    """Check that blocks are numbered 1, 2, ... with prices that never fall; return them by owner."""
    blocks: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for index, row in enumerate(rows):
        before = blocks[owner(row)]
        if row.block != len(before) + 1:
            fail(
                file,
                index,
                f"'{owner(row)}' has block {row.block} here; expected {len(before) + 1}, reorder.",
            )
        if before and row.price_usd_per_mwh < before[-1][1].price_usd_per_mwh:
            fail(
                file,
                index,
                f"the price of '{owner(row)}' falls in block {row.block}; sort its blocks by price.",
            )
        before.append((index, row))
    return blocks


def _check_bids(case: Case) -> None:
    blocks = _check_blocks("bids.csv", case.bids, lambda bid: str(bid.fleet))
    for index, fleet in enumerate(case.fleets):
        total = sum(bid.size_mw for _, bid in blocks.get(fleet.fleet, []))
        if abs(total - fleet.unit_size_mw) > _TOLERANCE_MW * max(1.0, fleet.unit_size_mw):
            fail(
                "fleets.csv",
                index,
                f"the bid blocks of '{fleet.fleet}' in bids.csv add up to {total:g} MW per unit; "
                f"expected its size {fleet.unit_size_mw:g} MW, correct one.",
            )


def _check_supplies(case: Case) -> None:
    blocks = _check_blocks("supplies.csv", case.supplies, lambda bid: str(bid.supply))
    for supply, rows in blocks.items():
        for index, row in rows:
            if row.junction != rows[0][1].junction:
                fail(
                    "supplies.csv", index, f"'{supply}' changes its junction; expected {rows[0][1].junction}."
                )


def _check_gas_numbers(case: Case) -> None:
    for index, junction in enumerate(case.junctions):
        if junction.pressure_min_bar > junction.pressure_max_bar:
            fail(
                "junctions.csv",
                index,
                f"junction '{junction.junction}' has its least pressure {junction.pressure_min_bar:g} bar "
                f"above its largest {junction.pressure_max_bar:g} bar; correct one.",
            )
    for table in ("compressors", "regulators"):
        for index, row in enumerate(getattr(case, table)):
            if row.ratio_min > row.ratio_max:
                fail(f"{table}.csv", index, f"ratio_min {row.ratio_min:g} exceeds ratio_max; correct one.")
    highest = 1.0 + max(case.gas_stress)
    for index, delivery in enumerate(case.deliveries):
        if delivery.base_mwh * highest > delivery.mdq_mwh * (1 + 1e-9):
            fail(
                "deliveries.csv",
                index,
                f"delivery '{delivery.delivery}' needs more at the highest stress than its contracted "
                f"{delivery.mdq_mwh:g} MWh; raise mdq_mwh or lower the stress.",
            )


def _check_zones(case: Case) -> None:
    named = any(delivery.zone for delivery in case.deliveries)
    for index, delivery in enumerate(case.deliveries):
        if named and not delivery.zone:
            whose = f"delivery '{delivery.delivery}' has no zone and others have"
            fail("deliveries.csv", index, f"{whose}; name a zone for all or for none.")


def _check_links(case: Case) -> None:
    fuels = {fleet.fleet: fleet.fuel for fleet in case.fleets}
    for index, link in enumerate(case.links):
        if fuels[link.fleet] != "gas":
            fail(
                "links.csv",
                index,
                f"fleet '{link.fleet}' burns {fuels[link.fleet]}; expected a gas-fired fleet.",
            )


def _check_load_shape(case: Case) -> None:
    for index, hour in enumerate(case.load_shape):
        if hour.hour != index:
            fail("load_shape.csv", index, f"the hour is {hour.hour}; expected {index}, list hours from 0 on.")


def _reached(edges: Iterable[tuple[str, str]], starts: Iterable[str]) -> set[str]:
    """Return the nodes that can be reached from the starts along directed edges."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for start, end in edges:
        neighbours[start].append(end)
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for node in neighbours[waiting.pop()]:
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


def _both_ways(edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [*edges, *((end, start) for start, end in edges)]


def _check_power_network(case: Case) -> None:
    edges = _both_ways([(line.from_bus, line.to_bus) for line in case.lines])
    reached = _reached(edges, [case.buses[0].bus])
    producing = {fleet.bus for fleet in case.fleets}
    for index, bus in enumerate(case.buses):
        if bus.bus not in reached:
            island = _reached(edges, [bus.bus])
            supply = "has fleets" if island & producing else "has no fleet"
            fail(
                "buses.csv",
                index,
                f"bus '{bus.bus}' is on an island of {len(island)} that {supply} and no line to bus "
                f"'{case.buses[0].bus}'; connect it in lines.csv or remove it.",
            )
    peak_mw = max(hour.load_factor for hour in case.load_shape) * sum(bus.load_mw for bus in case.buses)
    capacity_mw = sum(fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets)
    capacity_mw += sum(bus.injection_mw for bus in case.buses)
    if capacity_mw < peak_mw:
        raise FileFormatError(
            f"fleets.csv offers {capacity_mw:g} MW for a peak load of {peak_mw:g} MW in buses.csv before any "
            "stress; add fleets or lower the load."
        )


def _flow_edges(case: Case) -> list[tuple[str, str]]:
    rows: tuple[Pipe | Compressor | Regulator, ...] = (*case.pipes, *case.compressors, *case.regulators)
    return [upstream_downstream(row) for row in rows]


def _check_gas_network(case: Case) -> None:
    edges = _flow_edges(case)
    supplied = {bid.junction for bid in case.supplies}
    anywhere = _reached(_both_ways(edges), [case.junctions[0].junction])
    for index, junction in enumerate(case.junctions):
        if junction.junction not in anywhere:
            island = _reached(_both_ways(edges), [junction.junction])
            supply = "has a supply" if island & supplied else "has no supply"
            fail(
                "junctions.csv",
                index,
                f"junction '{junction.junction}' is on an island of {len(island)} that {supply} and no "
                f"pipe to junction '{case.junctions[0].junction}'; connect it or remove it.",
            )


def _check_flow_directions(case: Case) -> None:
    downstream = _reached(_flow_edges(case), {bid.junction for bid in case.supplies})
    for index, delivery in enumerate(case.deliveries):
        if delivery.base_mwh > 0 and delivery.junction not in downstream:
            fail(
                "deliveries.csv",
                index,
                f"no supply can reach junction '{delivery.junction}' of delivery '{delivery.delivery}' along "
                "the flow directions; turn a pipe around or add a supply.",
            )
    for index, link in enumerate(case.links):
        if link.junction not in downstream:
            fail(
                "links.csv",
                index,
                f"no supply can reach junction '{link.junction}' of fleet '{link.fleet}' along the flow "
                "directions; turn a pipe around or add a supply.",
            )
