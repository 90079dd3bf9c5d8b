"""The auditor on whole releases, not only on the noise: honest steps pass, planted faults are caught.

``python -m benchmarks.mechanism_audit`` does the same with a hundred thousand runs and for every mechanism.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.mechanism_audit import (
    DATASET,
    FAULTS,
    MECHANISMS,
    ORDERS,
    Pipeline,
    audited,
    pipeline,
    shared_numbers,
)

from ppsm import Ledger, Released, Sensitive, audit_mechanism
from ppsm.arrays import FloatArray
from ppsm.coordinations import GameCoordination
from ppsm.mechanism import PPSM, Decision, FollowerSide, ModelBased, PPSM_p, PublicOutcome

from .conftest import DATASET as TOWNS
from .conftest import TRUTH, published

SAMPLES = 200
# How many runs on each input show a fault; an uncharged total is cheap to run and hard to see.
RUNS = {"a total measured without a charge": 1500}


@pytest.fixture
def whole() -> Iterator[Pipeline]:
    with pipeline() as made:
        yield made


@pytest.mark.parametrize("name", ["laplace", "ppsm, total measured"])
def test_the_whole_pipeline_passes(name: str, whole: Pipeline) -> None:
    """Real releases: ledger, secure noise, all five steps; everything that is shared is looked at."""
    report = audited(partial(whole.shared, MECHANISMS[name]), SAMPLES)
    assert report.passes, report.findings
    assert report.epsilon_lower_bound <= 1.0
    assert float(whole.ledger.balance(DATASET).spent) == pytest.approx(2 * SAMPLES, rel=1e-12)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name: str, whole: Pipeline) -> None:
    report = audited(FAULTS[name](whole), RUNS.get(name, SAMPLES))
    assert not report.passes
    assert report.epsilon_lower_bound > 1.0


def test_a_step_that_peeks_at_the_data_is_caught(whole: Pipeline) -> None:
    class Peeking(ModelBased):
        """M_F with access to the true vector: it predicts the value that the market will really have."""

        true_value = 0.0

        def predict_outcome(
            self, noisy: Released, decision: Decision, coordination: FollowerSide
        ) -> tuple[float, FloatArray]:
            _, prices = super().predict_outcome(noisy, decision, coordination)
            return Peeking.true_value, prices

    def run(values: FloatArray) -> FloatArray:
        Peeking.true_value = float(np.sum(values))
        return whole.release(PPSM_p(alpha=1.0, norm="l1"), values, Peeking()).released.values

    report = audited(run, SAMPLES)
    assert not report.passes
    assert report.epsilon_lower_bound > 1.5


def test_everything_shared_has_one_length_and_no_clock(whole: Pipeline) -> None:
    seen = [whole.shared(MECHANISMS["ppsm, total measured"], ORDERS) for _ in range(3)]
    assert len({numbers.size for numbers in seen}) == 1
    assert shared_numbers({"a": [1, None, {"time": 5, "b": 2.5}], "seconds": 3, "c": "7"}) == [1.0, 0.0, 2.5]


def test_two_neighbours_with_publications_of_their_own_are_told_apart(
    towns: GameCoordination, tmp_path: Path
) -> None:
    """Why the promise is conditional beside published figures: the release is made to agree with them."""
    alpha = 5.0
    neighbour = (TRUTH[0] + alpha, TRUTH[1])
    ledger = Ledger.create(tmp_path / "audit.db")
    ledger.grant(TOWNS, epsilon=1e6, alpha=alpha, unit="MWh")
    own = {truth: PublicOutcome(published(towns, ledger, truth), seed=1) for truth in (TRUTH, neighbour)}

    def run(values: FloatArray) -> FloatArray:
        secret = Sensitive(values, dataset=TOWNS, unit="MWh", entry_names=towns.entry_names)
        predictor = own[tuple(map(float, values))]  # type: ignore[index]
        release = PPSM(alpha=alpha).release(secret, towns, predictor, ledger=ledger, purpose="audit")
        return release.released.values

    report = audit_mechanism(run, TRUTH, neighbour, claimed_epsilon=1.0, samples=SAMPLES)
    assert report.epsilon_lower_bound > 1.0
