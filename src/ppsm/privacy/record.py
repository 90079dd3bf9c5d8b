"""What was released: a frozen record, kept apart from what it costs (:mod:`ppsm.privacy.ledger.balance`)."""

import math
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from ppsm.errors import FileFormatError, InputError
from ppsm.privacy.measurements import checked_zones, on_grid

_MAX_TEXT = 200
_YEARS = range(1900, 3000)
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")


class Adjacency(StrEnum):
    """Which two data sets an observer must not be able to tell apart."""

    ONE_ENTRY = "one entry moves by at most alpha"


class NoiseSource(StrEnum):
    """Where the noise came from, and so whether the result is private at all."""

    SECURE = "secure"
    SEEDED = "seeded"


class Asked(StrEnum):
    """What was asked of the data."""

    ENTRIES = "the entries"
    DISTANCE = "the distance from a public vector"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseRecord:
    """What was released, without the values and without the cost.

    Attributes
    ----------
    mechanism
        The name of the mechanism, such as ``"laplace"``.
    alpha
        The distance within which one entry is hidden, in the unit of the data.
    epsilon
        The privacy loss claimed for two data sets that are adjacent at ``alpha``.
    asked
        What was asked: the entries, or their L1 distance from a public vector, which is one number.
    scale
        The scale of the noise on every entry, or on the distance; at least ``alpha / epsilon``.
    total_scale
        The scale of the noise on the total, or that of each zone, where that was measured too, ``None``
        otherwise; the losses of entries and totals add up to at most epsilon.
    zones
        The zone of each entry, counted from 0, where the totals of zones were measured; empty for one total.
    unit
        The unit of the data, and so of ``alpha`` and ``scale``.
    dimension
        The number of entries.
    dataset
        The data set that was read; losses add up within one data set.
    day
        Of which day the data are (ISO 8601), where the data set is a stream of days; windows count these.
    recipient
        To whom it goes, where recipients have budgets of their own; ``None``: to everybody.
    purpose
        Why it was released. It travels with the values, so it must not speak of them.
    source
        Where the noise came from. Only :attr:`NoiseSource.SECURE` makes a release private.
    time
        When the budget was charged (or, for seeded noise, when it was drawn), in UTC.
    seed
        The seed of seeded noise, ``None`` otherwise.
    """

    mechanism: str
    alpha: float
    epsilon: float
    scale: float
    unit: str
    dimension: int
    dataset: str
    purpose: str
    source: NoiseSource
    time: datetime
    seed: int | None = None
    adjacency: Adjacency = Adjacency.ONE_ENTRY
    total_scale: float | None = None
    asked: Asked = Asked.ENTRIES
    day: str | None = None
    recipient: str | None = None
    zones: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("alpha", "epsilon", "scale"):
            object.__setattr__(self, name, positive_number(getattr(self, name), name))
        if self.total_scale is not None:
            object.__setattr__(self, "total_scale", positive_number(self.total_scale, "total_scale"))
        if self.loss_over(self.alpha) > Fraction(repr(self.epsilon)):
            beside = "" if self.total_scale is None else f", and {self.total_scale} on the total,"
            raise InputError(
                f"Noise of scale {self.scale}{beside} loses more than epsilon = {self.epsilon} over alpha = "
                f"{self.alpha}: use a scale of at least alpha / epsilon."
            )
        if self.dimension < 1:
            raise InputError(f"dimension is {self.dimension}, expected at least one entry: pass data.")
        if self.asked is Asked.DISTANCE and self.total_scale is not None:
            raise InputError("a distance was asked for together with a total: ask for each by itself.")
        object.__setattr__(self, "zones", checked_zones(self.zones, self.dimension))
        if self.zones and self.total_scale is None:
            raise InputError("there are zones and no totals of them: measure the totals, or name no zones.")
        dataset_id(self.dataset)
        if self.day is not None:
            day_text(self.day)
        if self.recipient is not None:
            dataset_id(self.recipient, "recipient")
        one_line(self.unit, "unit")
        one_line(self.purpose, "purpose")
        if self.time.utcoffset() is None:
            raise InputError("time has no time zone, expected UTC: pass datetime.now(UTC).")
        try:
            utc_text(self.time)
        except OverflowError:
            raise InputError(
                "time lies outside the calendar, expected UTC: pass datetime.now(UTC)."
            ) from None
        if (self.seed is not None) != (self.source is NoiseSource.SEEDED):
            raise InputError(
                f"noise from the {self.source} source with seed {self.seed} contradicts itself: "
                "a seed belongs to seeded noise and to no other."
            )

    def loss_over(self, distance: float) -> Fraction:
        """The exact privacy loss over a movement of one entry; it moves the total of one zone."""
        moved = Fraction(distance) if self.asked is Asked.ENTRIES else on_grid(distance, self.alpha)
        loss = moved / Fraction(self.scale)
        if self.total_scale is not None:
            loss += on_grid(distance, self.alpha) / Fraction(self.total_scale)
        return loss

    @property
    def private(self) -> bool:
        """Whether the noise came from the secure source; seeded noise can be subtracted again."""
        return self.source is NoiseSource.SECURE

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON types."""
        return {
            "mechanism": self.mechanism,
            "private": self.private,
            "alpha": self.alpha,
            "epsilon": self.epsilon,
            "scale": self.scale,
            "total_scale": self.total_scale,
            "zones": list(self.zones),
            "unit": self.unit,
            "adjacency": str(self.adjacency),
            "asked": str(self.asked),
            "dimension": self.dimension,
            "dataset": self.dataset,
            "day": self.day,
            "recipient": self.recipient,
            "purpose": self.purpose,
            "source": str(self.source),
            "time": utc_text(self.time),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ReleaseRecord":
        """Read what :meth:`to_dict` wrote; a record that contradicts itself is refused."""
        try:
            record = cls(
                mechanism=one_line(fields["mechanism"], "mechanism"),
                alpha=fields["alpha"],
                epsilon=fields["epsilon"],
                scale=fields["scale"],
                total_scale=fields["total_scale"],
                # Ledgers outlive versions: records from before there were zones have none.
                zones=_listed(fields.get("zones", []), "zones"),
                unit=fields["unit"],
                adjacency=Adjacency(fields["adjacency"]),
                dimension=integer(fields["dimension"], "dimension"),
                asked=Asked(fields["asked"]),
                dataset=fields["dataset"],
                day=fields["day"],
                recipient=fields["recipient"],
                purpose=fields["purpose"],
                source=NoiseSource(fields["source"]),
                time=datetime.fromisoformat(fields["time"]),
                seed=None if fields["seed"] is None else integer(fields["seed"], "seed"),
            )
            claimed_private = fields["private"]
        except KeyError as error:
            raise FileFormatError(
                f"The release record has no field {error}: use one that ppsm wrote."
            ) from None
        except (TypeError, ValueError) as error:
            raise FileFormatError(
                f"The release record cannot be read ({error}): use one that ppsm wrote."
            ) from None
        if claimed_private is not record.private:
            raise FileFormatError(
                f"The release record says private={claimed_private} of noise from the {record.source} "
                f"source, expected {record.private}: the file was altered, so ask for it again."
            )
        return record


def _listed(value: object, what: str) -> tuple[Any, ...]:
    """What a list holds; texts and mappings could be read as one, and mean something else."""
    if not isinstance(value, list):
        raise TypeError(f"its {what} are no list")
    return tuple(value)


def positive_number(value: object, name: str) -> float:
    """Return the value as a finite float above zero, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} is of type {type(value).__name__}, expected a number above zero: pass one.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} is {number}, expected a finite number above zero: pass one.")
    return number


def dataset_id(value: object, what: str = "data set") -> str:
    """Return an identifier if it has the form that ledgers and command lines can carry."""
    if not isinstance(value, str) or len(value) > _MAX_TEXT or not _DATASET.fullmatch(value):
        raise InputError(
            f"The {what} id is not usable: expected up to {_MAX_TEXT} letters, digits and . _ : "
            "/ @ + - beginning with a letter or digit, such as 'gas-demand/2026-01-15'."
        )
    return value


def day_text(value: object) -> str:
    """Return a day as ISO 8601, or say what is wrong with it."""
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        raise InputError("The day of the data is no date, expected YYYY-MM-DD: pass one.") from None
    # The windows of a budget that hold the day begin before it and end after it; the calendar ends, too.
    if day.year not in _YEARS:
        raise InputError(
            f"The day of the data is in the year {day.year}, expected one from {_YEARS[0]} to {_YEARS[-1]}: "
            "pass the day that the data are of."
        )
    return day.isoformat()


def one_line(value: object, what: str) -> str:
    """Return a short printable line of text, or say why it is not one."""
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_TEXT or not value.isprintable():
        raise InputError(
            f"{what} is not usable: expected one printable line of 1 to {_MAX_TEXT} characters that says "
            "nothing about the values: pass such a text."
        )
    return value


def utc_text(time: datetime) -> str:
    """Return a time as ISO 8601 in UTC with microseconds: such texts sort like the times."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def integer(value: object, name: str) -> int:
    """Return the value as an integer, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(f"{name} is of type {type(value).__name__}, expected an integer: pass one.")
    return int(value)
