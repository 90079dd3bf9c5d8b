"""What windows of days have lost: the budget of a stream is for any ``window`` consecutive days.

Counted are the days that the data are *of*, whenever they were released: neighbouring streams differ on the
days of one window, and all that was ever said about those days adds up.
"""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from ppsm.privacy.ledger.exact import exact_difference, exact_sum

NOTHING = Decimal(0)


class DayLosses:
    """The loss of each day so far; days without an entry have lost nothing."""

    def __init__(self, by_day: dict[int, Decimal] | None = None) -> None:
        self._by_day = {} if by_day is None else by_day

    def add(self, day: date, amount: Decimal) -> None:
        """Count a release of a day."""
        number = day.toordinal()
        self._by_day[number] = exact_sum(self.of(number), amount)

    def copy(self) -> "DayLosses":
        """The same, on its own."""
        return DayLosses(dict(self._by_day))

    def of(self, number: int) -> Decimal:
        """The loss of one day, by its ordinal."""
        return self._by_day.get(number, NOTHING)

    def worst(self, day: date, window: int) -> Decimal:
        """The most that a window around a day has lost."""
        return max(self._windows_around(day.toordinal(), window))

    def largest(self, window: int) -> Decimal:
        """The most that any window has lost."""
        return max((self.worst(date.fromordinal(day), window) for day in self._by_day), default=NOTHING)

    def first_day_for(self, amount: Decimal, since: date, window: int, budget: Decimal) -> date | None:
        """The first day from ``since`` on that can lose so much more; None where no day ever can."""
        if amount > budget:
            return None
        last = max(self._by_day, default=since.toordinal())
        for number in range(since.toordinal(), last + window + 1):
            day = date.fromordinal(number)
            if exact_sum(self.worst(day, window), amount) <= budget:
                return day
        return None

    @property
    def last(self) -> date | None:
        """The newest day that has lost anything."""
        return date.fromordinal(max(self._by_day)) if self._by_day else None

    def _windows_around(self, day: int, window: int) -> Iterator[Decimal]:
        """The losses of all windows that hold a day, from the one that ends with it on."""
        loss = NOTHING
        for number in range(day - window + 1, day + 1):
            loss = exact_sum(loss, self.of(number))
        yield loss
        for number in range(day + 1, day + window):
            loss = exact_difference(exact_sum(loss, self.of(number)), self.of(number - window))
            yield loss
