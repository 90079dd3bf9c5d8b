"""Adding columns and rows to a linear program, block by block."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import FloatArray, SparseMatrix
from ppsm.program import LinearProgram


def with_columns(
    linear: LinearProgram, lower: FloatArray, upper: FloatArray, names: tuple[str, ...]
) -> LinearProgram:
    """Append columns that have no cost and are in no row yet."""
    rows = linear.shape[0]
    return replace(
        linear,
        cost=np.concatenate([linear.cost, np.zeros(len(names))]),
        matrix=sp.hstack([linear.matrix, sp.csr_array((rows, len(names)))], format="csr"),
        column_lower=np.concatenate([linear.column_lower, lower]),
        column_upper=np.concatenate([linear.column_upper, upper]),
        column_names=(*linear.column_names, *names),
    )


def with_rows(
    linear: LinearProgram, matrix: SparseMatrix, lower: FloatArray, upper: FloatArray, names: tuple[str, ...]
) -> LinearProgram:
    """Append rows."""
    return replace(
        linear,
        matrix=sp.vstack([linear.matrix, matrix], format="csr"),
        row_lower=np.concatenate([linear.row_lower, lower]),
        row_upper=np.concatenate([linear.row_upper, upper]),
        row_names=(*linear.row_names, *names),
    )


def padded(matrix: SparseMatrix, columns: int) -> SparseMatrix:
    """A matrix with empty columns appended up to the given width."""
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))
