"""The oracle itself: hand-computed games, and its pruned search against plain enumeration."""

import numpy as np
import pytest
from tests.literature.brute_force import brute_force, every_pattern

from ppsm.program import BilevelProgram, LinearProgram

INF = float("inf")


def market(**leader: object) -> BilevelProgram:
    """Two generators of cost 10 and 30 with 50 MW each serve the demand that the leader chooses up to 90."""
    arguments: dict[str, object] = {"leader_cost": [-20], "variable_upper": 90, **leader}
    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=[10, 30], matrix=[[1, 1]], row_lower=[0], row_upper=[0], column_upper=[50, 50]
        ),
        coupling=[[-1]],
        **arguments,  # type: ignore[arg-type]
    )


def test_response_follows_the_merit_order() -> None:
    answer = brute_force(market())
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(-1800)
    assert answer.y == pytest.approx(np.array([50, 40]))
    assert answer.prices == pytest.approx(np.array([30]))


def test_price_cap_in_a_leader_row() -> None:
    """A price of at most 20 is possible up to 50 MW, where any price from 10 to 30 supports the dispatch."""
    answer = brute_force(market(price_matrix=[[1]], leader_upper=[20]))
    assert answer.objective == pytest.approx(-20 * 50)
    assert answer.prices is not None
    assert 10 - 1e-9 <= answer.prices[0] <= 20 + 1e-9


def test_price_in_the_leader_objective_takes_the_end_of_a_degenerate_interval() -> None:
    """At 50 MW the optimistic leader is paid the upper end of the prices, 30 a unit."""
    answer = brute_force(market(leader_cost=[0], price_cost=[-1], variable_lower=50, variable_upper=50))
    assert answer.objective == pytest.approx(-30)
    answer = brute_force(market(leader_cost=[0], price_cost=[1], variable_lower=50, variable_upper=50))
    assert answer.objective == pytest.approx(10)


def test_price_has_the_documented_signs() -> None:
    """A row ``>=`` has a price that is not negative, a row ``<=`` one that is not positive."""
    demand = LinearProgram.from_arrays(cost=[3], matrix=[[1], [1]], row_lower=[2, -INF], row_upper=[INF, 9])
    fixed = BilevelProgram.from_arrays(
        follower=demand, leader_cost=[0], coupling=[[0], [0]], variable_upper=1
    )
    answer = brute_force(fixed)
    assert answer.prices == pytest.approx(np.array([3, 0]))
    sale = LinearProgram.from_arrays(cost=[-3], matrix=[[1]], row_upper=[9])
    answer = brute_force(
        BilevelProgram.from_arrays(follower=sale, leader_cost=[0], coupling=[[0]], variable_upper=1)
    )
    assert answer.prices == pytest.approx(np.array([-3]))


def test_offset_and_integers() -> None:
    answer = brute_force(market(offset=7, variable_upper=2.5, is_integer=True))
    assert answer.objective == pytest.approx(-33)
    assert answer.x == pytest.approx(np.array([2]))


def test_integer_without_bounds_cannot_be_enumerated() -> None:
    with pytest.raises(ValueError, match="needs finite bounds"):
        brute_force(market(variable_upper=INF, is_integer=True))


def test_infeasible_leader_and_infeasible_follower() -> None:
    assert brute_force(market(variable_lower=101, variable_upper=120)).status == "infeasible"
    assert brute_force(market(response_matrix=[[0, 1]], leader_lower=[60])).status == "infeasible"


def test_unbounded_leader() -> None:
    follower = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[0])
    program = BilevelProgram.from_arrays(
        follower=follower, coupling=[[-1]], leader_cost=[1], response_cost=[-2]
    )
    assert brute_force(program).status == "unbounded"


def test_unbounded_price() -> None:
    """With all capacity in use nothing limits the price from above."""
    program = market(leader_cost=[0], price_cost=[-1], variable_lower=100, variable_upper=100)
    assert brute_force(program).status == "unbounded"


def test_unbounded_follower_has_no_answer() -> None:
    follower = LinearProgram.from_arrays(cost=[-1], matrix=[[1]], row_lower=[0])
    program = BilevelProgram.from_arrays(follower=follower, coupling=[[0]], leader_cost=[1], variable_upper=1)
    assert brute_force(program).status == "infeasible"


def test_leader_without_variables() -> None:
    follower = LinearProgram.from_arrays(cost=[-1], matrix=np.zeros((0, 1)), column_lower=-1, column_upper=1)
    program = BilevelProgram.from_arrays(
        follower=follower, leader_cost=[], coupling=np.zeros((0, 0)), response_cost=[1]
    )
    assert brute_force(program).objective == pytest.approx(1)


def random_game(seed: int) -> BilevelProgram:
    """Return a game with all kinds of rows and columns, prices included."""
    rng = np.random.default_rng([20262, seed])
    n, columns, rows = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    middle = rng.integers(-3, 4, rows).astype(float)
    kind = rng.integers(0, 5, rows)
    lower = np.where(kind == 0, -INF, np.where(kind == 4, -INF, middle))
    upper = np.where(kind == 1, INF, np.where(kind == 4, INF, np.where(kind == 2, middle + 2, middle)))
    free = rng.random(columns) < 0.2
    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=rng.integers(-3, 4, columns),
            matrix=rng.integers(-2, 3, (rows, columns)),
            row_lower=lower,
            row_upper=upper,
            column_lower=np.where(free, -INF, rng.integers(-1, 1, columns)),
            column_upper=np.where(free | (rng.random(columns) < 0.3), INF, rng.integers(0, 4, columns)),
        ),
        coupling=rng.integers(-2, 3, (rows, n)),
        leader_cost=rng.integers(-3, 4, n),
        response_cost=rng.integers(-3, 4, columns),
        price_cost=rng.integers(-1, 2, rows) * (rng.random() < 0.3),
        variable_lower=-2,
        variable_upper=np.where(rng.random(n) < 0.2, INF, 3),
        is_integer=False,
        leader_matrix=rng.integers(-2, 3, (1, n)),
        response_matrix=rng.integers(-2, 3, (1, columns)),
        price_matrix=rng.integers(-1, 2, (1, rows)) * (rng.random() < 0.5),
        leader_upper=[float(rng.integers(-2, 6))],
        offset=1.5,
    )


@pytest.mark.parametrize("seed", [1325, 1484, 1822, 1893])
def test_relaxation_that_presolve_calls_infeasible(seed: int) -> None:
    """The relaxation of these games is unbounded, which HiGHS with presolve takes for infeasible."""
    program = random_game(seed)
    quick, slow = brute_force(program), every_pattern(program)
    assert quick.status == slow.status != "infeasible"
    assert quick.objective == pytest.approx(slow.objective)


@pytest.mark.parametrize("block", range(4))
def test_search_agrees_with_plain_enumeration(block: int) -> None:
    seen = set()
    for seed in range(40 * block, 40 * block + 40):
        program = random_game(seed)
        quick, slow = brute_force(program), every_pattern(program)
        assert quick.status == slow.status, f"seed {seed}"
        seen.add(quick.status)
        if slow.objective is not None:
            assert quick.objective == pytest.approx(slow.objective, abs=1e-7), f"seed {seed}"
    assert "optimal" in seen
