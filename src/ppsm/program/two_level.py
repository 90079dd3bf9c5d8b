"""Bilevel programs: the leader's costs and rows beside a follower, and products in the leader's objective."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ppsm.arrays import (
    INFINITY,
    ROUNDING,
    BoolArray,
    FloatArray,
    SparseMatrix,
    as_numbers,
    frozen_matrix,
    frozen_vector,
    row_count,
    unique_names,
)
from ppsm.errors import InputError, ModelError
from ppsm.program.linear import LinearProgram


@dataclass(frozen=True, eq=False)
class Products:
    """Products in the leader's objective, each a matrix between the two vectors of its name.

    ::

        p' price_response y  +  p' price_variable x  +  x' variable_response y

    What a strategic bidder earns is price times answer, what a toll brings in is variable times answer.
    Parts left out are zero.
    """

    price_response: Any = None
    price_variable: Any = None
    variable_response: Any = None

    def checked(self, rows: int, columns: int, variables: int) -> "Products":
        """With every part a matrix of the right shape."""

        def part(matrix: Any, shape: tuple[int, int], what: str) -> SparseMatrix:
            return frozen_matrix(sp.csr_array(shape) if matrix is None else matrix, shape, what)

        return Products(
            part(self.price_response, (rows, columns), "the products of prices and responses"),
            part(self.price_variable, (rows, variables), "the products of prices and variables"),
            part(self.variable_response, (variables, columns), "the products of variables and responses"),
        )

    @property
    def count(self) -> int:
        """How many products there are."""
        parts = (self.price_response, self.price_variable, self.variable_response)
        return sum(part.nnz for part in parts if part is not None)

    def value(self, x: FloatArray, y: FloatArray, prices: FloatArray) -> float:
        """What they are worth at a point."""
        seen = self.price_response @ y + self.price_variable @ x
        return float(prices @ seen + x @ (self.variable_response @ y))

    def size(self, x: FloatArray, y: FloatArray, prices: FloatArray) -> float:
        """The sum of their magnitudes at a point."""
        parts = (abs(part) for part in (self.price_response, self.price_variable, self.variable_response))
        return Products(*parts).value(np.abs(x), np.abs(y), np.abs(prices))


@dataclass(frozen=True, eq=False)
class BilevelProgram:
    """A leader who anticipates a follower, in arrays: problem (1) of the paper and what people model besides.

    The leader chooses ``x`` (some entries integer), the follower answers with a least-cost ``y`` whose rows
    have the prices ``p``; where the follower has several best answers or price vectors, the leader picks
    (the optimistic convention of the paper)::

        min   leader_cost' x + response_cost' y + price_cost' p + products(x, y, p) + offset
        s.t.  leader_lower <= leader_matrix x + response_matrix y + price_matrix p <= leader_upper
              variable_lower <= x <= variable_upper,   x[i] integer where is_integer[i]
              y, p  primal and dual solution of
                    min   (follower.cost + cost_coupling x)' y + 1/2 y' curvature y
                    s.t.  row_lower <= follower.matrix y + coupling x + handed_on y <= row_upper

    ``handed_on`` is for several followers that act in turn and share one set of rows and columns: what an
    earlier one decided moves a later one's rows, and neither takes it into account when it minimises. Parts
    of the follower that no row and no product of ``curvature`` joins are followers of their own.

    Both levels minimise here; ``leader_sign`` and ``follower_sign`` are -1 where the user's
    problem maximised, and only reporting looks at them.
    """

    leader_cost: FloatArray
    response_cost: FloatArray
    price_cost: FloatArray
    offset: float
    variable_lower: FloatArray
    variable_upper: FloatArray
    is_integer: BoolArray
    variable_names: tuple[str, ...]
    leader_matrix: SparseMatrix
    response_matrix: SparseMatrix
    price_matrix: SparseMatrix
    leader_lower: FloatArray
    leader_upper: FloatArray
    leader_row_names: tuple[str, ...]
    follower: LinearProgram
    coupling: SparseMatrix
    cost_coupling: SparseMatrix
    curvature: SparseMatrix
    handed_on: SparseMatrix
    products: Products
    leader_sign: float = 1.0
    follower_sign: float = 1.0

    @classmethod
    def from_arrays(
        cls,
        *,
        follower: LinearProgram,
        leader_cost: ArrayLike,
        coupling: Any = None,
        cost_coupling: Any = None,
        curvature: Any = None,
        handed_on: Any = None,
        products: Products | None = None,
        response_cost: ArrayLike | None = None,
        price_cost: ArrayLike | None = None,
        offset: float = 0.0,
        variable_lower: ArrayLike = 0.0,
        variable_upper: ArrayLike = INFINITY,
        is_integer: ArrayLike = False,
        variable_names: Iterable[str] | None = None,
        leader_matrix: Any = None,
        response_matrix: Any = None,
        price_matrix: Any = None,
        leader_lower: ArrayLike | None = None,
        leader_upper: ArrayLike | None = None,
        leader_row_names: Iterable[str] | None = None,
        leader_sign: float = 1.0,
        follower_sign: float = 1.0,
    ) -> Self:
        """Check the arrays and copy them; parts left out are zero, absent rows mean no leader constraint."""
        rows, columns = follower.shape
        if columns == 0:
            raise ModelError("the follower has no columns; expected at least one: it must decide something.")
        # The leader's own part has the form of a linear program, so that its checks serve here too.
        blocks = [block for block in (leader_matrix, response_matrix, price_matrix) if block is not None]
        count = row_count(blocks[0], "the leader's matrix") if blocks else 0
        variables = as_numbers(leader_cost, "the leader's cost").size
        own = LinearProgram.from_arrays(
            cost=leader_cost,
            matrix=np.zeros((count, variables)) if leader_matrix is None else leader_matrix,
            row_lower=leader_lower,
            row_upper=leader_upper,
            column_lower=variable_lower,
            column_upper=variable_upper,
            row_names=unique_names(leader_row_names, count, "leader_row", "leader rows"),
            column_names=unique_names(variable_names, variables, "u", "leader variables"),
            offset=offset,
        )
        flags = as_numbers(is_integer, "is_integer", flags=True)
        if flags.shape not in ((), (variables,)):
            raise InputError(
                f"is_integer has shape {flags.shape}, expected ({variables},): one for each variable."
            )
        integer = np.broadcast_to(flags != 0, (variables,)).copy()
        integer.setflags(write=False)

        def part(matrix: Any, height: int, width: int, what: str) -> SparseMatrix:
            empty = sp.csr_array((height, width))
            return frozen_matrix(empty if matrix is None else matrix, (height, width), what)

        def costs(values: ArrayLike | None, width: int, what: str) -> FloatArray:
            return frozen_vector(np.zeros(width) if values is None else values, width, what)

        if leader_sign not in (1.0, -1.0) or follower_sign not in (1.0, -1.0):
            raise ModelError(
                f"signs are {leader_sign} and {follower_sign}; expected 1 (minimise) or -1 (maximise)."
            )
        return cls(
            leader_cost=own.cost,
            response_cost=costs(response_cost, columns, "the leader's cost of responses"),
            price_cost=costs(price_cost, rows, "the leader's cost of prices"),
            offset=own.offset,
            variable_lower=own.column_lower,
            variable_upper=own.column_upper,
            is_integer=integer,
            variable_names=own.column_names,
            leader_matrix=own.matrix,
            response_matrix=part(response_matrix, count, columns, "the leader's matrix of responses"),
            price_matrix=part(price_matrix, count, rows, "the leader's matrix of prices"),
            leader_lower=own.row_lower,
            leader_upper=own.row_upper,
            leader_row_names=own.row_names,
            follower=follower,
            coupling=part(coupling, rows, variables, "the coupling matrix"),
            cost_coupling=part(cost_coupling, columns, variables, "the coupling of costs"),
            curvature=convex(
                part(curvature, columns, columns, "the follower's curvature"), follower.column_names
            ),
            handed_on=part(handed_on, rows, columns, "what followers hand on"),
            products=_products(products).checked(rows, columns, variables),
            leader_sign=float(leader_sign),
            follower_sign=float(follower_sign),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """A different label for every variable of both levels: its name, with its level where both use it."""
        leader, follower = self.variable_names, self.follower.column_names
        return _told_apart(leader, follower)

    @property
    def row_labels(self) -> tuple[str, ...]:
        """A different label for every row of both levels, the leader's first."""
        return _told_apart(self.leader_row_names, self.follower.row_names)

    @property
    def leader_sees_prices(self) -> bool:
        """Whether any price has a coefficient in the leader's objective or constraints."""
        products = self.products.price_response.nnz + self.products.price_variable.nnz
        return bool(self.price_matrix.nnz or np.any(self.price_cost) or products)

    @property
    def only_moves_right_hand_sides(self) -> bool:
        """Whether the follower is a linear program of which the leader moves the right-hand sides only."""
        return not (self.cost_coupling.nnz or self.curvature.nnz or self.handed_on.nnz)

    def leader_objective(self, x: FloatArray, y: FloatArray, prices: FloatArray) -> float:
        """The leader's (minimised) cost at a decision, an answer and its prices."""
        linear = self.leader_cost @ x + self.response_cost @ y + self.price_cost @ prices
        return float(linear) + self.products.value(x, y, prices) + self.offset

    def follower_at(self, x: FloatArray, y: FloatArray) -> LinearProgram:
        """The follower's linear part with a decision, and what an answer hands on, in costs and rows.

        With curvature its answer minimises ``1/2 y' curvature y`` besides.
        """
        # Empty products are left out: a list of decisions comes here for each of them.
        shift = self.coupling @ x
        if self.handed_on.nnz:
            shift = shift + self.handed_on @ y
        moved = self.follower.shifted(-shift)
        if not self.cost_coupling.nnz:
            return moved
        return replace(moved, cost=moved.cost + self.cost_coupling @ x)


def convex(curvature: SparseMatrix, names: tuple[str, ...], sign: float = 1.0) -> SparseMatrix:
    """The curvature, which must be symmetric and convex: a follower with several valleys has no prices.

    ``sign`` is -1 where the user's model maximises the negative of the cost; errors then speak of that.
    """
    if not curvature.nnz:
        return curvature
    largest = float(np.abs(curvature.data).max())
    if abs(curvature - curvature.T).max() > ROUNDING * largest:
        raise ModelError("the follower's curvature is not symmetric; expected the Hessian of its cost.")
    curved = np.flatnonzero(np.diff(curvature.indptr))
    dense = curvature[curved, :][:, curved]
    is_diagonal = dense.nnz == curved.size and dense.diagonal().all()
    least = float(dense.diagonal().min() if is_diagonal else np.linalg.eigvalsh(dense.toarray())[0])
    if least < -1e-9 * largest:
        what, none = ("cost is not convex", "below") if sign > 0 else ("objective is not concave", "above")
        raise ModelError(
            f"the follower's {what} (its Hessian, from '{names[int(curved[0])]}' on, has the eigenvalue "
            f"{sign * least:.4g}); expected none {none} zero: such a follower has no prices."
        )
    return curvature


def _products(given: Products | None) -> Products:
    if given is not None and not isinstance(given, Products):
        raise InputError(f"the products are a {type(given).__name__}; expected ppsm.program.Products.")
    return given or Products()


def _told_apart(leader: tuple[str, ...], follower: tuple[str, ...]) -> tuple[str, ...]:
    shared = set(leader) & set(follower)

    def label(name: str, level: str) -> str:
        return f"{level} {name}" if name in shared else name

    return (*(label(name, "leader") for name in leader), *(label(name, "follower") for name in follower))
