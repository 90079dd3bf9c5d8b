"""Steps 2a to 3b, one function each. They take released and public data only; a secret is refused at each.

Every step says what it saw and what it did (:class:`StepRecord`), for the dossier.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity.branching import SearchLimits
from ppsm.fidelity.certificate import certify
from ppsm.fidelity.problem import Bands, Norm
from ppsm.fidelity.restore import Restorer
from ppsm.fidelity.result import FidelityResult
from ppsm.game.follower import Follower
from ppsm.mechanism.coordination import Coordination, Decision
from ppsm.mechanism.predictors import Prediction, Predictor, checked_outcome, checked_prices
from ppsm.mechanism.prior import PublicPrior
from ppsm.privacy.released import Released, require_released
from ppsm.status import Status

T = TypeVar("T")

LEADER, FOLLOWER = "leader", "follower"


@dataclass(frozen=True, eq=False)
class StepRecord:
    """One step of the protocol: who did it, what it saw, what came out, and the time it took."""

    step: str
    party: str
    inputs: tuple[str, ...]
    output: dict[str, Any]
    seconds: float
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON types."""
        return {
            "step": self.step,
            "party": self.party,
            "inputs": list(self.inputs),
            "output": self.output,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }


class Protocol:
    """The records of one run, in order; :meth:`run` takes a step and times it."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []

    def run(
        self,
        step: str,
        party: str,
        inputs: tuple[str, ...],
        action: Callable[[], T],
        output: Callable[[T], dict[str, Any]],
    ) -> T:
        """Take a step and write down what it saw and what came out."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = action()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.records.append(StepRecord(step, party, inputs, output(result), wall, cpu))
        return result


def predict_prices(
    protocol: Protocol, noisy: Released, coordination: Coordination, predictor: Predictor
) -> FloatArray:
    """Step 2a: the leader's model predicts prices."""
    require_released(noisy, "demand of step 2a")
    return protocol.run(
        "2a",
        LEADER,
        ("noisy demand", f"predictor {predictor.name}"),
        lambda: checked_prices(predictor, predictor.predict_prices(noisy, coordination), coordination),
        lambda prices: {"prices": prices.tolist()},
    )


def decide(protocol: Protocol, noisy: Released, coordination: Coordination, prices: FloatArray) -> Decision:
    """Step 2b: the leader solves its problem with these prices fixed and sends its decision."""
    require_released(noisy, "demand of step 2b")
    return protocol.run(
        "2b",
        LEADER,
        ("noisy demand", "public models", "predicted prices"),
        lambda: coordination.decide(noisy.values, prices),
        Decision.to_dict,
    )


def predict_outcome(
    protocol: Protocol,
    noisy: Released,
    coordination: Coordination,
    predictor: Predictor,
    decision: Decision,
) -> Prediction:
    """Step 3a: the follower's model predicts its own value and prices."""
    require_released(noisy, "demand of step 3a")
    return protocol.run(
        "3a",
        FOLLOWER,
        ("noisy demand", "leader's decision", f"predictor {predictor.name}"),
        lambda: checked_outcome(
            predictor, predictor.predict_outcome(noisy, decision, coordination), coordination
        ),
        lambda said: {"value": said.value, "prices": said.prices.tolist()},
    )


def restore_fidelity(
    protocol: Protocol,
    noisy: Released,
    coordination: Coordination,
    decision: Decision,
    bands: Bands,
    *,
    norm: Norm,
    prior: PublicPrior | None,
    limits: SearchLimits,
) -> FidelityResult:
    """Step 3b: the nearest vector that is faithful to the market, problem (5) of the paper."""
    require_released(noisy, "demand of step 3b")
    knowledge = None if prior is None else prior.with_noise(noisy.record.scale)

    def solve() -> FidelityResult:
        follower = coordination.follower_at(decision)
        restorer = Restorer(follower)

        def nearest(asked: Bands) -> FidelityResult:
            bounds = coordination.public_bounds
            return restorer.restore(noisy, asked, bounds, norm=norm, prior=knowledge, limits=limits)

        found = nearest(bands)
        # No widening of both bands was found in time: ask for less, and say how wide they are at the answer.
        for less in (Bands(bands.value, bands.value_width), Bands()):
            if not found.status.has_answer:
                found = _with_widening(nearest(less), follower, bands)
        if not found.status.has_answer:
            raise SolverError(
                f"the fidelity problem has no answer ({found.explanation}): give it more time with limits=..."
            )
        return found

    inputs = ["noisy demand", "leader's decision", "predicted value"]
    inputs += ["predicted prices"] * (bands.prices is not None) + ["public prior"] * (prior is not None)
    return protocol.run("3b", FOLLOWER, (*inputs, "public bounds"), solve, fidelity_figures)


def _with_widening(found: FidelityResult, follower: Follower, bands: Bands) -> FidelityResult:
    """A vector that was found with fewer bands, with the widening at which it satisfies all of them."""
    if not found.status.has_answer or found.claim is None:
        return found
    there = follower.solve(found.parameter)
    factors = [1.0]
    if bands.value is not None:
        factors.append(abs(there.value - bands.value) / max(bands.value_width, 1e-9 * abs(bands.value)))
    if bands.prices is not None and bands.price_width is not None:
        off = np.abs(follower.parameter_map.T @ there.prices - bands.prices)
        factors.append(float((off / np.maximum(bands.price_width, 1e-9 * np.abs(bands.prices))).max()))
    # A hair more, so that rounding does not fail the certificate.
    factor = max(factors) * (1.0 + 1e-9)
    wide = bands.widened(factor)
    claim = replace(
        found.claim,
        value=wide.value,
        value_width=wide.value_width,
        prices=wide.prices,
        price_width=wide.price_width,
    )
    return replace(
        found,
        status=Status.INCUMBENT,
        bound=0.0,
        gap=1.0,
        widening=factor,
        widening_bound=1.0,
        claim=claim,
        certificate=certify(claim),
        explanation="no least widening was found in time; the bands are as wide as this vector needs them",
    )


def fidelity_figures(result: FidelityResult) -> dict[str, Any]:
    """The proof that comes with a faithful vector, as plain JSON types."""
    claim = result.claim
    certificate = result.certificate
    return {
        "status": result.status.value,
        "values": result.parameter.tolist(),
        "objective": float(result.objective),
        "bound": float(result.bound) if np.isfinite(result.bound) else None,
        "gap": float(result.gap) if np.isfinite(result.gap) else None,
        "nodes": int(result.nodes),
        "widening": float(result.widening),
        "widening_bound": float(result.widening_bound),
        "value_band": None
        if claim is None or claim.value is None
        else [float(claim.value), float(claim.value_width)],
        "has_price_band": claim is not None and claim.prices is not None,
        "value": float(result.value),
        "price_distance": float(result.price_distance),
        "faithful": certificate is not None and certificate.faithful,
        "solvers": list(result.solvers),
        "explanation": result.explanation,
    }
