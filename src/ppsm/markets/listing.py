"""All commitments of a very small case, in order of a lower bound on their cost.

The bound of a commitment is its no-load and start-up cost and, hour by hour, a merit order of its running
units that knows neither network nor ramps nor least outputs. Commitments break no rule of UC that can be
read from the counts alone: minimum times, must-run, capacity for load and reserve, least outputs below load.
"""

import itertools
import math

import numpy as np

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.entities import Fleet
from ppsm.markets.commitment import UnitCommitment

# With more combinations than this, listing them takes longer than a search.
LARGEST_LISTING = 30_000
_ROUNDING = 1e-9

Counts = tuple[int, ...]


def day_patterns(fleet: Fleet, hours: int) -> list[Counts]:
    """Units on by hour that must-run and minimum times allow around the cyclic day."""
    least = fleet.unit_count if fleet.must_run else 0
    every = itertools.product(range(least, fleet.unit_count + 1), repeat=hours)
    return [counts for counts in every if _keeps_minimum_times(fleet, np.array(counts))]


def _keeps_minimum_times(fleet: Fleet, counts: IntArray) -> bool:
    change = counts - np.roll(counts, 1)
    for events, length, room in (
        (np.maximum(change, 0), fleet.min_up_h, counts),
        (np.maximum(-change, 0), fleet.min_down_h, fleet.unit_count - counts),
    ):
        recent = sum((np.roll(events, k) for k in range(min(length, counts.size))), np.zeros_like(counts))
        if (recent > room).any():
            return False
    return True


def list_commitments(commitment: UnitCommitment, power_stress: float) -> list[tuple[float, IntArray]] | None:
    """Lower bound in $ and units on (fleets x hours) of every commitment, in order; None if too many."""
    case = commitment.system.case
    hours = len(case.load_shape)
    if math.prod((fleet.unit_count + 1) ** hours for fleet in case.fleets) > LARGEST_LISTING:
        return None
    energy = _HourlyCost(commitment, power_stress)
    found = []
    for rows in itertools.product(*(day_patterns(fleet, hours) for fleet in case.fleets)):
        dispatch = sum(energy.of(hour, now) for hour, now in enumerate(zip(*rows, strict=True)))
        if math.isfinite(dispatch):
            on = np.array(rows, dtype=np.int64)
            found.append((commitment.commitment_cost_usd(on) + dispatch, on))
    return sorted(found, key=lambda entry: entry[0])


class _HourlyCost:
    """Merit-order cost of the units that run in an hour, remembered; inf where they cannot serve the load."""

    def __init__(self, commitment: UnitCommitment, power_stress: float) -> None:
        system = commitment.system
        self._load = system.load_mw(power_stress).sum("bus").values
        self._reserve = system.case.reserve_fraction * system.case.load_mw(power_stress).sum(axis=1)
        self._size, self._least = system.unit_mw.values, system.least_mw.values
        blocks, prices = (x.values for x in (system.block_mw, system.block_usd_per_mwh))
        self._owner, block = np.nonzero(np.isfinite(blocks))
        self._block_mw: FloatArray = blocks[self._owner, block]
        self._price: FloatArray = prices[self._owner, block]
        self._order = np.argsort(self._price)
        self._known: dict[tuple[int, Counts], float] = {}

    def of(self, hour: int, counts: Counts) -> float:
        """Cost in $ of serving an hour's load with so many units of each fleet."""
        key = (hour, counts)
        if key not in self._known:
            self._known[key] = self._merit_order(hour, np.array(counts))
        return self._known[key]

    def _merit_order(self, hour: int, counts: IntArray) -> float:
        load = float(self._load[hour])
        capacity, least = float(self._size @ counts), float(self._least @ counts)
        slack = _ROUNDING * max(1.0, abs(load))
        if capacity < load + self._reserve[hour] - slack or least > load + slack:
            return math.inf
        offered = (self._block_mw * counts[self._owner])[self._order]
        taken = np.diff(np.minimum(np.concatenate([[0.0], np.cumsum(offered)]), load))
        return float(taken @ self._price[self._order])
