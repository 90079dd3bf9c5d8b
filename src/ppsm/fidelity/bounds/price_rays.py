"""Rays: directions in which duals grow for ever, and why none of them is needed where demand can be served.

Along a ray stationarity holds without costs. What a ray is worth at a parameter that can be served is zero at
most, by weak duality: where an island's supply is at its end, no price above the last cost says more of the
value. So take an optimal dual at such a parameter, of all of them one with as few positive multipliers as
possible. If all that a ray needs were positive in it, the ray could be taken away until one of them vanishes;
what is left would be worth no less and have one fewer. Hence

    of the multipliers that a ray needs at least one may be taken to vanish, for every ray at once.

Prices that may be taken to be nonnegative count as multipliers here. Without this no line refutes duals that
point at something near which cannot be served: they can be as large as they like.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.errors import SolverError
from ppsm.fidelity.bounds.price_levels import Condition, Half, PriceRows, Zero
from ppsm.fidelity.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp


class Rays:
    """The rays of a follower's duals; of a ``monotone`` one entries' prices are nonnegative."""

    def __init__(self, rows: PriceRows, *, monotone: bool) -> None:
        entries = np.zeros(rows.count, dtype=np.bool_)
        entries[rows.of_entry] = monotone
        signed = np.flatnonzero(rows.is_nonnegative | entries)
        self._places = np.concatenate([signed, rows.count + np.arange(rows.others.shape[1])])
        self._conditions: list[Condition] = [Half(int(price), 0.0, is_above=False) for price in signed]
        self._conditions += [Zero(other) for other in range(rows.others.shape[1])]
        self._stationarity = sp.csr_array(sp.hstack([rows.prices, rows.others]))
        self._others = rows.others.shape[1]
        self._lp = PersistentLp(self._program(rows))

    def _program(self, rows: PriceRows) -> LinearProgram:
        """Stationarity without costs; what has a sign adds up to 1, as much of it as possible in prices."""
        width = rows.count + rows.others.shape[1]
        has_sign = np.zeros(width)
        has_sign[self._places] = 1.0
        values = np.append(np.zeros(self._stationarity.shape[0]), 1.0)
        return LinearProgram.of(
            np.concatenate([np.zeros(rows.count), np.ones(rows.others.shape[1])]),
            sp.csr_array(sp.vstack([self._stationarity, sp.csr_array(has_sign[None, :])])),
            row_lower=values,
            row_upper=values,
            column_lower=np.where(has_sign > 0.0, 0.0, -INFINITY),
            column_upper=np.full(width, INFINITY),
        )

    def within(self, prices: FloatArray, others: FloatArray) -> list[Condition] | None:
        """What could vanish of a ray that needs no more than a dual has; None where none is known.

        The answer is a ray that was found with exactly these multipliers allowed, so that none is left out
        that is merely small.
        """
        dual = np.concatenate([prices, others[: self._others]])[self._places]
        allowed = dual > TUNING.needed_by_ray
        while True:
            self._lp.set_column_bounds(self._places, np.zeros(allowed.size), np.where(allowed, INFINITY, 0.0))
            try:
                found = self._lp.solve()
            except SolverError:
                return None
            if not found.status.has_answer or not self._is_exact(found.columns):
                return None
            needed = found.columns[self._places] > TUNING.needed_by_ray
            if (needed == allowed).all():
                return [self._conditions[place] for place in np.flatnonzero(needed)]
            allowed &= needed

    def _is_exact(self, ray: FloatArray) -> bool:
        """Whether stationarity holds to the last digits, not only within the tolerance of an LP."""
        missed = np.abs(self._stationarity @ ray)
        terms = abs(self._stationarity) @ np.abs(ray)
        return bool((missed <= TUNING.exact_ray * terms.max(initial=0.0)).all())
