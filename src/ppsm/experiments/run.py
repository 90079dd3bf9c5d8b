"""Run what is missing of an experiment: first the original games, then the instances, kept as they come."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from time import perf_counter

from ppsm import __version__
from ppsm.cases import load_case
from ppsm.errors import InputError, SolverError
from ppsm.experiments.engines import Engine, WorkerDied
from ppsm.experiments.grid import Cell, Experiment
from ppsm.experiments.store import FAILED, RowStore
from ppsm.experiments.worker import (
    BatchTask,
    OriginalsTask,
    Setup,
    failed_row,
    run_batch,
    solve_originals,
)
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.instance import Instance, Record, record_key
from ppsm.mechanism.predictors import PRICE_NOISE

CACHE = "commitments"


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
    started: float = field(default_factory=perf_counter)

    def count(self, rows: Iterable[Record], *, here: bool) -> None:
        """Take rows into account."""
        for row in rows:
            self.done += 1
            self.here += here
            self.runs[row["mechanism"]] += 1
            self.feasible[row["mechanism"]] += bool(row["feasible"])
            self.failed += row["status"] == FAILED

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


def run_experiment(
    experiment: Experiment,
    store: RowStore,
    engine: Engine,
    progress: Callable[[Tally], None] | None = None,
    cache: Path | None = None,
    *,
    retry_failed: bool = False,
) -> Tally:
    """Run the instances that the store has no row of.

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
    say = progress or _say_nothing
    setup = Setup.of(experiment, store.directory / CACHE if cache is None else cache)
    wanted = {experiment.key(instance) for instance in experiment.instances()}
    tally = Tally(total=len(wanted))
    with store.locked():
        store.check_settings(_settings(experiment))
        present = [
            row
            for row in store.rows()
            if record_key(row) in wanted and not (retry_failed and row["status"] == FAILED)
        ]
        tally.count(present, here=False)
        batches = experiment.batches({record_key(row) for row in present})
        store.note_grid(experiment.label, wanted)
        originals = _originals(
            batches, setup, store, engine, lambda counts: _originals_done(tally, counts, say)
        )
        tally.started = perf_counter()
        for rows in _rows(experiment, batches, setup, originals, engine):
            store.append(rows)
            tally.count(rows, here=True)
            say(tally)
        store.compact()
    return tally


def _say_nothing(tally: Tally) -> None:
    del tally


def _originals_done(tally: Tally, counts: tuple[int, int], say: Callable[[Tally], None]) -> None:
    tally.originals = counts
    say(tally)


def _settings(experiment: Experiment) -> dict[str, object]:
    """What rows must share to be comparable."""
    case = load_case(experiment.case)
    return {
        "case": case.name,
        "case_digest": hashlib.sha256(repr(case).encode()).hexdigest()[:24],
        "package_version": __version__,
        "gap": experiment.gap,
        "clear_seconds": experiment.clear_seconds,
        "original_seconds": experiment.original_seconds,
        "epsilon": experiment.epsilon,
        "fidelity_seconds": experiment.fidelity_seconds,
        "noise_of_step_2a": f"{PRICE_NOISE:.0%} of the average price",
    }


def _originals(
    batches: list[list[Instance]],
    setup: Setup,
    store: RowStore,
    engine: Engine,
    say: Callable[[tuple[int, int]], None],
) -> dict[Cell, Outcome]:
    """The original games of all cells that have anything to run, each cleared once and kept."""
    known = store.originals()
    cells = sorted({batch[0].cell for batch in batches})
    missing = [cell for cell in cells if cell not in known]
    tasks = [OriginalsTask(setup, tuple(group)) for _, group in groupby(missing, key=lambda cell: cell[0])]
    say((len(cells) - len(missing), len(cells)))
    for task, answer in engine.run(solve_originals, tasks):
        if isinstance(answer, WorkerDied):
            raise SolverError(
                f"the workers died while they cleared the original games at +{task.cells[0][0]:.0%} power "
                "stress: look at their memory, and run the same command again."
            )
        known |= dict(answer)
        store.keep_originals(known)
        say((sum(cell in known for cell in cells), len(cells)))
    for cell in cells:
        if not known[cell].feasible:
            raise InputError(
                f"the original game at +{cell[0]:.0%} / +{cell[1]:.0%} has no answer "
                f"({known[cell].status.value}): leave this cell out, or raise original_seconds."
            )
    return known


def _rows(
    experiment: Experiment,
    batches: list[list[Instance]],
    setup: Setup,
    originals: dict[Cell, Outcome],
    engine: Engine,
) -> Iterable[list[Record]]:
    tasks = [BatchTask(setup, originals[batch[0].cell], tuple(batch)) for batch in batches]
    for task, answer in engine.run(run_batch, tasks):
        if isinstance(answer, WorkerDied):
            yield [failed_row(experiment.case_name, each, f"worker: {answer}") for each in task.instances]
        else:
            yield answer
