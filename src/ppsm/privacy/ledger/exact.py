"""Sums of losses: decimals added without rounding."""

from decimal import Context, Decimal, Inexact, InvalidOperation

# Wide enough for every digit of any float; a sum that does not fit raises instead of rounding.
_EXACT = Context(prec=5000, traps=[Inexact, InvalidOperation])


def exact_sum(first: Decimal, second: Decimal) -> Decimal:
    """Add two decimals without rounding, whatever the ambient decimal context says."""
    return _EXACT.add(first, second)
