"""Multipliers of network followers are at most the sum of all costs."""

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.bilevel.bounds.finder import BoundFinder
from ppsm.bilevel.bounds.network import is_network, network_bound
from ppsm.bilevel.kkt import build_kkt
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.status import Status


@pytest.mark.parametrize(
    ("matrix", "answer"),
    [
        ([[1, 0], [-1, 1], [0, -1]], True),  # a path
        ([[1, 1], [1, 1]], True),  # one row can be negated
        ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], False),  # a triangle of equal signs: its determinant is 2
        ([[1, 0], [-1, 2]], False),  # gains are no network
        ([[1, 1], [-1, 1], [1, -1], [1, 0]], False),  # three entries in a column, unit rows aside
        ([[1, -1], [1, 0], [0, 1]], True),  # capacities are unit rows
    ],
)
def test_what_a_network_is(matrix: list[list[float]], answer: bool) -> None:
    assert is_network(sp.csr_array(np.array(matrix, dtype=float))) is answer


def interdiction() -> BilevelProgram:
    """Flow over two arcs of capacity 3 in a row and one of 4 beside; the leader can cut one arc."""
    ends = np.array([[-1, 1, 0, 0], [1, 0, 1, -1], [0, -1, -1, 1]])  # middle, source, sink; last: return
    follower = LinearProgram.from_arrays(
        cost=[0, 0, 0, -1],
        matrix=np.vstack([ends, np.eye(3, 4)]),
        row_lower=[0, 0, 0, -np.inf, -np.inf, -np.inf],
        row_upper=[0, 0, 0, 3, 3, 4],
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        leader_cost=[0, 0, 0],
        response_cost=[0, 0, 0, 1],
        coupling=np.vstack([np.zeros((3, 3)), np.diag([3, 3, 4])]),
        variable_upper=1,
        is_integer=True,
        leader_matrix=[[1, 1, 1]],
        leader_upper=[1],
    )


def test_a_cut_that_only_the_bound_of_networks_lets_strong_duality_find() -> None:
    program = interdiction()
    assert network_bound(build_kkt(program)) == 1.0
    finder = BoundFinder(build_kkt(program))
    assert finder.price_range(3)[0] == pytest.approx(-1.0, rel=0.02)
    found = solve_bilevel(program, method=Method.STRONG_DUALITY)
    assert found.status is Status.PROVEN_OPTIMAL
    assert found.leader_objective == pytest.approx(3.0)
    assert found.variables == pytest.approx([0, 0, 1])
    assert found.verified


def test_no_optimal_vertex_has_a_larger_multiplier() -> None:
    """Random networks: the simplex method ends at a vertex of the dual."""
    from ppsm.solvers.highs import solve_lp

    rng = np.random.default_rng(0)
    for _ in range(30):
        nodes, arcs = 6, 12
        start = rng.integers(0, nodes, arcs)
        end = (start + rng.integers(1, nodes, arcs)) % nodes
        matrix = np.zeros((nodes, arcs))
        matrix[start, np.arange(arcs)], matrix[end, np.arange(arcs)] = 1.0, -1.0
        flow = rng.uniform(0, 3, arcs)
        supply = matrix @ flow
        program = LinearProgram.from_arrays(
            cost=rng.integers(-3, 8, arcs),
            matrix=matrix,
            row_lower=supply,
            row_upper=supply,
            column_upper=rng.uniform(3, 6, arcs),
        )
        assert is_network(program.matrix)
        solution = solve_lp(program)
        assert solution.status is Status.PROVEN_OPTIMAL
        spread = float(np.ptp(solution.prices))  # one node's price is free
        assert spread <= np.abs(program.cost).sum() + 1e-9
        assert np.abs(solution.reduced_costs).max() <= np.abs(program.cost).sum() + 1e-9
