"""Upper bounds of the follower's columns that only one row wants: what that row needs, and no more.

Column j is in no follower row but i, the leader moves right-hand sides only, and j has no upper bound. Then
its stationarity is ``c_j = a_ij p_i + r_j``. Where an optimal answer uses it (``y_j`` is above its lower
bound) complementarity says ``r_j = 0``, hence ``p_i = c_j / a_ij``. If the cost is not zero neither is that
price, so row i is tight on the side that its sign says, and

    a_ij y_j  =  side_i - (what all others add to row i)

bounds ``y_j`` by the ranges of the others: what meets a demand alone is never larger than the demand.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.kkt import KktSystem
from ppsm.bilevel.tuning import TUNING
from ppsm.program import LinearProgram


def with_lone_columns_bounded(kkt: KktSystem) -> LinearProgram:
    """The relaxation with such bounds for columns that have none; every point of the game obeys them."""
    program, relaxation = kkt.program, kkt.relaxation
    follower = program.follower
    if not program.only_moves_right_hand_sides:
        return relaxation
    by_column = sp.csc_array(follower.matrix)
    is_lone = np.isinf(follower.column_upper) & np.isfinite(follower.column_lower)
    lone = np.flatnonzero(is_lone & (np.diff(by_column.indptr) == 1))
    row, weight = by_column.indices[by_column.indptr[lone]], by_column.data[by_column.indptr[lone]]
    with np.errstate(divide="ignore", invalid="ignore"):
        price = follower.cost[lone] / weight
    side = np.where(price > 0, follower.row_lower[row], follower.row_upper[row])
    place = kkt.responses.start + lone
    most = _most(relaxation, _rows_of_follower(kkt)[row, :], place, weight, side)
    is_proven = (np.abs(price) > TUNING.clear_price) & np.isfinite(side) & (most <= TUNING.largest_sound_m)
    upper = relaxation.column_upper.copy()
    upper[place[is_proven]] = np.maximum(most, follower.column_lower[lone])[is_proven]
    return replace(relaxation, column_upper=upper)


def _rows_of_follower(kkt: KktSystem) -> SparseMatrix:
    first = len(kkt.program.leader_row_names)
    return sp.csr_array(kkt.relaxation.matrix[first : first + kkt.program.follower.shape[0], :])


def _most(
    linear: LinearProgram, rows: SparseMatrix, place: IntArray, weight: FloatArray, side: FloatArray
) -> FloatArray:
    """The largest value of a column in each row that is tight at a side, over the ranges of all others."""
    entries = sp.coo_array(rows)
    low, high = linear.column_lower[entries.col], linear.column_upper[entries.col]
    # Others at their least where the column counts upwards, at their most where it counts downwards.
    helps = (entries.data > 0) == (weight[entries.row] > 0)
    is_other = entries.col != place[entries.row]
    reach = np.where(is_other, entries.data * np.where(helps, low, high), 0.0)
    total = np.bincount(entries.row, reach, side.size)
    size = np.abs(side) + np.bincount(entries.row, np.abs(reach), side.size)
    with np.errstate(invalid="ignore"):
        most = (side - total) / weight + TUNING.rounding * (1.0 + size) / np.abs(weight)
    return np.asarray(np.where(np.isfinite(size), most, INFINITY))
