"""What commands share of their output: directories, the table of several mechanisms, a run cut short."""

import sys
import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from ppsm.cli.app import EXIT_INTERRUPTED
from ppsm.errors import InputError

if TYPE_CHECKING:
    from ppsm.experiments.summaries import Summary


def writable_directory(path: Path) -> Path:
    """Make a directory if need be and try it, before work is done or budget spent for a full disk."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write to '{path}' ({error.strerror or error}): choose another directory with --out."
        ) from None
    return path


def summary_lines(
    summaries: "Sequence[Summary]", *, title: str | None = None, by_alpha: bool = False
) -> Table:
    """One line for each mechanism and alpha, if asked for with a space after each alpha."""
    from ppsm.experiments.summaries import HEADINGS

    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(HEADINGS.values()):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for each, after in zip_longest(summaries, summaries[1:]):
        last = by_alpha and (after is None or after.alpha_mwh != each.alpha_mwh)
        table.add_row(*each.cells, end_section=last)
    return table


def interrupted(done: int, planned: int, directory: Path, *, counted: bool) -> typer.Exit:
    """Say what is kept of runs that Ctrl-C has ended; the command is left with what is returned.

    How many they are is left out where they are runs at a secret and others read (``counted``).
    """
    runs = f" after {done} of {planned} runs, which are kept" if counted else "; what was done is kept"
    sys.stderr.write(f"interrupted{runs} in {directory}: run the same command again to go on.\n")
    return typer.Exit(EXIT_INTERRUPTED)
