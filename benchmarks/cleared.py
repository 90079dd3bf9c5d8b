"""``python -m benchmarks.cleared``: how often the leader can act on what was released, over small games.

Games of the package and random ones of four kinds: a ceiling on prices, even prices, a budget for what the
follower spends, and capacity that the leader must leave unused. Each is released with several alphas, with
each mechanism, with the figures of the true data published and with nothing published, with and without
public bounds; then the game is played on the released vector as anybody would who has read it from a file
(seven digits). Seeds are those of no tuning run from ``--first-seed`` on.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import linopy
import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.report import Table
from ppsm import PPSM, Follower, GameCoordination, Laplace, PPSM_p, PublicOutcome, Sensitive, StackelbergGame
from ppsm.arrays import FloatArray
from ppsm.examples import freight_game, permit_game, port_game, traffic_game, water_game
from ppsm.privacy import simulated_publication

DATASET = "benchmark/cleared"
DIGITS = 7
SHARES = (0.1, 0.2, 0.4)
"""Alpha as shares of the mean entry."""
Ways = dict[str, tuple[type[Laplace], bool]]
WAYS: Ways = {
    "laplace": (Laplace, False),
    "ppsm-p, published": (PPSM_p, True),
    "ppsm, published": (PPSM, True),
    "ppsm-p": (PPSM_p, False),
    "ppsm": (PPSM, False),
}


def line_game() -> StackelbergGame:
    """The game of the README: a line to a town that would burn oil."""
    market = linopy.Model()
    imports, oil = (market.add_variables(lower=0, name=name) for name in ("imports", "oil"))
    market.add_constraints(imports + oil == 50, name="demand")
    market.add_constraints(1 * imports <= 5, name="line")
    market.add_objective(10 * imports + 30 * oil)
    game = StackelbergGame(Follower.from_linopy(market, parameter="demand"))
    built = game.leader.add_variables(binary=True, name="built")
    game.raise_right_hand_side("line", 60 * built)
    game.leader.add_constraints(game.price("demand") <= 25)
    game.leader.add_objective(40 * built)
    return game


def investor_game(cap: float = 100.0) -> StackelbergGame:
    """The investor of docs/price-cap-investor.md, who builds as cheaply as the cap on prices lets it."""
    hours = pd.Index(["night", "day", "peak"], name="hour")
    rivals = pd.Index(["coal", "gas", "diesel"], name="rival")
    projects = pd.Index(["wind", "solar", "turbine"], name="project")
    usable = xr.DataArray(
        [[60.0, 45.0, 30.0], [0.0, 70.0, 20.0], [90.0, 90.0, 90.0]], coords=[projects, hours]
    )
    most = xr.DataArray([320.0, 150.0, 200.0], coords=[rivals])
    market = linopy.Model()
    bought = market.add_variables(lower=0, upper=most, coords=[rivals, hours], name="bought")
    ours = market.add_variables(lower=0, coords=[projects, hours], name="ours")
    demand = xr.DataArray([300.0, 450.0, 560.0], coords=[hours])
    market.add_constraints(bought.sum("rival") + ours.sum("project") == demand, name="balance")
    market.add_constraints(1 * ours <= 0 * usable, name="built")
    costs = (xr.DataArray([30.0, 55.0, 140.0], coords=[rivals]) * bought).sum()
    market.add_objective(costs + (xr.DataArray([0.0, 0.0, 48.0], coords=[projects]) * ours).sum())
    game = StackelbergGame(Follower.from_linopy(market, parameter="balance"))
    build = game.leader.add_variables(binary=True, coords=[projects], name="build")
    game.raise_right_hand_side("built", usable * build)
    game.leader.add_constraints(game.price("balance") <= cap, name="cap")
    game.leader.add_objective((xr.DataArray([13.0, 12.0, 7.0], coords=[projects]) * build).sum())
    return game


def random_game(kind: str, seed: int) -> StackelbergGame:
    """Places on a line with supply in steps; the leader adds to the cheapest supply of each.

    Which it may add, and what it must keep, depends on the kind.
    """
    rng = np.random.default_rng((seed, len(kind)))
    count = int(rng.integers(2, 5))
    places = pd.Index([f"place{i}" for i in range(count)], name="place")
    links = pd.Index([f"link{i}" for i in range(count - 1)], name="link")
    steps = pd.Index(["cheap", "dear", "last"], name="step")
    demand = rng.uniform(30.0, 80.0, count).round(1)
    cost = np.array([[20.0], [60.0], [200.0]]) * rng.uniform(0.8, 1.2, (3, count)).round(2)
    limit = np.array([[0.6], [0.5], [10.0]]) * demand * rng.uniform(0.7, 1.3, (3, count))
    market = linopy.Model()
    by_step = [steps, places]
    supply = market.add_variables(
        lower=0, upper=xr.DataArray(limit.round(1), coords=by_step), coords=by_step, name="supply"
    )
    added = market.add_variables(lower=0, coords=[places], name="added")
    flow = market.add_variables(lower=-12, upper=12, coords=[links], name="flow")
    ends = np.array(
        [[float(i == j + 1) - float(i == j) for j in range(count - 1)] for i in range(count)]
    ).reshape(count, count - 1)
    arriving = (flow * xr.DataArray(ends, coords=[places, links])).sum("link")
    wanted = xr.DataArray(demand, coords=[places])
    market.add_constraints(supply.sum("step") + added + arriving == wanted, name="demand")
    market.add_constraints(1 * added <= 0, name="room")
    spent = (supply * xr.DataArray(cost, coords=by_step)).sum() + 25 * added.sum()
    market.add_objective(spent)
    game = StackelbergGame(Follower.from_linopy(market, parameter="demand"))
    size = xr.DataArray((0.35 * demand).round(1), coords=[places])
    rent = xr.DataArray(rng.uniform(5.0, 20.0, count).round(1), coords=[places])
    if kind == "capacity":
        room = game.leader.add_variables(lower=0, upper=2 * size, coords=[places], name="build")
        game.raise_right_hand_side("room", room)
    else:
        room = game.leader.add_variables(lower=0, upper=1, integer=True, coords=[places], name="build")
        game.raise_right_hand_side("room", size * room)
    price = game.price("demand")
    _hold(game, kind, rng, price, cost, demand, size)
    game.leader.add_objective((rent * room).sum())
    return game


def _hold(
    game: StackelbergGame,
    kind: str,
    rng: np.random.Generator,
    price: linopy.Variable,
    cost: FloatArray,
    demand: FloatArray,
    size: xr.DataArray,
) -> None:
    """What the leader has promised."""
    if kind in ("ceiling", "capacity"):
        game.leader.add_constraints(price <= float(rng.uniform(30.0, 45.0)), name="ceiling")
    if kind == "capacity":
        # Of what it adds a part must stay unused.
        used = game.response("added").sum()
        game.leader.add_constraints(used <= 0.8 * float(size.sum()), name="spare")
    if kind == "even":
        for one, other in zip(price.indexes["place"][:-1], price.indexes["place"][1:], strict=True):
            difference = price.sel(place=one, drop=True) - price.sel(place=other, drop=True)
            game.leader.add_constraints(difference <= 10.0, name=f"not dearer in {one}")
            game.leader.add_constraints(difference >= -10.0, name=f"not cheaper in {one}")
    if kind == "budget":
        supply = game.response("supply")
        worth = (supply * xr.DataArray(cost, coords=[supply.indexes["step"], supply.indexes["place"]])).sum()
        most = float(rng.uniform(25.0, 32.0)) * float(demand.sum())
        game.leader.add_constraints(worth + 25 * game.response("added").sum() <= most, name="budget")


@dataclass(frozen=True, eq=False)
class Played:
    """A game with its true vector."""

    name: str
    game: StackelbergGame
    truth: FloatArray

    def market(self, *, bounded: bool) -> GameCoordination:
        """With no public bounds but 0, or with half and twice the true entries."""
        bounds = (0.5 * self.truth, 2.0 * self.truth) if bounded else None
        return GameCoordination(self.game, unit="MW", bounds=bounds)


NAMED: dict[str, Callable[[], StackelbergGame]] = {
    "freight": freight_game,
    "water": water_game,
    "permit": permit_game,
    "port": port_game,
    "traffic": traffic_game,
    "line": line_game,
    "investor": investor_game,
}
KINDS = {
    "ceiling": (0, 3, 4, 7, 8, 10, 12, 17),
    "even": (16, 21, 24, 27, 44, 51, 77, 89),
    "budget": (0, 1, 2, 3, 4, 5, 6, 7),
    "capacity": (50, 58, 63, 100, 141, 214, 227, 232),
}
"""Seeds of each kind at which the game has an answer at its true vector, and one that costs the leader."""


def random_games(each: int) -> Iterator[Played]:
    """So many games of each kind."""
    for kind, seeds in KINDS.items():
        for seed in seeds[:each]:
            game = random_game(kind, seed)
            yield Played(f"{kind} {seed}", game, game.follower.nominal)


def named_games() -> Iterator[Played]:
    """The package's own, and two of its pages."""
    for name, build in NAMED.items():
        game = build()
        yield Played(name, game, game.follower.nominal)


Row = dict[str, float | int | str | bool | None]


def rows_of(played: Played, ways: Ways, seeds: range, *, bounded: bool) -> Iterator[Row]:
    """One row for each alpha, way and seed."""
    market, truth = played.market(bounded=bounded), played.truth
    figures = market.market_result(truth)
    secret = Sensitive(truth, dataset=DATASET, unit="MW", entry_names=market.entry_names)
    published = simulated_publication(figures, dataset=DATASET)
    for share in SHARES:
        alpha = float(f"{share * truth.mean():.2g}")
        for way, (mechanism, is_published) in ways.items():
            for seed in seeds:
                began = time.process_time()
                public = PublicOutcome(published, seed=seed) if is_published else None
                released = mechanism(alpha=alpha).simulate(secret, market, public, seed=seed).released.values
                seconds = time.process_time() - began
                cost = market.clear(_as_read(released)).leader_cost
                error = None if cost is None else abs(cost - figures.leader_cost) / abs(figures.leader_cost)
                yield {
                    "game": played.name,
                    "bounded": bounded,
                    "share": share,
                    "way": way,
                    "seed": seed,
                    "error": error,
                    "l1": float(np.abs(released - truth).sum()),
                    "cpu_s": seconds,
                }


def _as_read(values: FloatArray) -> FloatArray:
    """A vector as somebody has it who wrote down so many digits."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])


def table(rows: list[Row], games: str, *, bounded: bool) -> Table:
    """Draws that were cleared, of all, and the mean error of the leader's cost in those."""
    lines = []
    for game, share in sorted({(str(row["game"]), float(row["share"] or 0)) for row in rows}):
        cells: list[str | float] = [game, share]
        for way in WAYS:
            own = [row for row in rows if (row["game"], row["share"], row["way"]) == (game, share, way)]
            own = [row for row in own if row["bounded"] == bounded]
            errors = [float(row["error"]) for row in own if row["error"] is not None]
            mean = f", {np.mean(errors):.1%}" if errors else ""
            cells.append(f"{len(errors)} of {len(own)}{mean}")
        lines.append(tuple(cells))
    title = f"{games}, {'half to twice the true entries are public' if bounded else 'no public bounds'}"
    return Table(title, ("game", "alpha / mean entry", *WAYS), tuple(lines))


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--each", type=int, default=3, help="random games of each kind")
    parser.add_argument("--first-seed", type=int, default=7000)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--rows", type=Path, default=Path("out/cleared.jsonl"))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    ways = {name: WAYS[name] for name in options.ways}
    seeds = range(options.first_seed, options.first_seed + options.draws)
    with options.rows.open("w") as file:
        for played in (*named_games(), *random_games(options.each)):
            for bounded in (False, True):
                for row in rows_of(played, ways, seeds, bounded=bounded):
                    file.write(json.dumps(row) + "\n")
                file.flush()
    rows = [json.loads(line) for line in options.rows.read_text().splitlines()]
    for bounded in (False, True):
        print(table(rows, "cleared, and mean error", bounded=bounded))


if __name__ == "__main__":
    main()
