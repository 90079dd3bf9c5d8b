"""The examples run, and what they print is right."""

import re
from pathlib import Path

import pytest
from examples.owner_to_leader import DATASET, main

from ppsm import Ledger, load_case


def test_an_owner_releases_and_the_leader_clears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(tmp_path)
    said = capsys.readouterr().out
    assert tuple(re.findall(r"released (\w+) ", said)) == load_case("medium").delivery_ids
    assert "the power operator's day: optimal, 1,4" in said
    assert "changes the odds by more than a factor of 2.72 (epsilon = 1 in all: 0 by earlier releases" in said
    assert "budget left: epsilon = 0.0" in said
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.verify().ok
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "spend"]
    assert all(entry.dataset == DATASET for entry in list(ledger.entries())[1:])
