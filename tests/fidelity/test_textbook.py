"""The textbook forms in SCIP against the search."""

import numpy as np
import pytest

from ppsm.errors import NoValidBoundError
from ppsm.fidelity import Restorer, restore
from ppsm.fidelity.problem import Form, PublicBounds
from ppsm.fidelity.textbook import solve_textbook
from tests.fidelity.markets import Instance, one_node, two_nodes


@pytest.mark.parametrize("form", ["big-m", "indicator", "sos1"])
@pytest.mark.parametrize("seed", [0, 5, 12])
def test_textbook_forms_agree(form: Form, seed: int) -> None:
    instance = Instance(seed)
    upper = np.full(instance.released.size, 6.0)
    restorer = Restorer(instance.follower)
    ours = restorer.restore(instance.released, instance.bands, (0.0, upper), elastic=False)
    bounds = PublicBounds.of((0.0, upper), restorer.names)
    core = restorer.core(instance.released, instance.bands, bounds, "l2", None)
    theirs = solve_textbook(core, form, seconds=20.0, assumed_m=100.0)
    assert theirs.touched == ()
    assert theirs.status is ours.status
    if ours.status.has_answer:
        unit = restorer.scaled.quantity_unit**2
        assert theirs.objective * unit == pytest.approx(ours.objective, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("method", ["indicator", "sos1"])
def test_textbook_forms_share_the_interface(method: Form) -> None:
    ours = restore(two_nodes(), [3.0, 5.0], 15.0, [1.0, 3.0], bounds=(0.0, 20.0))
    theirs = restore(two_nodes(), [3.0, 5.0], 15.0, [1.0, 3.0], bounds=(0.0, 20.0), method=method)
    assert theirs.certified
    assert theirs.recertify().faithful
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-3)
    assert theirs.solvers[0].startswith("SCIP")
    widened = restore(two_nodes(), [3.0, 5.0], 2.0, [1.0, 3.0], 0.1, bounds=(0.0, 20.0), method=method)
    assert widened.widening == pytest.approx(
        restore(two_nodes(), [3.0, 5.0], 2.0, [1.0, 3.0], 0.1, bounds=(0.0, 20.0)).widening, rel=2e-3
    )


def test_big_m_refuses_a_multiplier_without_bound() -> None:
    # At d = 20 all supply is in use, and any price from 5 on is optimal.
    with pytest.raises(NoValidBoundError, match=r"multiplier.*; bound the parameter or the prices"):
        restore(one_node(), [8.0], bounds=(0.0, 20.0), method="big-m")


def test_big_m_proves_its_bounds_where_the_value_band_leaves_supply_unused() -> None:
    result = restore(one_node(), [8.0], 35.0, eta_p=0.01, bounds=(0.0, 20.0), method="big-m")
    assert result.certified
    assert result.parameter == pytest.approx([12.93], abs=1e-6)
