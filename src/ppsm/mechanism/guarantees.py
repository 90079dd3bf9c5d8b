"""What theory says about a release before anyone looks at the secret (:mod:`ppsm.theory`)."""

import math
from typing import Any

from ppsm.mechanism.coordination import Coordination, Decision
from ppsm.privacy.laplace import LaplaceMechanism
from ppsm.privacy.record import ReleaseRecord
from ppsm.theory import CostOfPrivacy, DistanceBound


def laplace_distance(record: ReleaseRecord) -> dict[str, Any]:
    """The distance of a release without repair: what the noise has on average, exactly."""
    noise = LaplaceMechanism(alpha=record.alpha, epsilon=record.epsilon)
    return {
        "expected_l2": noise.expected_l2_error(record.dimension),
        "expected_l1": noise.expected_l1_error(record.dimension),
        "premise": "none: these are the means of the noise itself",
    }


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
) -> dict[str, Any]:
    """Bounds on the mean distance of a repaired release, or why there are none."""
    factor = nearness(norm, gap)
    if has_prior or factor is None:
        why = (
            "with a prior the release is drawn towards its mean, so the triangle inequality says nothing"
            if has_prior
            else "the release is faithful, but it is not known how near to the noisy vector one can be"
        )
        return {"expected_l2": None, "expected_l1": None, "premise": why}
    bound = DistanceBound.of_laplace(alpha=record.alpha, epsilon=record.epsilon, dimension=record.dimension)
    held = "the bands" if widening == 1.0 else f"the bands widened by {widening:.6g}"
    premise = f"the true vector satisfies {held} and the public bounds at the leader's decision"
    if norm == "l1":
        # D competes in the l1 problem: |D^ - D|_1 <= factor |D~ - D|_1, whose mean is n b.
        expected = factor * record.dimension * bound.scale
        return {"expected_l2": None, "expected_l1": expected, "premise": premise}
    loss = factor / 2.0
    return {
        "expected_l2": loss * bound.expected,
        "expected_squared_l2": loss**2 * bound.expected_square,
        "expected_l1": math.sqrt(record.dimension) * loss * bound.expected,
        "premise": premise,
    }


def privacy_cost(
    coordination: Coordination, decision: Decision, prices: Any, entry_widths: Any
) -> dict[str, Any]:
    """The paper's bound on what the release costs the leader, or one clause on why it cannot be given."""
    found = coordination.cost_of_privacy(decision, prices, entry_widths)
    if isinstance(found, str):
        return {"available": False, "reason": found}
    return {"available": True, **_figures(found)}


def _figures(cost: CostOfPrivacy) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "optimum": cost.optimum,
        "first_order": cost.first_order,
        "lowest": finite(cost.lowest),
        "highest": finite(cost.highest),
        "indicative": cost.indicative,
    }
