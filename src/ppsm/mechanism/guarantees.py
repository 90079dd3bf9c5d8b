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


def faithful_distance(
    record: ReleaseRecord, norm: str, *, has_prior: bool, widening: float
) -> dict[str, Any]:
    """Bounds on the mean distance of a repaired release, or why there are none."""
    if has_prior:
        return {
            "expected_l2": None,
            "expected_l1": None,
            "premise": "with a prior the release is drawn towards its mean, so the triangle inequality says "
            "nothing",
        }
    bound = DistanceBound.of_laplace(alpha=record.alpha, epsilon=record.epsilon, dimension=record.dimension)
    held = "the bands" if widening == 1.0 else f"the bands widened by {widening:.6g}"
    premise = f"the true vector satisfies {held} and the public bounds at the leader's decision"
    if norm == "l1":
        # D competes in the l1 problem: |D^ - D|_1 <= 2 |D~ - D|_1, whose mean is 2 n b.
        return {"expected_l2": None, "expected_l1": 2.0 * record.dimension * bound.scale, "premise": premise}
    return {
        "expected_l2": bound.expected,
        "expected_squared_l2": bound.expected_square,
        "expected_l1": math.sqrt(record.dimension) * bound.expected,
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
