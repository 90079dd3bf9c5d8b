"""Help is whole: one line for every command, examples that parse, no line cut off."""

import shlex

import pytest
import typer.main
from typer.testing import CliRunner

from ppsm.cli import app
from ppsm.cli.app import examples

GROUPS = ["", "case", "ledger", "follower", "leader", "transcript"]


def _help(path: str) -> str:
    """What a terminal of eighty columns shows."""
    return CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "80"}).output


def _leaves() -> dict[str, list[str]]:
    """Every command with the examples of its help."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        for path, leaf in (
            [(name, command)]
            if not hasattr(command, "commands")
            else [(f"{name} {sub}", each) for sub, each in command.commands.items()]
        ):
            lines = (leaf.epilog or "").replace(" \\\n", "").splitlines()
            found[path] = [line.strip() for line in lines if line.startswith("  ppsm")]
    return found


@pytest.mark.parametrize("path", GROUPS)
def test_no_line_is_cut_off(path: str) -> None:
    commands = _help(path).split("Commands:")[1]
    assert "..." not in commands


@pytest.mark.parametrize("path", [*GROUPS, *_leaves()])
def test_help_fits_a_terminal_of_eighty_columns(path: str) -> None:
    assert [line for line in _help(path).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("path", _leaves())
def test_what_a_command_says_can_be_had_as_json(path: str) -> None:
    # a template is a file to fill in, and a service says what it does in its log
    assert ("--json" in _help(path)) == (path not in {"case template", "follower serve"})


def test_long_examples_are_folded_as_a_shell_reads_them() -> None:
    line = "ppsm release --power-stress 0.36 --gas-stress 0.5 --demand demand.csv --alpha 100 --out shared"
    folded = examples(line).splitlines()[2:]
    assert len(folded) == 2
    assert all(len(row) <= 78 for row in folded)  # click indents by two more
    assert shlex.split("\n".join(folded).replace("\\\n", "")) == shlex.split(line)


@pytest.mark.parametrize(("path", "lines"), _leaves().items(), ids=_leaves())
def test_examples_name_the_command_and_options_that_it_has(path: str, lines: list[str]) -> None:
    assert lines
    help_text = _help(path)
    for example in lines:
        words = shlex.split(example)
        assert words[: 1 + len(path.split())] == ["ppsm", *path.split()]
        for word in words:
            assert not word.startswith("--") or f"{word} " in help_text or f"{word}\n" in help_text, word


def test_version_has_a_short_option() -> None:
    assert CliRunner().invoke(app, ["-V"]).output.startswith("ppsm ")
