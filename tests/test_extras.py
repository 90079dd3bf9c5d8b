"""Extras: the table agrees with the project file, and what is missing is said in one sentence."""

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from ppsm import extras
from ppsm.errors import InputError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("extra", extras.EXTRAS)
def test_modules_are_those_of_the_packages_in_the_project_file(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = " ".join(project["optional-dependencies"][extra]).lower()
    found = packages_distributions()
    for module in extras.EXTRAS[extra]:
        assert any(name.lower() in packages for name in found[module]) or module in packages, module


def test_what_is_missing_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "figures", ("json", "no_such_library"))
    assert not extras.installed("figures")
    sentence = r"a map needs no_such_library, which is not installed: pip install 'ppsm\[figures\]'"
    with pytest.raises(InputError, match=sentence):
        extras.insist_on("figures", "a map")
