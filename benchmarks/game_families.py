"""Families of games by size, each with seeds to tune on and others that nobody tunes on."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.bidding_games import bidding_game
from benchmarks.engine import reservoir_game
from benchmarks.network_games import flow_interdiction, path_interdiction, toll_game
from benchmarks.random_games import integer_game, linear_game
from ppsm import BilevelProgram

FIRST_SEED = {"tuning": 0, "held-out": 1000}


@dataclass(frozen=True)
class Game:
    """One game: what it is called, and how to build it."""

    family: str
    size: str
    seed: int
    build: Callable[[], BilevelProgram]


@dataclass(frozen=True)
class Size:
    """A generator with all its arguments but the seed, which comes last."""

    words: str
    generator: Callable[..., BilevelProgram]
    arguments: tuple[float, ...]


FAMILIES: dict[str, tuple[Size, ...]] = {
    "toll": (
        Size("20 arcs, 2 groups", toll_game, (2, 3, 6, 2)),
        Size("50 arcs, 3 groups", toll_game, (3, 4, 16, 3)),
        Size("100 arcs, 5 groups", toll_game, (4, 6, 24, 5)),
        Size("150 arcs, 5 groups", toll_game, (5, 7, 34, 5)),
        Size("200 arcs, 5 groups", toll_game, (6, 8, 36, 5)),
    ),
    "bidding": (
        Size("14 buses, 1 hour", bidding_game, (14, 2, 1)),
        Size("14 buses, 3 hours", bidding_game, (14, 2, 3)),
        Size("30 buses, 1 hour", bidding_game, (30, 2, 1)),
        Size("30 buses, 3 hours", bidding_game, (30, 3, 3)),
        Size("57 buses, 1 hour", bidding_game, (57, 3, 1)),
        Size("57 buses, 3 hours", bidding_game, (57, 3, 3)),
        Size("118 buses, 1 hour", bidding_game, (118, 3, 1)),
    ),
    "linear": (
        Size("20 x 20, 20 rows", linear_game, (20, 20, 20, 0.4, 1.0)),
        Size("50 x 50, 40 rows", linear_game, (50, 50, 40, 0.3, 1.0)),
        Size("100 x 100, 80 rows", linear_game, (100, 100, 80, 0.3, 0.5)),
        Size("200 x 200, 150 rows", linear_game, (200, 200, 150, 0.1, 0.1)),
        Size("200 x 50, 300 rows", linear_game, (200, 50, 300, 0.1, 0.2)),
        Size("300 x 40, 500 rows", linear_game, (300, 40, 500, 0.1, 0.2)),
    ),
    "integer": (
        Size("10 integers, 10 rows", integer_game, (10, 10, 10, 0.3)),
        Size("10 integers, 20 rows", integer_game, (10, 20, 20, 0.3)),
        Size("15 integers, 30 rows", integer_game, (15, 15, 30, 0.2)),
        Size("20 integers, 20 rows", integer_game, (20, 20, 20, 0.3)),
        Size("30 integers, 30 rows", integer_game, (30, 15, 30, 0.2)),
        Size("40 integers, 40 rows", integer_game, (40, 20, 40, 0.2)),
    ),
    "interdiction": (
        Size("flow, 24 arcs", flow_interdiction, (3, 3, 2)),
        Size("flow, 34 arcs", flow_interdiction, (3, 4, 2)),
        Size("flow, 62 arcs", flow_interdiction, (4, 5, 2)),
        Size("flow, 98 arcs", flow_interdiction, (5, 6, 5)),
        Size("path, 34 arcs", path_interdiction, (3, 4, 3)),
        Size("path, 98 arcs", path_interdiction, (5, 6, 5)),
        Size("path, 194 arcs", path_interdiction, (7, 8, 6)),
    ),
    "investment": (
        Size("6 sites, 50 rows", reservoir_game, (40, 50, 10, 6)),
        Size("6 sites, 130 rows", reservoir_game, (30, 60, 100, 6)),
        Size("8 sites, 520 rows", reservoir_game, (120, 200, 400, 8)),
        Size("8 sites, 1150 rows", reservoir_game, (250, 400, 900, 8)),
        Size("10 sites, 1150 rows", reservoir_game, (250, 400, 900, 10)),
    ),
}


def games(family: str, seeds: Iterable[int], sizes: Collection[int] | None = None) -> Iterator[Game]:
    """Games of a family with these seeds, of every size or of those with these numbers, from 1 on."""
    for number, size in enumerate(FAMILIES[family], start=1):
        if sizes is None or number in sizes:
            for seed in seeds:
                yield game(family, size, seed)


def game(family: str, size: Size, seed: int) -> Game:
    """One game of a size."""
    return Game(family, size.words, seed, lambda: size.generator(*size.arguments, seed))
