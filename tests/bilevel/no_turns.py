"""The automatic choice without searches that take turns: one method after another, as when all gave up."""

import pytest

from ppsm.bilevel import by_turns


def without_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_turns, "searchers", lambda *_: ())
    monkeypatch.setattr(by_turns, "bounded", lambda kkt, _: kkt)
