"""Same noisy vector, two secrets: all that may be shared is the same, but for times and hashes."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ppsm import Ledger
from ppsm.arrays import FloatArray
from ppsm.cases.schema import builtin_directory
from ppsm.cli import app
from ppsm.experiments.comparison import Job
from ppsm.privacy.noise import ExactLaplace

# The market can serve the first and not the second: that, too, must not show.
SECRETS = (812.3456789, 1e7)
NOISY = 900.125
CELL = ["--case", "two_node", "--power-stress", "0"]
# Times of day, hashes and random names, and how long steps took.
PASSING = re.compile(
    r"\d{4}-\d\d-\d\d(T[\d:.]+\+00:00)?|\b[0-9a-f]{64}\b|\"ledger\": \"[0-9a-f]{16}\"|"
    r"(cpu_)?seconds(\"|&#34;): [\d.e-]+|&#34;ledger&#34;: &#34;[0-9a-f]{16}"
)
SECONDS = re.compile(r"^ *\d+ s  ")


@pytest.fixture(autouse=True)
def _same_noisy_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_to(self: ExactLaplace, values: FloatArray) -> FloatArray:
        return np.full(values.shape, NOISY)

    monkeypatch.setattr(ExactLaplace, "add_to", add_to)
    # A past takes long to invent, and what is learned from it stays with the owner.
    monkeypatch.setattr(Job, "has_history", False)


def shared_by(
    command: list[str], secret: float, home: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """All that leaves: files outside the owner's directory, standard output, the log and the exit code."""
    home.mkdir()
    monkeypatch.chdir(home)
    Ledger.create("ledger.db").grant("gas-demand/two_node", epsilon=1.0, alpha=300.0, unit="MWh")
    Path("demand.csv").write_text(f"node,demand_mwh\nhomes,{secret}\n")
    return _shared([*command, "--time-limit", "1", "--demand", "demand.csv"])


def _shared(command: list[str], cell: list[str] = CELL) -> dict[str, str]:
    done = CliRunner().invoke(app, [*command, *cell, "--out", "out", "--ledger", "ledger.db"])
    assert done.exit_code == 0, done.output
    out = Path("out")
    files = [file for file in out.rglob("*") if file.is_file() and out / "owner" not in file.parents]
    # Of a log, what it says: how often, and after how long, is time that passes.
    log = "\n".join(dict.fromkeys(SECONDS.sub("", line) for line in done.stderr.splitlines()))
    texts = {str(file): file.read_text() for file in files} | {"stdout": done.stdout, "log": log}
    return {name: PASSING.sub("-", text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("command", "total_share"),
    [
        (["release", "--alpha", "300"], 0.0),
        (["release", "--alpha", "300"], 0.5),
        (["compare", "--alphas", "300", "--draws", "1", "--json"], 0.0),
    ],
    ids=["release", "release with a measured total", "compare"],
)
def test_all_that_is_shared_is_the_same(
    command: list[str], total_share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppsm.mechanism.mechanisms.best_share", lambda *public: total_share)
    first, second = (
        shared_by(command, secret, tmp_path / str(number), monkeypatch)
        for number, secret in enumerate(SECRETS)
    )
    expected = {"out/released.csv", "out/dossier.json", "out/evaluation.json", "stdout", "log"}
    expected |= {"out/report.html"} if command[0] == "compare" else set()
    assert set(first) == set(second) == expected
    for name in expected:
        assert first[name] == second[name], name
    assert ("measures two things" in first["out/dossier.json"]) == (total_share > 0)


def shared_by_a_case(secret: float, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The same where the secret is what a case of one's own says of its demand."""
    case = Path(shutil.copytree(builtin_directory("two_node"), home / "mine"))
    deliveries = case / "deliveries.csv"
    deliveries.write_text(deliveries.read_text().replace(",800,", f",{secret},"))
    monkeypatch.chdir(home)
    Ledger.create("ledger.db").grant("gas-demand/two_node", epsilon=1.0, alpha=300.0, unit="MWh")
    cell = ["--case", "mine", *CELL[2:]]
    return _shared(["release", "--alpha", "300", "--gas-stress", "0.5", "--time-limit", "1"], cell)


def test_two_secret_cases_share_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        shared_by_a_case(secret, tmp_path / str(number), monkeypatch)
        for number, secret in enumerate((712.3456789, 903.4567891))
    )
    assert set(first) >= {"out/released.csv", "out/dossier.json", "out/evaluation.json", "stdout", "log"}
    assert first == second


def shared_by_a_stream(
    policy: str, secret: float, home: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The same of three days, each as secret as the other."""
    home.mkdir()
    monkeypatch.chdir(home)
    book = Ledger.create("ledger.db")
    book.grant("gas-demand/two_node/daily", epsilon=1.0, alpha=300.0, unit="MWh", window=2)
    names = [f"2026-01-0{number}" for number in (1, 2, 3)]
    Path("days.csv").write_text("\n".join(["day,homes_mwh", *(f"{name},{secret}" for name in names)]))
    Path("shape.csv").write_text("\n".join(["day,share_of_maximum", *(f"{name},0.7" for name in names)]))
    days = ["--days", "days.csv", "--shape", "shape.csv", "--policy", policy]
    return _shared(["stream", *days, "--alpha", "300", "--window", "2"])


@pytest.mark.parametrize("policy", ["regular", "absorption"])
def test_all_that_a_stream_shares_is_the_same(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        shared_by_a_stream(policy, secret, tmp_path / str(number), monkeypatch)
        for number, secret in enumerate(SECRETS)
    )
    days = {f"out/days/2026-01-0{number}.json" for number in (1, 2, 3)}
    assert set(first) == set(second) == days | {"out/stream.json", "out/page.html", "stdout", "log"}
    # With a question, and without.
    assert any('"answer": {' in first[name] for name in days) == (policy == "absorption")
    assert first == second
