"""``make audit``: the auditor on whole releases, a hundred thousand of each mechanism.

Every mechanism releases two neighbouring vectors of a tiny market again and again: ledger, secure noise, all
five steps. The auditor looks at everything that is shared: all numbers and texts of the dossier (the noisy
entries and totals and the released vector are among them), but for times and the ledger's name and hashes.
Nothing above epsilon may be found. Then faults are planted (:data:`FAULTS`); each must be found. A miss ends
the command with an error.

What releases share is kept in files, a thousand releases in each, so that an audit goes on where it was
interrupted; after a change of the mechanism begin with an empty directory.
"""

import argparse
import contextlib
import csv
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.tiny_market import TinyMarket
from ppsm import Ledger, Sensitive
from ppsm.arrays import FloatArray
from ppsm.mechanism import PPSM, Dossier, Laplace, PPSM_p, Predictor, Release
from ppsm.privacy import LaplaceMechanism
from ppsm.privacy.audits.mechanism_audit import AuditReport, audit_outputs
from ppsm.privacy.noise import ExactLaplace

DATASET, ALPHA, EPSILON = "tiny/audit", 1.0, 1.0
ORDERS = np.array([8.0, 5.5, 6.0])
NEIGHBOUR = ORDERS + np.array([0.0, ALPHA, 0.0])
# What depends on the clock or on the ledger's own randomness.
_UNSEEN = ("seconds", "cpu_seconds", "time", "ledger", "entry_hash")
MECHANISMS: dict[str, Laplace] = {
    "ppsm, totals measured": PPSM(alpha=ALPHA, total_share=0.5),
    "laplace": Laplace(alpha=ALPHA),
    "ppsm-p, totals measured": PPSM_p(alpha=ALPHA, total_share=0.5),
    "ppsm, entries alone": PPSM(alpha=ALPHA, total_share=0.0),
    "ppsm-p, entries alone": PPSM_p(alpha=ALPHA, total_share=0.0),
}
# A planted fault shows with fewer runs.
_RUNS_OF_A_FAULT = 5000
_RUNS_IN_A_FILE = 500
Run = Callable[["Pipeline", FloatArray], FloatArray]


def shared_numbers(content: Any) -> list[float]:
    """Everything in a JSON document as numbers, in its order; nothing is one too: lengths stay the same.

    A text becomes its checksum: one that says something of the secret without noise is the same in many runs.
    """
    if isinstance(content, dict):
        seen = [value for name, value in content.items() if name not in _UNSEEN]
        return [number for value in seen for number in shared_numbers(value)]
    if isinstance(content, list):
        return [number for value in content for number in shared_numbers(value)]
    if isinstance(content, str):
        return [float(zlib.crc32(content.encode()))]
    return [float(content or 0.0)]


def seen_of(dossier: Dossier) -> FloatArray:
    """What an attacker sees: all that a dossier says; totals beside each entry, where noise may cancel."""
    numbers, noisy = shared_numbers(dossier.to_dict()), dossier.noisy
    beside = [total - noisy.values for total in noisy.totals or (0.0,)]
    return np.concatenate([numbers, *beside])


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

    @property
    def spent(self) -> float:
        """What was charged so far."""
        return float(self.ledger.balance(DATASET).spent)


def shared(mechanism: Laplace, whole: Pipeline, values: FloatArray) -> FloatArray:
    """Everything that is shared of one release."""
    release = whole.release(mechanism, values)
    return seen_of(release.dossier.with_evaluation(whole.market.clear(release.released.values)))


def uncharged_total(whole: Pipeline, values: FloatArray) -> FloatArray:
    """Entries with all of epsilon, and the total with as much: twice what is charged."""
    total = LaplaceMechanism(alpha=ALPHA, epsilon=EPSILON)
    noisy = shared(MECHANISMS["laplace"], whole, values)
    return np.concatenate([noisy, total.perturb_public([values.sum()])])


def reused_draw(whole: Pipeline, values: FloatArray) -> FloatArray:
    """The noise of the first entry serves for the totals again: their difference has none."""

    class Reusing(ExactLaplace):
        last: float = 0.0

        def add_to(self, values: FloatArray) -> FloatArray:
            if self.size == len(set(TinyMarket.public_zones)):
                return values + Reusing.last * self.scale
            noisy = super().add_to(values)
            Reusing.last = float(noisy[0] - values[0]) / self.scale
            return noisy

    with patch("ppsm.privacy.laplace.ExactLaplace", Reusing):
        return shared(MECHANISMS["ppsm, totals measured"], whole, values)


def true_figure(whole: Pipeline, values: FloatArray) -> FloatArray:
    """The dossier's evaluation clears the market with the true vector."""
    release = whole.release(MECHANISMS["ppsm, totals measured"], values)
    return seen_of(release.dossier.with_evaluation(whole.market.clear(values)))


HONEST: dict[str, Run] = {name: partial(shared, each) for name, each in MECHANISMS.items()}
FAULTS: dict[str, Run] = {
    "a total measured without a charge": uncharged_total,
    "a reused draw": reused_draw,
    "a figure of the true data in the dossier": true_figure,
}


@contextlib.contextmanager
def pipeline() -> Iterator[Pipeline]:
    """A pipeline with a ledger in a directory that goes with it."""
    with tempfile.TemporaryDirectory() as directory:
        yield Pipeline(Path(directory))


def outputs_of(run: Run, values: FloatArray, runs: int) -> FloatArray:
    """What so many releases share, one a row; each must have been charged exactly epsilon.

    The ledger is a new one, so that the n-th release of one input has spent what that of the other has: what
    releases say of the past must not tell the inputs apart.
    """
    with pipeline() as whole:
        found = np.stack([run(whole, values.copy()) for _ in range(runs)])
        if abs(whole.spent - runs * EPSILON) > 1e-9 * runs:
            raise AssertionError(f"{runs} releases were charged {whole.spent}, expected epsilon each.")
    return found


def audited(run: Run, samples: int) -> AuditReport:
    """The auditor's report on the two neighbours, with nothing kept."""
    first, second = (outputs_of(run, values, samples) for values in (ORDERS, NEIGHBOUR))
    return audit_outputs(first, second, claimed_epsilon=EPSILON)


@dataclass(frozen=True)
class Finding:
    """A line of the audit's table."""

    what: str
    runs_per_input: int
    epsilon_charged: float
    epsilon_shown: float
    statistic: str
    confidence: float
    right: bool
    cpu_seconds: int


def audited_from_files(name: str, samples: int, directory: Path) -> Finding:
    """Make what is missing of the releases, then audit all of them."""
    run = {**HONEST, **FAULTS}[name]
    parts = []
    for number in range(-(-samples // _RUNS_IN_A_FILE)):
        path = directory / f"{name.replace(' ', '-').replace(',', '')}-{number:04d}.npz"
        if not path.exists():
            _make(path, run)
        with np.load(path) as kept:
            parts.append((kept["first"], kept["second"], float(kept["cpu_seconds"])))
    first, second = (np.concatenate([part[side] for part in parts])[:samples] for side in (0, 1))
    report = audit_outputs(first, second, claimed_epsilon=EPSILON)
    best = max(report.families, key=lambda bound: bound.epsilon_lower_bound)
    seconds = sum(part[2] for part in parts)
    return Finding(
        what=name,
        runs_per_input=samples,
        epsilon_charged=EPSILON,
        epsilon_shown=round(report.epsilon_lower_bound, 3),
        statistic=f"{best.family}, {best.statistic}",
        confidence=report.confidence,
        right=report.passes == (name in HONEST),
        cpu_seconds=round(seconds),
    )


def _make(path: Path, run: Run) -> None:
    started = time.process_time()
    first, second = (outputs_of(run, values, _RUNS_IN_A_FILE) for values in (ORDERS, NEIGHBOUR))
    draft = path.with_suffix(".draft.npz")
    np.savez_compressed(draft, first=first, second=second, cpu_seconds=time.process_time() - started)
    draft.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000, help="runs on each of the two inputs")
    parser.add_argument("--only", default=None, help=f"one of: {', '.join((*HONEST, *FAULTS))}")
    parser.add_argument(
        "--directory", type=Path, default=Path("results/audit"), help="where releases are kept"
    )
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    findings = []
    for name in (*FAULTS, *HONEST) if arguments.only is None else (arguments.only,):
        samples = arguments.samples if name in HONEST else min(arguments.samples, _RUNS_OF_A_FAULT)
        found = audited_from_files(name, samples, arguments.directory)
        findings.append(found)
        print(
            f"{name:<42} {'right' if found.right else 'WRONG'}: epsilon >= {found.epsilon_shown:.3f} shown "
            f"({found.statistic}), {found.epsilon_charged:g} charged; {samples} runs per input, "
            f"{found.cpu_seconds} CPU s",
            flush=True,
        )
    with (arguments.directory / "findings.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(findings[0])))
        writer.writeheader()
        writer.writerows(asdict(found) for found in findings)
    sys.exit(0 if all(found.right for found in findings) else 1)


if __name__ == "__main__":
    main()
