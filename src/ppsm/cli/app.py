"""The Typer application that the command modules register on, and the exit codes they share."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

app = typer.Typer(
    name="ppsm",
    help="Privacy-preserving coordination of markets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain usage errors: one line that scripts can read, no boxes
)

EXIT_NO_ANSWER = 1
EXIT_INTERRUPTED = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Leave quietly on Ctrl-C where nothing has been found that could be printed."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
