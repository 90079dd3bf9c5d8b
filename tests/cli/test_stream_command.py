"""``ppsm stream`` from the outside: a directory of days and a table of days are one stream."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ppsm import LaplaceMechanism, Ledger, Sensitive
from ppsm.cli import app
from ppsm.errors import BudgetExceededError, InputError, LedgerError
from ppsm.privacy import LedgerKeeper

DATASET = "gas-demand/two_node/daily"
FIGURES = {"2026-01-01": 812.25, "2026-01-02": 790.5, "2026-01-03": 805.75}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "days").mkdir()
    for day, figure in FIGURES.items():
        (tmp_path / "days" / f"{day}.csv").write_text(f"node,demand_mwh\nhomes,{figure}\n")
    rows = [f"{day};{str(figure).replace('.', ',')}" for day, figure in reversed(FIGURES.items())]
    (tmp_path / "days.csv").write_text("\n".join(["day;homes_mwh", *rows]))
    shape = [f"{day},0.7" for day in FIGURES]
    (tmp_path / "shape.csv").write_text("\n".join(["day,share_of_maximum", *shape]))
    Ledger.create(tmp_path / "ledger.db").grant(DATASET, epsilon=1.0, alpha=300.0, unit="MWh", window=2)
    return tmp_path


def _stream(place: Path, days: str, *more: str) -> dict[str, object]:
    command = ["stream", "--case", "two_node", "--power-stress", "0", "--alpha", "300", "--window", "2"]
    files = ["--days", days, "--shape", "shape.csv", "--out", "out", "--ledger", "ledger.db", "--json"]
    paths = [str(place / each) if each in {days, "shape.csv", "out", "ledger.db"} else each for each in files]
    done = CliRunner().invoke(app, [*command, *paths, *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    content: dict[str, object] = json.loads(done.stdout)
    return content


def _files(place: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (place / "out" / "days").iterdir()}


def test_a_table_goes_on_where_a_directory_was_stopped(place: Path) -> None:
    last = place / "days" / "2026-01-03.csv"
    text = last.read_text()
    last.unlink()
    assert _stream(place, "days")["days"] == 2
    before = _files(place)
    assert _stream(place, "days.csv")["days"] == 3
    assert {name: content for name, content in _files(place).items() if name in before} == before
    entries, after = Ledger(place / "ledger.db").entries(), _files(place)
    last.write_text(text)
    for again in ("days.csv", "days"):
        assert _stream(place, again)["days"] == 3
        assert Ledger(place / "ledger.db").entries() == entries
        assert _files(place) == after


def test_what_was_there_is_not_called_released(place: Path) -> None:
    """Whoever goes on wonders what was charged."""
    command = ["stream", "--case", "two_node", "--power-stress", "0", "--alpha", "300", "--window", "2"]
    files = ["--days", "days.csv", "--shape", "shape.csv", "--out", "out"]
    paths = [each if each.startswith("--") else str(place / each) for each in files]
    said = [CliRunner().invoke(app, [*command, *paths, "--seed", "1"]).stderr for _ in range(2)]
    assert "released 2026-01-03" in said[0]
    assert "was there: 2026-01-03" in said[1]
    assert "released" not in said[1].split("days released")[0]


def test_a_table_gives_the_days_that_a_directory_gives(place: Path) -> None:
    _stream(place, "days", "--seed", "1")
    first = {name: json.loads(text)["values"] for name, text in _files(place).items()}
    (place / "out").rename(place / "first")
    _stream(place, "days.csv", "--seed", "1")
    assert {name: json.loads(text)["values"] for name, text in _files(place).items()} == first


def test_a_wrong_table_is_refused_before_anything_is_charged(place: Path) -> None:
    (place / "days.csv").write_text("day,homes_mwh\n2026-01-01,812.25\n2026-01-01,790.5\n")
    entries = Ledger(place / "ledger.db").entries()
    with pytest.raises(InputError, match="row 3: 2026-01-01 occurs twice"):
        _stream(place, "days.csv")
    (place / "days" / "20260102.csv").write_text("node,demand_mwh\nhomes,1\n")
    with pytest.raises(InputError, match="named after no day"):
        _stream(place, "days")
    assert Ledger(place / "ledger.db").entries() == entries


@pytest.mark.parametrize(
    "wrong",
    [
        ["--days", "nothing"],
        ["--shape", "nothing.csv"],
        ["--ledger", "nothing.db"],
        ["--window", "0"],
        ["--power-stress", "-2"],
    ],
    ids=lambda each: each[0],
)
def test_what_is_refused_leaves_no_directory(place: Path, wrong: list[str]) -> None:
    with pytest.raises((InputError, LedgerError)):
        _stream(place, "days", *wrong)
    assert not (place / "out").exists()


def test_a_day_has_one_shape(place: Path) -> None:
    with (place / "shape.csv").open("a") as file:
        file.write("\n2026-01-03,0.2\n")
    with pytest.raises(InputError, match="row 5: 2026-01-03 occurs twice"):
        _stream(place, "days.csv")
    (place / "shape.csv").unlink()
    with pytest.raises(InputError, match=r"shape\.csv is missing in .*; expected a CSV table"):
        _stream(place, "days.csv")


def test_settings_that_are_no_text_are_refused(place: Path) -> None:
    _stream(place, "days.csv", "--seed", "1")
    (place / "out" / "stream.json").write_bytes(b"\xff\xb1")
    with pytest.raises(InputError, match="is damaged or of a stream with other settings"):
        _stream(place, "days.csv", "--seed", "1")


def test_every_refusal_says_what_to_type_for_a_stream(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget without a window would end with the first days."""
    monkeypatch.setenv("PPSM_LEDGER", str(place / "own.db"))
    options = ["--case", "two_node", "--power-stress", "0", "--alpha", "300", "--window", "2"]
    files = ["--days", str(place / "days"), "--shape", str(place / "shape.csv"), "--out", str(place / "out")]
    typed = []
    for _ in range(2):
        refused = CliRunner().invoke(app, ["stream", *options, *files])
        assert isinstance(refused.exception, LedgerError | BudgetExceededError)
        # The last command that a refusal names, once what it names before is there.
        typed.append(re.findall(r"'ppsm (ledger [^']+)'", str(refused.exception)))
        assert CliRunner().invoke(app, typed[-1][0].split()).exit_code == 0
    assert (
        typed[1]
        == typed[0][1:]
        == [f"ledger grant {DATASET} --epsilon 1.0 --alpha 300.0 --unit MWh --window 2"]
    )
    assert CliRunner().invoke(app, ["stream", *options, *files]).exit_code == 0


def test_a_recipient_needs_a_budget_for_windows_not_for_one_release(place: Path) -> None:
    with pytest.raises(BudgetExceededError) as refused:
        _stream(place, "days", "--recipient", "grid", "--policy", "absorption")
    typed = re.findall(r"'ppsm (ledger grant [^']+)'", str(refused.value))[-1]
    assert typed.endswith(f"{DATASET} --recipient grid --epsilon 1.0 --window 2")
    assert not (place / "out").exists()
    assert CliRunner().invoke(app, typed.split()).exit_code == 0
    assert _stream(place, "days", "--recipient", "grid", "--policy", "absorption")["days"] == 3
    assert Ledger(place / "ledger.db").balance(DATASET, "grid").days.largest(2) <= 1


def test_the_page_counts_all_releases_of_the_data_set(place: Path) -> None:
    keeper = LedgerKeeper(place / "ledger.db")
    keeper.grant(DATASET, epsilon=2.0)
    earlier = Sensitive([812.25], dataset=DATASET, unit="MWh", entry_names=("homes",), day="2025-12-30")
    LaplaceMechanism(alpha=300.0).release(earlier, ledger=keeper, purpose="somebody else")
    _stream(place, "days")
    # Two samples of the stream, and the other one.
    assert "(epsilon = 3 in all)" in (place / "out" / "page.html").read_text()


def test_windows_of_the_page_are_days_of_the_calendar(place: Path) -> None:
    """Two releases in a row are no window where a day between them was left out."""
    (place / "days" / "2026-01-02.csv").unlink()
    assert _stream(place, "days")["sampled"] == 2
    assert "epsilon 1 of 1" in (place / "out" / "page.html").read_text()
