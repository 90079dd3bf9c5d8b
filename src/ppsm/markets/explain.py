"""Why a gas demand cannot be served: which nodes, pipes or supplies break it, and by how much."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, IntArray
from ppsm.markets.evaluate import Followers
from ppsm.markets.gas import GasMarket
from ppsm.program import LinearProgram
from ppsm.solvers.conflict import find_conflict
from ppsm.solvers.highs import LpSolution, PersistentLp

_SMALL_MWH = 1e-6
# A limit counts as a bottleneck from this price on; so many are named in a sentence.
_PRICED = 1e-6
_NAMED = 6
# Rows of the market that limit a component.
_LIMITS = {
    "weymouth": "pipe",
    "weymouth_none": "pipe",
    "compressor_ratio_max": "compressor",
    "compressor_ratio_min": "compressor",
    "regulator_ratio_max": "regulator",
    "regulator_ratio_min": "regulator",
}


@dataclass(frozen=True)
class Shortage:
    """Gas that a junction lacks (positive) or cannot get rid of (negative), in MWh."""

    junction: str
    amount_mwh: float


@dataclass(frozen=True)
class Bottleneck:
    """A supply, pipe or station that stands between the gas and the shortage.

    ``relief`` is by how much the shortage would shrink with one MWh more of a supply or through a pipe; None
    for a station, whose limit is a pressure ratio.
    """

    kind: str
    name: str
    relief: float | None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class GasExplanation:
    """The least changes of withdrawals that make the market feasible, and what stands against them.

    ``bottlenecks`` would each lessen the shortage if they gave way; ``conflict`` names rows that cannot hold
    together.
    """

    shortages: tuple[Shortage, ...]
    bottlenecks: tuple[Bottleneck, ...]
    conflict: str

    def __str__(self) -> str:
        lacking = [
            f"{s.junction} lacks {s.amount_mwh:.4g} MWh"
            if s.amount_mwh > 0
            else f"{s.junction} has {-s.amount_mwh:.4g} MWh too much"
            for s in self.shortages
        ]
        full = [str(limit) for limit in self.bottlenecks[:_NAMED]]
        more = len(self.bottlenecks) - len(full)
        if more > 0:
            full.append(f"{more} more")
        limits = f"; at their limits: {', '.join(full)}" if full else ""
        return f"{'; '.join(lacking)}{limits} ({self.conflict})"


def explain_gas(market: GasMarket, withdrawal_mwh: FloatArray) -> GasExplanation | None:
    """Say why withdrawals by junction cannot be served; None if they can."""
    shift = np.zeros(market.program.shape[0])
    shift[market.balance_rows] = withdrawal_mwh
    program = market.program.shifted(shift)
    changes, solution = _least_changes(market, program)
    names = [row.junction for row in market.case.junctions]
    shortages = tuple(
        Shortage(names[i], float(changes[i])) for i in np.flatnonzero(np.abs(changes) > _SMALL_MWH)
    )
    if not shortages:
        return None
    return GasExplanation(shortages, _bottlenecks(market, solution), str(find_conflict(program)))


def explain_game(
    followers: Followers, power_stress: float, demand_mwh: FloatArray, on: IntArray | None
) -> str | None:
    """Why a demand has no answer: before any plant burns gas, and at the burn of a commitment (``on``).

    The commitment is the one that the leader would choose without the gas market. None where neither breaks
    the market: then no valid commitment was found for want of time, or because prices leave none.
    """
    market = followers.gas.market
    found = []
    why = explain_gas(market, market.withdrawal_mwh(demand_mwh))
    if why is not None:
        found.append(f"before any plant burns gas, {why}")
    none = np.zeros(followers.levels.count, dtype=np.int64)
    power = None if on is None else followers.power_answer(power_stress, on, none)
    if power is not None:
        burn = power.dispatch.burn_mwh
        why = explain_gas(market, market.withdrawal_mwh(demand_mwh, burn))
        if why is not None:
            found.append(f"with the {burn.sum():.4g} MWh that the cheapest commitment burns, {why}")
    return "; ".join(found) or None


def _bottlenecks(market: GasMarket, solution: LpSolution) -> tuple[Bottleneck, ...]:
    """Supplies, pipes and stations whose limit has a price in the least-change problem, dearest first."""
    relief: dict[tuple[str, str], float] = {}
    for column in market.variables.positions("supply_mwh"):
        name = _inside(market.program.column_names[column])
        relief["supply", name] = -float(solution.reduced_costs[column])
    for row, name in enumerate(market.program.row_names):
        kind = _LIMITS.get(name.split("[")[0])
        if kind is not None:
            key = (kind, _inside(name).split(",")[0].strip())
            relief[key] = max(relief.get(key, 0.0), abs(float(solution.prices[row])))
    order = sorted((key for key, value in relief.items() if value > _PRICED), key=lambda key: -relief[key])
    return tuple(
        Bottleneck(kind, name, relief[kind, name] if kind in ("supply", "pipe") else None)
        for kind, name in order
    )


def _inside(name: str) -> str:
    """The index of a named row or column: ``supply_mwh[wells/1]`` is ``wells/1``."""
    return name.partition("[")[2].rstrip("]")


def _least_changes(market: GasMarket, program: LinearProgram) -> tuple[FloatArray, LpSolution]:
    """Gas to add at each junction (least in total) that makes the market feasible, and the LP's solution."""
    count, width = market.balance_rows.size, program.shape[1]
    place = sp.csr_array(
        (np.ones(count), (market.balance_rows, np.arange(count))), shape=(program.shape[0], count)
    )
    elastic = LinearProgram.from_arrays(
        cost=np.concatenate([np.zeros(width), np.ones(2 * count)]),
        matrix=sp.hstack([program.matrix, place, -place], format="csr"),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        column_lower=np.concatenate([program.column_lower, np.zeros(2 * count)]),
        column_upper=np.concatenate([program.column_upper, np.full(2 * count, np.inf)]),
    )
    solution = PersistentLp(elastic).solve()
    columns = solution.columns
    changes: FloatArray = columns[width : width + count] - columns[width + count :]
    return changes, solution
