"""How small each multiplier can be in any dual of a problem, by propagation: no LP is solved.

Every row of stationarity, and every price in its band, is an equation over multipliers that are mostly not
negative. What the others of a row can add up to leaves a range to each one of them. Ranges of one row narrow
those of the next, so that a few rounds over all rows say which multipliers are positive in every dual: their
sides are tight. An LP would be needed for each of them otherwise, and nearly all of them say yes.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.fidelity.scaled import Core
from ppsm.fidelity.tuning import TUNING


class MultiplierRanges:
    """The rows that the multipliers of a problem's duals satisfy."""

    def __init__(self, core: Core) -> None:
        follower = core.follower
        rows = sp.vstack([follower.stationarity, follower.entry_prices]).tocoo()
        self._row, self._side, self._factor = rows.row, rows.col, rows.data
        self._rows, self._count = rows.shape
        self._lower = np.append(follower.program.cost, core.price_lower)
        self._upper = np.append(follower.program.cost, core.price_upper)
        self._least = np.where(follower.sides.is_free, -INFINITY, 0.0)

    def least(self, zero: IntArray) -> FloatArray:
        """What each multiplier is at least, where some are zero."""
        least, most = self._least.copy(), np.full(self._count, INFINITY)
        most[zero] = 0.0
        for _ in range(TUNING.range_rounds):
            before = least, most
            least, most = self._narrowed(*before)
            if np.array_equal(least, before[0]) and np.array_equal(most, before[1]):
                break
        return least

    def _narrowed(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ranges after one round over all rows."""
        rises, factor = self._factor > 0.0, self._factor
        low, high = least[self._side], most[self._side]
        others_least = self._of_others(factor * np.where(rises, low, high))
        others_most = -self._of_others(-factor * np.where(rises, high, low))
        # factor times the multiplier is within these
        above, below = self._lower[self._row] - others_most, self._upper[self._row] - others_least
        new_least, new_most = np.where(rises, above, below) / factor, np.where(rises, below, above) / factor
        # A range that is very wide says nothing but rounding.
        new_least[~(np.abs(new_least) <= TUNING.widest_range)] = -INFINITY
        new_most[~(np.abs(new_most) <= TUNING.widest_range)] = INFINITY
        least, most = least.copy(), most.copy()
        np.maximum.at(least, self._side, new_least)
        np.minimum.at(most, self._side, new_most)
        return least, most

    def _of_others(self, parts: FloatArray) -> FloatArray:
        """The sum of what all others in a row are at least, for each part."""
        is_open = np.isinf(parts)
        known = np.where(is_open, 0.0, parts)
        total = np.bincount(self._row, known, self._rows)[self._row] - known
        open_others = np.bincount(self._row, is_open, self._rows)[self._row] - is_open
        return np.where(open_others > 0, -INFINITY, total)
