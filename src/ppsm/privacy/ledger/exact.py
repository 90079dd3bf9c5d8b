"""Sums and differences of losses, decimals that are not rounded, and how they are written.

Every operator of a decimal rounds to the ambient context, which any code in the process may set to a few
digits; so does the minus in front of one. Losses are therefore added and subtracted here alone.
"""

from decimal import ROUND_CEILING, Context, Decimal, Inexact, InvalidOperation

# Wide enough for every digit of any float; a sum that does not fit raises instead of rounding.
_EXACT = Context(prec=5000, traps=[Inexact, InvalidOperation])
# As many digits as a float that somebody typed can have; a loss is never told as less than it is.
_SHORT = Context(prec=17, rounding=ROUND_CEILING)


def exact_sum(first: Decimal, second: Decimal) -> Decimal:
    """Add two decimals without rounding, whatever the ambient decimal context says."""
    return _EXACT.add(first, second)


def exact_difference(first: Decimal, second: Decimal) -> Decimal:
    """Subtract the second decimal from the first without rounding, as :func:`exact_sum` adds them."""
    return _EXACT.subtract(first, second)


def exact_multiple(times: int, loss: Decimal) -> Decimal:
    """So many times a loss, without rounding."""
    return _EXACT.multiply(Decimal(times), loss)


def in_words(loss: Decimal) -> str:
    """A loss for a sentence: without an exponent, with the digits of a float, never rounded down."""
    return f"{_SHORT.normalize(loss):f}"
