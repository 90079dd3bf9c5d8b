"""The release dossier: how a release came about, public parts only, as versioned JSON.

Everything in it is the release itself, public, or computed from those: it may travel with the released
vector. What compares the release with the secret is on the owner's side (:mod:`ppsm.owner.distances`), and
no field here could hold it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ppsm.errors import FileFormatError, InputError
from ppsm.fidelity.problem import Norm
from ppsm.files import of_format, strict_json
from ppsm.mechanism.coordination import Outcome, reading
from ppsm.mechanism.guarantees import Guarantees
from ppsm.mechanism.predictors import PredictorNote
from ppsm.mechanism.prior import PublicPrior
from ppsm.privacy.publication import Publication
from ppsm.privacy.released import Released
from ppsm.privacy.statement import figures, statement

FORMAT = "ppsm-dossier/3"

_MAPPINGS = ("mechanism", "theory")
_STEP_FIELDS = {"step", "party", "inputs", "output", "seconds", "cpu_seconds"}


@dataclass(frozen=True, eq=False)
class Step:
    """One of the paper's five steps as it was taken: by whom, what it saw, what came out, and its time.

    ``output`` is in plain JSON types. Step 1 has no times: how long it took may depend on the secret.
    """

    step: str
    party: str
    inputs: tuple[str, ...]
    output: dict[str, Any]
    seconds: float | None
    cpu_seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain JSON types."""
        return {
            "step": self.step,
            "party": self.party,
            "inputs": list(self.inputs),
            "output": self.output,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }

    @classmethod
    def from_dict(cls, fields: object) -> "Step":
        """Read what :meth:`to_dict` returned."""
        if not isinstance(fields, dict) or set(fields) != _STEP_FIELDS:
            raise FileFormatError("A step of the dossier lacks fields: use a dossier that ppsm wrote.")
        if not isinstance(fields["output"], dict):
            raise FileFormatError("A step of the dossier has no output: use a dossier that ppsm wrote.")
        return cls(**{**fields, "inputs": tuple(fields["inputs"])})


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameters:
    """Which mechanism made a release, and with which parameters; None for those that it does not have."""

    name: str
    alpha: float
    epsilon: float
    eta_p: float | None = None
    norm: Norm | None = None
    prior: PublicPrior | None = None
    eta_d: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain JSON types."""
        fields: dict[str, Any] = {"name": self.name, "alpha": self.alpha, "epsilon": self.epsilon}
        if self.eta_p is not None:
            prior = None if self.prior is None else self.prior.to_dict()
            fields |= {"eta_p": self.eta_p, "norm": self.norm, "prior": prior}
        return fields if self.eta_d is None else {**fields, "eta_d": self.eta_d}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Parameters":
        """Read what :meth:`to_dict` returned."""
        with reading("mechanism of the dossier"):
            prior = fields.get("prior")
            return cls(**{**fields, "prior": None if prior is None else PublicPrior.from_dict(prior)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Dossier:
    """What was done, in the order of the paper's steps.

    Attributes
    ----------
    mechanism
        Name and parameters.
    noisy, released
        What came out of step 1 and of the last step.
    predictor, publication
        The models of steps 2a and 3a, and the published market result that they rest on; None where there
        are none.
    steps
        The steps, with party, inputs, output and time.
    theory
        Bounds on the distance to the truth and on the leader's cost.
    evaluation
        The game cleared with the released vector, if that was done.
    """

    mechanism: Parameters
    noisy: Released
    released: Released
    predictor: PredictorNote | None
    publication: Publication | None
    steps: tuple[Step, ...]
    theory: Guarantees
    evaluation: Outcome | None = None

    @property
    def private(self) -> bool:
        """Whether the noise came from the secure source."""
        return self.released.private

    @property
    def statement(self) -> str:
        """What is promised about the data set, in plain words, and what the leader has moved."""
        said = statement(self.noisy, self.publication)
        return said if self.moved_by_leader is None else f"{said} {self.moved_by_leader}"

    @property
    def moved_by_leader(self) -> str | None:
        """What step 3c has done, in one sentence; None where it had nothing to do."""
        output = next((step.output for step in self.steps if step.step == "3c"), None)
        if output is None:
            return None
        if output["values"] is None:
            return (
                "The leader found no answer at the released vector, and no other vector within the public "
                "bounds at which it has one."
            )
        return (
            "The leader had no answer at the vector that is faithful to the market, and has moved it by "
            f"{output['moved_l1']:.4g} {self.noisy.unit} in all, to the nearest that was found at which it "
            "has one; that vector is released."
        )

    def with_evaluation(self, outcome: Outcome) -> "Dossier":
        """The same dossier with the game cleared at the released vector."""
        if not isinstance(outcome, Outcome):
            raise InputError(
                f"the evaluation is of type {type(outcome).__name__}; expected the Outcome of clear()."
            )
        return replace(self, evaluation=outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return the dossier as plain JSON types."""
        return {
            "format": FORMAT,
            "private": self.private,
            "statement": self.statement,
            "promise": figures(self.noisy),
            "mechanism": self.mechanism.to_dict(),
            "noisy": self.noisy.to_dict(),
            "released": self.released.to_dict(),
            "predictor": None if self.predictor is None else self.predictor.to_dict(),
            "publication": None if self.publication is None else self.publication.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
            "theory": self.theory.to_dict(),
            "evaluation": None if self.evaluation is None else self.evaluation.to_dict(),
        }

    def to_json(self) -> str:
        """Return the dossier as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Dossier":
        """Read what :meth:`to_json` wrote; a text that contradicts itself is refused."""
        try:
            content = strict_json(text)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"The dossier is not JSON ({error}): use one that ppsm wrote.") from None
        return cls.from_dict(of_format(content, FORMAT, "The dossier"))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Dossier":
        """Read what :meth:`to_dict` returned; fields that contradict each other are refused."""
        with reading("dossier"):
            for name in _MAPPINGS:
                if not isinstance(fields[name], dict):
                    raise FileFormatError(
                        f"The dossier's field '{name}' is no mapping: use one that ppsm wrote."
                    )
            predictor, publication, outcome = (
                fields["predictor"],
                fields["publication"],
                fields["evaluation"],
            )
            dossier = cls(
                mechanism=Parameters.from_dict(fields["mechanism"]),
                noisy=Released.from_dict(fields["noisy"]),
                released=Released.from_dict(fields["released"]),
                predictor=None if predictor is None else PredictorNote.from_dict(predictor),
                publication=None if publication is None else Publication.from_dict(publication),
                steps=tuple(Step.from_dict(step) for step in fields["steps"]),
                theory=Guarantees.from_dict(fields["theory"]),
                evaluation=None if outcome is None else Outcome.from_dict(outcome),
            )
            claimed = fields["private"]
            # What is read here and said later must be there.
            _ = dossier.moved_by_leader
        if claimed is not dossier.private or dossier.noisy.record != dossier.released.record:
            raise FileFormatError(
                "The dossier contradicts its release on how the noise was drawn: the file was altered, so "
                "ask for it again."
            )
        return dossier
