"""Help is whole: one line for every command, examples that parse, no line cut off."""

import shlex

import pytest
import typer.main
from typer.testing import CliRunner

from ppsm.cli import app


def _leaves() -> dict[str, list[str]]:
    """Every command with the examples of its help."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        for path, leaf in (
            [(name, command)]
            if not hasattr(command, "commands")
            else [(f"{name} {sub}", each) for sub, each in command.commands.items()]
        ):
            lines = (leaf.epilog or "").splitlines()
            found[path] = [line.strip() for line in lines if line.startswith("  ppsm")]
    return found


@pytest.mark.parametrize("path", ["", "case", "ledger"])
def test_no_line_is_cut_off(path: str) -> None:
    said = CliRunner().invoke(app, [*path.split(), "--help"]).output
    commands = said.split("Commands:")[1]
    assert "..." not in commands


@pytest.mark.parametrize(("path", "examples"), _leaves().items(), ids=_leaves())
def test_examples_name_the_command_and_options_that_it_has(path: str, examples: list[str]) -> None:
    assert examples
    help_text = CliRunner().invoke(app, [*path.split(), "--help"]).output
    for example in examples:
        words = shlex.split(example)
        assert words[: 1 + len(path.split())] == ["ppsm", *path.split()]
        for word in words:
            assert not word.startswith("--") or f"{word} " in help_text or f"{word}\n" in help_text, word


def test_version_has_a_short_option() -> None:
    assert CliRunner().invoke(app, ["-V"]).output.startswith("ppsm ")
