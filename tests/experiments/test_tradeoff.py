"""``ppsm tradeoff`` from the outside: stopping, going on, and what is refused."""

import json
import shutil
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from ppsm.cases.schema import builtin_directory
from ppsm.cli import app
from ppsm.errors import InputError
from ppsm.experiments import RowStore
from ppsm.experiments.summaries import summarise
from tests.commands import interrupted, ppsm

TRADEOFF = ["tradeoff", "--case", "two_node", "--power-stress", "0", "--gas-stress", "0"]


def test_a_tradeoff_can_be_stopped_and_continued(tmp_path: Path) -> None:
    options = ["--alphas", "100,1000", "--draws", "40", "--out", "out"]
    out = tmp_path / "out"
    errors = interrupted(*TRADEOFF, *options, cwd=tmp_path, rows=out, count=7)
    assert "run the same command again to go on" in errors
    kept = RowStore(out).rows()
    assert 7 <= len(kept) < 240
    assert (out / "tradeoff.csv").exists()
    ElementTree.parse(out / "tradeoff.svg")  # noqa: S314 - our own file

    part = next((out / "parts").iterdir())
    (out / "parts" / f"{part.name}.tmp").write_bytes(part.read_bytes()[:100])  # as a power cut would leave it
    options[3] = str(len(kept) // 6 + 1)
    done = ppsm(*TRADEOFF, *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = RowStore(out).rows()
    assert all(row in rows for row in kept)  # with their times: nothing was run twice
    summaries = json.loads(done.stdout)
    assert [(each["alpha_mwh"], each["mechanism"]) for each in summaries] == [
        (alpha, name) for alpha in (100.0, 1000.0) for name in ("laplace", "ppsm-p", "ppsm")
    ]
    by_name = {(each["alpha_mwh"], each["mechanism"]): each for each in summaries}
    assert by_name[1000.0, "ppsm"]["feasible_percent"] == 100.0
    assert by_name[1000.0, "ppsm"]["gas_error_percent"] <= 0.2
    assert by_name[1000.0, "ppsm"]["l1_distance_mwh"] < by_name[1000.0, "laplace"]["l1_distance_mwh"]
    # runs with another limit are not mixed with these
    other = ppsm(*TRADEOFF, *options, "--time-limit", "9", cwd=tmp_path)
    assert other.returncode == 2
    assert "were made with clear_seconds = 30.0, this run has 9.0: give another --out" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_foreign_rows_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    for text in ("hello\n", "[]\n", "{}\n"):
        file.write_text(text)
        error = CliRunner().invoke(app, [*TRADEOFF, "--out", str(tmp_path)]).exception
        assert isinstance(error, InputError)
        assert "holds no rows" in str(error)
        assert file.read_text() == text
    assert summarise([]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--draws", "0"], "0 draws were asked for; expected at least 1"),
        (["--time-limit", "0"], "the time limit is 0 s; expected a number above zero"),
    ],
)
def test_a_tradeoff_refuses_what_it_cannot_run(options: list[str], message: str, tmp_path: Path) -> None:
    error = CliRunner().invoke(app, [*TRADEOFF, "--out", str(tmp_path), *options]).exception
    assert isinstance(error, InputError)
    assert message in str(error)


def test_a_secret_case_stays_with_its_owner(tmp_path: Path) -> None:
    shutil.copytree(builtin_directory("two_node"), tmp_path / "mine")
    given = ["tradeoff", "--case", "mine", "--power-stress", "0", "--gas-stress", "0.25", "--out", "out"]
    done = ppsm(*given, "--alphas", "300", "--draws", "1", "--time-limit", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "for the owner only, and so not printed where it is no terminal: see out/owner" in done.stderr
    out = tmp_path / "out"
    assert [path.name for path in out.iterdir()] == ["owner"]
    assert stat.S_IMODE((out / "owner").stat().st_mode) == 0o700
    for name in ("rows.parquet", "tradeoff.csv", "tradeoff.svg", "originals.json", "settings.json"):
        assert stat.S_IMODE((out / "owner" / name).stat().st_mode) == 0o600


def test_the_rows_of_a_secret_case_stay_with_its_owner(tmp_path: Path) -> None:
    shutil.copytree(builtin_directory("two_node"), tmp_path / "mine")
    grid = 'case = "mine"\npower_stress = [0]\ngas_stress = [0.25]\nalphas = [300]\nrepetitions = 1\n'
    (tmp_path / "grid.toml").write_text(grid + 'mechanisms = ["laplace"]\nclear_seconds = 1\n')
    done = ppsm("experiment", "grid.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "for the owner only: do not pass on" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["owner"]
    assert stat.S_IMODE((tmp_path / "out" / "owner").stat().st_mode) == 0o700
    rows = [*(tmp_path / "out" / "owner").rglob("*.parquet"), tmp_path / "out" / "owner" / "originals.json"]
    assert len(rows) >= 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in rows} == {0o600}
    remembered = ppsm("experiment", "grid.toml", "--out", "out", "--cache", "cache", cwd=tmp_path)
    assert remembered.returncode == 2
    assert "whose commitments tell of its demand" in remembered.stderr
    assert not (tmp_path / "cache").exists()
