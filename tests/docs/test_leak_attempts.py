"""The page of leak attempts is true: it counts right, and every test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "leak-attempts.md").read_text()
ROWS = re.findall(r"^\| (\d+) \|.*\| `(test_\w+)` \|$", PAGE, re.MULTILINE)


def test_fifty_attempts_and_more_are_numbered() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 50
    assert len(ROWS) == len(re.findall(r"^\| \d", PAGE, re.MULTILINE))


def test_every_attempt_has_its_test() -> None:
    source = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for _, name in ROWS if f"def {name}(" not in source] == []


def test_the_readme_counts_them() -> None:
    counted = re.findall(
        r"\*\*\[(\d+) leak attempts\]\(docs/leak-attempts\.md\)\*\*", (ROOT / "README.md").read_text()
    )
    assert counted == [str(len(ROWS))]
