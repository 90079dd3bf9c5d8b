"""Where the burn of every answer below a cost must lie: bounds by place and in total, from UC's relaxation.

Whatever the commitment, a cost target leaves little freedom to the plants' burn. The bounds come from linear
programs over UC's relaxation with the target as a row (optimality-based bound tightening), so they hold for
every commitment at the given levels or above.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.markets.evaluate import Followers
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

# The target enters in k$, so that its row is of the size of the others.
_USD_PER_ROW_UNIT = 1e3
# Bounds are widened by this, far more than the solver's tolerance moves them.
_WIDENING_MWH = 0.01
_WIDENING = 1e-6


@dataclass(frozen=True, eq=False)
class BurnRegion:
    """Bounds on the daily burn by place (junction with plants) and on its total, for costs up to a target."""

    target_usd: float
    lower_mwh: FloatArray
    upper_mwh: FloatArray
    total_lower_mwh: float
    total_upper_mwh: float

    @property
    def empty(self) -> bool:
        """Whether no commitment has such a cost."""
        return bool(np.isnan(self.total_lower_mwh))


def burn_region(
    followers: Followers, program: LinearProgram, target_usd: float, seconds_left: Callable[[], float]
) -> BurnRegion | None:
    """Bounds on the burn of every commitment of UC's program with at most the target's cost.

    None where the time is up before all bounds are known.
    """
    place = place_map(followers)
    burn = sp.csr_array(place @ followers.commitment.burn_map)
    total = np.asarray(burn.sum(axis=0)).ravel()
    live = PersistentLp(_below(program, target_usd), feasibility=1e-7)
    live.prefer_primal_simplex()

    def least(cost: FloatArray) -> float:
        live.set_cost(cost)
        solution = live.solve()
        return solution.objective if solution.status is Status.PROVEN_OPTIMAL else np.nan

    lowest = least(total)
    if np.isnan(lowest):
        return BurnRegion(target_usd, np.zeros(0), np.zeros(0), np.nan, np.nan)
    highest = -least(-total)
    lower, upper = np.zeros(burn.shape[0]), np.zeros(burn.shape[0])
    for row in range(burn.shape[0]):
        if seconds_left() <= 0:
            return None
        cost = burn[[row], :].toarray().ravel()
        lower[row], upper[row] = least(cost), -least(-cost)
    if np.isnan(lower).any() or np.isnan(upper).any() or np.isnan(highest):
        return None

    def wider(value: FloatArray, sign: float) -> FloatArray:
        return value + sign * (_WIDENING_MWH + _WIDENING * np.abs(value))

    return BurnRegion(
        target_usd,
        np.maximum(wider(lower, -1.0), 0.0),
        wider(upper, 1.0),
        float(wider(np.array(lowest), -1.0)),
        float(wider(np.array(highest), 1.0)),
    )


def place_map(followers: Followers) -> SparseMatrix:
    """Links gathered by junction (places x links), in the order of the junctions."""
    places, position = np.unique(followers.gas.plants, return_inverse=True)
    shape = (places.size, position.size)
    return sp.csr_array((np.ones(position.size), (position, np.arange(position.size))), shape=shape)


def _below(program: LinearProgram, target_usd: float) -> LinearProgram:
    """UC's relaxation with its cost limited to the target."""
    row = sp.csr_array(program.cost[None, :] / _USD_PER_ROW_UNIT)
    matrix: SparseMatrix = sp.csr_array(sp.vstack([program.matrix, row]))
    return replace(
        program,
        matrix=matrix,
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, (target_usd - program.offset) / _USD_PER_ROW_UNIT),
        row_names=(*program.row_names, "cost_target"),
        offset=0.0,
    )
