"""The follower's optimality conditions beside the leader's problem: the common ground of all methods.

For a convex follower the answer ``y`` with multipliers ``m`` is optimal exactly when it is feasible, the
multipliers have the right signs, stationarity ``c + C x + H y = A' p + r`` holds and every inequality is
tight or has a zero multiplier. All but the last are linear. :class:`KktSystem` holds the linear part as one
relaxation and the last as a list of complementarity pairs; the methods differ in how they enforce the pairs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix, placed
from ppsm.bilevel.products import weights_of_products
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One multiplier for each finite side of a follower row or column.

    ``sign`` is +1 for the side ``>= bound`` and -1 for ``<= bound``; where both sides coincide there is one
    multiplier of free sign (``is_free``) and no complementarity. Rows come before columns.
    """

    is_row: BoolArray
    index: IntArray
    sign: FloatArray
    bound: FloatArray
    is_free: BoolArray
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return self.index.size

    def net(self, prices: FloatArray, reduced_costs: FloatArray) -> FloatArray:
        """For each multiplier the price or reduced cost of the row or column that it belongs to."""
        where = np.where(self.is_row, self.index, prices.size + self.index)
        return np.asarray(np.concatenate([prices, reduced_costs])[where])

    @cached_property
    def twin(self) -> IntArray:
        """For each multiplier the position of the other side of the same row or column, -1 where none."""
        twins = np.full(self.count, -1, dtype=np.int64)
        first_seen: dict[tuple[bool, int], int] = {}
        for position, key in enumerate(zip(self.is_row.tolist(), self.index.tolist(), strict=True)):
            if key in first_seen:
                twins[position], twins[first_seen[key]] = first_seen[key], position
            else:
                first_seen[key] = position
        return twins


def _sides(lower: FloatArray, upper: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, BoolArray]:
    """Index, sign, bound and freedom of the multipliers of rows or columns with these bounds."""
    equal = np.flatnonzero(lower == upper)
    below = np.flatnonzero((lower > -INFINITY) & (lower != upper))
    above = np.flatnonzero((upper < INFINITY) & (lower != upper))
    index = np.concatenate([equal, below, above])
    sign = np.concatenate([np.ones(equal.size + below.size), -np.ones(above.size)])
    bound = np.concatenate([lower[equal], lower[below], upper[above]])
    free = np.arange(index.size) < equal.size
    return index, sign, bound, free


def multipliers_of(follower: LinearProgram) -> Multipliers:
    """List the multipliers of a linear program."""
    rows = _sides(follower.row_lower, follower.row_upper)
    columns = _sides(follower.column_lower, follower.column_upper)
    index, sign, bound, free = (np.concatenate(parts) for parts in zip(rows, columns, strict=True))
    is_row = np.arange(index.size) < rows[0].size
    labels = (*follower.row_names, *follower.column_names)
    words = np.where(free, "==", np.where(sign > 0, ">=", "<="))
    bounded = np.where(is_row, index, follower.shape[0] + index)
    names = tuple(f"{labels[i]} {word} {b:g}" for i, word, b in zip(bounded, words, bound, strict=True))
    return Multipliers(is_row, index, sign, bound, free, names)


@dataclass(frozen=True, eq=False)
class Turn:
    """Rows and columns of the followers that act at the same time."""

    rows: IntArray
    columns: IntArray


@dataclass(frozen=True, eq=False)
class KktSystem:
    """The linear part of the single-level problem, and the pairs that complete it.

    Columns of ``relaxation``: leader variables, follower responses, multipliers. ``slack_matrix`` times the
    columns plus ``slack_constant`` is the slack of each multiplier's inequality (zero for the free ones).
    ``turns`` say which rows and columns are decided at the same time, first to last.
    """

    program: BilevelProgram
    multipliers: Multipliers
    relaxation: LinearProgram
    is_integer: BoolArray
    price_map: SparseMatrix
    slack_matrix: SparseMatrix
    slack_constant: FloatArray
    turns: tuple[Turn, ...]

    @property
    def variables(self) -> slice:
        """Columns of the leader's variables."""
        return slice(0, len(self.program.variable_names))

    @property
    def responses(self) -> slice:
        """Columns of the follower's answer."""
        start = len(self.program.variable_names)
        return slice(start, start + self.program.follower.shape[1])

    @property
    def first_multiplier(self) -> int:
        """Column of the first multiplier."""
        return len(self.program.variable_names) + self.program.follower.shape[1]

    @cached_property
    def pairs(self) -> IntArray:
        """Positions of the multipliers that are one half of a complementarity pair."""
        return np.flatnonzero(~self.multipliers.is_free)

    def prices(self, columns: FloatArray) -> FloatArray:
        """The follower's row prices at a point of the relaxation."""
        return np.asarray(self.price_map @ columns[self.first_multiplier :])

    def slacks(self, columns: FloatArray) -> FloatArray:
        """The slack of every multiplier's inequality at a point of the relaxation."""
        return np.asarray(self.slack_matrix @ columns + self.slack_constant)


def build_kkt(program: BilevelProgram) -> KktSystem:
    """Assemble the KKT system of a bilevel program."""
    follower = program.follower
    rows, columns = follower.shape
    multipliers = multipliers_of(follower)
    positions = np.arange(multipliers.count)
    of_row, of_column = positions[multipliers.is_row], positions[~multipliers.is_row]

    def selector(chosen: IntArray, height: int) -> SparseMatrix:
        entries = (multipliers.sign[chosen], (multipliers.index[chosen], chosen))
        return sp.csr_array(entries, shape=(height, multipliers.count))

    price_map = selector(of_row, rows)
    reduced_cost_map = selector(of_column, columns)
    # Slack of side k: sign * (what is bounded - bound); the bounded thing is a row activity or a column.
    variables = len(program.variable_names)
    activity = placed(
        (rows + columns, variables + columns + multipliers.count),
        [
            (0, 0, program.coupling),
            (0, variables, follower.matrix),
            (0, variables, program.handed_on),
            (rows, variables, sp.eye_array(columns, format="csr")),
        ],
    )
    bounded = np.where(multipliers.is_row, multipliers.index, rows + multipliers.index)
    live_sign = np.where(multipliers.is_free, 0.0, multipliers.sign)
    slack_matrix = activity[bounded, :]
    slack_matrix.data *= np.repeat(live_sign, np.diff(slack_matrix.indptr))
    slack_matrix.eliminate_zeros()
    return KktSystem(
        program=program,
        multipliers=multipliers,
        relaxation=_relaxation(program, multipliers, price_map, reduced_cost_map),
        is_integer=np.concatenate(
            [program.is_integer, np.zeros(columns + multipliers.count, dtype=np.bool_)]
        ),
        price_map=price_map,
        slack_matrix=slack_matrix,
        slack_constant=-live_sign * multipliers.bound,
        turns=_turns_of(program),
    )


def _relaxation(
    program: BilevelProgram, multipliers: Multipliers, price_map: SparseMatrix, reduced_cost_map: SparseMatrix
) -> LinearProgram:
    """Leader rows, follower feasibility and stationarity: everything but complementarity.

    The cost is linear: at every point that obeys complementarity it is the leader's, products included.
    """
    follower = program.follower
    stationarity = follower.matrix.T @ price_map + reduced_cost_map
    cost = np.concatenate([program.leader_cost, program.response_cost, price_map.T @ program.price_cost])
    of_rows, of_columns = weights_of_products(program)
    weight = multipliers.net(of_rows, of_columns)
    answers = slice(len(program.variable_names), len(program.variable_names) + follower.shape[1])
    cost[answers] -= of_columns * follower.cost
    cost[answers.stop :] += weight * multipliers.sign * multipliers.bound
    leader_rows, variables = len(program.leader_row_names), len(program.variable_names)
    rows, first = leader_rows + follower.shape[0], variables + follower.shape[1]
    matrix = placed(
        (rows + follower.shape[1], first + multipliers.count),
        [
            (0, 0, program.leader_matrix),
            (0, variables, program.response_matrix),
            (0, first, program.price_matrix @ price_map),
            (leader_rows, 0, program.coupling),
            (leader_rows, variables, follower.matrix),
            (leader_rows, variables, program.handed_on),
            (rows, 0, -program.cost_coupling),
            (rows, variables, -program.curvature),
            (rows, first, sp.csr_array(stationarity)),
        ],
    )
    return LinearProgram(
        cost=cost,
        matrix=matrix,
        row_lower=np.concatenate([program.leader_lower, follower.row_lower, follower.cost]),
        row_upper=np.concatenate([program.leader_upper, follower.row_upper, follower.cost]),
        column_lower=np.concatenate(
            [program.variable_lower, follower.column_lower, np.where(multipliers.is_free, -INFINITY, 0.0)]
        ),
        column_upper=np.concatenate(
            [program.variable_upper, follower.column_upper, np.full(multipliers.count, INFINITY)]
        ),
        row_names=(
            *program.row_labels,
            *(f"stationarity of {name}" for name in follower.column_names),
        ),
        column_names=(
            *program.labels,
            *(f"multiplier of {name}" for name in multipliers.names),
        ),
        offset=program.offset,
    )


def _turns_of(program: BilevelProgram) -> tuple[Turn, ...]:
    """The turns of a program, first to last; an error where nobody can be first.

    Columns that share a row, or a product of the curvature, are decided together; every such part is a
    follower of its own. Where ``handed_on`` joins two parts, the one decides before the other.
    """
    rows, columns = program.follower.shape
    if not program.handed_on.nnz:
        return (Turn(np.arange(rows), np.arange(columns)),)
    nothing = sp.csr_array((rows + columns, rows))
    joins = sp.hstack([nothing, sp.vstack([program.follower.matrix, program.curvature])], format="csr")
    count, part = connected_components(joins, directed=False)
    later, earlier = program.handed_on.nonzero()
    before = np.unique(np.column_stack([part[rows + earlier], part[later]]), axis=0)
    turn = np.zeros(count, dtype=np.int64)
    for _ in range(count + 1):
        wanted = turn.copy()
        np.maximum.at(wanted, before[:, 1], turn[before[:, 0]] + 1)
        if (wanted == turn).all():
            break
        turn = wanted
    else:
        name = program.follower.column_names[int(earlier[0])]
        raise ModelError(
            f"followers wait for each other: what '{name}' hands on comes back to it; expected followers "
            "that act in turn."
        )
    of_row, of_column = turn[part[:rows]], turn[part[rows:]]
    return tuple(
        Turn(np.flatnonzero(of_row == number), np.flatnonzero(of_column == number))
        for number in range(int(turn.max()) + 1)
    )
