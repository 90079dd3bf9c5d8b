"""The page of errors names them all, and draws the tree that the code draws."""

import inspect
from pathlib import Path

from ppsm import errors

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text()


def test_every_error_is_there() -> None:
    names = [name for name, kind in inspect.getmembers(errors, inspect.isclass)]
    assert len(names) >= 10
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_tree_is_that_of_the_code() -> None:
    tree = (errors.__doc__ or "").split("::\n\n")[1].split("\n\nA message")[0]
    assert inspect.cleandoc(tree) in PAGE
