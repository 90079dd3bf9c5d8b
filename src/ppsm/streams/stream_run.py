"""A stream on disk, day by day, such that it can be stopped anywhere and gone on with.

A day goes through the states of the engine. What is drawn is kept for the owner, then noted in the ledger,
then used; the day's file comes last, and with it the kept noise goes. So a day that is interrupted goes on
from where it was, is charged once, and is released once: a day that has a file is read, not made again. Of
a run that was interrupted nothing can be told by its ledger and its files.

::

    directory/stream.json             what the stream promises and how it is made; never changes
    directory/days/2026-01-15.json    a released day (:mod:`ppsm.streams.day_files`)
    directory/owner/                  what was drawn and not released yet, and the lock
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import FileFormatError, InputError, LedgerError
from ppsm.files import alone, write_atomically
from ppsm.mechanism.coordination import Coordination, FollowerSide, Outcome
from ppsm.mechanism.first_step import refuse_mismatch
from ppsm.mechanism.mechanisms import PPSM_p
from ppsm.mechanism.predictors import Predictor
from ppsm.privacy.distance import NoisyDistance
from ppsm.privacy.ledger import Ledger
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive
from ppsm.streams.day_files import Kept, ReleasedDay
from ppsm.streams.engine import DayResult, Meter, PublicDay, Stream
from ppsm.streams.meters import ResumedMeter, SecretMeter, SeededMeter
from ppsm.streams.policies import Policy
from ppsm.streams.promise import Promise
from ppsm.streams.reconstruction import Knowledge
from ppsm.streams.tuning import TUNING

LOG = logging.getLogger(__name__)

Game = Callable[[date], Coordination]

FORMAT = "ppsm-stream/2"


@dataclass(frozen=True, eq=False)
class StreamDay:
    """A day of the secret stream, with what everybody knows of it."""

    public: PublicDay
    secret: Sensitive

    def __post_init__(self) -> None:
        if self.secret.day != self.public.day.isoformat():
            raise InputError(
                f"the data of {self.public.day} say that they are of {self.secret.day or 'no day'}: pass "
                "Sensitive(..., day=...)."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """How a stream is made.

    Attributes
    ----------
    promise, policy, knowledge
        What any window may lose, when it is spent, and how well profiles tell entries.
    mechanism
        The steps after the noise; alpha and epsilon are those of the promise and of each day's plan.
    predictor
        For steps 2a and 3a; by default the market's public model.
    purpose, recipient
        For the ledger.
    """

    promise: Promise
    policy: Policy
    mechanism: PPSM_p
    knowledge: Knowledge = field(default_factory=Knowledge)
    predictor: Predictor | None = None
    purpose: str = "daily coordination"
    recipient: str | None = None

    def __post_init__(self) -> None:
        if self.mechanism.alpha != self.promise.alpha:
            raise InputError(
                f"the mechanism is for alpha = {self.mechanism.alpha:g}, the promise for "
                f"{self.promise.alpha:g}: use the same."
            )
        if self.predictor is not None and self.predictor.publication is not None:
            raise InputError(
                "the predictor rests on figures that were published of one day, and a stream has many: use "
                "another predictor."
            )

    def describe(self, dataset: str, market: FollowerSide, *, private: bool) -> str:
        """The settings as the text of a file: a stream goes on with the same ones only.

        Estimates and measured totals rest on entries, public bounds and zones, so these are settings too.
        """
        content = {
            "format": FORMAT,
            "dataset": dataset,
            "private": private,  # days of seeded noise must not go on as private ones
            "alpha": self.promise.alpha,
            "epsilon": self.promise.epsilon,
            "window": self.promise.window,
            "policy": repr(self.policy),
            "mechanism": repr(replace(self.mechanism, epsilon=self.promise.epsilon)),
            "knowledge": repr(self.knowledge),
            "unit": market.unit,
            "entries": list(market.entry_names),
            "bounds": repr([side.tolist() for side in market.public_bounds]),
            "zones": list(market.public_zones),
            "purpose": self.purpose,
            "recipient": self.recipient,
        }
        return json.dumps(content, indent=1) + "\n"


class StreamRun:
    """A stream in a directory.

    Parameters
    ----------
    settings
        How it is made.
    game
        The coordination of each day; for one that does not change, ``lambda day: game``.
    directory
        Where its files lie.
    ledger
        Where it is charged; or
    seed
        of reproducible noise, for research on public data.
    """

    def __init__(
        self,
        settings: Settings,
        game: Game,
        *,
        directory: Path,
        ledger: Ledger | None = None,
        seed: int | None = None,
    ) -> None:
        if (ledger is None) == (seed is None):
            raise InputError("a stream needs a ledger, or a seed for research: give exactly one of them.")
        self._settings, self._game = settings, game
        self._ledger, self._seed = ledger, seed
        self._directory, self._owner = directory, directory / "owner"

    def release(self, days: Iterable[StreamDay]) -> Iterator[ReleasedDay]:
        """Release the days in order, each once; those that have a file already are read."""
        if self._ledger is not None:
            # Before the first question, not after it was charged.
            self._settings.mechanism.insist_on_provenance(self._settings.predictor, self._ledger)
        (self._directory / "days").mkdir(parents=True, exist_ok=True)
        self._owner.mkdir(mode=0o700, exist_ok=True)
        busy = f"another process is at work on the stream in {self._directory}: wait for it."
        with alone(self._owner / "stream.lock", busy):
            self._sweep()
            stream: Stream | None = None
            before = _Before()
            for day in days:
                game = self._game(day.public.day)
                self._settings.mechanism.insist_on_game(game, self._settings.predictor)
                self._insist_on_the_same_settings(day, game)
                if stream is None:
                    settings = self._settings
                    stream = Stream(
                        settings.promise,
                        settings.policy,
                        game.public_bounds,
                        settings.knowledge,
                        game.public_zones,
                    )
                released = self._one(stream, day, game, before)
                before = before.then(released)
                LOG.info("%s: %s", day.public.day, "sampled" if released.sampled else "skipped")
                yield released

    def _sweep(self) -> None:
        """Remove what a killed run had begun to write: the lock says that nobody is writing now."""
        for place in (self._directory, self._directory / "days", self._owner):
            for half in place.glob(".*.part"):
                half.unlink()

    def _insist_on_the_same_settings(self, day: StreamDay, market: FollowerSide) -> None:
        """On every day, since each has a game of its own."""
        file = self._directory / "stream.json"
        text = self._settings.describe(day.secret.dataset, market, private=self._seed is None)
        if not self._begun() or not file.exists():
            write_atomically(file, text)
        elif (found := file.read_bytes()) != text.encode():  # bytes, since a damaged file may be no text
            begun = _read_settings(found)
            _refuse_another_format(file, begun)
            raise InputError(
                f"{file} is damaged or of a stream with other {_what_differs(begun, text)}: give the same "
                f"again for {day.public.day}, restore it, or choose another directory."
            )

    def _begun(self) -> bool:
        """Whether anything was drawn: settings of a stream whose first day was refused bind nobody."""
        return any(any(place.glob("*.json")) for place in (self._directory / "days", self._owner))

    def _one(self, stream: Stream, day: StreamDay, game: Coordination, before: "_Before") -> ReleasedDay:
        file = self._directory / "days" / f"{day.public.day.isoformat()}.json"
        kept = Kept(self._owner, day.public.day)
        if file.exists():
            # Killed after the file was written and before the kept noise went.
            kept.forget()
            found = _read_again(stream, day.public, file)
            self._insist_on_charged(found)
            return found
        refuse_mismatch(day.secret.entry_names, day.secret.unit, game)
        result = stream.run(day.public, self._meter(day, game, kept))
        released = self._repaired(result, game, before)
        released.write(file)
        kept.forget()
        return released

    def _insist_on_charged(self, day: ReleasedDay) -> None:
        """Refuse a ledger that does not know what a released day has cost: windows would be spent twice."""
        charges = [receipt.entry_hash for receipt in day.receipts]
        if self._ledger is not None and self._ledger.unknown(charges):
            raise LedgerError(
                f"The ledger {self._ledger.path} does not know what {day.day} of this stream was charged, so "
                "it is another one, or entries were cut off, or an old copy was put back: use the newest "
                "copy of the stream's own."
            )

    def _meter(self, day: StreamDay, game: Coordination, kept: Kept) -> Meter[NoisyDistance, Released]:
        settings = self._settings
        if self._ledger is None:
            return SeededMeter(
                secret=day.secret,
                coordination=game,
                mechanism=settings.mechanism,
                seed=self._seed or 0,
            )
        fresh = SecretMeter(
            secret=day.secret,
            coordination=game,
            mechanism=settings.mechanism,
            ledger=self._ledger,
            purpose=settings.purpose,
            recipient=settings.recipient,
            keep_answer=kept.keep_answer,
            keep_sample=kept.keep_sample,
        )
        return ResumedMeter(fresh, kept)

    def _repaired(
        self, result: DayResult[NoisyDistance, Released], game: Coordination, before: "_Before"
    ) -> ReleasedDay:
        """Steps 2a to 3b on what is known of the day, and the game cleared with what comes out."""
        noisy = result.sample
        basis = noisy or before.noisy
        if basis is None:
            raise InputError("the first day of a stream was skipped: choose a policy that samples it.")
        known = basis.derive(result.estimate.mean, f"reconstruction of {result.day.isoformat()}")
        daily = replace(self._settings.mechanism, epsilon=basis.record.epsilon)
        fidelity = daily.repair(known, game, self._settings.predictor).answer.fidelity
        certificate = fidelity.certificate
        anchors = [each for each in (before.cleared, result.begun.public.profile) if each is not None]
        values, pulled, outcome = played(game, fidelity.parameter, anchors)
        return ReleasedDay(
            day=result.day,
            unit=game.unit,
            entry_names=game.entry_names,
            profile=result.begun.public.profile,
            answer=result.answer,
            noisy=noisy,
            estimate=result.estimate.mean,
            spread=result.estimate.spread,
            values=values,
            widening=float(fidelity.widening),
            faithful=certificate is not None and certificate.faithful and not pulled,
            pulled=pulled,
            outcome=outcome,
        )


def _read_settings(content: bytes) -> dict[str, Any]:
    """What a stream was begun with; nothing where that is damaged."""
    with suppress(ValueError):
        begun = json.loads(content)
        if isinstance(begun, dict):
            return begun
    return {}


def _refuse_another_format(file: Path, begun: dict[str, Any]) -> None:
    """Refuse a stream of another version, which no settings and no older copy make one of this."""
    found = begun.get("format", FORMAT)
    if found == FORMAT:
        return
    match = re.fullmatch(r"ppsm-stream/(\d{1,9})", str(found))
    if match is not None:
        age = "an older" if int(match[1]) < int(FORMAT.split("/")[1]) else "a newer"
        raise FileFormatError(
            f"{file} has {age} format, {found} instead of {FORMAT}, and its stream cannot go on with this "
            "version of ppsm: go on with the version that began it, or choose another directory, in which "
            "the next days begin a new stream on the same ledger."
        )


def _what_differs(begun: dict[str, Any], text: str) -> str:
    """Which settings a stream was begun with that are others now."""
    now = json.loads(text)
    if not begun:
        return "settings"
    changed = [name for name in now if begun.get(name) != now[name]]
    if {"alpha", "epsilon"} & set(changed) and "mechanism" in changed:
        changed.remove("mechanism")  # which says them again
    lists = {"entries", "bounds", "zones"}  # too long to be quoted
    named = " and ".join(
        name if name in lists else f"{name} (begun with {begun.get(name)}, now {now[name]})"
        for name in changed
    )
    return named or "settings"


@dataclass(frozen=True, eq=False)
class _Before:
    """What the days so far leave to the next: the newest sample, and the newest vector that was cleared."""

    noisy: Released | None = None
    cleared: FloatArray | None = None

    def then(self, day: ReleasedDay) -> "_Before":
        """With one more day."""
        return _Before(day.noisy or self.noisy, day.values if day.outcome.feasible else self.cleared)


def played(
    game: Coordination, values: FloatArray, anchors: Sequence[FloatArray]
) -> tuple[FloatArray, float, Outcome]:
    """A vector with which the whole game can be cleared, how far it was pulled, and the outcome.

    Step 3b keeps the follower's market feasible; the leader may still have no answer. Then the vector is
    pulled, in steps, towards one that is public and may have one: the released vector of the last day that
    was cleared, then the profile. Where nothing helps the vector stays as it was.
    """
    outcome = game.clear(values)
    if outcome.feasible:
        return values, 0.0, outcome
    for anchor in anchors:
        for share in TUNING.pulls:
            candidate = (1.0 - share) * values + share * anchor
            found = game.clear(candidate)
            if found.feasible:
                return candidate, share, found
    return values, 0.0, outcome


def _read_again(stream: Stream, public: PublicDay, file: Path) -> ReleasedDay:
    """A day that is released already: the stream learns from it what it learned then."""
    found = ReleasedDay.read(file)
    if found.day != public.day or not np.array_equal(found.profile, public.profile):
        raise FileFormatError(
            f"{file} was released with another profile of the day: give the same public knowledge again, or "
            "choose another directory."
        )
    begun = stream.begin(public)
    stream.end(begun, found.answer, found.noisy)
    return found
