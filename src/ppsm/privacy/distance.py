"""How far a secret is from a public vector: one number with noise, by which a stream decides to skip a day.

The L1 distance moves by at most alpha when one entry does, so noise of scale ``alpha / epsilon`` on it loses
epsilon. It is computed exactly, on the same grid as a measured total and for the same reason
(:mod:`ppsm.privacy.measurements`): a distance of floats rounds, and could move by more than its terms did.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.errors import InputError
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger.roles import Ledger, now
from ppsm.privacy.measurements import exact_distance, float_above, on_grid
from ppsm.privacy.noise import ExactLaplace, insist_on_random_bits, scale_for
from ppsm.privacy.record import Asked, NoiseSource, ReleaseRecord, integer, positive_number
from ppsm.privacy.released import Receipt
from ppsm.privacy.sensitive import Sensitive, apply_sealed, refusal_of


@dataclass(frozen=True, eq=False)
class NoisyDistance:
    """A distance with noise, which may travel; ``receipt`` is None for seeded noise, which is not private."""

    value: float
    record: ReleaseRecord
    receipt: Receipt | None

    @property
    def noise_content(self) -> bytes:
        """What came out of the noise, for the ledger's fingerprint."""
        return repr(self.value).encode()

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON types."""
        receipt = None if self.receipt is None else self.receipt.to_dict()
        return {"value": self.value, "record": self.record.to_dict(), "receipt": receipt}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "NoisyDistance":
        """Read what :meth:`to_dict` returned."""
        record = ReleaseRecord.from_dict(fields["record"])
        receipt = fields["receipt"]
        return cls(
            float(fields["value"]), record, None if receipt is None else Receipt.from_dict(receipt, record)
        )


@dataclass(frozen=True, kw_only=True)
class DistanceMechanism:
    """Laplace noise on the L1 distance between a secret and a public vector.

    Parameters
    ----------
    alpha, epsilon
        As in :class:`~ppsm.privacy.LaplaceMechanism`.

    Attributes
    ----------
    scale
        The scale of the noise on the distance.
    """

    name: ClassVar[str] = LaplaceMechanism.name

    alpha: float
    epsilon: float
    scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        alpha = positive_number(self.alpha, "alpha")
        moved = float_above(on_grid(alpha, alpha))
        object.__setattr__(self, "scale", scale_for(moved, positive_number(self.epsilon, "epsilon")))

    def release(
        self,
        secret: Sensitive,
        reference: ArrayLike,
        *,
        ledger: Ledger,
        purpose: str,
        recipient: str | None = None,
        keep: Callable[[NoisyDistance], None] | None = None,
    ) -> NoisyDistance:
        """Charge the ledger, then measure with secure noise; the arguments are those of a Laplace release."""
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        public = self._reference(secret, reference)
        draft = self._draft(secret, purpose, recipient, seed=None)
        noise = ExactLaplace(size=1, scale=self.scale)
        insist_on_random_bits()
        receipt = ledger.spend(draft)
        value = self._measured(secret, public, noise.add_to)
        answer = NoisyDistance(value, receipt.record, receipt)
        if secret.day is not None:
            if keep is not None:
                keep(answer)
            ledger.note_draw(receipt, answer.noise_content)
        return answer

    def simulate(
        self, secret: Sensitive, reference: ArrayLike, *, seed: int, purpose: str = "simulation"
    ) -> NoisyDistance:
        """The same with reproducible noise, for research."""
        if refusal := refusal_of(secret):
            del secret
            raise refusal
        record = self._draft(secret, purpose, None, seed=integer(seed, "seed"))
        generator = np.random.default_rng(seed)
        public = self._reference(secret, reference)
        value = self._measured(secret, public, lambda sums: sums + generator.laplace(scale=self.scale))
        return NoisyDistance(value, record, None)

    def _measured(
        self, secret: Sensitive, reference: FloatArray, add_noise: Callable[[FloatArray], FloatArray]
    ) -> float:
        alpha = self.alpha
        return apply_sealed(
            secret, lambda array: float(add_noise(np.array([exact_distance(array, reference, alpha)]))[0])
        )

    def _reference(self, secret: Sensitive, reference: ArrayLike) -> FloatArray:
        if isinstance(reference, Sensitive):
            raise InputError("The reference is a secret, expected a public vector: pass a forecast.")
        return frozen_vector(reference, secret.dimension, "the reference", names=secret.entry_names)

    def _draft(
        self, secret: Sensitive, purpose: str, recipient: str | None, seed: int | None
    ) -> ReleaseRecord:
        return ReleaseRecord(
            mechanism=self.name,
            asked=Asked.DISTANCE,
            alpha=self.alpha,
            epsilon=self.epsilon,
            scale=self.scale,
            unit=secret.unit,
            dimension=secret.dimension,
            dataset=secret.dataset,
            day=secret.day,
            recipient=recipient,
            purpose=purpose,
            source=NoiseSource.SECURE if seed is None else NoiseSource.SEEDED,
            time=now(),
            seed=seed,
        )
