"""Solvers that talk past their own settings: what they print from C goes nowhere."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def silenced() -> Iterator[None]:
    """Discard what C libraries write to standard output and standard error meanwhile.

    SCIP's LP solver reports its troubles there even when SCIP is told to be quiet; all that matters of them
    is in the status.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # there is none, or it is closed
            stream.flush()
    kept: dict[int, int] = {}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            with suppress(OSError):  # a process may have been started without
                kept[number] = os.dup(number)
                os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
