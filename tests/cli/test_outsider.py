"""Whoever sees a command from outside: its files, streams, exit codes and what it leaves behind."""

import getpass
import json
import logging
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from tests.commands import COMMAND, ppsm
from typer.testing import CliRunner

from ppsm import Ledger
from ppsm.cases.schema import builtin_directory
from ppsm.cli import app
from ppsm.cli.output import interrupted
from ppsm.cli.secret import at_the_truth, owner_directory
from ppsm.cli.tradeoff import TROUBLE
from ppsm.errors import InputError, LedgerError, PrivacyError
from ppsm.privacy import LedgerKeeper

DEMAND = 812.3456789
DIGITS = "812.3"
CELL = ["--case", "two_node", "--power-stress", "0", "--alpha", "300", "--time-limit", "1"]
RELEASE = ["release", *CELL, "--mechanism", "laplace", "--demand", "demand.csv", "--out", "out"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user has a demand file, and a ledger for many releases elsewhere."""
    ledger = tmp_path / "home" / "ledger.db"
    ledger.parent.mkdir()
    monkeypatch.setenv("PPSM_LEDGER", str(ledger))
    Ledger.create(ledger).grant("gas-demand/two_node", epsilon=50.0, alpha=300.0, unit="MWh")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("demand.csv").write_text(f"node,demand_mwh\nhomes,{DEMAND}\n")
    return tmp_path / "work"


def said_by(*arguments: str, place: Path, **environment: str) -> str:
    """All that a command prints."""
    done = subprocess.run(  # noqa: S603
        [*COMMAND, *arguments],
        cwd=place,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_log_gets_no_figure_of_the_owner(place: Path) -> None:
    """Standard output and error of the shortest command, as a job of a server keeps them."""
    said = said_by(*RELEASE, place=place)
    kept = place / "out" / "owner" / "distances.json"
    assert f"for the owner only, and so not printed where it is no terminal: see {Path('out/owner')}" in said
    assert "L1" not in said
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["l1_noisy"] > 0


def test_a_failure_against_the_truth_is_no_exit_code(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppsm.owner.distances.distances_for_owner", _cannot_be_served)
    done = CliRunner().invoke(app, RELEASE)
    assert done.exit_code == 0
    assert "true demand" not in done.output


def _cannot_be_served(*_: object) -> None:
    raise PrivacyError("the true demand cannot be served")


def test_a_failure_against_the_truth_leaves_the_same_log(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is missing tells as much as one that is there, and so does a file that is not written."""
    first = CliRunner().invoke(app, RELEASE)
    monkeypatch.setattr("ppsm.owner.distances.distances_for_owner", _cannot_be_served)
    second = CliRunner().invoke(app, [*RELEASE[:-1], "again"])
    said = [line for line in first.stderr.splitlines() if "owner" in line]
    assert said == [line.replace("again", "out") for line in second.stderr.splitlines() if "owner" in line]
    kept = place / "again" / "owner" / "distances.json"
    assert "cannot be served" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_no_file_takes_the_place_of_a_closed_stream(closed: tuple[int, ...], place: Path) -> None:
    """What is meant for a terminal, or what a solver prints, must not get into a file to share."""

    def close() -> None:
        for number in closed:
            os.close(number)

    done = subprocess.run(  # noqa: S603
        [*COMMAND, *RELEASE], cwd=place, preexec_fn=close, capture_output=True, check=False, timeout=170
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    out = place / "out"
    assert (out / "released.csv").read_text().startswith("# ppsm release of")
    for name in ("dossier.json", "evaluation.json"):
        json.loads((out / name).read_text())
    assert Ledger(os.environ["PPSM_LEDGER"]).verify().ok


def test_a_path_like_markup_is_a_path(place: Path) -> None:
    done = CliRunner().invoke(app, [*RELEASE[:-1], "[red]out[/b]"])
    assert done.exit_code == 0, done.output
    assert "[red]out[/b]/released.csv" in done.stdout.replace("\n", "")


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [_link, Path.touch], ids=["a link", "a file"])
def test_a_place_for_the_owner_that_others_have_made_is_refused(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "owner")
    with pytest.raises(InputError, match=r"for the owner alone|is no directory of its own"):
        owner_directory(tmp_path)


def test_a_directory_of_another_user_is_not_for_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner_directory(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InputError, match="is of another user: remove it"):
        owner_directory(tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        ["--prior", "demand.csv", "--mechanism", "ppsm"],
        ["--predictor", "public", "--published", "demand.csv", "--mechanism", "ppsm"],
        ["--predictor", "learned", "--model", "demand.csv", "--mechanism", "ppsm"],
        ["--ledger", "demand.csv"],
        ["--case", "demand.csv"],
        ["--out", "demand.csv"],
        ["--after", "demand.csv"],
    ],
    ids=lambda given: given[-3 if "ppsm" in given else 0],
)
def test_the_secret_in_the_place_of_another_file_is_not_quoted(given: list[str], place: Path) -> None:
    refused = CliRunner().invoke(app, [*RELEASE, *given])
    assert refused.exit_code != 0
    assert DIGITS not in refused.output + str(refused.exception)
    assert Ledger(os.environ["PPSM_LEDGER"]).balance("gas-demand/two_node").spent == 0


@pytest.mark.parametrize("given", [["--ledger"], ["--dossier"]])
def test_the_secret_as_a_ledger_or_a_dossier_is_not_quoted(given: list[str], place: Path) -> None:
    refused = CliRunner().invoke(app, ["ledger", "verify", *given, "demand.csv"])
    assert isinstance(refused.exception, (InputError, PrivacyError))
    assert DIGITS not in str(refused.exception)


_HOOK = """
import os, sys
seen = os.open(os.environ["WRITTEN"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def hook(event, given):
    if event == "open" and isinstance(given[0], str) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        os.write(seen, (os.path.abspath(given[0]) + "\\n").encode())
    elif event in ("socket.connect", "subprocess.Popen", "os.fork"):
        os.write(seen, (event + "\\n").encode())

sys.addaudithook(hook)
"""


def test_a_release_writes_nothing_anywhere_else(place: Path, tmp_path: Path) -> None:
    """No temporary file, no cache, no connection: what Python opens to write, with all that is logged."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(_HOOK)
    written, ppsms_path = tmp_path / "written", os.environ.get("PYTHONPATH", "")
    said = said_by(
        "-vv",
        *RELEASE,
        place=place,
        PYTHONPATH=os.pathsep.join((str(tmp_path / "hook"), ppsms_path)),
        WRITTEN=str(written),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert DIGITS not in said
    where = set(written.read_text().splitlines()) - {os.devnull}
    out = str(place / "out")
    elsewhere = {path for path in where if path != out and not path.startswith(out + os.sep)}
    # The system's own trial whether its directory for temporary files can be written.
    assert {path for path in elsewhere if len(Path(path).name) != 8} == set()
    assert any(path.startswith(out) for path in where)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONOPTIMIZE": "2"},
        {"PYTHONFAULTHANDLER": "1", "PYTHONDEVMODE": "1"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "20"},
    ],
    ids=["without assertions", "development mode", "a plain terminal"],
)
def test_the_interpreters_settings_show_nothing_more(environment: dict[str, str], place: Path) -> None:
    assert DIGITS not in said_by("-vv", *RELEASE, place=place, **environment)
    assert Ledger(os.environ["PPSM_LEDGER"]).balance("gas-demand/two_node").spent == 1


@pytest.mark.parametrize("wait_s", [1.0, 2.0, 3.0])
def test_a_crash_shows_no_value_and_leaves_none(wait_s: float, place: Path) -> None:
    """A fault of the processor, with the interpreter's own account of it."""
    started = subprocess.Popen(  # noqa: S603
        [*COMMAND, "-vv", *RELEASE],
        cwd=place,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(wait_s)
    os.kill(started.pid, signal.SIGSEGV)
    said = b"".join(started.communicate(timeout=60))
    assert DIGITS.encode() not in said
    for file in (file for file in (place / "out").rglob("*") if file.is_file()):
        assert DIGITS.encode() not in file.read_bytes()


def test_shared_files_do_not_say_who_made_them_or_where(place: Path) -> None:
    assert ppsm(*RELEASE, cwd=place).returncode == 0
    for file in (place / "out").iterdir():
        if file.is_file():
            text = file.read_text()
            assert str(place.parent) not in text
            assert platform.node() not in text
            assert f'"{getpass.getuser()}"' not in text


@pytest.mark.parametrize(
    "given",
    [
        ["--alpha", "nan"],
        ["--alpha", "inf"],
        ["--alpha", "-0.0"],
        ["--alpha", "1e-320"],
        ["--epsilon", "nan"],
        ["--epsilon", "1e400"],
        ["--epsilon", "1e-320"],
        ["--dataset", "../../other"],
        ["--dataset", "gas\ndemand"],
        ["--dataset", "gas\x1b[2J"],
        ["--dataset", "<script>alert(1)</script>"],
    ],
    ids=lambda given: f"{given[0][2:]} {given[1]!r}",
)
def test_numbers_and_names_beyond_all_use_are_refused(given: list[str], place: Path) -> None:
    refused = CliRunner().invoke(app, [*RELEASE, *given])
    assert isinstance(refused.exception, (InputError, PrivacyError))
    assert "\x1b" not in str(refused.exception)
    assert Ledger(os.environ["PPSM_LEDGER"]).balance("gas-demand/two_node").spent == 0


@pytest.mark.parametrize(
    "given", [["--epsilon", "nan"], ["--epsilon", "inf"], ["--epsilon", "-1"], ["--most-per-release", "nan"]]
)
def test_a_grant_of_no_number_is_refused(given: list[str], place: Path) -> None:
    before = Ledger(os.environ["PPSM_LEDGER"]).verify().head
    grant = ["ledger", "grant", "gas-demand/two_node", "--epsilon", "1", *given]
    assert isinstance(CliRunner().invoke(app, grant).exception, InputError)
    assert Ledger(os.environ["PPSM_LEDGER"]).verify().head == before


def test_grants_are_added_as_they_are_typed(tmp_path: Path) -> None:
    """Ten grants of 0.1 are one, and a grant of next to nothing gives next to nothing."""
    keeper: LedgerKeeper = Ledger.create(tmp_path / "ledger.db")
    for _ in range(10):
        keeper.grant("gas", epsilon=0.1, alpha=1.0, unit="MWh")
    assert keeper.balance("gas").granted == 1
    keeper.grant("gas", epsilon=1e-320)
    assert Fraction(keeper.balance("gas").granted) == 1 + Fraction("1e-320")


def test_completion_in_a_shell_knows_nothing_of_ledgers(place: Path) -> None:
    """What a shell asks the command for when the key for completion is pressed."""
    for words in ("ppsm rel", "ppsm release --dataset ", "ppsm ledger grant "):
        said = subprocess.run(
            [sys.executable, "-c", "import sys; sys.argv[0] = 'ppsm'; from ppsm.__main__ import run; run()"],
            cwd=place,
            env={
                **os.environ,
                "_PPSM_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split(" ")) - 1),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        ).stdout
        assert ("release" in said) == (words == "ppsm rel")
        assert "two_node" not in said


COMPARE = ["compare", *CELL, "--draws", "1", "--demand", "demand.csv", "--out", "out"]
COMPARE[COMPARE.index("--alpha")] = "--alphas"


def test_a_log_hears_nothing_of_work_at_the_secret(place: Path) -> None:
    """What searches came to with seeded noise on the true demand, and when each was done."""
    said = said_by("-vv", *COMPARE, place=place).split("wrote out/report.html")
    assert len(said) == 2
    assert "ppsm.mechanism.steps: step 3b" in said[0]
    assert "for the owner only, and so not printed where it is no terminal" in said[1]
    assert "ppsm." not in said[1]
    assert " s  " not in said[1]
    assert (place / "out" / "owner" / "rows.parquet").exists()


def test_the_log_is_as_it_was_before_the_secret(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    log = logging.getLogger("ppsm.test")
    for public in (True, False):
        with at_the_truth(lambda text, _done=None: said.append(text), public=public) as tell:
            tell("at work")
            log.error("public %s", public)
    log.error("afterwards")
    assert said == ["at work", ""]
    assert caplog.messages == ["public True", "afterwards"]
    monkeypatch.setattr("ppsm.cli.secret.is_for_owner", lambda: True)
    with at_the_truth(lambda text, _done=None: said.append(text), public=False) as tell:
        tell("on the owner's terminal")
    assert said[-1] == "on the owner's terminal"


def test_a_tradeoff_of_a_secret_case_remembers_nothing_where_others_read(tmp_path: Path) -> None:
    """A remembered plan has the exact cost of the true market."""
    shutil.copytree(builtin_directory("two_node"), tmp_path / "mine")
    given = ["--case", str(tmp_path / "mine"), "--power-stress", "0", "--gas-stress", "0.5"]
    places = ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    refused = CliRunner().invoke(app, ["tradeoff", *given, *places])
    assert isinstance(refused.exception, InputError)
    assert "whose commitments tell of its demand" in str(refused.exception)
    assert not (tmp_path / "cache").exists()


def test_a_tradeoff_of_a_secret_case_does_not_say_that_its_market_has_no_answer(tmp_path: Path) -> None:
    """Neither by an exit code nor in a log: the reason is for the owner alone."""
    mine = tmp_path / "mine"
    shutil.copytree(builtin_directory("two_node"), mine)
    for file, old, new in (
        ("supplies", "city,1,500,", "city,1,10,"),
        ("deliveries", "city,800,", "city,1000,"),
    ):
        text = (mine / f"{file}.csv").read_text(encoding="utf-8")
        (mine / f"{file}.csv").write_text(text.replace(old, new), encoding="utf-8")
    given = ["--case", str(mine), "--power-stress", "0", "--gas-stress", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["tradeoff", *given, "--draws", "1"])
    assert done.exit_code == 0
    assert "answer" not in done.output
    assert TROUBLE not in done.output  # or the log would name another file than where all goes well
    why = tmp_path / "out" / "owner" / TROUBLE
    assert "has no answer" in why.read_text(encoding="utf-8")
    assert stat.S_IMODE(why.stat().st_mode) == 0o600


def test_an_interrupted_run_at_a_secret_does_not_count_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    for counted in (True, False):
        interrupted(7, 27, Path("out"), counted=counted)
        assert ("7 of 27" in capsys.readouterr().err) == counted


def test_a_demand_may_come_through_a_pipe(place: Path) -> None:
    """For who keeps it encrypted: it is read once, and lies nowhere."""
    Path("demand.csv").unlink()
    os.mkfifo("pipe")

    def write() -> None:
        Path("pipe").write_text(f"node,demand_mwh\nhomes,{DEMAND}\n")

    writer = threading.Thread(target=write)
    writer.start()
    said = said_by(*(word.replace("demand.csv", "pipe") for word in RELEASE), place=place)
    writer.join()
    files = [file.read_text() for file in place.rglob("*") if file.is_file()]
    assert len(files) >= 4
    assert not any(DIGITS in text for text in [said, *files])


def test_warnings_that_are_raised_end_no_release(place: Path) -> None:
    """From the first import on, those of libraries too."""
    said = said_by(*RELEASE, place=place, PYTHONWARNINGS="error")
    assert DIGITS not in said
    assert (place / "out" / "released.csv").exists()


def test_nobody_else_reads_what_is_the_owners_whatever_the_umask(place: Path) -> None:
    before = os.umask(0)
    try:
        said_by(*RELEASE, place=place)
    finally:
        os.umask(before)
    owner = place / "out" / "owner"
    assert stat.S_IMODE(owner.stat().st_mode) == 0o700
    assert stat.S_IMODE((owner / "distances.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["device", "pipe", "directory"])
def test_a_ledger_that_is_no_file_is_refused(kind: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that forgets what it is told, or that waits for ever."""
    os.mkfifo("pipe")
    named = {"device": "/dev/null", "pipe": str(place / "pipe"), "directory": str(place)}[kind]
    monkeypatch.setenv("PPSM_LEDGER", named)
    refused = CliRunner().invoke(app, RELEASE)
    assert isinstance(refused.exception, LedgerError)
    assert "is no file, expected a ledger" in str(refused.exception)
    assert not (place / "out" / "released.csv").exists()
