"""Where tasks run: in this process, in processes of this machine (joblib) or on a Dask cluster.

An engine yields each task with its result as it comes, in any order. The last two survive dying workers; a
task that kills its workers again and again is yielded with a :class:`WorkerDied` instead, so that no result
is lost to it.
"""

import logging
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty
from typing import TYPE_CHECKING, Protocol, TypeVar

from ppsm.errors import InputError
from ppsm.experiments.tuning import HARNESS
from ppsm.extras import insist_on
from ppsm.interrupts import watched

if TYPE_CHECKING:
    from distributed import Client
    from joblib.externals.loky import ProcessPoolExecutor

LOG = logging.getLogger(__name__)

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class WorkerDied(Exception):  # noqa: N818 - what happened, handed on as a value
    """The process of a task ended before the task did."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """Each task with its answer, in the order in which they come."""


class InProcess:
    """No other process, one task after the other; Ctrl-C drops the task under way."""

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """Each task with its answer, in order."""
        with watched() as watch:
            for task in tasks:
                answer = function(task)
                watch.check()  # solvers swallow Ctrl-C: their answer was cut short
                yield task, answer


class LocalEngine:
    """Processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = _at_least_one(workers)

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """A pool that breaks is made anew for what is left; tasks that may be to blame come last, singly."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        left, deaths = dict(enumerate(tasks)), Counter[int]()
        while left:
            # Those that saw a pool break wait for the others; among themselves they run one by one.
            calm = [item for item in left.items() if not deaths[item[0]]]
            chosen = calm or list(left.items())[:1]
            try:
                for index, answer in self._pool(function, chosen):
                    yield left.pop(index), answer
            except BrokenProcessPool as error:
                # Tasks start in their order: the first ones without an answer were under way.
                under_way = [index for index, _ in chosen if index in left][: self.workers + 1]
                deaths.update(under_way)
                LOG.warning("a worker died; %d tasks that may be to blame come last", len(under_way))
                if len(under_way) == 1 and deaths[under_way[0]] >= HARNESS.attempts:
                    yield left.pop(under_way[0]), WorkerDied(str(error).split(".")[0])

    def _pool(
        self, function: Callable[[Task], Answer], tasks: Sequence[tuple[int, Task]]
    ) -> Iterator[tuple[int, Answer]]:
        from joblib.externals.loky import get_reusable_executor

        # Solvers run many at a time: each process has one thread.
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # A worker that waits keeps what it has built and remembers.
        executor = get_reusable_executor(
            max_workers=self.workers,
            env=one_thread,
            timeout=None,
            initializer=_begin_worker,
            initargs=(os.getpid(),),
        )
        finished = False
        try:
            left, waiting = iter(tasks), set[Future[tuple[int, Answer]]]()
            while True:
                # A few at a time, so that few are taken back from a pool that is killed.
                with _deaf_children():
                    for index, task in islice(left, 2 * self.workers - len(waiting)):
                        waiting.add(executor.submit(_numbered, function, index, task))
                if not waiting:
                    break
                # Not for ever: a wait that has no end does not feel a Ctrl-C that another thread was told.
                done, waiting = wait(waiting, HARNESS.watch_seconds, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
            finished = True
        finally:
            if not finished:
                _forget_unstarted(executor)
                executor.shutdown(wait=False, kill_workers=True)


def _forget_unstarted(executor: "ProcessPoolExecutor") -> None:
    """Take back what no worker was given yet: a pool that is killed looks for tasks which it has dropped."""
    with suppress(Empty):
        while True:
            executor._work_ids.get_nowait()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Start processes that do not feel Ctrl-C.

    Solvers keep their incumbent on it: a worker that felt it would hand in a search cut short, and one that
    is only starting would print a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin_worker(parent: int) -> None:
    from joblib.externals.loky import process_executor

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker grows by what it learns, which loky would take for a leak and replace it.
    process_executor._MAX_MEMORY_LEAK_SIZE = HARNESS.worker_bytes
    _end_with(parent)


def _numbered(function: Callable[[Task], Answer], index: int, task: Task) -> tuple[int, Answer]:
    return index, function(task)


def _end_with(parent: int) -> None:
    """Watch the process that started this one: killed, it cannot end its workers itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(HARNESS.watch_seconds)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _at_least_one(workers: int) -> int:
    if workers < 1:
        raise InputError(f"{workers} workers were asked for; expected at least 1.")
    return workers


class ClusterEngine:
    """A Dask cluster; its workers need this package in the same version."""

    def __init__(self, client: "Client") -> None:
        self.client = client

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """Dask hands the tasks of a dead worker to others; one that kills several is given up."""
        from distributed import KilledWorker
        from distributed import as_completed as as_dask_completes

        futures = {self.client.submit(function, task, pure=False): task for task in tasks}
        for future in as_dask_completes(list(futures)):
            if future.cancelled():
                raise InputError(
                    "the Dask scheduler went away; start it and its workers, and run the same command again."
                )
            error = future.exception()
            task = futures.pop(future)
            if error is None:
                yield task, future.result()
            elif isinstance(error, KilledWorker):
                yield task, WorkerDied("the task's workers died again and again")
            else:
                raise error
            future.release()


@contextmanager
def cluster(address: str, workers: int) -> Iterator[ClusterEngine]:
    """Connect to a scheduler; ``local`` starts one here with some workers."""
    insist_on("cluster", "--cluster")
    from distributed import Client, LocalCluster

    if address == "local":
        with (
            LocalCluster(
                n_workers=_at_least_one(workers),
                threads_per_worker=1,
                dashboard_address=None,
                # Workers complain of a scheduler that left while the cluster closes.
                silence_logs=logging.CRITICAL,
            ) as local,
            Client(local) as client,
        ):
            yield ClusterEngine(client)
        return
    try:
        client = Client(address, timeout=f"{HARNESS.connect_seconds}s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no Dask scheduler answers at '{address}' ({error}): start one, or give its address as "
            "tcp://host:8786."
        ) from None
    with client:
        yield ClusterEngine(client)
