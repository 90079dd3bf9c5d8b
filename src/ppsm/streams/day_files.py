"""A released day as a file, and what is kept for the owner until it is written.

A day's file is written once, complete, and holds public parts only: what was asked and paid, the noisy
answers, the estimate, and the faithful vector that is released. Days that were skipped have a file too.
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import FileFormatError
from ppsm.files import OWNER_MODE, of_format, write_atomically
from ppsm.mechanism.coordination import Outcome
from ppsm.privacy.distance import NoisyDistance
from ppsm.privacy.released import Receipt, Released

FORMAT = "ppsm-stream-day/1"


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedDay:
    """One day of a released stream.

    Attributes
    ----------
    day, unit, entry_names
        Which day, and what its entries are.
    profile
        What public knowledge said of it.
    answer, noisy
        What was measured of it: its distance from the forecast, and the day itself; None where it was not.
    estimate, spread
        What is known of it from all that was measured so far, and how well.
    values
        What is released: the nearest vector that the market can be played with.
    widening, faithful
        How far bands had to be widened for it, and whether the certificate says that it is within them.
    pulled
        How far it had to be pulled towards what the leader could be played with before, from 0 to 1; then no
        certificate speaks of it.
    outcome
        The game cleared with the released vector.
    """

    day: date
    unit: str
    entry_names: tuple[str, ...]
    profile: FloatArray
    answer: NoisyDistance | None
    noisy: Released | None
    estimate: FloatArray
    spread: FloatArray
    values: FloatArray
    widening: float
    faithful: bool
    pulled: float
    outcome: Outcome

    @property
    def sampled(self) -> bool:
        """Whether the day itself was measured."""
        return self.noisy is not None

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What the ledger said when it was charged for it; seeded noise has none."""
        found = [each.receipt for each in (self.answer, self.noisy) if each is not None]
        return tuple(receipt for receipt in found if receipt is not None)

    @property
    def loss(self) -> float:
        """What whoever sees the whole stream can learn of this day at most, in epsilon at alpha."""
        asked = 0.0 if self.answer is None else self.answer.record.epsilon
        return asked + (0.0 if self.noisy is None else self.noisy.record.epsilon)

    def write(self, file: Path) -> None:
        """Write the day; when this returns it is on the disk."""
        content = {
            "format": FORMAT,
            "day": self.day.isoformat(),
            "unit": self.unit,
            "entries": list(self.entry_names),
            "profile": self.profile.tolist(),
            "answer": None if self.answer is None else self.answer.to_dict(),
            "noisy": None if self.noisy is None else self.noisy.to_dict(),
            "estimate": self.estimate.tolist(),
            "spread": self.spread.tolist(),
            "values": self.values.tolist(),
            "widening": self.widening,
            "faithful": self.faithful,
            "pulled": self.pulled,
            "outcome": self.outcome.to_dict(),
        }
        write_atomically(file, json.dumps(content, allow_nan=False, indent=1) + "\n")

    @classmethod
    def read(cls, file: Path) -> "ReleasedDay":
        """Read what :meth:`write` wrote."""
        content = of_format(_json(file), FORMAT, str(file))
        try:
            names = tuple(str(name) for name in content["entries"])
            answer, noisy = content["answer"], content["noisy"]
            vectors = {
                name: frozen_vector(content[name], len(names), f"the {name} of the day")
                for name in ("profile", "estimate", "spread", "values")
            }
            return cls(
                day=date.fromisoformat(content["day"]),
                unit=str(content["unit"]),
                entry_names=names,
                answer=None if answer is None else NoisyDistance.from_dict(answer),
                noisy=None if noisy is None else Released.from_dict(noisy),
                widening=float(content["widening"]),
                faithful=bool(content["faithful"]),
                pulled=float(content["pulled"]),
                outcome=Outcome.from_dict(content["outcome"]),
                **vectors,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{file} cannot be read ({error}): use one that ppsm wrote.") from None


class Kept:
    """What was drawn for a day and not released yet, where the owner alone can read it."""

    def __init__(self, owner: Path, day: date) -> None:
        self._files = {name: owner / f"{day.isoformat()}-{name}.json" for name in ("answer", "sample")}

    def keep_answer(self, answer: NoisyDistance) -> None:
        """Keep a noisy distance."""
        self._write("answer", answer.to_dict())

    def keep_sample(self, noisy: Released) -> None:
        """Keep a noisy day."""
        self._write("sample", noisy.to_dict())

    def answer(self) -> NoisyDistance | None:
        """The noisy distance that was kept."""
        content = self._read("answer")
        return None if content is None else NoisyDistance.from_dict(content)

    def sample(self) -> Released | None:
        """The noisy day that was kept."""
        content = self._read("sample")
        return None if content is None else Released.from_dict(content)

    def forget(self) -> None:
        """Remove all of it, once the day is written."""
        for file in self._files.values():
            file.unlink(missing_ok=True)

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_atomically(self._files[name], json.dumps(content, allow_nan=False) + "\n", mode=OWNER_MODE)

    def _read(self, name: str) -> dict[str, Any] | None:
        file = self._files[name]
        if not file.exists():
            return None
        content = _json(file)
        if not isinstance(content, dict):
            raise FileFormatError(f"{file} holds no kept noise: choose another directory.")
        return content


def _json(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{file} cannot be read ({error}): use one that ppsm wrote.") from None
