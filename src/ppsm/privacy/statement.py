"""What a release promises, in words that a lawyer can read and an attacker cannot argue with.

The statement is about the *data set*, not about one command: it counts every release that the ledger has
charged so far, this one included. Its figures:

* **Odds.** If the data may be one of two vectors ``x`` and ``x'``, no observation of all these releases
  multiplies the odds between them by more than ``exp(L)``, where ``L = T * sum_i |x_i - x'_i| / alpha`` and
  ``T`` is the total spent at the distance ``alpha``. One entry that moves by at most ``alpha`` is ``L = T``;
  k entries that move by at most ``alpha`` each, or one that moves by ``k alpha``, is ``L = k T``. A total
  that moves by ``k alpha`` moves its entries by at least as much in sum, so it is hidden no better.
* **Intervals.** The noise on an entry is Laplace of the record's scale. A total that was measured, of all
  entries or of a zone, has Laplace noise of its own scale; the sum of n entries, or of the totals of n zones,
  has the sum of n such variables. The intervals hold before anything is repaired, and whoever reads the
  release can compute them.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.ledger.exact import exact_difference, exact_multiple, in_words
from ppsm.privacy.measurements import rounding, zone_count
from ppsm.privacy.publication import Publication
from ppsm.privacy.record import ReleaseRecord
from ppsm.privacy.released import NOT_PRIVATE, Receipt, Released

PROBABILITY = 0.95
# Movements that the statement tells the loss for, as multiples of alpha.
MULTIPLES = (2, 5, 10)
_THREE_DIGITS_UP = Context(prec=3, rounding=ROUND_CEILING)
# Beyond this the factor of odds is no float, and no protection.
_LARGEST_EXPONENT = 700


def odds(loss: Decimal | float, times: int = 1) -> str:
    """The factor by which odds may change at so many times a privacy loss, in words and rounded up."""
    exponent = float(times * Fraction(loss))
    if exponent > _LARGEST_EXPONENT:
        return f"more than 10^{int(exponent / math.log(10.0)):d}"
    # No odds change by more than this: to the nearest of three digits, 22,026 would be 22,000.
    return f"{float(_THREE_DIGITS_UP.create_decimal_from_float(math.exp(exponent))):.3g}"


def headline(released: Released) -> str:
    """A release in one clause: private or not, at which loss, and what that makes in all."""
    record, receipt = released.record, released.receipt
    if receipt is None:
        return NOT_PRIVATE
    account = receipt.account
    return (
        f"PRIVATE, epsilon = {record.epsilon:g} at alpha = {record.alpha:g} {record.unit}; all releases so "
        f"far: {in_words(account.spent)} at {account.alpha:g} {account.unit}"
    )


@dataclass(frozen=True)
class Interval:
    """Half-widths of what the noise stays within, with a probability, in the unit of the data."""

    probability: float
    entry: float
    every_entry: float
    total: float
    zone: float | None = None

    @classmethod
    def of(cls, record: ReleaseRecord, probability: float = PROBABILITY) -> "Interval":
        """The intervals of a release: one entry, all at once, their total as it is known best, one zone's."""
        noise = LaplaceMechanism.of_scale(record.scale)
        return cls(
            probability=probability,
            entry=noise.error_within(probability),
            # n independent entries stay within w together with probability (1 - exp(-w / b))^n.
            every_entry=noise.error_within(probability ** (1.0 / record.dimension)),
            total=_total_within(record, noise, probability),
            zone=_zone_within(record, probability),
        )

    def to_dict(self) -> dict[str, float]:
        """Return the half-widths as plain JSON types."""
        widths = {
            "probability": self.probability,
            "entry": self.entry,
            "every_entry": self.every_entry,
            "total": self.total,
        }
        return widths if self.zone is None else {**widths, "zone": self.zone}


def _zone_within(record: ReleaseRecord, probability: float) -> float | None:
    """The total of one zone; None where there are none."""
    if record.total_scale is None or not record.zones:
        return None
    own = LaplaceMechanism.of_scale(record.total_scale)
    largest = max(record.zones.count(zone) for zone in set(record.zones))
    return own.error_within(probability) + rounding(largest, record.alpha)


def _total_within(record: ReleaseRecord, entries: LaplaceMechanism, probability: float) -> float:
    """From the sum of the measured totals where there are some, else from that of the noisy entries."""
    if record.total_scale is None:
        return entries.total_within(probability, record.dimension)
    own = LaplaceMechanism.of_scale(record.total_scale)
    within = own.total_within(probability, zone_count(record.zones))
    return within + rounding(record.dimension, record.alpha)


def statement(released: Released, publication: Publication | None) -> str:
    """What is promised about the data that a release was made from, in plain words."""
    if released.receipt is None:
        return f"{NOT_PRIVATE}. Use it for research on data that are public or stay at home."
    sentences = [] if publication is None else [condition(publication)]
    sentences += [
        _promise(released.record, released.receipt),
        _windows(released.receipt),
        *_measured(released.record),
        _larger_changes(released.receipt),
        _intervals(released.record),
        _outside(publication),
    ]
    return " ".join(sentences)


def condition(publication: Publication) -> str:
    """The first sentence of a release beside published figures: what these allow, and what is left.

    The released vector itself carries the publication, since it is made to agree with it.
    """
    return (
        f"This promise is conditional, because figures of the true data of {publication.day} are public "
        f"({publication.source}; {publication.rounding}): whoever knows all entries but one can compute that "
        "one from them as precisely as they are rounded, the released vector repeats them, and no promise "
        "covers that; what follows holds between data that would have led to the same published figures."
    )


def _promise(record: ReleaseRecord, receipt: Receipt) -> str:
    account = receipt.account
    before = exact_difference(account.spent, receipt.charged)
    return (
        f"Whoever sees this release and all others of '{record.dataset}' that this ledger has charged, and "
        f"knows all entries but one, can hardly tell whether that one was moved by up to {account.alpha:g} "
        f"{account.unit}: no observation changes the odds by more than a factor of {odds(account.spent)} "
        f"(epsilon = {in_words(account.spent)} in all: {in_words(before)} by earlier releases, "
        f"{in_words(receipt.charged)} by this one)."
    )


def _measured(record: ReleaseRecord) -> list[str]:
    """What was asked of the data, where that is more than their entries."""
    if record.total_scale is None:
        return []
    totals = f"the total of each of {zone_count(record.zones)} zones" if record.zones else "their total"
    return [
        "This release measures two things, each with noise of its own: every entry (Laplace noise of scale "
        f"{record.scale:,.4g} {record.unit}) and {totals} (scale {record.total_scale:,.4g} "
        f"{record.unit}); what both lose is charged and counted above."
    ]


def _windows(receipt: Receipt) -> str:
    parts = [
        f"{in_words(each.spent)} in the last {'24 hours' if each.days == 1 else f'{each.days} days'}"
        for each in receipt.account.windows
    ]
    return f"Of that, {', '.join(parts)}."


def _larger_changes(receipt: Receipt) -> str:
    account = receipt.account
    factors = ", ".join(f"{odds(account.spent, times)} for k = {times}" for times in MULTIPLES)
    return (
        "Larger changes are hidden less: the exponent is epsilon times the sum over all entries of |change| "
        f"/ alpha, so k entries that move by up to {account.alpha:g} {account.unit} each, or one entry that "
        f"moves by k times that, change the odds by up to a factor of exp(k epsilon), {factors}, and a total "
        "that moves by k times that is hidden no better."
    )


def _intervals(record: ReleaseRecord) -> str:
    interval = Interval.of(record)
    widths = f"{interval.entry:,.4g} {record.unit} on a given entry"
    if record.dimension > 1:
        widths += (
            f", {interval.every_entry:,.4g} {record.unit} on every one of the {record.dimension} at once, "
            f"and {interval.total:,.4g} {record.unit} on their total"
        )
    if interval.zone is not None:
        widths += f", {interval.zone:,.4g} {record.unit} on that of a given zone"
    return (
        f"With probability {interval.probability:.0%} the noise of this release is within {widths}, so "
        "anybody can tell the true figures at least to that precision."
    )


def _outside(publication: Publication | None) -> str:
    figures = "no exact figure of the true data was used" if publication is None else "the published figures"
    return (
        "Not covered: that the data exist, their names, number, unit and day, that they are numbers in their "
        f"public range, the time of this release, and what is known from elsewhere; {figures}."
    )


def figures(noisy: Released) -> dict[str, Any] | None:
    """The numbers behind the statement, as plain JSON types; None for a release that promises nothing.

    The intervals are around the noisy vector: each holds the true figure with the stated probability.
    """
    if noisy.receipt is None:
        return None
    account, interval = noisy.receipt.account, Interval.of(noisy.record)
    total = math.fsum(noisy.totals or noisy.values.tolist())
    zones = (
        {}
        if interval.zone is None
        else {"intervals_of_zones": [[each - interval.zone, each + interval.zone] for each in noisy.totals]}
    )
    return {
        "epsilon_in_all": str(account.spent),
        "epsilon_of_this_release": str(noisy.receipt.charged),
        "alpha": account.alpha,
        "unit": account.unit,
        "epsilon_by_multiple_of_alpha": {
            str(times): str(exact_multiple(times, account.spent)) for times in (1, *MULTIPLES)
        },
        "noise_within": interval.to_dict(),
        "intervals": {
            name: [float(value) - interval.entry, float(value) + interval.entry]
            for name, value in zip(noisy.entry_names, noisy.values, strict=True)
        },
        "interval_of_the_total": [total - interval.total, total + interval.total],
        **zones,
    }
