"""Tables as people have them: CSV with comma, semicolon or tab, decimal comma, UTF-8 or UTF-16, Excel sheets.

Such a file may hold a secret: errors tell of rows and defects, and quote nothing that stands in it.
"""

import codecs
import csv
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ppsm.cases.csv_tables import REMARK, fail
from ppsm.errors import FileFormatError, InputError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DELIMITERS = ",;\t"
_WORKBOOKS = {".xlsx", ".xlsm"}
_THREE_DECIMALS = re.compile(r"[-+]?\d{1,3}[.,]\d{3}")


@dataclass(frozen=True)
class LooseTable:
    """Cells as text below a header; ``delimiter`` is empty for a sheet of a workbook."""

    file: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    delimiter: str = ""


def read_loose_table(
    path: Path, sheet: str | None, known: Callable[[Sequence[str]], bool], expected: str
) -> LooseTable:
    """Read a file whose header ``known`` recognises; ``expected`` says in an error what that would be."""
    if path.suffix.lower() in _WORKBOOKS:
        lines = _sheet(path, sheet)
        tables = [("", lines)]
    elif sheet is not None:
        raise InputError(f"a sheet was named, but {path.name} is no Excel workbook (.xlsx): leave it out.")
    else:
        text = _text(path)
        tables = [(mark, _cells(path, text, mark)) for mark in _DELIMITERS]
    for delimiter, lines in tables:
        if not lines:
            raise FileFormatError(f"{path.name} is empty; expected a header with {expected}.")
        header = tuple(cell.strip() for cell in lines[0])
        if known(header):
            rows = lines[1:]
            for index, row in enumerate(rows):
                if len(row) != len(header):
                    fail(
                        path.name,
                        index,
                        f"there are {len(row)} cells under {len(header)} headings; complete the row.",
                    )
            return LooseTable(path.name, header, rows, delimiter)
    raise FileFormatError(
        f"{path.name} has other columns (withheld, they may be data); expected a header with {expected}: "
        "name them so."
    )


def numbers_of(table: LooseTable, cells: Sequence[str], what: str) -> list[float]:
    """The numbers of one column; who writes a decimal comma does so in all of it."""
    comma = _has_decimal_comma(table, cells)
    return [_number(table.file, index, cell, what, comma=comma) for index, cell in enumerate(cells)]


def _number(file: str, index: int, cell: str, what: str, *, comma: bool) -> float:
    try:
        return float(cell.replace("_", "?").replace(",", "." if comma else ","))  # Python allows 1_000
    except ValueError:
        problem = "blank" if not cell.strip() else "something else (withheld, it may be a secret)"
        fail(file, index, f"{what} is {problem}; expected a number.")


def _has_decimal_comma(table: LooseTable, cells: Sequence[str]) -> bool:
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


def _cells(path: Path, text: str, delimiter: str) -> list[list[str]]:
    lines = itertools.dropwhile(lambda line: line.startswith(REMARK), text.splitlines())
    try:
        return _without_blank_end(list(csv.reader(lines, delimiter=delimiter, strict=True)))
    except csv.Error:
        raise FileFormatError(
            f"{path.name} has quotation marks that do not end; expected a CSV table: save it as one."
        ) from None


def _sheet(path: Path, sheet: str | None) -> list[list[str]]:
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name} is an Excel workbook, which needs openpyxl: install it with pip install "
            "'ppsm[excel]', or save the sheet as CSV."
        ) from None
    _bytes(path)
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except Exception:  # noqa: BLE001 - whatever is wrong with it may quote what stands in it
        raise FileFormatError(f"{path.name} is no workbook that can be read; save it as .xlsx.") from None
    names = book.sheetnames
    if sheet is None and len(names) > 1:
        raise InputError(f"{path.name} has {len(names)} sheets; expected one: say which (--demand-sheet).")
    if sheet is not None and sheet not in names:
        raise InputError(f"{path.name} has no sheet '{sheet}'; name one of its {len(names)} sheets.")
    lines = [
        ["" if cell is None else str(cell) for cell in row]
        for row in book[sheet or names[0]].iter_rows(values_only=True)
    ]
    book.close()
    return _without_blank_end(lines)


def _without_blank_end(lines: list[list[str]]) -> list[list[str]]:
    while lines and not any(cell.strip() for cell in lines[-1]):
        lines.pop()
    return lines
