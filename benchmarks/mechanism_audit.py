"""``python -m benchmarks.mechanism_audit``: the auditor on whole releases of a small game, with many runs.

Runs every mechanism on the freight game with two neighbouring order vectors (real releases: ledger, secure
noise, all five steps) and prints the largest loss that the outputs prove. Nothing above epsilon may be found.
"""

import argparse
import tempfile
import time
from pathlib import Path

from ppsm import Ledger, Sensitive, audit_mechanism
from ppsm.arrays import FloatArray
from ppsm.coordinations import GameCoordination
from ppsm.examples import freight_game
from ppsm.mechanism import PPSM, Laplace, PPSM_p, PublicOutcome
from ppsm.privacy import PublishedFigures, note_publication

DATASET, UNIT = "freight/audit", "containers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="runs on each of two inputs")
    parser.add_argument("--alpha", type=float, default=2.0)
    arguments = parser.parse_args()
    game = freight_game()
    orders = game.follower.nominal
    neighbour = orders.copy()
    neighbour[0] += arguments.alpha
    coordination = GameCoordination(game, unit=UNIT)
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger.create(Path(directory) / "ledger.db")
        ledger.grant(DATASET, epsilon=1e7, alpha=arguments.alpha, unit=UNIT)
        figures = PublishedFigures.rounded(
            coordination.market_result(orders),
            day="2026-01-15",
            source="market report",
            value_step=1.0,
            price_step=0.01,
        )
        predictor = PublicOutcome(note_publication(figures, dataset=DATASET, ledger=ledger), seed=1)
        for mechanism in (
            Laplace(alpha=arguments.alpha),
            PPSM_p(alpha=arguments.alpha),
            PPSM(alpha=arguments.alpha),
        ):

            def run(values: FloatArray, mechanism: Laplace = mechanism) -> FloatArray:
                secret = Sensitive(values, dataset=DATASET, unit=UNIT, entry_names=coordination.entry_names)
                release = mechanism.release(secret, coordination, predictor, ledger=ledger, purpose="audit")
                return release.released.values

            started = time.process_time()
            report = audit_mechanism(run, orders, neighbour, claimed_epsilon=1.0, samples=arguments.samples)
            print(
                f"{mechanism.name:<8} {'passed' if report.passes else 'FAILED'}: epsilon >= "
                f"{report.epsilon_lower_bound:.3f} shown, 1 claimed; {arguments.samples} runs per input, "
                f"{time.process_time() - started:.0f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()
