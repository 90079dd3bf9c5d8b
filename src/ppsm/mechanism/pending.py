"""A release that is charged for but not written yet: its noise, kept where the owner alone can read it.

Stopped between the charge and the release, in whatever way, the same command goes on from here: nothing is
charged or published twice. What is read must be of the same demand and setting, and the ledger must have
charged it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ppsm.errors import FileFormatError, InputError, LedgerError
from ppsm.mechanism.coordination import Coordination
from ppsm.mechanism.mechanisms import Laplace
from ppsm.mechanism.owner_acts import fingerprint, write_for_owner
from ppsm.privacy import Ledger, Released, Sensitive
from ppsm.privacy.publication import Publication

_FILE = "pending.json"


@dataclass(frozen=True, eq=False)
class Pending:
    """The noisy vector, and what was published for the steps after it."""

    noisy: Released
    publication: Publication | None


class PendingRelease:
    """The place of a release that is under way.

    Parameters
    ----------
    owner
        A directory that the owner alone can enter.
    secret, setting
        The data and where they are released; a file of others is refused.
    """

    def __init__(self, owner: Path, secret: Sensitive, setting: str) -> None:
        self.file = owner / _FILE
        self._mark = f"{secret.dataset} {setting} {fingerprint(secret)}"

    @property
    def exists(self) -> bool:
        """Whether there is something to go on with."""
        return self.file.exists()

    def keep(self, noisy: Released, publication: Publication | None) -> None:
        """Keep what was charged for."""
        content = {
            "of": self._mark,
            "noisy": json.loads(noisy.to_json()),
            "publication": None if publication is None else publication.to_dict(),
        }
        write_for_owner(self.file, json.dumps(content, allow_nan=False, indent=1) + "\n")

    def read(self, mechanism: Laplace, coordination: Coordination, ledger: Ledger) -> Pending | None:
        """What was kept, if anything; refused if it is of another release or was never charged."""
        if not self.exists:
            return None
        try:
            content = json.loads(self.file.read_text(encoding="utf-8"))
            mark, fields = content["of"], content["publication"]
            noisy = Released.from_json(json.dumps(content["noisy"]))
            publication = None if fields is None else Publication.from_dict(fields)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{self.file} cannot be read ({error}); choose another --out.") from None
        if mark != self._mark:
            raise InputError(
                f"{self.file} is of another demand or setting: give the same again, or choose another --out."
            )
        mechanism.check_noisy(noisy, coordination)
        if not noisy.private or noisy.steps or not ledger.confirm(noisy):
            raise LedgerError(
                f"The ledger has not charged the noisy vector in {self.file}: use the ledger that did, or "
                "choose another --out."
            )
        return Pending(noisy, publication)

    def forget(self) -> None:
        """The release is written."""
        self.file.unlink(missing_ok=True)
