"""The rows of an experiment: one per instance, in Parquet, safe against being killed at any moment.

A directory holds ``rows.parquet`` and part files ``parts/*.parquet`` that came later; both together, each key
once, are the rows. A file appears complete or not at all: it is written beside its place, flushed to the disk
and renamed. ``settings.json`` says what all rows have in common, ``originals.json`` the games that they are
compared with, ``grids.json`` the instances that were asked for. A lock keeps a second run out; the system
drops it when the process ends, however it ends.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ppsm.errors import FileFormatError, InputError
from ppsm.experiments.grid import Cell
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.instance import Record, record_key
from ppsm.status import Status

# Status of an instance that raised an error or whose worker died; the row has the reason.
FAILED = "failed"
ROWS, PARTS, SETTINGS, ORIGINALS, LOCK = "rows.parquet", "parts", "settings.json", "originals.json", ".lock"
GRIDS = "grids.json"


class RowStore:
    """The directory of an experiment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.parts = directory / PARTS

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out of the directory."""
        with (self.directory / LOCK).open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"another run is writing to {self.directory}; wait for it, or give another --out."
                ) from None
            yield

    def check_settings(self, settings: dict[str, Any]) -> None:
        """Note what all rows have in common; refuse a directory whose rows were made otherwise."""
        file = self.directory / SETTINGS
        if not file.exists():
            _replace(file, json.dumps(settings, indent=2, sort_keys=True).encode())
            return
        found = _json(file)
        for name, value in settings.items():
            if found.get(name) != value:
                raise InputError(
                    f"the rows in {self.directory} were made with {name} = {found.get(name)!r}, this run has "
                    f"{value!r}: give another --out."
                )

    def append(self, rows: Sequence[Record]) -> None:
        """Keep rows, all or none of them; the same rows twice are the same file."""
        self.parts.mkdir(exist_ok=True)
        digest = hashlib.sha256(repr(sorted(repr(record_key(row)) for row in rows)).encode()).hexdigest()
        _replace(self.parts / f"{digest[:24]}.parquet", _parquet(rows))

    def rows(self) -> list[Record]:
        """All rows, each key once, in the order of their keys; None where a row has no figure.

        A row that failed gives way to one from another try.
        """
        found: dict[tuple[Any, ...], Record] = {}
        for file in self._files():
            for row in _rows_of(file):
                known = found.get(record_key(row))
                if known is None or known["status"] == FAILED:
                    found[record_key(row)] = row
        return _with_all_columns([found[key] for key in sorted(found)])

    def compact(self) -> Path:
        """Put all rows into one file and remove the parts; killed in between, no row is lost or doubled."""
        target = self.directory / ROWS
        merged = self._files()
        rows = self.rows()
        if rows:
            _replace(target, _parquet(rows))
            for part in merged:
                if part != target:
                    part.unlink()
        return target

    def _files(self) -> list[Path]:
        whole = self.directory / ROWS
        return [*([whole] if whole.exists() else []), *sorted(self.parts.glob("*.parquet"))]

    def note_grid(self, label: str, wanted: Iterable[tuple[Any, ...]]) -> None:
        """Note which rows a grid is to have, in place of an earlier grid of that name."""
        grids = {**self._grids(), label: sorted(wanted)}
        _replace(self.directory / GRIDS, json.dumps(grids).encode())

    def missing(self) -> dict[str, tuple[int, int]]:
        """The grids that lack rows, because a run goes on or was stopped: how many, and of how many."""
        present = {record_key(row) for row in self.rows()}
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
            {"power": power, "gas": gas, "outcome": {**outcome.to_dict(), "solved": outcome.solved}}
            for (power, gas), outcome in sorted(originals.items())
        ]
        _replace(self.directory / ORIGINALS, json.dumps(entries, allow_nan=False).encode())


def _outcome(entry: dict[str, Any]) -> Outcome:
    prices = entry["prices"]
    frozen = None if prices is None else np.array(prices, dtype=np.float64)
    return Outcome(**{**entry, "status": Status(entry["status"]), "prices": frozen})


def _with_all_columns(rows: Sequence[Record]) -> list[Record]:
    """The rows with the columns of all of them: one that failed has few of its own."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]


def _parquet(rows: Sequence[Record]) -> bytes:
    """Types are from all rows, since a column may begin with None."""
    complete = _with_all_columns(rows)
    schema = pa.schema([(name, pa.array([row[name] for row in complete]).type) for name in complete[0]])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(complete, schema=schema), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _rows_of(file: Path) -> list[Record]:
    content = file.read_bytes()  # a file that may not be read is not damaged
    try:
        rows: list[Record] = pq.read_table(pa.BufferReader(content)).to_pylist()
        for row in rows:
            record_key(row)
    except (OSError, pa.ArrowException, KeyError):
        raise FileFormatError(
            f"{file} holds no rows of an experiment; remove it or give another directory."
        ) from None
    return rows


def _json(file: Path) -> Any:
    content = file.read_bytes()
    try:
        return json.loads(content)
    except ValueError as error:
        raise FileFormatError(f"{file} cannot be read ({error}); remove it or give another --out.") from None


def _replace(file: Path, content: bytes) -> None:
    """Write a file so that it is there complete or not at all, also after the power fails."""
    temporary = file.with_name(f"{file.name}.tmp")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
    directory = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
