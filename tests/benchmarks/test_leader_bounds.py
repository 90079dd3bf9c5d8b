"""The bound on what anybody can tell of the leader's cost, from the games that were solved for it."""

import math
from pathlib import Path

import pytest
from benchmarks.leader_bounds import GRID_CELLS, KEPT, Solved, bound, bounds, keep, read

ROOT = Path(__file__).parents[2]


def rows_of(costs: list[float], *, gap: float = 0.0, steps: list[int] | None = None) -> list[Solved]:
    places = steps or list(range(len(costs)))
    return [
        Solved(1.0, 0.0, 0.0, step, cost * (1.0 - gap), cost)
        for step, cost in zip(places, costs, strict=True)
    ]


def test_two_demands_by_hand() -> None:
    """To call 10 a 20 is twice as bad as to call 20 a 10: in 1 / (2 + e) of the cases."""
    assert bound(rows_of([10.0, 20.0])) == pytest.approx(100.0 / (2.0 + math.e))


def test_what_is_not_proven_and_what_does_not_hang_together_count_nothing() -> None:
    assert bound(rows_of([10.0, 10.1], gap=0.5)) == 0.0
    whole = bound(rows_of([10.0, 11.0, 12.0]))
    assert bound(rows_of([10.0, 11.0, 12.0, 90.0], steps=[0, 1, 2, 4])) == whole
    assert bound(rows_of([12.0, 11.0, 10.0], steps=[0, -1, -2])) == pytest.approx(whole)


def test_rows_come_back_from_their_file(tmp_path: Path) -> None:
    rows = rows_of([10.0, 0.1 + 0.2], steps=[0, -1])
    for row in rows:
        keep(tmp_path / "rows.csv", row)
    assert read(tmp_path / "rows.csv") == rows
    assert read(tmp_path / "none.csv") == []


def test_no_release_has_the_leaders_goal_with_nothing_published() -> None:
    """What docs/mechanism.md proves: more than 0.012 % in the mean of all cells, by a few of them alone."""
    rows = read(ROOT / KEPT)
    assert all(row.proven_usd <= row.found_usd for row in rows)
    assert len({(row.chain, row.step) for row in rows}) == len(rows)
    assert max(abs(row.step) for row in rows) <= 8
    assert sum(bounds(rows).values()) / GRID_CELLS > 0.012
