"""The follower of one fidelity problem in scaled arrays: what relaxation, band and search work on.

Everything here minimises. Quantities are divided by a typical size of the follower's data and costs by the
largest cost, so that the solvers' absolute tolerances mean the same whatever units the user works in.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.kkt import Multipliers, multipliers_of
from ppsm.fidelity.slices import SlicedMatrix
from ppsm.program import LinearProgram


@dataclass(frozen=True, eq=False)
class ScaledFollower:
    """``V(d) = min cost' x`` in scaled units, with one multiplier for each finite side of a row or column.

    A user's quantity is ``quantity_unit`` times the one here, a price ``price_unit`` times, a value the
    product.
    """

    program: LinearProgram
    parameter_map: SparseMatrix
    sides: Multipliers
    quantity_unit: float
    price_unit: float

    @classmethod
    def of(cls, program: LinearProgram, parameter_map: SparseMatrix, fallback_unit: float = 1.0) -> Self:
        """Scale a follower; the fallback serves programs whose bounds are all zero or infinite."""
        numbers = np.concatenate(
            [program.row_lower, program.row_upper, program.column_lower, program.column_upper]
        )
        sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
        quantity = float(np.median(sizes)) if sizes.size else fallback_unit
        price = float(np.abs(program.cost).max(initial=0.0)) or 1.0
        scaled = LinearProgram(
            cost=program.cost / price,
            matrix=program.matrix,
            row_lower=program.row_lower / quantity,
            row_upper=program.row_upper / quantity,
            column_lower=program.column_lower / quantity,
            column_upper=program.column_upper / quantity,
            row_names=program.row_names,
            column_names=program.column_names,
        )
        return cls(scaled, parameter_map, multipliers_of(scaled), quantity, price)

    @property
    def value_unit(self) -> float:
        """What a scaled value of 1 is worth."""
        return self.quantity_unit * self.price_unit

    @cached_property
    def is_equality(self) -> BoolArray:
        """Rows whose two sides coincide."""
        return np.asarray(self.program.row_lower == self.program.row_upper)

    @cached_property
    def transposed_map(self) -> SparseMatrix:
        """Turns row prices into prices of the parameter's entries."""
        return self.parameter_map.T.tocsr()

    @cached_property
    def pair_matrix(self) -> SparseMatrix:
        """The rows over (answer, parameter), and the cost as one more row."""
        none = sp.csr_array((1, self.parameter_map.shape[1]))
        cost = sp.hstack([sp.csr_array(self.program.cost[None, :]), none])
        rows = sp.hstack([self.program.matrix, -self.parameter_map])
        return sp.csr_array(sp.vstack([rows, cost]))

    @cached_property
    def pair_slices(self) -> SlicedMatrix:
        """The same matrix, cut for QPs."""
        return SlicedMatrix(self.pair_matrix)

    @cached_property
    def row_sides(self) -> IntArray:
        """Positions of the sides that belong to rows and are inequalities."""
        return np.flatnonzero(self.sides.is_row & ~self.sides.is_free)

    @cached_property
    def column_sides(self) -> IntArray:
        """Positions of the sides that belong to columns and are inequalities."""
        return np.flatnonzero(~self.sides.is_row & ~self.sides.is_free)

    def multipliers(self, prices: FloatArray, reduced_costs: FloatArray) -> FloatArray:
        """The multiplier of every side, from row prices and reduced costs."""
        sides = self.sides
        signed = np.where(
            sides.is_row,
            prices[np.where(sides.is_row, sides.index, 0)],
            reduced_costs[np.where(sides.is_row, 0, sides.index)],
        )
        return np.where(sides.is_free, signed, np.maximum(0.0, sides.sign * signed))

    def slacks(self, columns: FloatArray, shift: FloatArray) -> FloatArray:
        """The slack of every side at an answer, with the rows moved by ``shift``; zero for equalities."""
        sides = self.sides
        activity = self.program.matrix @ columns - shift
        bounded = np.where(
            sides.is_row,
            activity[np.where(sides.is_row, sides.index, 0)],
            columns[np.where(sides.is_row, 0, sides.index)],
        )
        return np.where(sides.is_free, 0.0, np.maximum(0.0, sides.sign * (bounded - sides.bound)))

    def bounds(
        self, shift: FloatArray, *, tight: IntArray | None = None, dropped: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Row and column bounds at a shift, with some sides made equalities and some left out."""
        program = self.program
        row_lower, row_upper = program.row_lower + shift, program.row_upper + shift
        column_lower, column_upper = program.column_lower.copy(), program.column_upper.copy()
        for chosen, drop in ((tight, False), (dropped, True)):
            if chosen is None or chosen.size == 0:
                continue
            index, is_row, is_lower = (
                self.sides.index[chosen],
                self.sides.is_row[chosen],
                self.sides.sign[chosen] > 0,
            )
            for lower, upper, here in (
                (row_lower, row_upper, is_row),
                (column_lower, column_upper, ~is_row),
            ):
                below, above = index[here & is_lower], index[here & ~is_lower]
                if drop:
                    lower[below], upper[above] = -INFINITY, INFINITY
                else:
                    upper[below], lower[above] = lower[below], upper[above]
        return row_lower, row_upper, column_lower, column_upper
