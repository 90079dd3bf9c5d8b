"""The commands as a user runs them: tables, JSON, exit codes."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ppsm.arrays import FloatArray
from ppsm.cli import main
from ppsm.privacy import LaplaceMechanism, Ledger, Sensitive
from ppsm.privacy.ledger import chain
from ppsm.privacy.ledger.place import default_ledger

Run = Callable[..., tuple[int, str, str]]


def half_the_noise(vector: FloatArray) -> FloatArray:
    """Stand for a user's faulty mechanism."""
    noisy: FloatArray = vector + np.random.default_rng().laplace(scale=0.5, size=vector.shape)
    return noisy


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ppsm", *map(str, arguments)])
        code: int | str | None = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return int(code or 0), out, err

    return command


@pytest.fixture
def path(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.db"
    monkeypatch.setenv("PPSM_LEDGER", str(path))
    assert run("ledger", "init")[0] == 0
    assert run("ledger", "grant", "gas", "--epsilon", 2, "--alpha", 100, "--unit", "MWh")[0] == 0
    return path


def test_init_refuses_an_existing_file(path: Path, run: Run) -> None:
    code, _, err = run("ledger", "init")
    assert code == 2
    assert str(path) in err
    assert "exists already" in err


def test_init_as_json(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("ledger", "init", "--ledger", tmp_path / "new.db", "--json")
    assert code == 0
    assert json.loads(out)["head"] == Ledger(tmp_path / "new.db").verify().head


def test_the_suggested_command_can_be_pasted(tmp_path: Path, run: Run) -> None:
    out = run("ledger", "init", "--ledger", tmp_path / "läger 1.db")[1]
    words = shlex.split(out.partition("budget: ppsm ")[2].replace("DATASET", "gas"))
    assert run(*words)[0] == 0
    assert Ledger(tmp_path / "läger 1.db").balance("gas").alpha == 100


def test_grant_and_show_agree(path: Path, run: Run) -> None:
    code, out, _ = run("ledger", "grant", "gas", "--epsilon", 0.5, "--json")
    assert code == 0
    expected = [
        {
            "dataset": "gas",
            "recipient": None,
            "window": None,
            "loss_at_delta": 0.0,
            "delta": 1e-6,
            "next_day": None,
            "comes_back": None,
            "alpha": 100.0,
            "unit": "MWh",
            "granted": 2.5,
            "spent": 0.0,
            "left": 2.5,
            "most_per_release": 1.0,
        }
    ]
    assert json.loads(out) == expected
    assert json.loads(run("ledger", "show", "--json")[1]) == expected
    assert "gas" in run("ledger", "show")[1]


def test_show_lists_who_granted_and_who_released(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Sensitive([1.0], dataset="gas", unit="MWh")
    LaplaceMechanism(alpha=100.0).release(secret, ledger=Ledger(path), purpose="[red]day-ahead")
    content = json.loads(run("ledger", "show", "--dataset", "gas", "--json")[1])
    assert content["spent"] == 1.0
    assert [entry["kind"] for entry in content["entries"]] == ["grant", "spend"]
    assert content["entries"][1]["record"]["purpose"] == "[red]day-ahead"
    assert all(entry["who"] for entry in content["entries"])
    monkeypatch.setenv("COLUMNS", "300")
    assert "[red]day-ahead" in run("ledger", "show", "--dataset", "gas")[1]


def test_show_tells_of_an_entry_without_a_record(path: Path, run: Run) -> None:
    with Ledger(path)._file.transaction(write=True) as connection:
        head = tuple(chain.all_entries(connection))[-1]
        forged = replace(head, sequence=head.sequence + 1, kind="spend", detail="{}", previous=head.hash)
        chain.append(connection, forged)
    code, _, err = run("ledger", "show", "--dataset", "gas")
    assert code == 4
    assert "holds no release record" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("gas", "--epsilon", 0),
        ("(all)", "--epsilon", 1),
        ("gas", "--epsilon", 1, "--alpha", 7),
        ("gas", "--epsilon", 1, "--unit", "kWh"),
        ("new", "--epsilon", 1, "--alpha", 7),
        ("n", "--epsilon", 1),
    ],
)
def test_bad_grants_leave_with_2(arguments: tuple[object, ...], path: Path, run: Run) -> None:
    code, out, err = run("ledger", "grant", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_verify_reports_the_head(path: Path, run: Run) -> None:
    report = json.loads(run("ledger", "verify", "--json")[1])
    assert report["ok"]
    assert report["entries"] == 2
    code, out, _ = run("ledger", "verify", "--head", report["head"])
    assert code == 0
    assert report["head"] in out


def test_verify_leaves_with_4_on_a_hash_that_is_gone(path: Path, run: Run) -> None:
    code, out, err = run("ledger", "verify", "--head", "0" * 64, "--json")
    assert code == 4
    assert json.loads(out)["ok"] is False
    assert "cannot be trusted" in err


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe\xb1"])
def test_a_damaged_dossier_is_named(content: bytes, path: Path, run: Run) -> None:
    dossier = path.with_name("dossier.json")
    dossier.write_bytes(content)
    code, _, err = run("ledger", "verify", "--dossier", path.parent)
    assert code == 2
    assert err.startswith(f"error: {dossier}: ")


def test_names_of_data_sets_are_shown_in_full(path: Path, run: Run) -> None:
    """Also where a terminal is narrower than the table."""
    name = "gas-demand/north-of-the-river"
    out = run("ledger", "grant", name, "--epsilon", 1, "--alpha", 100, "--unit", "MWh")[1]
    first_column = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert "".join(first_column) == name


def test_a_window_is_shown_with_whole_dates_and_the_day_of_each_release(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal as narrow as they come."""
    monkeypatch.setenv("COLUMNS", "80")
    dataset = "gas-demand/two_node/daily"
    run("ledger", "grant", dataset, "--epsilon", 1, "--alpha", 5, "--unit", "MWh", "--window", 30)
    run("ledger", "grant", dataset, "--epsilon", 1, "--recipient", "bob", "--window", 30)
    secret = Sensitive([1.0], dataset=dataset, unit="MWh", day="2026-01-10")
    mechanism = LaplaceMechanism(alpha=5.0, epsilon=0.3)
    mechanism.release(secret, ledger=Ledger(path), purpose="stream", recipient="bob")
    _, out, _ = run("ledger", "show")
    assert all(word in out for word in ("2026-01-11", "2026-02-09")), out
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = run("ledger", "show", "--dataset", dataset)
    words = " ".join(word for word in out.replace("│", " ").split())
    assert "1.0 in any 30" in words
    assert words.count("2026-01-10") == 2  # the charge, and its draw
    assert "to bob" in words


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_missing_ledger_leaves_with_4(command: str, tmp_path: Path, run: Run) -> None:
    code, _, err = run("ledger", command, "--ledger", tmp_path / "none.db")
    assert code == 4
    assert "ppsm ledger init" in err


def test_the_users_ledger_has_one_place(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PPSM_LEDGER")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    expected = tmp_path / ".local" / "share" / "ppsm" / "ledger.db"
    code, out, _ = run("ledger", "init")
    assert code == 0
    assert "type" not in out
    assert "ppsm ledger grant DATASET" in out  # no path: the command finds it
    assert expected.stat().st_mode & 0o077 == 0
    assert expected.parent.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_ledger() == tmp_path / "data" / "ppsm" / "ledger.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_ledger() == expected
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_ledger() == tmp_path / "Library" / "Application Support" / "ppsm" / "ledger.db"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("HOME", ""), ("HOME", "home"), ("PPSM_LEDGER", "ledger.db"), ("PPSM_LEDGER", " ")],
)
def test_a_place_that_moves_with_the_directory_is_none(
    variable: str, value: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each directory would have a budget of its own."""
    for name in ("PPSM_LEDGER", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, value)
    for command in (("init",), ("grant", "gas", "--epsilon", 1, "--alpha", 1, "--unit", "MWh"), ("show",)):
        code, _, err = run("ledger", *command)
        assert code == 2
        assert f"{variable} is '{value}', expected the whole path" in err
    assert list(tmp_path.iterdir()) == []


def test_audit_passes_as_json(run: Run) -> None:
    code, out, _ = run(
        "audit", "--alpha", 5, "--epsilon", 2, "--samples", 3000, "--confidence", 0.9999999, "--json"
    )
    report = json.loads(out)
    assert code == 0
    assert report["passes"] is True
    assert report["claimed_epsilon"] == 2.0
    assert 0 < report["epsilon_lower_bound"] <= 2.0
    assert report["confidence"] == 0.9999999
    assert report["mechanism"] == "laplace"


def test_a_failed_audit_leaves_with_5(run: Run) -> None:
    name = f"{__name__}:half_the_noise"
    sys.modules.setdefault(__name__, sys.modules[half_the_noise.__module__])
    code, out, err = run("audit", "--alpha", 1, "--samples", 1000, "--mechanism", name, "--json")
    assert code == 5
    assert json.loads(out)["passes"] is False
    assert "failed its audit" in err
    code, out, _ = run("audit", "--alpha", 1, "--samples", 1000, "--mechanism", name)
    assert code == 5
    assert "FAILED" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--alpha", 0),
        ("--alpha", "nan"),
        ("--alpha", 1, "--epsilon", -1),
        ("--alpha", 1, "--samples", 5),
        ("--alpha", 1, "--confidence", 2),
        ("--alpha", 1, "--mechanism", "no.such.module:function"),
        ("--alpha", 1, "--mechanism", "gaussian"),
        ("--alpha", 1, "--mechanism", "json:nothing"),
        ("--alpha", 1, "--mechanism", ".relative:function"),
        ("--alpha", 1, "--mechanism", "math:pi"),
        ("--alpha", 1, "--mechanism", "json:dumps"),
        ("--alpha", 1, "--mechanism", "broken_syntax:function"),
        ("--alpha", 1, "--mechanism", "leaves_at_once:function"),
        ("--alpha", 1, "--dimension", 10**12),
    ],
)
def test_bad_audits_leave_with_2(
    arguments: tuple[object, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_syntax.py").write_text("def function(")
    (tmp_path / "leaves_at_once.py").write_text("import sys; sys.exit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    code, _, err = run("audit", *arguments)
    assert code == 2
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_progress_is_shown_on_a_terminal_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("audit", "--alpha", 1, "--samples", 500, "--confidence", 0.9999999)
    assert run(*command)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "running the mechanism" in run(*command)[2]
