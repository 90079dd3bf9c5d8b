"""``ppsm doctor``: is the installation sound, and what to do where it is not."""

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm import __version__
from ppsm.cli.app import EXIT_NO_ANSWER, app, examples
from ppsm.errors import PpsmError
from ppsm.extras import EXTRAS, installed
from ppsm.privacy.ledger.place import default_ledger

_LEAST_FREE_MB = 500


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; ``ok`` is None where it is missing and need not be there."""

    name: str
    ok: bool | None
    found: str


@app.command(epilog=examples("ppsm doctor", "ppsm doctor --json"))
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Check solvers, secure randomness, extras, disk and ledger.

    Exit codes: 0 all that must be there works; 1 something does not.
    """
    found = list(_checks())
    sound = all(check.ok is not False for check in found)
    if as_json:
        typer.echo(json.dumps({"sound": sound, "checks": [asdict(check) for check in found]}, indent=1))
    else:
        table = Table("", "what", "found", title=f"ppsm {__version__}")
        for check in found:
            table.add_row({True: "ok", False: "NO", None: "-"}[check.ok], check.name, escape(check.found))
        Console().print(table)
    if not sound:
        raise typer.Exit(EXIT_NO_ANSWER)


def _checks() -> Iterator[Check]:
    yield Check("Python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}")
    yield _tried("a game, solved and verified", _game)
    yield _tried("quadratic programs", _quadratic)
    yield _tried("secure noise", _noise)
    for extra in EXTRAS:
        words = "installed" if installed(extra) else f"not installed: pip install 'ppsm[{extra}]'"
        yield Check(f"extra {extra}", installed(extra) or None, words)
    yield _tried("disk for temporary files", _disk)
    yield _ledger()


def _tried(name: str, probe: Callable[[], str]) -> Check:
    try:
        return Check(name, True, probe())
    except (PpsmError, OSError, ImportError, AssertionError) as error:
        return Check(name, False, f"{type(error).__name__}: {error}")


def _game() -> str:
    """A canary: an answer that is known, by the solver of games."""
    from ppsm.examples import freight_game

    solution = freight_game().solve()
    if not solution.verified:
        raise AssertionError("a small game was solved wrongly: reinstall highspy")
    return f"HiGHS {version('highspy')}, {solution.bilevel.method.value}"


def _quadratic() -> str:
    import clarabel  # noqa: F401 - whether it loads is the question
    import piqp  # noqa: F401

    return f"PIQP {version('piqp')}, Clarabel {version('clarabel')}"


def _noise() -> str:
    """Two draws that agree would say that the noise is no noise."""
    import numpy as np

    from ppsm.privacy.noise import ExactLaplace

    source = ExactLaplace(size=4, scale=1.0)
    one, two = source.add_to(np.zeros(4)), source.add_to(np.zeros(4))
    if np.array_equal(one, two) or os.urandom(16) == os.urandom(16):
        raise AssertionError("two draws are equal: do not release anything from this machine")
    return f"OpenDP {version('opendp')}, exact Laplace"


def _disk() -> str:
    place = Path(tempfile.gettempdir())
    free = shutil.disk_usage(place).free // 2**20
    if free < _LEAST_FREE_MB:
        raise OSError(f"{free} MB are free in {place}, expected {_LEAST_FREE_MB}: make room")
    return f"{free:,} MB free in {place}"


def _ledger() -> Check:
    from ppsm.privacy import Ledger

    path = default_ledger()
    if not path.exists():
        return Check("ledger", None, f"none at {path}: ppsm ledger init")
    return _tried("ledger", lambda: f"{Ledger(path).verify().entries} entries in {path}")
