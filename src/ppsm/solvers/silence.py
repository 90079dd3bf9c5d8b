"""Solvers that talk past their own settings: what they print from C goes nowhere."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOCK = threading.Lock()
_DESCRIPTORS = (1, 2)
# Where the descriptors led before the first of those who are silencing now; several threads may be.
_kept: dict[int, int] = {}
_silencers = 0


@contextmanager
def silenced() -> Iterator[None]:
    """Discard what C libraries write to standard output and standard error meanwhile, in all threads.

    SCIP's LP solver reports its troubles there even when SCIP is told to be quiet; all that matters of them
    is in the status.
    """
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _silencers
    with _LOCK:
        _silencers += 1
        if _silencers > 1:
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError, OSError):  # there is none, or it is closed
                stream.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in _DESCRIPTORS:
            with suppress(OSError):  # a process may have been started without
                _kept[number] = os.dup(number)
                os.dup2(nowhere, number)
        os.close(nowhere)


def _end() -> None:
    global _silencers
    with _LOCK:
        _silencers -= 1
        if _silencers:
            return
        for number, copy in _kept.items():
            os.dup2(copy, number)
            os.close(copy)
        _kept.clear()
