"""Remembered commitments: unit commitment depends on the power side alone, so one solve serves many demands.

A commitment is kept by case, power stress and levels: the units on, the offers of its plan, the cost and the
proven bound. A plan is kept by its units and offers: where it is valid again, so is its cost. The dispatch is
re-solved from them when they are used, so that nothing in a file is taken on trust except the bound. Files
are plain NumPy archives that are read without pickle; a damaged one is ignored.
"""

import hashlib
import io
import zipfile
import zlib
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import IntArray
from ppsm.cases.entities import TABLES
from ppsm.cases.schema import Case
from ppsm.files import write_bytes_atomically
from ppsm.markets.tuning import TUNING

_FORMAT = 2
_PLAN = "plan-"
Archive = dict[str, Any]


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


@dataclass(frozen=True, eq=False)
class RememberedPlan:
    """A plan that EM answered validly at some demand: units on, offers, and the leader's cost in $."""

    power_stress: float
    on: IntArray
    offers: IntArray
    cost_usd: float

    @property
    def digest(self) -> str:
        """What tells it from others."""
        content = repr(self.power_stress).encode() + self.on.tobytes() + self.offers.tobytes()
        return hashlib.sha256(content).hexdigest()[:24]


class CommitmentMemory:
    """Commitments and plans of one case by power stress; with a directory they outlive the process."""

    def __init__(self, case: Case, directory: Path | None = None) -> None:
        self._shape = (len(case.fleets), len(case.load_shape))
        self._most = np.array([[fleet.unit_count] for fleet in case.fleets])
        self._links = len(case.links)
        self._offers_shape = (self._links, max(bid.block for bid in case.bids), len(case.load_shape))
        fleets = [fleet.fleet for fleet in case.fleets]
        self._fleet_of_link = np.array([fleets.index(link.fleet) for link in case.links], dtype=np.int64)
        self._known: dict[tuple[float, tuple[int, ...]], RememberedCommitment] = {}
        self._plans: dict[float, dict[str, RememberedPlan]] = {}
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
            archive = _read(file)
            if archive is None:
                continue
            if file.name.startswith(_PLAN):
                self._take_plan(self._plan_of(archive))
            else:
                known = self._commitment_of(archive)
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
        levels = np.array(known.levels, dtype=np.int64)
        numbers = [known.power_stress, known.objective_usd, known.bound_usd, known.seconds]
        name = hashlib.sha256(repr((known.power_stress, known.levels)).encode()).hexdigest()[:24]
        self._write(name, figures=np.array(numbers), levels=levels, on=known.on, offers=known.offers)

    def plans_at(self, power_stress: float) -> list[RememberedPlan]:
        """Plans of a power stress, cheapest first."""
        return sorted(self._plans.get(power_stress, {}).values(), key=lambda plan: plan.cost_usd)

    def put_plan(self, plan: RememberedPlan) -> None:
        """Keep a plan, unless there are many already."""
        known = self._plans.get(plan.power_stress, {})
        if plan.digest in known or len(known) >= TUNING.plans_remembered:
            return
        self._take_plan(plan)
        numbers = np.array([plan.power_stress, plan.cost_usd])
        self._write(_PLAN + plan.digest, figures=numbers, on=plan.on, offers=plan.offers)

    def _take_plan(self, plan: RememberedPlan | None) -> None:
        if plan is not None:
            self._plans.setdefault(plan.power_stress, {})[plan.digest] = plan

    def _write(self, stem: str, **arrays: Any) -> None:
        """Write arrays so that a reader sees the old file or the new one, never half of it."""
        if self._directory is None:
            return
        name = f"{stem}.npz"
        self._seen.add(name)
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        with suppress(OSError):  # what cannot be kept for others is solved again by them, no more
            self._directory.mkdir(parents=True, exist_ok=True)
            write_bytes_atomically(self._directory / name, content.getvalue())

    def _plan_of(self, archive: Archive) -> RememberedPlan | None:
        """The plan in an archive, if it fits the case."""
        on, offers = archive.get("on"), archive.get("offers")
        numbers = archive.get("figures")
        if on is None or offers is None or numbers is None or numbers.shape != (2,):
            return None
        if not np.isfinite(numbers).all() or not self._fits(on, offers):
            return None
        return RememberedPlan(float(numbers[0]), on, offers, float(numbers[1]))

    def _commitment_of(self, archive: Archive) -> RememberedCommitment | None:
        """The commitment in an archive, if it fits the case."""
        on, offers = archive.get("on"), archive.get("offers")
        numbers, levels = archive.get("figures"), archive.get("levels")
        if on is None or offers is None or numbers is None or levels is None:
            return None
        if numbers.shape != (4,) or levels.shape != (self._links,) or not np.isfinite(numbers).all():
            return None
        if not self._fits(on, offers):
            return None
        stress, objective, bound, seconds = (float(value) for value in numbers)
        return RememberedCommitment(
            stress, tuple(int(level) for level in levels), on, offers, objective, bound, seconds
        )

    def _fits(self, on: IntArray, offers: IntArray) -> bool:
        """Whether these can be units and offers of the case."""
        return (
            on.shape == self._shape
            and offers.shape == self._offers_shape
            and on.dtype == offers.dtype == np.int64
            and bool(((on >= 0) & (on <= self._most)).all())
            and bool((offers >= 0).all() and (np.diff(offers, axis=1) <= 0).all())
            and np.array_equal(offers[:, 0], on[self._fleet_of_link])
        )


def _read(file: Path) -> Archive | None:
    """The arrays of a file; None where it is damaged."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
