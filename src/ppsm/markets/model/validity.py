"""Bid selection and bid validity, (3c) of the paper's appendix: how gas prices reach the leader.

For every hour the leader selects bid blocks of the gas-fired plants, and EM may dispatch only what is
selected. Blocks are selected in order, and a block only where the one before is full. A cluster of identical
units selects by counts: ``n_b`` of its running units **offer** block b, ``on = n_1 >= n_2 >= ...``, so that
EM accepts of block b between ``size_b n_(b+1)`` and ``size_b n_b``. Fleets without a gas link offer all
blocks of their running units.

A running gas-fired unit must be paid for its fuel: heat rate x gas price at its junction may not exceed the
price of the **last selected** block of its bid. (The appendix wants that price "no larger" than the cost;
only bids that do not cover their cost would be valid then, so "no smaller" is meant.) Let
``tau_b = price_b / heat_rate`` be the gas price that block b covers. At the gas price y the last block of
every running unit must be one with ``tau_b >= y``, so with

    k(y) = number of blocks b with tau_b < y          (the **level** that the price asks for)

the first k(y) blocks of every running unit are full and the next one is offered; where k(y) is the number of
blocks no unit may run. Prices are daily, so a level holds for all hours: a plant's level is the number of
blocks that all its running units offer in all hours, less one, and its **cap** is the gas price that the last
of these covers. An answer is valid when some optimal price vector of the gas market respects the caps of all
running plants (the optimistic convention).

In UC a level is no more than a least output of the running units. That the next block must be *offered*, and
that EM may take more of it than the plan does, is left out there: UC at a level is a relaxation.
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
    """Thresholds and least outputs of every gas-fired plant (links x levels), and the sizes of its blocks.

    ``cap_usd_per_mwh[j, k]`` is the highest gas price that plant j tolerates at level k; ``least_mw[j, k]``
    is what a running unit then gives, inf at the level beyond the last block (the plant is off).
    ``size_mw[j, b]`` is a unit's block, zero beyond the last.
    """

    cap_usd_per_mwh: FloatArray
    least_mw: FloatArray
    size_mw: FloatArray
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
        size = np.zeros((len(bids), max((bid.block for bid in case.bids), default=0)))
        for row, (link, mine) in enumerate(zip(case.links, bids, strict=True)):
            fuel_mwh = link.heat_rate_mmbtu_per_mwh * MWH_PER_MMBTU
            below = 0.0
            for level, bid in enumerate(mine):
                caps[row, level] = bid.price_usd_per_mwh / fuel_mwh
                least[row, level] = max(fleets[link.fleet].unit_min_mw, below)
                below += bid.size_mw
                size[row, level] = bid.size_mw
        return cls(caps, least, size, np.array([len(mine) for mine in bids], dtype=np.int64))

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

    def fewest_offers(self, output_mw: FloatArray, on: IntArray, levels: IntArray) -> IntArray:
        """The fewest offers (links x blocks x hours) that let EM give an output (links x hours) at levels.

        Running units fill their blocks in order, the fleet block by block; every one of them offers the first
        block and those that its level asks for.
        """
        units = self._units_used(output_mw, on)
        offers = np.ceil(units * (1 - TOLERANCE) - TOLERANCE).astype(np.int64)
        return self._with_levels(offers, on, levels)

    def _units_used(self, output_mw: FloatArray, on: IntArray) -> FloatArray:
        """How many units give of each block (links x blocks x hours), the fleet filling block by block."""
        full = self.size_mw[:, :, None] * on[:, None, :]
        before = np.cumsum(full, axis=1) - full
        used = np.clip(output_mw[:, None, :] - before, 0.0, full)
        with np.errstate(divide="ignore", invalid="ignore"):
            units: FloatArray = np.where(full > 0, used / self.size_mw[:, :, None], 0.0)
        return units

    def _with_levels(self, offers: IntArray, on: IntArray, levels: IntArray) -> IntArray:
        """Offers with the first block, and those that the level asks for, from every running unit."""
        asked = np.arange(self.size_mw.shape[1])[None, :] <= np.minimum(levels, self.blocks - 1)[:, None]
        everybody: IntArray = np.broadcast_to(on[:, None, :], offers.shape)
        found: IntArray = np.where(asked[:, :, None], everybody, offers)
        return found

    def selected_levels(self, offers: IntArray, on: IntArray) -> IntArray:
        """The levels of plants that make these offers; the number of blocks for one that never runs."""
        levels = self.blocks.copy()
        for plant, count in enumerate(self.blocks):
            running = on[plant] > 0
            if running.any():
                by_all = offers[plant, :count, running] == on[plant, running, None]
                levels[plant] = int(np.logical_and.accumulate(by_all, axis=1).sum(axis=1).min()) - 1
        return levels
