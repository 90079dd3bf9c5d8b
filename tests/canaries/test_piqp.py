"""Canary for PIQP: programs that differ in numbers only may share a solver, if the matrices come along."""

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.arrays import SparseMatrix
from ppsm.solvers.qp import QpWorkspace, QuadraticProgram, solve_qp_with_clarabel
from ppsm.status import Status


def program(
    rng: np.random.Generator, size: float, equality: SparseMatrix, rows: SparseMatrix
) -> QuadraticProgram:
    width = equality.shape[1]
    inside = rng.uniform(0.2, 0.8, width)
    return QuadraticProgram(
        curvature=size * rng.uniform(0.1, 1.0, width),
        cost=size * rng.normal(size=width),
        equality=equality,
        equality_value=equality @ inside,
        rows=rows,
        row_lower=np.full(rows.shape[0], -np.inf),
        row_upper=rows @ inside + 0.1,
        column_lower=np.zeros(width),
        column_upper=np.ones(width),
    )


def test_a_workspace_keeps_nothing_but_the_structure() -> None:
    rng = np.random.default_rng(3)
    equality, rows = (
        sp.csr_array(sp.random_array((height, 40), density=0.3, rng=rng) * 50.0) for height in (10, 30)
    )
    workspace = QpWorkspace()
    for size in (1.0, 1e4, 1e-3, 1.0):
        asked = program(rng, size, equality, rows)
        found, expected = workspace.solve(asked), solve_qp_with_clarabel(asked)
        assert found.status is expected.status is Status.PROVEN_OPTIMAL
        assert found.objective == pytest.approx(expected.objective, rel=1e-6)
        assert found.bound <= found.objective
