"""``ppsm gauc``: what it prints, its notes and its exit codes."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.markets.two_node import solved
from typer.testing import CliRunner

from ppsm.cli import app
from ppsm.errors import InputError
from ppsm.markets import GasAwareCommitment

GAUC = ["gauc", "--case", "two_node", "--power-stress", "0", "--json"]


def test_command(tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, [*GAUC, "--gas-stress", "0", "--cache", str(tmp_path)])
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert result["status"] == "optimal"
    assert result["certificate"] == {"clean": True, "findings": []}
    assert result["invalid_bids"] == []
    assert set(result["commitment"]) == {"coal", "gas", "oil"}
    for field in ("leader_cost_usd", "electricity_value_usd", "gas_value_usd", "bound_usd", "gap", "seconds"):
        assert result[field] is not None
    # 20 $/MWh at both junctions, 0.29307107 MWh to the MMBtu
    assert result["units"]["gas_prices"] == "$/MMBtu"
    assert list(result["gas_prices"].values()) == pytest.approx([5.861421, 5.861421])
    demand = tmp_path / "demand.csv"
    demand.write_text("node,demand_mwh\nhomes,2400\n")
    done = runner.invoke(app, [*GAUC, "--demand", str(demand)])
    assert done.exit_code == 1
    assert "lacks 100 MWh" in json.loads(done.stdout)["explanation"]


def test_a_file_in_kwh_needs_its_unit(tmp_path: Path) -> None:
    demand = tmp_path / "demand.csv"
    demand.write_text("node;demand\nhomes;2400000,0\n")
    with pytest.raises(InputError, match="does not say the unit"):
        CliRunner().invoke(app, [*GAUC, "--demand", str(demand)], catch_exceptions=False)
    done = CliRunner().invoke(app, [*GAUC, "--demand", str(demand), "--demand-unit", "kWh"])
    assert done.exit_code == 1
    assert "lacks 100 MWh" in json.loads(done.stdout)["explanation"]


@pytest.mark.parametrize("option", [["--demand-unit", "kWh"], ["--demand-sheet", "day"]])
def test_a_unit_or_a_sheet_without_a_file_is_refused(option: list[str]) -> None:
    with pytest.raises(InputError, match="say which with --demand"):
        CliRunner().invoke(app, [*GAUC, "--gas-stress", "0", *option], catch_exceptions=False)


def test_without_awareness_the_owners_lose_what_their_bids_do_not_cover() -> None:
    """By bids alone the gas unit of the two-node day runs at 80 MW at most, at 20 $/MWh of gas."""
    done = CliRunner().invoke(app, [*GAUC, "--gas-stress", "0", "--unaware"])
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    (bid,) = result["invalid_bids"]
    assert bid["fleet"] == "gas"
    # block 1 asks for 35 $/MWh at 7 MMBtu/MWh: 5 $/MMBtu are covered, 5.86 are paid
    assert bid["covered"] == pytest.approx(5.0)
    assert bid["gas_price"] == pytest.approx(5.861421)
    assert result["loss_usd"] == bid["loss_usd"] >= 0
    assert result["leader_cost_usd"] == 14_800
    table = CliRunner().invoke(app, [*GAUC[:-1], "--gas-stress", "0", "--unaware"])
    assert "Bids that do not cover their fuel: 1; their owners lose" in " ".join(table.stdout.split())


def test_without_awareness_a_limit_that_leaves_no_commitment_is_said() -> None:
    done = CliRunner().invoke(app, [*GAUC[:-1], "--unaware", "--time-limit", "1e-9"])
    assert done.exit_code == 1
    assert "No commitment by bids alone: no_incumbent" in done.stdout


def test_without_awareness_a_gas_market_without_answer_is_explained(tmp_path: Path) -> None:
    demand = tmp_path / "demand.csv"
    demand.write_text("node,demand_mwh\nhomes,2250\n")
    done = CliRunner().invoke(app, [*GAUC, "--demand", str(demand), "--unaware"])
    assert done.exit_code == 1
    assert "that the cheapest commitment burns" in json.loads(done.stdout)["explanation"]
    refused = CliRunner().invoke(app, [*GAUC, "--unaware", "--map", str(tmp_path / "map.svg")])
    assert "leave one out" in str(refused.exception)


def test_the_command_names_the_bids_that_the_certificate_finds_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dearer = replace(solved(), gas_prices_usd_per_mwh=np.array([20.0, 90.0]))
    monkeypatch.setattr(GasAwareCommitment, "solve", lambda *_, **__: dearer)
    result = json.loads(CliRunner().invoke(app, [*GAUC, "--gas-stress", "0"]).stdout)
    assert result["invalid_bids"] == ["gas"]
    assert result["certificate"]["clean"] is False


def test_the_command_says_what_may_not_be_expected_of_its_demand(tmp_path: Path) -> None:
    demand = tmp_path / "demand.csv"
    demand.write_text("node,demand_mwh\nhomes,500\n")
    given = CliRunner().invoke(app, [*GAUC, "--gas-stress", "0.5", "--demand", str(demand)])
    assert json.loads(given.stdout)["status"] == "optimal"
    assert "so that --gas-stress is not used" in given.stderr
    outside = CliRunner().invoke(app, [*GAUC, "--gas-stress", "9"])
    assert "note: the gas stress is 9; expected a number from 0 to 1" in outside.stderr
    assert "note:" not in CliRunner().invoke(app, [*GAUC, "--gas-stress", "0"]).stderr


def test_the_command_says_that_it_was_interrupted_before_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def press_after_the_first_bound(_: str, objective: float | None, bound: float | None) -> None:
        if bound is not None:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("ppsm.cli.gauc._progress", lambda _: press_after_the_first_bound)
    done = CliRunner().invoke(app, ["gauc", "--case", "two_node", "--json"])
    assert json.loads(done.stdout)["status"] == "no_incumbent"
    assert done.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a process there")
def test_the_command_prints_json_when_interrupted() -> None:
    """The Northeast, interrupted once it says that it has a first answer."""
    command = Path(sys.executable).with_name("ppsm")
    options = ["--case", "northeast", "--power-stress", "0.3", "--gas-stress", "0.9", "--gap", "1e-9"]
    process = subprocess.Popen(  # noqa: S603
        [command, "gauc", *options, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        next(line for line in process.stderr if "valid commitment" in line)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    result = json.loads(output)
    assert process.returncode == 0
    assert result["status"] == "incumbent"
    assert result["certificate"]["clean"]
    assert 0 < result["bound_usd"] <= result["leader_cost_usd"]
    assert 0 < result["gap"] < 0.05
