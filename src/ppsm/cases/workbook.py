"""Sheets of Excel workbooks as text, which may hold a secret: nothing that stands in one is quoted."""

import warnings
from pathlib import Path
from typing import Any

from ppsm.errors import FileFormatError, InputError


def sheet_lines(path: Path, sheet: str | None) -> list[list[str]]:
    """The cells of a sheet row by row, of the only one unless one is named; empty cells are empty texts."""
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        raise InputError(
            f"{path.name} is an Excel workbook, which needs openpyxl: install it with pip install "
            "'ppsm[excel]', or save the sheet as CSV."
        ) from None
    # Cells are read when they are asked for, and errors and warnings quote those that are not as they should.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _lines(load_workbook(path, read_only=True, data_only=True), path.name, sheet)
        except InputError:
            raise
        except Exception:  # noqa: BLE001 - of many types, for whatever is wrong with it
            raise FileFormatError(f"{path.name} is no workbook that can be read; save it as .xlsx.") from None


def _lines(book: Any, file: str, sheet: str | None) -> list[list[str]]:
    names = book.sheetnames
    if sheet is None and len(names) > 1:
        raise InputError(f"{file} has {len(names)} sheets; expected one: say which (--demand-sheet).")
    if sheet is not None and sheet not in names:
        raise InputError(f"{file} has no sheet '{sheet}'; name one of its {len(names)} sheets.")
    lines = [
        ["" if cell is None else str(cell) for cell in row]
        for row in book[sheet or names[0]].iter_rows(values_only=True)
    ]
    book.close()
    return lines
