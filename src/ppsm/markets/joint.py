"""UC and the feasible region of GM as one program: commitments whose burn the gas network can deliver.

UC alone does not know the gas network. Its burn may be undeliverable (noise can make demand negative at a
dead end, where only a plant can take the gas), or may need supply at prices that no bid covers. Putting GM's
rows ((5b) and (5c) of the paper's appendix) beside UC's, with the burn moved to the left-hand side of the
balances, keeps commitments that GM can serve; taking away supply blocks above a price keeps those that leave
prices below it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.markets.commitment import UnitCommitment
from ppsm.markets.gas import GasMarket
from ppsm.program import LinearProgram

# The market's rows are in MWh, like UC's, and its columns cost nothing here: gas is paid by bids.


def join(
    commitment: UnitCommitment,
    program: LinearProgram,
    market: GasMarket,
    demand_mwh: FloatArray,
    highest_price_usd_per_mwh: float = np.inf,
) -> LinearProgram:
    """UC's program with GM's region at a demand; supply blocks above the highest price are taken away."""
    gas = market.program
    shift = np.zeros(gas.shape[0])
    shift[market.balance_rows] = market.withdrawal_mwh(demand_mwh)
    gas = gas.shifted(shift)
    # balance: inflow - burn = demand
    place = sp.csr_array(
        (np.ones(market.balance_rows.size), (market.balance_rows, np.arange(market.balance_rows.size))),
        shape=(gas.shape[0], market.balance_rows.size),
    )
    taken = -(place @ market.burn_to_balance @ commitment.burn_map)
    blocks: Any = [[program.matrix, None], [taken, gas.matrix]]
    matrix: SparseMatrix = sp.csr_array(sp.block_array(blocks))
    upper = gas.column_upper.copy()
    supply = market.variables.positions("supply_mwh")
    upper[supply[gas.cost[supply] > highest_price_usd_per_mwh]] = 0.0
    return replace(
        program,
        cost=np.concatenate([program.cost, np.zeros(gas.shape[1])]),
        matrix=matrix,
        row_lower=np.concatenate([program.row_lower, gas.row_lower]),
        row_upper=np.concatenate([program.row_upper, gas.row_upper]),
        column_lower=np.concatenate([program.column_lower, gas.column_lower]),
        column_upper=np.concatenate([program.column_upper, upper]),
        row_names=(*program.row_names, *(f"gas_{name}" for name in gas.row_names)),
        column_names=(*program.column_names, *(f"gas_{name}" for name in gas.column_names)),
    )
