"""What a stream promises, w-event privacy [KPXP14]_: any ``window`` consecutive days lose at most epsilon.

Two streams are neighbours when they differ on days of one window only, and on each of these days in one entry
by at most alpha. Whoever sees everything that was ever released of one of them changes the odds between the
two by at most ``exp(epsilon)``. A window of one day is the plain daily release.

References
----------
.. [KPXP14] G. Kellaris, S. Papadopoulos, X. Xiao, D. Papadias, Differentially private event sequences over
   infinite streams, VLDB 2014.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from functools import reduce

from ppsm.errors import InputError
from ppsm.privacy.ledger.exact import exact_difference
from ppsm.privacy.record import integer, positive_number

# A decimal of so many digits comes back unchanged from a float.
_DOWN = Context(prec=12, rounding=ROUND_DOWN)


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Parameters of the promise.

    Parameters
    ----------
    alpha
        The distance within which one entry of a day is hidden, in the unit of the data.
    epsilon
        What any window may lose.
    window
        How many consecutive days a window has.
    """

    alpha: float
    epsilon: float = 1.0
    window: int = 1

    def __post_init__(self) -> None:
        positive_number(self.alpha, "alpha")
        positive_number(self.epsilon, "epsilon")
        if integer(self.window, "window") < 1:
            raise InputError(f"a window of {self.window} days was asked for, expected one day or more.")

    @property
    def budget(self) -> Decimal:
        """Epsilon as the decimal that it prints as."""
        return Decimal(repr(float(self.epsilon)))


def rest(amount: Decimal, spent: Iterable[Decimal]) -> Decimal:
    """What is left of an amount, whatever the program around it rounds decimals to."""
    return reduce(exact_difference, spent, amount)


def rounded_down(amount: Decimal) -> Decimal:
    """A loss with no more digits than a float keeps; never more than was asked for."""
    return _DOWN.plus(amount)


def part(amount: Decimal, share: Decimal | int) -> Decimal:
    """An amount times a share, never rounded up."""
    return _DOWN.multiply(amount, Decimal(share))


def split(amount: Decimal, parts: int) -> Decimal:
    """One of so many equal parts, never rounded up."""
    return _DOWN.divide(amount, Decimal(parts))
