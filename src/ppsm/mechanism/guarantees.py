"""What theory says about a release before anyone looks at the secret (:mod:`ppsm.mechanism.theory`)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ppsm.mechanism.coordination import reading
from ppsm.mechanism.theory import CostOfPrivacy, DistanceBound
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.record import ReleaseRecord

_SQUARED = "expected_squared_l2"


@dataclass(frozen=True, kw_only=True)
class ExpectedDistance:
    """Bounds on the mean distance of a release from the truth, and under which premise they hold.

    None where theory says nothing, in which case ``premise`` says why.
    """

    expected_l1: float | None
    expected_l2: float | None
    expected_squared_l2: float | None = None
    premise: str

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as plain JSON types."""
        squared = {} if self.expected_squared_l2 is None else {_SQUARED: self.expected_squared_l2}
        return {
            "expected_l2": self.expected_l2,
            **squared,
            "expected_l1": self.expected_l1,
            "premise": self.premise,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ExpectedDistance":
        """Read what :meth:`to_dict` returned."""
        squared = fields.get(_SQUARED)
        return cls(
            expected_l1=None if fields["expected_l1"] is None else float(fields["expected_l1"]),
            expected_l2=None if fields["expected_l2"] is None else float(fields["expected_l2"]),
            expected_squared_l2=None if squared is None else float(squared),
            premise=str(fields["premise"]),
        )


@dataclass(frozen=True)
class Guarantees:
    """What is known beforehand about a release.

    ``cost_of_privacy`` is the paper's bound on what the release costs the leader, or one clause on why it
    cannot be given; None for a mechanism that repairs nothing.
    """

    distance: ExpectedDistance
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
            return cls(ExpectedDistance.from_dict(fields["distance"]), cost)


def laplace_distance(record: ReleaseRecord) -> ExpectedDistance:
    """The distance of a release without repair: what the noise has on average, exactly."""
    noise = LaplaceMechanism(alpha=record.alpha, epsilon=record.epsilon)
    return ExpectedDistance(
        expected_l2=noise.expected_l2_error(record.dimension),
        expected_l1=noise.expected_l1_error(record.dimension),
        premise="none: these are the means of the noise itself",
    )


def nearness(norm: str, gap: float) -> float | None:
    """How many times the noise a release with this gap may lie off the truth, if that is in the bands.

    Proven nearest it is 2 by the triangle inequality. With a gap the release is at most ``1 / (1 - gap)``
    times as far from the noisy vector as the nearest one (of the squared distance in l2). None where the gap
    says nothing.
    """
    if not gap < 1.0:
        return None
    left = 1.0 - max(gap, 0.0)
    return 1.0 + 1.0 / (left if norm == "l1" else math.sqrt(left))


def faithful_distance(
    record: ReleaseRecord, norm: str, *, has_prior: bool, widening: float, gap: float
) -> ExpectedDistance:
    """Bounds on the mean distance of a repaired release, or why there are none."""
    factor = nearness(norm, gap)
    if has_prior or factor is None:
        why = (
            "with a prior the release is drawn towards its mean, so the triangle inequality says nothing"
            if has_prior
            else "the release is faithful, but it is not known how near to the noisy vector one can be"
        )
        return ExpectedDistance(expected_l2=None, expected_l1=None, premise=why)
    bound = DistanceBound.of_laplace(alpha=record.alpha, epsilon=record.epsilon, dimension=record.dimension)
    held = "the bands" if widening == 1.0 else f"the bands widened by {widening:.6g}"
    premise = f"the true vector satisfies {held} and the public bounds at the leader's decision"
    if norm == "l1":
        # D competes in the l1 problem: |D^ - D|_1 <= factor |D~ - D|_1, whose mean is n b.
        expected = factor * record.dimension * bound.scale
        return ExpectedDistance(expected_l2=None, expected_l1=expected, premise=premise)
    loss = factor / 2.0
    return ExpectedDistance(
        expected_l2=loss * bound.expected,
        expected_squared_l2=loss**2 * bound.expected_square,
        expected_l1=math.sqrt(record.dimension) * loss * bound.expected,
        premise=premise,
    )


def _cost_fields(cost: CostOfPrivacy) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "optimum": cost.optimum,
        "first_order": cost.first_order,
        "lowest": finite(cost.lowest),
        "highest": finite(cost.highest),
        "indicative": cost.indicative,
    }


def _read_cost(fields: Mapping[str, Any]) -> CostOfPrivacy:
    lowest, highest = fields["lowest"], fields["highest"]
    return CostOfPrivacy(
        optimum=float(fields["optimum"]),
        first_order=float(fields["first_order"]),
        lowest=-math.inf if lowest is None else float(lowest),
        highest=math.inf if highest is None else float(highest),
        indicative=bool(fields["indicative"]),
    )
