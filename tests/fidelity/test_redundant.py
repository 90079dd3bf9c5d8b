"""Bounds that rows say already: taken away without changing what can be served, or at which prices."""

import numpy as np
import pytest
from benchmarks.gas_networks import build_network

from ppsm.fidelity.scaled import without_redundant_bounds
from ppsm.games.follower import Follower
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from tests.fidelity.oracle import random_follower


def finite(program: LinearProgram) -> int:
    return int(np.isfinite(program.column_lower).sum() + np.isfinite(program.column_upper).sum())


def test_no_bound_rests_on_itself() -> None:
    # x1 = x2 = x3: one of three lower bounds is enough, and one is needed; the least upper bound stays
    program = LinearProgram.from_arrays(
        cost=[1.0, 0.0, 0.0],
        matrix=[[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, -1.0]],
        row_lower=[0.0, 0.0, 0.0],
        row_upper=[0.0, 0.0, 0.0],
        column_upper=[4.0, 3.0, 5.0],
    )
    follower = Follower.from_program(program, parameter_map=[[0.0], [0.0], [0.0]], nominal=[0.0])
    left = without_redundant_bounds(program, follower.parameter_map)
    assert int(np.isfinite(left.column_lower).sum()) == 1
    assert left.column_upper.tolist() == [np.inf, 3.0, np.inf]


def test_rows_that_the_parameter_enters_say_nothing() -> None:
    # the town's demand is not negative, so the pipe is not either; but a price would have to change for that
    program = LinearProgram.from_arrays(
        cost=[1.0, 5.0], matrix=[[1.0, -1.0]], row_lower=[0.0], row_upper=[0.0], column_upper=[9.0, 9.0]
    )
    follower = Follower.from_program(program, parameter_map=[[1.0]], nominal=[0.0])
    assert finite(without_redundant_bounds(program, follower.parameter_map)) == 4


@pytest.mark.parametrize("seed", range(20))
def test_the_value_stays_for_every_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    follower = build_network(30, seed).follower if seed % 2 else random_follower(rng)
    program = follower.program
    left = without_redundant_bounds(program, follower.parameter_map)
    demand = rng.uniform(0.0, 2.0, follower.parameter_map.shape[1])
    shift = follower.parameter_map @ demand
    for _ in range(5):
        cost = rng.normal(size=program.shape[1])
        answers = [
            solve_lp(
                LinearProgram.of(
                    cost,
                    one.matrix,
                    row_lower=one.row_lower + shift,
                    row_upper=one.row_upper + shift,
                    column_lower=one.column_lower,
                    column_upper=one.column_upper,
                )
            )
            for one in (program, left)
        ]
        assert answers[0].status is answers[1].status
        if answers[0].status.has_answer:
            assert answers[1].objective == pytest.approx(answers[0].objective, rel=1e-7, abs=1e-7)


def test_many_bounds_of_a_network_are_redundant() -> None:
    follower = build_network(150).follower
    left = without_redundant_bounds(follower.program, follower.parameter_map)
    assert finite(left) < 0.6 * finite(follower.program)
