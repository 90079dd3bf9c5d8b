"""Bid validity, (3c) of the paper's appendix: the constraint that lets gas prices reach the leader.

A running gas-fired unit must be paid for its fuel: heat rate x gas price at its junction may not exceed the
price of the **last selected** block of its bid. (The appendix wants that price "no larger" than the cost;
only bids that do not cover their cost would be valid then, so "no smaller" is meant.) Blocks are selected in
order and a block only after the one before is full. Let ``tau_b = price_b / heat_rate`` be the gas price that
block b covers. At the gas price y the last selected block must be one with ``tau_b >= y``, so with

    k(y) = number of blocks b with tau_b < y          (the **level** that the price asks for)

the first k(y) blocks of every running unit are full, and where k(y) is the number of blocks no unit may run.
Prices are daily, so a level holds for all hours. A cluster of identical units shares its output evenly (its
cost is convex), hence "every running unit gives its first k blocks" is ``output >= first k blocks x on``:
levels change nothing in UC but the least output of a running unit.

Conversely a plant whose running units all give at least their first k blocks may select block k+1 and then
tolerates prices up to ``tau_(k+1)``: the **cap** of level k. A solution is valid when some optimal price
vector of the gas market respects the caps of all running plants (the optimistic convention).
"""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case

# A price is above a threshold, and an output below a sum of blocks, only beyond this relative amount.
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class BidLevels:
    """Thresholds and least outputs of every gas-fired plant (links x levels).

    ``cap_usd_per_mwh[j, k]`` is the highest gas price that plant j tolerates at level k; ``least_mw[j, k]``
    is what a running unit then gives, inf at the level beyond the last block (the plant is off).
    """

    cap_usd_per_mwh: FloatArray
    least_mw: FloatArray
    blocks: IntArray

    @classmethod
    def of(cls, case: Case) -> "BidLevels":
        """Collect them from a case's bids and links."""
        fleets = {fleet.fleet: fleet for fleet in case.fleets}
        bids = [
            sorted((bid for bid in case.bids if bid.fleet == link.fleet), key=lambda bid: bid.block)
            for link in case.links
        ]
        width = 1 + max((len(mine) for mine in bids), default=0)
        caps, least = np.full((len(bids), width), np.inf), np.full((len(bids), width), np.inf)
        for row, (link, mine) in enumerate(zip(case.links, bids, strict=True)):
            fuel_mwh = link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU
            below = 0.0
            for level, bid in enumerate(mine):
                caps[row, level] = bid.price_usd_per_mwh / fuel_mwh
                least[row, level] = max(fleets[link.fleet].unit_min_mw, below)
                below += bid.size_mw
        return cls(caps, least, np.array([len(mine) for mine in bids], dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of plants."""
        return int(self.blocks.size)

    def needed(self, price_usd_per_mwh: FloatArray) -> IntArray:
        """The level that each plant's gas price asks for; the number of its blocks means off."""
        above = price_usd_per_mwh[:, None] > self.cap_usd_per_mwh * (1 + TOLERANCE)
        levels: IntArray = (above & np.isfinite(self.cap_usd_per_mwh)).sum(axis=1).astype(np.int64)
        return levels

    def least_at(self, levels: IntArray) -> FloatArray:
        """Least output of a running unit at these levels, by plant."""
        return self.least_mw[np.arange(self.count), levels]

    def caps_at(self, levels: IntArray) -> FloatArray:
        """Highest gas price tolerated at these levels, by plant; inf for a plant that is off."""
        return self.cap_usd_per_mwh[np.arange(self.count), levels]

    def supported(self, output_mw: FloatArray, on: IntArray) -> IntArray:
        """The highest level that a dispatch supports (plants x hours); plants that never run are off."""
        levels = self.blocks.copy()
        for plant in range(self.count):
            running = on[plant] > 0
            if not running.any():
                continue
            each = (output_mw[plant, running] / on[plant, running]).min()
            fits = self.least_mw[plant, : self.blocks[plant]] <= each * (1 + TOLERANCE) + TOLERANCE
            levels[plant] = max(int(np.flatnonzero(fits).max(initial=0)), 0)
        return levels
