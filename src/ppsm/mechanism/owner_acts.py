"""Acts of the owner that several commands share: open a ledger, publish, write for one reader only."""

import hashlib
import os
from pathlib import Path

from ppsm.mechanism.gauc import GaucCoordination
from ppsm.mechanism.mechanisms import Laplace
from ppsm.mechanism.predictors import PublicOutcome, seed_of
from ppsm.privacy import Ledger, Sensitive, for_owner_only, publish_outcome
from ppsm.privacy.publication import Publication

LEDGER = "ledger.db"
PURPOSE = "coordination of gas and power markets"


def open_ledger(path: Path | None, directory: Path, dataset: str, mechanism: Laplace) -> Ledger:
    """The ledger to charge; a new one in the output directory covers exactly one such release."""
    if path is not None:
        return Ledger(path)
    own = directory / LEDGER
    if own.exists():
        return Ledger(own)
    book = Ledger.create(own)
    book.grant(dataset, epsilon=mechanism.epsilon, alpha=mechanism.alpha, unit="MWh")
    return book


def published_predictor(game: GaucCoordination, secret: Sensitive, ledger: Ledger) -> PublicOutcome:
    """The paper's setting: the market publishes its figures, cleared by solvers of its own, on record."""
    return predictor_from(publish_outcome(secret, game, ledger=ledger, purpose="market report of the day"))


def predictor_from(publication: Publication) -> PublicOutcome:
    """The predictor that rests on published figures."""
    # The noise on the leader's prices protects nothing, so its seed may be known.
    return PublicOutcome(publication, seed=seed_of("prices", publication.time))


def fingerprint(secret: Sensitive) -> str:
    """What tells one demand from another, for the owner's own files: who knows it can test guesses."""
    return for_owner_only(secret, lambda truth: hashlib.sha256(truth.tobytes()).hexdigest()).reveal()


def write_for_owner(path: Path, text: str) -> None:
    """Write a file that nobody else can read, at no moment; it appears complete or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
