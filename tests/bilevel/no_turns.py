"""The automatic choice without searches that take turns: one method after another, as when all gave up."""

import pytest

from ppsm.bilevel import solve as engine


def without_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "searchers", lambda *_: ())
    monkeypatch.setattr(engine, "bounded", lambda kkt, _: kkt)
