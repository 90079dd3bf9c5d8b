"""Reader for power networks in the MATPOWER case format, version 2.

The columns are those of the MATPOWER User's Manual, appendix B. Extension tables follow the PowerModels
convention: ``mpc.bus_geo`` with as many rows as ``mpc.bus`` adds columns to the buses, and likewise for
``gen_*`` and ``branch_*``; MATPOWER's own ``genfuel`` and ``bus_name`` cell arrays are read too.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from ppsm.cases.matlab import Cell, MatlabFile, parse_matlab, read_matlab
from ppsm.cases.matlab_rows import TableRow, table_rows, unique_by

_BUS = ["bus_i", "type", "Pd", "Qd", "Gs", "Bs", "area", "Vm", "Va", "baseKV", "zone", "Vmax", "Vmin"]
_GEN = [
    "bus",
    "Pg",
    "Qg",
    "Qmax",
    "Qmin",
    "Vg",
    "mBase",
    "status",
    "Pmax",
    "Pmin",
    "Pc1",
    "Pc2",
    "Qc1min",
    "Qc1max",
    "Qc2min",
    "Qc2max",
    "ramp_agc",
    "ramp_10",
    "ramp_30",
    "ramp_q",
    "apf",
]
_BRANCH = [
    "fbus",
    "tbus",
    "r",
    "x",
    "b",
    "rateA",
    "rateB",
    "rateC",
    "ratio",
    "angle",
    "status",
    "angmin",
    "angmax",
]

# MATPOWER writes "no limit" as 0; published files also use huge numbers for it.
_NO_RATING_MW = 1e8


@dataclass(frozen=True)
class PowerBus:
    """A bus with its demand; latitude and longitude are NaN where the file has none."""

    id: str
    name: str
    demand_mw: float
    latitude: float
    longitude: float
    isolated: bool


@dataclass(frozen=True)
class PowerGenerator:
    """A generator; ``id`` is its row (from 1), by which link files refer to it."""

    id: str
    bus: str
    name: str
    fuel: str
    kind: str
    max_mw: float
    min_mw: float
    marginal_usd_per_mwh: float
    in_service: bool


@dataclass(frozen=True)
class PowerBranch:
    """A line or transformer for DC power flow; ``rating_mw`` is infinite where there is no limit."""

    id: str
    from_bus: str
    to_bus: str
    reactance_pu: float
    tap_ratio: float
    shift_deg: float
    rating_mw: float
    in_service: bool


@dataclass(frozen=True)
class PowerNetwork:
    """A power network as published, in MW and per unit on ``base_mva``."""

    path: Path
    base_mva: float
    buses: tuple[PowerBus, ...]
    generators: tuple[PowerGenerator, ...]
    branches: tuple[PowerBranch, ...]


def read_matpower(path: str | Path) -> PowerNetwork:
    """Read a MATPOWER case file."""
    return _network(read_matlab(Path(path)))


def parse_matpower(text: str, path: str | Path = "power.m") -> PowerNetwork:
    """Read the text of a MATPOWER case file; ``path`` is only named in errors."""
    return _network(parse_matlab(text, Path(path)))


def _network(file: MatlabFile) -> PowerNetwork:
    version = file.fields.get("version")
    if version is not None and getattr(version, "value", None) not in {"2", 2.0}:
        raise file.error(
            version.line, "the case format is not version 2; convert the file with MATPOWER first."
        )
    for name in ("bus", "gen", "branch"):
        if file.table(name) is None:
            raise file.error(
                1, f"there is no table '{name}'; expected a MATPOWER case with bus, gen and branch."
            )
    base_mva = file.number("baseMVA")
    if base_mva is None or not 0 < base_mva < math.inf:
        raise file.error(1, f"'baseMVA' is {base_mva}; expected a positive number of MVA, usually 100.")
    buses = _buses(file)
    known = {bus.id for bus in buses}
    return PowerNetwork(file.path, base_mva, buses, _generators(file, known), _branches(file, known))


def _extended(file: MatlabFile, name: str, columns: list[str], required: int) -> tuple[TableRow, ...]:
    """Return the rows of a table with the columns of its extension tables merged in."""
    rows = table_rows(file, name, columns, required=required)
    for other in file.fields:
        if not other.startswith(f"{name}_"):
            continue
        extension = file.table(other)
        if extension is None or not extension.rows or not (extension.columns or len(rows)):
            continue
        if len(extension.rows) != len(rows):
            raise file.error(
                extension.line,
                f"'{other}' has {len(extension.rows)} rows but '{name}' has {len(rows)}; expected one each.",
            )
        names = extension.columns or (other.removeprefix(f"{name}_"),)
        rows = tuple(
            replace(row, values={**_named(names, more.cells), **row.values})
            for row, more in zip(rows, extension.rows, strict=True)
        )
    return rows


def _named(names: tuple[str, ...], cells: tuple[Cell, ...]) -> dict[str, Cell]:
    return dict(zip(names, cells, strict=False))


def _buses(file: MatlabFile) -> tuple[PowerBus, ...]:
    rows = _extended(file, "bus", _BUS, 3)
    if not rows:
        raise file.error(1, "the table 'bus' is empty; expected at least one bus.")
    return tuple(
        PowerBus(
            id=name,
            name=row.text("name", name),
            demand_mw=row.number("Pd"),
            latitude=row.number("latitude", math.nan) if "latitude" in row.values else math.nan,
            longitude=row.number("longitude", math.nan) if "longitude" in row.values else math.nan,
            isolated=row.number("type") == 4,  # MATPOWER's code for an isolated bus
        )
        for name, row in unique_by(file, rows, "bus_i")
    )


def _bus(file: MatlabFile, row: TableRow, column: str, known: set[str]) -> str:
    bus = row.identifier(column)
    if bus not in known:
        raise file.error(
            row.line, f"'{row.table}' refers to bus {bus}, which is not in 'bus'; correct the number."
        )
    return bus


def _generators(file: MatlabFile, known: set[str]) -> tuple[PowerGenerator, ...]:
    rows = _extended(file, "gen", _GEN, 10)
    costs = _marginal_costs(file, len(rows))
    fuels = _list(file, "genfuel", len(rows))
    result = []
    for index, row in enumerate(rows):
        least, most = row.number("Pmin"), row.number("Pmax")
        if least > most:
            raise file.error(
                row.line, f"generator {index + 1} has Pmin {least:g} above Pmax {most:g}; correct one."
            )
        result.append(
            PowerGenerator(
                id=str(index + 1),
                bus=_bus(file, row, "bus", known),
                name=row.text("name", str(index + 1)),
                fuel=row.text("fuel_type", fuels[index]).lower(),
                # published files write both "single cycle" and "single_cycle"
                kind=row.text("comment").lower().replace("_", " ").replace("none", ""),
                max_mw=most,
                min_mw=least,
                marginal_usd_per_mwh=costs[index],
                in_service=row.active(),
            )
        )
    return tuple(result)


def _list(file: MatlabFile, name: str, length: int) -> list[str]:
    table = file.table(name)
    if table is None:
        return [""] * length
    cells = [str(cell) for row in table.rows for cell in row.cells]
    if len(cells) != length:
        raise file.error(
            table.line, f"'{name}' has {len(cells)} entries for {length} generators; expected one each."
        )
    return cells


def _marginal_costs(file: MatlabFile, count: int) -> list[float]:
    """Return each generator's marginal cost at half load; zero where the file has no cost table."""
    table = file.table("gencost")
    if table is None or not table.rows:
        return [0.0] * count
    if len(table.rows) not in {count, 2 * count}:
        raise file.error(
            table.line,
            f"'gencost' has {len(table.rows)} rows for {count} generators; expected one or two each.",
        )
    result = []
    for row in table.rows[:count]:
        numbers = [cell for cell in row.cells if isinstance(cell, float) and not math.isnan(cell)]
        if len(numbers) != len(row.cells) or len(numbers) < 4 or numbers[0] not in {1, 2}:
            raise file.error(
                row.line, "a row of 'gencost' is not 'model startup shutdown n ...'; correct the row."
            )
        points = int(numbers[3]) if math.isfinite(numbers[3]) else -1
        width = points * 2 if numbers[0] == 1 else points
        values = numbers[4 : 4 + width]
        if points < 0 or len(values) < width:
            raise file.error(
                row.line, f"a row of 'gencost' announces {points} cost points and holds fewer; complete it."
            )
        result.append(_slope(numbers[0] == 1, values))
    return result


def _slope(piecewise: bool, values: list[float]) -> float:
    """Return a representative marginal cost: the average slope, or the linear coefficient."""
    if not piecewise:
        return values[-2] if len(values) >= 2 else 0.0
    width = values[-2] - values[0] if len(values) >= 4 else 0.0
    return (values[-1] - values[1]) / width if width > 0 else 0.0


def _branches(file: MatlabFile, known: set[str]) -> tuple[PowerBranch, ...]:
    result = []
    for index, row in enumerate(_extended(file, "branch", _BRANCH, 11)):
        reactance = row.number("x")
        if row.active() and reactance == 0:
            raise file.error(
                row.line, "a branch in service has reactance 0; DC power flow needs another value."
            )
        rating = row.number("rateA", least=0, infinite=True)
        result.append(
            PowerBranch(
                id=str(index + 1),
                from_bus=_bus(file, row, "fbus", known),
                to_bus=_bus(file, row, "tbus", known),
                reactance_pu=reactance,
                tap_ratio=row.number("ratio") or 1.0,  # MATPOWER writes a line's ratio as 0
                shift_deg=row.number("angle"),
                rating_mw=math.inf if rating == 0 or rating >= _NO_RATING_MW else rating,
                in_service=row.active(),
            )
        )
    return tuple(result)
