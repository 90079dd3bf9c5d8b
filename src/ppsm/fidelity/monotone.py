"""When prices may be taken to be nonnegative: networks in which serving less is always possible.

Take a feasible answer of a network whose goods flow from supplies along arcs to withdrawals. Its flow
splits into paths from a supply to a withdrawal, so a smaller withdrawal is served by taking some of those
paths away. That leaves everything else feasible if less flow never hurts, and costs no more if no flow
earns money. Then ``V`` never falls as an entry rises, and every point has an optimal dual with nonnegative
prices.
"""

import numpy as np

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.program import LinearProgram


def is_monotone(program: LinearProgram, parameter_map: SparseMatrix, lower: FloatArray) -> bool:
    """Whether the follower has that form; False only means that it could not be told from the arrays.

    ``lower`` are the public lower bounds of the parameter: no balance may have a negative withdrawal.
    """
    if (parameter_map.data < 0).any():
        return False
    touched = np.diff(parameter_map.indptr) > 0
    balances = _connected_balances(program, touched)
    if (program.row_lower != program.row_upper)[balances].any():
        return False
    if ((program.row_lower + parameter_map @ np.maximum(lower, 0.0))[balances] < 0).any() or (
        lower < 0
    ).any():
        return False
    of_balances = program.matrix[np.flatnonzero(balances), :].tocsc()
    flows = np.flatnonzero(np.diff(of_balances.indptr) > 0)
    if (program.column_lower[flows] != 0).any() or (program.cost[flows] < 0).any():
        return False
    positive = np.asarray((of_balances > 0).sum(axis=0)).ravel()[flows]
    negative = np.asarray((of_balances < 0).sum(axis=0)).ravel()[flows]
    if (np.abs(of_balances.data) != 1).any() or (positive > 1).any() or (negative > 1).any():
        return False
    others = program.matrix[np.flatnonzero(~balances), :][:, flows].tocoo()
    upper_only = np.isinf(program.row_lower[~balances])[others.row]
    lower_only = np.isinf(program.row_upper[~balances])[others.row]
    return bool(np.all((upper_only & (others.data > 0)) | (lower_only & (others.data < 0))))


def _connected_balances(program: LinearProgram, touched: np.ndarray) -> np.ndarray:
    """The equality rows that share a column with a parameter's row, directly or through other such rows."""
    equality = program.row_lower == program.row_upper
    pattern = abs(program.matrix)
    found = touched.copy()
    while True:
        columns = np.asarray(pattern[np.flatnonzero(found), :].sum(axis=0)).ravel() > 0
        reached = np.asarray(pattern[:, np.flatnonzero(columns)].sum(axis=1)).ravel() > 0
        grown = found | (reached & equality)
        if (grown == found).all():
            return found
        found = grown
