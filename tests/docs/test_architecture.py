"""The architecture page is true: files it names exist, and packages import each other in its order only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ppsm"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def _section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def _order() -> list[str]:
    rows = [line.split("|")[2] for line in _section("Layers").splitlines() if line.startswith("|")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def _imported(file: Path) -> Iterator[str]:
    """Modules below ppsm that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                (f"ppsm.{name.name}" for name in node.names) if node.module == "ppsm" else [node.module]
            )
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"[\w./]+\.py\b", PAGE))))
def test_files_that_the_page_names_exist(name: str) -> None:
    assert (PACKAGE / name).is_file() or (ROOT / name).is_file()


def test_the_page_orders_all_packages() -> None:
    packages = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(_order()) == sorted(packages - {"__init__"})


@pytest.mark.parametrize("package", _order())
def test_a_package_imports_only_those_before_it(package: str) -> None:
    order = _order()
    allowed = {*order[: order.index(package) + 1], "__version__"}
    files = [PACKAGE / f"{package}.py", *(PACKAGE / package).rglob("*.py")]
    wrong = {
        f"{file.relative_to(PACKAGE)} imports {module}"
        for file in files
        if file.exists()
        for module in _imported(file)
        if module.startswith("ppsm.") and module.split(".")[1] not in allowed
    }
    assert not wrong
