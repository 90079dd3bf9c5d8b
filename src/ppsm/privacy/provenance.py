"""Where something that a release uses came from: a prior, a learned model, a publication.

The promise of a release holds whatever public or already released data the later steps use. It does not hold
if one of them brings in the truth by another door: noise that can be subtracted again, or figures of true
data that nobody has published. Such a *taint* passes to everything that is made from it, and a private
release refuses what is tainted. What says that it rests on entries of a ledger is checked against the ledger
that is charged.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ppsm.errors import FileFormatError, PrivacyError
from ppsm.privacy.ledger.reader import LedgerReader
from ppsm.privacy.record import one_line
from ppsm.privacy.released import Released


class Taint(StrEnum):
    """Why something may carry the truth."""

    SEEDED = "noise that was drawn from a seed and can be subtracted"
    UNPUBLISHED = "figures of true data that no ledger knows as published"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What something was made from.

    Attributes
    ----------
    source
        In one line; for public data that is all there is, on the word of whoever says so.
    taints
        Why it may carry the truth.
    entries
        Hashes of the ledger entries that it rests on: releases that were charged, figures that were noted.
    """

    source: str
    taints: frozenset[Taint] = frozenset()
    entries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        one_line(self.source, "source")

    @classmethod
    def of_releases(cls, releases: Iterable[Released]) -> "Provenance":
        """Made from releases: the charged ones are on record, seeded ones taint."""
        past = tuple(releases)
        receipts = [each.receipt for each in past]
        return cls(
            source=f"{len(past)} past releases",
            taints=frozenset({Taint.SEEDED}) if None in receipts else frozenset(),
            entries=tuple(receipt.entry_hash for receipt in receipts if receipt is not None),
        )

    def with_taint(self, taint: Taint) -> "Provenance":
        """The same after something tainted went in."""
        return Provenance(source=self.source, taints=self.taints | {taint}, entries=self.entries)

    def joined(self, other: "Provenance") -> "Provenance":
        """What was made from both."""
        return Provenance(
            source=f"{self.source}; {other.source}",
            taints=self.taints | other.taints,
            entries=(*self.entries, *other.entries),
        )

    def refuse_taint(self, what: str) -> None:
        """Refuse what may carry the truth, wherever a private release would use it."""
        if self.taints:
            raise PrivacyError(
                f"The {what} rests on {' and '.join(sorted(self.taints))} ({self.source}), so a private "
                "release cannot use it: use public data or private releases of the past."
            )

    def refuse_unknown(self, what: str, ledger: LedgerReader) -> None:
        """Refuse what rests on entries that this ledger does not know, or that may carry the truth."""
        self.refuse_taint(what)
        missing = ledger.unknown(self.entries)
        if missing:
            raise PrivacyError(
                f"The {what} rests on {len(missing)} entries that the ledger {ledger.path} does not know "
                f"({self.source}): use the ledger that charged or noted them, or public data."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the provenance as plain JSON types."""
        return {
            "source": self.source,
            "taints": sorted(taint.name for taint in self.taints),
            "entries": list(self.entries),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Provenance":
        """Read what :meth:`to_dict` returned."""
        try:
            return cls(
                source=str(fields["source"]),
                taints=frozenset(Taint[name] for name in fields["taints"]),
                entries=tuple(str(entry) for entry in fields["entries"]),
            )
        except (KeyError, TypeError) as error:
            raise FileFormatError(
                f"The provenance has no usable field {error}: use what ppsm wrote."
            ) from None
