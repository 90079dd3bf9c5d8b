"""The case: one directory of CSV tables and a ``case.toml``, read and checked as a whole.

:func:`load_case` takes the name of a built-in case or a directory. The version of the schema is in
``case.toml``; tables and columns are those of :mod:`ppsm.cases.entities`.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.checks import check_case
from ppsm.cases.csv_tables import read_table, write_table
from ppsm.cases.entities import (
    TABLES,
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
from ppsm.errors import FileFormatError, InputError
from ppsm.files import write_atomically
from ppsm.privacy.measurements import zone_numbers

SCHEMA_VERSION = 1
UNITS = {"power": "MW", "energy": "MWh", "pressure": "bar", "money": "USD"}


@dataclass(frozen=True)
class Case:
    """A gas-and-power market: networks, bids, sensitive demand and the stress grid of its experiments."""

    name: str
    title: str
    source: str
    base_mva: float
    reserve_fraction: float
    power_stress: tuple[float, ...]
    gas_stress: tuple[float, ...]
    buses: tuple[Bus, ...]
    lines: tuple[Line, ...]
    fleets: tuple[Fleet, ...]
    bids: tuple[Bid, ...]
    junctions: tuple[Junction, ...]
    pipes: tuple[Pipe, ...]
    compressors: tuple[Compressor, ...]
    regulators: tuple[Regulator, ...]
    supplies: tuple[SupplyBid, ...]
    deliveries: tuple[Delivery, ...]
    links: tuple[Link, ...]
    load_shape: tuple[LoadHour, ...]

    @property
    def delivery_ids(self) -> tuple[str, ...]:
        """The entries of the sensitive demand vector, in order."""
        return tuple(delivery.delivery for delivery in self.deliveries)

    def demand_mwh(self, gas_stress: float) -> FloatArray:
        """Daily demand per delivery when all of it is raised by ``gas_stress`` (0.7 is +70 %)."""
        return np.array([delivery.base_mwh for delivery in self.deliveries]) * (1.0 + gas_stress)

    def mdq_mwh(self) -> FloatArray:
        """Return the public upper bound of each entry of the demand vector."""
        return np.array([delivery.mdq_mwh for delivery in self.deliveries])

    def delivery_zones(self) -> tuple[int, ...]:
        """The zone of each entry of the demand vector, counted from 0; empty where all are in one."""
        return zone_numbers([delivery.zone for delivery in self.deliveries])

    def load_mw(self, power_stress: float) -> FloatArray:
        """Load per hour (rows) and bus (columns) when all of it is raised by ``power_stress``."""
        shape = np.array([hour.load_factor for hour in self.load_shape])
        return np.outer(shape, [bus.load_mw for bus in self.buses]) * (1.0 + power_stress)


def builtin_cases() -> tuple[str, ...]:
    """Return the names of the cases that come with the package."""
    data = builtin_directory("")
    return tuple(sorted(entry.name for entry in data.iterdir() if (entry / "case.toml").is_file()))


def builtin_directory(name: str) -> Path:
    """Return where the tables of a built-in case are."""
    return Path(str(resources.files("ppsm.cases"))) / "data" / name


def load_case(name_or_dir: str | Path) -> Case:
    """Load a built-in case by name, or a case directory by path, and check it."""
    directory = Path(name_or_dir)
    if str(name_or_dir) in builtin_cases():
        directory = builtin_directory(str(name_or_dir))
    elif not directory.is_dir():
        raise InputError(
            f"there is no case '{name_or_dir}': it is neither built in ({', '.join(builtin_cases())}) "
            "nor a directory; give one of these names or a path."
        )
    for name in TABLES:
        if not (directory / f"{name}.csv").exists():
            raise FileFormatError(f"{name}.csv is missing in {directory}; every case needs this table.")
    tables: dict[str, Any] = {
        name: read_table(directory / f"{name}.csv", kind) for name, kind in TABLES.items()
    }
    case = Case(**_settings(directory / "case.toml"), **tables)
    check_case(case)
    return case


def _settings(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileFormatError(f"case.toml is missing in {path.parent}; a case directory needs one.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(f"case.toml cannot be read ({error}); correct the file.") from None
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise FileFormatError(
            f"case.toml has schema_version {version}; this release reads version {SCHEMA_VERSION}, "
            "convert the case."
        )
    units = _section(content, "units")
    for quantity, unit in UNITS.items():
        if units.get(quantity) != unit:
            raise FileFormatError(
                f"case.toml: the unit of {quantity} is {units.get(quantity)!r}; expected '{unit}', "
                "convert the tables."
            )
    stress = _section(content, "stress")
    power = _section(content, "power")
    return {
        **{name: _text(content, name) for name in ("name", "title", "source")},
        "base_mva": _number(power, "base_mva", 1e-3, 1e5),
        "reserve_fraction": _number(power, "reserve_fraction", 0.0, 1.0),
        "power_stress": _grid(stress, "power"),
        "gas_stress": _grid(stress, "gas"),
    }


def _section(content: dict[str, Any], name: str) -> dict[str, Any]:
    section = content.get(name)
    if not isinstance(section, dict):
        raise FileFormatError(f"case.toml has no section [{name}]; add it.")
    return section


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise FileFormatError(f"case.toml: {name} is {value!r}; expected a text in quotes.")
    return value


def _number(section: dict[str, Any], name: str, least: float, most: float) -> float:
    value = section.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise FileFormatError(
            f"case.toml: {name} is {value!r}; expected a number from {least:g} to {most:g}."
        )
    return float(value)


def _grid(section: dict[str, Any], name: str) -> tuple[float, ...]:
    values = section.get(name)
    if not isinstance(values, list) or not values:
        raise FileFormatError(f"case.toml: the {name} stress is {values!r}; expected a list of numbers.")
    grid = tuple(_number({f"a {name} stress": value}, f"a {name} stress", -1.0, 10.0) for value in values)
    if list(grid) != sorted(set(grid)):
        raise FileFormatError(f"case.toml: the {name} stress is {values}; expected increasing numbers.")
    return grid


def save_case(case: Case, directory: Path) -> None:
    """Write a case as a directory that :func:`load_case` reads back equal; equal cases give equal bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, kind in TABLES.items():
        write_table(directory / f"{name}.csv", kind, getattr(case, name))
    write_atomically(directory / "case.toml", _toml(case))


def _toml(case: Case) -> str:
    units = "\n".join(f'{quantity} = "{unit}"' for quantity, unit in UNITS.items())
    return f"""\
schema_version = {SCHEMA_VERSION}
name = {_quoted(case.name)}
title = {_quoted(case.title)}
source = {_quoted(case.source)}

[units]
{units}

[power]
base_mva = {case.base_mva}
reserve_fraction = {case.reserve_fraction}

[stress]  # relative increase of all loads and of all gas demands
power = {list(case.power_stress)}
gas = {list(case.gas_stress)}
"""


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
