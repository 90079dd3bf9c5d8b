"""The Typer application that the command modules register on, and what all commands share."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ppsm import __version__

EXIT_NO_ANSWER = 1
EXIT_FILE = 6
EXIT_INTERRUPTED = 130
# With four columns of indent and a backslash 80 at most.
_EXAMPLE_WIDTH = 74


@contextmanager
def interruptible() -> Iterator[None]:
    """Leave quietly on Ctrl-C where nothing has been found that could be printed."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


class _Commands(TyperGroup):
    """All commands: none of them ends on Ctrl-C without a word."""

    def invoke(self, ctx: Any) -> Any:
        with interruptible():
            return super().invoke(ctx)


def examples(*lines: str) -> str:
    """The end of a command's help: what one types; a line is kept as it is, or folded as a shell reads it."""
    return "\b\nExamples:\n" + "\n".join(f"  {_folded(line)}" for line in lines)


def _folded(line: str) -> str:
    """Long lines with backslashes before options: a narrow terminal would break them anywhere."""
    first, *options = re.split(r" (?=--)", line)
    rows = [first]
    for option in options:
        if len(rows[-1]) + len(option) < _EXAMPLE_WIDTH:
            rows[-1] += f" {option}"
        else:
            rows.append(f"    {option}")
    return " \\\n  ".join(rows)


app = typer.Typer(
    name="ppsm",
    cls=_Commands,
    help="Privacy-preserving coordination of markets.",
    epilog=examples("ppsm doctor", "ppsm demo", "ppsm release --help"),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain usage errors: one line that scripts can read, no boxes
)


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
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Show what is done as it is done; -vv shows more.",
        ),
    ] = 0,
) -> None:
    """Privacy-preserving coordination of markets."""
    del version  # its callback has answered
    if verbose:
        _show_log(logging.INFO if verbose == 1 else logging.DEBUG)


def _show_log(level: int) -> None:
    """Print what the library logs on standard error; nothing in it is secret."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log = logging.getLogger("ppsm")
    log.handlers[:] = [handler]
    log.setLevel(level)
    log.propagate = False  # a command that logs for its own sake would print each line twice
