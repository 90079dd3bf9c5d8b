"""When a stream samples, and with how much of its budget: the menu.

=============== ====================================================================================
``daily``       every day, with epsilon / w; for w = 1 the plain daily release
``regular``     one day in ``every``, all of the budget on it; which days is public from the start
``distribution`` half of what the window has left, on days that changed much [KPXP14]_
``absorption``  each day has its part, days that changed little leave theirs to the next sample [KPXP14]_
=============== ====================================================================================

A policy sees what earlier days' samples cost and nothing else, all of it public. ``distribution`` and
``absorption`` ask every day, with noise, how far the day is from its forecast, and pay for it with a share of
the budget that is theirs to ask with; where nothing was sampled for a whole window they sample without
asking.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Protocol

from ppsm.errors import InputError
from ppsm.streams.promise import Promise, part, rest, rounded_down, split

NOTHING = Decimal(0)


@dataclass(frozen=True)
class Plan:
    """What a day may spend.

    ``question`` is for asking whether the day has changed (0: nothing is asked), ``sample`` for measuring it
    (0: it is skipped).
    """

    question: Decimal
    sample: Decimal


SKIP = Plan(NOTHING, NOTHING)


class Policy(Protocol):
    """How a budget is spread over days."""

    @property
    def name(self) -> str:
        """Its name on the menu."""

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        """What today may spend, where ``past`` is what the samples of all days before today cost."""


@dataclass(frozen=True)
class Daily:
    """Every day the same."""

    name: ClassVar[str] = "daily"

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        """An equal part of the window's budget."""
        del past
        return Plan(NOTHING, split(promise.budget, promise.window))


@dataclass(frozen=True)
class Regular:
    """One day in ``every``, by default one in a window."""

    name: ClassVar[str] = "regular"

    every: int | None = None

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 1:
            raise InputError(f"a sample every {self.every} days was asked for, expected one day or more.")

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        """The budget over the most samples that a window can hold."""
        every = self.every or promise.window
        if len(past) % every:
            return SKIP
        most = -(-promise.window // every)
        return Plan(NOTHING, split(promise.budget, most))


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """What the two policies share that ask whether a day has changed."""

    question_share: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 < self.question_share < 1.0:
            raise InputError(
                f"the share of epsilon for questions is {self.question_share}; expected a number between 0 "
                "and 1."
            )

    def questions(self, promise: Promise) -> Decimal:
        """What of a window's budget is for asking."""
        return part(promise.budget, Decimal(repr(float(self.question_share))))

    def samples(self, promise: Promise) -> Decimal:
        """What of a window's budget is for sampling."""
        return rounded_down(rest(promise.budget, [self.questions(promise)]))

    def _plan(self, promise: Promise, past: Sequence[Decimal], offer: Decimal) -> Plan:
        if not any(past[-promise.window :]):
            return Plan(NOTHING, offer)
        return Plan(split(self.questions(promise), promise.window), offer)


@dataclass(frozen=True, kw_only=True)
class Distribution(_Asking):
    """Half of what the window has left; offers below an equal part are not worth asking for."""

    name: ClassVar[str] = "distribution"

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        """What is left counts the samples of the ``window - 1`` days before today."""
        recent = past[max(0, len(past) - promise.window + 1) :]
        budget = self.samples(promise)
        offer = split(rest(budget, recent), 2)
        return self._plan(promise, past, offer) if offer >= split(budget, promise.window) else SKIP


@dataclass(frozen=True, kw_only=True)
class Absorption(_Asking):
    """Each day has an equal part; a sample takes those left over before it and those of the days after it.

    A sample of k parts is followed by k - 1 days without any; days before the stream began left theirs too.
    """

    name: ClassVar[str] = "absorption"

    def plan(self, promise: Promise, past: Sequence[Decimal]) -> Plan:
        """As many parts as days have passed since the last sample and the days it silenced."""
        one = split(self.samples(promise), promise.window)
        sampled = [index for index, cost in enumerate(past) if cost]
        free = promise.window
        if sampled:
            silenced = round(Fraction(past[sampled[-1]]) / Fraction(one)) - 1
            free = min(len(past) - sampled[-1] - silenced, promise.window)
        return self._plan(promise, past, part(one, free)) if free > 0 else SKIP


POLICIES: dict[str, type[Daily] | type[Regular] | type[Distribution] | type[Absorption]] = {
    each.name: each for each in (Daily, Regular, Distribution, Absorption)
}
