"""Audits of small streams: honest ones pass, planted faults are caught."""

import pytest

from ppsm.streams.policies import Absorption, Daily, Distribution, Policy
from ppsm.streams.stream_audit import audit_stream
from tests.streams.faults import PLANTED, PROMISE, WHERE, honest

# A window off by one doubles the loss, which takes the most runs to show. Of 20 audits with 400 runs of a
# draw used twice 17 caught it, of 12 with 1,500 all.
SAMPLES = {"a window off by one": 8000, "a draw used twice": 1500}
FEW = 400


@pytest.mark.parametrize("policy", [Daily(), Distribution(), Absorption()], ids=lambda policy: policy.name)
@pytest.mark.parametrize("count", [1, PROMISE.window])
def test_an_honest_stream_passes(policy: Policy, count: int) -> None:
    report = audit_stream(honest(policy), first=1, count=count, samples=FEW, confidence=0.999999)
    assert report.passes, report.findings


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_caught(fault: str) -> None:
    first, count = WHERE[fault]
    samples = SAMPLES.get(fault, FEW)
    assert not audit_stream(PLANTED[fault], first=first, count=count, samples=samples).passes
