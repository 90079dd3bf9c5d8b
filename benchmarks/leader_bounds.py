"""``python -m benchmarks.leader_bounds``: how well anybody can tell the leader's cost within the promise.

On the Northeast, in cells where the leader feels what gas costs: along a chain of demands, of which each
differs from the next in one entry by alpha, the game is solved as exactly as there is time for. Whatever the
optima are between what was found and what is proven, no release is less off than
:func:`benchmarks.least_error.least_relative_error` says, on some demand of the chain. Bounds of several cells
add up, since each cell has a demand of its own; over all cells of the grid they bound the mean.

What was solved is kept in a file, one row a game, so that a run goes on where it was stopped and bounds are
read off without solving anything again (``--games 0``).
"""

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.least_error import least_relative_error
from benchmarks.measurements import Market
from ppsm.cases import load_case
from ppsm.markets import GasAwareCommitment

# Where the leader holds plants back to stay below a step of supply, or pays for it.
FELT = ((0.42, 0.9), (0.48, 0.7), (0.36, 0.7))
GRID_CELLS = 42
ALPHA = 100.0
# Of the leader's cost, of which differences of a few tenths of a per cent are looked at.
GAP = 2e-4
KEPT = Path("results/leader-chains.csv")


@dataclass(frozen=True)
class Solved:
    """The game at one demand: so many steps of alpha from that of the case, and what is known of its cost."""

    alpha_mwh: float
    power_stress: float
    gas_stress: float
    step: int
    proven_usd: float
    found_usd: float

    @property
    def chain(self) -> tuple[float, float, float]:
        """What it is one of."""
        return self.alpha_mwh, self.power_stress, self.gas_stress


def read(file: Path) -> list[Solved]:
    """All that was solved; nothing where there is no file yet."""
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    return [
        Solved(float(alpha), float(power), float(gas), int(step), float(proven), float(found))
        for alpha, power, gas, step, proven, found in rows
    ]


def keep(file: Path, row: Solved) -> None:
    """Add a row."""
    is_new = not file.exists()
    with file.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, [each.name for each in fields(Solved)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(row))


def bound(rows: list[Solved]) -> float:
    """Per cent of the leader's cost that any release is off by on some demand of a chain.

    Only demands that hang together with that of the case count: between others there is no promise.
    """
    known = {row.step: row for row in rows}
    below, above = (list(_until_missing(known, way)) for way in (-1, 1))
    chain = [known[step] for step in (*below[::-1], 0, *above)]
    low = np.array([row.proven_usd for row in chain])
    high = np.array([row.found_usd for row in chain])
    return 100.0 * max(least_relative_error(low, high, 1.0), 0.0)


def _until_missing(known: dict[int, Solved], way: int) -> Iterator[int]:
    step = way
    while step in known:
        yield step
        step += way


def bounds(rows: list[Solved]) -> dict[tuple[float, float, float], float]:
    """The bound of every chain of which the demand of the case was solved."""
    chains = dict.fromkeys(row.chain for row in rows if row.step == 0)
    return {chain: bound([row for row in rows if row.chain == chain]) for chain in chains}


def solve(file: Path, games: int, seconds: float) -> None:
    """Solve so many games that are not in the file yet, each for as long at most."""
    solver = GasAwareCommitment(load_case("northeast"))
    known = {(row.chain, row.step) for row in read(file)}
    for cell in FELT:
        market = Market(*cell)
        demands = {0: market.demand}
        for way in (-1, 1):
            demands |= {way * (k + 1): each for k, each in enumerate(market.moved(way * ALPHA))}
        for step, demand in demands.items():
            if ((ALPHA, *cell), step) in known or games == 0:
                continue
            games -= 1
            found = solver.solve(market.power_stress, demand, gap=GAP, time_limit=seconds)
            if found.bound_usd is not None and found.leader_cost_usd is not None:
                keep(file, Solved(ALPHA, *cell, step, found.bound_usd, found.leader_cost_usd))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=-1, help="how many to solve; all that are missing")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each game, by the clock")
    parser.add_argument("--file", type=Path, default=KEPT)
    options = parser.parse_args()
    if options.games:
        solve(options.file, options.games, options.seconds)
    found = bounds(read(options.file))
    for (alpha, power, gas), least in found.items():
        print(f"{alpha:g} MWh, {power:+.0%} / {gas:+.0%}: leader off by {_down(least)} % at the least")
    print(f"mean of {GRID_CELLS} cells: {_down(sum(found.values()) / GRID_CELLS)} % at the least")


def _down(bound: float) -> str:
    """A bound with five digits after the point, and never more than it is."""
    return f"{math.floor(1e5 * bound) / 1e5:.5f}"


if __name__ == "__main__":
    main()
