"""Streams with a planted fault, which an audit must find."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.streams.meters import PublicAnswer, PublicMeter, PublicSample
from ppsm.streams.policies import Absorption, Daily, Plan, Policy
from ppsm.streams.promise import Promise
from ppsm.streams.reconstruction import Knowledge, Spread
from ppsm.streams.stream_audit import SmallStream


@dataclass(frozen=True, eq=False)
class _TrueAnswers(PublicMeter):
    def ask(self, reference: FloatArray, epsilon: float) -> PublicAnswer:
        return PublicAnswer(float(np.abs(self.values - reference).sum()))


@dataclass(frozen=True, kw_only=True)
class SkipOnTrueData(SmallStream):
    """Whether a day is skipped is decided without noise, and the answer itself is hidden."""

    def meter(self, values: FloatArray, index: int) -> PublicMeter:
        return _TrueAnswers(values, self.promise.alpha)

    def outputs(self, stream: FloatArray) -> FloatArray:
        seen = super().outputs(stream)
        seen[:: 2 + 2 * len(self.profile)] = 0.0
        return seen


@dataclass(frozen=True)
class WindowOffByOne:
    """A policy that counts a window of one day less than was promised."""

    policy: Policy

    @property
    def name(self) -> str:
        return self.policy.name

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        return self.policy.plan(replace(promise, window=promise.window - 1), past)


@dataclass(frozen=True, eq=False)
class _SameNoise(PublicMeter):
    drawn: dict[str, FloatArray] = field(default_factory=dict)

    def sample(self, epsilon: float) -> PublicSample:
        fresh = super().sample(epsilon)
        noise = self.drawn.setdefault("noise", fresh.values - self.values)
        return PublicSample(self.values + noise, fresh.scale)


@dataclass(frozen=True, kw_only=True)
class DrawUsedTwice(SmallStream):
    """The third day gets the noise of the second."""

    last: dict[str, FloatArray] = field(default_factory=dict, compare=False)

    def meter(self, values: FloatArray, index: int) -> PublicMeter:
        if index % 2:
            self.last.clear()
        return _SameNoise(values, self.promise.alpha, self.last)


PROMISE = Promise(alpha=1.0, epsilon=1.0, window=2)
PROFILE = (20.0, 10.0)
_TINY = Spread(own=1e-9, shared=0.0)
# The forecast is the profile, whatever is sampled.
CERTAIN = Knowledge(at_first=_TINY, drift=_TINY, departure=_TINY)


def honest(policy: Policy) -> SmallStream:
    return SmallStream(promise=PROMISE, policy=policy, profile=PROFILE, days=3)


PLANTED: dict[str, SmallStream] = {
    # On the third day a sample is worth its noise of 8 in all; the day is 7.5 from its forecast, or 8.5.
    "a skip decided on true data": SkipOnTrueData(
        promise=PROMISE,
        policy=Absorption(question_share=0.5),
        profile=PROFILE,
        days=3,
        shift=7.5,
        knowledge=CERTAIN,
    ),
    "a window off by one": honest(WindowOffByOne(Daily())),
    "a draw used twice": DrawUsedTwice(promise=PROMISE, policy=Daily(), profile=PROFILE, days=3),
}

# Which days differ where a fault shows: the first of them, and how many.
WHERE = {
    "a skip decided on true data": (2, 1),
    "a window off by one": (0, 2),
    "a draw used twice": (2, 1),
}
