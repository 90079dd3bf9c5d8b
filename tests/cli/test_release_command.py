"""``ppsm release`` from the outside."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.commands import ppsm
from typer.testing import CliRunner

from ppsm import Ledger, Released, load_case
from ppsm.cases import read_demand
from ppsm.cli import app
from ppsm.cli.options import fraction, numbers
from ppsm.coordinations import GaucCoordination
from ppsm.errors import BudgetExceededError, FileFormatError, InputError, LedgerError
from ppsm.mechanism import Dossier
from ppsm.owner.release_files import read_prior, read_release
from ppsm.privacy import LedgerKeeper, PublishedFigures

RELEASE = ["release", "--case", "two_node", "--power-stress", "0", "--alpha", "300"]


@pytest.mark.parametrize(
    ("text", "value"), [("0.1%", 0.001), ("0.001", 0.001), ("10%", 0.1), (" 1 %", 0.01), ("0", 0.0)]
)
def test_widths_are_understood(text: str, value: float) -> None:
    assert fraction(text, "eta-p") == pytest.approx(value)


@pytest.mark.parametrize("text", ["0.1", "1", "10", "1000%", "-0.1%", "nan", "ten", "", "%"])
def test_ambiguous_and_strange_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="eta-p is"):
        fraction(text, "eta-p")


@pytest.mark.parametrize("text", ["10", "101%", "1e9%"])
def test_no_width_is_more_than_all(text: str) -> None:
    with pytest.raises(InputError, match="expected a width of at most 100%"):
        fraction(text, "eta-p")
    assert fraction("100%", "eta-p") == 1.0


def test_lists_of_numbers() -> None:
    assert numbers("10,100", "alphas") == (10.0, 100.0)
    for text in ("", "10;100", "0,1", "inf"):
        with pytest.raises(InputError, match="alphas is"):
            numbers(text, "alphas")


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LedgerKeeper:
    """The user's own, with a budget for one release."""
    path = tmp_path / "home" / "ledger.db"
    path.parent.mkdir()
    monkeypatch.setenv("PPSM_LEDGER", str(path))
    keeper = Ledger.create(path)
    keeper.grant("gas-demand/two_node", epsilon=1.0, alpha=300.0, unit="MWh")
    return keeper


def test_a_private_release_of_a_file(tmp_path: Path, ledger: LedgerKeeper) -> None:
    case = load_case("two_node")
    (tmp_path / "demand.csv").write_text("node,demand_mwh\nhomes,812.3456789\n")
    (tmp_path / "prior.csv").write_text("node,mean_mwh,spread_mwh\nhomes,800,50\n")
    given = ["--demand", "demand.csv", "--prior", "prior.csv", "--predictor", "model", "--out", "out"]
    done = ppsm(*RELEASE, *given, "--time-limit", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["private"]
    dossier = read_release(tmp_path / "out")
    assert dossier is not None
    released = read_demand(tmp_path / "out" / "released.csv", case, allow_negative=True)
    assert released == pytest.approx(dossier.released.values)
    assert dossier.evaluation is not None
    assert dossier.evaluation.leader_cost == summary["leader_cost"]
    assert dossier.mechanism.prior is not None
    assert dossier.mechanism.prior.source == "the file prior.csv"
    assert ledger.confirm(dossier.released)
    assert ledger.verify().ok
    for file in (path for path in (tmp_path / "out").rglob("*") if path.is_file()):
        assert b"812.3456" not in file.read_bytes()
    # it is not replaced, and the budget covers one release wherever the next one is to go
    for out, code, message in (
        ("out", 2, "error: out holds a release (PRIVATE, epsilon = 1 at alpha = 300 MWh;"),
        ("elsewhere", 4, "error: The privacy budget of 'gas-demand/two_node' does not cover"),
    ):
        again = ppsm(*RELEASE, *given[:-1], out, cwd=tmp_path)
        assert again.returncode == code
        assert again.stderr.startswith(message)
        assert len(again.stderr.splitlines()) == 1


def test_from_an_empty_home_to_a_shared_file_in_four_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever types the shortest command and then what each refusal says gets there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.delenv("PPSM_LEDGER")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    shortest = [*RELEASE, "--gas-stress", "0", "--time-limit", "1", "--out", "out"]
    refused = ppsm(*shortest, cwd=tmp_path)
    assert refused.returncode == 4
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "out" / "released.csv").exists()
    typed = [shlex.split(command)[1:] for command in re.findall(r"'(ppsm [^']+)'", refused.stderr)]
    assert [words[:2] for words in typed] == [["ledger", "init"], ["ledger", "grant"]]
    for words in (*typed, shortest):
        done = ppsm(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (
        (tmp_path / "out" / "released.csv").read_text().startswith("# ppsm release of 'gas-demand/two_node'")
    )
    journal = "ledger.db-journal"  # empty between charges
    assert {path.name for path in home.rglob("*") if path.is_file()} == {"ledger.db", journal}


@pytest.mark.parametrize("epsilon", ["1e6", "710"])
def test_a_large_epsilon_is_refused_before_anything_is_charged(
    epsilon: str, tmp_path: Path, ledger: LedgerKeeper
) -> None:
    ledger.grant("gas-demand/two_node", epsilon=1e7)
    options = ["--gas-stress", "0", "--epsilon", epsilon, "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, [*RELEASE, *options])
    assert isinstance(refused.exception, BudgetExceededError)
    assert "--most-per-release" in str(refused.exception)
    assert ledger.balance("gas-demand/two_node").spent == 0


def test_a_huge_epsilon_that_the_grant_allows_is_told_as_what_it_is(
    tmp_path: Path, ledger: LedgerKeeper
) -> None:
    ledger.grant("gas-demand/two_node", epsilon=1000, most_per_release=1000)
    options = ["--gas-stress", "0", "--epsilon", "710", "--mechanism", "laplace", "--time-limit", "1"]
    done = CliRunner().invoke(app, [*RELEASE, *options, "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    assert "by more than a factor of more than 10^308" in json.loads(done.stdout)["statement"]


def test_an_interrupted_release_goes_on_from_its_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: LedgerKeeper
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
        "1",
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
    assert ledger.confirm(dossier.released)
    # noise that this ledger never charged is no release
    content["noisy"]["receipt"]["entry_hash"] = "0" * 64
    kept.write_text(json.dumps(content))
    assert isinstance(CliRunner().invoke(app, command).exception, LedgerError)


def test_the_shortest_release_publishes_no_figure_of_the_true_demand(
    tmp_path: Path, ledger: LedgerKeeper
) -> None:
    """The exact cost of the true market can be inverted: an entry follows from it and all the others."""
    (tmp_path / "demand.csv").write_text("node,demand_mwh\nhomes,812.3456789\n")
    done = ppsm(
        *RELEASE, "--demand", "demand.csv", "--out", "out", "--json", "--time-limit", "1", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "spend"]
    case = load_case("two_node")
    truth = GaucCoordination(case, 0.0).clear(np.array([812.3456789]))
    exact = truth.values["gas"]  # the figure that moves with every MWh of the demand
    released = [file for file in (tmp_path / "out").iterdir() if file.suffix in (".csv", ".json")]
    assert len(released) == 3
    for text in (done.stdout, done.stderr, *(file.read_text() for file in released)):
        numbers = [float(number) for number in re.findall(r"\d+\.\d+(?:e[+-]?\d+)?", text)]
        assert exact not in [pytest.approx(number, rel=1e-6) for number in numbers]
    dossier = Dossier.from_json((tmp_path / "out" / "dossier.json").read_text())
    assert dossier.publication is None


def published_file(path: Path) -> Path:
    """What the market would publish of its day, as it rounds it."""
    case = load_case("two_node")
    result = GaucCoordination(case, 0.0).market_result(case.demand_mwh(0.0))
    figures = PublishedFigures.rounded(
        result, day="2026-01-15", source="market report", value_step=1.0, price_step=0.01
    )
    path.write_text(json.dumps(figures.to_dict()))
    return path


def test_the_form_of_published_figures_is_one_to_fill_in(tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["case", "template", "two_node", "--published"])
    assert printed.exit_code == 0
    form, filled = (
        json.loads(printed.stdout),
        json.loads(published_file(tmp_path / "filled.json").read_text()),
    )
    assert set(form) == set(filled)
    assert list(form["prices"]) == list(filled["prices"])
    for name in ("day", "source", "value_step", "price_step", "value", "leader_cost"):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({**filled, name: form[name]}))
        with pytest.raises(FileFormatError, match=f"'{name}': fill it in"):
            PublishedFigures.read(file)
    first = next(iter(form["prices"]))
    file.write_text(json.dumps({**filled, "prices": {**filled["prices"], first: None}}))
    with pytest.raises(FileFormatError, match=f"'{first}': fill it in"):
        PublishedFigures.read(file)


def test_published_figures_come_from_a_file_that_says_what_they_are(
    tmp_path: Path, ledger: LedgerKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = published_file(tmp_path / "published.json")
    options = [*RELEASE, "--gas-stress", "0", "--time-limit", "1", "--out", str(tmp_path / "out")]
    for half in (["--predictor", "public"], ["--published", str(file)]):
        refused = CliRunner().invoke(app, [*options, *half])
        assert isinstance(refused.exception, InputError)
        assert "go together" in str(refused.exception)
    assert not (tmp_path / "out").exists()

    def cleared(*_: object) -> None:
        pytest.fail("the release cleared a market to publish its result")

    monkeypatch.setattr(GaucCoordination, "market_result", cleared)
    done = CliRunner().invoke(app, [*options, "--predictor", "public", "--published", str(file), "--json"])
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)["statement"].split(". ")[0]
    assert first.startswith("This promise is conditional, because figures of the true data of 2026-01-15")
    assert "(market report; cost rounded to 1, prices to 0.01)" in first
    assert "whoever knows all entries but one can compute that one" in first
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant", "publication", "spend"]


def test_figures_of_another_market_are_neither_noted_nor_charged_for(
    tmp_path: Path, ledger: LedgerKeeper
) -> None:
    file = published_file(tmp_path / "published.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "prices": {"nowhere": 20.0}}))
    options = [*RELEASE, "--gas-stress", "0", "--time-limit", "1", "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, [*options, "--predictor", "public", "--published", str(file)])
    assert isinstance(refused.exception, InputError)
    assert "have no figure for 'field' (2 missing)" in str(refused.exception)
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "grant"]


def test_seeded_noise_measures_what_secure_noise_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppsm.mechanism.mechanisms.best_share", lambda *public: 0.5)
    options = ["--gas-stress", "0", "--seed", "5", "--time-limit", "1", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, [*RELEASE, *options]).exit_code == 0
    noisy = Dossier.from_json((tmp_path / "out" / "dossier.json").read_text()).noisy
    assert len(noisy.totals) == 1
    assert noisy.record.total_scale is not None


def test_seeded_noise_comes_after_nothing_that_a_ledger_charged(tmp_path: Path) -> None:
    options = ["--gas-stress", "0", "--seed", "5", "--out", str(tmp_path / "out"), "--after", str(tmp_path)]
    refused = CliRunner().invoke(app, [*RELEASE, *options])
    assert isinstance(refused.exception, InputError)
    assert "give one of the two" in str(refused.exception)
    assert not (tmp_path / "out").exists()


def test_seeded_noise_says_that_it_is_not_private(tmp_path: Path) -> None:
    options = ["--gas-stress", "0", "--seed", "5", "--time-limit", "1", "--out", "out"]
    done = ppsm(*RELEASE, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    assert "for the owner only" in done.stderr
    assert "distance of the noisy demand" not in done.stdout
    for name in ("dossier.json", "released.csv"):
        assert "NOT PRIVATE" in (tmp_path / "out" / name).read_text()
    assert not Dossier.from_json((tmp_path / "out" / "dossier.json").read_text()).private


@pytest.mark.parametrize(
    "row",
    ["homes,-546.25", "homes,812.3x", "homes,nan", "homes,1e12", "812.3,homes", "homes,812.3,1", "homes"],
)
def test_a_bad_demand_is_refused_without_a_word_about_its_values(row: str, tmp_path: Path) -> None:
    for text in (f"node,demand_mwh\n{row}\n", f"{row}\n"):
        (tmp_path / "demand.csv").write_text(text)
        options = ["--demand", str(tmp_path / "demand.csv"), "--out", str(tmp_path / "out")]
        refused = CliRunner().invoke(app, [*RELEASE, *options])
        assert isinstance(refused.exception, InputError)
        for value in ("546", "812", "1e12", "1e+12"):
            assert value not in str(refused.exception)


def test_nothing_before_the_noise_looks_at_the_values(tmp_path: Path, ledger: LedgerKeeper) -> None:
    """A demand that no market can serve is charged and released like any other."""
    codes = []
    for number, demand in enumerate((812.3, 1e8)):
        ledger.grant("gas-demand/two_node", epsilon=1)
        (tmp_path / "demand.csv").write_text(f"node,demand_mwh\nhomes,{demand}\n")
        options = ["--demand", str(tmp_path / "demand.csv"), "--mechanism", "laplace", "--time-limit", "1"]
        done = CliRunner().invoke(app, [*RELEASE, *options, "--out", str(tmp_path / f"out{number}")])
        codes.append(done.exit_code)
    assert codes == [0, 0]
    assert ledger.balance("gas-demand/two_node").spent == 2


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


def test_a_delivery_has_one_prior(tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("node,mean_mwh,spread_mwh\nhomes,800,50\nhomes,900,50\n")
    with pytest.raises(InputError, match="row 3: node 'homes' occurs twice"):
        read_prior(tmp_path / "prior.csv", load_case("two_node"))
