"""Limits count CPU seconds in these tests: a busy machine must not decide what is proven."""

import time

import pytest


@pytest.fixture(autouse=True)
def _cpu_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", time.process_time)
