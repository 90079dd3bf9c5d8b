"""The command line: ``ppsm COMMAND``, one module per command group.

Exit codes: 0 done; 1 no answer (infeasible, unbounded, none found in time); 2 unusable input; 3 a solver
failed; 4 a release was refused; 5 an audit failed; 6 a file cannot be used; 7 a round with another party
cannot go on; 130 interrupted.
"""

import os
import sys

from ppsm.cli import (
    audit,
    bilevel,
    case,
    compare,
    demo,
    doctor,
    experiment,
    gauc,
    ledger,
    release,
    stream,
    tradeoff,
    transcripts,
    two_parties,
)
from ppsm.cli.app import EXIT_FILE, app
from ppsm.errors import PpsmError, printable

__all__ = [
    "app",
    "audit",
    "bilevel",
    "case",
    "compare",
    "demo",
    "doctor",
    "experiment",
    "gauc",
    "ledger",
    "main",
    "release",
    "run",
    "stream",
    "tradeoff",
    "transcripts",
    "two_parties",
]

app.add_typer(case.app, name="case")


def run() -> None:
    """The ``ppsm`` command: :func:`main` in a process of its own."""
    _keep_solver_prints_apart()
    main()


def main() -> None:
    """Run the command line; an expected error is one sentence and its exit code, never a traceback."""
    try:
        app()
    except PpsmError as error:
        sys.stderr.write(f"error: {printable(str(error))}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:  # whoever read the output has gone, and misses nothing
        raise
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        sys.stderr.write(
            f"error: a file{where} could not be used ({error.strerror or error}): make room or see to its "
            "permissions, then run the same command again.\n"
        )
        sys.exit(EXIT_FILE)


def _keep_solver_prints_apart() -> None:
    """Give Python's streams descriptors of their own, and point the process's output at its errors.

    HiGHS prints some warnings from C++ whatever its output option says (``HighsPostsolveStack::...``); on
    standard output they would break ``--json``. Where solvers are silenced, progress must still be seen.
    """
    try:
        output, errors = os.dup(1), os.dup(2)
        os.dup2(2, 1)
    except OSError:  # started without these streams: there is nothing to keep clean
        return
    # A sign that a terminal does not know is no reason to end, when all is written, with a traceback.
    sys.stdout = os.fdopen(output, "w", encoding=sys.stdout.encoding, errors="replace")
    sys.stderr = os.fdopen(errors, "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)
