"""The same game in other words: its parts in another order, counted in other units."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppsm.program import BilevelProgram, LinearProgram, Products

Vector = NDArray[np.float64]
UNITS = 10.0 ** np.arange(-3, 4)


@dataclass(frozen=True, eq=False)
class Version:
    """A game that has the optimum of another one, multiplied by the unit of its objective."""

    program: BilevelProgram
    unit: float


@dataclass(frozen=True, eq=False)
class _Drawn:
    """An order and a unit for each member of one part of a game."""

    order: NDArray[np.int64]
    units: Vector


def _drawn(rng: np.random.Generator, size: int, rescaled: bool) -> _Drawn:
    return _Drawn(rng.permutation(size), rng.choice(UNITS, size) if rescaled else np.ones(size))


def version_of(program: BilevelProgram, seed: int, *, rescaled: bool) -> Version:
    """Draw orders and, if asked, units in 1e-3..1e3 for all parts of a game; integers keep their unit."""
    rng = np.random.default_rng(seed)
    rows, columns = program.follower.shape
    leader_rows = _drawn(rng, len(program.leader_row_names), rescaled)
    variables = _drawn(rng, len(program.variable_names), rescaled)
    variables.units[program.is_integer] = 1.0
    own_rows, own_columns = _drawn(rng, rows, rescaled), _drawn(rng, columns, rescaled)
    unit, cost_unit = rng.choice(UNITS, 2) if rescaled else np.ones(2)
    return Version(
        _rewritten(program, leader_rows, variables, own_rows, own_columns, (unit, cost_unit)), float(unit)
    )


def _rewritten(
    program: BilevelProgram,
    leader_rows: _Drawn,
    variables: _Drawn,
    rows: _Drawn,
    columns: _Drawn,
    objectives: tuple[float, float],
) -> BilevelProgram:
    """Old columns are ``units`` times the new ones; rows are multiplied by theirs, prices divided."""
    follower = program.follower
    unit, cost_unit = objectives
    # A price is cost per right-hand side: it is counted in the unit of costs over that of its row.
    prices = _Drawn(rows.order, rows.units / cost_unit)

    def matrix(part: object, left: _Drawn, right: _Drawn) -> Vector:
        dense = part.toarray()  # type: ignore[attr-defined]
        scaled = left.units[:, None] * dense * right.units[None, :]
        return np.asarray(scaled[np.ix_(left.order, right.order)], dtype=float)

    def vector(part: Vector, drawn: _Drawn, power: int = 1) -> Vector:
        return np.asarray((part * drawn.units**power)[drawn.order], dtype=float)

    return BilevelProgram.from_arrays(
        follower=LinearProgram.from_arrays(
            cost=cost_unit * vector(follower.cost, columns),
            matrix=matrix(follower.matrix, rows, columns),
            row_lower=vector(follower.row_lower, rows),
            row_upper=vector(follower.row_upper, rows),
            column_lower=vector(follower.column_lower, columns, -1),
            column_upper=vector(follower.column_upper, columns, -1),
        ),
        coupling=matrix(program.coupling, rows, variables),
        cost_coupling=cost_unit * matrix(program.cost_coupling, columns, variables),
        curvature=cost_unit * matrix(program.curvature, columns, columns),
        products=Products(
            price_response=unit * matrix(program.products.price_response, prices, columns),
            price_variable=unit * matrix(program.products.price_variable, prices, variables),
            variable_response=unit * matrix(program.products.variable_response, variables, columns),
        ),
        leader_cost=unit * vector(program.leader_cost, variables),
        response_cost=unit * vector(program.response_cost, columns),
        price_cost=unit * vector(program.price_cost, prices),
        offset=unit * program.offset,
        variable_lower=vector(program.variable_lower, variables, -1),
        variable_upper=vector(program.variable_upper, variables, -1),
        is_integer=program.is_integer[variables.order],
        leader_matrix=matrix(program.leader_matrix, leader_rows, variables),
        response_matrix=matrix(program.response_matrix, leader_rows, columns),
        price_matrix=matrix(program.price_matrix, leader_rows, prices),
        leader_lower=vector(program.leader_lower, leader_rows),
        leader_upper=vector(program.leader_upper, leader_rows),
    )
