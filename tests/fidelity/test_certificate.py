"""The certificate sees what is out of place."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.fidelity import restore
from ppsm.fidelity.certificate import certify
from tests.fidelity.markets import two_nodes


def test_certificate_sees_a_value_a_price_and_a_bound_out_of_place() -> None:
    result = restore(two_nodes(), [3.0, 5.0], 15.0, [1.0, 3.0])
    assert result.claim is not None
    honest = certify(result.claim)
    assert honest.faithful
    assert honest.value == pytest.approx(result.value, rel=1e-7)
    too_little = certify(replace(result.claim, parameter=np.array([3.0, 5.0])))
    assert [finding.what for finding in too_little.findings] == ["value outside its band at"]
    assert too_little.value_excess == pytest.approx(15.0 * 0.999 - 10.0, rel=1e-6)
    uncongested = certify(replace(result.claim, parameter=np.array([12.0, 3.0]), value=None))
    assert [finding.what for finding in uncongested.findings] == ["no optimal dual in the price band at"]
    assert uncongested.price_excess == pytest.approx(3.0 * 0.999 - 1.0, rel=1e-5)
    beyond = certify(replace(result.claim, upper=np.array([1.0, 9.0]), value=None))
    assert "outside its public bounds" in [finding.what for finding in beyond.findings]
    unserved = certify(replace(result.claim, parameter=np.array([3.0, 90.0])))
    assert "no optimal answer" in unserved.findings[0].what
