"""Ctrl-C around solvers, which keep their incumbent on it and return as if nothing had happened.

A loop would go on, and keep a record of a search that was cut short; a command would say that there is no
answer. :func:`watched` remembers that the key was pressed; :meth:`Watch.check` raises what the solvers
swallowed.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Watch:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.pressed = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch for Ctrl-C; outside of the main thread, where Python sends none, nothing is watched."""
    watch = Watch()
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return

    def pressed(number: int, frame: FrameType | None) -> None:
        del number, frame
        watch.pressed = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield watch
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Let SIGTERM, by which batch systems say that time is up, stop a command as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
