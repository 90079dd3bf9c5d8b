"""Where tasks run: processes of this machine (joblib) or a Dask cluster. Both survive dying workers.

An engine yields each task with its result as it comes, in any order; a task that kills its workers again and
again is yielded with a :class:`WorkerDied` instead, so that no result is lost to it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from ppsm.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Answer = TypeVar("Answer")
_ATTEMPTS = 3


class WorkerDied(Exception):  # noqa: N818 - what happened, handed on as a value
    """The process of a task ended before the task did."""


class Engine(Protocol):
    """Runs tasks somewhere."""

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """Each task with its answer, in the order in which they come."""


class LocalEngine:
    """Processes on this machine."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"{workers} workers were asked for; expected at least 1.")
        self.workers = workers

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """A pool that breaks is made anew for what is left, with tasks one by one if they may be to blame."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        left, breaks = dict(enumerate(tasks)), 0
        while left:
            # Once the pool broke twice without an answer, the first task that is left runs alone.
            chosen = list(left.items()) if breaks < _ATTEMPTS - 1 else list(left.items())[:1]
            try:
                for index, answer in self._pool(function, chosen):
                    breaks = 0
                    yield left.pop(index), answer
            except TerminatedWorkerError as error:
                breaks += 1
                if breaks > _ATTEMPTS:
                    yield left.pop(chosen[0][0]), WorkerDied(str(error).split(".")[0])
                    breaks = 0

    def _pool(
        self, function: Callable[[Task], Answer], tasks: Sequence[tuple[int, Task]]
    ) -> Iterator[tuple[int, Answer]]:
        from joblib import Parallel, delayed
        from joblib.externals.loky import get_reusable_executor

        finished = False
        try:
            # Small tasks are not put together: each is a few seconds, and a finished one is kept at once.
            pool = Parallel(
                n_jobs=self.workers,
                backend="loky",
                batch_size=1,
                pre_dispatch="2*n_jobs",
                return_as="generator_unordered",
                inner_max_num_threads=1,
            )
            yield from pool(delayed(_numbered)(function, index, task) for index, task in tasks)
            finished = True
        finally:
            if not finished:
                get_reusable_executor().shutdown(wait=False, kill_workers=True)


def _numbered(function: Callable[[Task], Answer], index: int, task: Task) -> tuple[int, Answer]:
    return index, function(task)


class ClusterEngine:
    """A Dask cluster; its workers need this package in the same version."""

    def __init__(self, client: "Client") -> None:
        self.client = client

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer | WorkerDied]]:
        """Dask hands the tasks of a dead worker to others; one that kills several is given up."""
        from distributed import KilledWorker, as_completed

        futures = {self.client.submit(function, task, pure=False): task for task in tasks}
        for future in as_completed(list(futures)):
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
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            "--cluster needs Dask, which is not installed: pip install 'ppsm[cluster]'."
        ) from None
    if address == "local":
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
            Client(local) as client,
        ):
            yield ClusterEngine(client)
        return
    try:
        client = Client(address, timeout="20s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no Dask scheduler answers at '{address}' ({error}): start one, or give its address as "
            "tcp://host:8786."
        ) from None
    with client:
        yield ClusterEngine(client)
