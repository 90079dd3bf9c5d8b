"""A private release of a case's demand, from the budget to the files, such that it can be stopped anywhere.

It goes through four states, each an object whose one method leads to the next::

    Granted    the ledger's budget covers the release, or an earlier call has drawn the noise already
      | draw       check, charge the ledger, add noise (step 1), keep the noisy vector for the owner
    Noisy      the noisy vector is paid for and on the disk
      | restore    steps 2a to 3b, which see released and public data only
    Restored   the faithful vector with its dossier
      | write      the files, on the disk; only then is the kept noise forgotten
    Written    done; the game may be cleared with the release

What was published, and the charge, are on the ledger's disk before anything is released. Stopped once the
noise is kept, in whatever way, the same calls go on from it: nothing is charged or noted twice. What was
kept must be of the same demand, setting and mechanism, and the ledger must have charged it. Until the noise
is drawn nothing that happens depends on the values of the demand.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ppsm.cases.schema import Case
from ppsm.coordinations.unit_commitment import GaucCoordination
from ppsm.errors import FileFormatError, InputError, LedgerError
from ppsm.files import OWNER_MODE, alone, write_atomically
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.first_step import Laplace, Release
from ppsm.mechanism.predictors import Predictor, PublicOutcome
from ppsm.owner.release_files import (
    DOSSIER,
    noisy_of_dossiers,
    read_release,
    refuse_to_replace,
    write_evaluation,
    write_release,
)
from ppsm.privacy import (
    Ledger,
    Publication,
    PublishedFigures,
    Released,
    Sensitive,
    for_owner_only,
    note_publication,
)
from ppsm.privacy.ledger.balance import MOST_PER_RELEASE, no_budget
from ppsm.privacy.ledger.place import default_ledger, grant_command, ledger_command

LOG = logging.getLogger(__name__)

PURPOSE = "coordination of gas and power markets"
UNIT = "MWh"
KEPT, LOCK = "pending.json", "release.lock"
# Enough of a hash for a seed.
_SEED_DIGITS = 12


def cell_name(case: Case, power_stress: float) -> str:
    """Where a demand is released, as the owner's files write it."""
    return f"{case.name} {power_stress!r}"


def mark_of(secret: Sensitive, cell: str, ledger: Ledger) -> str:
    """What tells one release from another in the owner's own files: guesses need the ledger's key."""
    fingerprint = for_owner_only(secret, lambda truth: ledger.fingerprint(truth.tobytes())).reveal()
    return f"{secret.dataset} {cell} {fingerprint}"


@contextmanager
def one_at_a_time(owner: Path) -> Iterator[None]:
    """Keep a second release out of a directory, whose kept noise it would overwrite."""
    busy = f"another release is at work in {owner.parent}; wait for it, or choose another --out."
    with alone(owner / LOCK, busy):
        yield


def open_ledger(path: Path | None, dataset: str, mechanism: Laplace, *, window: int | None = None) -> Ledger:
    """The ledger to charge, the user's own unless one is named; where there is none, say what to type.

    With a ``window`` of days, as a stream has, a budget is insisted on as well: charges know of no window.
    """
    place = default_ledger() if path is None else path
    grant = grant_command(
        place,
        dataset,
        epsilon=mechanism.epsilon,
        alpha=mechanism.alpha,
        unit=UNIT,
        most=float(MOST_PER_RELEASE),
        window=window,
    )
    if not place.exists():
        raise LedgerError(
            f"There is no privacy ledger at {place}, and nothing is released without one: let whoever keeps "
            f"the budget type '{ledger_command('init', place)}' and then '{grant}'."
        )
    ledger = Ledger(place)
    if window is not None and all(each.dataset != dataset for each in ledger.balances()):
        raise no_budget(dataset, grant)
    return ledger


@dataclass(frozen=True, eq=False)
class KeptNoise:
    """A noisy vector that is charged for but not written yet, and what was published beside it."""

    noisy: Released
    publication: Publication | None

    def write(self, file: Path, mark: str) -> None:
        """Keep what was charged for where the owner alone can read it."""
        content = {
            "of": mark,
            "noisy": self.noisy.to_dict(),
            "publication": None if self.publication is None else self.publication.to_dict(),
        }
        write_atomically(file, json.dumps(content, allow_nan=False, indent=1) + "\n", mode=OWNER_MODE)

    @classmethod
    def read(cls, file: Path, mark: str, mechanism: Laplace, ledger: Ledger) -> "KeptNoise":
        """What was kept; refused if it is of another release or was never charged."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            found, published = content["of"], content["publication"]
            noisy = Released.from_dict(content["noisy"])
            publication = None if published is None else Publication.from_dict(published)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{file} cannot be read ({error}); choose another --out.") from None
        if found != mark:
            raise InputError(
                f"{file} is of another demand or setting: give the same again, or choose another --out."
            )
        mechanism.refuse_other_noise(noisy)
        if not noisy.private or noisy.steps or not ledger.confirm(noisy):
            raise LedgerError(
                f"The ledger has not charged the noisy vector in {file}: use the ledger that did, or choose "
                "another --out."
            )
        return cls(noisy, publication)


@dataclass(frozen=True, eq=False, kw_only=True)
class Granted:
    """A release that a ledger covers, or whose noise is drawn already; made by :meth:`begin`.

    Attributes
    ----------
    mechanism, secret
        What is done to which data.
    ledger
        Where it is charged.
    directory
        Where it is written.
    file, mark
        Where the noise is kept until then, and what tells it from the noise of another release.
    kept
        The noise that an earlier call has paid for, if there is any.
    """

    mechanism: Laplace
    secret: Sensitive
    ledger: Ledger
    directory: Path
    file: Path
    mark: str
    kept: KeptNoise | None

    @classmethod
    def begin(
        cls,
        mechanism: Laplace,
        secret: Sensitive,
        cell: str,
        *,
        directory: Path,
        owner: Path,
        ledger: Path | None = None,
        after: Sequence[Path] = (),
    ) -> "Granted":
        """Open the ledger, and refuse what it does not cover before the markets are built for it.

        Parameters
        ----------
        mechanism, secret, cell
            What is released, and where (:func:`cell_name`).
        directory, owner
            For the files of the release, and for those that the owner alone can read.
        ledger
            By default the user's own.
        after
            Dossiers, or directories with some, of earlier releases that the ledger must have charged.
        """
        book = open_ledger(ledger, secret.dataset, mechanism)
        _insist_on_charged(after, book)
        _refuse_another_past(directory, book, secret.dataset)
        if not owner.is_dir():
            raise InputError(
                f"There is no directory {owner}, where noise is kept that was charged for: make it, for the "
                "owner alone; nothing was charged or released."
            )
        file, mark = owner / KEPT, mark_of(secret, cell, book)
        kept = KeptNoise.read(file, mark, mechanism, book) if file.exists() else None
        refuse_to_replace(directory, None if kept is None else kept.noisy)
        if kept is None:
            mechanism.check_budget(secret, book)
        return cls(
            mechanism=mechanism,
            secret=secret,
            ledger=book,
            directory=directory,
            file=file,
            mark=mark,
            kept=kept,
        )

    @property
    def noise_is_kept(self) -> bool:
        """Whether a call that is stopped now can be gone on with, without a new charge."""
        return self.file.exists()

    def rest_on(self, published: PublishedFigures) -> PublicOutcome:
        """The predictor of the paper's setting, which rests on figures that the market has published.

        The ledger notes them, unless an earlier call has had it do so.
        """
        self._insist_on_the_same_publication(publishes=True)
        noted = None if self.kept is None else self.kept.publication
        if noted is not None and noted.result.to_dict() != published.result.to_dict():
            raise InputError(
                f"the noise in {self.file} was drawn beside other published figures than these, and its "
                "release rests on them: give the same figures again, or choose another --out."
            )
        if noted is None:
            noted = note_publication(published, dataset=self.secret.dataset, ledger=self.ledger)
        # The noise on the leader's prices protects nothing, so its seed may be known.
        return PublicOutcome(noted, seed=int(str(noted.entry_hash)[:_SEED_DIGITS], 16))

    def _insist_on_the_same_publication(self, *, publishes: bool) -> None:
        """A release that goes on says what was published beside its noise: neither less nor more."""
        if self.kept is None or (self.kept.publication is not None) == publishes:
            return
        was = "without a publication" if publishes else "beside published figures of the true data"
        raise InputError(
            f"the noise in {self.file} was drawn {was}, and its release must say so: give the same predictor "
            "again, or choose another --out."
        )

    def draw(self, game: GaucCoordination, predictor: Predictor | None) -> "Noisy":
        """Step 1, or what an earlier call has kept of it; ``Laplace`` needs no predictor."""
        if self.kept is not None:
            published = predictor is not None and predictor.publication is not None
            self._insist_on_the_same_publication(publishes=published)
            LOG.info("going on with the noise that an earlier call has paid for")
            return Noisy(self, game, predictor, self.kept.noisy)
        noisy = self.mechanism.perturb(self.secret, game, predictor, ledger=self.ledger, purpose=PURPOSE)
        KeptNoise(noisy, None if predictor is None else predictor.publication).write(self.file, self.mark)
        return Noisy(self, game, predictor, noisy)


@dataclass(frozen=True, eq=False)
class Noisy:
    """A noisy vector that is charged for and kept."""

    granted: Granted
    game: GaucCoordination
    predictor: Predictor | None
    noisy: Released

    def restore(self) -> "Restored":
        """Steps 2a to 3b."""
        release = self.granted.mechanism.process(self.noisy, self.game, self.predictor)
        return Restored(self.granted, self.game.case, release)


@dataclass(frozen=True, eq=False)
class Restored:
    """A release that is ready to be written."""

    granted: Granted
    case: Case
    release: Release

    def write(self) -> "Written":
        """Write the files; the kept noise goes once they are on the disk, not before."""
        written = Written.to(self.granted.directory, self.case, self.release)
        self.granted.file.unlink(missing_ok=True)
        return written


@dataclass(frozen=True, eq=False)
class Written:
    """A release whose files are on the disk."""

    directory: Path
    case: Case
    release: Release

    @classmethod
    def to(cls, directory: Path, case: Case, release: Release) -> "Written":
        """Write a release, seeded ones too, which begin here."""
        write_release(directory, case, release.dossier)
        LOG.info("the release is in %s", directory)
        return cls(directory, case, release)

    def evaluated(self, outcome: Outcome) -> Dossier:
        """Write what the game comes to with the released vector, beside the dossier."""
        write_evaluation(self.directory, outcome)
        return self.release.dossier.with_evaluation(outcome)


def _insist_on_charged(paths: Sequence[Path], ledger: Ledger) -> None:
    """Refuse a ledger that does not know the releases that this one is to come after."""
    for file, noisy in noisy_of_dossiers(paths):
        if not ledger.confirm(noisy):
            raise LedgerError(
                f"The ledger {ledger.path} has not charged the release in {file}, after which this one was "
                "to come, so it is another one, or entries were cut off, or an old copy was put back, or "
                "that release is not private: use the newest copy of the ledger that charged it; nothing was "
                "charged or released."
            )


def _refuse_another_past(directory: Path, ledger: Ledger, dataset: str) -> None:
    """Refuse a ledger in which a release is missing: an old copy was put back, or another one charged it.

    Looked at are the directory and those beside it, where earlier releases mostly are.
    """
    name = ledger.name
    for file in sorted({directory.resolve() / DOSSIER, *directory.resolve().parent.glob(f"*/{DOSSIER}")}):
        try:
            found = read_release(file.parent)
        except (InputError, OSError):
            continue  # no release of ours, or not for our eyes
        receipt = None if found is None else found.noisy.receipt
        if receipt is None:
            continue
        if receipt.ledger == name and not ledger.confirm_receipt(receipt):
            raise LedgerError(
                f"The ledger {ledger.path} charged the release in {file.parent} and has forgotten it, so "
                "entries were cut off or an old copy was put back: restore the newest copy; nothing was "
                "charged or released."
            )
        is_same_data = receipt.ledger != name and receipt.record.dataset == dataset
        if is_same_data and file.stat().st_uid == _owner_of(directory):
            raise LedgerError(
                f"Another ledger than {ledger.path} charged the release of '{dataset}' in {file.parent}, and "
                "what two ledgers let through adds up: use that one (--ledger). Where it is gone, and this "
                "one grants no more than it had left, choose an --out that does not lie beside that release; "
                "nothing was charged or released."
            )


def _owner_of(directory: Path) -> int:
    """The user whose directory it is, or will be once it is made."""
    return directory.stat().st_uid if directory.exists() else os.geteuid()
