"""Several followers in one program: who acts before whom.

Columns that share a row, or a product of the curvature, are decided together; every such part is a follower
of its own. Where ``handed_on`` joins two parts, the one decides before the other.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ppsm.arrays import IntArray
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram


@dataclass(frozen=True, eq=False)
class Turn:
    """Rows and columns of the followers that act at the same time."""

    rows: IntArray
    columns: IntArray


def turns_of(program: BilevelProgram) -> tuple[Turn, ...]:
    """The turns of a program, first to last; an error where nobody can be first."""
    rows, columns = program.follower.shape
    if not program.handed_on.nnz:
        return (Turn(np.arange(rows), np.arange(columns)),)
    nothing = sp.csr_array((rows + columns, rows))
    joins = sp.hstack([nothing, sp.vstack([program.follower.matrix, program.curvature])], format="csr")
    count, part = connected_components(joins, directed=False)
    later, earlier = program.handed_on.nonzero()
    before = np.unique(np.column_stack([part[rows + earlier], part[later]]), axis=0)
    turn = np.zeros(count, dtype=np.int64)
    for _ in range(count + 1):
        wanted = turn.copy()
        np.maximum.at(wanted, before[:, 1], turn[before[:, 0]] + 1)
        if (wanted == turn).all():
            break
        turn = wanted
    else:
        name = program.follower.column_names[int(earlier[0])]
        raise ModelError(
            f"followers wait for each other: what '{name}' hands on comes back to it; expected followers "
            "that act in turn."
        )
    of_row, of_column = turn[part[:rows]], turn[part[rows:]]
    return tuple(
        Turn(np.flatnonzero(of_row == number), np.flatnonzero(of_column == number))
        for number in range(int(turn.max()) + 1)
    )
