"""A linear inequality that every optimal dual of the follower obeys, whatever the leader decides.

Let ``y^(x) = a + Y (x - x0)`` be an answer that is feasible for *every* leader decision in a box, with slack
at least ``s_k`` in inequality k. For an optimal answer y with multipliers m at the decision x, Lagrange
duality says ``c'y^(x) - sum_k m_k slack_k(y^(x)) = V(x) = c'y``, hence

    sum_k s_k m_k  +  c'y  -  c'Y (x - x0)  <=  c'a.

All of it is linear in (x, y, m) and, where s_k > 0, it bounds m_k: Slater's condition made quantitative. The
rule (a, Y) with the largest slacks is one LP, the robust counterpart over the box; what the rule then keeps
is computed from it, so that the solver only suggests it. Where the relaxation is unbounded although the game
is not, the row bounds it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.bounds.lone_columns import with_lone_columns_bounded
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp, may_be_unbounded
from ppsm.status import Status


def slater_row(
    kkt: KktSystem,
    coupled: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    deadline: float = INFINITY,
    *,
    reacts: bool = True,
) -> tuple[FloatArray, float] | None:
    """Coefficients over the columns of the relaxation and the upper bound of the row, None if there is none.

    ``coupled`` are the leader variables in the follower's rows and ``lower``/``upper`` the box they live in.
    After a deadline there is none either. One answer for all decisions, which never ``reacts``, is a much
    smaller LP, but there are games that only have others.
    """
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return None
    if not kkt.program.only_moves_right_hand_sides:
        return None  # the inequality above would hold products
    rule = _Rule(kkt, coupled, lower, upper - lower, reacts)
    if rule.size > TUNING.largest_rule:
        return None
    lp = PersistentLp(rule.program())
    lp.stop_at(deadline)
    solution = lp.solve()
    if solution.status is not Status.PROVEN_OPTIMAL:
        return None
    slacks = rule.slacks(solution.columns)
    if slacks is None:
        return None
    cost, slope_cost = kkt.program.follower.cost, rule.slope_costs(solution.columns)
    row = np.zeros(kkt.relaxation.shape[1])
    row[kkt.responses] = cost
    row[coupled] = -slope_cost
    row[kkt.first_multiplier + kkt.pairs] = np.maximum(0.0, slacks - TUNING.slater_safety)
    limit = float(cost @ solution.columns[: cost.size] - slope_cost @ lower)
    # The rule is feasible up to the LP's tolerance only; the limit must not be tighter than the truth.
    size = 1.0 + float(np.abs(cost) @ np.abs(solution.columns[: cost.size]))
    return row, limit + TUNING.limit_margin * size


def bounded(kkt: KktSystem, deadline: float) -> tuple[KktSystem, PersistentLp | None] | None:
    """The system, with bounds that follow where the relaxation may be unbounded; None where it stays so.

    Beside it the LP of its relaxation, solved, where it took one to tell.
    """
    if may_be_unbounded(kkt.relaxation):
        kkt = replace(kkt, relaxation=with_lone_columns_bounded(kkt))
    for relaxation in chain((kkt.relaxation,), _bounded_by_slater(kkt, deadline)):
        lp: PersistentLp | None = None
        if may_be_unbounded(relaxation):
            lp = PersistentLp(relaxation)
            lp.skip_presolve()
            lp.stop_at(deadline)
            if lp.solve().status is Status.UNBOUNDED:
                continue
        return replace(kkt, relaxation=relaxation), lp
    return None


def _bounded_by_slater(kkt: KktSystem, deadline: float) -> Iterator[LinearProgram]:
    """Cheap ones first; bounds of columns hold a solver up less than a row that has them all."""
    coupled = np.unique(kkt.program.coupling.indices).astype(np.int64)
    lower, upper = kkt.program.variable_lower[coupled], kkt.program.variable_upper[coupled]
    for reacts in (False, True):
        found = slater_row(kkt, coupled, lower, upper, deadline, reacts=reacts)
        if found is not None:
            row, limit = found
            yield within(kkt.relaxation, row, limit)
            matrix = sp.csr_array(row[None, :])
            yield kkt.relaxation.with_rows(matrix, upper=np.array([limit]), names=("Slater",))


def within(linear: LinearProgram, row: FloatArray, limit: float) -> LinearProgram:
    """Bounds that a row ``<= limit`` implies for each of its columns where all others are at their least."""
    ends = np.where(row > 0, linear.column_lower, linear.column_upper)
    least = np.multiply(row, ends, out=np.zeros_like(row), where=row != 0)
    is_open = np.isinf(least)
    if is_open.sum() > 1:
        return linear
    others = least[~is_open].sum() - np.where(is_open, 0.0, least)
    alone = is_open if is_open.any() else row != 0
    reach = np.divide(limit - others, row, out=np.full_like(row, np.inf), where=alone)
    useful = alone & (np.abs(reach) <= TUNING.largest_sound_m)
    return replace(
        linear,
        column_lower=np.where(
            useful & (row < 0), np.maximum(linear.column_lower, reach), linear.column_lower
        ),
        column_upper=np.where(
            useful & (row > 0), np.minimum(linear.column_upper, reach), linear.column_upper
        ),
    )


class _Rule:
    """The LP that maximises the slacks of an affine answer over the box ``lower + [0, width]``.

    Columns: a | for each leader variable its slopes Y_j over ``reacting[j]`` and the falls B_j, how fast the
    slacks in ``moved[j]`` can fall with it | s.
    """

    def __init__(
        self, kkt: KktSystem, coupled: IntArray, lower: FloatArray, width: FloatArray, reacts: bool
    ) -> None:
        self._kkt, self._lower, self._width = kkt, lower, width
        self._columns, self._sides = kkt.program.follower.shape[1], kkt.pairs.size
        slack = kkt.slack_matrix[kkt.pairs, :]
        self._slack_y: SparseMatrix = slack[:, kkt.responses]
        self._slack_x: FloatArray = slack[:, coupled].toarray()
        self._equal_y, self._equal_x, self._equal_to = _equalities(kkt, coupled)
        nobody = np.empty(0, dtype=np.int64)
        self._reacting = [
            self._near(int(variable), coupled.size) if reacts else nobody for variable in coupled
        ]
        self._moved = [
            np.union1d(_rows_of(self._slack_y, near), np.flatnonzero(self._slack_x[:, j]))
            for j, near in enumerate(self._reacting)
        ]

    @property
    def size(self) -> int:
        """Columns of the LP."""
        widths = [near.size + moved.size for near, moved in zip(self._reacting, self._moved, strict=True)]
        return self._columns + sum(widths) + self._sides

    def _near(self, variable: int, moves: int) -> IntArray:
        """The follower's columns that may react to a leader variable: all, or those within two rows of it."""
        if (self._columns + self._sides) * moves <= TUNING.small_rule:
            return np.arange(self._columns)
        matrix = self._kkt.program.follower.matrix
        rows = np.flatnonzero(self._kkt.program.coupling[:, [variable]].toarray().ravel())
        near = np.unique(matrix[rows, :].indices)
        touched = np.flatnonzero(np.diff(matrix[:, near].tocsr().indptr))
        return np.unique(matrix[touched, :].indices).astype(np.int64)

    def program(self) -> LinearProgram:
        """Assemble the LP."""
        at_corner = self._equal_to - self._equal_x @ self._lower
        corner_slack = -(self._slack_x @ self._lower + self._kkt.slack_constant[self._kkt.pairs])
        lower_rows, upper_rows = [corner_slack, at_corner], [np.full(self._sides, INFINITY), at_corner]
        entries = _Entries()
        entries.add(_coordinates(self._slack_y), 0, 0)
        entries.add(_diagonal(-np.ones(self._sides)), 0, self.size - self._sides)
        entries.add(_coordinates(self._equal_y), self._sides, 0)
        row = self._sides + self._equal_to.size
        for j, (near, moved) in enumerate(zip(self._reacting, self._moved, strict=True)):
            slopes, falls = self._positions[j]
            # What the box can take away of the slack at the corner: width * fall.
            entries.add((moved, np.arange(moved.size), np.full(moved.size, -self._width[j])), 0, falls.start)
            # The fall is at least the negative slope of the slack; equalities stay when x moves.
            entries.add(_chosen(self._slack_y, moved, near), row, slopes.start)
            entries.add(_diagonal(np.ones(moved.size)), row, falls.start)
            every = np.arange(self._equal_to.size)
            entries.add(_chosen(self._equal_y, every, near), row + moved.size, slopes.start)
            row += moved.size + every.size
            stays = -self._equal_x[:, j]
            lower_rows += [-self._slack_x[moved, j], stays]
            upper_rows += [np.full(moved.size, INFINITY), stays]
        matrix = entries.matrix((row, self.size))
        return self._bounded(matrix, np.concatenate(lower_rows), np.concatenate(upper_rows))

    def _bounded(self, matrix: SparseMatrix, row_lower: FloatArray, row_upper: FloatArray) -> LinearProgram:
        column_lower = np.full(self.size, -INFINITY)
        column_upper = np.full(self.size, INFINITY)
        for _, falls in self._positions:
            column_lower[falls] = 0.0
        column_lower[self.size - self._sides :] = 0.0
        # Slack beyond the size of the data does not sharpen the bound.
        enough = max(1.0, float(np.abs(self._kkt.slack_constant).max(initial=1.0)))
        column_upper[self.size - self._sides :] = enough
        cost = np.zeros(self.size)
        cost[self.size - self._sides :] = -1.0
        return LinearProgram.of(
            cost,
            matrix,
            row_lower=row_lower,
            row_upper=row_upper,
            column_lower=column_lower,
            column_upper=column_upper,
        )

    @cached_property
    def _positions(self) -> list[tuple[slice, slice]]:
        """For each leader variable the columns of its slopes and of its falls."""
        positions, start = [], self._columns
        for near, moved in zip(self._reacting, self._moved, strict=True):
            positions.append(
                (slice(start, start + near.size), slice(start + near.size, start + near.size + moved.size))
            )
            start += near.size + moved.size
        return positions

    def slope_costs(self, columns: FloatArray) -> FloatArray:
        """What the answer's reaction to each leader variable costs the follower."""
        cost = self._kkt.program.follower.cost
        each = zip(self._reacting, self._positions, strict=True)
        return np.array([float(cost[near] @ columns[slopes]) for near, (slopes, _) in each])

    def slacks(self, columns: FloatArray) -> FloatArray | None:
        """The slacks that the rule keeps over the whole box, computed from it; None where it is no rule."""
        answer, kkt = columns[: self._columns], self._kkt
        kept = self._slack_y @ answer + self._slack_x @ self._lower + kkt.slack_constant[kkt.pairs]
        missed = np.abs(self._equal_y @ answer + self._equal_x @ self._lower - self._equal_to)
        for j, (near, (slopes, _)) in enumerate(zip(self._reacting, self._positions, strict=True)):
            slope = columns[slopes]
            falls = np.maximum(0.0, -(self._slack_y[:, near] @ slope + self._slack_x[:, j]))
            kept = kept - self._width[j] * falls
            missed += self._width[j] * np.abs(self._equal_y[:, near] @ slope + self._equal_x[:, j])
        is_rule = missed.max(initial=0.0) <= TUNING.clearly and kept.min(initial=0.0) >= -TUNING.clearly
        return np.asarray(kept) if is_rule else None


# Rows, columns and values of a block.
_Coordinates = tuple[IntArray, IntArray, FloatArray]


class _Entries:
    """Blocks of a sparse matrix that is put together once: many small ones would cost more than the LP."""

    def __init__(self) -> None:
        self._blocks: list[_Coordinates] = []

    def add(self, block: _Coordinates, row: int, column: int) -> None:
        """Place a block with its upper left corner there."""
        rows, columns, values = block
        self._blocks.append((rows + row, columns + column, values))

    def matrix(self, shape: tuple[int, int]) -> SparseMatrix:
        """All of them."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        return sp.csr_array((values, (rows, columns)), shape=shape)


def _coordinates(matrix: SparseMatrix) -> _Coordinates:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return rows, matrix.indices.astype(np.int64), matrix.data


def _rows_of(matrix: SparseMatrix, columns: IntArray) -> IntArray:
    """The rows that have an entry in one of the columns."""
    return np.unique(_chosen(matrix, np.arange(matrix.shape[0]), columns)[0])


def _diagonal(values: FloatArray) -> _Coordinates:
    return np.arange(values.size), np.arange(values.size), values


def _chosen(matrix: SparseMatrix, rows: IntArray, columns: IntArray) -> _Coordinates:
    """The entries in some rows and columns, counted among those."""
    row_place, column_place = (np.full(size, -1, dtype=np.int64) for size in matrix.shape)
    row_place[rows], column_place[columns] = np.arange(rows.size), np.arange(columns.size)
    of_row, of_column, values = _coordinates(matrix)
    kept = (row_place[of_row] >= 0) & (column_place[of_column] >= 0)
    return row_place[of_row[kept]], column_place[of_column[kept]], values[kept]


def _equalities(kkt: KktSystem, coupled: IntArray) -> tuple[SparseMatrix, FloatArray, FloatArray]:
    """Rows and columns of the follower that are fixed: coefficients of y, of the coupled x, and the value."""
    multipliers, program = kkt.multipliers, kkt.program
    rows = np.flatnonzero(multipliers.is_free & multipliers.is_row)
    fixed = np.flatnonzero(multipliers.is_free & ~multipliers.is_row)
    of_row, of_column = multipliers.index[rows], multipliers.index[fixed]
    pick = sp.eye_array(program.follower.shape[1], format="csr")[of_column, :]
    equal_y = sp.vstack([program.follower.matrix[of_row, :], pick], format="csr")
    moved = program.coupling[of_row, :][:, coupled].toarray()
    equal_x = np.vstack([moved, np.zeros((fixed.size, coupled.size))])
    return equal_y, equal_x, multipliers.bound[np.concatenate([rows, fixed])]
