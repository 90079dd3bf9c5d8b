"""The gas network as areas of one price: what is left of it where pressures do not bind.

Flows have known directions and cost nothing. A junction without supply of its own that takes all its gas from
one other junction has that junction's price, so that both are one **area** (146 junctions of the Northeast
case are 31 areas, whatever is burned). Between areas an arc from u to v says ``y_v <= y_u`` unless it is
full, and ``y_v >= y_u`` while gas flows.

In such a network (a minimum-cost flow, whose value is supermodular in the withdrawals) all prices rise with
every withdrawal: the prices of two burns hold those of all burns between them.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.cases.entities import upstream_downstream
from ppsm.cases.schema import Case
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class GasAreas:
    """Areas of a case's gas network with the arcs and supplies between and in them.

    ``of_junction`` is -1 for junctions that no gas can reach; ``pack_mwh`` is the line pack of all junctions.
    """

    count: int
    of_junction: IntArray
    upstream: IntArray
    downstream: IntArray
    capacity_mwh: FloatArray
    supply_area: IntArray
    supply_mwh: FloatArray
    supply_usd_per_mwh: FloatArray
    pack_mwh: float

    @classmethod
    def of(cls, case: Case, gives: BoolArray) -> "GasAreas":
        """Contract a case's network; junctions that give gas (a negative withdrawal) stay by themselves."""
        names = {row.junction: number for number, row in enumerate(case.junctions)}
        arcs = [
            (names[up], names[down], row.capacity_mwh)
            for rows in (case.pipes, case.compressors, case.regulators)
            for row in rows
            for up, down in (upstream_downstream(row),)
        ]
        own = gives.copy()
        own[[names[bid.junction] for bid in case.supplies]] = True
        master = _contracted(len(names), arcs, own)
        kept = np.unique(master[master >= 0])
        of_junction = np.where(master >= 0, np.searchsorted(kept, master), -1)
        between = {
            (int(of_junction[up]), int(of_junction[down]), capacity, number if math.isfinite(capacity) else 0)
            for number, (up, down, capacity) in enumerate(arcs)
            if of_junction[up] >= 0 and of_junction[up] != of_junction[down]
        }
        ordered = sorted(between)
        return cls(
            count=kept.size,
            of_junction=of_junction,
            upstream=np.array([arc[0] for arc in ordered], dtype=np.int64),
            downstream=np.array([arc[1] for arc in ordered], dtype=np.int64),
            capacity_mwh=np.array([arc[2] for arc in ordered]),
            supply_area=of_junction[[names[bid.junction] for bid in case.supplies]],
            supply_mwh=np.array([bid.size_mwh for bid in case.supplies]),
            supply_usd_per_mwh=np.array([bid.price_usd_per_mwh for bid in case.supplies]),
            pack_mwh=float(sum(row.pack_mwh for row in case.junctions)),
        )

    @property
    def is_free(self) -> BoolArray:
        """Arcs without a capacity."""
        return np.isinf(self.capacity_mwh)

    def gathered(self, withdrawal_mwh: FloatArray) -> FloatArray | None:
        """Withdrawals by area; None where one is from a junction that no gas can reach."""
        reached = self.of_junction >= 0
        if withdrawal_mwh[~reached].any():
            return None
        return np.asarray(
            np.bincount(self.of_junction[reached], withdrawal_mwh[reached], self.count), dtype=np.float64
        )

    def balance(self) -> SparseMatrix:
        """Supplies, flows and what is packed (columns) as they enter the balance of each area (rows)."""
        supplies, arcs = self.supply_area.size, self.upstream.size
        rows = np.concatenate([self.supply_area, self.downstream, self.upstream, np.arange(self.count)])
        flows = supplies + np.arange(arcs)
        columns = np.concatenate([np.arange(supplies), flows, flows, supplies + arcs + np.arange(self.count)])
        values = np.concatenate([np.ones(supplies + arcs), -np.ones(arcs + self.count)])
        return sp.csr_array((values, (rows, columns)), shape=(self.count, self.width))

    @property
    def width(self) -> int:
        """Number of columns: supplies, flows, what is packed."""
        return int(self.supply_area.size + self.upstream.size + self.count)

    def upper_mwh(self) -> FloatArray:
        """Upper bounds of these columns."""
        pack = np.full(self.count, self.pack_mwh)
        return np.concatenate([self.supply_mwh, self.capacity_mwh, pack])

    def by_area(self, prices_usd_per_mwh: FloatArray) -> FloatArray:
        """Prices by junction as prices by area, also where no gas is taken."""
        reached = self.of_junction >= 0
        found = np.zeros(self.count)
        found[self.of_junction[reached]] = prices_usd_per_mwh[reached]
        return self.where_gas_is_taken(found)

    def where_gas_is_taken(self, price_usd_per_mwh: FloatArray) -> FloatArray:
        """Prices, where nothing is taken and there is none: that of where gas would come from."""
        found = price_usd_per_mwh.copy()
        for _ in range(self.count):
            none = found[self.downstream] <= 0.0
            offered = np.zeros(self.count)
            np.maximum.at(offered, self.downstream[none], found[self.upstream[none]])
            if not (offered > found).any():
                break
            found = np.maximum(found, offered)
        return found

    def limits_at(self, price_usd_per_mwh: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of these columns at which prices by area are optimal: what is cheaper is taken in full.

        Prices that differ by less than rounding are equal.
        """
        near = TUNING.price_rounding * float(np.abs(price_usd_per_mwh).max(initial=0.0))
        there = price_usd_per_mwh[self.supply_area]
        rise = price_usd_per_mwh[self.downstream] - price_usd_per_mwh[self.upstream]
        worth = np.concatenate([there - self.supply_usd_per_mwh, rise, -price_usd_per_mwh])
        upper = self.upper_mwh()
        full = (worth > near) & np.isfinite(upper)
        return np.where(full, upper, 0.0), np.where(worth < -near, 0.0, upper)


def _contracted(count: int, arcs: list[tuple[int, int, float]], own: BoolArray) -> IntArray:
    """The junction whose price each junction has; -1 where no gas comes from anywhere."""
    master = np.arange(count)
    changed = True
    while changed:
        changed = False
        sources: list[set[int]] = [set() for _ in range(count)]
        limited = np.zeros(count, dtype=bool)
        for up, down, capacity in arcs:
            first, last = master[up], master[down]
            if first >= 0 and last >= 0 and first != last:
                sources[last].add(int(first))
                limited[last] |= math.isfinite(capacity)
        for junction in np.unique(master[master >= 0]):
            if own[junction] or limited[junction] or len(sources[junction]) > 1:
                continue
            into = next(iter(sources[junction]), -1)
            if into >= 0 and master[into] != into:  # merged itself in this round: next time
                continue
            master[master == junction] = into
            changed = True
    return master


class AreaMarket:
    """GM of areas, alive in HiGHS: the least prices at withdrawals."""

    def __init__(self, areas: GasAreas) -> None:
        self.areas = areas
        cost = np.zeros(areas.width)
        cost[: areas.supply_area.size] = areas.supply_usd_per_mwh
        zero = np.zeros(areas.count)
        self._live = PersistentLp(
            LinearProgram.of(
                cost,
                areas.balance(),
                row_lower=zero,
                row_upper=zero,
                column_lower=np.zeros(areas.width),
                column_upper=areas.upper_mwh(),
            )
        )

    def least_prices(self, withdrawal_mwh: FloatArray) -> FloatArray | None:
        """Of all optimal price vectors the least (they are a lattice); None where nothing can serve.

        An area costs at least what it uses, and what those cost that send it gas or could take some from it.
        """
        self._live.set_row_bounds(np.arange(self.areas.count), withdrawal_mwh, withdrawal_mwh)
        solution = self._live.solve()
        if solution.status is not Status.PROVEN_OPTIMAL:
            return None
        areas, supplies = self.areas, self.areas.supply_area.size
        flow = solution.columns[supplies : supplies + areas.upstream.size]
        used = solution.columns[:supplies] > TUNING.small_mwh
        prices = np.zeros(areas.count)
        np.maximum.at(prices, areas.supply_area[used], areas.supply_usd_per_mwh[used])
        flows = flow > TUNING.small_mwh
        open_ = flow < areas.capacity_mwh - TUNING.small_mwh
        at_least = np.concatenate([areas.downstream[flows], areas.upstream[open_]])
        as_much_as = np.concatenate([areas.upstream[flows], areas.downstream[open_]])
        for _ in range(areas.count):
            before = prices.copy()
            np.maximum.at(prices, at_least, prices[as_much_as])
            if np.array_equal(before, prices):
                break
        return prices
