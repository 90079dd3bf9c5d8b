import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.cases.samples import GAS_PER_UNIT, LINKS, POWER

from ppsm.cases.schema import builtin_directory, load_case
from ppsm.cli import main


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["ppsm", "case", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "show", "northeast") == 0
    text = capsys.readouterr().out
    assert "northeast" in text
    assert "nuclear" in text
    assert "+130%" in text


def test_show_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "show", "two_node", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["gas"]["base_demand_mwh"] == 800
    assert figures["power"]["peak_load_mw"] == 150
    assert figures["power"]["lines_with_rating"] == 1


def test_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "check", "medium") == 0
    assert capsys.readouterr().out.strip() == "The case 'medium' is valid."
    assert run(monkeypatch, "check", "medium", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"case": "medium", "valid": True, "remarks": []}


def test_check_of_a_broken_case(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = Path(shutil.copytree(builtin_directory("two_node"), tmp_path / "broken"))
    (broken / "pipes.csv").unlink()
    assert run(monkeypatch, "check", str(broken)) == 2
    assert capsys.readouterr().err.startswith("error: pipes.csv is missing")
    assert run(monkeypatch, "check", str(broken), "--json") == 2
    answer = json.loads(capsys.readouterr().out)
    assert not answer["valid"]
    assert answer["error"].startswith("pipes.csv is missing")


def test_remarks_on_a_case_that_its_stress_exceeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(builtin_directory("two_node"), tmp_path / "copy"))
    settings = (copy / "case.toml").read_text(encoding="utf-8").replace("power = [0.0, 0.2]", "power = [9.0]")
    (copy / "case.toml").write_text(settings, encoding="utf-8")
    (copy / "links.csv").write_text("fleet,junction,heat_rate_mmbtu_per_mwh,gas_share\n", encoding="utf-8")
    assert run(monkeypatch, "check", str(copy)) == 0
    text = capsys.readouterr().out
    assert "1 gas fleets have no link (first: gas)" in text
    assert "the peak of 1500 MW exceeds all fleets (320 MW)" in text


def files(directory: Path) -> list[str]:
    for name, text in (("p.m", POWER), ("g.m", GAS_PER_UNIT), ("l.json", LINKS)):
        (directory / name).write_text(text, encoding="utf-8")
    names = ("--power", "p.m"), ("--gas", "g.m"), ("--link", "l.json")
    return [part for option, name in names for part in (option, str(directory / name))]


def test_import(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "new"
    options = [*files(tmp_path), "--out", str(out), "--name", "mine", "--gas-share", "0.1"]
    assert run(monkeypatch, "import", *options) == 0
    assert "wrote the case 'mine'" in capsys.readouterr().out
    assert load_case(out).source == "imported from p.m, g.m and l.json"
    assert run(monkeypatch, "import", *options) == 2
    assert "not an empty directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--gas-share", "2"], "--gas-share is 2"),
        (["--supply-factor", "0"], "--supply-factor is 0"),
        (["--supply-factor", "0.0001"], "no flow directions"),
    ],
)
def test_import_that_cannot_work(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    options: list[str],
    part: str,
) -> None:
    assert run(monkeypatch, "import", *files(tmp_path), "--out", str(tmp_path / "new"), *options) == 2
    assert part in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
