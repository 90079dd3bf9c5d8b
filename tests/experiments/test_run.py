"""Runs: nothing repeated, nothing lost, whatever is killed; and the same row from an instance run alone."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import ShutdownExecutorError

from ppsm.errors import InputError, SolverError
from ppsm.experiments import Experiment, RowStore, run_experiment
from ppsm.experiments.engines import InProcess, LocalEngine, WorkerDied, _forget_unstarted, cluster
from ppsm.experiments.instance import Workspace, failed_row
from ppsm.experiments.run import BatchTask, Setup, Tally, insist_on_results, perform, run_grid
from tests.experiments.small import SMALL, TOML, lasting, lasting_rows


class Counting(InProcess):
    """Counts what it was asked to run."""

    def __init__(self) -> None:
        self.tasks = 0

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        self.tasks += len(tasks)
        return super().run(function, tasks)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    tally = run_experiment(SMALL, RowStore(directory), InProcess())
    assert (tally.total, tally.done, tally.here, tally.failed) == (48, 48, 48, 0)
    return directory


def command(directory: Path, before: str = "pass") -> subprocess.Popen[str]:
    file = directory.parent / f"{directory.name}.toml"
    file.write_text(TOML)
    return subprocess.Popen(  # noqa: S603
        [
            sys.executable,
            "-c",
            # A job in the background of a script ignores Ctrl-C, and so would all that it starts.
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
            f"{before}; from ppsm.cli import run; run()",
            "experiment",
            str(file),
            "--out",
            str(directory),
            "--workers",
            "2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(found: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def test_rows_are_complete_and_paired(uninterrupted: Path) -> None:
    rows = RowStore(uninterrupted).rows()
    assert len(rows) == 48
    assert len({(row.gas_stress, row.original_leader_cost) for row in rows}) == 2
    for draw in {(row.cell, row.alpha, row.repetition) for row in rows}:
        mine = [row for row in rows if (row.cell, row.alpha, row.repetition) == draw]
        assert len({row.l1_noisy for row in mine}) == len({row.seed for row in mine}) == 1
        assert {row.mechanism for row in mine} == set(SMALL.mechanisms)
    assert len({row.seed for row in rows}) == 12
    assert all(row.package_version and "HiGHS" in row.solvers for row in rows)
    failed = failed_row("medium", SMALL.grid.batches[0][0], "")
    assert (failed.key, failed.seed) in {(row.key, row.seed) for row in rows}


def test_a_finished_run_repeats_nothing(uninterrupted: Path) -> None:
    before = RowStore(uninterrupted).rows()
    again = Counting()
    run_experiment(SMALL, RowStore(uninterrupted), again)
    assert again.tasks == 0
    assert RowStore(uninterrupted).rows() == before


def test_an_instance_run_alone_gives_the_same_row(uninterrupted: Path, tmp_path: Path) -> None:
    store = RowStore(uninterrupted)
    row = next(row for row in store.rows() if row.mechanism == "ppsm" and row.repetition == 2)
    batches = SMALL.grid.batches
    (instance,) = (each for batch in batches for each in batch if each.key_in("medium") == row.key)
    setup = Setup.of(SMALL.case, tmp_path, SMALL.grid.limits)
    (alone,) = perform(setup, BatchTask(store.originals()[instance.cell], (instance,)))
    assert lasting(alone) == lasting(row)


def test_a_workspace_of_this_process_gives_the_same_rows(uninterrupted: Path, tmp_path: Path) -> None:
    grid = SMALL.grid
    workspace = Workspace(grid.case, limits=grid.limits)
    store = RowStore(tmp_path)
    run_grid(grid, store, InProcess(), workspace)
    assert lasting_rows(tmp_path) == lasting_rows(uninterrupted)
    again = Workspace(grid.case, limits=grid.limits)
    assert run_grid(grid, store, Counting(), again).here == 0
    (power, gas), outcome = next(iter(store.originals().items()))
    assert again.original((power, gas)).leader_cost == outcome.leader_cost  # adopted, not cleared again
    assert len(again.solver.memory) == 0


def test_a_run_killed_at_any_moment_goes_on_to_the_same_rows(uninterrupted: Path, tmp_path: Path) -> None:
    directory = tmp_path / "killed"
    first = command(directory)
    wait_for(lambda: list(directory.glob("parts/*.parquet")) or first.poll() is not None)
    time.sleep(random.uniform(0.0, 0.3))  # noqa: S311 - any moment will do
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=60)  # its workers end too, or their pipes would stay open
    kept = RowStore(directory).rows()
    assert kept
    assert set(RowStore(directory).missing()) <= {"killed with 3 repetitions"}
    second = command(directory)
    _, errors = second.communicate(timeout=200)
    assert second.returncode == 0, errors
    rows = RowStore(directory).rows()
    assert all(row in rows for row in kept)  # with their times: nothing was run twice
    assert lasting_rows(directory) == lasting_rows(uninterrupted)
    assert RowStore(directory).missing() == {}


def test_workers_without_a_task_end_with_a_run_that_is_killed() -> None:
    code = (
        "import time; from ppsm.experiments.engines import LocalEngine; "
        "list(LocalEngine(3).run(time.sleep, [0.0])); print('ready', flush=True); "
        "list(LocalEngine(3).run(time.sleep, [300.0]))"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    time.sleep(1.0)  # until all workers wait
    run.kill()
    run.communicate(timeout=30)  # which waits for all that have its pipe


# As a terminal sends Ctrl-C and a batch system the end of time: workers get it too.
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_valid_rows_and_says_how_to_go_on(tmp_path: Path, sent: signal.Signals) -> None:
    directory = tmp_path / "stopped"
    run = command(directory)
    wait_for(lambda: list(directory.glob("parts/*.parquet")) or run.poll() is not None)
    os.killpg(run.pid, sent)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "run the same command again to go on" in errors
    assert "Traceback" not in errors
    statuses = {row.status for row in RowStore(directory).rows()}
    assert statuses
    assert statuses <= {"optimal", "infeasible"}


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_pool_that_is_killed_before_it_starts_a_task_ends_without_a_word() -> None:
    pool = ProcessPoolExecutor(max_workers=1)
    assert pool.submit(abs, -1).result(timeout=60) == 1
    waiting = [pool.submit(time.sleep, 60.0) for _ in range(2)]  # its thread has not woken yet
    _forget_unstarted(pool)
    pool.shutdown(wait=True, kill_workers=True)
    assert all(isinstance(each.exception(timeout=30), ShutdownExecutorError) for each in waiting)


def test_a_cluster_survives_the_death_of_a_worker(uninterrupted: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(tally: Tally) -> None:
        if tally.here and not killed:
            pids = list(engine.client.run(os.getpid).values())
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])

    with cluster("local", 2) as engine:
        tally = run_experiment(SMALL, RowStore(tmp_path), engine, kill_one)
    assert killed
    assert tally.failed == 0
    assert lasting_rows(tmp_path) == lasting_rows(uninterrupted)


def _die_at_two(task: int) -> int:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * task


def test_a_task_that_kills_its_worker_is_given_up_alone() -> None:
    answers = list(LocalEngine(2).run(_die_at_two, range(9)))
    order, found = [task for task, _ in answers], dict(answers)
    assert order.index(2) > order.index(8)  # what cannot be to blame does not wait for it
    assert isinstance(found.pop(2), WorkerDied)
    assert found == {task: 10 * task for task in range(9) if task != 2}


def _die_once(file: Path) -> str:
    """Dies at the first call, as a worker that somebody kills."""
    if file.exists():
        return file.read_text()
    file.write_text("done")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def test_what_a_killed_worker_had_under_way_is_run_again(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}" for number in range(6)]
    for file in files[1:]:
        file.write_text("done")
    answers = dict(LocalEngine(2).run(_die_once, files))
    assert answers == dict.fromkeys(files, "done")


def test_a_cluster_without_workers_is_refused() -> None:
    with pytest.raises(InputError, match="0 workers were asked for"), cluster("local", 0):
        pass


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "full"
    first = command(
        directory, before="import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))"
    )
    _, errors = first.communicate(timeout=200)
    assert first.returncode == 6, errors
    assert "run the same command again" in errors
    assert "Traceback" not in errors
    second = command(directory)
    _, errors = second.communicate(timeout=200)
    assert second.returncode == 0, errors
    assert RowStore(directory).missing() == {}


class Dying(InProcess):
    """All workers of the batches die."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for task in tasks:
            yield task, WorkerDied("out of memory") if isinstance(task, BatchTask) else function(task)


def test_what_failed_is_a_row(tmp_path: Path) -> None:
    small = replace(SMALL, repetitions=1, alphas=(10.0,), gas_stress=(0.5,))
    tally = run_experiment(small, RowStore(tmp_path), Dying())
    rows = RowStore(tmp_path).rows()
    assert tally.failed == len(rows) == 4
    assert {row.status for row in rows} == {"failed"}
    assert {row.message for row in rows} == {"worker: out of memory"}
    assert not any(row.feasible for row in rows)
    with pytest.raises(SolverError, match="4 of 4 runs failed, the first with 'worker: out of memory': the"):
        insist_on_results(rows)
    again = run_experiment(small, RowStore(tmp_path), InProcess())
    assert again.here == 0
    again = run_experiment(small, RowStore(tmp_path), InProcess(), retry_failed=True)
    assert (again.here, again.failed) == (4, 0)
    assert {row.status for row in RowStore(tmp_path).rows()} == {"optimal"}


def test_a_directory_does_not_take_the_place_of_a_case_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "medium").mkdir()
    limits = SMALL.grid.limits
    assert Setup.of("medium", tmp_path, limits).case == "medium"
    assert Setup.of("mine", Path("here"), limits) == Setup(
        str(tmp_path / "mine"), str(tmp_path / "here"), limits
    )


def test_rows_made_otherwise_are_not_mixed(uninterrupted: Path) -> None:
    other: Experiment = replace(SMALL, gap=1e-3)
    with pytest.raises(InputError, match=r"made with gap = 0.0001, this run has 0.001"):
        run_experiment(other, RowStore(uninterrupted), InProcess())


def test_a_second_run_is_kept_out(uninterrupted: Path) -> None:
    with (
        RowStore(uninterrupted).locked(),
        pytest.raises(InputError, match="another run is writing"),
        RowStore(uninterrupted).locked(),
    ):
        pass
