"""The work behind a report: one release to show, and the comparison measured against the true demand.

With public test data one workspace does both. With a secret the two are kept apart: the release is a private
one, charged to a ledger and made by solvers that never see the secret; the comparison runs on the owner's
side, with solvers, memory and files of its own, and its noise never leaves.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ppsm.arrays import FloatArray
from ppsm.comparison.conclusion import LEARNED
from ppsm.comparison.content import Comparison, ExampleRelease, Setting
from ppsm.coordinations import GaucCoordination
from ppsm.errors import InputError
from ppsm.files import write_atomically
from ppsm.interrupts import Watch, watched
from ppsm.mechanism import PPSM, Dossier, ModelBased
from ppsm.mechanism.dossier import Parameters
from ppsm.mechanism.instance import Instance, Record, Workspace, simulate_instance
from ppsm.mechanism.tradeoff import RECORDS, grid, read_records, run_grid
from ppsm.owner.private_release import Granted, cell_name, fingerprint
from ppsm.owner.release_files import DOSSIER, OWNER_MODE, write_release
from ppsm.privacy import OwnerOnly, Sensitive, for_owner_only

# All errors are relative to the original game, so it is proven if that is possible in five minutes.
_ORIGINAL_SECONDS = 300.0
_MARKER = "demand-id.txt"
_FINGERPRINT_DIGITS = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """What is to be compared, and where the files go.

    ``public`` says that the demand is public test data. ``seconds`` limits each clearing with a release; the
    original game has at least five minutes. Draws are numbered from ``first``.
    """

    setting: Setting
    secret: Sensitive
    public: bool
    alphas: tuple[float, ...]
    draws: int
    first: int
    seconds: float
    directory: Path
    owner: Path

    @property
    def records(self) -> Path:
        """Where the runs are kept: they are measured against the true demand."""
        return (self.directory if self.public else self.owner) / RECORDS

    @property
    def instances(self) -> list[Instance]:
        """All runs, in order: the three mechanisms, and PPSM with learned predictions at the middle alpha.

        A past is invented around the case's own demand, so there is none to learn from where that demand is
        the secret itself.
        """
        runs = []
        for each in self._grid():
            runs.append(each)
            if self.has_history and each.mechanism == PPSM.name and each.alpha == self.mechanism.alpha:
                runs.append(replace(each, mechanism=LEARNED))
        return runs

    @property
    def has_history(self) -> bool:
        """Whether the case's own demand is public."""
        return self.public or self.setting.gas_stress is None

    def _grid(self) -> list[Instance]:
        return grid(
            power_stress=self.setting.power_stress,
            gas_stress=self.setting.gas_stress if self.public else None,
            alphas=self.alphas,
            repetitions=self.draws,
            eta_p=self.setting.eta_p,
            eta_d=self.setting.eta_d,
            first=self.first,
        )

    @property
    def mechanism(self) -> PPSM:
        """That of the release which the report shows: PPSM at the middle alpha, chosen before any run."""
        alpha = sorted(self.alphas)[len(self.alphas) // 2]
        return PPSM(alpha=alpha, eta_p=self.setting.eta_p, eta_d=self.setting.eta_d)

    @cached_property
    def workspace(self) -> Workspace:
        """Of public test data."""
        return self._workspace(None)

    def _workspace(self, demand: FloatArray | None) -> Workspace:
        return Workspace(
            self.setting.case,
            self.records.parent / "cache",
            clear_seconds=self.seconds,
            original_seconds=max(_ORIGINAL_SECONDS, self.seconds),
            demand=demand,
        )

    def owners_workspace(self, demand: FloatArray) -> Workspace:
        """With the secret demand; its memory and files stay with the owner."""
        return self._workspace(demand)


def measure(job: Job, advance: Callable[[Record], None]) -> OwnerOnly[Comparison]:
    """All runs, of which those on file are not repeated; Ctrl-C ends it with what is done.

    Ctrl-C while the original game is cleared, to which all errors are relative, is raised.
    """
    if not job.records.exists():
        os.close(os.open(job.records, os.O_CREAT | os.O_WRONLY, 0o644 if job.public else 0o600))
    if job.public:
        return OwnerOnly(_measured(job, job.workspace, advance))
    return for_owner_only(job.secret, lambda truth: _measured(job, job.owners_workspace(truth), advance))


def _measured(job: Job, workspace: Workspace, advance: Callable[[Record], None]) -> Comparison:
    instances = job.instances
    done: list[Record] = []

    def note(record: Record) -> None:
        done.append(record)
        advance(record)

    with watched() as watch:
        workspace.original(instances[0].power_stress, instances[0].gas_stress)
        watch.check()
    with suppress(KeyboardInterrupt):
        run_grid(workspace, instances, job.records, note)
    return Comparison(tuple(done), len(instances))


def public_example(job: Job, comparison: Comparison) -> ExampleRelease:
    """Seeded noise on public data: a draw with which Laplace could be cleared, if there is one."""
    alpha = job.mechanism.alpha
    draws = [
        record["repetition"]
        for record in comparison.records
        if record["alpha"] == alpha and record["mechanism"] == "laplace" and record["feasible"]
    ]
    draw = draws[0] if draws else job.first
    shown = {
        each.mechanism: each for each in job.instances if each.alpha == alpha and each.repetition == draw
    }
    game = job.workspace.game(job.setting.power_stress)
    dossiers = {}
    for name in ("laplace", "ppsm"):
        release = simulate_instance(job.workspace, shown[name])
        dossiers[name] = release.dossier.with_evaluation(game.clear(release.released.values))
    write_release(job.directory, job.setting.case, dossiers["ppsm"])
    return ExampleRelease(dossiers["ppsm"], dossiers["laplace"])


def private_example(job: Job, kept: Dossier | None, describe: Callable[[str], None]) -> ExampleRelease:
    """A private release of the secret, charged to the ledger of the output directory; made once.

    ``kept`` is that of an earlier call (:func:`kept_release`).
    """
    if kept is not None and kept.evaluation is not None:
        return ExampleRelease(kept)
    with watched() as watch:
        # This game never sees the secret.
        limit = max(_ORIGINAL_SECONDS, job.seconds)
        game = GaucCoordination(job.setting.case, job.setting.power_stress, time_limit=limit)
        dossier = kept or _private_release(job, game, watch, describe)
        describe("clearing the markets with the release (it is written already)")
        evaluated = dossier.with_evaluation(game.clear(dossier.released.values))
        watch.check()
    write_release(job.directory, job.setting.case, evaluated)
    return ExampleRelease(evaluated)


def _private_release(
    job: Job, game: GaucCoordination, watch: Watch, describe: Callable[[str], None]
) -> Dossier:
    cell = cell_name(job.setting.case, job.setting.power_stress)
    granted = Granted.begin(job.mechanism, job.secret, cell, directory=job.directory, owner=job.owner)
    watch.check()
    describe("the private release")
    # An exact market result of the true demand can be inverted: a secret gets none published here.
    return granted.draw(game, ModelBased()).restore().write().release.dossier


def kept_release(job: Job) -> Dossier | None:
    """The private release that the directory holds from an earlier call of the same job.

    Files of another job, or of something else, are refused.
    """
    read_records(job.records)
    file = job.directory / DOSSIER
    kept = Dossier.from_json(file.read_text(encoding="utf-8")) if file.exists() else None
    if kept is not None and not kept.private:
        kept = None
    if job.public:
        if kept is not None:
            raise InputError(
                f"{job.directory} holds a private release, which a comparison on public data would replace: "
                "choose another directory with --out."
            )
        return None
    _refuse_another_demand(job)
    if kept is not None and not _same_parameters(kept.mechanism, job):
        raise InputError(
            f"{job.directory} holds a private release with other parameters, and another one would spend the "
            "budget again: give the same alphas and bands, or choose another directory with --out."
        )
    return kept


def _same_parameters(made: Parameters, job: Job) -> bool:
    wanted = (PPSM.name, job.mechanism.alpha, job.setting.eta_p, job.setting.eta_d)
    return (made.name, made.alpha, made.eta_p, made.eta_d) == wanted


def _refuse_another_demand(job: Job) -> None:
    """A directory is for one demand; its fingerprint stays with the owner."""
    setting, marker = job.setting, job.owner / _MARKER
    cell = cell_name(setting.case, setting.power_stress)
    mine = f"{cell} {fingerprint(job.secret)[:_FINGERPRINT_DIGITS]}\n"
    if not marker.exists():
        write_atomically(marker, mine, mode=OWNER_MODE)
    elif marker.read_text(encoding="utf-8") != mine:
        raise InputError(
            f"{job.directory} holds the comparison of another demand or cell: choose another directory with "
            "--out."
        )
