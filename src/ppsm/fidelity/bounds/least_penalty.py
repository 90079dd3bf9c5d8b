"""The least penalty at which a faithful point is optimal: a proof from LPs, where a good point is known.

The primal-dual relaxation (:mod:`ppsm.fidelity.bounds.primal_dual`) is one QP for each penalty. Where the
optimum ``(x, e)`` is known already, all that is left of its optimality conditions is linear: a dual ``m`` in
the band and multipliers ``n`` of the relaxation, both in units of the penalty and both zero wherever the
point is slack, with

    S m = c,    S n = (1 - k) c,    low <= Y m <= high,    Y m - Y n + b = 2 w e t,    t = 1 / penalty

(``S`` stationarity, ``Y`` prices of sides, ``k`` the value band's multiplier, ``b`` those of public bounds).
One LP finds the largest ``t``, hence the least chords. The tangent of the relaxation at its move and prices
splits into a part over answers and parameters, which ``n`` bounds by weak duality, and one over duals, which
is an LP: together they prove a bound whatever the pair. A side that a node holds tight has a multiplier ``n``
of any sign: the sides whose sign keeps ``t`` from growing are those to decide.

Points come from interior-point methods: ``Y m - Y n + b`` may miss a little of ``2 w e t`` (what that costs
is quadratic), and a slack just above zero counts as none (what it costs is in the bound).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.bounds.convex import RelaxedPoint
from ppsm.fidelity.follower_lps import FollowerLps
from ppsm.fidelity.scaled import ColumnMatrix, Core, ScaledFollower
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp


@dataclass(frozen=True, eq=False)
class Tangent:
    """A minorant of the penalised relaxation: affine in answers and moves, and those bounded by multipliers.

    ``constant`` is what is proven but for the duals, ``weight`` the parameter at which their worth counts,
    ``loss`` what chords cost. ``pulls`` are the sides whose sign keeps the penalty from being smaller, worst
    first.
    """

    penalty: float
    weight: FloatArray
    constant: float
    loss: float
    pulls: IntArray

    def bound(self, core: Core, lps: FollowerLps, zero: IntArray) -> float:
        """A lower bound where some multipliers are zero; infinite where the band holds no such dual."""
        best = lps.dual(core.rows_at(self.weight), zero, probing=True)
        return INFINITY if best is None else self.constant - self.penalty * best.value


class OptimalityMatrix:
    """What the LPs of all points of a follower share: columns m, n, k, then b and misses of each entry."""

    def __init__(self, follower: ScaledFollower) -> None:
        stationarity, prices = follower.stationarity, follower.entry_prices
        entries, self._sides = prices.shape
        each = sp.eye_array(entries)
        blocks: list[list[Any]] = [
            [stationarity, None, None, None, None, None],
            [None, stationarity, sp.csr_array(follower.program.cost[:, None]), None, None, None],
            [prices, -prices, None, each, each, -each],
            [prices, None, None, None, None, None],
        ]
        self._whole = sp.csc_array(sp.block_array(blocks))
        self._entries, self._moves_from = entries, 2 * stationarity.shape[0]

    def part(self, active: IntArray, held: IntArray, moves: FloatArray) -> ColumnMatrix:
        """The columns of active sides and held entries, all misses, and last the moves'."""
        after = 2 * self._sides + 1
        misses = after + self._entries + np.arange(2 * self._entries)
        chosen = np.concatenate([active, self._sides + active, [after - 1], after + held, misses])
        kept = self._whole[:, chosen]
        rows = self._moves_from + np.arange(self._entries)
        last = kept.indptr[-1] + moves.size
        return sp.csc_array(
            (
                np.concatenate([kept.data, moves]),
                np.concatenate([kept.indices, rows]),
                np.append(kept.indptr, last),
            ),
            shape=(kept.shape[0], kept.shape[1] + 1),
        )


class LeastPenalty:
    """The LP of one least-squares problem with bounded prices, at one faithful point."""

    def __init__(self, core: Core, matrix: OptimalityMatrix, point: RelaxedPoint) -> None:
        self._core, self._matrix, self.point = core, matrix, point
        self._move = point.parameter - core.reference
        self._size = float(np.abs(core.curvature * self._move).max(initial=TUNING.least_objective))
        sides = core.follower.sides
        slacks = core.follower.slacks(point.columns, core.rows_at(point.parameter))
        self._active = np.flatnonzero(slacks <= TUNING.still_active)
        self._is_free = sides.is_free[self._active]
        self._entry_prices = core.follower.entry_prices[:, self._active]
        self._stationarity = core.follower.stationarity[:, self._active]
        at_bound = core.held_at(point.parameter)
        self._held = np.flatnonzero(at_bound)
        self._held_at = at_bound[self._held]
        self._lp = PersistentLp(self._program(float(core.follower.program.cost @ point.columns)))

    def _program(self, value: float) -> LinearProgram:
        """Columns: m and n of active sides, k, b of held entries, what each entry misses, and t."""
        core, sides = self._core, 2 * self._active.size
        cost, entries = core.follower.program.cost, core.reference.size
        moves = -core.curvature * self._move / self._size
        room = np.full(entries, TUNING.missed_move)
        near = TUNING.faithful * max(1.0, abs(value))
        least_value = -INFINITY if value >= core.value_upper - near else 0.0
        most_value = INFINITY if value <= core.value_lower + near else 0.0
        below = self._held_at < 0
        return LinearProgram.of(
            np.concatenate(
                [np.zeros(sides + 1 + below.size), np.full(2 * entries, TUNING.missed_move_cost), [-1.0]]
            ),
            sp.csr_array(self._matrix.part(self._active, self._held, moves)),
            row_lower=np.concatenate([cost, cost, -room, core.price_lower]),
            row_upper=np.concatenate([cost, cost, room, core.price_upper]),
            column_lower=np.concatenate(
                [*self._signs(), [least_value], np.where(below, 0.0, -INFINITY), np.zeros(2 * entries + 1)]
            ),
            column_upper=np.concatenate(
                [
                    np.full(sides, INFINITY),
                    [most_value],
                    np.where(below, INFINITY, 0.0),
                    np.full(2 * entries, INFINITY),
                    [TUNING.largest_inverse],
                ]
            ),
        )

    def _signs(self) -> tuple[FloatArray, FloatArray]:
        """The least m and n where nothing is decided."""
        least = np.where(self._is_free, -INFINITY, 0.0)
        return least, least.copy()

    def tangent(self, tight: IntArray, zero: IntArray) -> Tangent | None:
        """The minorant with the least penalty, some sides tight and some multipliers zero; None without."""
        count = self._active.size
        duals, multipliers = self._signs()
        multipliers[np.isin(self._active, tight)] = -INFINITY
        is_zero = np.isin(self._active, zero)
        duals[is_zero] = 0.0
        upper = np.concatenate([np.where(is_zero, 0.0, INFINITY), np.full(count, INFINITY)])
        self._lp.set_column_bounds(np.arange(2 * count), np.concatenate([duals, multipliers]), upper)
        solution = self._lp.solve()
        if not solution.status.has_answer:
            return None
        inverse = float(solution.columns[-1])
        if inverse <= TUNING.least_inverse:
            return None
        rates = -solution.reduced_costs[count : 2 * count]
        stuck = np.flatnonzero((np.abs(rates) > TUNING.zero_multiplier) & (multipliers == 0.0))
        pulls = self._active[stuck[np.argsort(-np.abs(rates[stuck]))]]
        return self._touching(
            2.0 * self._size / inverse,
            solution.columns[:count],
            np.maximum(multipliers, solution.columns[count : 2 * count]),
            float(solution.columns[2 * count]),
            solution.columns[2 * count + 1 : 2 * count + 1 + self._held.size],
            pulls,
        )

    def _touching(
        self,
        penalty: float,
        duals: FloatArray,
        multipliers: FloatArray,
        of_value: float,
        of_bounds: FloatArray,
        pulls: IntArray,
    ) -> Tangent:
        """The tangent at a price vector and at the moves that the multipliers of the relaxation answer to."""
        core = self._core
        low, high, curvature, reference = core.price_lower, core.price_upper, core.curvature, core.reference
        prices, offset = np.clip(self._entry_prices @ duals, low, high), self._entry_prices @ multipliers
        at_bound, pull = np.zeros(reference.size), np.zeros(reference.size)
        at_bound[self._held], pull[self._held] = self._held_at, of_bounds
        # Entries that are held strongly enough at a public bound need no chord there.
        below = (at_bound < 0) & (pull >= high - prices)
        above = (at_bound > 0) & (pull <= low - prices)
        by_chord = ~(below | above)
        slope = np.where(by_chord, prices, np.where(below, high, low))
        end = np.where(at_bound < 0, core.lower, core.upper) - reference
        move = np.where(by_chord, 0.5 * penalty * (pull - offset + prices) / curvature, end)
        middle = 0.25 * penalty * (2.0 * prices - low - high) / curvature
        weight = reference + move - np.where(by_chord, middle, 0.0)
        loss = np.where(by_chord, 0.25 * penalty**2 * (prices - low) * (high - prices) / curvature, 0.0)
        touched = curvature * move**2 - penalty * prices * (reference + move) - loss
        move_slope = 2.0 * curvature * move - penalty * slope
        constant = core.constant + float((touched - move_slope * move + penalty * weight * prices).sum())
        least = self._least(move_slope, penalty * multipliers, penalty * of_value, penalty)
        return Tangent(penalty, weight, constant + least, float(loss.sum()), pulls)

    def _least(
        self, move_slope: FloatArray, multipliers: FloatArray, of_value: float, penalty: float
    ) -> float:
        """What ``penalty c'x + move_slope'e`` is at least, by weak duality for any multipliers.

        A column without a bound has nothing left but a residual; no more is claimed than for points with at
        most ``2 |x| + 1`` there, as of QPs.
        """
        core, sides, active = self._core, self._core.follower.sides, self._active
        cost = core.follower.program.cost
        left = (penalty - of_value) * cost - self._stationarity @ multipliers
        prices = self._entry_prices @ multipliers
        moves_left = move_slope + prices
        program = core.follower.program
        limits = core.value_lower if of_value > 0 else core.value_upper
        return (
            float((sides.sign * sides.bound)[active] @ multipliers + prices @ core.reference)
            + (of_value * limits if of_value else 0.0)
            + _least_product(left, program.column_lower, program.column_upper, self.point.columns)
            + _least_product(moves_left, core.lower - core.reference, core.upper - core.reference, self._move)
        )


def _least_product(slope: FloatArray, lower: FloatArray, upper: FloatArray, near: FloatArray) -> float:
    """The least of a linear function within bounds; where there is none, up to twice as far as a point."""
    ends = np.where(slope > 0.0, lower, upper)
    reach = -np.sign(slope) * (2.0 * np.abs(near) + 1.0)
    return float(slope @ np.where(np.isfinite(ends), ends, reach))
