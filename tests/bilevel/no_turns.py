"""The automatic choice without searches that take turns: one method after another, as when all gave up."""

import pytest

from ppsm.bilevel import portfolio


def without_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "searchers", lambda *_: ())
    monkeypatch.setattr(portfolio, "bounded", lambda kkt, _: (kkt, None))
