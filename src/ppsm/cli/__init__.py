"""The command line: ``ppsm COMMAND``, one module per command group.

Exit codes: 0 done; 1 no answer (infeasible, unbounded, none found in time); 2 unusable input; 3 a solver
failed; 4 a release was refused; 5 an audit failed; 130 interrupted.
"""

import sys

from ppsm.cli import audit, bilevel, demo, gauc, ledger
from ppsm.cli.app import EXIT_INTERRUPTED, app
from ppsm.cli.case import app as case_app
from ppsm.errors import PpsmError

__all__ = ["app", "audit", "bilevel", "demo", "gauc", "ledger", "main"]

app.add_typer(case_app, name="case")


def main() -> None:
    """Run the command line; an expected error is one sentence and its exit code, never a traceback."""
    try:
        app()
    except PpsmError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)
