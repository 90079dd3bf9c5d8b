"""The game in units in which costs and the coefficients of the follower's rows are of ordinary size.

Solver tolerances are absolute. With costs of 1e-9 a follower that is off by the tolerance in its dual is off
by everything, and the leader would harvest the difference; a leader with such costs would call any point
optimal; and the price of a row with coefficients of 1e9 could not be told from zero. Powers of two as units
change no digit.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.bilevel.tuning import TUNING
from ppsm.program import BilevelProgram, Products


@dataclass(frozen=True, eq=False)
class Units:
    """What one unit in the scaled game is worth: of the leader's objective, the follower's cost, its rows."""

    objective: float
    cost: float
    rows: FloatArray

    @property
    def prices(self) -> FloatArray:
        """What one unit of each price is worth."""
        return self.cost / self.rows


def units_of(program: BilevelProgram) -> Units:
    """Units for a game, 1 where its numbers are of ordinary size."""
    follower = program.follower
    rows = np.ones(follower.shape[0])
    for row in range(rows.size):
        entries = _entries(follower.matrix, row)
        others = np.concatenate([_entries(program.coupling, row), _entries(program.handed_on, row)])
        rows[row] = _unit(entries, TUNING.small_row, TUNING.large_row, others)
    moved = (follower.cost, program.cost_coupling.data, program.curvature.data)
    cost = _unit(np.concatenate(moved), TUNING.small_cost, TUNING.large_cost)
    if program.leader_sees_prices:
        cost = max(cost, TUNING.least_unit_of_seen_prices)
        least = min(1.0, cost / TUNING.largest_unit_of_seen_prices)
        rows = np.clip(rows, least, cost / TUNING.least_unit_of_seen_prices)
    seen = program.price_cost * cost / rows
    products = program.products
    costs = np.concatenate(
        [
            program.leader_cost,
            program.response_cost,
            seen,
            products.variable_response.data,
            *(
                _per_price(part, cost / rows).data
                for part in (products.price_response, products.price_variable)
                if part.nnz
            ),
        ]
    )
    return Units(_unit(costs, TUNING.small_cost, TUNING.large_cost), cost, rows)


def _per_price(matrix: SparseMatrix, prices: FloatArray) -> SparseMatrix:
    """A matrix whose rows multiply prices, for prices counted in other units."""
    return sp.csr_array(sp.diags_array(prices) @ matrix)


def _entries(matrix: SparseMatrix, row: int) -> FloatArray:
    return np.asarray(matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]])


def _unit(values: FloatArray, small: float, large: float, others: FloatArray | None = None) -> float:
    """The power of two at the size of the largest value, or 1 where that is of ordinary size.

    It is 1 too where that unit would make the smallest of the values, or of ``others`` that are counted in
    it, too small to be kept.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0 or small <= largest <= large:
        return 1.0
    unit = float(2.0 ** math.floor(math.log2(largest)))
    every = np.abs(values if others is None else np.concatenate([values, others]))
    return unit if float(every[every > 0].min()) >= TUNING.least_in_units * unit else 1.0


def with_units(program: BilevelProgram, units: Units) -> BilevelProgram:
    """The same game counted in the given units."""
    if units.objective == units.cost == 1.0 and (units.rows == 1.0).all():
        return program
    follower, prices, products = program.follower, units.prices, program.products

    def per_row(matrix: SparseMatrix) -> SparseMatrix:
        return sp.csr_array(sp.diags_array(1.0 / units.rows) @ matrix)

    return replace(
        program,
        leader_cost=program.leader_cost / units.objective,
        response_cost=program.response_cost / units.objective,
        price_cost=program.price_cost * prices / units.objective,
        offset=program.offset / units.objective,
        price_matrix=sp.csr_array(program.price_matrix @ sp.diags_array(prices)),
        coupling=per_row(program.coupling),
        cost_coupling=sp.csr_array(program.cost_coupling / units.cost),
        curvature=sp.csr_array(program.curvature / units.cost),
        handed_on=per_row(program.handed_on),
        products=Products(
            _per_price(products.price_response, prices / units.objective),
            _per_price(products.price_variable, prices / units.objective),
            sp.csr_array(products.variable_response / units.objective),
        ),
        follower=replace(
            follower,
            cost=follower.cost / units.cost,
            offset=follower.offset / units.cost,
            matrix=per_row(follower.matrix),
            row_lower=follower.row_lower / units.rows,
            row_upper=follower.row_upper / units.rows,
        ),
    )
