"""Where a user's ledger lies, and the commands that a refusal tells a user to type.

There is one ledger for a user unless another is named: budgets that are spread over several files do not add
up.
"""

import os
import sys
from pathlib import Path
from shlex import quote

from ppsm.errors import InputError

VARIABLE = "PPSM_LEDGER"
_FOLDER, _NAME = "ppsm", "ledger.db"


def default_ledger() -> Path:
    """The file that ``$PPSM_LEDGER`` names, else the one in the platform's place for a user's data.

    It is the same wherever a command is typed: a ledger for each directory would be a budget for each.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return _data_home() / _FOLDER / _NAME
    if not Path(named).is_absolute():
        raise InputError(
            f"{VARIABLE} is '{named}', expected the whole path of a ledger: it must lead to the same one "
            "from every directory."
        )
    return Path(named)


def _data_home() -> Path:
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    local = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME")
    # The XDG specification says to ignore a relative path.
    return Path(local) if local and Path(local).is_absolute() else _home() / ".local" / "share"


def _home() -> Path:
    named = os.environ.get("HOME")
    if named is not None and not Path(named).is_absolute():
        raise InputError(
            f"HOME is '{named}', expected the whole path of a directory, in which the user's ledger is found "
            "from everywhere: set it, or name a ledger with --ledger."
        )
    return Path.home()


def ledger_command(verb: str, ledger: Path) -> str:
    """``ppsm ledger VERB`` for this ledger, ready to be typed."""
    where = "" if _is_default(ledger) else f" --ledger {quote(str(ledger))}"
    return f"ppsm ledger {verb}{where}"


def grant_command(
    ledger: Path,
    dataset: str,
    *,
    epsilon: float,
    alpha: float,
    unit: str,
    most: float,
    window: int | None = None,
) -> str:
    """The first grant for a data set that covers one release at ``epsilon``, ready to be typed.

    ``most`` is what one release may cost without the grantor's leave; a stream needs it for any ``window``
    of days.
    """
    leave = f" --most-per-release {epsilon!r}" if epsilon > most else ""
    days = "" if window is None else f" --window {window}"
    amounts = f"--epsilon {epsilon!r} --alpha {alpha!r} --unit {quote(unit)}{leave}{days}"
    return f"{ledger_command('grant', ledger)} {dataset} {amounts}"


def grant_to_recipient(
    ledger: Path, dataset: str, recipient: str, *, epsilon: float, window: int | None
) -> str:
    """The first grant for a recipient of a data set that has a budget, ready to be typed.

    ``window`` is that of the data set, or of a stream: without one a budget of days lasts for one window.
    """
    days = f" --window {window}" if window else ""
    to = f"{dataset} --recipient {quote(recipient)}"
    return f"{ledger_command('grant', ledger)} {to} --epsilon {epsilon!r}{days}"


def _is_default(ledger: Path) -> bool:
    return ledger.resolve() == default_ledger().resolve()
