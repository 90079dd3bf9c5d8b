"""What a command says while one waits: a bar with a clock on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class Steps(Protocol):
    """How far a command is; ``done`` steps are left as they are where none is given."""

    def __call__(self, text: str, done: int | None = None) -> None:
        """Say what is under way or was just done."""


@contextmanager
def steps(total: int) -> Iterator[Steps]:
    """Show so many steps on standard error until the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda text, done=None: bar.update(task, description=text, completed=done)


class _Lines:
    """One line for each thing said: seconds, steps, words."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.started = total, 0, perf_counter()

    def __call__(self, text: str, done: int | None = None) -> None:
        self.done = self.done if done is None else done
        seconds = perf_counter() - self.started
        sys.stderr.write(f"{seconds:5.0f} s  {self.done} of {self.total}  {text}\n")
        sys.stderr.flush()
