"""What the library logs: nothing unless it is asked for, and never the secret."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import ppsm

from ppsm import PPSM, GameCoordination, Ledger, Sensitive
from ppsm.examples import freight_game

# Digits that nothing else has.
SECRET = (40.71828182, 30.57721566, 50.41421356)
RELEASE = ["release", "--case", "two_node", "--power-stress", "0", "--alpha", "100"]


def _release(directory: Path, caplog: pytest.LogCaptureFixture) -> str:
    game = GameCoordination(freight_game(), unit="containers")
    ledger = Ledger.create(directory / "ledger.db")
    ledger.grant("orders", epsilon=1, alpha=2, unit="containers")
    secret = Sensitive(SECRET, dataset="orders", unit="containers", entry_names=game.entry_names)
    with caplog.at_level(logging.DEBUG):
        PPSM(alpha=2).release(secret, game, ledger=ledger, purpose="test")
    return caplog.text


def test_steps_are_logged_without_the_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = _release(tmp_path, caplog)
    assert "step 1: charged epsilon 1 at alpha 2" in text
    assert "step 3b, by the follower" in text
    for number in SECRET:
        assert f"{number:.2f}" not in text


def test_a_command_logs_where_it_is_told_to_and_never_the_secret(tmp_path: Path) -> None:
    (tmp_path / "demand.csv").write_text("node,demand_mwh\nhomes,812.3456789\n")
    ledger = ["--ledger", "ledger.db"]
    assert ppsm("ledger", "init", *ledger, cwd=tmp_path).returncode == 0
    granted = ["gas-demand/two_node", "--epsilon", "9", "--alpha", "100", "--unit", "MWh"]
    assert ppsm("ledger", "grant", *granted, *ledger, cwd=tmp_path).returncode == 0
    demand = ["--demand", "demand.csv", *ledger, "--json"]
    silent = ppsm(*RELEASE, *demand, "--out", "one", cwd=tmp_path)
    assert "ppsm.mechanism" not in silent.stderr
    told = ppsm("-vv", *RELEASE, *demand, "--out", "two", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "INFO ppsm.mechanism.first_step: step 1" in told.stderr
    assert "DEBUG ppsm.files: wrote two/dossier.json" in told.stderr
    assert "812.3" not in told.stderr + told.stdout


def test_the_library_prints_nothing_by_itself() -> None:
    code = "import logging, ppsm; logging.getLogger('ppsm.any').error('loud')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr == ""
