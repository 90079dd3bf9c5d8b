"""Linear programs, and what is made of them: other sides and costs, more rows and columns."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ppsm.arrays import (
    INFINITE_FROM,
    INFINITY,
    FloatArray,
    IntArray,
    SparseMatrix,
    above,
    as_numbers,
    frozen_matrix,
    frozen_vector,
    one_or_each,
    ordered,
    row_count,
    unique_names,
)
from ppsm.errors import InputError


@lru_cache(maxsize=256)
def _numbered(word: str, count: int) -> tuple[str, ...]:
    """Names for what is never shown; the same ones are asked for again and again."""
    return tuple(f"{word}{number}" for number in range(count))


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram:
    """``min cost' x + offset  s.t.  row_lower <= matrix x <= row_upper,  column_lower <= x <= column_upper``.

    Build one with :meth:`from_arrays`, which checks and copies what it is given; programs of parts that
    were checked before come from :meth:`of` and the algebra below, which never write on their operands.
    """

    cost: FloatArray
    matrix: SparseMatrix
    row_lower: FloatArray
    row_upper: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    offset: float = 0.0

    @classmethod
    def from_arrays(
        cls,
        *,
        cost: ArrayLike,
        matrix: Any,
        row_lower: ArrayLike | None = None,
        row_upper: ArrayLike | None = None,
        column_lower: ArrayLike = 0.0,
        column_upper: ArrayLike = INFINITY,
        row_names: Iterable[str] | None = None,
        column_names: Iterable[str] | None = None,
        offset: float = 0.0,
    ) -> Self:
        """Check the arrays, copy them and give rows and columns names if they have none.

        Bounds of 1e20 and more are infinite, as in the solvers.
        """
        cost_vector = as_numbers(cost, "the cost")
        if cost_vector.ndim != 1:
            raise InputError(
                f"the cost has {cost_vector.ndim} dimensions; expected a vector, one per column."
            )
        columns = cost_vector.size
        rows = row_count(matrix, "the constraint matrix")
        names = unique_names(column_names, columns, "x", "columns")
        row_labels = unique_names(row_names, rows, "row", "rows")

        def bound(
            value: ArrayLike | None, default: float, length: int, what: str, labels: tuple[str, ...]
        ) -> FloatArray:
            filled = one_or_each(default if value is None else value, labels, what)
            huge = np.abs(filled) >= INFINITE_FROM
            filled = np.where(huge, np.copysign(INFINITY, filled), filled)
            return frozen_vector(filled, length, what, infinite=True, names=labels)

        program = cls(
            cost=frozen_vector(cost, columns, "the cost", names=names),
            matrix=frozen_matrix(matrix, (rows, columns), "the constraint matrix"),
            row_lower=bound(row_lower, -INFINITY, rows, "the lower bound", row_labels),
            row_upper=bound(row_upper, INFINITY, rows, "the upper bound", row_labels),
            column_lower=bound(column_lower, -INFINITY, columns, "the lower bound", names),
            column_upper=bound(column_upper, INFINITY, columns, "the upper bound", names),
            row_names=row_labels,
            column_names=names,
            offset=_constant(offset),
        )
        if not np.isfinite(program.offset):
            raise InputError(f"the objective's constant is {offset}; expected a finite number.")
        ordered(program.row_lower, program.row_upper, row_labels, "row")
        ordered(program.column_lower, program.column_upper, names, "column")
        return program

    @classmethod
    def of(
        cls,
        cost: FloatArray,
        matrix: SparseMatrix,
        *,
        row_lower: FloatArray | None = None,
        row_upper: FloatArray | None = None,
        column_lower: FloatArray | None = None,
        column_upper: FloatArray | None = None,
    ) -> Self:
        """A program of the engine's own: arrays as they are, unchecked, and names that nobody reads.

        Bounds that are not given are infinite, those of columns too.
        """
        rows, columns = matrix.shape
        return cls(
            cost=cost,
            matrix=matrix,
            row_lower=np.full(rows, -INFINITY) if row_lower is None else row_lower,
            row_upper=np.full(rows, INFINITY) if row_upper is None else row_upper,
            column_lower=np.full(columns, -INFINITY) if column_lower is None else column_lower,
            column_upper=np.full(columns, INFINITY) if column_upper is None else column_upper,
            row_names=_numbered("r", rows),
            column_names=_numbered("c", columns),
        )

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<LinearProgram: {rows} rows, {columns} columns>"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_names), len(self.column_names)

    @property
    def bound_sizes(self) -> FloatArray:
        """The sizes of all bounds of rows and columns that are neither infinite nor zero."""
        bounds = (self.row_lower, self.row_upper, self.column_lower, self.column_upper)
        sizes = np.abs(np.concatenate(bounds))
        return np.asarray(sizes[np.isfinite(sizes) & (sizes > 0)])

    def shifted(self, amount: FloatArray) -> Self:
        """The same program with every right-hand side raised by an amount."""
        return replace(self, row_lower=self.row_lower + amount, row_upper=self.row_upper + amount)

    def with_cost(self, cost: FloatArray, offset: float = 0.0) -> Self:
        """The same rows and columns under another objective."""
        return replace(self, cost=cost, offset=offset)

    def capped(self, limit: float) -> Self:
        """The same program without all points that cost more than a limit."""
        row = sp.csr_array(self.cost[None, :])
        return self.with_rows(row, upper=np.array([limit - self.offset]), names=("cost limit",))

    def with_fixed(self, columns: Any, values: FloatArray) -> Self:
        """The same program with some columns (indices, a mask or a slice) held at given values."""
        lower, upper = self.column_lower.copy(), self.column_upper.copy()
        lower[columns] = upper[columns] = values
        return replace(self, column_lower=lower, column_upper=upper)

    def part(self, rows: IntArray, columns: IntArray | None = None) -> Self:
        """Some rows and columns (or all) of the program, without its constant."""
        chosen = np.arange(self.shape[1]) if columns is None else columns
        return replace(
            self,
            cost=self.cost[chosen],
            matrix=self.matrix[rows, :][:, chosen],
            row_lower=self.row_lower[rows],
            row_upper=self.row_upper[rows],
            column_lower=self.column_lower[chosen],
            column_upper=self.column_upper[chosen],
            row_names=tuple(self.row_names[row] for row in rows),
            column_names=tuple(self.column_names[column] for column in chosen),
            offset=0.0,
        )

    def with_rows(
        self,
        matrix: SparseMatrix,
        lower: FloatArray | None = None,
        upper: FloatArray | None = None,
        names: Iterable[str] | None = None,
    ) -> Self:
        """Append rows; a matrix that is too narrow has no entry in the last columns."""
        count, width = matrix.shape[0], self.shape[1]
        added = sp.csr_array(matrix)
        if added.shape[1] < width:
            added = sp.csr_array((added.data, added.indices, added.indptr), shape=(count, width))
        return replace(
            self,
            matrix=above(self.matrix, added),
            row_lower=np.concatenate([self.row_lower, np.full(count, -INFINITY) if lower is None else lower]),
            row_upper=np.concatenate([self.row_upper, np.full(count, INFINITY) if upper is None else upper]),
            row_names=(*self.row_names, *(_numbered("added row ", count) if names is None else names)),
        )

    def with_columns(
        self,
        lower: FloatArray,
        upper: FloatArray,
        *,
        cost: FloatArray | None = None,
        matrix: SparseMatrix | None = None,
        names: Iterable[str] | None = None,
    ) -> Self:
        """Append columns; without a cost or a matrix they cost nothing and are in no row yet."""
        rows, count = self.shape[0], lower.size
        entries = sp.csr_array((rows, count)) if matrix is None else matrix
        return replace(
            self,
            cost=np.concatenate([self.cost, np.zeros(count) if cost is None else cost]),
            matrix=sp.hstack([self.matrix, entries], format="csr"),
            column_lower=np.concatenate([self.column_lower, lower]),
            column_upper=np.concatenate([self.column_upper, upper]),
            column_names=(
                *self.column_names,
                *(_numbered("added column ", count) if names is None else names),
            ),
        )

    def stacked(self, *others: "LinearProgram") -> "LinearProgram":
        """The program and others side by side, each with rows and columns of its own; costs add up."""
        parts: tuple[LinearProgram, ...] = (self, *others)
        joined = LinearProgram.of(
            np.concatenate([part.cost for part in parts]),
            sp.block_diag([part.matrix for part in parts], format="csr"),
            row_lower=np.concatenate([part.row_lower for part in parts]),
            row_upper=np.concatenate([part.row_upper for part in parts]),
            column_lower=np.concatenate([part.column_lower for part in parts]),
            column_upper=np.concatenate([part.column_upper for part in parts]),
        )
        return replace(joined, offset=sum(part.offset for part in parts))

    def elastic(self, rows: IntArray | None = None) -> Self:
        """What the given rows (or all) must miss, in sum: zero where they can hold together.

        Two columns for each such row follow those of the program, first all that raise, then all that lower
        the row's activity; nothing else costs.
        """
        chosen = np.arange(self.shape[0]) if rows is None else rows
        count = chosen.size
        unit = sp.csr_array((np.ones(count), (chosen, np.arange(count))), shape=(self.shape[0], count))
        return self.with_cost(np.zeros(self.shape[1])).with_columns(
            np.zeros(2 * count),
            np.full(2 * count, INFINITY),
            cost=np.ones(2 * count),
            matrix=sp.hstack([unit, -unit]),
            names=(
                *(f"raise {self.row_names[row]}" for row in chosen),
                *(f"lower {self.row_names[row]}" for row in chosen),
            ),
        )


def _constant(offset: ArrayLike) -> float:
    number = as_numbers(offset, "the objective's constant")
    if number.size != 1:
        raise InputError(f"the objective's constant has {number.size} numbers; expected one.")
    return float(number.reshape(()))
