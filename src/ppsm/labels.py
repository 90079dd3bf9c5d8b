"""Data that bring labels (pandas, xarray, mappings, releases) are aligned by name or refused.

An entry of ours has one name, such as ``demand[north, 3]``; data name it in full or by what stands in the
brackets. Labels of several parts (a table of zone x hour, a MultiIndex) may come in any order of the parts.
Numbers without labels, such as a list or an array, go by position.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ppsm.errors import InputError

_LISTED = 3
_ZONE = "+00:00"
# A date and time as files and other libraries write it.
_WRITTEN_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::00(?:\.0+)?)?")


class NamedVector(Protocol):
    """A vector with a name for each entry, such as a release."""

    @property
    def values(self) -> Any:
        """The numbers."""

    @property
    def entry_names(self) -> Sequence[str]:
        """One name for each."""


# What may stand for a vector whose entries have names: numbers in their order, or data with labels.
VectorLike = ArrayLike | Mapping[Any, Any] | NamedVector


@dataclass(frozen=True)
class Labelled:
    """Numbers, a label of one or more parts for each, and what the parts are called (None: nothing)."""

    labels: Sequence[tuple[str, ...]]
    values: Sequence[Any] | np.ndarray
    axes: tuple[str | None, ...] = (None,)

    @property
    def counted(self) -> bool:
        """Whether the labels only count the entries, as pandas does for data that have none."""
        return list(self.labels) == [(str(position),) for position in range(len(self.labels))]


def label_text(label: object) -> str:
    """A label as people write it: ``2026-01-15 08:00`` for a date, ``3`` for 3.0.

    A date of a time zone is written in that of Greenwich, ``2026-01-15 07:00+00:00``: it is no date without.
    """
    moment = label.to_datetime64() if hasattr(label, "to_datetime64") else label
    if isinstance(moment, np.datetime64) and not np.isnat(moment):
        text = str(moment.astype("datetime64[ns]")).replace("T", " ")
        zone = "" if getattr(label, "tzinfo", None) is None else _ZONE
        return text.removesuffix(".000000000").removesuffix(":00") + zone
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    written = _WRITTEN_MOMENT.fullmatch(text := str(label))
    return f"{written[1]} {written[2]}" if written else text


def entry_name(block: str, parts: Sequence[object]) -> str:
    """The name of an entry of a block, such as ``demand[north, 3]``."""
    return f"{block}[{', '.join(map(label_text, parts))}]" if len(parts) else block


def short_name(name: str) -> str:
    """What stands in the brackets of an entry's name; the name itself where it has none."""
    before, bracket, inside = name.partition("[")
    return inside[:-1] if before and bracket and inside.endswith("]") else name


def labelled(values: object) -> Labelled | None:
    """The labels that data come with; None for numbers without any."""
    # Who passes an object of these libraries has loaded them; nobody else waits for them.
    if "pandas" in sys.modules:
        import pandas as pd

        if isinstance(values, pd.Series):
            return _of_index(values.index, values.to_numpy())
        if isinstance(values, pd.DataFrame):
            return _of_frame(values)
    if "xarray" in sys.modules:
        import xarray as xr

        if isinstance(values, xr.DataArray):
            return _of_array(values)
    if isinstance(values, Mapping):
        return _of_mapping(values)
    if hasattr(values, "entry_names") and hasattr(values, "values"):
        return Labelled([(str(name),) for name in values.entry_names], values.values)
    return None


def _parts(label: object) -> tuple[str, ...]:
    return tuple(map(label_text, label)) if isinstance(label, tuple) else (label_text(label),)


def _of_index(index: Any, values: np.ndarray) -> Labelled:
    return Labelled([_parts(label) for label in index], values, tuple(index.names))


def _of_frame(frame: Any) -> Labelled:
    labels = [(*_parts(row), *_parts(column)) for row in frame.index for column in frame.columns]
    return Labelled(labels, frame.to_numpy().ravel(), (*frame.index.names, *frame.columns.names))


def _of_array(array: Any) -> Labelled | None:
    if not array.dims:
        return None
    ticks = [
        [label_text(tick) for tick in (array.coords[dim].values if dim in array.coords else range(size))]
        for dim, size in array.sizes.items()
    ]
    labels = [
        tuple(axis[place] for axis, place in zip(ticks, places, strict=True))
        for places in np.ndindex(array.shape)
    ]
    return Labelled(labels, array.values.ravel(), tuple(map(str, array.dims)))


def _of_mapping(given: Mapping[Any, Any]) -> Labelled:
    """Numbers by label; or labelled data by the name of their block, as in an xarray Dataset."""
    labels: list[tuple[str, ...]] = []
    values: list[Any] = []
    for key, value in given.items():
        inner = labelled(value)
        if inner is None:
            labels.append(_parts(key))
            entry = math.nan if np.ma.is_masked(value) else value  # what it hides is no number
            values.append(np.asarray(entry)[()] if getattr(entry, "ndim", None) == 0 else entry)
        else:
            labels.extend((str(key), *parts) for parts in inner.labels)
            values.extend(inner.values)
    widths = set(map(len, labels))
    if len(widths) != 1:
        return Labelled([(", ".join(parts),) for parts in labels], values)
    return Labelled(labels, values, (None,) * widths.pop())


def aligned(
    values: Any, names: Sequence[str], what: str, *, axes: Sequence[str] = (), secret: bool = False
) -> Any:
    """The numbers in the order of the names; what has no labels is returned as it is.

    ``axes`` are what the parts of a name are called, in their order, where that is known: they settle which
    part of a label is which. Labels that came with a ``secret`` are not quoted.
    """
    found = labelled(values)
    if found is None:
        return values
    places = _places(names)
    orders = [order for order in _orders(found, axes) if _covers(found, order, places, len(names))]
    if not orders:
        raise InputError(_mismatch(found, names, places, what, secret=secret))
    arrangements = {tuple(places[_joined(label, order)] for label in found.labels): order for order in orders}
    if len(arrangements) > 1:
        raise InputError(
            f"{what} has labels that fit in more than one order of rows and columns: name the axes"
            f"{' ' + ' and '.join(axes) if axes else ''}, or label each entry by its full name."
        )
    position = np.empty(len(names), dtype=np.int64)
    position[list(next(iter(arrangements)))] = np.arange(len(names))
    # Each of its own type: as objects dates would be whole numbers.
    return [found.values[place] for place in position.tolist()]


def unlabelled(values: Any, what: str) -> Any:
    """The values, where nothing says in which order labels would belong: labels are refused then."""
    found = labelled(values)
    if found is not None and not found.counted:
        raise InputError(
            f"{what} comes with labels, and nothing here has names to hold them against: bring it into the "
            "right order and pass .to_numpy()."
        )
    return values


def _places(names: Sequence[str]) -> dict[str, int]:
    """The position of each name: in full, with its block as a part, and by its brackets where these do."""
    short = Counter(map(short_name, names))
    places = {short_name(name): place for place, name in enumerate(names) if short[short_name(name)] == 1}
    for place, name in enumerate(names):
        places[name] = place
        places[name.removesuffix("]").replace("[", ", ", 1)] = place
    return places


def _orders(found: Labelled, axes: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """In which orders the parts of the labels may be read; where all are called by name, in one."""
    width = len(found.axes)
    if width == len(axes) and set(found.axes) == set(axes) and len(set(axes)) == width:
        yield tuple(found.axes.index(axis) for axis in axes)
        return
    yield from permutations(range(width))
    for part in range(width if width > 1 else 0):
        # A table of one column need not have the column's heading in its names.
        if len({label[part] for label in found.labels}) == 1:
            yield from permutations([other for other in range(width) if other != part])


def _joined(label: tuple[str, ...], order: tuple[int, ...]) -> str:
    return ", ".join(label[part] for part in order)


def _covers(found: Labelled, order: tuple[int, ...], places: Mapping[str, int], count: int) -> bool:
    """Whether each name has exactly one value in this order of the parts."""
    seen = {places.get(_joined(label, order), -1) for label in found.labels}
    return len(found.labels) == count and len(seen) == count and -1 not in seen


def _mismatch(
    found: Labelled, names: Sequence[str], places: Mapping[str, int], what: str, *, secret: bool
) -> str:
    """What is wrong with the labels, in the order of the parts that fits best."""
    if found.counted and len(found.labels) == len(names):
        return (
            f"{what} has no labels (they only count 0, 1, ...), expected {_quoted(names)}: set them as its "
            "index, or pass .to_numpy() where the order is right."
        )
    width = len(found.axes)
    best = max(
        permutations(range(width)),
        key=lambda order: sum(_joined(label, order) in places for label in found.labels),
    )
    given = [_joined(label, best) for label in found.labels]
    strange = [label for label in given if label not in places]
    counts = Counter(places[label] for label in given if label in places)
    zoned = [label for label in strange if label.endswith(_ZONE)]
    if zoned and not counts:
        such = "" if secret else f", such as '{zoned[0]}'"
        return (
            f"{what} has times of a time zone{such}, expected {_quoted(names)}: bring them to this clock by "
            ".tz_convert, then .tz_localize(None)."
        )
    absent = [name for place, name in enumerate(names) if place not in counts]
    twice = [names[place] for place, times in counts.items() if times > 1]
    findings = []
    if strange:
        listed = f"{len(strange)} of its labels (withheld)" if secret else _quoted(strange)
        findings.append(f"{listed} {'is' if len(strange) == 1 and not secret else 'are'} no entry of it")
    if absent:
        findings.append(f"{_quoted(absent)} {'has' if len(absent) == 1 else 'have'} no value")
    if twice:
        findings.append(f"{_quoted(twice)} {'has' if len(twice) == 1 else 'have'} more than one value")
    if not findings:
        axes = " and ".join(f"'{axis}'" for axis in found.axes)
        return f"{what} has labels that fit, under the names of other axes: rename {axes}."
    each = "entry" if absent else f"of {_quoted(names)}"
    return f"{what} has other labels than expected: {'; '.join(findings)}; give one value for each {each}."


def _quoted(names: Sequence[str]) -> str:
    listed = ", ".join(f"'{short_name(name)}'" for name in names[:_LISTED])
    more = len(names) - _LISTED
    return f"{listed} and {more} more" if more > 0 else listed
