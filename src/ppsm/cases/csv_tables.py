"""CSV tables with typed, bounded columns: a row is a frozen dataclass whose fields say what they accept.

A column's unit is part of its name (``load_mw``), so a table in other units does not load by mistake. A
column that may hold a secret is *hidden*: no error about its table quotes anything that the file holds, in
whatever column it was found. Lines ahead of the header that begin with ``#`` are remarks; rows are counted
from the header.
"""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ppsm.errors import FileFormatError
from ppsm.files import write_atomically

T = TypeVar("T")

# Row 1 of a table is its header, so that the first entry is found in row 2.
FIRST_ROW = 2
REMARK = "#"
_LONGEST_TEXT = 200


@dataclass(frozen=True)
class Column:
    """What one column accepts: the kind of value, its limits and what a blank means."""

    kind: str
    least: float = -math.inf
    most: float = math.inf
    blank: Any = None
    choices: tuple[str, ...] = ()
    hidden: bool = False


def key() -> Any:
    """Return a dataclass field for an id: any short text that is not empty."""
    return field(metadata={"column": Column("id")})


def text(choices: tuple[str, ...] = (), *, default: Any = MISSING) -> Any:
    """Return a dataclass field for a text or one word out of several; ``default`` is for rows in memory."""
    return field(default=default, metadata={"column": Column("text", choices=choices)})


def number(least: float, most: float, *, blank: float | None = None, hidden: bool = False) -> Any:
    """Return a dataclass field for a number in a range; outside of it a value is absurd, not just unusual."""
    return field(metadata={"column": Column("number", least, most, blank, hidden=hidden)})


def whole(least: float, most: float) -> Any:
    """Return a dataclass field for a whole number in a range."""
    return field(metadata={"column": Column("whole", least, most)})


def fail(file: str, index: int, problem: str) -> NoReturn:
    """Raise the error for entry ``index`` (from 0) of a table, naming its row in the file."""
    raise FileFormatError(f"{file}, row {index + FIRST_ROW}: {problem}")


def columns_of(kind: type) -> dict[str, Column]:
    """Return the columns of a table of ``kind`` by name, in order."""
    return {entry.name: entry.metadata["column"] for entry in fields(kind)}


def read_table(path: Path, kind: type[T]) -> tuple[T, ...]:
    """Read a CSV file as rows of ``kind``, or say which row cannot be used and why."""
    file = path.name
    columns = columns_of(kind)
    hidden = any(column.hidden for column in columns.values())
    lines = _lines(path, hidden=hidden)
    if not lines:
        raise FileFormatError(f"{file} is empty; expected a header with {', '.join(columns)}.")
    header = [name.strip() for name in lines[0]]
    _check_header(file, header, columns, hidden=hidden)
    rows = []
    for index, cells in enumerate(lines[1:]):
        if len(cells) != len(header):
            fail(file, index, wrong_width(cells, header))
        named = dict(zip(header, cells, strict=True))
        values = {
            name: _value(file, index, name, columns[name], named[name], hidden=hidden) for name in columns
        }
        rows.append(kind(**values))
    return tuple(rows)


def wrong_width(cells: Sequence[str], header: Sequence[str]) -> str:
    """What is wrong with a row that has another number of cells than its table has headings."""
    remedy = "complete the row or remove it"
    if len(cells) > len(header):
        remedy = "take out what is too much (a comma within a number, such as 1,000, begins a new cell)"
    return f"there are {len(cells)} cells under {len(header)} headings; {remedy}."


def _lines(path: Path, *, hidden: bool) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(_without_remarks(stream), strict=True))
    except FileNotFoundError:
        raise FileFormatError(
            f"{path.name} is missing in {path.parent}; expected a CSV table: check the path."
        ) from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}; check the file.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        why = "" if hidden else f" ({error})"
        raise FileFormatError(f"{path.name} is not a CSV table in UTF-8{why}; save it as one.") from None
    while lines and not any(cell.strip() for cell in lines[-1]):
        lines.pop()
    return lines


def _without_remarks(lines: Iterable[str]) -> Iterator[str]:
    return itertools.dropwhile(lambda line: line.startswith(REMARK), lines)


def _check_header(file: str, header: Sequence[str], columns: dict[str, Column], *, hidden: bool) -> None:
    if hidden and not set(header) <= set(columns):
        raise FileFormatError(
            f"{file} has other columns (withheld, they may be data); expected a header with "
            f"{', '.join(columns)}: name them so, in these units."
        )
    for position, name in enumerate(header):
        if name in header[:position]:
            raise FileFormatError(f"{file}: the column '{name}' occurs twice; remove one of the two.")
        if name not in columns:
            stem = name.split("_")[0]
            close = next((column for column in columns if column.split("_")[0] == stem), None)
            if close is None or close in header:
                remedy = f"expected {', '.join(columns)}"
            else:
                remedy = f"expected '{close}', convert the values to that unit and rename the column"
            raise FileFormatError(f"{file}: the column '{name}' is unknown; {remedy}.")
    for name, column in columns.items():
        if name not in header:
            blank = ", its cells may be blank" if column.kind == "text" and not column.choices else ""
            raise FileFormatError(f"{file}: the column '{name}' is missing; add it{blank}.")


def _value(file: str, index: int, name: str, column: Column, cell: str, *, hidden: bool = False) -> Any:
    cell = cell.strip()
    withheld = "something else (withheld, it may be a secret)"
    shown, quoted = (withheld, withheld) if hidden else (cell, f"'{cell}'")
    if column.kind in {"id", "text"}:
        if not cell and column.kind == "id":
            fail(file, index, f"{name} is empty; every row needs one.")
        if len(cell) > _LONGEST_TEXT or not cell.isprintable():
            fail(file, index, f"{name} is longer than {_LONGEST_TEXT} characters or unprintable; shorten it.")
        if column.choices and cell not in column.choices:
            fail(file, index, f"{name} is {quoted}; expected one of {', '.join(column.choices)}.")
        return cell
    if not cell and column.blank is not None:
        return column.blank
    try:
        value = float(cell)
    except ValueError:
        fail(file, index, f"{name} is {quoted}; expected a number.")
    if not math.isfinite(value):
        fail(file, index, f"{name} is {shown}; expected a finite number.")
    if not column.least <= value <= column.most:
        expected = f"{column.least:g} to {column.most:g}"
        fail(file, index, f"{name} is {shown}; expected {expected}, correct the value.")
    if column.kind == "whole":
        if value != int(value):
            fail(file, index, f"{name} is {shown}; expected a whole number.")
        return int(value)
    return value


def check_values(file: str, kind: type[T], rows: Sequence[T]) -> None:
    """Hold rows that were made in memory to what :func:`read_table` would accept from a file."""
    for index, row in enumerate(rows):
        for name, column in columns_of(kind).items():
            value = getattr(row, name)
            if isinstance(value, float) and value == column.blank:
                continue
            _value(file, index, name, column, str(value))


def write_table(path: Path, kind: type[T], rows: Sequence[T], *, remarks: Sequence[str] = ()) -> None:
    """Write rows as a CSV file that :func:`read_table` reads back to the same values.

    ``remarks`` are lines ahead of the header.
    """
    columns = columns_of(kind)
    text = io.StringIO("".join(f"{REMARK} {remark}\n" for remark in remarks))
    text.seek(0, io.SEEK_END)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_written(getattr(row, name), column) for name, column in columns.items()])
    write_atomically(path, text.getvalue())


def _written(value: Any, column: Column) -> str:
    if isinstance(value, float):
        if column.blank is not None and value == column.blank and math.isinf(value):
            return ""
        return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)
