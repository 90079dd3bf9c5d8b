"""Games built to break a proof: reduced costs that look like rounding, units that swallow coefficients."""

from itertools import permutations

import numpy as np
import pytest

from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import InputError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.status import Status

INF = float("inf")
REACH = 1e5
OURS = [Method.AUTO, Method.BRANCHING]


def assert_optimum(program: BilevelProgram, method: Method, optimum: float) -> None:
    found = solve_bilevel(program, method=method)
    assert found.status is not Status.INFEASIBLE
    assert found.leader_objective == pytest.approx(optimum)
    if method is Method.AUTO:
        assert found.status is Status.PROVEN_OPTIMAL
        assert found.verified


@pytest.mark.parametrize("method", OURS)
def test_a_small_reduced_cost_on_a_wide_column_counts(method: Method) -> None:
    """A gain of 1e-3 on each of 1e5 units, beside prices of 1e6: the follower must be at 1 to have it."""
    follower = LinearProgram.from_arrays(
        cost=[1.0], matrix=[[1.0]], row_lower=[0.0], row_upper=[1.0], column_lower=-INF
    )
    program = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[1e6, -1e-3, 0, 10],
        variable_upper=[INF, REACH, INF, 1],
        cost_coupling=[[0, 0, 0, -2.0]],
        leader_matrix=[[1, 1, -1, 0], [0, -1, 1, 0], [0, 1, 0, 0]],
        response_matrix=[[0], [0], [-REACH]],
        leader_lower=[1, 0, -INF],
        leader_upper=[INF, 0, 0],
        response_cost=[50.0],
        offset=-1e6 - 50,
    )
    assert_optimum(program, method, -95.0)


@pytest.mark.parametrize("method", [*OURS, Method.ENUMERATION])
def test_the_same_with_a_switch(method: Method) -> None:
    follower = LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0]], row_lower=[1.0], column_upper=[2.0])
    program = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[1e6, -1e-3, 0, -50],
        is_integer=[0, 0, 0, 1],
        variable_upper=[INF, REACH, INF, 1],
        leader_matrix=[[1, 1, -1, 0], [0, -1, 1, 0], [0, 1, 0, REACH]],
        leader_lower=[1, 0, -INF],
        leader_upper=[INF, 0, REACH],
        offset=-1e6,
    )
    assert_optimum(program, method, -100.0)


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
@pytest.mark.parametrize("method", [Method.AUTO, Method.ENUMERATION])
def test_a_step_aside_that_the_tolerance_swallows_proves_nothing(
    method: Method, order: tuple[int, ...]
) -> None:
    """Two of three suppliers tie; the leader gains 1 for each unit of one and 1e4 of the dearer third."""
    kept = list(order)
    follower = LinearProgram.from_arrays(
        cost=np.array([1 + 1e-4, 1, 1])[kept], matrix=[[1, 1, 1]], row_lower=[10.0], row_upper=[10.0]
    )
    gains = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[-2.0],
        is_integer=[1],
        variable_upper=1.0,
        coupling=[[10.0]],
        response_cost=np.array([-1e4, 0, -1.0])[kept],
    )
    assert_optimum(gains, method, -10.0)
    demands = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[1.0],
        is_integer=[1],
        variable_upper=1.0,
        coupling=[[1.0]],
        leader_matrix=[[0.0]],
        response_matrix=[np.array([-1e4, 0, -1.0])[kept]],
        leader_upper=[-5.0],
    )
    assert_optimum(demands, method, 0.0)


@pytest.mark.parametrize("method", [*OURS, Method.BIG_M, Method.SOS1])
@pytest.mark.parametrize(("large", "small", "level"), [(1e5, 1e-5, 5.0), (1e6, 1e-4, 50.0), (1e6, 1e-6, 0.5)])
def test_no_unit_swallows_a_coefficient(large: float, small: float, level: float, method: Method) -> None:
    follower = LinearProgram.from_arrays(
        cost=[1.0, 1.0], matrix=[[large, small]], row_lower=[level], column_upper=[0.0, 1e6]
    )
    program = BilevelProgram.from_arrays(
        follower=follower, leader_cost=[0.0], variable_upper=1.0, response_cost=[0, 1.0]
    )
    assert_optimum(program, method, level / small)


@pytest.mark.parametrize("most", [100.0, 1e4])
@pytest.mark.parametrize("method", [*OURS, Method.BIG_M, Method.STRONG_DUALITY])
def test_no_unit_swallows_a_cost(most: float, method: Method) -> None:
    follower = LinearProgram.from_arrays(
        cost=[2e6, -1e-3], matrix=[[1.0, 0], [0, 1]], row_lower=[1.0, 0], column_upper=[2.0, most]
    )
    program = BilevelProgram.from_arrays(
        follower=follower, leader_cost=[0.0], variable_upper=1.0, response_cost=[0.0, 1.0]
    )
    assert_optimum(program, method, most)


def test_a_solver_that_does_not_stop_is_left_alone() -> None:
    """HiGHS 1.15.1 loops for ever on the relaxation of this game with its two binaries."""
    follower = LinearProgram.from_arrays(
        cost=[0.0, -1],
        matrix=[[1, -1], [0, 0], [1, -1]],
        row_lower=[1, -INF, 0],
        row_upper=[2, 1, 0],
        column_lower=[-INF, 0],
        column_upper=[2, INF],
    )
    program = BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[2.0, 2],
        is_integer=True,
        variable_upper=1.0,
        response_cost=[-2.0, -1],
        coupling=[[0, -2.0], [1, -2], [-2, -2]],
    )
    assert_optimum(program, Method.AUTO, -2.0)


@pytest.mark.parametrize(
    "options", [{"gap": "a"}, {"time_limit": "1"}, {"threads": 1.5}, {"threads": 10**6}, {"threads": 0}]
)
def test_options_of_another_type_are_refused(options: dict[str, object]) -> None:
    follower = LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0]], row_lower=[1.0])
    program = BilevelProgram.from_arrays(follower=follower, leader_cost=[0.0], variable_upper=1.0)
    with pytest.raises(InputError, match="expected"):
        solve_bilevel(program, **options)  # type: ignore[arg-type]


def test_what_is_no_program_or_no_products_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected a ppsm\.BilevelProgram"):
        solve_bilevel(None)  # type: ignore[arg-type]
    follower = LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0]], row_lower=[1.0])
    with pytest.raises(InputError, match=r"expected ppsm\.program\.Products"):
        BilevelProgram.from_arrays(follower=follower, leader_cost=[0.0], products=[[1]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has 2 numbers; expected one"):
        LinearProgram.from_arrays(cost=[1.0], matrix=[[1.0]], offset=[1.0, 2.0])  # type: ignore[arg-type]
