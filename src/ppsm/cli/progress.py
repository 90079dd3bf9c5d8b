"""What a command says while one waits: a bar with a clock on a terminal, plain lines elsewhere."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

# Without a terminal a quick command says nothing; then a line comes at least so often, and of a long
# experiment hardly more often.
_QUICK_S = 0.3
_LONGEST_SILENCE_S = 15.0


class Steps(Protocol):
    """How far a command is; ``done`` steps are left as they are where none is given."""

    def __call__(self, text: str, done: int | None = None) -> None:
        """Say what is under way or was just done; after an empty text no line tells how long it takes."""


@contextmanager
def steps(total: int | None = None, *, sparse: bool = False) -> Iterator[Steps]:
    """Show so many steps on standard error until the block ends; None where nobody knows how many.

    ``sparse`` is for thousands of steps: without a terminal not each of them has a line.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        with _Lines(total, _LONGEST_SILENCE_S if sparse else 0.0).ticking() as say:
            yield say
        return
    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    columns += [] if total is None else [BarColumn(20), MofNCompleteColumn()]
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda text, done=None: bar.update(task, description=text, completed=done)


class _Lines:
    """Lines of seconds, steps and words: what is said, and again what was said when it lasts."""

    def __init__(self, total: int | None, apart_s: float) -> None:
        self.total, self.apart_s = total, apart_s
        self.text, self.done = "", 0
        self.started = perf_counter()
        self.written: float | None = None

    def __call__(self, text: str, done: int | None = None) -> None:
        self.text, self.done = text, self.done if done is None else done
        now = perf_counter()
        is_long_ago = self.written is None or now - self.written >= self.apart_s
        if text and now - self.started >= _QUICK_S and is_long_ago:
            self._write()

    @contextmanager
    def ticking(self) -> Iterator["_Lines"]:
        """Write while somebody else works."""
        ended = threading.Event()
        clock = threading.Thread(target=self._tick, args=(ended,), daemon=True)
        clock.start()
        try:
            yield self
        finally:
            ended.set()
            clock.join()

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(_QUICK_S):
            if self.text and (self.written is None or perf_counter() - self.written >= _LONGEST_SILENCE_S):
                self._write()

    def _write(self) -> None:
        self.written = perf_counter()
        count = "" if self.total is None else f"{self.done:,} of {self.total:,}  "
        sys.stderr.write(f"{self.written - self.started:5.0f} s  {count}{self.text}\n")
        sys.stderr.flush()
