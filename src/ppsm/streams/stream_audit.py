"""Audits of whole streams: everything that leaves, on neighbouring streams of public test data.

What is run is the engine with the noise of the mechanisms themselves; only ledger and secret are left out.
The audited output is more than an attacker sees: the noisy answers are in it too.
"""

from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.privacy.audits.mechanism_audit import DEFAULT_CONFIDENCE, AuditReport, audit_mechanism
from ppsm.streams.engine import PublicDay, Stream
from ppsm.streams.meters import PublicMeter
from ppsm.streams.policies import Policy
from ppsm.streams.promise import Promise
from ppsm.streams.reconstruction import Knowledge
from ppsm.streams.tuning import TUNING

_FIRST = date(2026, 1, 1)


@dataclass(frozen=True, kw_only=True)
class SmallStream:
    """A stream of test data whose profile is the same every day.

    Attributes
    ----------
    promise, policy
        What is audited.
    profile
        What public knowledge says of each day.
    days
        How many there are.
    shift
        How far the last entry of each day is from its profile.
    knowledge
        How well the profile is said to be known.
    """

    promise: Promise
    policy: Policy
    profile: tuple[float, ...]
    days: int
    shift: float = 0.0
    knowledge: Knowledge = field(default_factory=Knowledge)

    def outputs(self, stream: FloatArray) -> FloatArray:
        """All that leaves when the days of a flat vector are released: answers, samples, estimates."""
        size = len(self.profile)
        profile = np.array(self.profile)
        wide = np.zeros(size), np.full(size, TUNING.most)
        engine = Stream(self.promise, self.policy, wide, self.knowledge)
        seen = []
        for index, values in enumerate(stream.reshape(self.days, size)):
            public = PublicDay(_FIRST + timedelta(days=index), profile)
            result = engine.run(public, self.meter(values, index))
            answer = TUNING.nothing if result.answer is None else result.answer.value
            sample = np.full(size, TUNING.nothing) if result.sample is None else result.sample.values
            seen.append(np.concatenate([[answer, float(result.sample is not None)], sample]))
            seen.append(result.estimate.mean)
        return np.concatenate(seen)

    def meter(self, values: FloatArray, index: int) -> PublicMeter:
        """What the engine asks on a day; planted faults change it."""
        del index
        return PublicMeter(values, self.promise.alpha)

    def usual(self) -> FloatArray:
        """The stream of all usual days."""
        day = np.array(self.profile)
        day[-1] += self.shift
        return np.tile(day, self.days)

    def neighbour(self, first: int, count: int) -> FloatArray:
        """The same with one entry of each of so many days moved by alpha, from the day ``first`` on."""
        stream = self.usual().reshape(self.days, -1)
        stream[first : first + count, 0] += self.promise.alpha
        return stream.ravel()


def audit_stream(
    stream: SmallStream,
    *,
    first: int,
    count: int,
    samples: int,
    confidence: float = DEFAULT_CONFIDENCE,
) -> AuditReport:
    """Look for evidence that a window of changed days shows more than the promise allows.

    Parameters
    ----------
    stream
        What is audited.
    first, count
        Which days differ: ``count`` of them, at most a window, from ``first`` on.
    samples, confidence
        As in :func:`ppsm.privacy.audit_mechanism`.
    """
    return audit_mechanism(
        stream.outputs,
        stream.usual(),
        stream.neighbour(first, count),
        claimed_epsilon=stream.promise.epsilon,
        samples=samples,
        confidence=confidence,
    )
