"""SIGKILL at random moments: the small version of ``python -m benchmarks.ledger_torture``."""

from pathlib import Path

from benchmarks.ledger_torture import torture


def test_killed_processes_lose_no_acknowledged_spend(tmp_path: Path) -> None:
    outcome = torture(tmp_path, spends=120, processes=4, seed=11)
    assert outcome.chain_ok
    assert outcome.lost == 0
    assert outcome.counted_twice == 0
    assert outcome.unacknowledged <= outcome.kills
    assert outcome.spends_in_ledger == 120
    assert outcome.budget_left == 0
    assert outcome.kills > 0
    assert outcome.holds
