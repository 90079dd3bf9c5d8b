"""The page of benchmarks names every script of the folder, by its command or by the target that calls it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
RECIPES = dict(re.findall(r"^([\w-]+): \$\(READY\).*\n\t(.*)", MAKEFILE, re.MULTILINE))


def scripts() -> list[str]:
    """Modules that measure something for ``make bench`` or are called by themselves."""
    files = {path.stem: path.read_text() for path in sorted((ROOT / "benchmarks").glob("*.py"))}
    marks = ("\ndef measure(", '\nif __name__ == "__main__":')
    return [
        name for name, text in files.items() if name != "__main__" and any(mark in text for mark in marks)
    ]


def commands() -> str:
    """What the page tells to run, with the recipes of make targets written out."""
    called = re.findall(r"`make ([\w-]+)", PAGE)
    return PAGE + "\n".join(RECIPES.get(target, "") for target in called)


@pytest.mark.parametrize("name", scripts())
def test_every_script_is_on_the_page(name: str) -> None:
    assert re.search(rf"-m benchmarks[. ]{name}\b", commands())


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([\w-]+)", PAGE))))
def test_every_target_of_the_page_exists(target: str) -> None:
    assert re.search(rf"^{target}: ", MAKEFILE, re.MULTILINE)
