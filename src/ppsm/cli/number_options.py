"""Numbers as people type them on the command line."""

import math

from ppsm.errors import InputError

# A bare number from here on may be meant in per cent: the paper's bands are 0.1, 1 and 10 %.
_AMBIGUOUS_FROM = 0.05


def fraction(text: str, name: str) -> float:
    """Read ``0.1%`` or ``0.001`` as 0.001; a bare number that may be either is refused."""
    bare = text.strip()
    is_percent = bare.endswith("%")
    try:
        number = float(bare.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{name} is '{text}'; expected a width such as 0.1% or 0.001.")
    if is_percent:
        return number / 100.0
    if number >= _AMBIGUOUS_FROM:
        raise InputError(
            f"{name} is '{text}', which may mean {number:g} % or {100 * number:g} %: write {number:g}% or "
            f"{100 * number:g}%."
        )
    return number


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Read a list such as ``10,100,1000``."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) and value > 0 for value in values):
        raise InputError(f"{name} is '{text}'; expected numbers above zero with commas, such as 10,100,1000.")
    return values
