"""The relaxation by tangents with strong duality: one LP over answers, moves, prices and multipliers.

At a faithful point some dual in the band is worth what the answer costs, ``c'x <= g(m) + y'd``. Its only
product is that of price and move, ``y_i e_i``. The LP has a column ``v_i`` for it, which may be larger:

    v_i <= middle_i e_i + half_i t_i,    t_i >= |e_i|,    for prices within half_i of middle_i

is exact where the band has no width, and loses in all of an l1 distance no more than ``half`` times that
distance. Where moves are limited, by public bounds or because only points nearer than the incumbent are of
interest, ``(high - y)(e - least) >= 0`` and ``(y - low)(most - e) >= 0`` say more.

A side that is held tight and a multiplier that is zero tighten the same LP, so that a tree over sides gains
by either.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.fidelity.bounds.convex import DistanceLp, NearPoint
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram


class DualityLp(DistanceLp):
    """A :class:`DistanceLp` with a dual that is worth what the answer costs; every price is bounded.

    Columns after those of the distance: prices, multipliers of sides, products.
    """

    def __init__(self, core: Core, around: FloatArray, gap: float) -> None:
        self._count = core.follower.sides.count
        self._least = np.where(core.follower.sides.is_free, -INFINITY, 0.0)
        self._reach = core.lower - core.reference, core.upper - core.reference
        super().__init__(core, around, gap)
        self._limit_products()

    @property
    def _prices(self) -> int:
        """The first column of a price."""
        return self._width + self._curved.size

    @property
    def _multipliers(self) -> int:
        """The first column of a multiplier."""
        return self._prices + self._entries

    def solve_with(
        self,
        tight: IntArray,
        zero: IntArray,
        enough: float = INFINITY,
        *,
        rounds: int = TUNING.tangent_rounds,
    ) -> NearPoint | None:
        """The optimum with some sides tight and some multipliers zero; None where nothing is left."""
        most = np.full(self._count, INFINITY)
        most[zero] = 0.0
        self._lp.set_column_bounds(self._multipliers + np.arange(self._count), self._least, most)
        return self.solve(tight, enough, rounds=rounds)

    def multipliers_in(self, columns: FloatArray) -> FloatArray | None:
        """The sides' multipliers among the columns of a solution."""
        return columns[self._multipliers : self._multipliers + self._count]

    def narrow(self, objective: float) -> None:
        """Only points nearer than this are of interest from now on, which limits every move."""
        core, before = self.core, self._reach
        if core.slope.any():
            return  # one entry can win what others cost
        spare = max(0.0, objective - core.constant)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.fmin(spare / core.weight, np.sqrt(spare / core.curvature))
        reach = np.where(np.isnan(each), INFINITY, each)  # neither weight nor curvature, and nothing to spare
        now = np.maximum(before[0], -reach), np.minimum(before[1], reach)
        room = before[1] - before[0]
        if not ((now[1] - now[0]) < TUNING.narrowed_reach * room).any():
            return
        self._reach = now
        self._lp.set_column_bounds(self._answers + np.arange(self._entries), *now)
        self._limit_products()

    def _program(self) -> LinearProgram:
        """With what stationarity, strong duality and the products' chords say, in rows at the end."""
        near, follower, entries = super()._program(), self.core.follower, self._entries
        sides = follower.sides
        stationarity: SparseMatrix = sp.csr_array(
            sp.vstack(
                [
                    sp.hstack([sp.csr_array((self._answers, entries)), follower.stationarity]),
                    sp.hstack([-sp.eye_array(entries), follower.entry_prices]),
                ]
            )
        )
        worth = np.concatenate([self.core.reference, sides.sign * sides.bound, np.ones(entries)])
        cost = np.append(-follower.program.cost, np.zeros(near.shape[1] - self._answers))
        nothing = sp.csr_array((stationarity.shape[0], near.shape[1]))
        chords = self._chords()
        padded = sp.hstack([nothing, stationarity, sp.csr_array((stationarity.shape[0], entries))])
        before = sp.hstack([near.matrix, sp.csr_array((near.shape[0], worth.size))])
        strong = sp.csr_array(np.concatenate([cost, worth])[None, :])
        values, rest = np.append(follower.program.cost, np.zeros(entries)), chords.shape[0] + 1
        free = np.full(entries, INFINITY)
        return LinearProgram.of(
            np.append(near.cost, np.zeros(worth.size)),
            sp.csr_array(sp.vstack([before, padded, strong, chords])),
            row_lower=np.concatenate([near.row_lower, values, np.zeros(rest)]),
            row_upper=np.concatenate([near.row_upper, values, np.full(rest, INFINITY)]),
            column_lower=np.concatenate([near.column_lower, self.core.price_lower, self._least, -free]),
            column_upper=np.concatenate(
                [near.column_upper, self.core.price_upper, np.full(self._count, INFINITY), free]
            ),
        )

    def _chords(self) -> SparseMatrix:
        """``middle e + half t - v >= 0`` for each entry whose size counts."""
        core, weighted = self.core, np.flatnonzero(self.core.weight)
        each = np.arange(weighted.size)
        middle, half = (
            0.5 * (core.price_lower + core.price_upper),
            0.5 * (core.price_upper - core.price_lower),
        )
        places = (
            self._answers + weighted,
            self._answers + self._entries + each,
            self._multipliers + self._count + weighted,
        )
        values = np.concatenate([middle[weighted], half[weighted], -np.ones(each.size)])
        where = np.tile(each, 3), np.concatenate(places)
        width = self._multipliers + self._count + self._entries
        return sp.csr_array((values, where), shape=(each.size, width))

    def _limit_products(self) -> None:
        """What limited moves say of the products, in rows that hold from now on."""
        least, most = self._reach
        for price, end in ((self.core.price_upper, least), (self.core.price_lower, most)):
            for entry in np.flatnonzero(np.isfinite(end)).tolist():
                weights = np.zeros(self._lp.program.shape[1])
                weights[self._answers + entry] = price[entry]
                weights[self._prices + entry] = end[entry]
                weights[self._multipliers + self._count + entry] = -1.0
                self._lp.add_row(weights, float(price[entry] * end[entry]), INFINITY)
