"""The snippets of the documentation pages about cases run and print what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["northeast.md", "cases.md", "gauc.md"])
def test_snippets(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    text = (DOCS / page).read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert snippets
    names: dict[str, object] = {}  # a snippet may use what the ones before it made
    for snippet in snippets:
        promised = re.findall(r"print\(.*\)  # (.*)", snippet)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(snippet, page, "exec"), names)  # noqa: S102 - the page is ours
        assert printed.getvalue().splitlines() == promised
