"""Prices by levels: what the best point nearer than an incumbent of PPSM_p could be worth, by one LP.

A dual that lifts a point ``d`` to the value band has ``g(p) + y'd >= lower``. The largest ``y'd`` over all
nearer points is convex in the prices, and a chord over a wide range loses much. In a market prices are costs
of the follower, but for what pressures or losses do to them. So a price is split at such **levels**, ``y =
s_0 - z_low + sum w_k z_k + z_top`` with ``1 >= z_1 >= z_2 >= ... >= 0``, and chords run from level to level.

That would be a mixed-integer program. In networks the LP is enough, because what stationarity says of prices
holds level by level. Where it says ``y_a - y_b <= (multipliers)``, splitting both prices at the same levels
splits the difference into parts of one sign, so that ``sum w_k max(0, z_ak - z_bk) <= (multipliers)``; where
it says ``y_a <= cost + (multipliers)`` and the cost is a level, the parts above it are covered by the
multipliers. For a network without anything else the LP is a minimum cut, and its vertices have prices at
levels only: then the LP is as exact as the mixed-integer program. Whatever else the follower has stays in
the rows that it has, and the tree of ``search/level_tree.py`` divides prices at levels.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.fidelity.bounds.price_boxes import LinesAbove
from ppsm.fidelity.scaled import ScaledFollower
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram


@dataclass(frozen=True, eq=False)
class PriceRows:
    """What stationarity says of prices ``y`` and others ``m >= 0``: ``prices y + others m = value``.

    Prices that are the same in every dual are one. Of rows of two prices, ``differences y <= covers m``; of
    rows of one, ``-below m <= y[single] - cost <= above m``. ``of_entry`` is the price of each entry of the
    parameter, and duals are worth ``worth'y + worth_of_others'm`` at a parameter of zero. Others are within
    ``limits_of_others``.
    """

    prices: SparseMatrix
    others: SparseMatrix
    value: FloatArray
    worth: FloatArray
    worth_of_others: FloatArray
    limits_of_others: tuple[FloatArray, FloatArray]
    of_entry: IntArray
    is_nonnegative: BoolArray
    differences: SparseMatrix
    covers: SparseMatrix
    single: IntArray
    cost: FloatArray
    above: SparseMatrix
    below: SparseMatrix
    costs: FloatArray

    @classmethod
    def of(cls, follower: ScaledFollower) -> "PriceRows":
        """Sort the rows of a follower's stationarity by form."""
        sides, entry_prices = follower.sides, sp.csr_array(follower.entry_prices)
        whole, potentials, of_entry = _with_entry_prices(follower, entry_prices)
        is_price = np.zeros(whole.shape[1], dtype=np.bool_)
        is_price[potentials] = True
        value = np.concatenate([follower.program.cost, np.zeros(whole.shape[0] - follower.program.cost.size)])
        others = _tidy(whole[:, np.flatnonzero(~is_price)])
        each = _tidy(whole[:, potentials])
        alike = _alike(each, (np.diff(others.indptr) == 0) & (value == 0.0))
        member = sp.csr_array((np.ones(alike.size), (np.arange(alike.size), alike)))
        prices = _tidy(each @ member)
        worth = np.concatenate([sides.sign * sides.bound, np.zeros(whole.shape[1] - sides.count)])
        is_free = np.concatenate([sides.is_free, np.ones(whole.shape[1] - sides.count, dtype=np.bool_)])
        pairs, factors = _rows_of_two(prices, value)
        singles = np.flatnonzero(np.diff(prices.indptr) == 1)
        at = prices.indptr[singles]
        scaled = sp.diags_array(1.0 / prices.data[at]) @ others[singles, :]
        of_two = sp.diags_array(1.0 / factors) @ others[pairs, :]
        signs = _tidy(sp.diags_array(1.0 / factors) @ prices[pairs, :])
        return cls(
            prices=prices,
            others=others,
            value=value,
            worth=np.asarray(member.T @ worth[potentials]),
            worth_of_others=worth[~is_price],
            limits_of_others=(np.zeros(others.shape[1]), np.full(others.shape[1], INFINITY)),
            of_entry=alike[of_entry],
            is_nonnegative=np.asarray(member.T @ ~is_free[potentials]) > 0,
            # y_a - y_b = minus others' m: covered by those with a negative sign, and the other way round.
            differences=_tidy(sp.vstack([signs, -signs])),
            covers=_tidy(sp.vstack([_positive(-of_two), _positive(of_two)])),
            single=prices.indices[at].astype(np.int64),
            cost=value[singles] / prices.data[at],
            above=_positive(-scaled),
            below=_positive(scaled),
            costs=_distinct(follower.program.cost),
        )

    @property
    def count(self) -> int:
        """How many prices there are."""
        return self.worth.size

    def shares(self, needed: float, least: float, most: float) -> "PriceRows":
        """The same of duals that are divided by their largest price, which is between ``least`` and ``most``.

        One multiplier more is the inverse of that price; duals worth ``needed`` are worth zero. Costs shrink
        with it, so that only those of zero are levels.
        """
        unit = sp.csr_array(-self.value[:, None])
        lower, upper = self.limits_of_others
        free = np.flatnonzero(self.cost == 0.0)
        wider = [sp.csr_array((matrix.shape[0], 1)) for matrix in (self.covers, self.above, self.below)]
        covers, above, below = (
            sp.csr_array(sp.hstack([matrix, one]))
            for matrix, one in zip((self.covers, self.above, self.below), wider, strict=True)
        )
        return replace(
            self,
            others=sp.csr_array(sp.hstack([self.others, unit])),
            value=np.zeros_like(self.value),
            worth_of_others=np.append(self.worth_of_others, -needed),
            limits_of_others=(np.append(lower, 1.0 / most), np.append(upper, 1.0 / least)),
            covers=covers,
            single=self.single[free],
            cost=self.cost[free],
            above=above[free, :],
            below=below[free, :],
        )


def _with_entry_prices(
    follower: ScaledFollower, entry_prices: SparseMatrix
) -> tuple[SparseMatrix, IntArray, IntArray]:
    """Stationarity over multipliers and entries' prices, which columns are prices, and which an entry's.

    The price of an entry that enters one row is that row's; others get a column and a row of their own.
    """
    is_one = (np.diff(entry_prices.indptr) == 1) & (np.asarray(entry_prices.sum(axis=1)).ravel() == 1.0)
    sides, own = follower.sides.count, np.flatnonzero(~is_one)
    shape = entry_prices.shape[0]
    column = np.zeros(shape, dtype=np.int64)
    column[is_one] = entry_prices.indices[entry_prices.indptr[:-1][is_one]]
    column[own] = sides + np.arange(own.size)
    whole: SparseMatrix = sp.csr_array(follower.stationarity)
    if own.size:
        whole = sp.block_array([[whole, None], [entry_prices[own, :], -sp.eye_array(own.size)]], format="csr")
    potentials = np.union1d(np.flatnonzero(follower.sides.is_free), column)
    return whole, potentials, np.searchsorted(potentials, column)


def _alike(prices: SparseMatrix, may_tell: BoolArray) -> IntArray:
    """Numbers prices so that those which rows without anything else make equal have the same number."""
    rows = np.flatnonzero(may_tell & (np.diff(prices.indptr) == 2) & (prices.sum(axis=1) == 0.0))
    first = prices.indptr[rows]
    ends = prices.indices[first], prices.indices[first + 1]
    graph = sp.coo_array((np.ones(rows.size), ends), shape=(prices.shape[1],) * 2)
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _rows_of_two(prices: SparseMatrix, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """The rows that hold nothing against a difference of two prices, and the factor of that difference."""
    sums = np.asarray(prices.sum(axis=1)).ravel()
    rows = np.flatnonzero((np.diff(prices.indptr) == 2) & (sums == 0.0) & (value == 0.0))
    return rows, np.abs(prices.data[prices.indptr[rows]])


def _positive(matrix: Any) -> SparseMatrix:
    return _tidy(matrix.maximum(0.0))


def _tidy(matrix: Any) -> SparseMatrix:
    """Without entries that are zero, which would count in the length of a row."""
    found = sp.csr_array(matrix)
    found.eliminate_zeros()
    return found


def _distinct(costs: FloatArray) -> FloatArray:
    """Zero and the follower's costs, without those that differ by rounding; not too many."""
    ordered = np.unique(np.append(costs, 0.0))
    apart = ordered[np.insert(np.diff(ordered) > TUNING.levels_apart, 0, True)]
    if apart.size > TUNING.most_levels:
        apart = apart[np.linspace(0, apart.size - 1, TUNING.most_levels).round().astype(np.int64)]
    # Zero has to be there, exactly, for multipliers that are never below it.
    apart[np.abs(apart).argmin()] = 0.0
    return apart


# A plane ``g + y'd`` below V, as ``(g, y)``.
Plane: TypeAlias = tuple[float, FloatArray]


@dataclass(frozen=True, eq=False)
class Cut:
    """A line: the weight of the distance in it, and the plane that it is drawn beside."""

    kappa: float
    plane: Plane | None = None


@dataclass(frozen=True)
class Half:
    """A price is at least, or at most, one of the levels."""

    price: int
    level: float
    is_above: bool


@dataclass(frozen=True)
class Zero:
    """One of the other multipliers vanishes."""

    other: int


Condition: TypeAlias = Half | Zero
Conditions: TypeAlias = tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class PriceLevels:
    """The LP of duals whose prices are split at ``levels``; those of entries are within the outer ones.

    Zero is one of the levels.

    Columns: for each price what it is below the first level, its levels, what it is above the last one; then
    other multipliers; then, for each covered difference, its parts.
    """

    rows: PriceRows
    levels: FloatArray

    @property
    def width(self) -> int:
        """Columns of one price."""
        return self.levels.size + 1

    @cached_property
    def _size(self) -> FloatArray:
        """What a price gains by each of its columns."""
        return np.concatenate([[-1.0], np.diff(self.levels), [1.0]])

    @cached_property
    def program(self) -> LinearProgram:
        """Duals with split prices; without a cost."""
        rows, width, size = self.rows, self.width, self._size
        each = sp.eye_array(rows.count, format="csr")
        is_covered = np.diff(rows.covers.indptr) > 0
        covers, covered = rows.covers[np.flatnonzero(is_covered), :], rows.differences[is_covered, :]
        parts = sp.eye_array(covers.shape[0] * width)
        whole = sp.kron(sp.eye_array(covers.shape[0]), np.ones((1, width)))
        order = sp.diags_array(
            [1.0, -1.0], offsets=[0, 1], shape=(self.levels.size - 2, self.levels.size - 1)
        )
        padded = sp.hstack([sp.csr_array((order.shape[0], 1)), order, sp.csr_array((order.shape[0], 1))])
        # The part below the first level grows as the price falls.
        apart = sp.kron(rows.differences[~is_covered, :], sp.diags_array(-np.sign(size)))
        matrix = sp.block_array(
            [
                [sp.kron(rows.prices, size[None, :]), rows.others, None],
                [sp.kron(-covered, sp.diags_array(size)), None, parts],
                [None, covers, -whole],
                [apart, None, None],
                [sp.kron(each, padded), None, None],
            ],
            format="csr",
        )
        fixed = rows.value - rows.prices @ np.full(rows.count, self.levels[0])
        lower = np.concatenate([fixed, np.zeros(matrix.shape[0] - fixed.size)])
        upper = np.concatenate([fixed, np.full(matrix.shape[0] - fixed.size, INFINITY)])
        least, most = self._limits(matrix.shape[1])
        program = LinearProgram.of(
            np.zeros(matrix.shape[1]),
            matrix,
            row_lower=lower,
            row_upper=upper,
            column_lower=least,
            column_upper=most,
        )
        costs, needed = self._costs_at_levels(matrix.shape[1])
        return program.with_rows(costs, needed)

    def _limits(self, columns: int) -> tuple[FloatArray, FloatArray]:
        lower, upper = np.zeros(columns), np.full(columns, INFINITY)
        least, most = np.zeros((self.rows.count, self.width)), np.ones((self.rows.count, self.width))
        most[:, [0, -1]] = INFINITY
        most[self.rows.of_entry, 0] = most[self.rows.of_entry, -1] = 0.0
        # Zero is a level: what is never below it has all parts up to there.
        most[self.rows.is_nonnegative, 0] = 0.0
        least[self.rows.is_nonnegative, 1 : 1 + int(np.searchsorted(self.levels, 0.0))] = 1.0
        lower[: least.size], upper[: most.size] = least.ravel(), most.ravel()
        others = slice(least.size, least.size + self.rows.worth_of_others.size)
        lower[others], upper[others] = self.rows.limits_of_others
        return lower, upper

    def _costs_at_levels(self, columns: int) -> tuple[SparseMatrix, FloatArray]:
        """Parts of a price above a cost are covered by multipliers, and what is missing below it too."""
        rows, width = self.rows, self.width
        at = np.abs(rows.cost[:, None] - self.levels[None, :])
        chosen = np.flatnonzero(at.min(axis=1) <= TUNING.levels_apart)
        level = at.argmin(axis=1)[chosen]
        place = rows.single[chosen, None] * width + np.arange(width)
        is_above = np.arange(width)[None, :] > level[:, None]
        number = np.broadcast_to(np.arange(chosen.size)[:, None], place.shape)
        shape = chosen.size, rows.count * width
        above, below = (
            sp.csr_array((np.broadcast_to(self._size, place.shape)[part], (number[part], place[part])), shape)
            for part in (is_above, ~is_above)
        )
        rest = sp.csr_array((chosen.size, columns - shape[1] - rows.others.shape[1]))
        matrix = sp.vstack(
            [
                sp.hstack([-above, rows.above[chosen, :], rest]),
                sp.hstack([below, rows.below[chosen, :], rest]),
            ]
        )
        missing = self.levels[level] - self.levels[0]
        return sp.csr_array(matrix), np.concatenate([np.zeros(chosen.size), missing])

    def line(self, above: LinesAbove, cut: Cut) -> tuple[FloatArray, float]:
        """Weights of the columns and constant of a line above what duals are worth at nearer points."""
        at_levels, beside = self._highest(above, np.array([cut.kappa]), cut.plane)
        split = np.outer(self.rows.worth, self._size)
        np.add.at(split[:, 1:-1], self.rows.of_entry, np.diff(at_levels[0], axis=0).T)
        rest = np.zeros(self.program.shape[1] - split.size - self.rows.worth_of_others.size)
        weights = np.concatenate([split.ravel(), self.rows.worth_of_others, rest])
        base = float(self.rows.worth.sum()) * float(self.levels[0])
        return weights, float(beside[0] + at_levels[0, 0].sum()) + base

    def said(
        self, above: LinesAbove, columns: FloatArray, kappas: FloatArray, plane: Plane | None
    ) -> FloatArray:
        """What the lines at several kappas say of a dual."""
        at_levels, beside = self._highest(above, kappas, plane)
        on_chords = self._on_chords(columns, at_levels).sum(axis=1)
        return np.asarray(on_chords + beside + self.constant(columns))

    def chord_losses(self, above: LinesAbove, columns: FloatArray, cut: Cut) -> FloatArray:
        """How much more the chords of a line say of each entry's price than there is."""
        at_levels, _ = self._highest(above, np.array([cut.kappa]), cut.plane)
        prices = self.prices(columns)[self.rows.of_entry]
        base = 0.0 if cut.plane is None else cut.plane[1]
        said = self._on_chords(columns, at_levels)[0]
        return np.asarray(said - above.highest(prices - base, np.array(cut.kappa)))

    def _highest(
        self, above: LinesAbove, kappas: FloatArray, plane: Plane | None
    ) -> tuple[FloatArray, FloatArray]:
        """For each kappa, what each entry adds at each level, and what the rest of the line is."""
        base = np.zeros(self.rows.of_entry.size) if plane is None else plane[1]
        at_levels = above.highest(self.levels[:, None] - base, kappas[:, None, None])
        beside = 0.0 if plane is None else above.core.value_upper - plane[0]
        return at_levels, kappas * (above.objective - above.core.constant) + beside

    def _on_chords(self, columns: FloatArray, at_levels: FloatArray) -> FloatArray:
        """What each entry adds on the chords from level to level, for each kappa."""
        parts = self.split(columns)[self.rows.of_entry, 1:-1]
        return np.asarray(at_levels[:, 0, :] + np.einsum("ik,gki->gi", parts, np.diff(at_levels, axis=1)))

    def with_level(self, level: float) -> "PriceLevels":
        """With one more level."""
        return replace(self, levels=np.unique(np.append(self.levels, level)))

    def split(self, columns: FloatArray) -> FloatArray:
        """The parts of each price, one row each."""
        return columns[: self.rows.count * self.width].reshape(self.rows.count, self.width)

    def prices(self, columns: FloatArray) -> FloatArray:
        """The prices themselves."""
        return np.asarray(self.levels[0] + self.split(columns) @ self._size)

    def constant(self, columns: FloatArray) -> float:
        """What the dual is worth at a parameter of zero."""
        others = self.rows.worth_of_others @ self.others(columns)
        return float(self.rows.worth @ self.prices(columns) + others)

    @property
    def _first_other(self) -> int:
        return self.rows.count * self.width

    def others(self, columns: FloatArray) -> FloatArray:
        """The other multipliers."""
        return columns[self._first_other : self._first_other + self.rows.worth_of_others.size]

    def limits_of(self, conditions: Conditions) -> tuple[FloatArray, FloatArray]:
        """Bounds of the columns where some prices are on one side of a level, and some others vanish."""
        lower, upper = self.program.column_lower.copy(), self.program.column_upper.copy()
        for each in conditions:
            if isinstance(each, Zero):
                upper[self._first_other + each.other] = 0.0
                continue
            first = each.price * self.width
            level = int(np.searchsorted(self.levels, each.level))
            if each.is_above:
                lower[first + 1 : first + 1 + level] = 1.0
                upper[first] = 0.0
            else:
                upper[first + 1 + level : first + self.width] = 0.0
        return lower, upper
