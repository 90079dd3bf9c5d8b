"""Why a gas demand cannot be served: which nodes, pipes or supplies break it, and by how much."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray
from ppsm.markets.gas import GasMarket
from ppsm.program import LinearProgram
from ppsm.solvers.conflict import find_conflict
from ppsm.solvers.highs import PersistentLp

_SMALL_MWH = 1e-6


@dataclass(frozen=True)
class Shortage:
    """Gas that a junction lacks (positive) or cannot get rid of (negative), in MWh."""

    junction: str
    amount_mwh: float


@dataclass(frozen=True)
class GasExplanation:
    """The least changes of withdrawals that make the market feasible, and the rows that stand against it."""

    shortages: tuple[Shortage, ...]
    conflict: str

    def __str__(self) -> str:
        lacking = [
            f"{s.junction} lacks {s.amount_mwh:.4g} MWh"
            if s.amount_mwh > 0
            else f"{s.junction} has {-s.amount_mwh:.4g} MWh too much"
            for s in self.shortages
        ]
        return f"{'; '.join(lacking)} ({self.conflict})"


def explain_gas(market: GasMarket, withdrawal_mwh: FloatArray) -> GasExplanation | None:
    """Say why withdrawals by junction cannot be served; None if they can."""
    shift = np.zeros(market.program.shape[0])
    shift[market.balance_rows] = withdrawal_mwh
    program = market.program.shifted(shift)
    changes = _least_changes(market, program)
    names = [row.junction for row in market.case.junctions]
    shortages = tuple(
        Shortage(names[i], float(changes[i])) for i in np.flatnonzero(np.abs(changes) > _SMALL_MWH)
    )
    if not shortages:
        return None
    return GasExplanation(shortages, str(find_conflict(program)))


def _least_changes(market: GasMarket, program: LinearProgram) -> FloatArray:
    """Gas to add at each junction (at least in total) so that the market becomes feasible."""
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
    columns = PersistentLp(elastic).solve().columns
    changes: FloatArray = columns[width : width + count] - columns[width + count :]
    return changes
