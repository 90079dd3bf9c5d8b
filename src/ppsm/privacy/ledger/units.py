"""Units of energy: a budget granted in kWh covers data in MWh, at the same distance.

Other units stand for themselves: a distance in containers says nothing about data in tonnes.
"""

import math
from decimal import Decimal
from fractions import Fraction

_WATT_HOURS = {"Wh": 1, "kWh": 10**3, "MWh": 10**6, "GWh": 10**9, "TWh": 10**12}


def same_distance(alpha: float, unit: str, other: float, other_unit: str) -> bool:
    """Tell whether two distances are the same one, written in this unit or that."""
    factor = ratio(other_unit, unit)
    return factor is not None and _exact(alpha) == _exact(other) * factor


def converted(alpha: float, unit: str, wanted: str) -> float | None:
    """Return a distance in another unit, never rounded down; None where the units have nothing in common."""
    factor = ratio(unit, wanted)
    return None if factor is None else _float_above(_exact(alpha) * factor)


def ratio(unit: str, wanted: str) -> Fraction | None:
    """Return how many of the wanted unit one unit is."""
    if unit == wanted:
        return Fraction(1)
    if unit in _WATT_HOURS and wanted in _WATT_HOURS:
        return Fraction(_WATT_HOURS[unit], _WATT_HOURS[wanted])
    return None


def _exact(number: float) -> Fraction:
    """The decimal that a person wrote, which is what a float prints as."""
    return Fraction(Decimal(repr(number)))


def _float_above(number: Fraction) -> float:
    """The float that prints as this number, else the least one that neither is nor prints below it."""
    near = float(number)
    not_below = min(_exact(near), Fraction(near)) >= number
    return near if not_below or _exact(near) == number else math.nextafter(near, math.inf)
