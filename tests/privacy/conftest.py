"""A secret whose digits are easy to find, and a ledger that covers it."""

from pathlib import Path

import pytest

from ppsm.privacy import LaplaceMechanism, Ledger, LedgerKeeper, Sensitive

VALUES = (4321.987654, 1234.567891, 8765.432198)
LABELS = ("north", "south", "west")
DATASET = "gas/test"


def make_secret() -> Sensitive:
    return Sensitive(VALUES, dataset=DATASET, unit="MWh", entry_names=LABELS)


@pytest.fixture
def secret() -> Sensitive:
    return make_secret()


@pytest.fixture
def mechanism() -> LaplaceMechanism:
    return LaplaceMechanism(alpha=100.0, epsilon=1.0)


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerKeeper:
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.grant(DATASET, epsilon=3.0, alpha=100.0, unit="MWh")
    return ledger
