"""The auditor on whole releases, not only on the noise: honest steps pass, a step that peeks is caught.

``python -m benchmarks.mechanism_audit`` does the same with more runs and for every mechanism.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ppsm import Ledger, Released, Sensitive, audit_mechanism
from ppsm.arrays import FloatArray
from ppsm.coordinations import GameCoordination
from ppsm.mechanism import PPSM, Coordination, Decision, PublicOutcome
from ppsm.privacy import AuditReport, Publication

from .conftest import DATASET, TRUTH, published

ALPHA, SAMPLES = 5.0, 200
NEIGHBOUR = (TRUTH[0] + ALPHA, TRUTH[1])


class Peeking:
    """M_F with access to the true vector: it predicts the value that the market will really have."""

    name = "peeking"

    def __init__(self, honest: PublicOutcome) -> None:
        self.honest = honest
        self.true_value = 0.0

    @property
    def publication(self) -> Publication | None:
        return self.honest.publication

    def predict_prices(self, noisy: Released, coordination: Coordination) -> FloatArray:
        return self.honest.predict_prices(noisy, coordination)

    def predict_outcome(
        self, noisy: Released, decision: Decision, coordination: Coordination
    ) -> tuple[float, FloatArray]:
        _, prices = self.honest.predict_outcome(noisy, decision, coordination)
        return self.true_value, prices


@pytest.fixture
def rich_ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(tmp_path / "audit.db")
    ledger.grant(DATASET, epsilon=1e6, alpha=ALPHA, unit="MWh")
    return ledger


@pytest.fixture
def honest(towns: GameCoordination, rich_ledger: Ledger) -> PublicOutcome:
    return PublicOutcome(published(towns, rich_ledger), seed=1)


def audited(run: Callable[[FloatArray], FloatArray]) -> AuditReport:
    return audit_mechanism(run, TRUTH, NEIGHBOUR, claimed_epsilon=1.0, samples=SAMPLES)


def test_the_whole_pipeline_passes(
    towns: GameCoordination, honest: PublicOutcome, rich_ledger: Ledger
) -> None:
    """Real releases: ledger, secure noise, all five steps."""

    def run(values: FloatArray) -> FloatArray:
        data = Sensitive(values, dataset=DATASET, unit="MWh", entry_names=towns.entry_names)
        release = PPSM(alpha=ALPHA).release(data, towns, honest, ledger=rich_ledger, purpose="audit")
        return release.released.values

    report = audited(run)
    assert report.passes, report.findings
    assert report.epsilon_lower_bound <= 1.0


def test_a_step_that_peeks_at_the_data_is_caught(
    towns: GameCoordination, honest: PublicOutcome, rich_ledger: Ledger
) -> None:
    leak = Peeking(honest)

    def run(values: FloatArray) -> FloatArray:
        leak.true_value = float(np.sum(values))
        data = Sensitive(values, dataset=DATASET, unit="MWh", entry_names=towns.entry_names)
        release = PPSM(alpha=ALPHA).release(data, towns, leak, ledger=rich_ledger, purpose="audit")
        return release.released.values

    report = audited(run)
    assert not report.passes
    assert report.epsilon_lower_bound > 1.5


def test_two_neighbours_with_publications_of_their_own_are_told_apart(
    towns: GameCoordination, rich_ledger: Ledger
) -> None:
    """Why the promise is conditional beside published figures: the release is made to agree with them."""
    own = {truth: PublicOutcome(published(towns, rich_ledger, truth), seed=1) for truth in (TRUTH, NEIGHBOUR)}

    def run(values: FloatArray) -> FloatArray:
        secret = Sensitive(values, dataset=DATASET, unit="MWh", entry_names=towns.entry_names)
        predictor = own[tuple(map(float, values))]  # type: ignore[index]
        release = PPSM(alpha=ALPHA).release(secret, towns, predictor, ledger=rich_ledger, purpose="audit")
        return release.released.values

    report = audited(run)
    assert report.epsilon_lower_bound > 1.0
