"""A small market of two towns: cheap supply in the west, dear in the east, a line that the leader may widen.

The leader builds units of line (10 MWh each, cost 15) and promises a price of at most 2.5 in the east. At the
true demand (50, 60) one unit of line brings it down to 1: cheap supply of 120 then reaches both towns.
"""

from pathlib import Path

import linopy
import numpy as np
import pytest

from ppsm import Follower, Ledger, Sensitive, StackelbergGame
from ppsm.coordinations import GameCoordination
from ppsm.mechanism import PublicOutcome
from ppsm.privacy import LedgerKeeper, Publication, PublishedFigures, note_publication, simulated_publication

TRUTH = (50.123457, 61.987654)
DATASET = "towns/test"


def towns_market() -> Follower:
    market = linopy.Model()
    cheap, dear, flow = (
        market.add_variables(lower=0, upper=upper, name=name)
        for name, upper in (("cheap", 120), ("dear", 200), ("flow", 200))
    )
    market.add_constraints(cheap - flow == 0, name="west")
    market.add_constraints(dear + flow == 0, name="east")
    market.add_constraints(1 * flow <= 55, name="line")
    market.add_objective(1 * cheap + 3 * dear)
    return Follower.from_linopy(market, parameter=["west", "east"])


def towns_game() -> StackelbergGame:
    game = StackelbergGame(towns_market())
    built = game.leader.add_variables(lower=0, upper=3, integer=True, name="built")
    game.raise_right_hand_side("line", 10 * built)
    game.leader.add_constraints(game.price("east") <= 2.5, name="promise")
    game.leader.add_objective(15 * built)
    return game


@pytest.fixture(scope="session")
def towns() -> GameCoordination:
    return GameCoordination(towns_game(), unit="MWh")


@pytest.fixture
def secret() -> Sensitive:
    return Sensitive(TRUTH, dataset=DATASET, unit="MWh", entry_names=("west", "east"))


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerKeeper:
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.grant(DATASET, epsilon=2.0, alpha=5.0, unit="MWh")
    return ledger


@pytest.fixture
def public(towns: GameCoordination) -> PublicOutcome:
    return PublicOutcome(simulated_publication(towns.market_result(np.array(TRUTH)), dataset=DATASET), seed=1)


def published(towns: GameCoordination, ledger: Ledger, truth: tuple[float, ...] = TRUTH) -> Publication:
    """What the market of the towns has published, as it rounds it."""
    figures = PublishedFigures.rounded(
        towns.market_result(np.array(truth)),
        day="2026-01-15",
        source="market report of the day",
        value_step=0.000001,
        price_step=0.000001,
    )
    return note_publication(figures, dataset=DATASET, ledger=ledger)
