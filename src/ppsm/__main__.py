"""The ``ppsm`` command, also as ``python -m ppsm``: Ctrl-C is answered from the first moment on."""

import os
import sys

from ppsm.interrupts import answer_interrupts


def run() -> None:
    """Load the command line, which takes a second, and run it."""
    _open_streams()
    answer_interrupts()
    try:
        from ppsm.cli import run as run_command
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run_command()


def _open_streams() -> None:
    """Lead standard streams that were closed to nowhere.

    A file that is opened gets the first free number. If that is the one of standard error, what is said there
    for the owner's eyes would be written into the file, be it one to share.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


if __name__ == "__main__":
    run()
