"""Products of prices, answers and decisions in the leader's objective, made linear by optimality.

At every optimal answer two families of identities hold, one for each row i and one for each column j:

    p_i (A_i y + D_i y + B_i x)          =  sum of  sign x multiplier x bound  over the sides of row i
    (C_j x) y_j - sum_i A_ij p_i y_j     =  sum of the same over the sides of column j  -  c_j y_j

(complementary slackness; stationarity times the answer, then complementary slackness). Their left sides hold
nothing but products, their right sides none. So an objective is linear as soon as its products are a weighted
sum of left sides, with weights alpha for rows and beta for columns: a system with at most two unknowns in an
equation. All of alpha and beta at one is strong duality; the income of one bidder among many takes others
(Ruiz & Conejo 2009). A column with curvature adds ``y_j (H y)_j``, which is no linear term: its beta is zero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers.highs import solve_lp
from ppsm.status import Status

# Weights that miss an equation by more than this share of its size do not solve it.
_EXACT = 1e-9


def weights_of_products(program: BilevelProgram) -> tuple[FloatArray, FloatArray]:
    """Weights alpha of the rows and beta of the columns, or an error that names a product without any."""
    rows, columns = program.follower.shape
    if not program.products.count:
        return np.zeros(rows), np.zeros(columns)
    equations = _equations(program)
    matrix = sp.csr_array(sp.vstack([one.matrix for one in equations]))
    wanted = np.concatenate([one.wanted for one in equations])
    solution = solve_lp(_least_weights(matrix, wanted))
    if solution.status is Status.PROVEN_OPTIMAL:
        unknowns = solution.columns[: rows + columns] - solution.columns[rows + columns :]
        size = abs(matrix) @ np.abs(unknowns) + np.abs(wanted)
        if (np.abs(matrix @ unknowns - wanted) <= _EXACT * np.maximum(1.0, size)).all():
            return unknowns[:rows], unknowns[rows:]
    raise ModelError(_why_not(program, equations, _least_weights(matrix, wanted)))


@dataclass(frozen=True, eq=False)
class _Equations:
    """Equations in the weights, one for each product, and which product each is about."""

    matrix: SparseMatrix
    wanted: FloatArray
    kind: str
    first: IntArray
    second: IntArray


def _equations(program: BilevelProgram) -> tuple[_Equations, ...]:
    """The three kinds of products, and columns with curvature, whose weight is zero."""
    follower, products = program.follower, program.products
    rows, columns = follower.shape
    curved = np.flatnonzero(np.diff(program.curvature.indptr))
    entries = (np.ones(curved.size), (np.arange(curved.size), rows + curved))
    flat: SparseMatrix = sp.csr_array(entries, shape=(curved.size, rows + columns))
    activity = sp.csr_array(follower.matrix + program.handed_on)
    reactions = sp.csr_array(program.cost_coupling.T)
    return (
        _of_kind("price x response", products.price_response, (activity, -follower.matrix), follower.shape),
        _of_kind("price x variable", products.price_variable, (program.coupling, None), follower.shape),
        _of_kind("variable x response", products.variable_response, (None, reactions), follower.shape),
        _Equations(flat, np.zeros(curved.size), "curvature", curved, curved),
    )


def _of_kind(
    kind: str,
    asked: SparseMatrix,
    factors: tuple[SparseMatrix | None, SparseMatrix | None],
    shape: tuple[int, int],
) -> _Equations:
    """An equation for each (i, j) where anything is; factors of alpha_i and of beta_j stand at (i, j)."""
    known: Any = abs(asked)
    for part in factors:
        known = known if part is None else known + abs(part)
    first, second = (np.asarray(index, dtype=np.int64) for index in known.nonzero())
    each = np.arange(first.size)
    matrix: Any = sp.csr_array((first.size, sum(shape)))
    for part, unknown in zip(factors, (first, shape[0] + second), strict=True):
        if part is not None:
            entries = (_at(part, first, second), (each, unknown))
            matrix = matrix + sp.csr_array(entries, shape=matrix.shape)
    return _Equations(sp.csr_array(matrix), _at(asked, first, second), kind, first, second)


def _at(matrix: SparseMatrix, first: IntArray, second: IntArray) -> FloatArray:
    return np.asarray(matrix[first, second]).ravel() if first.size else np.empty(0)


def _least_weights(matrix: SparseMatrix, wanted: FloatArray) -> LinearProgram:
    """Few and small weights make a tight relaxation: the sum of their magnitudes is least."""
    count = 2 * matrix.shape[1]
    return LinearProgram.of(
        np.ones(count),
        sp.csr_array(sp.hstack([matrix, -matrix])),
        row_lower=wanted,
        row_upper=wanted,
        column_lower=np.zeros(count),
    )


def _why_not(program: BilevelProgram, equations: tuple[_Equations, ...], weights: LinearProgram) -> str:
    """Which product of the leader's has no linear form, found as the equations that must give way."""
    asked = np.flatnonzero(weights.row_lower)
    # Only what the leader asks for may give way; without any of it all weights zero would do.
    given = solve_lp(weights.elastic(asked)).columns[-2 * asked.size :].reshape(2, -1).sum(axis=0)
    place = int(asked[np.argmax(given)])
    for one in equations:
        if place < one.wanted.size:
            break
        place -= one.wanted.size
    first, second = int(one.first[place]), int(one.second[place])
    names, follower = program.variable_names, program.follower
    factor = names[first] if one.kind == "variable x response" else f"price of {follower.row_names[first]}"
    other = names[second] if one.kind == "price x variable" else follower.column_names[second]
    said = (
        f"the leader's objective multiplies '{factor}' by '{other}', which the follower's optimality does "
        "not make linear; "
    )
    if program.curvature.nnz:
        column = follower.column_names[int(np.flatnonzero(np.diff(program.curvature.indptr))[0])]
        return (
            f"{said}quadratic costs, such as that of '{column}', stand in the way: state them as steps of "
            "constant cost (a column for each), leave the product out, or fix one of its factors."
        )
    return (
        f"{said}expected products such as price times quantity of one bidder among others, or of all that "
        "the leader sells, or tolls times flows: leave it out, or fix one of its factors."
    )
