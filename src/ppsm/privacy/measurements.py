"""What step 1 measures of a secret beside its entries, and what of epsilon each measurement gets.

The sum of n noisy entries has a standard deviation of ``sqrt(2 n)`` scales; the total itself, asked for
directly, one of ``sqrt(2)``. One entry that moves by alpha moves the total by alpha, so noise of scale
``alpha / epsilon'`` on it loses ``epsilon'``, and entries and total together lose the sum.

The total is added up exactly. A sum of floats rounds, by more than alpha where data are large, and a rounded
sum can move by more than its terms did. So each entry is put on a grid of a power of two, the integers are
added, and their sum is held within what a float can say exactly. An entry that moves by alpha moves there by
at most alpha rounded up to the grid, a millionth more, which is what the noise is made for.

Where it is public that entries fall into **zones**, such as parts of a network that may have prices of their
own, the total of each zone is measured instead. An entry is in one zone, so one entry that moves by alpha
moves one of these totals by alpha, and all of them together cost what the one would. Their sum is less exact
than one total; what each zone needs, which is what prices are made of where zones differ, is far more so.

How epsilon is split is chosen from public data alone. More of it on the total makes the market's value exact,
which is what the leader feels; more on the entries makes those exact, which is what the network feels.
Neither can be said to matter more in general, so the split minimises the **product** of the two mean squared
errors, which does not depend on how they are weighed. Step 3b keeps to public bounds: an entry that noise of
scale b = alpha / ((1 - s) epsilon) has carried beyond one is put there. For an entry that is anywhere between
bounds, r = width / b apart, the mean squared error and that of the bias are

    entry = 2 b^2 (1 - (2 - (2 + r) exp(-r)) / r),     bias^2 = b^2 / 4 ((1 - exp(-2 r)) / r - 2 exp(-r)),

2 b^2 and 0 without bounds. Entries such as demands rise and fall together, so biases add up in the sum of the
entries, and with a share s of epsilon on the total, v = 2 (alpha / epsilon)^2, it is known as well as

    total = 1 / (s^2 / v + 1 / (sum (entry - bias^2) + (sum |bias|)^2)).

With many entries and wide bounds s is 1/2, and more where bounds know entries better than their noise does.
Of few entries the sum is good enough, and all of epsilon stays with them (s = 0): entries so noisy that most
of them end up at their bounds would make a market of their own. Zones leave the split as it is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from numbers import Integral

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import InputError
from ppsm.privacy.tuning import TUNING

# The grid is finer than alpha by at least this power of two.
_FINER = 20
# Beyond this many steps a float cannot tell neighbours apart; totals there are held at it.
_MOST_STEPS = 2**53
# A decimal of so many digits comes back unchanged from a float.
_DIGITS = 15


@dataclass(frozen=True)
class Split:
    """What of a release's epsilon the entries and their totals get; no ``total`` is measured at None."""

    entries: float
    total: float | None

    @classmethod
    def of(cls, epsilon: float, total_share: float) -> "Split":
        """Give a share of epsilon to the total; the two add up to epsilon, as printed, and not to more."""
        if isinstance(total_share, bool) or not 0.0 <= total_share < 1.0:
            raise InputError(
                f"the share of the total is {total_share}; expected a number from 0 (no total) to below 1."
            )
        if total_share == 0.0:
            return cls(epsilon, None)
        whole = Decimal(repr(epsilon))
        asked = Context(prec=6).multiply(whole, Decimal(repr(float(total_share))))
        rest = Context(prec=_DIGITS, rounding=ROUND_DOWN).subtract(whole, asked)
        if not (rest > 0 and float(asked) > 0):
            raise InputError(
                f"the share {total_share} of epsilon = {epsilon} leaves nothing to measure with; expected a "
                "share further from 0 and 1."
            )
        return cls(float(rest), float(asked))


def best_share(scale: float, lower: FloatArray, upper: FloatArray) -> float:
    """The share of epsilon for the total, for noise of ``scale = alpha / epsilon`` and public bounds."""
    return min(TUNING.shares, key=lambda share: _log_product(share, scale, lower, upper))


def _log_product(share: float, scale: float, lower: FloatArray, upper: FloatArray) -> float:
    """The logarithm of the mean squared errors of an entry and of the total, multiplied."""
    entries, biases = _held_at_bounds((upper - lower) * (1.0 - share) / scale)
    # In units of the noise's variance, of which the entries have more the more the total gets.
    entries, biases = 0.5 * entries / (1.0 - share) ** 2, 0.5 * biases / (1.0 - share) ** 2
    summed = float((entries - biases).sum() + np.sqrt(biases).sum() ** 2)
    least = float(np.finfo(np.float64).tiny)
    total = 1.0 / (share**2 + 1.0 / max(summed, least))
    return math.log(max(float(entries.mean()), least)) + math.log(total)


def _held_at_bounds(widths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean squared error and squared bias of noise of scale 1 that is held between bounds so far apart."""
    errors, biases = np.full(widths.size, 2.0), np.zeros(widths.size)
    # Next to nothing is left of differences of nearly equal numbers: there are series for narrow bounds.
    narrow = widths < TUNING.narrow
    wide = ~narrow & np.isfinite(widths)
    errors[narrow], biases[narrow] = widths[narrow] ** 2 / 3.0, widths[narrow] ** 2 / 12.0
    r, rest = widths[wide], np.exp(-widths[wide])
    errors[wide] = 2.0 * (1.0 - (2.0 - (2.0 + r) * rest) / r)
    biases[wide] = 0.25 * ((1.0 - rest**2) / r - 2.0 * rest)
    return errors, biases


def _step(alpha: float) -> Fraction:
    return Fraction(2) ** (math.frexp(alpha)[1] - 1 - _FINER)


def on_grid(distance: float, alpha: float) -> Fraction:
    """How far an entry that moves by ``distance`` moves at most on the grid of ``alpha``."""
    step = _step(alpha)
    return math.ceil(Fraction(distance) / step) * step


def zone_numbers(names: Sequence[str]) -> tuple[int, ...]:
    """The zones of entries that have names, counted as they occur; empty where all are in one."""
    number = {name: count for count, name in enumerate(dict.fromkeys(names))}
    return tuple(number[name] for name in names) if len(number) > 1 else ()


def checked_zones(zones: Sequence[int], dimension: int | None = None) -> tuple[int, ...]:
    """The zone of each of so many entries, counted from 0; empty where all are in one."""
    found = tuple(zones) if isinstance(zones, Iterable) else (zones,)
    if not found:
        return ()
    entries = len(found) if dimension is None else dimension
    whole = all(isinstance(zone, Integral) and not isinstance(zone, bool) for zone in found)
    # Not the range up to the largest: a file may say any number, and that many are no list to make.
    if len(found) != entries or not whole or sorted(set(found)) != list(range(len(set(found)))):
        raise InputError(
            f"the zones of {entries} entries cannot be used; expected for each entry the number of its zone, "
            "counted from 0 and without gaps, or none at all where all are in one."
        )
    return tuple(map(int, found)) if max(found) else ()


def zone_count(zones: Sequence[int]) -> int:
    """How many totals are measured."""
    return max(zones, default=0) + 1


def zone_members(zones: Sequence[int], dimension: int) -> FloatArray:
    """A row for each zone: 1 for its entries, 0 for all others."""
    of_entry = np.zeros(dimension, dtype=np.int64) if not zones else np.array(zones)
    return np.asarray(of_entry[None, :] == np.arange(zone_count(zones))[:, None], dtype=np.float64)


def exact_totals(values: FloatArray, alpha: float, zones: Sequence[int] = ()) -> FloatArray:
    """The sums of the entries of each zone on the grid of ``alpha``."""
    sums = [0] * zone_count(zones)
    for zone, steps in zip(zones or [0] * values.size, _steps(values, alpha), strict=True):
        sums[zone] += steps
    return np.array([_as_float(each, alpha) for each in sums])


def exact_distance(values: FloatArray, reference: FloatArray, alpha: float) -> float:
    """The L1 distance of all entries from a public vector, both on the grid of ``alpha``."""
    pairs = zip(_steps(values, alpha), _steps(reference, alpha), strict=True)
    return _as_float(sum(abs(one - other) for one, other in pairs), alpha)


def _steps(values: FloatArray, alpha: float) -> list[int]:
    """Each entry in steps of the grid."""
    step = _step(alpha)
    # Halves always up: rounded to even they would move two steps where the entry moves one.
    return [math.floor(Fraction(value) / step + Fraction(1, 2)) for value in values.tolist()]


def _as_float(steps: int, alpha: float) -> float:
    return float(max(-_MOST_STEPS, min(_MOST_STEPS, steps)) * _step(alpha))


def rounding(dimension: int, alpha: float) -> float:
    """How far a total of so many entries may be from its sum on the grid of ``alpha``."""
    return float(dimension * _step(alpha) / 2)


def float_above(number: Fraction) -> float:
    """The least float that is not below a number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
