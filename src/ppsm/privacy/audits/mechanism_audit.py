"""Audits: run a mechanism on neighbouring inputs and look for evidence against its claim.

An audit can disprove privacy, never prove it: a passed audit says that this many runs on this pair of inputs
show no larger loss at the stated confidence. An honest mechanism fails with a probability of at most ``1 -
confidence``, over all checks together; see :mod:`ppsm.privacy.audits.events` for why choosing events on the
data does not spoil that.

Runs are taken to be independent: a mechanism that learns from run to run must be audited as a whole.

Bounds on epsilon see one pair of inputs and one run at a time: they miss noise that repeats between runs, and
need many runs to see tails that end. Where a mechanism claims additive Laplace noise, the noise itself is
tested too (:mod:`ppsm.privacy.audits.laplace_audit`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray
from ppsm.errors import AuditFailedError, InputError
from ppsm.privacy.audits.events import FamilyBound, lower_bounds
from ppsm.privacy.record import integer, positive_number
from ppsm.privacy.tuning import TUNING

Mechanism = Callable[[FloatArray], ArrayLike]
Progress = Callable[[int], None]

LEAST_SAMPLES = 200
DEFAULT_CONFIDENCE = 0.999
# Outputs that are no numbers are outcomes like any other: they go where no honest number is.
_NOT_A_NUMBER, _INFINITE = 1e150, 1e149


@dataclass(frozen=True)
class NoiseCheck:
    """The outcome of one check of the noise.

    Attributes
    ----------
    name
        What was checked.
    p_value
        An upper bound on the probability that honest noise looks this odd.
    threshold
        The p-value below which the check fails.
    meaning
        What a failure points to.
    """

    name: str
    p_value: float
    threshold: float
    meaning: str

    @property
    def passes(self) -> bool:
        """Whether honest noise could plausibly look like this."""
        return self.p_value >= self.threshold


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    claimed_epsilon
        The loss that the mechanism claims not to exceed between the two inputs.
    confidence
        An honest mechanism passes with at least this probability.
    samples
        Runs on each of the two inputs.
    families
        The bound from each family of events.
    noise_checks
        Checks of additive noise; empty where the mechanism does not claim any.
    """

    claimed_epsilon: float
    confidence: float
    samples: int
    families: tuple[FamilyBound, ...]
    noise_checks: tuple[NoiseCheck, ...] = ()

    @property
    def epsilon_lower_bound(self) -> float:
        """The true loss is at least this, at the stated confidence."""
        return max(bound.epsilon_lower_bound for bound in self.families)

    @property
    def passes(self) -> bool:
        """Whether nothing speaks against the claim."""
        return self.epsilon_lower_bound <= self.claimed_epsilon and all(
            check.passes for check in self.noise_checks
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """One clause per piece of evidence against the claim."""
        found = []
        if self.epsilon_lower_bound > self.claimed_epsilon:
            found.append(
                f"epsilon is at least {self.epsilon_lower_bound:.4g} where {self.claimed_epsilon:.4g} is "
                "claimed"
            )
        failed = [check for check in self.noise_checks if not check.passes]
        return (*found, *(f"noise check '{check.name}': {check.meaning}" for check in failed))

    def raise_if_failed(self) -> None:
        """Raise :class:`AuditFailedError` with the findings, if there are any."""
        if not self.passes:
            raise AuditFailedError(
                f"The mechanism failed its audit ({'; '.join(self.findings)}): do not release with it."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON types."""
        return {
            "claimed_epsilon": self.claimed_epsilon,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "confidence": self.confidence,
            "passes": self.passes,
            "samples": self.samples,
            "findings": list(self.findings),
            "families": [vars(bound) for bound in self.families],
            "noise_checks": [{**vars(check), "passes": check.passes} for check in self.noise_checks],
        }


def audit_mechanism(
    mechanism: Mechanism,
    first: ArrayLike,
    second: ArrayLike,
    *,
    claimed_epsilon: float,
    samples: int,
    confidence: float = DEFAULT_CONFIDENCE,
    batched: bool = False,
    progress: Progress | None = None,
) -> AuditReport:
    """Audit any callable mechanism on a pair of neighbouring inputs.

    Parameters
    ----------
    mechanism
        Takes an input vector and returns an output vector of fixed length, with fresh randomness on each
        call: the bound rests on runs that are independent of each other. Whole protocols
        qualify. Inputs are public test data, never a secret.
    first, second
        The neighbouring inputs.
    claimed_epsilon
        The loss that the mechanism claims not to exceed between them.
    samples
        Runs on each input; 30 % choose the events, 70 % measure them.
    confidence
        The probability with which an honest mechanism must pass.
    batched
        Whether the mechanism takes a matrix of inputs and returns a matrix of outputs, one run per row.
    progress
        Called with the number of runs finished since the last call.
    """
    checked(samples, confidence)
    outputs = (collect(mechanism, each, samples, batched, progress) for each in (first, second))
    return audit_outputs(*outputs, claimed_epsilon=claimed_epsilon, confidence=confidence)


def audit_outputs(
    first: FloatArray,
    second: FloatArray,
    *,
    claimed_epsilon: float,
    confidence: float = DEFAULT_CONFIDENCE,
) -> AuditReport:
    """Audit what a mechanism returned on two neighbouring inputs, one run per row; else as above."""
    epsilon = positive_number(claimed_epsilon, "claimed_epsilon")
    if first.shape != second.shape:
        raise InputError(
            f"The mechanism returned {first.shape[1]} numbers on one input and {second.shape[1]} on "
            "the other, expected as many: pad the output to a fixed length."
        )
    failure = 1.0 - checked(len(first), confidence)
    families = lower_bounds(first, second, failure)
    return AuditReport(claimed_epsilon=epsilon, confidence=confidence, samples=len(first), families=families)


def checked(samples: int, confidence: float) -> float:
    """The confidence, where it and the number of runs can be audited with."""
    if integer(samples, "samples") < LEAST_SAMPLES:
        raise InputError(f"samples is {samples}, expected at least {LEAST_SAMPLES}: ask for more runs.")
    if not 0.5 <= confidence < 1.0:
        raise InputError(f"confidence is {confidence}, expected 0.5 or more and below 1: pass 0.999, say.")
    return confidence


def collect(
    mechanism: Mechanism, point: ArrayLike, samples: int, batched: bool, progress: Progress | None
) -> FloatArray:
    """Run the mechanism many times on one input and return one output per row."""
    vector = np.atleast_1d(np.asarray(point, dtype=np.float64))
    blocks: list[FloatArray] = []
    for start in range(0, samples, TUNING.rows_at_once):
        rows = min(TUNING.rows_at_once, samples - start)
        if batched:
            block = np.asarray(mechanism(np.tile(vector, (rows, 1))), dtype=np.float64)
        else:
            block = _stacked([np.asarray(mechanism(vector.copy()), dtype=np.float64) for _ in range(rows)])
        if block.ndim != 2 or len(block) != rows or (blocks and block.shape[1] != blocks[0].shape[1]):
            raise InputError(
                f"The mechanism returned outputs of shape {block.shape} for {rows} runs, expected one vector "
                "of fixed length per run: pad or flatten the output."
            )
        blocks.append(block)
        if progress is not None:
            progress(rows)
    return np.nan_to_num(np.concatenate(blocks), nan=_NOT_A_NUMBER, posinf=_INFINITE, neginf=-_INFINITE)


def _stacked(outputs: list[FloatArray]) -> FloatArray:
    flat = [output.ravel() for output in outputs]
    if len({len(output) for output in flat}) != 1:
        raise InputError("The mechanism's outputs differ in length, expected a fixed one: pad the output.")
    return np.stack(flat)
