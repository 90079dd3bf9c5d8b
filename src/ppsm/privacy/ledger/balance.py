"""What releases cost: sequential composition within a data set, nothing across independent ones.

A loss is a number only together with the distance it speaks of. Noise of scale ``b`` loses ``d / b`` over a
movement of ``d``, so two releases made for different ``alpha`` cannot be added as they stand. A budget is
therefore kept at one ``alpha`` per data set, and every release is priced at *that* distance. A release made
for exactly this alpha costs its own epsilon; one made for a tenth of it costs ten times its epsilon. The unit
belongs to the distance: 100 kWh are 0.1 MWh, and data in a unit that cannot be converted are refused.

One release may cost at most :data:`MOST_PER_RELEASE` of a budget, unless a grant says otherwise: a large
budget is meant to last, and a slip of the keyboard must not empty it.

A budget is for all releases together, or for any ``window`` consecutive days of a stream
(:mod:`ppsm.privacy.ledger.windows`). A recipient may have a budget of its own beside the data set's: it
limits what that recipient is given, and the data set's limits what all of them can put together.

Sums of pure losses may be spent adaptively: each release may depend on what earlier ones said, as long as the
budget is fixed beforehand [RRUV16]_. The price is what OpenDP's privacy map says. Sums are exact: decimals
added without rounding.

References
----------
.. [RRUV16] R. Rogers, A. Roth, J. Ullman, S. Vadhan, Privacy odometers and filters, NeurIPS 2016.
"""

import math
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

from ppsm.errors import BudgetExceededError, InputError
from ppsm.privacy.ledger import units
from ppsm.privacy.ledger.exact import exact_difference, exact_sum
from ppsm.privacy.ledger.windows import DayLosses
from ppsm.privacy.measurements import float_above, on_grid, zone_count
from ppsm.privacy.noise import charged_loss
from ppsm.privacy.record import Asked, ReleaseRecord, dataset_id, integer, one_line, positive_number
from ppsm.privacy.tuning import TUNING

MOST_PER_RELEASE = Decimal(1)


@lru_cache(maxsize=256)
def _price(mechanism: str, scale: float, distance: float, dimension: int) -> Decimal:
    if mechanism != "laplace":
        raise InputError(
            f"No price is known for the mechanism '{mechanism}', expected 'laplace': release with that."
        )
    return charged_loss(scale, distance, dimension)


def price(record: ReleaseRecord, alpha: float) -> Decimal:
    """Return the privacy loss of a release between data sets that are adjacent at ``alpha``.

    Measurements of one release add up, as releases do.
    """
    if not record.private:
        raise InputError(
            "Seeded noise can be subtracted again, so no budget covers it: release with secure noise, or "
            "keep the simulation to yourself."
        )
    moved = float_above(on_grid(alpha, record.alpha))
    if record.asked is Asked.DISTANCE:
        return _price(record.mechanism, record.scale, moved, 1)
    entries = _price(record.mechanism, record.scale, alpha, record.dimension)
    if record.total_scale is None:
        return entries
    # One entry moves the total of one zone, its own.
    return exact_sum(entries, _price(record.mechanism, record.total_scale, moved, zone_count(record.zones)))


@dataclass(frozen=True, slots=True)
class Balance:
    """The budget of one data set, or of one recipient of it.

    Attributes
    ----------
    dataset
        The data set's identifier.
    alpha, unit
        The distance at which this budget is kept, and its unit.
    granted, spent
        What was granted and what was spent so far, in epsilon at ``alpha``. With a window the grant is for
        any so many days, and what was spent is that of all days.
    most_per_release
        What one release may cost at most.
    window
        How many consecutive days the grant is for; 0 where it is for all releases together.
    recipient
        To whom; empty for the data set's own budget.
    days
        What each day has lost, where days are counted.
    """

    dataset: str
    alpha: float
    unit: str
    granted: Decimal = Decimal(0)
    spent: Decimal = Decimal(0)
    most_per_release: Decimal = MOST_PER_RELEASE
    window: int = 0
    recipient: str = ""
    days: DayLosses = field(default_factory=DayLosses, compare=False, repr=False)

    @property
    def left(self) -> Decimal:
        """What may still be spent; with a window: on the day after the newest one."""
        if not self.window:
            return exact_difference(self.granted, self.spent)
        return self.granted if self.next_day is None else self.left_on(self.next_day)

    def left_on(self, day: date) -> Decimal:
        """What a day may still lose without any window around it losing more than was granted."""
        return exact_difference(self.granted, self.days.worst(day, self.window))

    @property
    def next_day(self) -> date | None:
        """The day after the newest one that has lost anything."""
        return None if self.days.last is None else self.days.last + timedelta(days=1)

    @property
    def comes_back(self) -> date | None:
        """The first day with more left than the next one; None without a window, or if nothing is missing."""
        day = self.next_day
        if not self.window or day is None:
            return None
        more = (day + timedelta(days=ahead) for ahead in range(1, self.window + 1))
        return next((each for each in more if self.left_on(each) > self.left), None)

    @property
    def whose(self) -> str:
        """Whose budget it is, for sentences."""
        return f"'{self.dataset}'" + (f" for '{self.recipient}'" if self.recipient else "")

    def grant(
        self,
        amount: Decimal,
        alpha: float | None = None,
        unit: str | None = None,
        most_per_release: Decimal | None = None,
        window: int | None = None,
    ) -> "Balance":
        """Return the balance with a raised budget; its distance and its window never change."""
        if amount < 0 or (amount == 0 and most_per_release is None):
            raise InputError(f"A grant of {amount} was asked for, expected more than zero: grant something.")
        if most_per_release is not None and most_per_release <= 0:
            raise InputError(f"A release may cost {most_per_release} at most, expected more than zero.")
        if not self._has_distance(alpha, unit):
            raise InputError(
                f"The budget of '{self.dataset}' is kept at alpha = {self.alpha} {self.unit}, found a grant "
                f"at another alpha or unit: leave them out, and grant epsilon as it counts at {self.alpha} "
                f"{self.unit}."
            )
        if window not in (None, self.window):
            raise InputError(
                f"The budget of {self.whose} is kept {_period(self.window)}, found a grant "
                f"{_period(int(window or 0))}: leave the window out, or grant under another name."
            )
        granted = exact_sum(self.granted, amount)
        if not math.isfinite(float(granted)):
            raise InputError(
                f"The budget of '{self.dataset}' would grow beyond all numbers: grant what the data can bear."
            )
        most = self.most_per_release if most_per_release is None else most_per_release
        return replace(self, granted=granted, most_per_release=most)

    def _has_distance(self, alpha: float | None, unit: str | None) -> bool:
        if alpha is None:
            return unit in (None, self.unit)
        return units.same_distance(self.alpha, self.unit, alpha, self.unit if unit is None else unit)

    def price(self, record: ReleaseRecord) -> Decimal:
        """Return what a release costs at the distance of this budget."""
        alpha = units.converted(self.alpha, self.unit, record.unit)
        if alpha is None:
            raise InputError(
                f"The budget of '{self.dataset}' is kept in {self.unit}, found data in {record.unit}: "
                f"convert the data to {self.unit}, or grant a budget in {record.unit} under another name."
            )
        return price(record, alpha)

    def charge(self, amount: Decimal, day: str | None = None, grant: str = "ppsm ledger grant") -> "Balance":
        """Return the balance after spending on a day, or refuse and change nothing.

        ``grant`` begins the command that a refusal tells to type.
        """
        if self.window and day is None:
            raise InputError(
                f"The budget of {self.whose} is kept {_period(self.window)}, and the data do not say of "
                "which day they are: pass Sensitive(..., day='YYYY-MM-DD')."
            )
        of_day = None if day is None or not self.window else date.fromisoformat(day)
        if amount <= 0:
            raise InputError(
                f"A charge of {amount} was asked for, expected more than zero: price the release."
            )
        left = self.left if of_day is None else self.left_on(of_day)
        missing = exact_difference(amount, left)
        leave = f" --most-per-release {_float_above(amount)}" if amount > self.most_per_release else ""
        to = f" --recipient {self.recipient}" if self.recipient else ""
        remedy = f"{grant} {self.dataset}{to} --epsilon {_float_above(max(missing, Decimal(0)))}{leave}"
        if missing > 0:
            raise BudgetExceededError(
                f"The privacy budget of {self.whose} does not cover this release: "
                f"{self._spent_words(of_day)}, asked {amount}, left {left} (epsilon at alpha = {self.alpha} "
                f"{self.unit}); {self._when_words(of_day, amount)}use a smaller epsilon, or let whoever "
                f"keeps the budget type '{remedy}'."
            )
        if leave:
            raise BudgetExceededError(
                f"This release would cost {amount} of the budget of {self.whose} at once, where its "
                f"grant allows {self.most_per_release} (epsilon at alpha = {self.alpha} {self.unit}): use a "
                f"smaller epsilon or a larger alpha, or let whoever keeps the budget type '{remedy}'."
            )
        return replace(self, spent=exact_sum(self.spent, amount))

    def _spent_words(self, day: date | None) -> str:
        if day is None:
            return f"spent {self.spent} of {self.granted}"
        lost = self.days.worst(day, self.window)
        return f"any {self.window} days may lose {self.granted}, and those around {day} have lost {lost}"

    def _when_words(self, day: date | None, amount: Decimal) -> str:
        """When the same can be asked for again."""
        if day is None:
            return ""
        again = self.days.first_day_for(amount, day, self.window, self.granted)
        return "no day can lose so much; " if again is None else f"the first day that can is {again}; "


def _period(window: int) -> str:
    return f"for any {window} consecutive days" if window else "for all releases together"


def first_balance(dataset: str, alpha: float | None, unit: str | None, window: int | None = None) -> Balance:
    """Return the empty balance of a data set that is granted a budget for the first time."""
    if alpha is None or unit is None:
        raise InputError(
            f"The data set '{dataset}' has no budget yet: its first grant must say at which alpha, in which "
            "unit, it is kept."
        )
    if window is not None and not 1 <= integer(window, "window") <= TUNING.longest_window:
        raise InputError(
            f"a window of {window} days was asked for, expected 1 to {TUNING.longest_window:,}: leave it out "
            "for a budget that all releases share."
        )
    return Balance(
        dataset_id(dataset), positive_number(alpha, "alpha"), one_line(unit, "unit"), window=window or 0
    )


def no_budget(dataset: str, remedy: str) -> BudgetExceededError:
    """Return the refusal for a data set without a budget; ``remedy`` is the command that grants one."""
    return BudgetExceededError(
        f"The data set '{dataset}' has no privacy budget, so nothing was charged or released: let whoever "
        f"keeps the budget type '{remedy}'."
    )


def _float_above(amount: Decimal) -> float:
    """Return the least float that, printed, is not below the amount: grants are floats."""
    number = float(amount)
    return number if Decimal(repr(number)) >= amount else math.nextafter(number, math.inf)
