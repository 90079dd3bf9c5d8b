"""The auditor on whole releases, not only on the noise: honest steps pass, planted faults are caught.

``python -m benchmarks.mechanism_audit`` does the same with a hundred thousand runs and for every mechanism.
"""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.mechanism_audit import (
    FAULTS,
    HONEST,
    ORDERS,
    Pipeline,
    audited,
    audited_from_files,
    outputs_of,
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
RUNS = {"a total measured without a charge": 2500}


@pytest.mark.parametrize("name", ["laplace", "ppsm, totals measured"])
def test_the_whole_pipeline_passes(name: str) -> None:
    """Real releases: ledger, secure noise, all five steps; everything that is shared is looked at."""
    report = audited(HONEST[name], SAMPLES)
    assert report.passes, report.findings
    assert report.epsilon_lower_bound <= 1.0


def test_an_audit_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mechanism_audit._RUNS_IN_A_FILE", 100)
    audited_from_files("laplace", 200, tmp_path)
    kept, gone = sorted(tmp_path.iterdir())
    before = kept.read_bytes()
    gone.unlink()
    found = audited_from_files("laplace", 200, tmp_path)
    assert (found.right, found.runs_per_input, kept.read_bytes()) == (True, 200, before)
    assert gone.exists()


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name: str) -> None:
    report = audited(FAULTS[name], RUNS.get(name, SAMPLES))
    assert not report.passes
    assert report.epsilon_lower_bound > 1.0


def test_a_step_that_peeks_at_the_data_is_caught() -> None:
    class Peeking(ModelBased):
        """M_F with access to the true vector: it predicts the value that the market will really have."""

        true_value = 0.0

        def predict_outcome(
            self, noisy: Released, decision: Decision, coordination: FollowerSide
        ) -> tuple[float, FloatArray]:
            _, prices = super().predict_outcome(noisy, decision, coordination)
            return Peeking.true_value, prices

    def run(whole: Pipeline, values: FloatArray) -> FloatArray:
        Peeking.true_value = float(np.sum(values))
        return whole.release(PPSM_p(alpha=1.0, norm="l1"), values, Peeking()).released.values

    report = audited(run, SAMPLES)
    assert not report.passes
    assert report.epsilon_lower_bound > 1.5


def test_everything_shared_is_seen_but_for_clock_and_hashes() -> None:
    outputs = outputs_of(HONEST["ppsm, totals measured"], ORDERS, 3)
    assert np.isfinite(outputs).all()
    shared = {"a": [1, None, {"time": 5, "b": 2.5}], "seconds": 3, "entry_hash": "f", "c": True}
    assert shared_numbers(shared) == [1.0, 0.0, 2.5, 1.0]
    assert shared_numbers("towns ask for 19.5") != shared_numbers("towns ask for 20.5")


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
