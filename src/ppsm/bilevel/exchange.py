"""Bilevel instances as the libraries exchange them: an MPS file and an auxiliary file beside it.

The MPS file holds the leader's objective and the columns and rows of both levels; the auxiliary file says
which of them are the follower's, and the follower's costs. See :mod:`ppsm.bilevel.mps` and
:mod:`ppsm.bilevel.aux_file` for the two formats and for what is refused.
"""

from pathlib import Path

import numpy as np

from ppsm.bilevel.aux_file import LowerLevel, read_aux
from ppsm.bilevel.mps import MpsModel, read_mps
from ppsm.errors import ModelError
from ppsm.program import BilevelProgram, LinearProgram


def read_bilevel(mps_path: str | Path, aux_path: str | Path) -> BilevelProgram:
    """Read a bilevel program from an MPS file (plain or gzipped) and its auxiliary file."""
    model = read_mps(mps_path)
    lower = read_aux(aux_path, model)
    integers = [model.column_names[column] for column in lower.columns if model.is_integer[column]]
    if integers:
        listed = ", ".join(f"'{name}'" for name in integers[:5]) + (", ..." if len(integers) > 5 else "")
        raise ModelError(
            f"{mps_path}: the lower-level columns {listed} are integer; "
            "expected a follower that is a linear program: this method needs its dual."
        )
    return bilevel_program(model, lower)


def bilevel_program(model: MpsModel, lower: LowerLevel) -> BilevelProgram:
    """Split a model into leader and follower; costs turn their sign where a level maximises."""
    y, rows = np.array(lower.columns, dtype=np.int64), np.array(lower.rows, dtype=np.int64)
    x = np.setdiff1d(np.arange(len(model.column_names)), y)
    others = np.setdiff1d(np.arange(len(model.row_names)), rows)
    leader_sign = -1.0 if model.maximise else 1.0
    follower_sign = -1.0 if lower.maximise else 1.0
    follower = LinearProgram.from_arrays(
        cost=follower_sign * np.array(lower.costs) + 0.0,
        matrix=model.matrix[rows][:, y],
        row_lower=model.row_lower[rows],
        row_upper=model.row_upper[rows],
        column_lower=model.column_lower[y],
        column_upper=model.column_upper[y],
        row_names=[model.row_names[row] for row in rows],
        column_names=[model.column_names[column] for column in y],
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        # Adding zero turns the minus zeros of a sign change back.
        leader_cost=leader_sign * model.cost[x] + 0.0,
        response_cost=leader_sign * model.cost[y] + 0.0,
        offset=leader_sign * model.offset + 0.0,
        variable_lower=model.column_lower[x],
        variable_upper=model.column_upper[x],
        is_integer=model.is_integer[x],
        variable_names=[model.column_names[column] for column in x],
        leader_matrix=model.matrix[others][:, x],
        response_matrix=model.matrix[others][:, y],
        leader_lower=model.row_lower[others],
        leader_upper=model.row_upper[others],
        leader_row_names=[model.row_names[row] for row in others],
        coupling=model.matrix[rows][:, x],
        leader_sign=leader_sign,
        follower_sign=follower_sign,
    )
