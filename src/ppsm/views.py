"""Short tables of results: as text for ``print``, as HTML for notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ppsm.arrays import FloatArray

_MOST_ROWS = 24


@dataclass(frozen=True)
class View:
    """A headline, and a table below it; the first column names, the others are figures."""

    headline: str
    rows: Sequence[tuple[str, ...]] = ()
    heading: tuple[str, ...] = ()

    def __str__(self) -> str:
        table = [self.heading, *self._shown] if self.heading else self._shown
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table
        ]
        return "\n".join([self.headline, *(f"  {line}".rstrip() for line in lines), *self._rest])

    def html(self) -> str:
        """The same as a fragment of HTML."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.heading)
        body = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
            for name, *cells in self._shown
        )
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest)
        return (
            f"<div><p>{escape(self.headline)}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{rest}</div>"
        )

    @property
    def _shown(self) -> list[tuple[str, ...]]:
        return list(self.rows[:_MOST_ROWS])

    @property
    def _rest(self) -> list[str]:
        more = len(self.rows) - _MOST_ROWS
        return [f"... and {more} more"] if more > 0 else []


class Viewed(ABC):
    """What shows itself as a short table, printed and in notebooks."""

    @abstractmethod
    def _view(self) -> View:
        """What to show."""

    def __str__(self) -> str:
        return str(self._view())

    def _repr_html_(self) -> str:
        return self._view().html()


def figure(number: float | None) -> str:
    """A number as people read it; nothing for None."""
    # Adding zero turns -0 into 0.
    return "-" if number is None else f"{number + 0.0:,.6g}"


def spread(numbers: FloatArray) -> str:
    """A block of numbers in a few words: the number itself, or from where to where they go."""
    if not numbers.size:
        return "no entries"
    low, high = figure(float(numbers.min())), figure(float(numbers.max()))
    if numbers.size == 1:
        return low
    return f"{low} ({numbers.size} entries)" if low == high else f"{low} to {high} ({numbers.size} entries)"


def entry_rows(names: Iterable[str], *columns: FloatArray) -> list[tuple[str, ...]]:
    """One row for each entry."""
    return [(name, *map(figure, numbers)) for name, *numbers in zip(names, *columns, strict=True)]
