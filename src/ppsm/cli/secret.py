"""What commands on the owner's side share: the secret, and a directory and a screen for one reader."""

import html
import logging
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ppsm.cases import Case, read_demand
from ppsm.cli.progress import Steps
from ppsm.errors import InputError
from ppsm.files import OWNER_MODE, sync_directory, write_atomically
from ppsm.privacy import Sensitive


def read_secret(
    case: Case,
    demand: Path | None,
    gas_stress: float | None,
    dataset: str,
    *,
    unit: str | None = None,
    sheet: str | None = None,
) -> Sensitive:
    """The demand of a file or of the case at a gas stress; exactly one of them must be given."""
    insist_on_a_file(demand, unit, sheet)
    if demand is not None and gas_stress is None:
        vector = read_demand(demand, case, plausible=False, unit=unit, sheet=sheet)
    elif gas_stress is not None and demand is None:
        vector = case.demand_mwh(gas_stress)
    else:
        given = "neither" if demand is None else "both"
        raise InputError(
            f"{given} of --gas-stress and --demand was given: say where the demand is from with one of them."
        )
    return Sensitive(vector, dataset=dataset, unit="MWh", entry_names=case.delivery_ids)


def insist_on_a_file(demand: Path | None, unit: str | None, sheet: str | None) -> None:
    """Refuse a unit or a sheet of a file that nobody has given."""
    if demand is None and not (unit is None and sheet is None):
        raise InputError("--demand-unit and --demand-sheet are of a file: say which with --demand.")


def owner_directory(directory: Path) -> Path:
    """A directory below the output that nobody else can enter."""
    path = directory / "owner"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        _insist_on_our_own(path)
        path.chmod(0o700)
        sync_directory(directory)  # what is kept in there must outlive a power cut
    except OSError as error:
        raise InputError(
            f"cannot keep '{path}' for the owner alone ({error.strerror or error}): choose another directory "
            "with --out."
        ) from None
    return path


def _insist_on_our_own(path: Path) -> None:
    """Refuse a directory that somebody else has put there: its user could enter it, or lead it elsewhere."""
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        return
    what = "of another user" if stat.S_ISDIR(found.st_mode) else "no directory of its own"
    raise InputError(
        f"'{path}', which is to be for the owner alone, is {what}: remove it, or choose another directory "
        "with --out."
    )


def is_for_owner() -> bool:
    """Whether standard error is a terminal; elsewhere it is a log, which others read.

    There nothing is said that depends on a secret, be it how a run with a known seed has ended.
    """
    return sys.stderr.isatty()


def refuse_to_remember(cache: Path | None, *, public: bool) -> None:
    """Refuse a directory for remembered commitments, which others may read, beside a secret demand."""
    if cache is not None and not public:
        raise InputError(
            f"--cache {cache} was given beside a case of your own, whose commitments tell of its demand; "
            "expected none: leave it out."
        )


@contextmanager
def at_the_truth(say: Steps, *, public: bool) -> Iterator[Steps]:
    """Where true data are worked on without noise: how far that is, for all if the data are public.

    Of a secret it is told on a terminal alone. A log hears nothing until the block ends: what the library
    says of such work (a search that ended early, bands that were widened), and when, tells of the secret.
    """
    if public or is_for_owner():
        yield say
        return
    say("")
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield lambda _text, _done=None: None
    finally:
        logging.disable(before)


def say_to_owner(trouble: str, file: Path, kept: Path) -> None:
    """Why there is nothing to show of work at a secret: no exit code and no log, which would tell of it.

    A log names what is ``kept`` where all went well, as it does then.
    """
    text = html.escape(trouble) if file.suffix == ".html" else trouble
    write_atomically(file, text + "\n", mode=OWNER_MODE)
    owner_console(kept).print(escape(trouble), highlight=False, soft_wrap=True)


def owner_console(kept: Path) -> Console:
    """Where figures measured against a secret are shown; in a log it is said where they are ``kept``."""
    if not is_for_owner():
        sys.stderr.write(f"for the owner only, and so not printed where it is no terminal: see {kept}\n")
    return Console(stderr=True, quiet=not is_for_owner())
