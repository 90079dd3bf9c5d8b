"""Multipliers of network followers: a bound that needs no LP.

The matrix of a network (every column has at most one +1 and one -1, besides rows of a single entry such as
capacities) is totally unimodular, and so is that of its dual: every entry of the inverse of a basis is 0, 1
or -1. A vertex of the dual is such an inverse times the costs, so none of its multipliers exceeds the sum of
the absolute costs. Where the leader sees no price, any optimal dual will do, and a vertex always is one.
"""

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import SparseMatrix
from ppsm.bilevel.kkt import KktSystem


def network_bound(kkt: KktSystem) -> float | None:
    """The largest multiplier of any dual vertex, None where the follower is no network or prices are seen."""
    program = kkt.program
    if not program.only_moves_right_hand_sides or program.leader_sees_prices:
        return None
    return float(np.abs(program.follower.cost).sum()) if is_network(program.follower.matrix) else None


def is_network(matrix: SparseMatrix) -> bool:
    """Whether rows can be negated so that each column has at most one +1 and one -1, unit rows aside."""
    if not (np.abs(matrix.data) == 1.0).all():
        return False
    inner = sp.csc_array(matrix[np.diff(matrix.indptr) > 1, :])
    entries = np.diff(inner.indptr)
    if (entries > 2).any():
        return False
    starts = inner.indptr[:-1][entries == 2]
    first, second = inner.indices[starts], inner.indices[starts + 1]
    must_differ = inner.data[starts] == inner.data[starts + 1]
    return _can_be_negated(inner.shape[0], first.tolist(), second.tolist(), must_differ.tolist())


def _can_be_negated(rows: int, first: list[int], second: list[int], must_differ: list[bool]) -> bool:
    """Whether rows fall in two groups, kept and negated, as pairs of them ask for."""
    linked: list[list[tuple[int, bool]]] = [[] for _ in range(rows)]
    for one, other, differ in zip(first, second, must_differ, strict=True):
        linked[one].append((other, differ))
        linked[other].append((one, differ))
    group: dict[int, bool] = {}
    for begin in range(rows):
        if begin in group:
            continue
        group[begin] = False
        reached = [begin]
        while reached:
            row = reached.pop()
            for other, differ in linked[row]:
                if other not in group:
                    group[other] = group[row] ^ differ
                    reached.append(other)
                elif group[other] != group[row] ^ differ:
                    return False
    return True
