"""Every Python block of the README and the documentation runs, page by page, top to bottom.

A comment behind a ``print``, or on the line below it, is what it prints, where ``...`` stands for any text:
``print(1 + 1)  # 2``. Other remarks about a ``print`` go above it.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"(?P<before>[^\n]*\n)?```python[^\n]*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)
MARK = "printed at line "
# Put before the blocks, on one line: the page's own print says from which line it was called.
NOTING_PRINT = (
    "import json, sys; print = lambda *parts: sys.stdout.write("
    f"'\\n{MARK}' + json.dumps([sys._getframe(1).f_lineno, ' '.join(map(str, parts))]) + '\\n')"
)


def blocks(page: Path) -> list[str]:
    """The blocks to run; one may be left out by ``<!-- no-run: reason -->`` on the line before it."""
    found = []
    for match in BLOCK.finditer(page.read_text()):
        left_out = re.fullmatch(r"<!-- no-run: \S.* -->\s*", match["before"] or "")
        if left_out is None:
            found.append(match["code"])
    return found


def expected(script: str) -> dict[int, str]:
    """What the comments say, by the line on which the ``print`` begins."""
    comments = {
        token.start[0]: token
        for token in tokenize.generate_tokens(io.StringIO(script).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            last = node.end_lineno or node.lineno
            below = comments.get(last + 1)
            if below is not None and below.line.strip() != below.string:
                below = None  # it belongs to the statement below
            comment = comments.get(last, below)
            if comment is not None:
                found[node.lineno] = comment.string.removeprefix("#").strip()
    return found


def printed(output: str) -> dict[int, str]:
    """What was printed, by line; a line that was passed several times has all of it."""
    texts = defaultdict(list)
    for line in output.splitlines():
        if line.startswith(MARK):
            number, text = json.loads(line.removeprefix(MARK))
            texts[number].append(text)
    return {number: "\n".join(each) for number, each in texts.items()}


def stale(script: str, output: str) -> list[str]:
    """The comments that say something else than what was printed."""
    texts = printed(output)
    findings = []
    for number, comment in expected(script).items():
        pattern = ".*".join(map(re.escape, comment.split("...")))
        text = texts.get(number)
        if text is None or re.fullmatch(pattern, text, re.DOTALL) is None:
            findings.append(f"the comment says {comment!r}, printed was {text!r}")
    return findings


def run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    file = directory / "page.py"
    file.write_text(script)
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(file)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_readme_has_an_example_of_about_ten_lines() -> None:
    first = [line for line in blocks(ROOT / "README.md")[0].splitlines() if line.strip()]
    assert 5 <= len(first) <= 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    script = "\n".join([NOTING_PRINT, *blocks(page)])
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert stale(script, done.stdout) == []


@pytest.mark.parametrize(
    ("code", "findings"),
    [
        ("print(1 + 1)  # 2", []),
        ("print(1 + 1)  # 3", ["the comment says '3', printed was '2'"]),
        ("print(1 + 1)\n# 3", ["the comment says '3', printed was '2'"]),
        ("print(\n    1, 'a'\n)  # 1 b", ["the comment says '1 b', printed was '1 a'"]),
        ("# 3 would be wrong\nprint(2)\nx = 3  # 3", []),
        ("for i in range(2):\n    print(i)  # 0...1", []),
        ("print('time 3.2 s')  # time ... s", []),
        (
            "print('time 3.2 s')  # time ... min",
            ["the comment says 'time ... min', printed was 'time 3.2 s'"],
        ),
        ("if False:\n    print(1)  # 1", ["the comment says '1', printed was None"]),
    ],
)
def test_stale_comments_are_found(code: str, findings: list[str], tmp_path: Path) -> None:
    script = f"{NOTING_PRINT}\n{code}\n"
    assert stale(script, run(script, tmp_path).stdout) == findings
