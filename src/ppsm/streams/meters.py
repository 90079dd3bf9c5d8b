"""What the engine's questions are put to: a secret behind a ledger, or the same with seeded noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ppsm.arrays import FloatArray
from ppsm.mechanism.coordination import Coordination
from ppsm.mechanism.mechanisms import PPSM_p
from ppsm.mechanism.predictors import seed_of
from ppsm.privacy.distance import DistanceMechanism, NoisyDistance
from ppsm.privacy.ledger import Ledger
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive


@dataclass(frozen=True, eq=False)
class Sample:
    """A noisy day, as the reconstruction needs it."""

    released: Released

    @property
    def values(self) -> FloatArray:
        """The noisy entries."""
        return self.released.values

    @property
    def total(self) -> float | None:
        """The noisy total, if it was measured."""
        return self.released.total

    @property
    def scale(self) -> float:
        """The scale of the noise on each entry."""
        return self.released.record.scale

    @property
    def total_scale(self) -> float | None:
        """That of the noise on the total."""
        return self.released.record.total_scale


@dataclass(frozen=True, eq=False, kw_only=True)
class SecretMeter:
    """A day's secret: every question is charged to a ledger first.

    Attributes
    ----------
    secret, coordination
        The day's data, which must say of which day they are, and its game.
    mechanism
        What is done to it; its epsilon is that of the day's plan.
    ledger, purpose, recipient
        As in :meth:`ppsm.LaplaceMechanism.release`.
    keep_answer, keep_sample
        Called with what was drawn, before it may leave.
    """

    secret: Sensitive
    coordination: Coordination
    mechanism: PPSM_p
    ledger: Ledger
    purpose: str
    recipient: str | None
    keep_answer: Callable[[NoisyDistance], None]
    keep_sample: Callable[[Released], None]

    def ask(self, reference: FloatArray, epsilon: float) -> NoisyDistance:
        """How far the day is from a public vector."""
        return DistanceMechanism(alpha=self.mechanism.alpha, epsilon=epsilon).release(
            self.secret,
            reference,
            ledger=self.ledger,
            purpose=self.purpose,
            recipient=self.recipient,
            keep=self.keep_answer,
        )

    def sample(self, epsilon: float) -> Sample:
        """Step 1: entries, and the total where that helps."""
        noisy = replace(self.mechanism, epsilon=epsilon).perturb(
            self.secret,
            self.coordination,
            ledger=self.ledger,
            purpose=self.purpose,
            recipient=self.recipient,
            keep=self.keep_sample,
        )
        return Sample(noisy)


@dataclass(frozen=True, eq=False, kw_only=True)
class SeededMeter:
    """The same with reproducible noise, for research on public data: nothing is charged or private."""

    secret: Sensitive
    coordination: Coordination
    mechanism: PPSM_p
    seed: int

    def ask(self, reference: FloatArray, epsilon: float) -> NoisyDistance:
        """How far the day is from a public vector."""
        asked = DistanceMechanism(alpha=self.mechanism.alpha, epsilon=epsilon)
        return asked.simulate(self.secret, reference, seed=seed_of("ask", self.seed, self.secret.day))

    def sample(self, epsilon: float) -> Sample:
        """Step 1: entries, and the total where that helps."""
        seed = seed_of("sample", self.seed, self.secret.day)
        noise = replace(self.mechanism, epsilon=epsilon)
        return Sample(noise.perturb_with_seed(self.secret, self.coordination, seed=seed))
