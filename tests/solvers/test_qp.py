"""Bounds of quadratic programs: right whatever the solver says, and near the optimum."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.solvers import qp
from ppsm.solvers.qp import QpSolution, QpWorkspace, QuadraticProgram, solve_qp, solve_qp_with_clarabel
from ppsm.status import Status


def solve_qp_with_piqp(program: QuadraticProgram) -> QpSolution:
    return QpWorkspace().solve(program)


SOLVERS = [solve_qp_with_piqp, solve_qp_with_clarabel]


def random_program(seed: int) -> QuadraticProgram:
    """A feasible program with equalities, one- and two-sided rows, products, and some unbounded columns."""
    rng = np.random.default_rng(seed)
    width, equalities, rows = 12, 3, 6
    point = rng.uniform(0.2, 0.8, width)
    equality, matrix = rng.normal(size=(equalities, width)), rng.normal(size=(rows, width))
    slack = rng.uniform(0.0, 0.5, (2, rows))
    curvature = rng.uniform(0.5, 2.0, width)
    cross = np.triu(rng.normal(scale=0.05, size=(width, width)), 1)
    unbounded = rng.random(width) < 0.3
    return QuadraticProgram(
        curvature=curvature,
        cost=rng.normal(size=width),
        equality=sp.csr_array(equality),
        equality_value=equality @ point,
        rows=sp.csr_array(matrix),
        row_lower=np.where(rng.random(rows) < 0.5, matrix @ point - slack[0], -np.inf),
        row_upper=np.where(rng.random(rows) < 0.7, matrix @ point + slack[1], np.inf),
        column_lower=np.where(unbounded, -np.inf, 0.0),
        column_upper=np.where(unbounded, np.inf, 1.0),
        cross=sp.csr_array(cross),
    )


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("seed", range(20))
def test_bound_meets_the_objective(solve: Callable[[QuadraticProgram], QpSolution], seed: int) -> None:
    solution = solve(random_program(seed))
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.bound == pytest.approx(solution.objective, abs=1e-7)
    assert solution.bound <= solution.objective


@pytest.mark.parametrize("seed", range(20))
def test_bound_holds_for_wrong_multipliers_and_columns(seed: int) -> None:
    program = random_program(seed)
    solution = solve_qp(program)
    rng = np.random.default_rng(seed)
    for size in (1e-6, 1e-3, 0.1):
        bound = qp._proven_bound(
            program,
            solution.columns + size * rng.normal(size=solution.columns.size),
            solution.equality_multipliers + size * rng.normal(size=solution.equality_multipliers.size),
            solution.row_multipliers + size * rng.normal(size=solution.row_multipliers.size),
        )
        assert bound <= solution.objective + 1e-9
        assert bound >= solution.objective - 100.0 * size


def test_an_overstated_objective_does_not_raise_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(0)
    honest = solve_qp(program)
    real = qp._solution

    def boastful(program: QuadraticProgram, *, objective: float, **parts: object) -> QpSolution:
        return real(program, objective=objective + 0.1, **parts)  # type: ignore[arg-type]

    monkeypatch.setattr(qp, "_solution", boastful)
    assert solve_qp(program).bound == pytest.approx(honest.bound, abs=1e-9)


def test_the_same_program_in_other_units_has_the_same_bound() -> None:
    program = random_program(1)
    assert program.cross is not None
    scaled = replace(
        program, curvature=7.0 * program.curvature, cost=7.0 * program.cost, cross=7.0 * program.cross
    )
    assert solve_qp(scaled).bound == pytest.approx(7.0 * solve_qp(program).bound, abs=1e-6)


def by_hand(upper: float) -> QuadraticProgram:
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


@pytest.mark.parametrize("solve", SOLVERS)
def test_solvers_agree_by_hand(solve: Callable[[QuadraticProgram], QpSolution]) -> None:
    solution = solve(by_hand(1.5))
    assert solution.columns == pytest.approx([1.5, 0.5], abs=1e-6)
    assert solution.objective == pytest.approx(1.5**2 - 9 + 0.5**2 - 1, abs=1e-6)
    # gradient (-3, -1) = u (1, 1) + v (1, 0): u = -1, v = -2
    assert solution.equality_multipliers == pytest.approx([-1.0], abs=1e-5)
    assert solution.row_multipliers == pytest.approx([-2.0], abs=1e-5)
    assert solution.bound <= solution.objective + 1e-9


def test_infeasible_programs_are_reported() -> None:
    assert solve_qp(by_hand(-1.0)).status is Status.INFEASIBLE
