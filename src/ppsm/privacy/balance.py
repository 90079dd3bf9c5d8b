"""What releases cost: sequential composition within a data set, nothing across independent ones.

A loss is a number only together with the distance it speaks of. Noise of scale ``b`` loses ``d / b`` over a
movement of ``d``, so two releases made for different ``alpha`` cannot be added as they stand. A budget is
therefore kept at one ``alpha`` per data set, and every release is priced at *that* distance. A release made
for exactly this alpha costs its own epsilon; one made for a tenth of it costs ten times its epsilon. The unit
belongs to the distance: 100 kWh are not 100 MWh, so data in another unit are refused.

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
from ppsm.privacy.measurements import float_above, on_grid
from ppsm.privacy.noise import charged_loss
from ppsm.privacy.record import ReleaseRecord, dataset_id, one_line, positive_number

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
    entries = _price(record.mechanism, record.scale, alpha, record.dimension)
    if record.total_scale is None:
        return entries
    moved = float_above(on_grid(alpha, record.alpha))
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
    """

    dataset: str
    alpha: float
    unit: str
    granted: Decimal = Decimal(0)
    spent: Decimal = Decimal(0)

    @property
    def left(self) -> Decimal:
        """What may still be spent."""
        return exact_sum(self.granted, -self.spent)

    def grant(self, amount: Decimal, alpha: float | None = None, unit: str | None = None) -> "Balance":
        """Return the balance with a raised budget; the distance of a budget never changes."""
        if amount <= 0:
            raise InputError(f"A grant of {amount} was asked for, expected more than zero: grant something.")
        if alpha not in (None, self.alpha) or unit not in (None, self.unit):
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
        return replace(self, granted=granted)

    def price(self, record: ReleaseRecord) -> Decimal:
        """Return what a release costs at the distance of this budget."""
        if record.unit != self.unit:
            raise InputError(
                f"The budget of '{self.dataset}' is kept in {self.unit}, found data in {record.unit}: "
                f"convert the data to {self.unit}."
            )
        return price(record, self.alpha)

    def charge(self, amount: Decimal) -> "Balance":
        """Return the balance after spending, or refuse and change nothing."""
        if amount <= 0:
            raise InputError(
                f"A charge of {amount} was asked for, expected more than zero: price the release."
            )
        if amount > self.left:
            raise BudgetExceededError(
                f"The privacy budget of '{self.dataset}' does not cover this release: spent {self.spent} of "
                f"{self.granted}, asked {amount}, left {self.left} (epsilon at alpha = {self.alpha} "
                f"{self.unit}); use a smaller epsilon or grant more with 'ppsm ledger grant LEDGER "
                f"{self.dataset} --epsilon {_float_above(exact_sum(amount, -self.left))}'."
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


def no_budget(dataset: str) -> BudgetExceededError:
    """Return the refusal for a data set without a budget."""
    return BudgetExceededError(
        f"The data set '{dataset}' has no privacy budget: spent 0, left 0; grant one with "
        f"'ppsm ledger grant LEDGER {dataset} --epsilon EPSILON --alpha ALPHA --unit UNIT'."
    )


def _float_above(amount: Decimal) -> float:
    """Return the least float that, printed, is not below the amount: grants are floats."""
    number = float(amount)
    return number if Decimal(repr(number)) >= amount else math.nextafter(number, math.inf)


def exact_sum(first: Decimal, second: Decimal) -> Decimal:
    """Add two decimals without rounding, whatever the ambient decimal context says."""
    return _EXACT.add(first, second)
