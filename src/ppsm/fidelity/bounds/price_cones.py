"""How large a price can be at all: one LP for each entry, over the duals in which that one is the largest.

Ranges for prices need ranges to begin with: chords lie above a convex function between two ends only. Here
the ends are shares of the largest price, which are between 0 and 1, or -1 and 1 where prices may be negative.
The largest ``y'd`` over points nearer than the incumbent is homogeneous in ``y``: a line above it over all
shares, times the largest price, is linear in the prices again and holds for prices of any size.

So a dual with a large price is worth enough only if the points that are near reach as far as it asks for.
Where nothing near is beyond what the follower can serve, the LPs say how large prices become; where something
is, duals can be as large as they like, and so is the answer.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.errors import SolverError
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status

# Slope and constant of a line above the largest ``y'd`` for prices between the ends of their ranges.
Line = tuple[FloatArray, float]


def largest_price(
    duals: LinearProgram, worth: FloatArray, needed: float, lines: list[Line], *, signed: bool
) -> float:
    """The largest size of a price of a dual that every line lifts to ``needed``.

    ``duals`` has the prices as its first columns; ``worth`` is what all columns are worth at a parameter of
    zero. ``lines`` hold for prices between 0 (-1 if ``signed``) and 1. Minus infinity where no dual is worth
    enough, infinite where it could not be told.
    """
    entries, width = lines[0][0].size, duals.shape[1]
    # A last column is the largest price; it lifts each line by its constant.
    lifted = np.stack([worth + np.append(slope, np.zeros(width - entries)) for slope, _ in lines])
    constants = np.array([[constant] for _, constant in lines])
    each = sp.eye_array(entries, width, format="csr")
    one = sp.csr_array(np.ones((entries, 1)))
    signs = (1.0, -1.0) if signed else (1.0,)
    rows: list[SparseMatrix] = [sp.csr_array(np.hstack([lifted, constants]))]
    rows += [sp.hstack([-sign * each, one]) for sign in signs]
    limits = np.concatenate([np.full(len(lines), needed), np.zeros(entries * len(signs))])
    with_largest = duals.with_columns(np.array([0.0]), np.array([INFINITY]), cost=np.array([-1.0]))
    lp = PersistentLp(with_largest.with_rows(sp.csr_array(sp.vstack(rows)), limits))
    first = duals.shape[0] + len(lines)
    largest = -INFINITY
    for row in range(first, first + entries * len(signs)):
        lp.set_row_bounds(np.array([row]), np.zeros(1), np.zeros(1))
        largest = max(largest, _solved(lp))
        lp.set_row_bounds(np.array([row]), np.zeros(1), np.full(1, INFINITY))
        if largest == INFINITY:
            break
    return largest


def _solved(lp: PersistentLp) -> float:
    try:
        solution = lp.solve()
    except SolverError:
        return INFINITY
    if solution.status is Status.INFEASIBLE:
        return -INFINITY
    return -solution.objective if solution.status is Status.PROVEN_OPTIMAL else INFINITY
