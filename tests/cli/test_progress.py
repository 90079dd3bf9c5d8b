"""Without a terminal every step is a line with a clock and a count."""

import re

import pytest

from ppsm.cli.progress import steps


def test_lines_say_seconds_steps_and_what(capsys: pytest.CaptureFixture[str]) -> None:
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
