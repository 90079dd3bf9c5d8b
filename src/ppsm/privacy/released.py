"""What may travel: noisy values with the record of how they came about."""

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector, unique_names
from ppsm.errors import FileFormatError, InputError, PrivacyError, SecretExposureError
from ppsm.files import of_format, strict_json, write_atomically
from ppsm.privacy.measurements import zone_count
from ppsm.privacy.record import ReleaseRecord, integer, one_line, positive_number
from ppsm.privacy.sensitive import Sensitive
from ppsm.views import View, entry_rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FORMAT = "ppsm-released/4"
NOT_PRIVATE = "NOT PRIVATE: the noise was drawn from a seed and can be subtracted"


@dataclass(frozen=True, slots=True)
class WindowSpend:
    """What a data set lost within so many days up to a release, that release included."""

    days: int
    spent: Decimal


@dataclass(frozen=True, slots=True)
class Account:
    """What a data set had lost by all its releases when one was charged, that one included.

    Attributes
    ----------
    alpha, unit
        The distance at which the data set's budget is kept.
    spent
        The loss of all releases up to this one, in epsilon at ``alpha``.
    windows
        The part of it that fell into the last days, months and years.
    """

    alpha: float
    unit: str
    spent: Decimal
    windows: tuple[WindowSpend, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain JSON types."""
        windows = [{"days": each.days, "spent": str(each.spent)} for each in self.windows]
        return {"alpha": self.alpha, "unit": self.unit, "spent": str(self.spent), "windows": windows}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Account":
        """Read what :meth:`to_dict` returned."""
        return cls(
            alpha=positive_number(fields["alpha"], "alpha"),
            unit=one_line(fields["unit"], "unit"),
            spent=_loss(fields["spent"], "spent"),
            windows=tuple(
                WindowSpend(integer(each["days"], "days"), _loss(each["spent"], "spent"))
                for each in fields["windows"]
            ),
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """The ledger's answer to a spend: where it stands in the chain, what was charged, what that makes.

    Attributes
    ----------
    ledger
        The public name of the ledger.
    sequence
        The number of the ledger entry.
    entry_hash
        The hash of that entry, the ledger's head when it was charged. It commits to the whole ledger before
        it, so every published release pins the history.
    charged
        The privacy loss that was charged, in epsilon at the distance of the account.
    account
        What the data set has lost with it.
    record
        The release as it stands in the ledger.
    """

    ledger: str
    sequence: int
    entry_hash: str
    charged: Decimal
    account: Account
    record: ReleaseRecord

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as plain JSON types, without the record."""
        return {
            "ledger": self.ledger,
            "sequence": self.sequence,
            "entry_hash": self.entry_hash,
            "charged": str(self.charged),
            "account": self.account.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], record: ReleaseRecord) -> "Receipt":
        """Read what :meth:`to_dict` returned, beside the record that it is for."""
        sequence = integer(fields["sequence"], "sequence")
        if not 1 <= sequence < 2**63:
            raise FileFormatError(
                f"The receipt is of entry {sequence}, expected a number above zero: use one that ppsm wrote."
            )
        return cls(
            ledger=one_line(fields["ledger"], "ledger"),
            sequence=sequence,
            entry_hash=one_line(fields["entry_hash"], "entry_hash"),
            charged=_loss(fields["charged"], "charged"),
            account=Account.from_dict(fields["account"]),
            record=record,
        )


def _loss(value: object, what: str) -> Decimal:
    number = Decimal(str(value))
    if not (number.is_finite() and number > 0):
        raise FileFormatError(
            f"The receipt says {what} {number}, expected a number above zero: use one that ppsm wrote."
        )
    return number


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, slots=True)
class Released:
    """Values that may leave, with entry names, unit and the record of their release.

    ``private`` repeats what the record claims. In the process that drew the noise it is a fact; read from a
    file it is worth what the file's origin is worth: :meth:`ppsm.privacy.Ledger.confirm` checks the record
    against the ledger that charged it.

    Attributes
    ----------
    values
        The noisy values, read-only.
    entry_names
        As in the secret.
    record
        How the values came about.
    receipt
        The ledger's receipt; ``None`` exactly when the noise was seeded.
    steps
        Names of the post-processing steps that the values went through since.
    totals
        The noisy total, or that of each zone, where they were measured too; empty otherwise, and in what was
        derived since.
    """

    values: FloatArray
    entry_names: tuple[str, ...]
    record: ReleaseRecord
    receipt: Receipt | None
    steps: tuple[str, ...] = ()
    totals: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.values, Sensitive):
            raise SecretExposureError(
                "Tried to wrap a Sensitive as Released: release it through a mechanism."
            )
        store = object.__setattr__
        store(
            self, "entry_names", unique_names(self.entry_names, self.record.dimension, "entry", "entry_names")
        )
        store(
            self,
            "values",
            frozen_vector(self.values, len(self.entry_names), "released values", names=self.entry_names),
        )
        for step in self.steps:
            one_line(step, "step")
        if not all(map(math.isfinite, self.totals)):
            raise InputError(f"the noisy totals are {list(self.totals)}; expected finite numbers.")
        measured = self.record.total_scale is not None and not self.steps
        if len(self.totals) != (zone_count(self.record.zones) if measured else 0):
            raise PrivacyError(
                "The totals and the record disagree on what was measured: release through "
                "LaplaceMechanism.release."
            )
        if (self.receipt is None) == self.private:
            raise PrivacyError(
                f"A release with private={self.private} was given {'no' if self.private else 'a'} ledger "
                "receipt, expected one exactly for private releases: release through "
                "LaplaceMechanism.release."
            )
        if self.receipt is not None and self.receipt.record != self.record:
            raise PrivacyError(
                "The ledger receipt is for another release: keep every receipt with its own values."
            )

    @property
    def unit(self) -> str:
        """The unit of every entry."""
        return self.record.unit

    @property
    def scale(self) -> float:
        """The scale of the noise that was added to each entry."""
        return self.record.scale

    @property
    def total_scale(self) -> float | None:
        """That of the noise on each total, if they were measured."""
        return self.record.total_scale

    @property
    def zones(self) -> tuple[int, ...]:
        """The zone of each entry, of whose totals; empty where there is one total or none."""
        return self.record.zones

    @property
    def private(self) -> bool:
        """Whether the record says that the noise came from the secure source."""
        return self.record.private

    @property
    def noise_content(self) -> bytes:
        """What came out of the noise, for the ledger's fingerprint."""
        return repr((self.values.tolist(), self.totals)).encode()

    def derive(self, values: ArrayLike, step: str) -> "Released":
        """Return new values computed from these and public data only: post-processing costs no privacy."""
        if isinstance(values, Sensitive):
            raise SecretExposureError(
                "Tried to derive released values from a Sensitive: use released data only."
            )
        vector = frozen_vector(
            values, len(self.entry_names), f"values of the step '{step}'", names=self.entry_names
        )
        return replace(self, values=vector, steps=(*self.steps, step), totals=())

    def __repr__(self) -> str:
        claim = f"alpha={self.record.alpha}, epsilon={self.record.epsilon}" if self.private else NOT_PRIVATE
        return (
            f"<Released: {len(self.entry_names)} entries in {self.unit} of '{self.record.dataset}', {claim}>"
        )

    def _repr_html_(self) -> str:
        headline = repr(self).strip("<>")
        return View(headline, entry_rows(self.entry_names, self.values), ("entry", self.unit)).html()

    def to_series(self) -> "pd.Series[float]":
        """The values as a pandas Series, labelled by the entries; ``attrs`` say of which release."""
        import pandas as pd

        series = pd.Series(self.values, index=pd.Index(self.entry_names, name="entry"), name=self.unit)
        series.attrs = {"dataset": self.record.dataset, "unit": self.unit, "private": self.private}
        return series

    def to_xarray(self) -> "xr.DataArray":
        """The same as an xarray DataArray; ``follower.labelled(released)`` has the shape of the model."""
        import xarray as xr

        series = self.to_series()
        coords = {"entry": list(self.entry_names)}
        return xr.DataArray(self.values, coords=coords, dims="entry", name="released", attrs=series.attrs)

    def to_csv(self, path: str | Path) -> None:
        """Write a table ``entry,value,unit,private``, whole or not at all; numbers keep all their digits."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(("entry", "value", "unit", "private"))
        for name, value in zip(self.entry_names, self.values.tolist(), strict=True):
            writer.writerow((name, repr(value), self.unit, str(self.private).lower()))
        write_atomically(Path(path), lines.getvalue())

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON types."""
        content: dict[str, Any] = {"format": FORMAT, "private": self.private}
        if not self.private:
            content["notice"] = NOT_PRIVATE
        content |= {
            "labels": list(self.entry_names),
            "values": self.values.tolist(),
            "totals": list(self.totals),
            "steps": list(self.steps),
            "record": self.record.to_dict(),
            "receipt": None if self.receipt is None else self.receipt.to_dict(),
        }
        return content

    def to_json(self) -> str:
        """Return the release as JSON text; numbers keep all their digits."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Released":
        """Read what :meth:`to_json` wrote; a text that contradicts itself is refused."""
        try:
            content = strict_json(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise FileFormatError(f"The release cannot be read ({error}): use one that ppsm wrote.") from None
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, fields: object) -> "Released":
        """Read what :meth:`to_dict` returned; fields that contradict each other are refused."""
        try:
            content = _content(fields)
            record = ReleaseRecord.from_dict(content["record"])
            return cls(
                values=content["values"],
                entry_names=_texts(content["labels"], "labels"),
                record=record,
                receipt=None if content["receipt"] is None else Receipt.from_dict(content["receipt"], record),
                steps=_texts(content["steps"], "steps"),
                totals=_numbers(content["totals"], "totals"),
            )
        except KeyError as error:
            raise FileFormatError(f"The release has no field {error}: use one that ppsm wrote.") from None
        except (FileFormatError, PrivacyError):
            raise
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise FileFormatError(f"The release cannot be read ({error}): use one that ppsm wrote.") from None


def _content(fields: object) -> dict[str, Any]:
    content = of_format(fields, FORMAT, "The release")
    if content["private"] is not content["record"]["private"]:
        raise FileFormatError(
            "The release and its record disagree on whether it is private: the file was altered, so ask for "
            "it again."
        )
    return content


def _texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise FileFormatError(f"The {what} of the release are not a list of texts: use one that ppsm wrote.")
    return tuple(value)


def _numbers(value: object, what: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(type(each) in (int, float) for each in value):
        raise FileFormatError(
            f"The {what} of the release are not a list of numbers: use one that ppsm wrote."
        )
    return tuple(map(float, value))


def require_released(value: object, what: str = "data", *, private: bool = False) -> Released:
    """Return the value if it is :class:`Released`: the runtime guard of every step after the noise.

    Parameters
    ----------
    value
        What a step was given.
    what
        How to call it in an error.
    private
        Whether seeded noise is refused too; set it wherever data leave for another party.
    """
    if isinstance(value, Sensitive):
        raise SecretExposureError(
            f"The {what} are still secret (Sensitive), expected Released: pass the result of a mechanism's "
            "release."
        )
    if not isinstance(value, Released):
        kind = type(value).__name__
        del value  # it may be the raw secret, passed by mistake, and tracebacks show locals
        raise InputError(f"The {what} are of type {kind}, expected Released: pass the result of a release.")
    if private and not value.private:
        raise PrivacyError(
            f"The {what} come with seeded noise and are not private, expected a private release: "
            "use LaplaceMechanism.release with a ledger."
        )
    return value
