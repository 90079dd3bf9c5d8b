"""The Typer application that the command modules register on, and the exit codes they share."""

import typer

app = typer.Typer(
    name="ppsm",
    help="Privacy-preserving coordination of markets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

EXIT_NO_ANSWER = 1
EXIT_INTERRUPTED = 130
