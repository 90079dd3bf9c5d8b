"""The ``ppsm`` command, also as ``python -m ppsm``: Ctrl-C is answered from the first moment on."""

import sys

from ppsm.interrupts import answer_interrupts


def run() -> None:
    """Load the command line, which takes a second, and run it."""
    answer_interrupts()
    try:
        from ppsm.cli import run as run_command
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run_command()


if __name__ == "__main__":
    run()
