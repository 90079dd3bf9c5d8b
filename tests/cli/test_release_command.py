"""``ppsm release`` from the outside."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.commands import ppsm
from typer.testing import CliRunner

from ppsm import Ledger, Released, load_case
from ppsm.cases import read_demand
from ppsm.cli import app
from ppsm.cli.units import fraction, numbers
from ppsm.coordinations import GaucCoordination
from ppsm.errors import InputError, LedgerError
from ppsm.mechanism import Dossier

RELEASE = ["release", "--case", "two_node", "--power-stress", "0", "--alpha", "300"]


@pytest.mark.parametrize(
    ("text", "value"), [("0.1%", 0.001), ("0.001", 0.001), ("10%", 0.1), (" 1 %", 0.01), ("0", 0.0)]
)
def test_widths_are_understood(text: str, value: float) -> None:
    assert fraction(text, "eta-p") == pytest.approx(value)


@pytest.mark.parametrize("text", ["0.1", "1", "10", "-0.1%", "nan", "ten", "", "%"])
def test_ambiguous_and_strange_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="eta-p is"):
        fraction(text, "eta-p")


def test_lists_of_numbers() -> None:
    assert numbers("10,100", "alphas") == (10.0, 100.0)
    for text in ("", "10;100", "0,1", "inf"):
        with pytest.raises(InputError, match="alphas is"):
            numbers(text, "alphas")


def test_a_private_release_of_a_file(tmp_path: Path) -> None:
    case = load_case("two_node")
    (tmp_path / "demand.csv").write_text("node,demand_mwh\nhomes,812.3456789\n")
    (tmp_path / "prior.csv").write_text("node,mean_mwh,spread_mwh\nhomes,800,50\n")
    given = ["--demand", "demand.csv", "--prior", "prior.csv", "--predictor", "model", "--out", "out"]
    done = ppsm(*RELEASE, *given, "--time-limit", "10", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["private"]
    dossier = Dossier.from_json((tmp_path / "out" / "dossier.json").read_text())
    released = read_demand(tmp_path / "out" / "released.csv", case, allow_negative=True)
    assert released == pytest.approx(dossier.released.values)
    assert dossier.evaluation is not None
    assert dossier.evaluation.leader_cost == summary["leader_cost"]
    assert dossier.mechanism.prior is not None
    assert dossier.mechanism.prior.source == "the file prior.csv"
    ledger = Ledger(tmp_path / "out" / "ledger.db")
    assert ledger.confirm(dossier.released)
    assert ledger.verify().ok
    for file in (path for path in (tmp_path / "out").rglob("*") if path.is_file()):
        assert b"812.3456" not in file.read_bytes()
    # the budget of that directory covers one release
    again = ppsm(*RELEASE, *given, cwd=tmp_path)
    assert again.returncode == 4
    assert again.stderr.startswith("error: The privacy budget of 'gas-demand/two_node' does not cover")
    assert len(again.stderr.splitlines()) == 1


def test_an_interrupted_release_goes_on_from_its_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand, out = tmp_path / "demand.csv", tmp_path / "out"
    demand.write_text("node,demand_mwh\nhomes,800\n")
    command = [
        *RELEASE,
        "--demand",
        str(demand),
        "--predictor",
        "model",
        "--out",
        str(out),
        "--json",
        "--time-limit",
        "10",
    ]

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("ppsm.mechanism.mechanisms.restore_fidelity", stop)
        stopped = CliRunner().invoke(app, command)
    kept = out / "owner" / "pending.json"
    assert stopped.exit_code == 130
    assert "run the same command again to go on without a new charge" in stopped.stderr
    assert kept.stat().st_mode & 0o077 == 0
    content = json.loads(kept.read_text())
    noisy = Released.from_json(json.dumps(content["noisy"]))
    assert noisy.private
    other = tmp_path / "other.csv"
    other.write_text("node,demand_mwh\nhomes,700\n")
    for wrong in (["--demand", str(other)], ["--alpha", "200"], ["--power-stress", "0.1"]):
        assert isinstance(CliRunner().invoke(app, [*command, *wrong]).exception, InputError)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    dossier = Dossier.from_json((out / "dossier.json").read_text())
    assert dossier.noisy.values == pytest.approx(noisy.values)
    assert not kept.exists()
    # charged once, for what was released in the end
    assert Ledger(out / "ledger.db").confirm(dossier.released)
    # noise that this ledger never charged is no release
    content["noisy"]["receipt"]["entry_hash"] = "0" * 64
    kept.write_text(json.dumps(content))
    assert isinstance(CliRunner().invoke(app, command).exception, LedgerError)


def test_the_shortest_release_publishes_no_figure_of_the_true_demand(tmp_path: Path) -> None:
    """The exact cost of the true market can be inverted: an entry follows from it and all the others."""
    (tmp_path / "demand.csv").write_text("node,demand_mwh\nhomes,812.3456789\n")
    done = ppsm(
        *RELEASE, "--demand", "demand.csv", "--out", "out", "--json", "--time-limit", "10", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    ledger = Ledger(tmp_path / "out" / "ledger.db")
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "spend"]
    case = load_case("two_node")
    truth = GaucCoordination(case, 0.0).clear(np.array([812.3456789]))
    exact = truth.values["gas"]  # the figure that moves with every MWh of the demand
    released = [file for file in (tmp_path / "out").iterdir() if file.suffix in (".csv", ".json")]
    assert len(released) == 2
    for text in (done.stdout, done.stderr, *(file.read_text() for file in released)):
        numbers = [float(number) for number in re.findall(r"\d+\.\d+(?:e[+-]?\d+)?", text)]
        assert exact not in [pytest.approx(number, rel=1e-6) for number in numbers]
    dossier = Dossier.from_json((tmp_path / "out" / "dossier.json").read_text())
    assert dossier.publication is None


def test_exact_figures_are_published_only_in_so_many_words(tmp_path: Path) -> None:
    options = [*RELEASE, "--gas-stress", "0", "--predictor", "public", "--time-limit", "10", "--out", "out"]
    refused = ppsm(*options, cwd=tmp_path)
    assert refused.returncode == 2
    assert "say so with --publish-exact-figures" in refused.stderr
    assert not (tmp_path / "out").exists()
    done = ppsm(*options, "--publish-exact-figures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    dossier = Dossier.from_json((tmp_path / "out" / "dossier.json").read_text())
    assert dossier.publication is not None
    assert dossier.publication.recorded
    first = dossier.statement.split(". ")[0]
    assert "whoever knows all entries but one can compute that one" in first


def test_seeded_noise_says_that_it_is_not_private(tmp_path: Path) -> None:
    options = ["--gas-stress", "0", "--seed", "5", "--predictor", "public", "--time-limit", "10"]
    options += ["--out", "out"]
    done = ppsm(*RELEASE, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    assert "For the owner only" in done.stderr
    assert "distance of the noisy demand" not in done.stdout
    assert not (tmp_path / "out" / "ledger.db").exists()
    text = (tmp_path / "out" / "dossier.json").read_text()
    assert "NOT PRIVATE" in text
    dossier = Dossier.from_json(text)
    assert dossier.publication is not None
    assert not dossier.publication.recorded
    assert not dossier.private


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gas-stress", "0", "--eta-p", "0.1"], "may mean 0.1 % or 10 %"),
        (["--gas-stress", "9"], "the gas stress is 9; expected a number from 0 to 1"),
        ([], "neither of --gas-stress and --demand"),
        (["--gas-stress", "0", "--demand", "x.csv"], "both of --gas-stress and --demand"),
        (["--gas-stress", "0", "--case", "atlantis"], "there is no case 'atlantis'"),
        (["--gas-stress", "0", "--alpha", "-1"], "alpha is -1"),
        (["--gas-stress", "0", "--out", "file/below"], "cannot write to 'file/below'"),
        (["--gas-stress", "0", "--ledger", "none.db"], "none.db"),
        (["--gas-stress", "0", "--time-limit", "-1"], "the time limit is -1 s"),
        (["--gas-stress", "0", "--publish-exact-figures"], "which publishes nothing: leave it out"),
        (["--gas-stress", "0", "--predictor", "learned", "--model", "file/m.json"], "cannot write the model"),
        (["--gas-stress", "0", "--mechanism", "laplace", "--prior", "prior.csv"], "leave it out"),
    ],
)
def test_bad_input_is_one_sentence(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a directory")
    (tmp_path / "prior.csv").write_text("node,mean_mwh,spread_mwh\nhomes,800,50\n")
    error = CliRunner().invoke(app, [*RELEASE, "--out", "out", *options]).exception
    assert isinstance(error, InputError | LedgerError)
    assert message in str(error)
    assert len(str(error).splitlines()) == 1
