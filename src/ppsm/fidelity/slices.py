"""A constraint matrix cut into what a QP wants: free columns, equalities, inequalities.

The cut of a search's root comes back for every vector that is restored against one follower, so it is kept,
with a solver that has analysed it.
"""

from dataclasses import dataclass, field

import numpy as np

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.solvers.qp import QpWorkspace


@dataclass(frozen=True, eq=False)
class MatrixPart:
    """The free columns of the equalities and of the inequalities that limit anything."""

    columns: IntArray
    equalities: IntArray
    inequalities: IntArray
    equality: SparseMatrix
    rows: SparseMatrix
    workspace: QpWorkspace = field(default_factory=QpWorkspace)


class SlicedMatrix:
    """A matrix and the part that was last asked to be kept."""

    def __init__(self, matrix: SparseMatrix) -> None:
        self.matrix = matrix
        self._kept: tuple[bytes, MatrixPart] | None = None

    def part(
        self, fixed: BoolArray, row_lower: FloatArray, row_upper: FloatArray, *, keep: bool
    ) -> MatrixPart:
        """The part without the fixed columns, with the rows sorted by what their bounds say."""
        is_equality = row_lower == row_upper
        limits = np.isfinite(row_lower) | np.isfinite(row_upper)
        key = fixed.tobytes() + is_equality.tobytes() + limits.tobytes()
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        columns = np.flatnonzero(~fixed)
        equalities, inequalities = np.flatnonzero(is_equality), np.flatnonzero(~is_equality & limits)
        kept = self.matrix[:, columns] if fixed.any() else self.matrix
        part = MatrixPart(columns, equalities, inequalities, kept[equalities, :], kept[inequalities, :])
        if keep:
            self._kept = key, part
        return part
