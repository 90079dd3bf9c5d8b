"""The Typer application that the command modules register on, and the exit codes they share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ppsm import __version__

app = typer.Typer(
    name="ppsm",
    help="Privacy-preserving coordination of markets.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain usage errors: one line that scripts can read, no boxes
)


def examples(*lines: str) -> str:
    """The end of a command's help: what one types; each line is kept as it is."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


EXIT_NO_ANSWER = 1
EXIT_FILE = 6
EXIT_INTERRUPTED = 130


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ppsm {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Privacy-preserving coordination of markets."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Leave quietly on Ctrl-C where nothing has been found that could be printed."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
