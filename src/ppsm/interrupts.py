"""Ctrl-C around solvers, which keep their incumbent on it and return as if nothing had happened.

A loop would go on, and keep a record of a search that was cut short; a command would say that there is no
answer. :func:`watched` remembers that the key was pressed; :meth:`Watch.check` raises what the solvers
swallowed. :func:`answer_interrupts` sees to it that whoever pressed the key is never left without a word.
"""

import os
import select
import signal
import sys
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


# So long a command may take to end by itself before it says that it heard the key.
_SILENCE_S = 1.0
_SHOW_CURSOR = b"\x1b[?25h"


def answer_interrupts() -> None:
    """Say soon after Ctrl-C that it was heard, and leave at once on a second one, whatever is under way.

    Python acts on signals between steps of its own, and a step of a solver can be long. A thread of its own
    hears them as they come. Leaving at once is safe: all that is kept is written to outlive a kill.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_answer, args=(reader,), daemon=True).start()


def _answer(reader: int) -> None:
    pressed, said = 0, False
    while pressed < 2:
        heard, _, _ = select.select([reader], [], [], _SILENCE_S if pressed and not said else None)
        if heard:
            pressed += os.read(reader, 64).count(signal.SIGINT)
        else:
            said = True
            os.write(2, b"stopping; press Ctrl-C again to leave at once\n")
    if sys.stderr.isatty():
        os.write(2, _SHOW_CURSOR)  # a progress bar has hidden it
    os.write(2, b"interrupted\n")
    os._exit(128 + signal.SIGINT)
