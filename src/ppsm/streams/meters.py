"""What the engine's questions are put to.

A secret behind a ledger, from the start or going on where a call was interrupted; the same with seeded noise,
for research; and public test data, for audits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import LedgerError
from ppsm.mechanism.coordination import Coordination
from ppsm.mechanism.mechanisms import PPSM_p
from ppsm.mechanism.predictors import seed_of
from ppsm.privacy.distance import DistanceMechanism, NoisyDistance
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger import Ledger
from ppsm.privacy.measurements import exact_distance
from ppsm.privacy.noise import ExactLaplace
from ppsm.privacy.record import Asked
from ppsm.privacy.released import Released
from ppsm.privacy.sensitive import Sensitive
from ppsm.streams.day_files import Kept


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

    def sample(self, epsilon: float) -> Released:
        """Step 1: entries, and the total where that helps."""
        return replace(self.mechanism, epsilon=epsilon).perturb(
            self.secret,
            self.coordination,
            ledger=self.ledger,
            purpose=self.purpose,
            recipient=self.recipient,
            keep=self.keep_sample,
        )


@dataclass(frozen=True, eq=False)
class ResumedMeter:
    """A meter that goes on from what an interrupted call has kept."""

    fresh: SecretMeter
    kept: Kept

    def ask(self, reference: FloatArray, epsilon: float) -> NoisyDistance:
        """The answer that was kept, or a fresh one."""
        found = self.kept.answer()
        if found is None or found.receipt is None:
            self._refuse_lost(Asked.DISTANCE)
            return self.fresh.ask(reference, epsilon)
        self.fresh.ledger.note_draw(found.receipt, found.noise_content)
        return found

    def sample(self, epsilon: float) -> Released:
        """The sample that was kept, or a fresh one."""
        found = self.kept.sample()
        if found is None or found.receipt is None:
            self._refuse_lost(Asked.ENTRIES)
            return self.fresh.sample(epsilon)
        self.fresh.ledger.note_draw(found.receipt, found.noise_content)
        return found

    def _refuse_lost(self, asked: Asked) -> None:
        """Noise that was noted as drawn may have been seen: the same day is not drawn a second time."""
        secret, day = self.fresh.secret, str(self.fresh.secret.day)
        drawn = self.fresh.ledger.fingerprint_of_draw(secret.dataset, day, asked, self.fresh.recipient)
        if drawn is not None:
            raise LedgerError(
                f"The ledger says that noise was drawn for {day} of '{secret.dataset}', and its files are "
                "not here: put them back, or leave that day out."
            )


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

    def sample(self, epsilon: float) -> Released:
        """Step 1: entries, and the total where that helps."""
        seed = seed_of("sample", self.seed, self.secret.day)
        noise = replace(self.mechanism, epsilon=epsilon)
        return noise.perturb_with_seed(self.secret, self.coordination, seed=seed)


@dataclass(frozen=True, eq=False)
class PublicSample:
    """A noisy day of test data."""

    values: FloatArray
    scale: float
    totals: tuple[float, ...] = ()
    total_scale: float | None = None
    zones: tuple[int, ...] = ()


@dataclass(frozen=True)
class PublicAnswer:
    """A noisy distance of test data."""

    value: float


# Made once for each epsilon: making a sampler takes longer than drawing from it.
@lru_cache(maxsize=256)
def _entries(alpha: float, epsilon: float, size: int) -> ExactLaplace:
    return ExactLaplace(size=size, scale=LaplaceMechanism(alpha=alpha, epsilon=epsilon).scale)


@lru_cache(maxsize=256)
def _distance(alpha: float, epsilon: float) -> ExactLaplace:
    return ExactLaplace(size=1, scale=DistanceMechanism(alpha=alpha, epsilon=epsilon).scale)


@dataclass(frozen=True, eq=False)
class PublicMeter:
    """A day of public test data; the noise is that of a release, and nothing is charged."""

    values: FloatArray
    alpha: float

    def ask(self, reference: FloatArray, epsilon: float) -> PublicAnswer:
        """How far the day is from a public vector."""
        exact = np.array([exact_distance(self.values, reference, self.alpha)])
        return PublicAnswer(float(_distance(self.alpha, epsilon).add_to(exact)[0]))

    def sample(self, epsilon: float) -> PublicSample:
        """The day itself."""
        noise = _entries(self.alpha, epsilon, self.values.size)
        return PublicSample(noise.add_to(self.values), noise.scale)
