"""One instance of an experiment, and the row that says how it went: flat, typed, of JSON types alone.

The mechanisms of a row are named as in :mod:`ppsm.experiments.variants`. Costs are in $, distances in MWh,
errors in per cent of the original, signed. What an instance does not have is None: one that failed has
nothing but its axes, a message and where it is from; Laplace has no step 3b.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

# Power and gas stress; without a gas stress the demand is the workspace's own.
Cell = tuple[float, float | None]
Key = tuple[Any, ...]
# Status of an instance that raised an error or whose worker died; the row's message has the reason.
FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The axes of one run; ``eta_p`` and ``eta_d`` are fractions, ``alpha`` is in MWh.

    Without a gas stress the demand is the workspace's own.
    """

    power_stress: float
    gas_stress: float | None
    alpha: float
    mechanism: str
    repetition: int
    eta_p: float = 0.001
    eta_d: float = 0.001
    epsilon: float = 1.0

    @property
    def cell(self) -> Cell:
        """Power and gas stress."""
        return self.power_stress, self.gas_stress

    @property
    def axes(self) -> dict[str, Any]:
        """The axes by name."""
        return {field.name: getattr(self, field.name) for field in fields(Instance)}

    def key_in(self, case: str) -> Key:
        """What tells the row of this instance from all others."""
        return case, *self.axes.values()


@dataclass(frozen=True, kw_only=True)
class Row(Instance):
    """An instance that was run; ``docs/experiments.md`` explains every column.

    ``original_...`` is the game cleared with the true demand, ``released_...`` with the release. ``case``
    also has a fingerprint of a demand of its own. ``message`` says why an instance failed.
    """

    case: str
    status: str
    feasible: bool
    message: str = ""
    original_leader_cost: float | None = None
    original_leader_bound: float | None = None
    original_gap: float | None = None
    original_status: str | None = None
    original_electricity_value: float | None = None
    original_gas_value: float | None = None
    released_leader_cost: float | None = None
    released_leader_bound: float | None = None
    released_gap: float | None = None
    released_electricity_value: float | None = None
    released_gas_value: float | None = None
    error_leader_percent: float | None = None
    error_electricity_percent: float | None = None
    error_gas_percent: float | None = None
    error_predicted_value_percent: float | None = None
    error_predicted_prices_percent: float | None = None
    cross_validated_value_percent: float | None = None
    cross_validated_prices_percent: float | None = None
    history_days: float | None = None
    l1_noisy: float | None = None
    l2_noisy: float | None = None
    l1_released: float | None = None
    l2_released: float | None = None
    l2_bound: float | None = None
    truth_in_bands: bool | None = None
    likely_l2_bound: float | None = None
    dimension: int | None = None
    widening: float | None = None
    fidelity_status: str | None = None
    fidelity_gap: float | None = None
    fidelity_nodes: int | None = None
    fidelity_certified: bool | None = None
    decision_note: str | None = None
    cpu_2a: float | None = None
    cpu_2b: float | None = None
    cpu_2c: float | None = None
    cpu_3a: float | None = None
    cpu_3b: float | None = None
    cpu_release: float | None = None
    seconds_release: float | None = None
    cpu_clear: float | None = None
    seconds_clear: float | None = None
    decisions_solved: int | None = None
    commitments_solved: int | None = None
    commitments_remembered: int | None = None
    seed: int
    solvers: str
    package_version: str
    source_digest: str

    @property
    def key(self) -> Key:
        """The case and the axes: what tells the row from all others."""
        return self.key_in(self.case)

    @property
    def failed(self) -> bool:
        """Whether there is no result."""
        return self.status == FAILED

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time of release and clearing."""
        if self.cpu_release is None or self.cpu_clear is None:
            return None
        return self.cpu_release + self.cpu_clear

    @property
    def gaps(self) -> list[float]:
        """How far the two costs behind the leader's error may be from their optima."""
        return [gap for gap in (self.original_gap, self.released_gap) if gap is not None]

    def absolute_error(self, whose: str) -> float | None:
        """The size of the error of the leader's cost or of a market's value, in per cent."""
        error: float | None = getattr(self, f"error_{whose}_percent")
        return None if error is None else abs(error)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a flat mapping of JSON types, the case first."""
        return {"case": self.case, **{field.name: getattr(self, field.name) for field in fields(self)}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Row":
        """Read what :meth:`to_dict` wrote; a TypeError where names are missing or foreign."""
        return cls(**content)
