"""Steps 2a to 3c, one function each. They take released and public data only; a secret is refused at each.

Every step says what it saw and what it did (:class:`~ppsm.mechanism.dossier.Step`), for the dossier.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ppsm.arrays import LARGEST_VALUE, FloatArray, frozen_vector
from ppsm.errors import PpsmError, SolverError
from ppsm.fidelity.certificate import Claim, certify
from ppsm.fidelity.problem import Bands, HalfSpaces, Nearness, Norm, SearchLimits, measured_entries
from ppsm.fidelity.restore import Restorer, SamePrices
from ppsm.fidelity.result import FidelityResult
from ppsm.games.follower import Follower
from ppsm.mechanism.coordination import (
    Coordination,
    Decision,
    FollowerSide,
    LeaderRepair,
    published_decision,
)
from ppsm.mechanism.dossier import Step
from ppsm.mechanism.predictors import Prediction, Predictor, checked_outcome, checked_prices
from ppsm.mechanism.prior import PublicPrior
from ppsm.mechanism.published_cost import CostlyDecision, Days, LeastCost, half_spaces_that_keep
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.publication import MarketResult, Publication
from ppsm.privacy.released import Released, require_released
from ppsm.status import Status

LOG = logging.getLogger(__name__)

T = TypeVar("T")

LEADER, FOLLOWER = "leader", "follower"


class StepLog:
    """The steps of one run, in order; :meth:`run` takes one and times it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def run(
        self,
        step: str,
        party: str,
        inputs: tuple[str, ...],
        action: Callable[[], T],
        output: Callable[[T], dict[str, Any]],
    ) -> T:
        """Take a step and write down what it saw and what came out."""
        began = self.clock()
        result = action()
        self.note(step, party, inputs, output(result), began)
        return result

    @staticmethod
    def clock() -> tuple[float, float]:
        """Wall-clock and CPU seconds, for :meth:`note`."""
        return time.perf_counter(), time.process_time()

    def note(
        self,
        step: str,
        party: str,
        inputs: tuple[str, ...],
        output: dict[str, Any],
        began: tuple[float, float],
    ) -> None:
        """Write down a step that began at a reading of the clock."""
        wall, cpu = (now - then for now, then in zip(self.clock(), began, strict=True))
        LOG.info("step %s, by the %s: %.2f s", step, party, wall)
        self.steps.append(Step(step, party, inputs, output, wall, cpu))


def predict_prices(
    log: StepLog, noisy: Released, coordination: Coordination, predictor: Predictor
) -> FloatArray:
    """Step 2a: the leader's model predicts prices."""
    require_released(noisy, "demand of step 2a")
    return log.run(
        "2a",
        LEADER,
        ("noisy demand", f"predictor {predictor.name}"),
        lambda: checked_prices(predictor, predictor.predict_prices(noisy, coordination), coordination),
        lambda prices: {"prices": prices.tolist()},
    )


def decide(
    log: StepLog,
    noisy: Released,
    coordination: Coordination,
    prices: FloatArray,
    publication: Publication | None,
) -> Decision:
    """Step 2b: the leader's problem with these prices fixed, (4) of the paper; its decision is sent.

    A decision that was published beside value and prices takes its place: they are figures of that decision.
    Prices alone do not tell it where the leader holds back to stay below a step of prices.
    """
    require_released(noisy, "demand of step 2b")
    result = None if publication is None else publication.result
    if result is not None and result.felt is not None:
        sent = published_decision(result, coordination)
        return log.run("2b", LEADER, ("published decision",), lambda: sent, Decision.to_dict)
    return log.run(
        "2b",
        LEADER,
        ("noisy demand", "public models", "predicted prices"),
        lambda: coordination.decide(measured_entries(noisy), prices),
        Decision.to_dict,
    )


def predict_outcome(
    log: StepLog,
    noisy: Released,
    coordination: FollowerSide,
    predictor: Predictor,
    decision: Decision,
) -> Prediction:
    """Step 3a: the follower's model predicts its own value and prices."""
    require_released(noisy, "demand of step 3a")
    return log.run(
        "3a",
        FOLLOWER,
        ("noisy demand", "leader's decision", f"predictor {predictor.name}"),
        lambda: checked_outcome(
            predictor, predictor.predict_outcome(noisy, decision, coordination), coordination
        ),
        lambda said: {"value": said.value, "prices": said.prices.tolist()},
    )


def restore_fidelity(
    log: StepLog,
    noisy: Released,
    coordination: FollowerSide,
    decision: Decision,
    bands: Bands,
    *,
    norm: Norm,
    prior: PublicPrior | None,
    limits: SearchLimits,
) -> FidelityResult:
    """Step 3b: the nearest vector that is faithful to the market, problem (5) of the paper."""
    require_released(noisy, "demand of step 3b")
    asked = _Asked(noisy, coordination, decision, bands, norm, prior, limits)
    inputs = ["noisy demand", "leader's decision", "predicted value"]
    inputs += ["predicted prices"] * (bands.prices is not None) + ["public prior"] * (prior is not None)
    return log.run("3b", FOLLOWER, (*inputs, "public bounds"), asked.answer, fidelity_output)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What step 3b is asked for; every search has a restorer of its own.

    A warm one would let the last digits depend on what was restored before.
    """

    noisy: Released
    side: FollowerSide
    decision: Decision
    bands: Bands
    norm: Norm
    prior: PublicPrior | None
    limits: SearchLimits

    @property
    def follower(self) -> Follower:
        """The market beside the decision."""
        return self.side.follower_at(self.decision)

    def answer(self) -> FidelityResult:
        """The nearest vector in the half-spaces that came with the decision; where none is, at all."""
        wish = self.decision.half_spaces
        wished = None if wish is None else self.nearest(wish)
        if wished is not None and wished.status.has_answer:
            return wished
        found = self.nearest_at_all()
        if wish is not None and found.widening > 1.0:
            wished = self.nearest(wish, found)
        return wished if wished is not None and wished.status.has_answer else found

    def nearest(self, half_spaces: HalfSpaces, at_all: FidelityResult | None = None) -> FidelityResult:
        """The nearest faithful vector in half-spaces, which are a wish: bands are not widened for them.

        They are where they had to be for the nearest vector at all.
        """
        most = TUNING.cost_searches if self.bands.prices is None else TUNING.cost_searches_by_prices
        limits = replace(
            self.limits,
            nodes=min(self.limits.nodes, TUNING.cost_nodes),
            searches=min(self.limits.searches, most),
        )
        return self._in(half_spaces, at_all, limits)

    def first(self, half_spaces: HalfSpaces, at_all: FidelityResult) -> FidelityResult:
        """What the search for it begins with; with a price band its first nodes have to find that."""
        searches = 0 if self.bands.prices is None else 1
        limits = replace(self.limits, nodes=TUNING.first_nodes, searches=searches)
        return self._in(half_spaces, at_all, limits)

    def _in(
        self, half_spaces: HalfSpaces, at_all: FidelityResult | None, limits: SearchLimits
    ) -> FidelityResult:
        restorer = Restorer(self.follower, half_spaces)
        if at_all is None:
            return self._restored(restorer, self.bands, limits, elastic=False)
        found = self._restored(restorer, self.bands.widened(at_all.widening), limits, elastic=False)
        return replace(found, widening=at_all.widening, widening_bound=at_all.widening_bound)

    def nearest_at_all(self) -> FidelityResult:
        """The nearest vector, in wider bands if these are empty."""
        restorer, bands, first, why = Restorer(self.follower), self.bands, self.bands, ""
        if bands.value is not None and abs(bands.value) > LARGEST_VALUE:  # the noise made it, no market
            first = replace(bands, value=None, value_width=0.0)
        # Where no widening of both bands is found in time, or solvers refuse their numbers: ask for less, and
        # say how wide they are at the answer.
        for asked in (first, Bands(first.value, first.value_width), Bands()):
            try:
                found = self._restored(restorer, asked, self.limits, elastic=True)
            except SolverError as error:
                why = str(error)
                continue
            if found.status.has_answer:
                return found if asked is bands else _with_widening(found, bands)
            why = found.explanation
        raise SolverError(f"the fidelity problem has no answer ({why}): give it more time with limits=...")

    def _restored(
        self, restorer: Restorer, bands: Bands, limits: SearchLimits, *, elastic: bool
    ) -> FidelityResult:
        knowledge = None if self.prior is None else self.prior.with_noise(self.noisy.record.scale)
        return restorer.restore(
            self.noisy,
            bands,
            self.side.public_bounds,
            norm=self.norm,
            prior=knowledge,
            elastic=elastic,
            limits=limits,
        )


@dataclass(frozen=True, eq=False)
class _Repaired:
    """What step 3b would release within half-spaces, and what has the published prices there."""

    asked: _Asked
    entry_prices: FloatArray

    @cached_property
    def _at_all(self) -> FidelityResult:
        return self.asked.nearest_at_all()

    def nearest(self, half_spaces: HalfSpaces | None) -> FloatArray | None:
        """Step 3b; None where nothing is left."""
        found = self._at_all if half_spaces is None else self.asked.nearest(half_spaces, self._at_all)
        return found.parameter if found.status.has_answer else None

    def first(self, half_spaces: HalfSpaces) -> FloatArray | None:
        """What step 3b begins with."""
        found = self.asked.first(half_spaces, self._at_all)
        return found.parameter if found.status.has_answer else None

    def at_published_prices(self, half_spaces: HalfSpaces | None) -> SamePrices | None:
        """Those of the market beside the decision."""
        asked = self.asked
        restorer = Restorer(asked.follower, half_spaces)
        bands = asked.bands.widened(self._at_all.widening)
        return restorer.at_prices(self.entry_prices, asked.noisy, bands, asked.side.public_bounds)


def keep_cost(
    log: StepLog,
    noisy: Released,
    coordination: Coordination,
    decision: Decision,
    bands: Bands,
    result: MarketResult,
    same: LeastCost,
    *,
    norm: Norm,
    prior: PublicPrior | None,
    limits: SearchLimits,
) -> Decision:
    """Step 2c: what the published cost of the decision says about the demand.

    The leader repairs the noisy demand as the follower will, and looks for a cheaper day on it. ``same`` is
    its bound at the published prices.
    """
    require_released(noisy, "demand of step 2c")
    asked = _Asked(noisy, coordination, decision, bands, norm, prior, limits)
    vectors = _Repaired(asked, coordination.entry_prices(result.prices))
    days = Days(lambda demand, enough: coordination.cheapest_day(demand, result.prices, enough), same)

    def held() -> Decision:
        known = CostlyDecision(decision.felt, same.sign * result.leader_cost, 0.5 * result.value_step)
        try:
            half_spaces = half_spaces_that_keep(known, vectors, days)
        except SolverError as error:
            # They are a wish, and the noise is charged for.
            LOG.warning("step 2c: the published cost is not kept (%s)", error)
            return decision
        return replace(decision, half_spaces=half_spaces)

    inputs = ("noisy demand", "published decision and cost", "public models")
    return log.run("2c", LEADER, inputs, held, Decision.to_dict)


def repair_for_leader(
    log: StepLog,
    noisy: Released,
    restored: FloatArray,
    coordination: Coordination,
    *,
    prior: PublicPrior | None,
) -> FloatArray | None:
    """Step 3c: where the leader has no answer at the faithful vector, the nearest vector at which it has.

    None, and nothing in the log, where there is nothing to repair; None too where no such vector was found.
    Whatever fails here costs nothing but the repair: the noise is charged for, and the faithful vector is
    there.
    """
    require_released(noisy, "demand of step 3c")
    knowledge = None if prior is None else prior.with_noise(noisy.record.scale)
    near = Nearness.to(restored, noisy, knowledge)
    began = log.clock()
    try:
        found = coordination.repaired_for_leader(near)
        if found is not None and found.vector is not None:
            frozen_vector(found.vector, restored.size, "the leader's repair", names=noisy.entry_names)
    except PpsmError as error:
        found = LeaderRepair(None, str(error))
    except Exception as error:  # noqa: BLE001 - the coordination may be the user's
        found = LeaderRepair(None, f"{type(error).__name__}: {error}")
    if found is None:
        return None
    inputs = ("faithful vector", "public models", "public bounds")
    log.note("3c", LEADER, inputs, _repair_output(found, restored), began)
    return found.vector


def _repair_output(found: LeaderRepair, restored: FloatArray) -> dict[str, Any]:
    moved = None if found.vector is None else float(np.abs(found.vector - restored).sum())
    values = None if found.vector is None else found.vector.tolist()
    return {"reason": found.reason, "values": values, "moved_l1": moved}


def _with_widening(found: FidelityResult, bands: Bands) -> FidelityResult:
    """A vector that was found with fewer bands, with the widening at which it satisfies all of them."""
    claim = found.claim
    if not found.status.has_answer or claim is None:
        return found

    def widened(factor: float) -> Claim:
        wide = bands.widened(factor)
        return replace(
            claim,
            value=wide.value,
            value_width=wide.value_width,
            prices=wide.prices,
            price_width=wide.price_width,
        )

    factor = _least_factor(lambda each: certify(widened(each)).faithful)
    return replace(
        found,
        status=Status.INCUMBENT,
        bound=0.0,
        gap=1.0,
        widening=factor,
        widening_bound=1.0,
        claim=widened(factor),
        certificate=certify(widened(factor)),
        explanation="no least widening was found in time; the bands are as wide as this vector needs them",
    )


def _least_factor(holds: Callable[[float], bool]) -> float:
    """The least factor from 1 on (nearly) at which something holds that holds from some factor on."""
    high = 1.0
    while not holds(high) and high < TUNING.most_widening:
        high *= 2.0
    low = high / 2.0
    while high > 1.0 and high / low > TUNING.widening_ratio:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def fidelity_output(result: FidelityResult) -> dict[str, Any]:
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
