"""Every notebook of the gallery runs, through the public interface alone, and ends in a picture."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
named = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)


def test_the_menu_has_every_notebook() -> None:
    listed = re.findall(r"gallery/(\w+\.py)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == [notebook.name for notebook in NOTEBOOKS]
    assert len(listed) >= 5


@named
def test_a_notebook_keeps_to_the_public_interface(notebook: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(notebook.read_text())) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module is not None and node.module.split(".")[0] == "ppsm"]
    assert ours
    for node in ours:
        package = import_module(str(node.module))
        assert str(node.module).count(".") <= 1
        assert {alias.name for alias in node.names} <= set(package.__all__)


@named
def test_links_of_a_notebook_lead_to_pages(notebook: Path) -> None:
    """The site's builder follows links to Markdown in pages, not in notebooks."""
    for link in re.findall(r"\]\((?!https:)([^)]*)\)", notebook.read_text()):
        assert link.endswith(".html")
        assert (notebook.parent / link).with_suffix(".md").exists()


@named
def test_a_notebook_runs_and_ends_in_a_picture(notebook: Path, tmp_path: Path) -> None:
    script = tmp_path / notebook.name
    script.write_text(f"{notebook.read_text()}\nchart.save('picture.svg')\n")
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr  # it would stand on the page
    assert "<svg" in (tmp_path / "picture.svg").read_text()
