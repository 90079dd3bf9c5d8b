"""What a report is made of. What may be shared and what may not are different types."""

from dataclasses import dataclass

from ppsm.cases.schema import Case
from ppsm.comparison.conclusion import LEARNED, conclude
from ppsm.errors import InputError
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.instance import Record
from ppsm.mechanism.tradeoff import TradeoffRow, summarise

MECHANISM_TITLES = {"laplace": "Laplace", "ppsm-p": "PPSM_p", "ppsm": "PPSM", LEARNED: "PPSM learned"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """Where a comparison was made; ``gas_stress`` is None for a demand of the owner's own."""

    case: Case
    power_stress: float
    gas_stress: float | None
    eta_p: float
    eta_d: float

    @property
    def cell(self) -> str:
        """The stress in words."""
        power = f"power load {self.power_stress:+.0%}"
        if self.gas_stress is None:
            return f"{power}, gas demand from the owner's file"
        return f"{power}, gas demand {self.gas_stress:+.0%}"


@dataclass(frozen=True, eq=False)
class ExampleRelease:
    """One release that the report shows, with the game cleared at it: public parts only.

    ``plain`` is the same noise without repair, shown where the market could be cleared with it.
    """

    dossier: Dossier
    plain: Dossier | None = None

    def __post_init__(self) -> None:
        if self.dossier.evaluation is None:
            raise InputError("the release was not evaluated: clear the game with it before it is reported.")


@dataclass(frozen=True, eq=False)
class Comparison:
    """All mechanisms over several draws, measured against the true demand.

    Every figure here is derived from that demand. With public test data it may be shared; otherwise it is the
    owner's, and travels in :class:`~ppsm.privacy.OwnerOnly`.
    """

    records: tuple[Record, ...]
    planned: int

    @property
    def rows(self) -> list[TradeoffRow]:
        """The table: one row for each alpha and mechanism."""
        return summarise(self.records)

    @property
    def sentences(self) -> list[str]:
        """The conclusion."""
        return conclude(self.records, self.planned)
