"""The parts: certificate, reference forms, batch, QP solvers, monotone networks."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.errors import NoValidBoundError
from ppsm.fidelity import Bands, Restorer, restore
from ppsm.fidelity.problem import Form, PublicBounds
from ppsm.fidelity.proof.certificate import certify
from ppsm.fidelity.search.best_first import Incumbent, SearchOutcome
from ppsm.fidelity.search.lower_side import is_monotone
from ppsm.fidelity.textbook import solve_textbook
from ppsm.fidelity.widening import least_widening
from ppsm.program import LinearProgram
from ppsm.solvers.qp import QpWorkspace, QuadraticProgram, solve_qp, solve_qp_with_clarabel
from ppsm.status import Status
from tests.fidelity.test_exactness import Instance
from tests.fidelity.test_restore import one_node, two_nodes


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


def test_many_vectors_against_one_restorer_equal_single_calls() -> None:
    bands = Bands.relative(15.0, [1.0, 3.0])
    warm = Restorer(two_nodes())
    for k in range(4):
        together, alone = (one.restore([3.0 + k, 5.0], bands) for one in (warm, Restorer(two_nodes())))
        assert together.certified
        assert together.parameter == pytest.approx(alone.parameter, abs=1e-7)


def _qp(upper: float) -> QuadraticProgram:
    """min (x - 3)^2 - 9 + (y - 1)^2 - 1 with x + y = 2 and x <= upper."""
    return QuadraticProgram(
        curvature=np.ones(2),
        cost=np.array([-6.0, -2.0]),
        equality=sp.csr_array(np.array([[1.0, 1.0]])),
        equality_value=np.array([2.0]),
        rows=sp.csr_array(np.array([[1.0, 0.0]])),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([upper]),
        column_lower=np.array([0.0, -np.inf]),
        column_upper=np.array([np.inf, np.inf]),
    )


@pytest.mark.parametrize("solve", [QpWorkspace().solve, solve_qp_with_clarabel])
def test_qp_solvers_agree_by_hand(solve: object) -> None:
    solution = solve(_qp(1.5))  # type: ignore[operator]
    assert solution.columns == pytest.approx([1.5, 0.5], abs=1e-6)
    assert solution.objective == pytest.approx(1.5**2 - 9 + 0.5**2 - 1, abs=1e-6)
    # gradient (-3, -1) = u (1, 1) + v (1, 0): u = -1, v = -2
    assert solution.equality_multipliers == pytest.approx([-1.0], abs=1e-5)
    assert solution.row_multipliers == pytest.approx([-2.0], abs=1e-5)
    assert solution.bound <= solution.objective + 1e-9


def test_qp_reports_infeasible() -> None:
    assert solve_qp(_qp(-1.0)).status is Status.INFEASIBLE


def test_monotone_networks_are_recognised() -> None:
    follower = two_nodes()
    assert is_monotone(follower.program, follower.parameter_map, np.zeros(2))
    earning = replace(follower.program, cost=np.array([1.0, -3.0, 0.0]))
    assert not is_monotone(earning, follower.parameter_map, np.zeros(2))
    assert not is_monotone(follower.program, follower.parameter_map, np.array([-1.0, 0.0]))
    forced = LinearProgram.from_arrays(
        cost=follower.program.cost,
        matrix=follower.program.matrix,
        row_lower=[0.0, 0.0],
        row_upper=[0.0, 0.0],
        column_lower=[0.0, 0.0, 1.0],
        column_upper=follower.program.column_upper,
    )
    assert not is_monotone(forced, follower.parameter_map, np.zeros(2))


@pytest.mark.parametrize("threshold", [1.0, 1.0004, 1.7, 42.0])
def test_least_widening_finds_the_threshold(threshold: float) -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor >= threshold:
            return SearchOutcome(Status.PROVEN_OPTIMAL, point, 0.0, 1)
        return SearchOutcome(Status.INFEASIBLE, None, np.inf, 1)

    found = least_widening(1.0, attempt)
    assert threshold <= found.factor <= threshold * 1.0012
    assert found.bound <= threshold
    assert found.factor - found.bound <= 1.2e-3 * found.factor


def test_narrower_bands_with_a_vector_that_may_be_far_away_are_not_taken() -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor < 20.0:
            return SearchOutcome(Status.NO_INCUMBENT, None, -np.inf, 1)
        return SearchOutcome(Status.PROVEN_OPTIMAL if factor > 30.0 else Status.INCUMBENT, point, 0.0, 1)

    found = least_widening(1.0, attempt)
    assert found.outcome is not None
    assert found.outcome.status is Status.PROVEN_OPTIMAL
    assert 30.0 < found.factor < 1.25 * 30.0


def test_above_refuted_bands_any_vector_makes_the_least_factor() -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))

    def attempt(factor: float) -> SearchOutcome:
        if factor < 2.0:
            return SearchOutcome(Status.INFEASIBLE, None, np.inf, 1)
        return SearchOutcome(Status.PROVEN_OPTIMAL if factor > 2.1 else Status.INCUMBENT, point, 0.0, 1)

    found = least_widening(1.0, attempt)
    assert 2.0 <= found.factor <= 2.0 * 1.0012
    assert found.factor - found.bound <= 1.2e-3 * found.factor


# A vector that nothing is proven about takes a few more: wider bands might give a better one.
@pytest.mark.parametrize(("status", "most"), [(Status.PROVEN_OPTIMAL, 8), (Status.INCUMBENT, 14)])
def test_where_nothing_is_refuted_a_few_attempts_are_enough(status: Status, most: int) -> None:
    point = Incumbent(0.0, np.zeros(1), np.zeros(1), np.zeros(0, dtype=np.int64))
    tried: list[float] = []

    def attempt(factor: float) -> SearchOutcome:
        tried.append(factor)
        if factor >= 9.0:
            return SearchOutcome(status, point, 0.0, 1)
        return SearchOutcome(Status.NO_INCUMBENT, None, -np.inf, 1)

    found = least_widening(1.0, attempt)
    assert 9.0 <= found.factor <= 9.0 / 0.8
    assert found.bound == 1.0
    assert found.outcome is not None
    assert len(tried) <= most
