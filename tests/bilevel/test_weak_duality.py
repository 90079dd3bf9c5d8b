"""Weak duality: what multipliers prove of a linear program, by hand and against a solver."""

import numpy as np
import pytest

from ppsm.arrays import INFINITY
from ppsm.bilevel.weak_duality import Box, WeakDuality
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status


def test_weak_duality_by_hand() -> None:
    """``min x`` with ``x >= 3`` as a row and ``x <= 10``: a price of 1 proves 3, one of 1/2 proves 1.5."""
    program = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[3], column_upper=[10])
    proof, box = WeakDuality(program.matrix), Box.of(program)
    for price, proven in ((1.0, 3.0), (0.5, 1.5), (0.0, 0.0), (1.5, 4.5 - 0.5 * 10), (-1.0, 0.0)):
        assert proof.bound(np.array([price]), program.cost, box) == pytest.approx(proven)


def test_farkas_by_hand() -> None:
    """``x >= 3`` as a row and ``x <= 2``: a multiplier of either sign proves that there is no point."""
    program = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[3], column_upper=[2])
    proof = WeakDuality(program.matrix)
    assert proof.proves_empty(np.array([1.0]), Box.of(program))
    assert proof.proves_empty(np.array([-5.0]), Box.of(program))
    assert not proof.proves_empty(np.array([0.0]), Box.of(program))
    assert not proof.proves_empty(None, Box.of(program))
    wide = LinearProgram.from_arrays(cost=[1], matrix=[[1]], row_lower=[3], column_upper=[4])
    assert not proof.proves_empty(np.array([1.0]), Box.of(wide))


def random_program(rng: np.random.Generator) -> LinearProgram:
    """Rows of all kinds, around a point that they all allow; columns without a bound on some sides."""
    rows, columns = (int(count) for count in rng.integers(1, 6, 2))
    matrix = rng.integers(-3, 4, (rows, columns)).astype(float)
    point = rng.integers(-2, 3, columns).astype(float)
    open_rows, open_columns = rng.random((2, rows)) < 0.4, rng.random((2, columns)) < 0.2
    room, reach = rng.integers(0, 4, (2, rows)), rng.integers(0, 4, (2, columns))
    return LinearProgram.from_arrays(
        cost=rng.integers(-3, 4, columns),
        matrix=matrix,
        row_lower=np.where(open_rows[0], -INFINITY, matrix @ point - room[0]),
        row_upper=np.where(open_rows[1], INFINITY, matrix @ point + room[1]),
        column_lower=np.where(open_columns[0], -INFINITY, point - reach[0]),
        column_upper=np.where(open_columns[1], INFINITY, point + reach[1]),
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_multipliers_prove_more_than_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    proof, box, solved = WeakDuality(program.matrix), Box.of(program), solve_lp(program)
    optimum = solved.objective if solved.status is Status.PROVEN_OPTIMAL else -INFINITY
    for prices in rng.normal(0.0, 2.0, (20, program.shape[0])):
        assert proof.bound(prices, program.cost, box) <= optimum + 1e-9
        # There is a point, so that nothing proves the contrary.
        assert not proof.proves_empty(prices, box)
    if solved.status is Status.PROVEN_OPTIMAL:
        assert proof.bound(solved.prices, program.cost, box) == pytest.approx(optimum, abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_a_program_beyond_its_optimum_is_proven_empty(seed: int) -> None:
    """A row more asks for a cost below the optimum; the optimum's prices and that row's own prove it."""
    program = random_program(np.random.default_rng(seed))
    solved = solve_lp(program)
    if solved.status is not Status.PROVEN_OPTIMAL:
        assert solved.status is Status.UNBOUNDED
        return
    ray = np.append(solved.prices, -1.0)
    below, above = (program.capped(solved.objective + step) for step in (-0.5, 0.5))
    assert WeakDuality(below.matrix).proves_empty(ray, Box.of(below))
    assert not WeakDuality(above.matrix).proves_empty(ray, Box.of(above))
