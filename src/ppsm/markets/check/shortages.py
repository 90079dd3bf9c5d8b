"""Why a gas demand cannot be served: which nodes, pipes or supplies break it, and by how much."""

from dataclasses import dataclass

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.markets.model.followers import Followers, PowerAnswer
from ppsm.markets.model.gas import GasMarket
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.conflict import find_conflict
from ppsm.solvers.highs import LpSolution, PersistentLp

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
        full = [str(limit) for limit in self.bottlenecks[: TUNING.bottlenecks_named]]
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
        Shortage(names[i], float(changes[i])) for i in np.flatnonzero(np.abs(changes) > TUNING.small_mwh)
    )
    if not shortages:
        return None
    return GasExplanation(shortages, _bottlenecks(market, solution), str(find_conflict(program)))


def explain_game(followers: Followers, demand_mwh: FloatArray, unaware: PowerAnswer | None) -> str | None:
    """Why a demand has no answer: before any plant burns gas, and at the burn of an ``unaware`` commitment.

    That is the one that the leader would choose without the gas market. None where neither breaks the market:
    then no valid commitment was found for want of time, or because prices leave none.
    """
    market = followers.gas.market
    found = []
    why = explain_gas(market, market.withdrawal_mwh(demand_mwh))
    if why is not None:
        found.append(f"before any plant burns gas, {why}")
    if unaware is not None:
        burn = unaware.dispatch.burn_mwh
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
    order = sorted(
        (key for key, value in relief.items() if value > TUNING.bottleneck_price),
        key=lambda key: -relief[key],
    )
    return tuple(
        Bottleneck(kind, name, relief[kind, name] if kind in ("supply", "pipe") else None)
        for kind, name in order
    )


def _inside(name: str) -> str:
    """The index of a named row or column: ``supply_mwh[wells/1]`` is ``wells/1``."""
    return name.partition("[")[2].rstrip("]")


def _least_changes(market: GasMarket, program: LinearProgram) -> tuple[FloatArray, LpSolution]:
    """Gas to add at each junction (least in total) that makes the market feasible, and the LP's solution."""
    solution = PersistentLp(program.elastic(market.balance_rows)).solve()
    raised, lowered = np.split(solution.columns[program.shape[1] :], 2)
    changes: FloatArray = raised - lowered
    return changes, solution
