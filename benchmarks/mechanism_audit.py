"""``python -m benchmarks.mechanism_audit``: the auditor on whole releases, with many runs.

Every mechanism releases two neighbouring vectors of a tiny market again and again: ledger, secure noise, all
five steps. The auditor looks at everything that is shared: all numbers of the dossier (the noisy entries and
total and the released vector are among them), but for times and the ledger's counter. Nothing above epsilon
may be found. Then faults are planted (:data:`FAULTS`); each must be found. A miss ends the command with an
error.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.tiny_market import TinyMarket
from ppsm import Ledger, Sensitive, audit_mechanism
from ppsm.arrays import FloatArray
from ppsm.mechanism import PPSM, Dossier, Laplace, PPSM_p, Predictor, Release
from ppsm.privacy import AuditReport, LaplaceMechanism
from ppsm.privacy.noise import ExactLaplace

DATASET, ALPHA, EPSILON = "tiny/audit", 1.0, 1.0
ORDERS = np.array([8.0, 5.5, 6.0])
NEIGHBOUR = ORDERS + np.array([0.0, ALPHA, 0.0])
# What depends on the clock, or counts the runs.
_UNSEEN = ("seconds", "cpu_seconds", "time", "sequence", "entry_hash")
MECHANISMS: dict[str, Laplace] = {
    "laplace": Laplace(alpha=ALPHA),
    "ppsm-p, entries alone": PPSM_p(alpha=ALPHA, total_share=0.0),
    "ppsm, entries alone": PPSM(alpha=ALPHA, total_share=0.0),
    "ppsm, total measured": PPSM(alpha=ALPHA, total_share=0.5),
}
Run = Callable[[FloatArray], FloatArray]


def shared_numbers(content: Any) -> list[float]:
    """Every number of a JSON document in its order; nothing counts as one, so that lengths stay the same."""
    if isinstance(content, dict):
        seen = [value for name, value in content.items() if name not in _UNSEEN]
        return [number for value in seen for number in shared_numbers(value)]
    if isinstance(content, list):
        return [number for value in content for number in shared_numbers(value)]
    if content is None or isinstance(content, int | float):
        return [float(content or 0.0)]
    return []


def seen_of(dossier: Dossier) -> FloatArray:
    """What an attacker sees: all that a dossier says; the total beside each entry, where noise may cancel."""
    numbers = shared_numbers(json.loads(dossier.to_json()))
    total = dossier.noisy.total or 0.0
    return np.concatenate([numbers, total - dossier.noisy.values])


class Pipeline:
    """Whole private releases of the tiny market, charged to a ledger of their own."""

    def __init__(self, directory: Path) -> None:
        self.market = TinyMarket()
        self.ledger = Ledger.create(directory / "ledger.db")
        self.ledger.grant(DATASET, epsilon=1e9, alpha=ALPHA, unit=self.market.unit)

    def release(self, mechanism: Laplace, values: FloatArray, predictor: Predictor | None = None) -> Release:
        """One release."""
        names = self.market.entry_names
        secret = Sensitive(values, dataset=DATASET, unit=self.market.unit, entry_names=names)
        return mechanism.release(secret, self.market, predictor, ledger=self.ledger, purpose="audit")

    def shared(self, mechanism: Laplace, values: FloatArray) -> FloatArray:
        """Everything that is shared of one release."""
        release = self.release(mechanism, values)
        dossier = release.dossier.with_evaluation(self.market.clear(release.released.values))
        return seen_of(dossier)


def audited(run: Run, samples: int, confidence: float = 0.999) -> AuditReport:
    """The auditor's report on the two neighbours."""
    return audit_mechanism(
        run, ORDERS, NEIGHBOUR, claimed_epsilon=EPSILON, samples=samples, confidence=confidence
    )


def uncharged_total(pipeline: Pipeline) -> Run:
    """Entries with all of epsilon, and the total with twice as much: three times what is charged."""
    total = LaplaceMechanism(alpha=ALPHA, epsilon=2.0 * EPSILON)

    def run(values: FloatArray) -> FloatArray:
        noisy = pipeline.release(MECHANISMS["laplace"], values).released.values
        return np.concatenate([noisy, total.perturb_public([values.sum()])])

    return run


def reused_draw(pipeline: Pipeline) -> Run:
    """The noise of the first entry serves for the total again: their difference has none."""

    class Reusing(ExactLaplace):
        last: float = 0.0

        def add_to(self, values: FloatArray) -> FloatArray:
            if self.size == 1:
                return values + Reusing.last * self.scale
            noisy = super().add_to(values)
            Reusing.last = float(noisy[0] - values[0]) / self.scale
            return noisy

    def run(values: FloatArray) -> FloatArray:
        with patch("ppsm.privacy.laplace.ExactLaplace", Reusing):
            return pipeline.shared(MECHANISMS["ppsm, total measured"], values)

    return run


def true_figure(pipeline: Pipeline) -> Run:
    """The dossier's evaluation clears the market with the true vector."""

    def run(values: FloatArray) -> FloatArray:
        release = pipeline.release(MECHANISMS["ppsm, total measured"], values)
        return seen_of(release.dossier.with_evaluation(pipeline.market.clear(values)))

    return run


FAULTS: dict[str, Callable[[Pipeline], Run]] = {
    "a total measured without a charge": uncharged_total,
    "a reused draw": reused_draw,
    "a figure of the true data in the dossier": true_figure,
}


@contextlib.contextmanager
def pipeline() -> Iterator[Pipeline]:
    """A pipeline with a ledger in a directory that goes with it."""
    with tempfile.TemporaryDirectory() as directory:
        yield Pipeline(Path(directory))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000, help="runs on each of the two inputs")
    parser.add_argument("--only", default=None, help=f"one of: {', '.join((*MECHANISMS, *FAULTS))}")
    arguments = parser.parse_args()
    right = True
    with pipeline() as whole:
        honest: dict[str, Run] = {name: partial(whole.shared, each) for name, each in MECHANISMS.items()}
        planted = {name: plant(whole) for name, plant in FAULTS.items()}
        for name, run in {**honest, **planted}.items():
            if arguments.only not in (None, name):
                continue
            # A planted fault shows with fewer runs.
            samples = arguments.samples if name in honest else min(arguments.samples, 5000)
            started, spent = time.process_time(), whole.ledger.balance(DATASET).spent
            report = audited(run, samples)
            charged = float(whole.ledger.balance(DATASET).spent - spent) / (2 * samples)
            is_right = report.passes == (name in honest) and abs(charged - EPSILON) < 1e-12
            right &= is_right
            print(
                f"{name:<42} {'right' if is_right else 'WRONG'}: epsilon >= "
                f"{report.epsilon_lower_bound:.3f} shown, {charged:g} charged; {samples} runs per input, "
                f"{time.process_time() - started:.0f} CPU s",
                flush=True,
            )
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
