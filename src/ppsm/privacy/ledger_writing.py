"""One more entry at the end of a ledger: who writes it, for whom and of which day."""

import getpass
import os
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from ppsm.privacy import ledger_file
from ppsm.privacy.balance import Balance
from ppsm.privacy.ledger_file import Entry
from ppsm.privacy.record import utc_text


@dataclass(frozen=True)
class About:
    """For whom an entry is, and of which day; empty for everybody and for data that are of no day."""

    recipient: str = ""
    day: str = ""


EVERYBODY = About()


def append(
    connection: sqlite3.Connection,
    head: Entry,
    kind: str,
    amount: Decimal,
    after: Balance,
    detail: str,
    time: datetime,
    about: About = EVERYBODY,
) -> Entry:
    """Write an entry after the last one, with the balance after it."""
    entry = Entry(
        sequence=head.sequence + 1,
        kind=kind,
        dataset=after.dataset,
        recipient=about.recipient,
        day=about.day,
        alpha=after.alpha,
        unit=after.unit,
        days=after.window,
        amount=str(amount),
        granted=str(after.granted),
        spent=str(after.spent),
        most_per_release=str(after.most_per_release),
        who=who(),
        time=utc_text(time),
        detail=detail,
        previous=head.hash,
    )
    return ledger_file.append(connection, entry)


def who() -> str:
    """The login name; by the process's user where the system knows it, not by a variable anyone can set."""
    try:
        import pwd
    except ImportError:  # no POSIX system
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
