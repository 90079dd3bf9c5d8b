"""``python -m benchmarks.trades``: traffic and port power, how noise breaks the game; a picture each."""

import argparse
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.report import Table
from ppsm import PPSM, GameCoordination, Laplace, PublicOutcome, Sensitive, StackelbergGame
from ppsm.examples import port_game, traffic_game
from ppsm.figures import save_figure
from ppsm.figures.colours import BLUE, ORANGE, VERMILION
from ppsm.figures.style import new_figure
from ppsm.privacy import simulated_publication

GAMES: dict[str, tuple[Callable[[], StackelbergGame], str, tuple[float, ...]]] = {
    "traffic": (traffic_game, "trips", (20.0, 50.0, 100.0, 200.0)),
    "port": (port_game, "MW", (0.2, 0.5, 1.0, 2.0)),
}
ENDS = ("the original cost", "another cost", "no decision left")
FIRST_SEED = 9000  # not used before
Counts = dict[tuple[float, str], tuple[int, int, int]]


def counted(name: str, draws: int) -> Counts:
    """How the draws end, for each alpha and mechanism, in the order of ``ENDS``."""
    build, unit, alphas = GAMES[name]
    game = build()
    market, truth = GameCoordination(game, unit=unit), game.follower.nominal
    figures = market.market_result(truth)
    secret = Sensitive(truth, dataset=name, unit=unit, entry_names=market.entry_names)
    published = simulated_publication(figures, dataset=name)
    counts: Counts = {}
    for alpha in alphas:
        for mechanism in (Laplace(alpha=alpha), PPSM(alpha=alpha)):
            ends = [0, 0, 0]
            for seed in range(FIRST_SEED, FIRST_SEED + draws):
                release = mechanism.simulate(secret, market, PublicOutcome(published, seed=seed), seed=seed)
                cost = market.clear(release.released.values).leader_cost
                same = cost is not None and abs(cost - figures.leader_cost) < 1e-6
                ends[2 if cost is None else 0 if same else 1] += 1
            counts[alpha, mechanism.name] = (ends[0], ends[1], ends[2])
    return counts


def picture(counts: Counts, unit: str) -> Figure:
    """One bar for each alpha and mechanism."""
    figure = new_figure(8.0, 3.6)
    axes = figure.subplots()
    labels = [f"{mechanism}\n{alpha:g} {unit}" for alpha, mechanism in counts]
    below = [0] * len(labels)
    for place, (end, colour) in enumerate(zip(ENDS, (BLUE, ORANGE, VERMILION), strict=True)):
        heights = [each[place] for each in counts.values()]
        axes.bar(labels, heights, bottom=below, color=colour, label=end)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set_ylabel("draws")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--pictures", type=Path, default=Path("docs/assets"))
    options = parser.parse_args()
    for name, (_, unit, _) in GAMES.items():
        counts = counted(name, options.draws)
        rows = tuple((alpha, mechanism, *ends) for (alpha, mechanism), ends in counts.items())
        print(Table(name, ("alpha", "mechanism", *ENDS), rows))
        save_figure(picture(counts, unit), options.pictures / f"{name}.svg")


if __name__ == "__main__":
    main()
