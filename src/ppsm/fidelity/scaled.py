"""Problem (5) of the paper in scaled arrays, minimising: what bounds and searches work on.

Quantities are divided by a typical size of the follower's data and costs by the largest cost, so that the
solvers' absolute tolerances mean the same whatever units the user works in. :class:`ScaledFollower` is the
market, :class:`Core` one problem on it; bounds that rows say already are taken away first.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.kkt import Multipliers, multipliers_of
from ppsm.fidelity.problem import Bands, HalfSpaces, MeasuredTotals, Norm, PublicBounds
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.qp import SlicedMatrix

# A sparse matrix that columns are taken from.
ColumnMatrix: TypeAlias = sp.csc_array[Any]


@dataclass(frozen=True, eq=False)
class ScaledFollower:
    """``V(d) = min cost' x`` in scaled units, with one multiplier for each finite side of a row or column.

    A user's quantity is ``quantity_unit`` times the one here, a price ``price_unit`` times, a value the
    product. The program is without bounds of columns that follow from others; ``known_bounds`` has them.
    Half-spaces of the parameter are the last ``half_spaces`` rows of ``program``: whoever chooses a parameter
    has to heed them, but they are no business of the follower's and have no multiplier.
    """

    program: LinearProgram
    parameter_map: SparseMatrix
    sides: Multipliers
    quantity_unit: float
    price_unit: float
    known_bounds: tuple[FloatArray, FloatArray]
    half_spaces: int = 0

    @classmethod
    def of(
        cls, program: LinearProgram, parameter_map: SparseMatrix, half_spaces: HalfSpaces | None = None
    ) -> Self:
        """Scale a follower."""
        sizes = program.bound_sizes
        quantity = float(np.median(sizes)) if sizes.size else 1.0
        price = float(np.abs(program.cost).max(initial=0.0)) or 1.0
        scaled = replace(
            program,
            cost=program.cost / price,
            row_lower=program.row_lower / quantity,
            row_upper=program.row_upper / quantity,
            column_lower=program.column_lower / quantity,
            column_upper=program.column_upper / quantity,
            offset=0.0,
        )
        known = scaled.column_lower, scaled.column_upper
        lean = without_redundant_bounds(scaled, parameter_map)
        sides = multipliers_of(lean)
        if half_spaces is None:
            return cls(lean, parameter_map, sides, quantity, price, known)
        # A row is ``answer's part - map d >= bound``: weights enter the map with the other sign.
        count = half_spaces.least.size
        none = sp.csr_array((count, program.shape[1]))
        whole = lean.with_rows(none, lower=half_spaces.least / quantity)
        extended = sp.vstack([parameter_map, sp.csr_array(-half_spaces.weights)], format="csr")
        return cls(whole, sp.csr_array(extended), sides, quantity, price, known, count)

    @cached_property
    def market(self) -> LinearProgram:
        """The follower's own rows."""
        kept = np.arange(self.program.shape[0] - self.half_spaces)
        return self.program.part(kept, np.arange(self.program.shape[1])) if self.half_spaces else self.program

    @property
    def market_map(self) -> SparseMatrix:
        """What the parameter adds to those."""
        return self.parameter_map[: self.program.shape[0] - self.half_spaces, :]

    @property
    def half_space_rows(self) -> tuple[SparseMatrix, FloatArray]:
        """Weights of the half-spaces and their limits, scaled."""
        first = self.program.shape[0] - self.half_spaces
        return -self.parameter_map[first:, :], self.program.row_lower[first:]

    @property
    def value_unit(self) -> float:
        """What a scaled value of 1 is worth."""
        return self.quantity_unit * self.price_unit

    @cached_property
    def transposed_map(self) -> SparseMatrix:
        """Turns row prices into prices of the parameter's entries."""
        return self.parameter_map.T.tocsr()

    @cached_property
    def free_parameter_matrix(self) -> SparseMatrix:
        """The rows over (answer, parameter), and the cost as one more row."""
        none = sp.csr_array((1, self.parameter_map.shape[1]))
        cost = sp.hstack([sp.csr_array(self.program.cost[None, :]), none])
        rows = sp.hstack([self.program.matrix, -self.parameter_map])
        return sp.csr_array(sp.vstack([rows, cost]))

    @cached_property
    def free_parameter_slices(self) -> SlicedMatrix:
        """The same matrix, cut for QPs."""
        return SlicedMatrix(self.free_parameter_matrix)

    @cached_property
    def _row_prices(self) -> SparseMatrix:
        """Turns the sides' multipliers into prices of rows."""
        return self._placed(self.sides.is_row, self.program.shape[0])

    @cached_property
    def stationarity(self) -> ColumnMatrix:
        """Of the sides' multipliers, what has to be the cost."""
        return sp.csc_array(
            self.program.matrix.T @ self._row_prices + self._placed(~self.sides.is_row, self.program.shape[1])
        )

    @cached_property
    def entry_prices(self) -> ColumnMatrix:
        """Turns the sides' multipliers into prices of the parameter's entries."""
        return sp.csc_array(self.transposed_map @ self._row_prices)

    def _placed(self, which: BoolArray, height: int) -> SparseMatrix:
        """The sign of each chosen side, in the row of what it bounds."""
        chosen = np.flatnonzero(which)
        where = self.sides.index[chosen], chosen
        return sp.csr_array((self.sides.sign[chosen], where), shape=(height, self.sides.count))

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
        signed = sides.net(prices, reduced_costs)
        return np.where(sides.is_free, signed, np.maximum(0.0, sides.sign * signed))

    def slacks(self, columns: FloatArray, shift: FloatArray) -> FloatArray:
        """The slack of every side at an answer, with the rows moved by ``shift``; zero for equalities."""
        sides = self.sides
        bounded = sides.net(self.program.matrix @ columns - shift, columns)
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


@dataclass(frozen=True, eq=False)
class TotalTerms:
    """``curvature (sum d - target)^2 + weight |sum d - target|`` of each zone: measured totals.

    ``members`` has a row for each zone, with 1 for its entries.
    """

    members: FloatArray
    targets: FloatArray
    curvature: float
    weight: float

    def off(self, parameter: FloatArray) -> FloatArray:
        """How far the sums are off their targets."""
        return np.asarray(self.members @ parameter - self.targets)

    def of(self, parameter: FloatArray) -> float:
        """What they are worth at a parameter vector."""
        off = self.off(parameter)
        return float((self.curvature * off**2 + self.weight * np.abs(off)).sum())


@dataclass(frozen=True, eq=False)
class Core:
    """``min sum curvature e^2 + slope e + weight |e| + constant + totals``, faithful ``d = reference + e``.

    Faithful: ``lower <= d <= upper``, ``value_lower <= V(d) <= value_upper`` and some optimal dual of V(d)
    has prices in ``[price_lower, price_upper]``; infinite limits mean that nothing is asked.
    """

    follower: ScaledFollower
    reference: FloatArray
    curvature: FloatArray
    slope: FloatArray
    weight: FloatArray
    constant: float
    lower: FloatArray
    upper: FloatArray
    value_lower: float
    value_upper: float
    price_lower: FloatArray
    price_upper: FloatArray
    totals: TotalTerms | None = None

    @property
    def has_value_band(self) -> bool:
        """Whether the value is limited."""
        return bool(np.isfinite(self.value_lower) or np.isfinite(self.value_upper))

    @cached_property
    def has_price_band(self) -> bool:
        """Whether any price is limited."""
        return bool(np.isfinite(self.price_lower).any() or np.isfinite(self.price_upper).any())

    @cached_property
    def has_bounded_prices(self) -> bool:
        """Whether every price is limited on both sides."""
        return bool(np.isfinite(self.price_lower).all() and np.isfinite(self.price_upper).all())

    @cached_property
    def is_least_squares(self) -> bool:
        """Whether the distance is a weighted sum of squares around the reference, as in the paper."""
        separable = self.totals is None and not self.slope.any() and not self.weight.any()
        return bool(separable and (self.curvature > 0).all())

    @cached_property
    def is_sum_of_sizes(self) -> bool:
        """Whether the distance is a weighted sum of sizes of moves from the reference: l1 without more."""
        separable = self.totals is None and not self.slope.any() and not self.curvature.any()
        return bool(separable and (self.weight > 0).all())

    @property
    def in_squares(self) -> "Core":
        """The same bands with the sum of squares for a distance."""
        nothing, one = np.zeros_like(self.reference), np.ones_like(self.reference)
        return replace(self, curvature=one, slope=nothing, weight=nothing, constant=0.0, totals=None)

    @cached_property
    def shift(self) -> FloatArray:
        """What the reference adds to the rows' right-hand sides."""
        return np.asarray(self.follower.parameter_map @ self.reference)

    def rows_at(self, parameter: FloatArray) -> FloatArray:
        """What a parameter vector adds to the rows' right-hand sides."""
        return np.asarray(self.follower.parameter_map @ parameter)

    def objective(self, parameter: FloatArray) -> float:
        """The distance of a parameter vector."""
        move = parameter - self.reference
        terms = self.curvature * move**2 + self.slope * move + self.weight * np.abs(move)
        return (
            float(terms.sum()) + self.constant + (0.0 if self.totals is None else self.totals.of(parameter))
        )

    def held_at(self, parameter: FloatArray) -> IntArray:
        """Which entries sit at a public bound: -1 at the lower, 1 at the upper, 0 at none."""
        near = TUNING.at_bound
        at_upper, at_lower = self.upper - parameter < near, parameter - self.lower < near
        return at_upper.astype(np.int64) - at_lower.astype(np.int64)

    def snapped(self, parameter: FloatArray) -> FloatArray:
        """The reference itself, within bounds, where an interior-point answer is nothing but that."""
        clipped = np.clip(self.reference, self.lower, self.upper)
        return clipped if np.abs(parameter - clipped).max(initial=0.0) < TUNING.unmoved else parameter

    @cached_property
    def least(self) -> float:
        """The distance of the nearest vector within the public bounds: no faithful one is nearer.

        Without what measured totals add, which is never negative.
        """
        centre = self.reference
        if self.slope.any():
            # w |e| + k e^2 + s e is convex in each e: zero, or the stationary point on either side, clipped.
            curved = np.where(self.curvature > 0, self.curvature, 1.0)
            stationary = (
                -np.sign(self.slope) * np.maximum(0.0, np.abs(self.slope) - self.weight) / (2 * curved)
            )
            centre = centre + np.where(self.curvature > 0, stationary, 0.0)
        return replace(self, totals=None).objective(np.clip(centre, self.lower, self.upper))

    @cached_property
    def negligible(self) -> float:
        """An objective below this is rounding."""
        move = TUNING.negligible_move
        return float(move**2 * (self.curvature.sum() + 1.0) + move * self.weight.sum())


def build_core(
    follower: ScaledFollower,
    sign: float,
    offset: float,
    released: FloatArray,
    bands: Bands,
    bounds: PublicBounds,
    norm: Norm,
    prior: tuple[FloatArray, FloatArray] | None,
    totals: MeasuredTotals | None = None,
) -> Core:
    """Scale a problem, turn it into a minimisation, and complete the square of its distance.

    With quantities in units of q the l2 distance is ``q^2`` times the scaled one, the l1 distance ``q``
    times.
    """
    quantity, count = follower.quantity_unit, released.size
    start = released / quantity
    weight = np.full(count, 1.0 if norm == "l1" else 0.0)
    curvature = np.full(count, 1.0 if norm == "l2" else 0.0)
    slope, constant, reference = np.zeros(count), 0.0, start
    if prior is not None:
        mean = prior[0] / quantity
        strength = prior[1] if norm == "l2" else prior[1] * quantity
        if norm == "l2":
            # (d - s)^2 + k (d - m)^2 = (1 + k) (d - r)^2 + constant,  r = (s + k m) / (1 + k)
            curvature = 1.0 + strength
            reference = (start + strength * mean) / curvature
            constant = float((strength / curvature * (start - mean) ** 2).sum())
        else:
            curvature, slope = strength, 2.0 * strength * (start - mean)
            constant = float((strength * (start - mean) ** 2).sum())
    value_limits = (-INFINITY, INFINITY)
    if bands.value is not None:
        middle = sign * bands.value - offset
        value_limits = (
            (middle - bands.value_width) / follower.value_unit,
            (middle + bands.value_width) / follower.value_unit,
        )
    price_limits = np.full(count, -INFINITY), np.full(count, INFINITY)
    if bands.prices is not None and bands.price_width is not None:
        centre = sign * bands.prices
        price_limits = (
            (centre - bands.price_width) / follower.price_unit,
            (centre + bands.price_width) / follower.price_unit,
        )
    return Core(
        follower=follower,
        reference=reference,
        curvature=curvature,
        slope=slope,
        weight=weight,
        constant=constant,
        lower=bounds.lower / quantity,
        upper=bounds.upper / quantity,
        value_lower=value_limits[0],
        value_upper=value_limits[1],
        price_lower=price_limits[0],
        price_upper=price_limits[1],
        totals=None if totals is None else _total_terms(totals, norm, quantity),
    )


def _total_terms(totals: MeasuredTotals, norm: Norm, quantity: float) -> TotalTerms:
    targets, ratio = totals.values / quantity, totals.ratio
    curvature, weight = (ratio**2, 0.0) if norm == "l2" else (0.0, ratio)
    return TotalTerms(totals.members, targets, curvature, weight)


# A bound of a column: (column, whether it is the upper one).
Bound = tuple[int, bool]


def without_redundant_bounds(program: LinearProgram, parameter_map: SparseMatrix) -> LinearProgram:
    """The same program without bounds of columns that its rows say already.

    Along a pipe pressure falls, so that where the first junction may have at most 60 bar no other one needs a
    limit of 60 bar; what leaves a junction cannot be negative if nothing that arrives there is. A multiplier
    of such a bound can as well be one of the rows and bounds that it follows from, and duals that say the
    same in many ways are what a search over sides drowns in. Prices stay as they are as long as the parameter
    enters none of these rows; so only rows without it are looked at.
    """
    lengths = np.diff(program.matrix.indptr)
    usable = (np.diff(parameter_map.indptr) == 0) & (lengths > 1) & (lengths <= TUNING.longest_forcing_row)
    taken = _Taken(program)
    for row in np.flatnonzero(usable & _may_imply(program)).tolist():
        for sign in (1.0, -1.0):
            taken.look_at(row, sign)
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    for column, is_upper in taken.rests_on:
        (upper if is_upper else lower)[column] = INFINITY if is_upper else -INFINITY
    return replace(program, column_lower=lower, column_upper=upper)


def _may_imply(program: LinearProgram) -> BoolArray:
    """The rows in which, on one side, at most one column is without a bound."""
    matrix = program.matrix.tocoo()
    found = np.zeros(program.shape[0], dtype=np.bool_)
    for sign, needed in ((1.0, program.row_lower), (-1.0, -program.row_upper)):
        best = np.where(
            sign * matrix.data > 0, program.column_upper[matrix.col], program.column_lower[matrix.col]
        )
        is_open = np.bincount(matrix.row, ~np.isfinite(best), program.shape[0])
        found |= (is_open <= 1) & np.isfinite(needed)
    return found


@dataclass(eq=False)
class _Taken:
    """The bounds that were taken away, each with the bounds that it follows from, never in a circle."""

    program: LinearProgram
    rests_on: dict[Bound, list[Bound]] = field(default_factory=dict)
    _supports: defaultdict[Bound, list[Bound]] = field(default_factory=lambda: defaultdict(list))

    def look_at(self, row: int, sign: float) -> None:
        """Take away what follows from ``sign`` times a row being at least its lower end."""
        program = self.program
        needed = float(program.row_lower[row] if sign > 0 else -program.row_upper[row])
        start, end = program.matrix.indptr[row], program.matrix.indptr[row + 1]
        columns, factors = program.matrix.indices[start:end], sign * program.matrix.data[start:end]
        if not np.isfinite(needed):
            return
        bounds = [(int(column), bool(factor > 0)) for column, factor in zip(columns, factors, strict=True)]
        most = factors * np.array([self._value(bound) for bound in bounds])
        for k in range(columns.size):
            # factor x >= needed - what the others are at most
            others = float(np.delete(most, k).sum())
            asked = (int(columns[k]), bool(factors[k] < 0))
            own = self._value(asked)
            if np.isfinite(others) and np.isfinite(own) and needed - others >= factors[k] * own:
                self._take(asked, [bound for at, bound in enumerate(bounds) if at != k])

    def _value(self, bound: Bound) -> float:
        column, is_upper = bound
        return float((self.program.column_upper if is_upper else self.program.column_lower)[column])

    def _take(self, bound: Bound, follows_from: list[Bound]) -> None:
        column = bound[0]
        is_fixed = self.program.column_lower[column] == self.program.column_upper[column]
        if bound in self.rests_on or is_fixed or self._rest_on(follows_from, bound):
            return
        self.rests_on[bound] = follows_from
        for one in follows_from:
            self._supports[one].append(bound)

    def _rest_on(self, bounds: list[Bound], on: Bound) -> bool:
        """Whether one of these bounds follows from another, perhaps by several steps."""
        if on not in self._supports:
            return on in bounds
        seen, left = set(bounds), list(bounds)
        while left:
            one = left.pop()
            if one == on:
                return True
            new = [other for other in self.rests_on.get(one, ()) if other not in seen]
            seen.update(new)
            left += new
        return False
