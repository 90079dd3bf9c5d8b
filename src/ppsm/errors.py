"""Every error that ppsm raises on purpose, in one tree.

::

    PpsmError                    exit code 1
    ├── InputError               exit code 2   the data, model or file given cannot be used
    │   ├── ModelError                         a model is not of the form the method needs
    │   └── FileFormatError                    a file cannot be read as what it should be
    ├── NoValidBoundError        exit code 2   a big-M was asked for and none can be proven
    ├── SolverError              exit code 3   a solver failed where it must not
    ├── PrivacyError             exit code 4   a release is refused
    │   ├── SecretExposureError                something tried to look at a secret
    │   ├── BudgetExceededError                the privacy budget does not cover the release
    │   ├── LedgerError                        the ledger cannot be trusted or written
    │   └── AuditFailedError     exit code 5   a mechanism leaks more than it claims
    └── ProtocolError            exit code 7   a round with another party cannot go on

A message is one sentence for a person: what was found, what was expected, what to do.
The command line prints it after ``error:`` and leaves with the class's ``exit_code``.
"""


def printable(text: str) -> str:
    """A text without signs that steer a terminal or turn the writing around: it may be somebody else's."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


class PpsmError(Exception):
    """The root of all errors that ppsm raises on purpose."""

    exit_code = 1


class InputError(PpsmError, ValueError):
    """What was given cannot be used; the message says what was expected instead."""

    exit_code = 2


class ModelError(InputError):
    """A model is not of the form the method needs (say, integers in a follower)."""


class FileFormatError(InputError):
    """A file cannot be read as what it should be; the message names file and line."""


class NoValidBoundError(PpsmError):
    """A big-M reformulation was asked for, and no finite valid bound exists for a row.

    ``obstacle`` is the finding alone, without what to do about it.
    """

    exit_code = 2

    def __init__(self, message: str, obstacle: str = "") -> None:
        super().__init__(message)
        self.obstacle = obstacle or message


class SolverError(PpsmError):
    """A solver failed in a way that leaves no answer to report."""

    exit_code = 3


class PrivacyError(PpsmError):
    """A release is refused; nothing has left."""

    exit_code = 4


class SecretExposureError(PrivacyError, TypeError):
    """Something tried to look at a secret outside the doors of :mod:`ppsm.privacy`."""


class BudgetExceededError(PrivacyError):
    """The privacy budget of a data set does not cover the release that was asked for."""


class LedgerError(PrivacyError):
    """The privacy ledger is missing, damaged, locked or cannot be written."""


class AuditFailedError(PrivacyError):
    """An audit found a mechanism to leak more than it claims, or its noise to be other than it says."""

    exit_code = 5


class ProtocolError(PpsmError):
    """A round with another party cannot go on: it is out of reach, not to be trusted, or has ended it."""

    exit_code = 7
