"""``python -m benchmarks.fidelity_batches``: what draws on one market share, on the Northeast's gas market.

Each draw is restored twice, in CPU seconds of one core: by a restorer made for it alone, and by one that is
kept for all draws of its cell.
"""

import argparse
import time

import numpy as np

from benchmarks.fidelity_cells import ALPHAS_MWH, Cell, Instance, draw, northeast_cells
from ppsm.fidelity import Restorer, SearchLimits


def seconds_of(instance: Instance, limit: float, kept: Restorer | None = None) -> float:
    """CPU seconds of a draw; without a restorer that is kept, its own is part of them."""
    started = time.process_time()
    restorer = kept or Restorer(instance.cell.follower)
    bounds = 0.0, instance.cell.largest
    restorer.restore(instance.released, instance.bands, bounds, limits=SearchLimits(seconds=limit))
    return time.process_time() - started


def batch(cells: list[Cell], instances: list[Instance], limit: float) -> tuple[float, float, float]:
    """Medians of single draws and of those in a batch, and of the second as a share of the first."""
    kept = {cell: Restorer(cell.follower) for cell in cells}
    single = np.array([seconds_of(one, limit) for one in instances])
    shared = np.array([seconds_of(one, limit, kept[one.cell]) for one in instances])
    return float(np.median(single)), float(np.median(shared)), float(np.median(shared / single))


def main() -> None:
    """Measure both variants at each alpha."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fidelity_batches", description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws per cell and alpha")
    parser.add_argument("--first-draw", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of one draw, in CPU seconds")
    options = parser.parse_args()
    time.perf_counter = time.process_time
    cells = northeast_cells()
    for variant, prices in (("PPSM", True), ("PPSM_p", False)):
        instances = draw(cells, options.draws, prices=prices, first=options.first_draw)
        for alpha in ALPHAS_MWH:
            chosen = [one for one in instances if one.alpha_mwh == alpha]
            single, shared, share = batch(cells, chosen, options.seconds)
            print(
                f"{variant:<6} alpha {alpha:>4g} MWh, {len(chosen)} draws: single {1e3 * single:.1f} ms, "
                f"in a batch {1e3 * shared:.1f} ms, share {share:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
