"""What theory says about a release before anyone looks at the secret (:mod:`ppsm.mechanism.theory`)."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.mechanism.coordination import reading
from ppsm.mechanism.theory import CONFIDENCE, CostOfPrivacy, NoiseSize, nearness
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.measurements import zone_count
from ppsm.privacy.record import ReleaseRecord
from ppsm.privacy.released import Released


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far a release may be from the truth, in the unit of the data, and under which premise.

    ``likely_l1`` and ``likely_l2`` are not exceeded in 95 % of all releases in which the premise holds or
    not; ``mean_l1`` and ``mean_l2`` are means over the noise. None where theory says nothing.
    """

    likely_l1: float | None = None
    likely_l2: float | None = None
    mean_l1: float | None = None
    mean_l2: float | None = None
    premise: str

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as plain JSON types."""
        return {"confidence": CONFIDENCE, **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Distance":
        """Read what :meth:`to_dict` returned."""
        numbers = {
            name: None if fields[name] is None else float(fields[name])
            for name in ("likely_l1", "likely_l2", "mean_l1", "mean_l2")
        }
        return cls(**numbers, premise=str(fields["premise"]))


@dataclass(frozen=True)
class Guarantees:
    """What is known beforehand about a release.

    ``cost_of_privacy`` encloses what the leader pays with any vector that satisfies the premise of
    ``distance``, or is one clause on why it cannot be said; None for a mechanism that repairs nothing.
    """

    distance: Distance
    cost_of_privacy: CostOfPrivacy | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantees as plain JSON types."""
        cost = self.cost_of_privacy
        fields: dict[str, Any] = {"distance": self.distance.to_dict()}
        if isinstance(cost, str):
            fields["cost_of_privacy"] = {"available": False, "reason": cost}
        elif cost is not None:
            fields["cost_of_privacy"] = {"available": True, **_cost_fields(cost)}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Guarantees":
        """Read what :meth:`to_dict` returned."""
        with reading("theory of the dossier"):
            said = fields.get("cost_of_privacy")
            cost: CostOfPrivacy | str | None = None
            if said is not None:
                cost = _read_cost(said) if said["available"] else str(said["reason"])
            return cls(Distance.from_dict(fields["distance"]), cost)


def laplace_distance(record: ReleaseRecord) -> Distance:
    """The distance of a release without repair: that of the noise itself."""
    noise = LaplaceMechanism.of_scale(record.scale)
    size = NoiseSize(record.dimension)
    return Distance(
        likely_l1=record.scale * size.likely_l1,
        likely_l2=record.scale * size.likely_l2,
        mean_l1=noise.expected_l1_error(record.dimension),
        mean_l2=noise.expected_l2_error(record.dimension),
        premise="none: these are figures of the noise itself",
    )


def faithful_distance(
    record: ReleaseRecord,
    norm: str,
    *,
    has_prior: bool,
    widening: float,
    gap: float,
    has_half_spaces: bool,
) -> Distance:
    """How far a repaired release may be from the truth, or why that is not known."""
    factor = nearness(norm, gap)
    if has_prior or factor is None:
        why = (
            "with a prior the release is drawn towards its mean, so the triangle inequality says nothing"
            if has_prior
            else "the release is faithful, but it is not known how near to the noisy vector one can be"
        )
        return Distance(premise=why)
    held = "the bands" if widening == 1.0 else f"the bands widened by {widening:.6g}"
    if has_half_spaces:
        held += " and the half-spaces"
    premise = (
        f"the true vector satisfies {held} of this release and the public bounds at the leader's decision; a "
        "mean would need that on every draw, so none is given"
    )
    # A measured total is one more number with noise of its own, in units of which it weighs in.
    totals = 0 if record.total_scale is None else zone_count(record.zones)
    size = NoiseSize(record.dimension + totals)
    if norm == "l1":
        return Distance(likely_l1=factor * record.scale * size.likely_l1, premise=premise)
    likely = factor * record.scale * size.likely_l2
    return Distance(likely_l1=math.sqrt(record.dimension) * likely, likely_l2=likely, premise=premise)


def moved_guarantees(noisy: Released, released: FloatArray) -> Guarantees:
    """What is known of a vector that the leader has moved (step 3c): how far it went is seen by everybody.

    From the noisy vector it is so far away, and that from the truth as far as noise is large, whatever the
    bands were.
    """
    record, moved = noisy.record, released - noisy.values
    size = NoiseSize(record.dimension)
    distance = Distance(
        likely_l1=float(np.abs(moved).sum()) + record.scale * size.likely_l1,
        likely_l2=float(np.linalg.norm(moved)) + record.scale * size.likely_l2,
        premise="none: the noisy vector is public, and so is how far the released one is from it",
    )
    return Guarantees(distance, "the leader has moved the vector to one at which it can act")


def _cost_fields(cost: CostOfPrivacy) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {"lowest": finite(cost.lowest), "highest": finite(cost.highest)}


def _read_cost(fields: Mapping[str, Any]) -> CostOfPrivacy:
    lowest, highest = fields["lowest"], fields["highest"]
    return CostOfPrivacy(
        lowest=-math.inf if lowest is None else float(lowest),
        highest=math.inf if highest is None else float(highest),
    )
