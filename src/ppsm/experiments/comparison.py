"""The work behind a report: one release to show, and the comparison measured against the true demand.

With public test data one workspace does both. With a secret the two are kept apart: the release is a private
one, charged to a ledger and made by solvers that never see the secret; the comparison runs on the owner's
side, with solvers, memory and files of its own, and its noise never leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ppsm.arrays import FloatArray
from ppsm.coordinations import GaucCoordination
from ppsm.errors import InputError, LedgerError
from ppsm.experiments.conclusion import Comparison
from ppsm.experiments.engines import InProcess
from ppsm.experiments.grid import Grid, single_cell
from ppsm.experiments.instance import Workspace, simulate_instance
from ppsm.experiments.pages import ExampleRelease, Setting
from ppsm.experiments.row import Cell, Instance
from ppsm.experiments.run import Progress, insist_on_results, run_grid
from ppsm.experiments.store import RowStore
from ppsm.experiments.tuning import HARNESS, Limits
from ppsm.experiments.variants import LEARNED, MEASURED
from ppsm.files import OWNER_MODE, write_atomically
from ppsm.interrupts import Watch, watched
from ppsm.mechanism import PPSM, Dossier, ModelBased
from ppsm.owner.private_release import Granted, cell_name, mark_of, one_at_a_time, open_ledger
from ppsm.owner.release_files import read_release, write_evaluation, write_release
from ppsm.privacy import Ledger, OwnerOnly, Sensitive, for_owner_only

_MARKER = "demand-id.txt"


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """What is to be compared, and where the files go.

    ``public`` says that the demand is public test data. ``seconds`` limits each clearing with a release.
    ``draws`` are their numbers: each has noise of its own. ``ledger`` is charged for the release of a secret;
    None is the user's own.
    """

    setting: Setting
    secret: Sensitive
    public: bool
    alphas: tuple[float, ...]
    draws: range
    seconds: float
    directory: Path
    owner: Path
    ledger: Path | None = None

    @property
    def limits(self) -> Limits:
        """Of all that is solved."""
        return Limits.of_single_cell(self.seconds)

    @property
    def store(self) -> RowStore:
        """Where the runs are kept: they are measured against the true demand."""
        return RowStore(self.directory) if self.public else RowStore(self.owner, mode=OWNER_MODE)

    @property
    def cell(self) -> Cell:
        """That of the rows: a secret demand has no gas stress."""
        return self.setting.power_stress, self.setting.gas_stress if self.public else None

    @property
    def instances(self) -> list[Instance]:
        """All runs, in order: the three mechanisms, PPSM where nothing is published, and learned predictions.

        Learned ones are for the middle alpha.

        A past is invented around the case's own demand, so there is none to learn from where that demand is
        the secret itself.
        """
        eta_p, eta_d = self.setting.eta_p, self.setting.eta_d
        runs = []
        for each in single_cell(self.cell, self.alphas, self.draws, eta_p=eta_p, eta_d=eta_d):
            runs.append(each)
            if each.mechanism == PPSM.name:
                runs.append(replace(each, mechanism=MEASURED))
            if self.has_history and each.mechanism == PPSM.name and each.alpha == self.mechanism.alpha:
                runs.append(replace(each, mechanism=LEARNED))
        return runs

    @property
    def has_history(self) -> bool:
        """Whether the case's own demand is public, and the case small enough to invent a past."""
        is_small = len(self.setting.case.fleets) <= HARNESS.history_fleets
        return is_small and (self.public or self.setting.gas_stress is None)

    def grid(self, name: str) -> Grid:
        """All runs, in order."""
        label = f"compare with {len(self.draws)} draws from number {self.draws[0]}"
        return Grid.one_by_one(label, self.setting.case, name, self.limits, self.instances)

    @property
    def mechanism(self) -> PPSM:
        """That of the release which the report shows: PPSM at the middle alpha, chosen before any run."""
        alpha = sorted(self.alphas)[len(self.alphas) // 2]
        return PPSM(alpha=alpha, eta_p=self.setting.eta_p, eta_d=self.setting.eta_d)

    @cached_property
    def workspace(self) -> Workspace:
        """Of public test data."""
        return self.workspace_with(None)

    def workspace_with(self, demand: FloatArray | None) -> Workspace:
        """That of a secret demand: its memory and files stay with the owner."""
        cache = self.store.directory / "cache"
        return Workspace(self.setting.case, cache, limits=self.limits, demand=demand)


def measure(job: Job, progress: Progress) -> OwnerOnly[Comparison]:
    """All runs of a job, as :func:`run_on_one_cell` does them."""

    def run(workspace: Workspace) -> Comparison:
        return run_on_one_cell(job.grid(workspace.name), job.store, workspace, progress)

    if job.public:
        return OwnerOnly(run(job.workspace))
    return for_owner_only(job.secret, lambda truth: run(job.workspace_with(truth)))


def run_on_one_cell(grid: Grid, store: RowStore, workspace: Workspace, progress: Progress) -> Comparison:
    """All runs, of which those that are kept are not repeated; Ctrl-C ends it with what is done.

    Ctrl-C while the original game is cleared, to which all errors are relative, is raised.
    """
    try:
        run_grid(grid, store, InProcess(), workspace, progress, retry_failed=True)
    except KeyboardInterrupt:
        if grid.batches[0][0].cell not in store.originals():
            raise
    rows = store.rows_of(grid.keys)
    insist_on_results(rows)
    return Comparison(tuple(rows), len(grid.keys))


def public_example(job: Job, comparison: Comparison) -> ExampleRelease:
    """Seeded noise on public data: a draw with which Laplace could be cleared, if there is one."""
    alpha = job.mechanism.alpha
    cleared = {
        (row.mechanism, row.repetition) for row in comparison.rows if row.alpha == alpha and row.feasible
    }
    draw = min((draw for mechanism, draw in cleared if mechanism == "laplace"), default=job.draws[0])
    shown = {
        each.mechanism: each for each in job.instances if each.alpha == alpha and each.repetition == draw
    }
    dossiers = {}
    for name in ("laplace", "ppsm"):
        release = simulate_instance(job.workspace, shown[name])
        # What the rows say could be cleared is on the map, however busy the machine is this time.
        limit = job.limits.original_seconds if (name, draw) in cleared else job.limits.clear_seconds
        game = GaucCoordination(
            job.setting.case,
            job.setting.power_stress,
            job.workspace.solver,
            gap=job.limits.gap,
            time_limit=limit,
        )
        dossiers[name] = release.dossier.with_evaluation(game.clear(release.released.values))
    _write(job, dossiers["ppsm"])
    return ExampleRelease(dossiers["ppsm"], dossiers["laplace"])


def _write(job: Job, dossier: Dossier) -> None:
    write_release(job.directory, job.setting.case, dossier)
    if dossier.evaluation is not None:
        write_evaluation(job.directory, dossier.evaluation)


def private_example(job: Job, kept: Dossier | None, describe: Callable[[str], None]) -> ExampleRelease:
    """A private release of the secret, charged to the ledger; made once.

    ``kept`` is that of an earlier call (:func:`kept_release`).
    """
    if kept is not None and kept.evaluation is not None:
        return ExampleRelease(kept)
    with watched() as watch:
        # This game never sees the secret.
        limit = job.limits.clear_seconds
        game = GaucCoordination(job.setting.case, job.setting.power_stress, time_limit=limit)
        dossier = kept or _private_release(job, game, watch, describe)
        describe("clearing the markets with the release (it is written already)")
        evaluated = dossier.with_evaluation(game.clear(dossier.released.values))
        watch.check()
    _write(job, evaluated)
    return ExampleRelease(evaluated)


def _private_release(
    job: Job, game: GaucCoordination, watch: Watch, describe: Callable[[str], None]
) -> Dossier:
    cell = cell_name(job.setting.case, job.setting.power_stress)
    with one_at_a_time(job.owner):
        granted = Granted.begin(
            job.mechanism, job.secret, cell, directory=job.directory, owner=job.owner, ledger=job.ledger
        )
        watch.check()
        describe("the private release")
        return granted.draw(game, ModelBased()).restore().write().release.dossier


def kept_release(job: Job) -> Dossier | None:
    """The private release that the directory holds from an earlier call of the same job.

    Files of another job, or of something else, are refused.
    """
    kept = read_release(job.directory)
    if kept is not None and not kept.private:
        kept = None
    if kept is not None and job.public:
        raise InputError(
            f"{job.directory} holds a private release, which a comparison on public data would replace: "
            "choose another directory with --out."
        )
    if not job.public:
        ledger = open_ledger(job.ledger, job.secret.dataset, job.mechanism)
        _refuse_another_demand(job, ledger)
        if kept is not None:
            _refuse_other_parameters(job, kept)
            _refuse_uncharged(job, kept, ledger)
    job.store.rows()
    job.store.insist_on(job.grid(job.setting.case.name).settings)
    return kept


def _refuse_other_parameters(job: Job, kept: Dossier) -> None:
    made = kept.mechanism
    wanted = (PPSM.name, job.mechanism.alpha, job.setting.eta_p, job.setting.eta_d)
    if (made.name, made.alpha, made.eta_p, made.eta_d) != wanted:
        raise InputError(
            f"{job.directory} holds a private release with other parameters, and another one would spend the "
            "budget again: give the same alphas and bands, or choose another directory with --out."
        )


def _refuse_uncharged(job: Job, kept: Dossier, ledger: Ledger) -> None:
    if not ledger.confirm(kept.noisy):
        raise LedgerError(
            f"The ledger {ledger.path} has not charged the release in {job.directory}: use the ledger that "
            "did, or choose another directory with --out."
        )


def _refuse_another_demand(job: Job, ledger: Ledger) -> None:
    """A directory is for one demand; what tells it from others needs the ledger's key."""
    setting, marker = job.setting, job.owner / _MARKER
    mine = mark_of(job.secret, cell_name(setting.case, setting.power_stress), ledger) + "\n"
    if not marker.exists():
        write_atomically(marker, mine, mode=OWNER_MODE)
    elif marker.read_bytes() != mine.encode():  # bytes, since a damaged file may be no text
        raise InputError(
            f"{job.directory} holds the comparison of another demand or cell: choose another directory with "
            "--out."
        )
