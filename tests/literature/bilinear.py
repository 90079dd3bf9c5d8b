"""The exact optimum of a small game with products in the leader's objective, by enumeration.

As in :mod:`tests.literature.brute_force` every complementarity pattern leaves a program with linear rows;
here its objective is a product of two of its vectors as it stands, which SCIP branches on in space. Nothing
is made linear, so that the identities with which the package does so are tested.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pyscipopt
import scipy.sparse as sp
from numpy.typing import NDArray

from ppsm.program import BilevelProgram

Vector = NDArray[np.float64]
Side = tuple[float, float, float, float]


def bilinear_optimum(program: BilevelProgram) -> float | None:
    """The least value of the leader's objective over all patterns; None if no pattern is feasible."""
    follower = program.follower
    low = np.concatenate([follower.row_lower, follower.column_lower])
    high = np.concatenate([follower.row_upper, follower.column_upper])
    found = [
        _solve(program, np.array(pattern))
        for pattern in itertools.product(*(list(_sides(*pair)) for pair in zip(low, high, strict=True)))
    ]
    values = [value for value in found if value is not None]
    return min(values) if values else None


def _sides(low: float, high: float) -> Iterator[Side]:
    """Limits of activity and of multiplier: at a bound, or between them where nothing is paid."""
    if low == high:
        yield low, high, -np.inf, np.inf
        return
    yield low, high, 0.0, 0.0
    if np.isfinite(low):
        yield low, low, 0.0, np.inf
    if np.isfinite(high):
        yield high, high, -np.inf, 0.0


def _solve(program: BilevelProgram, pattern: Vector) -> float | None:
    follower = program.follower
    rows, columns = follower.shape
    model = pyscipopt.Model()
    model.hideOutput()
    integer = ["I" if flag else "C" for flag in program.is_integer]
    free = ["C"] * (columns + rows)
    x = _columns(model, program.variable_lower, program.variable_upper, integer)
    y = _columns(model, pattern[rows:, 0], pattern[rows:, 1], free)
    p = _columns(model, pattern[:rows, 2], pattern[:rows, 3], free)
    leader = sp.hstack([program.leader_matrix, program.response_matrix, program.price_matrix]).toarray()
    own = sp.hstack([program.coupling, follower.matrix]).toarray()
    slopes = sp.hstack([-program.cost_coupling, -program.curvature, follower.matrix.T]).toarray()
    _rows(model, leader, x + y + p, program.leader_lower, program.leader_upper)
    _rows(model, own, x + y, pattern[:rows, 0], pattern[:rows, 1])
    _rows(model, slopes, x + y + p, follower.cost - pattern[rows:, 3], follower.cost - pattern[rows:, 2])
    value = model.addVar(lb=None, ub=None)
    model.addCons(value >= _objective(program, x, y, p))
    model.setObjective(value, "minimize")
    model.optimize()
    if model.getStatus() == "infeasible":
        return None
    assert model.getStatus() == "optimal", model.getStatus()
    return float(model.getObjVal()) + program.offset


def _columns(model: pyscipopt.Model, low: Vector, high: Vector, kinds: list[str]) -> list[pyscipopt.Variable]:
    limits = [
        (None if np.isinf(a) else a, None if np.isinf(b) else b) for a, b in zip(low, high, strict=True)
    ]
    return [model.addVar(lb=a, ub=b, vtype=kind) for (a, b), kind in zip(limits, kinds, strict=False)]


def _sum(weights: Vector, columns: list[pyscipopt.Variable]) -> pyscipopt.Expr:
    return pyscipopt.quicksum(float(w) * c for w, c in zip(weights, columns, strict=True) if w)


def _rows(
    model: pyscipopt.Model, matrix: Vector, columns: list[pyscipopt.Variable], low: Vector, high: Vector
) -> None:
    for weights, least, most in zip(matrix, low, high, strict=True):
        if np.isfinite(least):
            model.addCons(_sum(weights, columns) >= float(least))
        if np.isfinite(most):
            model.addCons(_sum(weights, columns) <= float(most))


def _objective(
    program: BilevelProgram,
    x: list[pyscipopt.Variable],
    y: list[pyscipopt.Variable],
    p: list[pyscipopt.Variable],
) -> pyscipopt.Expr:
    products = program.products
    total = _sum(program.leader_cost, x) + _sum(program.response_cost, y) + _sum(program.price_cost, p)
    for part, left, right in (
        (products.price_response, p, y),
        (products.price_variable, p, x),
        (products.variable_response, x, y),
    ):
        for i, j in zip(*part.nonzero(), strict=True):
            total += float(part[i, j]) * left[i] * right[j]
    return total
