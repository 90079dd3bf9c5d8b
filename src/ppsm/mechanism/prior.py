"""Public prior knowledge about the sensitive vector, for the variant of PPSM that uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import InputError, SecretExposureError
from ppsm.fidelity.problem import Prior
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.provenance import Provenance
from ppsm.privacy.released import Released, require_released
from ppsm.privacy.sensitive import Sensitive


@dataclass(frozen=True, eq=False)
class PublicPrior:
    """A mean and a spread (standard deviation) for each entry, and where they are from.

    They must come from public or already released data; ``provenance`` says so and is recorded.
    """

    mean: FloatArray
    spread: FloatArray
    provenance: Provenance

    def __post_init__(self) -> None:
        if isinstance(self.mean, Sensitive) or isinstance(self.spread, Sensitive):
            raise SecretExposureError(
                "A prior was made from secret data, expected public or released data: use past releases."
            )
        mean = frozen_vector(self.mean, np.size(self.mean), "the prior mean")
        spread = frozen_vector(
            np.broadcast_to(np.asarray(self.spread, dtype=np.float64), mean.shape),
            mean.size,
            "the prior spread",
        )
        if not (spread > 0).all():
            raise InputError(f"the prior spread is {spread.min()} at its smallest; expected more than 0.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "spread", spread)

    @property
    def source(self) -> str:
        """Where it is from, in one line."""
        return self.provenance.source

    @classmethod
    def of(cls, mean: ArrayLike, spread: ArrayLike, *, source: str) -> "PublicPrior":
        """A prior from numbers that everybody knows."""
        return cls(mean, spread, Provenance(source=source))  # type: ignore[arg-type]  # checked there

    @classmethod
    def from_releases(cls, history: Sequence[Released]) -> "PublicPrior":
        """The mean of past releases, and their spread without the part that is their own noise."""
        if len(history) < 2:
            raise InputError(f"{len(history)} past releases were given; expected at least 2 for a spread.")
        past = [require_released(each, "past releases") for each in history]
        values = np.array([each.values for each in past])
        noise = float(np.mean([2.0 * each.record.scale**2 for each in past]))
        mean = values.mean(axis=0)
        least = TUNING.least_prior_spread * max(float(np.abs(mean).mean()), 1e-12)
        spread = np.sqrt(np.maximum(values.var(axis=0, ddof=1) - noise, least**2))
        return cls(mean, spread, Provenance.of_releases(past))

    def with_noise(self, scale: float) -> Prior:
        """The prior term of the fidelity problem for noise of a scale."""
        return Prior(mean=self.mean, spread=self.spread, noise_scale=scale)

    def to_dict(self) -> dict[str, Any]:
        """Return the prior as plain JSON types."""
        numbers = {"mean": self.mean.tolist(), "spread": self.spread.tolist()}
        return {**self.provenance.to_dict(), **numbers}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "PublicPrior":
        """Read what :meth:`to_dict` returned."""
        return cls(fields["mean"], fields["spread"], Provenance.from_dict(fields))
