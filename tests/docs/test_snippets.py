"""Every Python block of the README and the documentation runs, page by page, top to bottom."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"(?P<before>[^\n]*\n)?```python[^\n]*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    """The blocks to run; one may be left out by ``<!-- no-run: reason -->`` on the line before it."""
    found = []
    for match in BLOCK.finditer(page.read_text()):
        left_out = re.fullmatch(r"<!-- no-run: \S.* -->\s*", match["before"] or "")
        if left_out is None:
            found.append(match["code"])
    return found


def test_readme_has_an_example_of_about_ten_lines() -> None:
    first = [line for line in blocks(ROOT / "README.md")[0].splitlines() if line.strip()]
    assert 5 <= len(first) <= 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page)))
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
