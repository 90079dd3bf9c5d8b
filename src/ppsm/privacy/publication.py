"""Figures of the true data that the market itself has published: handed in by the owner, noted in the ledger.

Steps 2a and 3a of the mechanism may use a market result that is public anyway: the cost and the prices at
which the market cleared with the **true** data. It is not covered by the promise of a release, so it never
enters silently. The owner hands in what was *published*, rounded as the market rounds it, with its day and
where it stands, as a file (:meth:`PublishedFigures.read`) or in Python; :func:`note_publication` notes it in
the ledger; and every statement of a release that used it begins with it. No release computes such figures.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray, frozen_vector, unique_names
from ppsm.errors import FileFormatError, InputError
from ppsm.files import of_format, strict_json
from ppsm.privacy.ledger.reader import LedgerReader
from ppsm.privacy.ledger.roles import Ledger, now
from ppsm.privacy.provenance import Provenance, Taint
from ppsm.privacy.record import dataset_id, one_line, positive_number, utc_text

FORMAT = "ppsm-published/1"
_FIELDS = (
    "format",
    "day",
    "source",
    "value_step",
    "price_step",
    "decision_step",
    "value",
    "leader_cost",
    "prices",
    "decision",
)
_SIMULATED = "simulated, by nobody"


@dataclass(frozen=True, eq=False)
class MarketResult:
    """What a cleared market makes public: a value, and a price for each name.

    ``felt`` is the leader's decision at which it cleared, as far as the market felt it, where that is public
    too: value and prices are figures of that decision, and of another one only as far as it is like it.
    ``price_step`` and ``value_step`` are what prices and the two costs are rounded to, 0 where they are not.
    """

    value: float
    prices: FloatArray
    price_names: tuple[str, ...]
    leader_cost: float
    felt: FloatArray | None = None
    felt_names: tuple[str, ...] = ()
    price_step: float = 0.0
    value_step: float = 0.0

    def __post_init__(self) -> None:
        names = unique_names(self.price_names, len(self.price_names), "price", "published prices")
        object.__setattr__(self, "price_names", names)
        object.__setattr__(
            self, "prices", frozen_vector(self.prices, len(names), "the published price", names=names)
        )
        if self.felt is not None:
            felt_names = unique_names(self.felt_names, len(self.felt_names), "name", "published decisions")
            object.__setattr__(self, "felt_names", felt_names)
            object.__setattr__(
                self,
                "felt",
                frozen_vector(self.felt, len(felt_names), "the published decision", names=felt_names),
            )
        for what, number in (("value", self.value), ("leader's cost", self.leader_cost)):
            if not math.isfinite(number):
                raise InputError(f"the published {what} is {number}, expected a finite number.")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON types."""
        felt = {} if self.felt is None else {"decision": _named(self.felt_names, self.felt)}
        steps = {"price_step": float(self.price_step), "value_step": float(self.value_step)}
        return {
            "value": float(self.value),
            "leader_cost": float(self.leader_cost),
            "prices": _named(self.price_names, self.prices),
            **{name: step for name, step in steps.items() if step},
            **felt,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "MarketResult":
        """Read what :meth:`to_dict` returned."""
        prices = {str(name): _filled_in(price, name) for name, price in fields["prices"].items()}
        felt = {str(name): _filled_in(amount, name) for name, amount in fields.get("decision", {}).items()}
        return cls(
            _filled_in(fields["value"], "value"),
            _vector(prices, "the published price"),
            tuple(prices),
            _filled_in(fields["leader_cost"], "leader_cost"),
            _vector(felt, "the published decision") if felt else None,
            tuple(felt),
            _filled_in(fields.get("price_step", 0.0), "price_step"),
            _filled_in(fields.get("value_step", 0.0), "value_step"),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedFigures:
    """A market result as the market published it.

    Attributes
    ----------
    result
        The figures.
    day, source
        Of which day they are (ISO 8601), and where they stand, in one line.
    value_step, price_step, decision_step
        What value and cost, prices, and the leader's decision (where it is published) are rounded to. Each
        figure must be a multiple of its step: figures with all digits of a computation let whoever knows all
        entries but one compute that one exactly.
    """

    result: MarketResult
    day: str
    source: str
    value_step: float
    price_step: float
    decision_step: float | None = None

    def __post_init__(self) -> None:
        one_line(self.source, "source")
        try:
            date.fromisoformat(self.day)
        except (TypeError, ValueError):
            raise InputError("the day of the published figures is no date, expected YYYY-MM-DD.") from None
        result = self.result
        if result.felt is not None and self.decision_step is None:
            raise InputError(
                "a decision is published without decision_step, expected what it is rounded to: add it."
            )
        for what, step, numbers in (
            ("value_step", self.value_step, (result.value, result.leader_cost)),
            ("price_step", self.price_step, tuple(map(float, result.prices))),
            ("decision_step", self.decision_step or 1.0, () if result.felt is None else tuple(result.felt)),
        ):
            positive_number(step, what)
            if not all(_is_multiple(number, step) for number in numbers):
                raise InputError(
                    f"a published figure is no multiple of {what} = {step:g}, expected figures rounded as "
                    "the market publishes them: round them, or say to what they are rounded."
                )
        object.__setattr__(
            self, "result", replace(result, price_step=self.price_step, value_step=self.value_step)
        )

    @classmethod
    def rounded(
        cls,
        result: MarketResult,
        *,
        day: str,
        source: str,
        value_step: float,
        price_step: float,
        decision_step: float | None = None,
    ) -> "PublishedFigures":
        """What a market with this result would publish; its decision only where that has a step."""
        felt = None if decision_step is None or result.felt is None else result.felt
        return cls(
            result=MarketResult(
                _rounded(result.value, value_step),
                np.array([_rounded(each, price_step) for each in result.prices]),
                result.price_names,
                _rounded(result.leader_cost, value_step),
                None if felt is None else np.array([_rounded(each, decision_step or 1.0) for each in felt]),
                () if felt is None else result.felt_names,
            ),
            day=day,
            source=source,
            value_step=value_step,
            price_step=price_step,
            decision_step=None if felt is None else decision_step,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types."""
        decision_step = {} if self.decision_step is None else {"decision_step": self.decision_step}
        return {
            "format": FORMAT,
            "day": self.day,
            "source": self.source,
            "value_step": self.value_step,
            "price_step": self.price_step,
            **decision_step,
            **self.result.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: object) -> "PublishedFigures":
        """Read what :meth:`to_dict` returned."""
        try:
            content = of_format(fields, FORMAT, "The file of published figures")
            _insist_on_fields(content)
            return cls(
                result=MarketResult.from_dict(content),
                day=_text(content["day"], "day"),
                source=_text(content["source"], "source"),
                value_step=_filled_in(content["value_step"], "value_step"),
                price_step=_filled_in(content["price_step"], "price_step"),
                decision_step=content.get("decision_step"),
            )
        except KeyError as error:
            raise FileFormatError(f"The published figures have no field {error}: add it.") from None
        except (TypeError, AttributeError) as error:
            raise FileFormatError(f"The published figures cannot be read ({error}): mend the file.") from None

    @classmethod
    def read(cls, path: str | Path) -> "PublishedFigures":
        """Read a JSON file of published figures."""
        try:
            content = strict_json(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FileFormatError(f"{path} cannot be read ({error.strerror or error}): check it.") from None
        except ValueError as error:
            raise FileFormatError(f"{path} is not JSON ({error}): mend the file.") from None
        return cls.from_dict(content)


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """Published figures of a data set, and the ledger's note of them.

    Attributes
    ----------
    result, day, source, rounding
        What was published, of which day, where, and to what it is rounded in words.
    dataset, time
        Of which data, and when the ledger noted it (UTC).
    entry_hash
        The hash of the ledger's entry about it; ``None`` for a simulated publication.
    """

    result: MarketResult
    day: str
    source: str
    rounding: str
    dataset: str
    time: str
    entry_hash: str | None

    @property
    def recorded(self) -> bool:
        """Whether it says that a ledger knows of it; :meth:`noted_by` asks the ledger."""
        return self.entry_hash is not None

    @property
    def provenance(self) -> Provenance:
        """Figures that no ledger has noted taint what rests on them."""
        if self.entry_hash is None:
            return Provenance(source=self.source, taints=frozenset({Taint.UNPUBLISHED}))
        return Provenance(source=self.source, entries=(self.entry_hash,))

    def noted_by(self, ledger: LedgerReader) -> bool:
        """Whether this very ledger noted exactly these figures."""
        return self.entry_hash is not None and ledger.confirm_publication(self.entry_hash, self.noted)

    @property
    def noted(self) -> dict[str, Any]:
        """What the ledger's entry holds."""
        return {
            "dataset": self.dataset,
            "day": self.day,
            "source": self.source,
            "rounding": self.rounding,
            "figures": self.result.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the publication as plain JSON types."""
        return {**self.noted, "time": self.time, "entry_hash": self.entry_hash}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Publication":
        """Read what :meth:`to_dict` wrote."""
        try:
            entry_hash = fields["entry_hash"]
            return cls(
                result=MarketResult.from_dict(fields["figures"]),
                day=one_line(fields["day"], "day"),
                source=one_line(fields["source"], "source"),
                rounding=one_line(fields["rounding"], "rounding"),
                dataset=dataset_id(fields["dataset"]),
                time=one_line(fields["time"], "time"),
                entry_hash=None if entry_hash is None else one_line(entry_hash, "entry_hash"),
            )
        except KeyError as error:
            raise FileFormatError(f"The publication has no field {error}: use one that ppsm wrote.") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(
                f"The publication cannot be read ({error}): use one that ppsm wrote."
            ) from None


def publication_template(price_names: Sequence[str]) -> dict[str, Any]:
    """What :meth:`PublishedFigures.read` reads, without the figures: to be filled in where null stands."""
    return {
        "format": FORMAT,
        "day": None,
        "source": None,
        "value_step": None,
        "price_step": None,
        "value": None,
        "leader_cost": None,
        "prices": dict.fromkeys(price_names),
    }


def note_publication(published: PublishedFigures, *, dataset: str, ledger: Ledger) -> Publication:
    """Note in the ledger that figures of the true data are public: an act of the owner, dated and kept.

    Parameters
    ----------
    published
        What the market published. Nothing here looks at the secret.
    dataset
        The data that the figures are of.
    ledger
        Where it is noted, before it is returned.
    """
    if not isinstance(ledger, Ledger):
        raise InputError(
            f"The ledger is of type {type(ledger).__name__}, expected Ledger: open one with Ledger(path)."
        )
    if not isinstance(published, PublishedFigures):
        raise InputError(
            f"The figures are of type {type(published).__name__}, expected PublishedFigures: read them from "
            "where the market publishes them."
        )
    draft = Publication(
        result=published.result,
        day=published.day,
        source=published.source,
        rounding=_rounding(published),
        dataset=dataset_id(dataset),
        time=utc_text(now()),
        entry_hash=None,
    )
    entry = ledger.note_publication(dataset, draft.noted)
    return replace(draft, time=entry.time, entry_hash=entry.hash)


def simulated_publication(result: MarketResult, *, dataset: str) -> Publication:
    """A result of test data that are public from the start, for experiments; no private release takes it."""
    time = utc_text(now())
    return Publication(
        result=result,
        day=time[:10],
        source=_SIMULATED,
        rounding="not rounded",
        dataset=dataset_id(dataset),
        time=time,
        entry_hash=None,
    )


def _insist_on_fields(content: Mapping[str, Any]) -> None:
    """Refuse what would be left out in silence, such as a decision under another name."""
    for name in content:
        if name not in _FIELDS:
            raise FileFormatError(
                f"The published figures have a field '{name}', expected some of {', '.join(_FIELDS)}: "
                "correct its name or remove it."
            )
    for name in ("prices", "decision"):
        if not isinstance(content.get(name, {}), Mapping):
            raise FileFormatError(
                f"The published '{name}' are no object of names and numbers, expected the form that "
                "'ppsm case template CASE --published' prints: mend the file."
            )


def _filled_in(figure: object, name: str) -> float:
    """A figure of a file as a number; null where nobody has written one."""
    if figure is None:
        raise FileFormatError(f"The published figures have no number for '{name}': fill it in.")
    if isinstance(figure, bool) or not isinstance(figure, int | float):
        raise FileFormatError(f"The published '{name}' is {figure!r}, expected a number: mend the file.")
    return float(figure)


def _text(words: object, name: str) -> str:
    if not isinstance(words, str):
        raise FileFormatError(f"The published figures have no text for '{name}': fill it in.")
    return words


def _is_multiple(number: float, step: float) -> bool:
    """Whether a number, as it prints, is a multiple of a step, as that prints."""
    return (Fraction(Decimal(repr(float(number)))) / Fraction(Decimal(repr(float(step))))).denominator == 1


def _rounded(number: float, step: float) -> float:
    unit = Fraction(Decimal(repr(float(step))))
    return float(round(Fraction(Decimal(repr(float(number)))) / unit) * unit)


def _rounding(published: PublishedFigures) -> str:
    text = f"cost rounded to {published.value_step:g}, prices to {published.price_step:g}"
    return text if published.decision_step is None else f"{text}, decision to {published.decision_step:g}"


def _named(names: tuple[str, ...], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _vector(named: Mapping[str, float], what: str) -> FloatArray:
    return frozen_vector(list(named.values()), len(named), what)
