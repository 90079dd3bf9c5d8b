"""What the market itself publishes about the true data: an explicit act of the owner, on record.

Steps 2a and 3a of the mechanism may use a market result that is public anyway: the cost and the prices at
which the market cleared with the **true** data. It is not covered by the promise of a release, so it never
enters silently: the owner publishes it with :func:`publish_outcome`, the ledger notes it, and every dossier
of a release that used it says so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector, unique_names
from ppsm.errors import FileFormatError, InputError, PrivacyError
from ppsm.privacy.ledger import Ledger, now
from ppsm.privacy.record import dataset_id, one_line, utc_text
from ppsm.privacy.sensitive import Sensitive, apply_sealed_silently, refusal_of


@dataclass(frozen=True, eq=False)
class MarketResult:
    """What a cleared market makes public: a value, and a price for each name."""

    value: float
    prices: FloatArray
    price_names: tuple[str, ...]
    leader_cost: float

    def __post_init__(self) -> None:
        names = unique_names(self.price_names, len(self.price_names), "price", "published prices")
        object.__setattr__(self, "price_names", names)
        object.__setattr__(
            self, "prices", frozen_vector(self.prices, len(names), "the published price", names=names)
        )
        for what, number in (("value", self.value), ("leader's cost", self.leader_cost)):
            if not math.isfinite(number):
                raise InputError(f"the published {what} is {number}, expected a finite number.")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON types."""
        return {
            "value": float(self.value),
            "leader_cost": float(self.leader_cost),
            "price_names": list(self.price_names),
            "prices": self.prices.tolist(),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Publication:
    """A market result that is public, and how it became so.

    Attributes
    ----------
    result
        What was published.
    dataset, purpose, time
        Whose result, why, and when (UTC).
    entry_hash
        The hash of the ledger's entry about it; ``None`` for a simulated publication.
    """

    result: MarketResult
    dataset: str
    purpose: str
    time: str
    entry_hash: str | None

    @property
    def recorded(self) -> bool:
        """Whether a ledger knows of it."""
        return self.entry_hash is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the publication as plain JSON types."""
        return {
            "dataset": self.dataset,
            "purpose": self.purpose,
            "time": self.time,
            "entry_hash": self.entry_hash,
            "figures": self.result.to_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Publication":
        """Read what :meth:`to_dict` wrote."""
        try:
            result = fields["figures"]
            entry_hash = fields["entry_hash"]
            return cls(
                result=MarketResult(
                    value=float(result["value"]),
                    prices=_vector(result["prices"]),
                    price_names=tuple(result["price_names"]),
                    leader_cost=float(result["leader_cost"]),
                ),
                dataset=dataset_id(fields["dataset"]),
                purpose=one_line(fields["purpose"], "purpose"),
                time=one_line(fields["time"], "time"),
                entry_hash=None if entry_hash is None else one_line(entry_hash, "entry_hash"),
            )
        except KeyError as error:
            raise FileFormatError(f"The publication has no field {error}: use one that ppsm wrote.") from None
        except (TypeError, ValueError) as error:
            raise FileFormatError(
                f"The publication cannot be read ({error}): use one that ppsm wrote."
            ) from None


@runtime_checkable
class PublishingMarket(Protocol):
    """A market that publishes its result: what is asked of a coordination (:mod:`ppsm.mechanism`) here."""

    def market_result(self, demand: FloatArray) -> MarketResult:
        """Clear the market and return what it publishes."""

    def separate(self) -> "PublishingMarket":
        """The same market with solvers of its own: what it sees leaves no trace in this one."""


def publish_outcome(
    secret: Sensitive, market: PublishingMarket, *, ledger: Ledger, purpose: str
) -> Publication:
    """Clear the market with the true data and publish its result: an act of the owner, noted in the ledger.

    Parameters
    ----------
    secret
        The data. They are handed to ``market.separate().market_result`` and to nothing else.
    market
        The coordination on which the mechanism runs. It keeps nothing of the data: the market is cleared with
        solvers of its own, which are dropped afterwards.
    ledger
        Where the publication is noted, before it is returned.
    purpose
        One line on why the result is public.
    """
    if refusal := refusal_of(secret):
        del secret
        raise refusal
    one_line(purpose, "purpose")
    if not isinstance(ledger, Ledger):
        raise InputError(
            f"The ledger is of type {type(ledger).__name__}, expected Ledger: open one with Ledger(path)."
        )
    if not isinstance(market, PublishingMarket):
        raise InputError(
            f"The market is of type {type(market).__name__}, expected one with market_result and separate: "
            "pass the coordination itself, such as GameCoordination(game, unit=...)."
        )
    ledger.balance(secret.dataset)
    result = _cleared(secret, market)
    content = {"purpose": purpose, "figures": result.to_dict()}
    entry = ledger.note_publication(secret.dataset, content)
    return Publication(
        result=result,
        dataset=secret.dataset,
        purpose=purpose,
        time=entry.time,
        entry_hash=entry.hash,
    )


def _cleared(secret: Sensitive, market: PublishingMarket) -> MarketResult:
    result: object = apply_sealed_silently(
        secret,
        # Made in here, the solvers that see the data are gone afterwards, from tracebacks too.
        lambda values: market.separate().market_result(values),
        "The market could not be cleared with the true data (its reason is withheld, it may quote them): "
        "nothing was published, so clear it on the owner's side first.",
    )
    if not isinstance(result, MarketResult):
        kind = type(result).__name__
        del result  # it may be the true data, and tracebacks show locals
        raise PrivacyError(
            f"The market returned {kind}, expected MarketResult: nothing was published; mend the market."
        )
    return result


def simulated_publication(result: MarketResult, *, dataset: str) -> Publication:
    """A result of test data that are public from the start, for experiments; no private release takes it."""
    return Publication(
        result=result,
        dataset=dataset_id(dataset),
        purpose="simulation",
        time=utc_text(now()),
        entry_hash=None,
    )


def _vector(values: ArrayLike) -> FloatArray:
    if not isinstance(values, list):
        raise FileFormatError("The published prices are not a list: use a publication that ppsm wrote.")
    return frozen_vector(values, len(values), "the published price")
