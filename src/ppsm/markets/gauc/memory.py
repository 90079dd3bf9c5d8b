"""Remembered commitments: unit commitment depends on the power side alone, so one solve serves many demands.

A commitment is kept by case, power stress and levels: the units on, the offers of its plan, the cost and the
proven bound. The dispatch is re-solved from them when they are used, so that nothing in a file is taken on
trust except the bound. Files are plain NumPy archives that are read without pickle; a damaged one is ignored.
"""

import hashlib
import math
import os
import tempfile
import zipfile
import zlib
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from ppsm.arrays import IntArray
from ppsm.cases.entities import TABLES
from ppsm.cases.schema import Case

_FORMAT = 2


def case_fingerprint(case: Case) -> str:
    """A digest of everything unit commitment sees of a case (its power tables and links)."""
    digest = hashlib.sha256(f"{_FORMAT}|{case.base_mva!r}|{case.reserve_fraction!r}".encode())
    for table in TABLES:
        if table in ("buses", "lines", "fleets", "bids", "links", "load_shape"):
            rows = [astuple(row) for row in getattr(case, table)]
            digest.update(f"|{table}|{rows!r}".encode())
    return digest.hexdigest()[:24]


@dataclass(frozen=True, eq=False)
class RememberedCommitment:
    """UC at some levels: units on (fleets x hours), the fewest offers of its plan (links x blocks x hours).

    The cost in $ is as UC found it, with the proven bound of that UC.
    """

    power_stress: float
    levels: tuple[int, ...]
    on: IntArray
    offers: IntArray
    objective_usd: float
    bound_usd: float
    seconds: float


class CommitmentMemory:
    """Commitments of one case by power stress and levels; with a directory they outlive the process."""

    def __init__(self, case: Case, directory: Path | None = None) -> None:
        self._shape = (len(case.fleets), len(case.load_shape))
        self._most = np.array([[fleet.unit_count] for fleet in case.fleets])
        self._links = len(case.links)
        self._offers_shape = (self._links, max(bid.block for bid in case.bids), len(case.load_shape))
        fleets = [fleet.fleet for fleet in case.fleets]
        self._fleet_of_link = np.array([fleets.index(link.fleet) for link in case.links], dtype=np.int64)
        self._known: dict[tuple[float, tuple[int, ...]], RememberedCommitment] = {}
        self._directory = None if directory is None else directory / case_fingerprint(case)
        self._seen: set[str] = set()
        self.refresh()

    def __len__(self) -> int:
        return len(self._known)

    def refresh(self) -> None:
        """Read what other processes have put into the directory since."""
        if self._directory is None or not self._directory.is_dir():
            return
        for file in sorted(self._directory.glob("*.npz")):
            if file.name in self._seen:
                continue
            self._seen.add(file.name)
            known = self._read(file)
            if known is not None:
                self._known.setdefault((known.power_stress, known.levels), known)

    def at(self, power_stress: float) -> list[RememberedCommitment]:
        """All of a power stress, cheapest first."""
        mine = [known for known in self._known.values() if known.power_stress == power_stress]
        return sorted(mine, key=lambda known: known.objective_usd)

    def get(self, power_stress: float, levels: tuple[int, ...]) -> RememberedCommitment | None:
        """That of a power stress and levels, if there is one."""
        return self._known.get((power_stress, levels))

    def put(self, known: RememberedCommitment) -> None:
        """Keep a commitment, also on disk if there is a directory, in place of an earlier one."""
        self._known[known.power_stress, known.levels] = known
        if self._directory is not None:
            # What cannot be kept for others is solved again by them, no more.
            with suppress(OSError):
                self._write(self._directory, known)

    def _write(self, directory: Path, known: RememberedCommitment) -> None:
        """Write one so that a reader sees the old file or the new one, never half of it."""
        directory.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(repr((known.power_stress, known.levels)).encode()).hexdigest()[:24] + ".npz"
        self._seen.add(name)
        numbers = [known.power_stress, known.objective_usd, known.bound_usd, known.seconds]
        levels = np.array(known.levels, dtype=np.int64)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".part-") as folder:
            temporary = Path(folder) / name
            with temporary.open("wb") as file:
                np.savez_compressed(
                    file, figures=np.array(numbers), levels=levels, on=known.on, offers=known.offers
                )
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(directory / name)

    def _read(self, file: Path) -> RememberedCommitment | None:
        try:
            with np.load(file, allow_pickle=False) as archive:
                numbers, levels = archive["figures"], archive["levels"]
                on, offers = archive["on"], archive["offers"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None
        fits = (
            numbers.shape == (4,)
            and levels.shape == (self._links,)
            and on.shape == self._shape
            and offers.shape == self._offers_shape
            and on.dtype == offers.dtype == np.int64
            and all(math.isfinite(value) for value in numbers)
            and bool(((on >= 0) & (on <= self._most)).all())
            and bool((offers >= 0).all() and (np.diff(offers, axis=1) <= 0).all())
            and np.array_equal(offers[:, 0], on[self._fleet_of_link])
        )
        if not fits:
            return None
        stress, objective, bound, seconds = (float(value) for value in numbers)
        return RememberedCommitment(
            stress, tuple(int(level) for level in levels), on, offers, objective, bound, seconds
        )
