"""Run what is missing of a grid: first the original games, then the instances, kept as they come.

An engine hands tasks to workers. The process of a worker keeps its workspace (models, solvers, remembered
commitments) from one task to the next; processes that see the same cache directory also share the commitments
that others have solved since.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Protocol, TypeVar

from ppsm.cases import load_case
from ppsm.cases.schema import builtin_cases
from ppsm.errors import SolverError
from ppsm.experiments.engines import Engine, WorkerDied
from ppsm.experiments.grid import Batch, Experiment, Grid
from ppsm.experiments.instance import Workspace, failed_row, insist_on_answer, run_instance
from ppsm.experiments.row import Cell, Instance, Row
from ppsm.experiments.store import RowStore
from ppsm.experiments.tuning import HARNESS, Limits
from ppsm.mechanism.coordination import Outcome

CACHE = "commitments"

Answer = TypeVar("Answer", covariant=True)
# A cluster's worker may have several threads; the solvers of a workspace serve one at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Setup:
    """What a worker needs to make its workspace."""

    case: str
    cache: str
    limits: Limits

    @classmethod
    def of(cls, case: str, cache: Path, limits: Limits) -> "Setup":
        """Workers may start elsewhere: directories are given to them as whole paths."""
        return cls(
            case if case in builtin_cases() else str(Path(case).resolve()), str(cache.resolve()), limits
        )


class Task(Protocol[Answer]):
    """Something to be done on a workspace."""

    def answer(self, workspace: Workspace) -> Answer:
        """Do it."""


@dataclass(frozen=True)
class OriginalsTask:
    """Clear the original games of one power stress."""

    cells: tuple[Cell, ...]

    def answer(self, workspace: Workspace) -> dict[Cell, Outcome]:
        """Each game once, and again where the commitment of a later cell is valid in it and cheaper."""
        found = {cell: workspace.clear_original(cell) for cell in self.cells}
        for cell, outcome in found.items():
            if len(found) > 1 and _knows_cheaper(workspace, cell, outcome):
                found[cell] = workspace.clear_original(cell)
        return found


def _knows_cheaper(workspace: Workspace, cell: Cell, outcome: Outcome) -> bool:
    cost = workspace.clear_original(cell, HARNESS.recheck_seconds).leader_cost
    return cost is not None and (outcome.leader_cost is None or cost < outcome.leader_cost * (1 - 1e-9))


@dataclass(frozen=True)
class BatchTask:
    """Run the instances of a batch against the original game of their cell."""

    original: Outcome
    instances: Batch

    def answer(self, workspace: Workspace) -> list[Row]:
        """One row per instance, also where it fails."""
        workspace.solver.memory.refresh()
        workspace.adopt_originals({self.instances[0].cell: self.original})
        return [_row(workspace, instance) for instance in self.instances]


def _row(workspace: Workspace, instance: Instance) -> Row:
    try:
        return run_instance(workspace, instance)
    except OSError:  # a full disk is no property of the instance: the run stops, and goes on later
        raise
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the other rows of the grid are wanted
        return failed_row(workspace.name, instance, f"{type(error).__name__}: {error}")


@lru_cache(maxsize=1)
def _workspace(setup: Setup) -> Workspace:
    """That of this process."""
    return Workspace(load_case(setup.case), Path(setup.cache), limits=setup.limits)


def perform(place: Setup | Workspace, task: Task[Answer]) -> Answer:
    """What a worker does: a task on its workspace."""
    with _ONE_AT_A_TIME:
        return task.answer(_workspace(place) if isinstance(place, Setup) else place)


@dataclass
class Tally:
    """How far a run is: counts for the whole grid, the rate for this run alone."""

    total: int
    done: int = 0
    here: int = 0
    originals: tuple[int, int] = (0, 0)
    runs: Counter[str] = field(default_factory=Counter)
    feasible: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    latest: Row | None = None
    started: float = field(default_factory=perf_counter)

    def count(self, rows: Iterable[Row], *, here: bool) -> None:
        """Take rows into account."""
        for row in rows:
            self.done += 1
            self.here += here
            self.runs[row.mechanism] += 1
            self.feasible[row.mechanism] += row.feasible
            self.failed += row.failed
            self.latest = row

    @property
    def rate(self) -> float | None:
        """Instances a second, once there are any."""
        seconds = perf_counter() - self.started
        return self.here / seconds if self.here and seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this rate."""
        return None if self.rate is None else (self.total - self.done) / self.rate

    def shares(self) -> dict[str, float]:
        """Feasible share so far, per mechanism."""
        return {name: self.feasible[name] / runs for name, runs in self.runs.items()}


Progress = Callable[[Tally], None]


def run_experiment(
    experiment: Experiment,
    store: RowStore,
    engine: Engine,
    progress: Progress | None = None,
    cache: Path | None = None,
    *,
    retry_failed: bool = False,
) -> Tally:
    """Run the instances of an experiment that the store has no row of.

    Parameters
    ----------
    experiment
        The grid.
    store
        Where rows are kept; a run that was stopped in whatever way goes on from there.
    engine
        Where the instances run.
    progress
        Called after each batch.
    cache
        Directory for remembered commitments; in the store's own directory where none is given.
    retry_failed
        Whether instances whose row says that they failed are run again.
    """
    grid = experiment.grid
    setup = Setup.of(experiment.case, cache or store.directory / CACHE, grid.limits)
    return run_grid(grid, store, engine, setup, progress, retry_failed=retry_failed)


def run_grid(
    grid: Grid,
    store: RowStore,
    engine: Engine,
    place: Setup | Workspace,
    progress: Progress | None = None,
    *,
    retry_failed: bool = False,
) -> Tally:
    """As :func:`run_experiment`, for any grid; ``place`` may be a workspace if the engine is this process."""
    say = progress or _say_nothing
    tally = Tally(total=len(grid.keys))
    with store.locked():
        store.insist_on(grid.settings)
        present = [row for row in store.rows_of(grid.keys) if not (retry_failed and row.failed)]
        tally.count(present, here=False)
        batches = grid.left({row.key for row in present})
        store.note_grid(grid.label, grid.keys)
        originals = _originals(grid, batches, place, store, engine, partial(_say_originals, tally, say))
        if isinstance(place, Workspace):
            place.adopt_originals(originals)
        tally.started = perf_counter()
        for rows in _rows(grid, batches, place, originals, engine):
            store.append(rows)
            tally.count(rows, here=True)
            say(tally)
        store.compact()
    return tally


def _say_nothing(tally: Tally) -> None:
    del tally


def _say_originals(tally: Tally, say: Progress, done: int, cells: int) -> None:
    tally.originals = done, cells
    say(tally)


def _originals(
    grid: Grid,
    batches: Sequence[Batch],
    place: Setup | Workspace,
    store: RowStore,
    engine: Engine,
    say: Callable[[int, int], None],
) -> dict[Cell, Outcome]:
    """The original games of all cells that have anything to run, each cleared once and kept."""
    known = store.originals()
    cells = sorted({batch[0].cell for batch in batches})
    missing = [cell for cell in cells if cell not in known]
    tasks = [OriginalsTask(tuple(group)) for _, group in groupby(missing, key=lambda cell: cell[0])]
    say(len(cells) - len(missing), len(cells))
    for task, answer in engine.run(partial(perform, place), tasks):
        if isinstance(answer, WorkerDied):
            raise SolverError(
                f"the workers died while they cleared the original games at +{task.cells[0][0]:.0%} power "
                "stress: look at their memory, and run the same command again."
            )
        known |= answer
        store.keep_originals(known)
        say(sum(cell in known for cell in cells), len(cells))
    for cell in cells:
        insist_on_answer(grid.case.name, cell, known[cell])
    return known


def _rows(
    grid: Grid,
    batches: Sequence[Batch],
    place: Setup | Workspace,
    originals: dict[Cell, Outcome],
    engine: Engine,
) -> Iterable[list[Row]]:
    tasks = [BatchTask(originals[batch[0].cell], batch) for batch in batches]
    for task, answer in engine.run(partial(perform, place), tasks):
        if isinstance(answer, WorkerDied):
            yield [failed_row(grid.name, each, f"worker: {answer}") for each in task.instances]
        else:
            yield answer


def insist_on_results(rows: Sequence[Row]) -> None:
    """Refuse to conclude from runs of which some failed."""
    failed = [row for row in rows if row.failed]
    if failed:
        raise SolverError(
            f"{len(failed)} of {len(rows)} runs failed, the first with '{failed[0].message}': the same "
            "command runs them again."
        )
