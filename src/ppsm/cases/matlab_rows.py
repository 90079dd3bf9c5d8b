"""Named columns over the tables of a MATLAB case file: one object a row, each value checked on reading."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ppsm.cases.matlab import Cell, MatlabFile, Row
from ppsm.errors import FileFormatError


@dataclass(frozen=True)
class TableRow:
    """One row of a table; errors name the file, the line and the column."""

    file: MatlabFile
    table: str
    line: int
    values: Mapping[str, Cell]

    def _error(self, column: str, expected: str) -> FileFormatError:
        found = f"{self.values[column]!r}" if column in self.values else "nothing"
        return self.file.error(
            self.line,
            f"column '{column}' of '{self.table}' holds {found}; expected {expected}, mend the row.",
        )

    def number(
        self,
        column: str,
        default: float | None = None,
        *,
        least: float = -math.inf,
        above: float = -math.inf,
        infinite: bool = False,
    ) -> float:
        """Return a number within its limits; ``default`` stands in where the column is absent."""
        value = self.values.get(column, default)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = None
        if value is None or math.isnan(value):
            raise self._error(column, "a number")
        if math.isinf(value) and not infinite:
            raise self._error(column, "a finite number")
        if value < least:
            raise self._error(column, f"at least {least:g}")
        if value <= above:
            raise self._error(column, f"more than {above:g}")
        return float(value)

    def identifier(self, column: str) -> str:
        """Return an id as text; whole numbers lose their decimal point."""
        value = self.values.get(column)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            return str(int(value))
        raise self._error(column, "an id (a whole number or a name)")

    def text(self, column: str, default: str = "") -> str:
        """Return a text; numbers are written out."""
        value = self.values.get(column, default)
        return value if isinstance(value, str) else f"{value:g}"

    def active(self) -> bool:
        """Whether the component is in service (a positive status; absent means yes)."""
        return self.number("status", 1.0) > 0


def table_rows(
    file: MatlabFile, name: str, columns: Sequence[str], *, required: int, use_heading: bool = False
) -> tuple[TableRow, ...]:
    """Return the rows of a table.

    Column names come from ``%column_names%``, else (matgas) from the comment above the table if it starts
    with the same first name, else from ``columns`` in the order of the format. ``required`` is how many of
    ``columns`` a row must at least hold.
    """
    table = file.table(name)
    if table is None:
        return ()
    names: Sequence[str] = table.columns or columns
    if use_heading and not table.columns and table.heading[:1] == tuple(columns[:1]):
        names = table.heading
    missing = [column for column in columns[:required] if column not in names]
    if missing and table.rows:
        raise file.error(
            table.line, f"'{name}' has no column '{missing[0]}'; add it or correct the column names."
        )
    return tuple(_table_row(file, name, names, required, row) for row in table.rows)


def _table_row(file: MatlabFile, name: str, names: Sequence[str], required: int, row: Row) -> TableRow:
    if len(row.cells) < min(required, len(names)):
        raise file.error(
            row.line,
            f"a row of '{name}' has {len(row.cells)} columns; expected at least {required} "
            f"({', '.join(names[:required])}), complete the row.",
        )
    return TableRow(file, name, row.line, dict(zip(names, row.cells, strict=False)))


def unique_by(file: MatlabFile, rows: Sequence[TableRow], column: str) -> Iterator[tuple[str, TableRow]]:
    """Yield (id, row) and refuse an id that occurs twice."""
    seen: dict[str, int] = {}
    for row in rows:
        name = row.identifier(column)
        if name in seen:
            raise file.error(
                row.line,
                f"id {name} of '{row.table}' was already used on line {seen[name]}; ids must differ.",
            )
        seen[name] = row.line
        yield name, row
