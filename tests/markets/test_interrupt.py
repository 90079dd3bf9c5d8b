"""Ctrl-C: what was found so far comes back, as a solution and from the command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ppsm.cases import load_case
from ppsm.cli import app
from ppsm.markets.check.certificate import certify
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.commitment import UnitCommitment
from ppsm.solvers import highs
from ppsm.solvers.mip import SolveLimits
from ppsm.status import Status


def test_the_best_answer_so_far_comes_back() -> None:
    case = load_case("two_node")

    def press_after_the_first_answer(_: str, objective: float | None, bound: float | None) -> None:
        if objective is not None:
            raise KeyboardInterrupt

    answer = GasAwareCommitment(case).solve(0.0, [800.0], gap=1e-6, progress=press_after_the_first_answer)
    assert answer.status is Status.INCUMBENT
    assert answer.bound_usd is not None
    assert answer.objective_uc_usd is not None
    assert answer.bound_usd < answer.objective_uc_usd
    assert certify(answer).clean


def test_before_any_answer_there_is_at_least_a_bound() -> None:
    case = load_case("two_node")

    def press_after_the_first_bound(_: str, objective: float | None, bound: float | None) -> None:
        if bound is not None:
            raise KeyboardInterrupt

    answer = GasAwareCommitment(case).solve(0.0, [800.0], progress=press_after_the_first_bound)
    assert answer.status is Status.NO_INCUMBENT
    assert answer.bound_usd is not None


def test_an_interrupted_unit_commitment_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS takes Ctrl-C as an end of its own search; the search around it must end as well."""
    monkeypatch.setattr(highs, "_run_interruptibly", lambda solver: bool(solver.run()) or True)
    core = UnitCommitment(load_case("two_node"))
    with pytest.raises(KeyboardInterrupt):
        core.solve(core.at(0.0), SolveLimits())
    answer = GasAwareCommitment(load_case("two_node")).solve(0.0, np.array([800.0]))
    assert answer.status is Status.NO_INCUMBENT


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
def test_the_command_prints_json_when_interrupted(tmp_path: Path) -> None:
    """The Northeast, interrupted once its first unit commitment is remembered on disk."""
    command = Path(sys.executable).with_name("ppsm")
    options = ["--case", "northeast", "--power-stress", "0.3", "--gas-stress", "0.9", "--gap", "1e-9"]
    process = subprocess.Popen(  # noqa: S603
        [command, "gauc", *options, "--cache", tmp_path, "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 200
        while not list(tmp_path.rglob("*.npz")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    record = json.loads(output)
    assert record["bound"] > 0
    if record["status"] == "no_incumbent":
        assert process.returncode == 130
        assert record["commitment"] == {}
    else:
        assert process.returncode == 0
        assert record["certificate"]["clean"]
        assert record["objective_uc"] >= record["bound"]
