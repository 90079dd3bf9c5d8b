"""Numbers that must not be somewhere, searched for in every form in which they could be there.

As text with all digits or rounded, in any power of ten and with any separators; and as floats of four and
eight bytes of either order, plain, in hexadecimal and in base64.
"""

import base64
import re
import struct
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppsm.cases.schema import Case

# So many digits in a row are no accident in some megabytes.
_DIGITS = 10
# Nor is a number by itself that has so many.
_DIGITS_OF_A_WORD = 6
_DECIMALS = (0, 1, 2, 3, 4, 6)


class Content:
    """Bytes to search."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @cached_property
    def digits(self) -> bytes:
        """The text without what may stand between digits."""
        return re.sub(rb"[.,_' ]", b"", self.content)

    @cached_property
    def words(self) -> set[bytes]:
        """All numbers that stand by themselves, without separators of thousands."""
        return {
            word.replace(b",", b"") for word in re.findall(rb"(?<![\w.])[0-9][0-9,]*\.?[0-9]*", self.content)
        }

    def has(self, value: float) -> bool:
        """Whether a number is there in some form."""
        return (
            any(form in self.digits for form in _digits(value))
            or any(form in self.words for form in _words(value))
            or any(form in self.content for form in _packed(value))
        )


def found(content: bytes, values: Iterable[float]) -> list[float]:
    """Those of the numbers that are in the content; zero and infinity are everywhere and do not count."""
    searched = Content(content)
    numbers = {abs(float(value)) for value in values}
    return sorted(each for each in numbers if each and np.isfinite(each) and searched.has(each))


def _digits(value: float) -> set[bytes]:
    """The first digits, cut off and rounded."""
    long = f"{value:.16e}".replace(".", "")[:_DIGITS]
    rounded = f"{value:.{_DIGITS - 1}e}".replace(".", "")[:_DIGITS]
    return {long.encode(), rounded.encode()}


def _words(value: float) -> set[bytes]:
    forms = {f"{value:.{decimals}f}" for decimals in _DECIMALS} | {repr(value)}
    return {form.encode() for form in forms if len(form.strip("0.").replace(".", "")) >= _DIGITS_OF_A_WORD}


def _packed(value: float) -> Iterable[bytes]:
    with np.errstate(over="ignore"):
        small = float(np.float32(value))
    for code, number in (("<d", value), (">d", value), ("<f", small), (">f", small)):
        packed = struct.pack(code, number)
        yield packed
        if code.endswith("d"):
            yield packed.hex().encode()
            for before in range(3):  # where in a text of base64 the number begins
                text = base64.b64encode(bytes(before) + packed + bytes(2))
                yield text[-(-8 * before // 6) : (8 * (before + 8)) // 6]


def jittered(values: Any, seed: int) -> Any:
    """Numbers that nobody has by accident."""
    return values * (1.0 + 1e-3 * np.random.default_rng(seed).random(np.shape(values)))


_UNIT_DATA = {
    "fleets": ("no_load_usd_per_h", "start_usd", "ramp_mw_per_h", "unit_size_mw", "unit_min_mw"),
    "bids": ("size_mw", "price_usd_per_mwh"),
    "buses": ("load_mw",),
    "links": ("heat_rate_mmbtu_per_mwh",),
}


def with_secret_units(case: Case) -> Case:
    """A leader's case in which all sizes, costs, bids, loads and heat rates are numbers of their own."""
    # One factor for all of a fleet, whose bids and ramps must fit its size.
    factors = {row.fleet: float(jittered(1.0, index)) for index, row in enumerate(case.fleets)}

    def moved(table: str, index: int, row: Any) -> Any:
        factor = factors.get(getattr(row, "fleet", ""), float(jittered(1.0, index)))
        return replace(row, **{name: factor * getattr(row, name) for name in _UNIT_DATA[table]})

    tables: dict[str, Any] = {
        table: tuple(moved(table, index, row) for index, row in enumerate(getattr(case, table)))
        for table in _UNIT_DATA
    }
    return replace(case, **tables)


def unit_data(case: Case) -> ArrayLike:
    """All of these numbers."""
    return [
        getattr(row, name)
        for table, columns in _UNIT_DATA.items()
        for row in getattr(case, table)
        for name in columns
    ]


def unlinked_fleets(case: Case) -> list[str]:
    """Fleets that burn no gas of the market: not even their names concern the follower."""
    linked = {row.fleet for row in case.links}
    return [row.fleet for row in case.fleets if row.fleet not in linked]
