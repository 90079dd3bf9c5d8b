"""The command line: ``ppsm COMMAND``, one module per command group."""

import sys

import typer

from ppsm.cli.case import app as case_app
from ppsm.errors import PpsmError

app = typer.Typer(
    name="ppsm",
    help="Privacy-preserving coordination of markets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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
        sys.exit(130)
