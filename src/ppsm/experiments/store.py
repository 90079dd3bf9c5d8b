"""The rows of an experiment: one per instance, in Parquet, safe against being killed at any moment.

A directory holds ``rows.parquet`` and part files ``parts/*.parquet`` that came later; both together, each key
once, are the rows. A file appears complete or not at all (:mod:`ppsm.files`). ``settings.json`` says what all
rows have in common, ``originals.json`` the games that they are compared with, ``grids.json`` the instances
that were asked for. A lock keeps a second run out; the system drops it when the process ends, however it
ends.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import polars as pl

from ppsm.arrays import frozen_vector
from ppsm.errors import FileFormatError, InputError
from ppsm.experiments.row import Cell, Key, Row
from ppsm.files import alone, write_atomically, write_bytes_atomically
from ppsm.mechanism.coordination import Outcome

ROWS, PARTS, SETTINGS, ORIGINALS, LOCK = "rows.parquet", "parts", "settings.json", "originals.json", ".lock"
GRIDS = "grids.json"
# Parquet by polars, which linopy brings along.
_COLUMN = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean}


class RowStore:
    """The directory of an experiment; ``mode`` is that of its files."""

    def __init__(self, directory: Path, mode: int = 0o666) -> None:
        self.directory, self.mode = directory, mode
        self.parts = directory / PARTS

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out of the directory."""
        busy = f"another run is writing to {self.directory}; wait for it, or give another --out."
        with alone(self.directory / LOCK, busy):
            yield

    def insist_on(self, settings: dict[str, Any]) -> None:
        """Note what all rows have in common; refuse a directory whose rows were made otherwise."""
        file = self.directory / SETTINGS
        if not file.exists():
            write_atomically(file, json.dumps(settings, indent=2, sort_keys=True), mode=self.mode)
            return
        found = _json(file)
        for name, value in settings.items():
            if found.get(name) != value:
                raise InputError(
                    f"the rows in {self.directory} were made with {name} = {found.get(name)!r}, this run has "
                    f"{value!r}: give another --out."
                )

    def append(self, rows: Sequence[Row]) -> None:
        """Keep rows, all or none of them; the same rows twice are the same file."""
        self.parts.mkdir(exist_ok=True)
        digest = hashlib.sha256(repr(sorted(repr(row.key) for row in rows)).encode()).hexdigest()
        write_bytes_atomically(self.parts / f"{digest[:24]}.parquet", _parquet(rows), mode=self.mode)

    def rows(self) -> list[Row]:
        """All rows, each key once, in the order of their keys.

        A row that failed gives way to one from another try.
        """
        found = self._by_key()
        return [found[key] for key in sorted(found)]

    def rows_of(self, keys: Iterable[Key]) -> list[Row]:
        """The rows with these keys, in their order; what there is no row of is left out."""
        found = self._by_key()
        return [found[key] for key in keys if key in found]

    def _by_key(self) -> dict[Key, Row]:
        found: dict[Key, Row] = {}
        for file in self._files():
            for row in _rows_of(file):
                if row.key not in found or found[row.key].failed:
                    found[row.key] = row
        return found

    def compact(self) -> Path:
        """Put all rows into one file and remove the parts; killed in between, no row is lost or doubled."""
        target = self.directory / ROWS
        merged = self._files()
        rows = self.rows()
        if rows:
            write_bytes_atomically(target, _parquet(rows), mode=self.mode)
            for part in merged:
                if part != target:
                    part.unlink()
        return target

    def _files(self) -> list[Path]:
        whole = self.directory / ROWS
        return [*([whole] if whole.exists() else []), *sorted(self.parts.glob("*.parquet"))]

    def note_grid(self, label: str, wanted: Iterable[Key]) -> None:
        """Note which rows a grid is to have, in place of an earlier grid of that name."""
        grids = {**self._grids(), label: sorted(wanted)}
        write_atomically(self.directory / GRIDS, json.dumps(grids), mode=self.mode)

    def missing(self) -> dict[str, tuple[int, int]]:
        """The grids that lack rows, because a run goes on or was stopped: how many, and of how many."""
        present = self._by_key()
        counts = {
            label: (sum(tuple(key) not in present for key in wanted), len(wanted))
            for label, wanted in self._grids().items()
        }
        return {label: count for label, count in counts.items() if count[0]}

    def _grids(self) -> dict[str, list[list[Any]]]:
        file = self.directory / GRIDS
        found: dict[str, list[list[Any]]] = _json(file) if file.exists() else {}
        return found

    def originals(self) -> dict[Cell, Outcome]:
        """The original games that are cleared already."""
        file = self.directory / ORIGINALS
        if not file.exists():
            return {}
        try:
            return {(entry["power"], entry["gas"]): _outcome(entry["outcome"]) for entry in _json(file)}
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(
                f"{file} holds no original games; remove it or give another --out."
            ) from None

    def keep_originals(self, originals: dict[Cell, Outcome]) -> None:
        """Keep the original games, in place of those kept before."""
        entries = [
            {"power": power, "gas": gas, "outcome": {**outcome.to_dict(), **_beside(outcome)}}
            for (power, gas), outcome in sorted(originals.items())
        ]
        write_atomically(self.directory / ORIGINALS, json.dumps(entries, allow_nan=False), mode=self.mode)


def _beside(outcome: Outcome) -> dict[str, Any]:
    """What an original has that outcomes do not record: its decision, which is published with it."""
    return {"solved": outcome.solved, "felt": None if outcome.felt is None else outcome.felt.tolist()}


def _outcome(entry: dict[str, Any]) -> Outcome:
    felt = entry["felt"]
    known = None if felt is None else frozen_vector(felt, len(felt), "the decision")
    return replace(Outcome.from_dict(entry), solved=int(entry["solved"]), felt=known)


def _column_type(hint: Any) -> type[pl.DataType]:
    """That of a column, which may be None or not."""
    return _COLUMN[next((each for each in get_args(hint) if each in _COLUMN), hint)]


def _parquet(rows: Sequence[Row]) -> bytes:
    """Types are those of the class, since a column may hold nothing but None."""
    hints = get_type_hints(Row)
    schema = {field.name: _column_type(hints[field.name]) for field in fields(Row)}
    sink = io.BytesIO()
    pl.DataFrame([row.to_dict() for row in rows], schema=schema).write_parquet(sink)
    return sink.getvalue()


def _rows_of(file: Path) -> list[Row]:
    content = file.read_bytes()  # a file that may not be read is not damaged
    try:
        return [Row.from_dict(each) for each in pl.read_parquet(io.BytesIO(content)).to_dicts()]
    except (OSError, pl.exceptions.PolarsError, TypeError):
        raise FileFormatError(
            f"{file} holds no rows of an experiment; remove it or give another directory."
        ) from None


def _json(file: Path) -> Any:
    content = file.read_bytes()
    try:
        return json.loads(content)
    except ValueError as error:
        raise FileFormatError(f"{file} cannot be read ({error}); remove it or give another --out.") from None
