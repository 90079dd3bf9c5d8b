"""Prices as they were before a market rounded them.

A market's prices are combinations of the costs of those who set them, whose reduced costs are zero. Of
rounded prices they are not, and by complementarity nobody would set the price. Within half a step of what was
published we look for prices with as many reduced costs of zero as can be: the least sum of the sizes of those
that rounding may have moved, an LP, whose vertices have zeros. Costs and published figures are public.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray
from ppsm.games.follower import Follower
from ppsm.mechanism.tuning import TUNING
from ppsm.privacy.publication import MarketResult
from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp


def unrounded_prices(result: MarketResult, follower: Follower) -> FloatArray:
    """The published prices, moved within their rounding; as they are where they are not those of all rows."""
    if result.price_step == 0.0 or result.price_names != follower.program.row_names:
        return result.prices
    found = solve_lp(_fewest_gaps(follower.program, follower.sign * result.prices, 0.5 * result.price_step))
    if not found.status.has_answer:
        return result.prices
    return follower.sign * found.columns[: result.prices.size] + 0.0


def _fewest_gaps(program: LinearProgram, prices: FloatArray, reach: float) -> LinearProgram:
    """Columns: prices, reduced costs up and down of whom rounding may have moved, moves up and down."""
    transposed = program.matrix.T.tocsr()
    moved = reach * np.asarray(abs(transposed).sum(axis=1)).ravel() * (1.0 + TUNING.cost_rounding)
    near = np.flatnonzero(np.abs(program.cost - transposed @ prices) <= moved)
    gaps, moves = sp.eye_array(near.size), sp.eye_array(prices.size)
    matrix = sp.block_array(
        [[transposed[near], gaps, -gaps, None, None], [moves, None, None, -moves, moves]], format="csr"
    )
    right = np.concatenate([program.cost[near], prices])
    # The price of a row with one side has one sign.
    lower = np.where(np.isfinite(program.row_upper), prices - reach, np.maximum(prices - reach, 0.0))
    upper = np.where(np.isfinite(program.row_lower), prices + reach, np.minimum(prices + reach, 0.0))
    sizes = 2 * (near.size + prices.size)
    weights = np.repeat([1.0, TUNING.price_move], [2 * near.size, 2 * prices.size])
    return LinearProgram.of(
        np.concatenate([np.zeros(prices.size), weights]),
        sp.csr_array(matrix),
        row_lower=right,
        row_upper=right,
        column_lower=np.concatenate([lower, np.zeros(sizes)]),
        column_upper=np.concatenate([upper, np.full(sizes, INFINITY)]),
    )
