"""The year of streams: its days are spread, and a run that was stopped goes on."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from benchmarks.secret_years import SecretYear
from benchmarks.stream_year import Rows, Told, Trial, spread_out

from ppsm.coordinations import GameCoordination
from ppsm.examples import freight_game
from ppsm.streams import PublicDay

USUAL = np.array([36.0, 27.0, 45.0])
DAYS = 4


def test_every_beginning_of_the_days_is_spread_over_the_year() -> None:
    days = spread_out(365)
    assert sorted(days) == list(range(365))
    for count in (12, 46, 91, 183):
        widest = np.diff(sorted([*days[:count], 365])).max()
        assert widest <= 2 * 365 / count


def _trial(place: Path) -> Trial:
    game = GameCoordination(freight_game(), unit="containers", bounds=(np.zeros(3), 2 * USUAL))
    public = [PublicDay(date(2026, 1, 1) + timedelta(days=each), USUAL) for each in range(DAYS)]
    truth = [USUAL + each for each in range(DAYS)]
    year = SecretYear(2.0, public, truth, truth, lambda _: game)
    told = {"known": [Told(values) for values in truth], "usual": [Told(USUAL)] * DAYS}
    return Trial(year, told, Rows(place / "rows.jsonl"), Rows(place / "truths.jsonl"))


def test_a_stopped_year_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _trial(tmp_path)
    for day in (0, 1):
        first.clear(day)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(rows.read_text()[:-9])  # killed while the last line was written
    cleared: list[float] = []
    clear = GameCoordination.clear

    def counted(self: GameCoordination, demand: np.ndarray) -> object:
        cleared.append(float(demand[0] - USUAL[0]))
        return clear(self, demand)

    monkeypatch.setattr(GameCoordination, "clear", counted)
    again = _trial(tmp_path)
    for day in range(DAYS):
        again.clear(day)
    # What was lost; then truths once, though "known" has the same vector, and the usual demand of each day.
    assert cleared == [0, 2, 0, 3, 0]
    lines = again.lines("known", list(range(DAYS)))
    assert [line.leader_error for line in lines] == [0.0] * DAYS
    assert len(again.lines("usual", list(range(DAYS)))) == DAYS
    assert "cleared 100.0 %" in again.summary("usual", list(range(DAYS)))
