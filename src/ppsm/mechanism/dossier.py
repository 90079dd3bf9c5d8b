"""The release dossier: how a release came about, public parts only, as versioned JSON.

Everything in it is the release itself, public, or computed from those: it may travel with the released
vector. What compares the release with the secret lives in :mod:`ppsm.mechanism.owner_side`, and no field here
could hold it.
"""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from ppsm.errors import FileFormatError, InputError
from ppsm.mechanism.coordination import Outcome
from ppsm.privacy.publication import Publication
from ppsm.privacy.released import Released

FORMAT = "ppsm-dossier/1"

_NOT_PRIVATE = "NOT PRIVATE: the noise was drawn from a seed and can be subtracted"
_MAPPINGS = ("mechanism", "theory")
_STEP_FIELDS = {"step", "party", "inputs", "output", "seconds", "cpu_seconds"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Dossier:
    """What was done, in the order of the protocol.

    Attributes
    ----------
    mechanism
        Name and parameters.
    noisy, released
        What came out of step 1 and of the last step.
    predictor, publication
        The models of steps 2a and 3a, and the published figures they rest on; None where there are none.
    steps
        One mapping for each step: party, inputs, output, time.
    theory
        Bounds on the distance to the truth and on the leader's cost.
    evaluation
        The game cleared with the released vector, if that was done.
    """

    mechanism: dict[str, Any]
    noisy: Released
    released: Released
    predictor: dict[str, Any] | None
    publication: Publication | None
    steps: tuple[dict[str, Any], ...]
    theory: dict[str, Any]
    evaluation: dict[str, Any] | None = None

    @property
    def private(self) -> bool:
        """Whether the noise came from the secure source."""
        return self.released.private

    @property
    def statement(self) -> str:
        """What is promised, in plain words."""
        record = self.released.record
        if not self.private:
            return f"{_NOT_PRIVATE}. Use it for research on data that are public or stay at home."
        promise = (
            f"Whoever sees this release can hardly tell whether one entry of '{record.dataset}' was moved by "
            f"up to {record.alpha:g} {record.unit}: no observation changes the odds by more than a factor of "
            f"{math.exp(record.epsilon):.3g} (epsilon = {record.epsilon:g})."
        )
        if self.publication is None:
            return promise
        return (
            f"Exact figures of the true data were published at {self.publication.time}: whoever knows all "
            f"entries but one can compute that one from them, and no promise covers that. Apart from these "
            f"figures: {promise}"
        )

    def with_evaluation(self, outcome: Outcome) -> "Dossier":
        """The same dossier with the game cleared at the released vector."""
        if not isinstance(outcome, Outcome):
            raise InputError(
                f"the evaluation is of type {type(outcome).__name__}; expected the Outcome of clear()."
            )
        return replace(self, evaluation=outcome.to_dict())

    def to_json(self) -> str:
        """Return the dossier as JSON text."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "private": self.private,
            "statement": self.statement,
            "mechanism": self.mechanism,
            "noisy": json.loads(self.noisy.to_json()),
            "released": json.loads(self.released.to_json()),
            "predictor": self.predictor,
            "publication": None if self.publication is None else self.publication.to_dict(),
            "steps": list(self.steps),
            "theory": self.theory,
            "evaluation": self.evaluation,
        }
        return json.dumps(content, allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Dossier":
        """Read what :meth:`to_json` wrote; a text that contradicts itself is refused."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"The dossier is not JSON ({error}): use one that ppsm wrote.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileFormatError(f"The text is not a dossier of format {FORMAT}: use one that ppsm wrote.")
        try:
            dossier = cls(
                mechanism=content["mechanism"],
                noisy=Released.from_json(json.dumps(content["noisy"])),
                released=Released.from_json(json.dumps(content["released"])),
                predictor=content["predictor"],
                publication=None
                if content["publication"] is None
                else Publication.from_dict(content["publication"]),
                steps=tuple(content["steps"]),
                theory=content["theory"],
                evaluation=content["evaluation"],
            )
            claimed = content["private"]
        except KeyError as error:
            raise FileFormatError(f"The dossier has no field {error}: use one that ppsm wrote.") from None
        except TypeError as error:
            raise FileFormatError(f"The dossier cannot be read ({error}): use one that ppsm wrote.") from None
        return _checked(dossier, claimed)


def _checked(dossier: Dossier, claimed_private: object) -> Dossier:
    for name in _MAPPINGS:
        if not isinstance(getattr(dossier, name), dict):
            raise FileFormatError(f"The dossier's field '{name}' is no mapping: use one that ppsm wrote.")
    for step in dossier.steps:
        if not isinstance(step, dict) or set(step) != _STEP_FIELDS:
            raise FileFormatError("A step of the dossier lacks fields: use a dossier that ppsm wrote.")
    if claimed_private is not dossier.private or dossier.noisy.record != dossier.released.record:
        raise FileFormatError(
            "The dossier contradicts its release on how the noise was drawn: the file was altered, so ask "
            "for it again."
        )
    return dossier
