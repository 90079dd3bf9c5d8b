"""The page on privacy: its snippets run in order, and its claims about commands hold."""

import re
from pathlib import Path

import pytest
from benchmarks import __main__ as bench
from benchmarks import privacy

PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"


def test_snippets_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippets) >= 7
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, PAGE.name, "exec"), names)  # noqa: S102 - the page is ours
    assert (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(("value", "code"), [(4.9, 0), (5.1, 1)])
def test_a_missed_limit_fails_the_benchmark(
    value: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row: dict[str, float | str] = {"name": "a release", "value": value, "unit": "ms", "limit": 5.0}
    monkeypatch.setattr(privacy, "measure", lambda: [row])
    with pytest.raises(SystemExit) as end:
        bench.main()
    assert end.value.code == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
