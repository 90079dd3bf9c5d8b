"""Clearing GM at a demand and a burn, and the question whether valid prices exist.

"Is there an optimal price vector with ``y_j <= cap_j`` at these junctions?" is a linear program: put a
virtual supply priced at the cap at each of them. A supply at that price changes the optimum exactly when gas
is worth more there under every optimal price vector. So the answer is yes when the optimum does not improve,
and then the prices of the program with virtual supplies are optimal for the market and respect the caps.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.markets.model.gas import GasMarket
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class GasDay:
    """A cleared gas day: cost in $, prices by junction in $/MWh, and the columns of the market's program."""

    cost_usd: float
    prices_usd_per_mwh: FloatArray
    columns: FloatArray


class GasClearing:
    """The gas market of a case alive in HiGHS, with a virtual supply at every plant's junction."""

    def __init__(self, market: GasMarket) -> None:
        self.market = market
        names = [row.junction for row in market.case.junctions]
        self.plants = np.array([names.index(link.junction) for link in market.case.links], dtype=np.int64)
        self._places, self._place_of_plant = np.unique(self.plants, return_inverse=True)
        self._columns = market.program.shape[1] + np.arange(self._places.size)
        self._live = PersistentLp(_with_virtual_supplies(market, self._places))

    def clear(self, withdrawal_mwh: FloatArray, caps_usd_per_mwh: FloatArray | None = None) -> GasDay | None:
        """Clear the market; with caps by plant (inf for none), prices respect them where they can.

        None where the withdrawals cannot be served.
        """
        # A junction where nobody withdraws may have many prices: which one must not depend on earlier days.
        self._live.forget()
        day = self._solve(withdrawal_mwh, None)
        if day is None or caps_usd_per_mwh is None:
            return day
        capped = self._solve(withdrawal_mwh, self._caps_by_place(caps_usd_per_mwh))
        rounding = TUNING.virtual_improvement * max(1.0, abs(day.cost_usd))
        if capped is None or capped.cost_usd < day.cost_usd - rounding:
            return day
        return replace(capped, cost_usd=day.cost_usd, columns=day.columns)

    def _caps_by_place(self, caps: FloatArray) -> FloatArray:
        lowest = np.full(self._places.size, INFINITY)
        np.minimum.at(lowest, self._place_of_plant, caps)
        return lowest

    def _solve(self, withdrawal_mwh: FloatArray, caps: FloatArray | None) -> GasDay | None:
        count = self._places.size
        most = np.zeros(count) if caps is None else np.where(np.isfinite(caps), INFINITY, 0.0)
        cost = np.concatenate([self.market.program.cost, np.zeros(count)])
        if caps is not None:
            cost[self._columns] = np.where(np.isfinite(caps), caps, 0.0)
        self._live.set_cost(cost)
        self._live.set_column_bounds(self._columns, np.zeros(count), most)
        rows = self.market.balance_rows
        self._live.set_row_bounds(rows, withdrawal_mwh, withdrawal_mwh)
        solution = self._live.solve()
        if solution.status is not Status.PROVEN_OPTIMAL:
            return None
        return GasDay(solution.objective, solution.prices[rows], solution.columns[: self._columns[0]])


def _with_virtual_supplies(market: GasMarket, places: IntArray) -> LinearProgram:
    count = places.size
    entering = (np.ones(count), (market.balance_rows[places], np.arange(count)))
    supply = sp.csr_array(entering, shape=(market.program.shape[0], count))
    return market.program.with_columns(np.zeros(count), np.zeros(count), matrix=supply)
