"""A private release of a case's demand, from the budget to the files, such that it can be stopped anywhere.

::

    budget checked -> figures published -> ledger charged -> noise kept -> steps 2a to 3b -> files written

Publication and charge are on the ledger's disk before anything is released. Stopped once the noise is kept,
in whatever way, the same call goes on from it (:mod:`ppsm.mechanism.pending`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ppsm.cases.schema import Case
from ppsm.mechanism.files import write_release
from ppsm.mechanism.gauc import GaucCoordination
from ppsm.mechanism.mechanisms import Laplace, Release
from ppsm.mechanism.owner_acts import PURPOSE, open_ledger, predictor_from, published_predictor
from ppsm.mechanism.pending import Pending, PendingRelease
from ppsm.mechanism.predictors import Predictor, PublicOutcome
from ppsm.privacy import Ledger, Sensitive

Publish = Callable[[], PublicOutcome]


def cell_name(case: Case, power_stress: float) -> str:
    """Where a demand is released, as the owner's files write it."""
    return f"{case.name} {power_stress!r}"


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateRelease:
    """A release that a ledger covers; made by :meth:`begin`.

    Attributes
    ----------
    mechanism, secret
        What is done to which data.
    ledger
        Where it is charged.
    place
        Where the noise is kept until the release is written.
    directory
        Where it is written.
    """

    mechanism: Laplace
    secret: Sensitive
    ledger: Ledger
    place: PendingRelease
    directory: Path

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
    ) -> "PrivateRelease":
        """Open the ledger, and refuse what it does not cover before the markets are built for it.

        Parameters
        ----------
        mechanism, secret, cell
            What is released, and where (:func:`cell_name`).
        directory, owner
            For the files of the release, and for those that the owner alone can read.
        ledger
            By default one in the directory, whose budget covers one release.
        """
        book = open_ledger(ledger, directory, secret.dataset, mechanism)
        place = PendingRelease(owner, secret, cell)
        if not place.exists:
            mechanism.noise.check_budget(secret, book)
        return cls(mechanism=mechanism, secret=secret, ledger=book, place=place, directory=directory)

    def make(self, game: GaucCoordination, predict: Callable[[Publish], Predictor | None]) -> Release:
        """All five steps, or those after the first where an earlier call has paid for it; then the files.

        Parameters
        ----------
        game
            The markets, which never see the secret.
        predict
            Returns the predictor, None for ``Laplace``. It is handed a function that publishes the figures of
            the true data, or takes those that an earlier call has published, for the predictor that needs
            them.
        """
        kept = self.place.read(self.mechanism, game, self.ledger)
        predictor = predict(partial(self._published, game, kept))
        if kept is not None:
            release = self.mechanism.process(kept.noisy, game, predictor)
        else:
            keep = partial(self.place.keep, publication=None if predictor is None else predictor.publication)
            release = self.mechanism.release(
                self.secret, game, predictor, ledger=self.ledger, purpose=PURPOSE, keep=keep
            )
        write_release(self.directory, game.case, release.dossier)
        self.place.forget()
        return release

    def _published(self, game: GaucCoordination, kept: Pending | None) -> PublicOutcome:
        if kept is not None and kept.publication is not None:
            return predictor_from(kept.publication)
        return published_predictor(game, self.secret, self.ledger)
