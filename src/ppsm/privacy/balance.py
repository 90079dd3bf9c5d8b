"""What releases cost: sequential composition within a data set, nothing across independent ones.

A loss is a number only together with the distance it speaks of. Noise of scale ``b`` loses ``d / b`` over a
movement of ``d``, so two releases made for different ``alpha`` cannot be added as they stand. A budget is
therefore kept at one ``alpha`` per data set, and every release is priced at *that* distance. A release made
for exactly this alpha costs its own epsilon; one made for a tenth of it costs ten times its epsilon. The unit
belongs to the distance: 100 kWh are 0.1 MWh, and data in a unit that cannot be converted are refused.

One release may cost at most :data:`MOST_PER_RELEASE` of a budget, unless a grant says otherwise: a large
budget is meant to last, and a slip of the keyboard must not empty it.

Sums of pure losses may be spent adaptively: each release may depend on what earlier ones said, as long as the
budget is fixed beforehand [RRUV16]_. The price is what OpenDP's privacy map says. Sums are exact: decimals
added without rounding.

References
----------
.. [RRUV16] R. Rogers, A. Roth, J. Ullman, S. Vadhan, Privacy odometers and filters, NeurIPS 2016.
"""

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache

from ppsm.errors import BudgetExceededError, InputError
from ppsm.privacy import units
from ppsm.privacy.measurements import float_above, on_grid
from ppsm.privacy.noise import charged_loss
from ppsm.privacy.record import Asked, ReleaseRecord, dataset_id, one_line, positive_number

MOST_PER_RELEASE = Decimal(1)

# Wide enough for every digit of any float; a sum that does not fit raises instead of rounding.
_EXACT = Context(prec=5000, traps=[Inexact, InvalidOperation])


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
    return exact_sum(entries, _price(record.mechanism, record.total_scale, moved, 1))


@dataclass(frozen=True, slots=True)
class Balance:
    """The budget of one data set.

    Attributes
    ----------
    dataset
        The data set's identifier.
    alpha, unit
        The distance at which this budget is kept, and its unit.
    granted, spent
        What was granted and what was spent so far, in epsilon at ``alpha``.
    most_per_release
        What one release may cost at most.
    """

    dataset: str
    alpha: float
    unit: str
    granted: Decimal = Decimal(0)
    spent: Decimal = Decimal(0)
    most_per_release: Decimal = MOST_PER_RELEASE

    @property
    def left(self) -> Decimal:
        """What may still be spent."""
        return exact_sum(self.granted, -self.spent)

    def grant(
        self,
        amount: Decimal,
        alpha: float | None = None,
        unit: str | None = None,
        most_per_release: Decimal | None = None,
    ) -> "Balance":
        """Return the balance with a raised budget; the distance of a budget never changes."""
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

    def charge(self, amount: Decimal, grant: str = "ppsm ledger grant") -> "Balance":
        """Return the balance after spending, or refuse and change nothing.

        ``grant`` begins the command that a refusal tells to type.
        """
        if amount <= 0:
            raise InputError(
                f"A charge of {amount} was asked for, expected more than zero: price the release."
            )
        missing = exact_sum(amount, -self.left)
        leave = f" --most-per-release {_float_above(amount)}" if amount > self.most_per_release else ""
        remedy = f"{grant} {self.dataset} --epsilon {_float_above(max(missing, Decimal(0)))}{leave}"
        if missing > 0:
            raise BudgetExceededError(
                f"The privacy budget of '{self.dataset}' does not cover this release: spent {self.spent} of "
                f"{self.granted}, asked {amount}, left {self.left} (epsilon at alpha = {self.alpha} "
                f"{self.unit}); use a smaller epsilon, or let whoever keeps the budget type '{remedy}'."
            )
        if leave:
            raise BudgetExceededError(
                f"This release would cost {amount} of the budget of '{self.dataset}' at once, where its "
                f"grant allows {self.most_per_release} (epsilon at alpha = {self.alpha} {self.unit}): use a "
                f"smaller epsilon or a larger alpha, or let whoever keeps the budget type '{remedy}'."
            )
        return replace(self, spent=exact_sum(self.spent, amount))


def first_balance(dataset: str, alpha: float | None, unit: str | None) -> Balance:
    """Return the empty balance of a data set that is granted a budget for the first time."""
    if alpha is None or unit is None:
        raise InputError(
            f"The data set '{dataset}' has no budget yet: its first grant must say at which alpha, in which "
            "unit, it is kept."
        )
    return Balance(dataset_id(dataset), positive_number(alpha, "alpha"), one_line(unit, "unit"))


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


def exact_sum(first: Decimal, second: Decimal) -> Decimal:
    """Add two decimals without rounding, whatever the ambient decimal context says."""
    return _EXACT.add(first, second)
