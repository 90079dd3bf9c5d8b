"""Conflicts: infeasible as a set, feasible without any one row."""

from dataclasses import replace

import numpy as np
import pytest

from ppsm.program import LinearProgram
from ppsm.solvers.conflict import find_conflict
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status


def random_program(seed: int) -> LinearProgram:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(3, 12)), int(rng.integers(2, 6))
    level = rng.integers(-5, 9, rows).astype(float)
    kind = rng.integers(0, 3, rows)
    return LinearProgram.from_arrays(
        cost=np.zeros(columns),
        matrix=rng.integers(-2, 4, (rows, columns)),
        row_lower=np.where(kind == 1, -np.inf, level),
        row_upper=np.where(kind == 0, np.inf, level),
        column_upper=np.where(rng.random(columns) < 0.5, 3.0, np.inf),
    )


def with_rows_only(program: LinearProgram, names: tuple[str, ...]) -> LinearProgram:
    rows = [program.row_names.index(name) for name in names]
    return replace(
        program,
        matrix=program.matrix[rows, :],
        row_lower=program.row_lower[rows],
        row_upper=program.row_upper[rows],
        row_names=names,
    )


@pytest.mark.parametrize("seed", range(60))
def test_conflicts_are_irreducible(seed: int) -> None:
    program = random_program(seed)
    status = solve_lp(program).status
    conflict = find_conflict(program)
    assert (conflict is None) == (status is Status.PROVEN_OPTIMAL)
    if conflict is None:
        return
    assert conflict.rows
    assert conflict.shortfall > 0
    assert solve_lp(with_rows_only(program, conflict.rows)).status is Status.INFEASIBLE
    for row in conflict.rows:
        rest = tuple(name for name in conflict.rows if name != row)
        assert solve_lp(with_rows_only(program, rest)).status is Status.PROVEN_OPTIMAL


def test_there_are_conflicts_of_several_rows_among_them() -> None:
    sizes = [len(found.rows) for seed in range(60) if (found := find_conflict(random_program(seed)))]
    assert len(sizes) >= 20
    assert max(sizes) >= 3


def test_sentence() -> None:
    """x + y >= 5 with x <= 1 and y <= 2 lacks 2."""
    program = LinearProgram.from_arrays(
        cost=[0, 0],
        matrix=[[1, 1], [1, -1]],
        row_lower=[5, -9],
        column_upper=[1, 2],
        row_names=["need", "loose"],
        column_names=["x", "y"],
    )
    conflict = find_conflict(program)
    assert str(conflict) == "rows need with bounds of x, y cannot hold together (short by 2)"
