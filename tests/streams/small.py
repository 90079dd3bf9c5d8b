"""A small stream: orders of the freight example over a few days."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from ppsm.coordinations import GameCoordination
from ppsm.examples import freight_game
from ppsm.mechanism import PPSM_p
from ppsm.privacy import Ledger, LedgerKeeper, Sensitive
from ppsm.streams.engine import PublicDay
from ppsm.streams.policies import Absorption, Policy
from ppsm.streams.promise import Promise
from ppsm.streams.stream_run import Settings, StreamDay

DATASET = "orders/daily"
UNIT = "containers"
FIRST = date(2026, 1, 1)
USUAL = np.array([36.0, 27.0, 45.0])


def market() -> GameCoordination:
    return GameCoordination(freight_game(), unit=UNIT, bounds=(np.zeros(3), 2.0 * USUAL))


def days(names: Sequence[str], count: int) -> list[StreamDay]:
    generator = np.random.default_rng(7)
    found = []
    for index in range(count):
        day = FIRST + timedelta(days=index)
        values = USUAL * (1.0 + 0.05 * generator.standard_normal(3))
        secret = Sensitive(values, dataset=DATASET, unit=UNIT, entry_names=names, day=day.isoformat())
        found.append(StreamDay(PublicDay(day, USUAL), secret))
    return found


def settings(policy: Policy | None = None, window: int = 3) -> Settings:
    return Settings(
        promise=Promise(alpha=2.0, epsilon=1.0, window=window),
        policy=policy or Absorption(),
        mechanism=PPSM_p(alpha=2.0),
    )


def ledger_for(path: Path, window: int = 3) -> LedgerKeeper:
    keeper = Ledger.create(path)
    keeper.grant(DATASET, epsilon=1.0, alpha=2.0, unit=UNIT, window=window)
    return keeper
