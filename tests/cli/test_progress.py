"""Without a terminal every step of a command that takes its time is a line with a clock and a count."""

import re
import time

import pytest

from ppsm.cli import progress
from ppsm.cli.progress import steps


def test_lines_say_seconds_steps_and_what(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUICK_S", 0.0)
    with steps(3) as say:
        say("building the markets")
        say("first run", 1)
        say("writing")
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^\s*\d+ s", "0 s", line) for line in lines] == [
        "0 s  0 of 3  building the markets",
        "0 s  1 of 3  first run",
        "0 s  1 of 3  writing",
    ]


def test_quick_work_is_done_without_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUICK_S", 60.0)
    with steps() as say:
        say("solving")
    assert capsys.readouterr().err == ""


def test_what_lasts_is_said_although_no_step_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUICK_S", 0.05)
    with steps() as say:
        say("solving")
        time.sleep(0.5)
    assert capsys.readouterr().err == "    0 s  solving\n"
