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
    costs = re.search(r"the gas market's: ([\d,]+) \$ with the release, ([\d,]+) \$ published", said)
    assert costs is not None
    cleared, published = (float(text.replace(",", "")) for text in costs.groups())
    # The band is 0.1 % wide; plain noise of this size is mostly off by more.
    assert cleared == pytest.approx(published, rel=0.002)
    assert "budget left: epsilon = 0.0" in said
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.verify().ok
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "publication", "spend"]
    assert all(entry.dataset == DATASET for entry in list(ledger.entries())[1:])
