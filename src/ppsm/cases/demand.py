"""Demand vectors in files: a table of nodes and daily demands, with a row for each delivery of a case.

The unit is said by the column (``demand_mwh``, ``demand_gwh``, ``Demand [kWh]``), by a column ``unit`` beside
``demand``, or by the caller; what the public maximum quantities make implausible is refused.

A table of days has a column ``day`` and one for each delivery (``homes_mwh``, or ``homes`` with the unit
said as above), and a row for each day.

Tables are read as people have them: CSV with comma, semicolon or tab, decimal comma, UTF-8 or UTF-16, Excel
sheets. Such a file may hold a secret: errors tell of rows and defects, and quote nothing that stands in it.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.csv_tables import REMARK, fail, key, number, write_table, wrong_width
from ppsm.cases.schema import Case
from ppsm.cases.workbook import sheet_lines
from ppsm.errors import FileFormatError, InputError

MWH_PER_UNIT = {"kwh": 1e-3, "mwh": 1.0, "gwh": 1e3}
_DEMAND = re.compile(r"demand(?:[ _]*[\[(]?(?P<unit>kwh|mwh|gwh)[\])]?)?", re.IGNORECASE)
_NAMED = re.compile(r"(?P<node>.*?)[ _]*[\[(]?(?P<unit>kwh|mwh|gwh)[\])]?", re.IGNORECASE)
_EXPECTED_OF_DAYS = "day and a column for each delivery, such as homes_mwh (or homes with a column unit)"
# What Excel adds to a day.
_MIDNIGHT = " 00:00:00"
_EXPECTED = "node and demand_mwh (or demand_kwh, demand_gwh, or demand with a column unit)"
# Figures that are absurd in any unit, and a total so small that it is rather one in another unit.
_MOST_MWH = 1e8
_LEAST_SHARE = 0.002
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = ",;\t"
_BLANKS = _DELIMITERS + " "
_WORKBOOKS = {".xlsx", ".xlsm"}
_THREE_DECIMALS = re.compile(r"[-+]?\d{1,3}[.,]\d{3}")


@dataclass(frozen=True)
class DemandRow:
    """The daily demand at one delivery; noise may have made it negative."""

    node: str = key()
    demand_mwh: float = number(-_MOST_MWH, _MOST_MWH, hidden=True)


@dataclass(frozen=True)
class _Table:
    """Cells as text below a header; ``delimiter`` is empty for a sheet of a workbook."""

    file: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    delimiter: str = ""


def read_demand(
    path: str | Path,
    case: Case,
    *,
    allow_negative: bool = False,
    plausible: bool = True,
    unit: str | None = None,
    sheet: str | None = None,
) -> FloatArray:
    """Read a demand vector in MWh, in the order of the case's deliveries.

    The file is a CSV table (comma, semicolon or tab; decimal comma; UTF-8 or UTF-16) or an Excel workbook, of
    which ``sheet`` names the sheet. ``unit`` (kWh, MWh or GWh) is that of a column that says none.

    Entries below zero are refused unless ``allow_negative`` is set: a noisy release may hold them, true
    demand cannot. What the public maximum quantities make implausible is refused unless ``plausible`` is
    False, as in a release: nothing that happens before the noise may tell one demand from another. The file
    may hold a secret, so errors tell of rows and defects and quote nothing.
    """
    if not Path(path).exists():
        raise InputError(
            f"there is no file '{path}' (looked for from {Path.cwd()}): check the path, or fill in what "
            f"'ppsm case template {case.name}' prints."
        )
    table = _read_table(Path(path), sheet, _known, _EXPECTED)
    place = {name: index for index, name in enumerate(name.lower() for name in table.header)}
    nodes = [row[place["node"]].strip() for row in table.rows]
    demand_mwh = np.array(_demands_mwh(table, unit))
    order = _order(table.file, nodes, case)
    for index, (node, value) in enumerate(zip(nodes, demand_mwh, strict=True)):
        if value < 0 and not allow_negative:
            fail(table.file, index, f"the demand of '{node}' is below zero; expected at least 0 MWh.")
        if plausible and not allow_negative:
            _refuse_implausible(table.file, index, node, value, float(case.mdq_mwh()[order[index]]))
    demand = np.empty(len(order))
    demand[order] = demand_mwh
    if (
        plausible
        and not allow_negative
        and unit is None
        and demand.sum() < _LEAST_SHARE * case.mdq_mwh().sum()
    ):
        raise FileFormatError(
            f"{table.file}: all demands together are below {_LEAST_SHARE:.1%} of the public maximum, which "
            "looks like another unit: name the column demand_gwh, or say the unit (--demand-unit) if it is "
            "right."
        )
    return demand


def read_demand_days(
    path: str | Path, case: Case, *, unit: str | None = None, sheet: str | None = None
) -> dict[date, FloatArray]:
    """Read a table of days: the demand vector of each in MWh, the days in order.

    Files are those of :func:`read_demand`, with a row for each day and a column for each delivery. Nothing is
    refused for being implausible, and errors quote no figure: the days may be secret.
    """
    table = _read_table(Path(path), sheet, _known_of_days, _EXPECTED_OF_DAYS)
    if not table.rows:
        raise FileFormatError(f"{table.file} has no days; expected a row for each day: add them.")
    names = [name.lower() for name in table.header]
    day_column, unit_column = names.index("day"), names.index("unit") if "unit" in names else None
    columns = [index for index in range(len(names)) if index not in (day_column, unit_column)]
    nodes, units = _columns_of_days(table, columns, case)
    days = _days(table, day_column)
    comma = _has_decimal_comma(table, [row[column] for row in table.rows for column in columns])
    demand = np.empty((len(days), len(case.delivery_ids)))
    for index, row in enumerate(table.rows):
        said = None if unit_column is None else _cell_factor(table.file, index, row[unit_column].strip())
        for column, node, in_header in zip(columns, nodes, units, strict=True):
            what = f"the demand of '{case.delivery_ids[node]}'"
            factor = _one_factor(table.file, unit, in_header, said)
            value = factor * _number(table.file, index, row[column], what, comma=comma)
            if not abs(value) <= _MOST_MWH:
                problem = "is something else (withheld, it may be a secret); expected a finite demand."
                fail(table.file, index, f"{what} {problem}")
            if value < 0:
                fail(table.file, index, f"{what} is below zero; expected at least 0 MWh.")
            demand[index, node] = value
    return {days[index]: demand[index] for index in sorted(range(len(days)), key=days.__getitem__)}


def iso_day(text: str) -> date | None:
    """The day that a text names as YYYY-MM-DD; None for any other text, so that no day has two names."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text else None


def _known_of_days(header: Sequence[str]) -> bool:
    names = [name.lower() for name in header]
    return names.count("day") == 1 and names.count("unit") <= 1 and len(names) > 1


def _columns_of_days(
    table: _Table, columns: Sequence[int], case: Case
) -> tuple[list[int], list[float | None]]:
    """The position in the case and the unit of each column; every delivery must have one."""
    places = {name: index for index, name in enumerate(case.delivery_ids)}
    nodes: list[int] = []
    units: list[float | None] = []
    for column in columns:
        name, factor = table.header[column], None
        said = _NAMED.fullmatch(name)
        if name not in places and said is not None:
            name, factor = said["node"], MWH_PER_UNIT[said["unit"].lower()]
        if name not in places:
            raise FileFormatError(
                f"{table.file}: column {column + 1} is no delivery of the case '{case.name}'; remove it or "
                f"correct its name ('ppsm case template {case.name}' lists them)."
            )
        if places[name] in nodes:
            raise FileFormatError(f"{table.file}: '{name}' has two columns; keep one for each delivery.")
        nodes.append(places[name])
        units.append(factor)
    absent = [name for name, place in places.items() if place not in nodes]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise FileFormatError(
            f"{table.file}: '{absent[0]}'{more} of the case '{case.name}' has no column; add it."
        )
    return nodes, units


def _days(table: _Table, column: int) -> list[date]:
    found: dict[date, int] = {}
    for index, row in enumerate(table.rows):
        day = iso_day(row[column].strip().removesuffix(_MIDNIGHT))
        if day is None:
            fail(table.file, index, "its day is something else (withheld); expected YYYY-MM-DD.")
        if day in found:
            fail(table.file, index, f"{day} occurs twice; keep one row for each day.")
        found[day] = index
    return list(found)


def _one_factor(file: str, unit: str | None, in_header: float | None, in_row: float | None) -> float:
    by_caller = None if unit is None else _factor(unit, "the unit of the demand")
    said = {factor for factor in (by_caller, in_header, in_row) if factor is not None}
    if len(said) > 1:
        raise FileFormatError(f"{file}: two places say different units of the demand; keep the right one.")
    if not said:
        raise FileFormatError(
            f"{file} does not say the unit of its demands; name every column with it, such as homes_mwh, or "
            "say the unit (--demand-unit)."
        )
    return said.pop()


def _known(header: Sequence[str]) -> bool:
    names = [name.lower() for name in header]
    demands = [name for name in names if _DEMAND.fullmatch(name)]
    others = [name for name in names if name not in {"node", "unit"} and not _DEMAND.fullmatch(name)]
    return names.count("node") == 1 and len(demands) == 1 and names.count("unit") <= 1 and not others


def _demands_mwh(table: _Table, unit: str | None) -> list[float]:
    names = [name.lower() for name in table.header]
    column = next(index for index, name in enumerate(names) if _DEMAND.fullmatch(name))
    said = _DEMAND.fullmatch(names[column])
    in_header = None if said is None else said["unit"]
    values = _numbers(table, [row[column] for row in table.rows], "demand_mwh" if in_header else "demand")
    factors = [_factor(unit, "the unit of the demand")] * len(values) if unit is not None else []
    if in_header is not None:
        factors = _agreed(table.file, factors, [MWH_PER_UNIT[in_header]] * len(values))
    if "unit" in names:
        cells = [row[names.index("unit")].strip() for row in table.rows]
        factors = _agreed(table.file, factors, [_cell_factor(table.file, i, c) for i, c in enumerate(cells)])
    if values and not factors:
        raise FileFormatError(
            f"{table.file} does not say the unit of its demands; name the column demand_mwh, demand_kwh or "
            "demand_gwh, or say the unit (--demand-unit)."
        )
    found = [value * factor for value, factor in zip(values, factors, strict=True)]
    for index, value in enumerate(found):
        if not abs(value) <= _MOST_MWH:
            problem = "demand_mwh is something else (withheld, it may be a secret); expected a finite demand."
            fail(table.file, index, problem)
    return found


def _agreed(file: str, before: list[float], now: list[float]) -> list[float]:
    if before and before != now:
        raise FileFormatError(f"{file}: two places say different units of the demand; keep the right one.")
    return now


def _factor(unit: str, what: str) -> float:
    if unit.lower() not in MWH_PER_UNIT:
        raise InputError(f"{what} is '{unit}'; expected kWh, MWh or GWh: convert the figures to one of them.")
    return MWH_PER_UNIT[unit.lower()]


def _cell_factor(file: str, index: int, cell: str) -> float:
    if cell.lower() not in MWH_PER_UNIT:
        fail(file, index, "its unit is something else (withheld); expected kWh, MWh or GWh.")
    return MWH_PER_UNIT[cell.lower()]


def _order(file: str, nodes: list[str], case: Case) -> list[int]:
    """The position of each row's node in the case, all of which must occur once."""
    places = {name: index for index, name in enumerate(case.delivery_ids)}
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        if not node:
            fail(file, index, "node is empty; every row needs one.")
        if node not in places:
            fail(
                file,
                index,
                f"its node is no delivery of the case '{case.name}'; correct the name ('ppsm case template "
                f"{case.name}' lists them).",
            )
        if node in seen:
            fail(file, index, f"node '{node}' occurs twice; keep one row for each delivery.")
        seen.add(node)
    absent = [name for name in places if name not in seen]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        fail(file, len(nodes), f"node '{absent[0]}'{more} of the case '{case.name}' has no row; add it.")
    return [places[node] for node in nodes]


def _refuse_implausible(file: str, index: int, node: str, value: float, most_mwh: float) -> None:
    if value > most_mwh:
        fail(
            file,
            index,
            f"the demand of '{node}' is above its public maximum of {most_mwh:g} MWh a day; expected at most "
            "that: check the unit (a column demand_kwh is converted).",
        )


def demand_template(case: Case) -> str:
    """A table with the names of a case's deliveries, to be filled in."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("node", "demand_mwh"))
    writer.writerows((name, "") for name in case.delivery_ids)
    return text.getvalue()


def write_demand(
    path: str | Path, case: Case, demand_mwh: FloatArray, *, remarks: Sequence[str] = ()
) -> None:
    """Write a demand vector that :func:`read_demand` reads back, with remarks ahead of it."""
    rows = [
        DemandRow(node=name, demand_mwh=float(value))
        for name, value in zip(case.delivery_ids, demand_mwh, strict=True)
    ]
    write_table(Path(path), DemandRow, rows, remarks=remarks)


def _read_table(
    path: Path, sheet: str | None, known: Callable[[Sequence[str]], bool], expected: str
) -> _Table:
    """Read a file by the mark between cells with which its header is known."""
    if path.suffix.lower() in _WORKBOOKS:
        _bytes(path)  # what the system has against it is said as of any file
        delimiter, lines = "", _without_blank_edges(sheet_lines(path, sheet))
    elif sheet is not None:
        raise InputError(f"a sheet was named, but {path.name} is no Excel workbook (.xlsx): leave it out.")
    else:
        text = _text_lines(path)
        delimiter = next((mark for mark in _DELIMITERS if known(_header(text, mark))), _DELIMITERS[0])
        lines = _cells(path, text, delimiter)
    if not lines:
        raise FileFormatError(f"{path.name} is empty; expected a header with {expected}.")
    header, rows = _stripped(lines[0]), lines[1:]
    if not known(header):
        raise FileFormatError(
            f"{path.name} has other columns (withheld, they may be data); expected a header with {expected}: "
            "name them so in the first row, and take out titles and further columns."
        )
    for index, row in enumerate(rows):
        if len(row) != len(header):
            fail(path.name, index, wrong_width(row, header))
    return _Table(path.name, header, rows, delimiter)


def _stripped(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in cells)


def _header(lines: Sequence[str], delimiter: str) -> tuple[str, ...]:
    """What stands in the first row of a text with this mark between cells, where it has one."""
    try:
        return tuple(filter(None, _stripped(next(csv.reader(lines, delimiter=delimiter), ()))))
    except csv.Error:  # too long for the reader, which says so again where rows are read
        return ()


def _numbers(table: _Table, cells: Sequence[str], what: str) -> list[float]:
    """The numbers of one column; who writes a decimal comma does so in all of it."""
    comma = _has_decimal_comma(table, cells)
    return [_number(table.file, index, cell, what, comma=comma) for index, cell in enumerate(cells)]


def _number(file: str, index: int, cell: str, what: str, *, comma: bool) -> float:
    try:
        return float(cell.replace("_", "?").replace(",", "." if comma else ","))  # Python allows 1_000
    except ValueError:
        problem = "blank" if not cell.strip() else "something else (withheld, it may be a secret)"
        # What a program writes as a formula has no result before a spreadsheet has opened and saved it.
        hint = "; for a formula, open and save the workbook in Excel first"
        of_sheet = problem == "blank" and Path(file).suffix.lower() in _WORKBOOKS
        fail(file, index, f"{what} is {problem}; expected a number{hint if of_sheet else ''}.")


def _has_decimal_comma(table: _Table, cells: Sequence[str]) -> bool:
    commas = [cell.strip() for cell in cells if "," in cell]
    dots = [cell.strip() for cell in cells if "." in cell]
    if commas and dots:
        raise FileFormatError(
            f"{table.file} has numbers with both a comma and a point; expected one decimal mark and no "
            "separators of thousands: write them plainly, such as 1234.5."
        )
    # Where points are not what separates decimals for sure, 1.234 may be a thousand and some.
    doubtful = commas or (dots if table.delimiter == ";" else [])
    if doubtful and all(_THREE_DECIMALS.fullmatch(cell) or cell.count(",") > 1 for cell in doubtful):
        raise FileFormatError(
            f"{table.file} has numbers such as 1,234 that may mean 1.234 or 1234; expected plain ones: write "
            "them without separators of thousands, or with another number of decimals."
        )
    return bool(commas)


def _text(path: Path) -> str:
    raw = _bytes(path)
    if raw.startswith(b"PK"):
        raise FileFormatError(f"{path.name} is a workbook or archive, not text; name a workbook .xlsx.")
    try:
        text = raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise FileFormatError(
            f"{path.name} is not a table in UTF-8 or UTF-16; save it as one ('CSV UTF-8' in Excel)."
        )
    return text


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"there is no file '{path}' (looked for from {Path.cwd()}): check the path."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check the file.") from None


def _text_lines(path: Path) -> list[str]:
    """The lines from the header on."""
    lines = _text(path).splitlines()
    first = (place for place, line in enumerate(lines) if line.strip(_BLANKS) and not line.startswith(REMARK))
    return lines[next(first, len(lines)) :]


def _cells(path: Path, lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return _without_blank_edges(list(csv.reader(lines, delimiter=delimiter, strict=True)))
    except csv.Error:
        raise FileFormatError(
            f"{path.name} has quotation marks that do not end, or a cell that is too long; expected a CSV "
            "table: save it as one."
        ) from None


def _without_blank_edges(lines: list[list[str]]) -> list[list[str]]:
    """Without the empty rows and columns that spreadsheets leave around a table."""
    columns = [place for row in lines for place, cell in enumerate(row) if cell.strip()]
    rows = [place for place, row in enumerate(lines) if any(map(str.strip, row))]
    if not rows:
        return []
    return [row[min(columns) : max(columns) + 1] for row in lines[rows[0] : rows[-1] + 1]]
