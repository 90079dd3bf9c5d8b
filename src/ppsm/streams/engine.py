"""One day of a stream after the other: forecast, question, sample, estimate.

::

    forecast    what public knowledge and earlier releases say of the day
    question    how far is the day from it? asked with noise, where the policy asks
    sample      entries, and perhaps the total, with noise; where the answer, or the policy, says so
    estimate    what is known of the day afterwards; on a day that was skipped the forecast

The engine never sees a day. It asks a :class:`Meter`, which is the secret behind a ledger
(:mod:`ppsm.streams.meters`), seeded noise for research, or public test data for audits: what is audited is
this code.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Generic, Protocol, TypeVar

from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.streams.policies import NOTHING, Plan, Policy
from ppsm.streams.promise import Promise
from ppsm.streams.reconstruction import Estimate, Knowledge, Measured, Reconstruction


class Answer(Protocol):
    """The answer to a question: a noisy L1 distance."""

    @property
    def value(self) -> float:
        """In the unit of the data; noise may have made it negative."""


A = TypeVar("A", bound=Answer)
S = TypeVar("S", bound=Measured)
A_co = TypeVar("A_co", bound=Answer, covariant=True)
S_co = TypeVar("S_co", bound=Measured, covariant=True)


class Meter(Protocol[A_co, S_co]):
    """What the engine may ask of a day; each call pays, and draws noise of its own."""

    def ask(self, reference: FloatArray, epsilon: float) -> A_co:
        """How far the day is from a public vector."""

    def sample(self, epsilon: float) -> S_co:
        """The day itself."""


@dataclass(frozen=True, eq=False)
class PublicDay:
    """What everybody knows of a day: its date, and its profile (:mod:`ppsm.streams.reconstruction`)."""

    day: date
    profile: FloatArray


@dataclass(frozen=True, eq=False)
class Begun:
    """A day before anything was asked of it."""

    public: PublicDay
    plan: Plan
    forecast: Estimate


@dataclass(frozen=True, eq=False)
class DayResult(Generic[A, S]):
    """A day of a stream, public parts only; without a sample the estimate is the forecast."""

    begun: Begun
    answer: A | None
    sample: S | None
    estimate: Estimate

    @property
    def day(self) -> date:
        """Its date."""
        return self.begun.public.day


class Stream:
    """The public state of a stream: what earlier days cost, and what is known from them.

    Parameters
    ----------
    promise
        What any window may lose.
    policy
        When it is spent.
    bounds
        Public least and largest value of each entry.
    knowledge
        How well profiles tell entries.
    zones
        The public zone of each entry; empty where all are in one.
    """

    def __init__(
        self,
        promise: Promise,
        policy: Policy,
        bounds: tuple[FloatArray, FloatArray],
        knowledge: Knowledge | None = None,
        zones: tuple[int, ...] = (),
    ) -> None:
        self.promise, self.policy = promise, policy
        self._size = bounds[0].size
        self._known = Reconstruction(bounds, knowledge, zones)
        self._past: list[Decimal] = []
        self._last: date | None = None

    def begin(self, public: PublicDay) -> Begun:
        """The next day, with its forecast and what may be spent on it; days left out count as skipped."""
        if self._last is not None:
            ahead = (public.day - self._last).days
            if ahead < 1:
                raise InputError(f"the day {public.day} comes after {self._last}; expected days in order.")
            self._past += [NOTHING] * (ahead - 1)
        self._last = public.day
        forecast = self._known.begin(public.profile)
        return Begun(public, self.policy.plan(self.promise, self._past), forecast)

    def wants_sample(self, begun: Begun, answer: Answer | None) -> bool:
        """Whether the day is sampled: its noisy distance exceeds what a fresh sample would be off by."""
        if not begun.plan.sample:
            return False
        if answer is None:
            return True
        return answer.value > self._size * self.promise.alpha / float(begun.plan.sample)

    def end(self, begun: Begun, answer: A | None, sample: S | None) -> DayResult[A, S]:
        """Learn from the day."""
        self._past.append(NOTHING if sample is None else begun.plan.sample)
        estimate = begun.forecast if sample is None else self._known.add(sample)
        return DayResult(begun, answer, sample, estimate)

    def run(self, public: PublicDay, meter: Meter[A, S]) -> DayResult[A, S]:
        """All of a day at once."""
        begun = self.begin(public)
        answer, sample = None, None
        if begun.plan.question:
            answer = meter.ask(begun.forecast.mean, float(begun.plan.question))
        if self.wants_sample(begun, answer):
            sample = meter.sample(float(begun.plan.sample))
        return self.end(begun, answer, sample)
