"""The leader's side of a linopy game: which columns are its own, and how its decisions enter the follower."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.game.follower import Follower
from ppsm.game.layout import Layout
from ppsm.game.linopy_reader import ReadModel

PRICE = "price of "
RESPONSE = "response "


@dataclass(frozen=True, eq=False)
class LeaderColumns:
    """Which columns of the leader's model are its own, and which stand in for the follower's.

    ``responses`` and ``prices`` map the model's columns to the follower's columns and rows.
    """

    own: BoolArray
    responses: SparseMatrix
    prices: SparseMatrix

    @classmethod
    def of(cls, read: ReadModel, follower: Follower) -> "LeaderColumns":
        """Tell them apart by the names of the stand-ins."""
        rows, columns = follower.program.shape
        responses = _stand_ins(read, RESPONSE, follower.variables, columns)
        prices = _stand_ins(read, PRICE, follower.constraints, rows)
        taken = np.diff(responses.indptr) + np.diff(prices.indptr)
        return cls(taken == 0, responses, prices)

    @property
    def own_position(self) -> IntArray:
        """Position of each column among the leader's own, -1 for a stand-in."""
        return np.where(self.own, np.cumsum(self.own) - 1, -1)

    def own_layout(self, read: ReadModel) -> Layout:
        """Where the leader's own variables sit in the vector of its decisions."""
        position = np.append(self.own_position, -1)
        blocks = {name: read.variables[name] for name in read.variables}
        return Layout(
            "leader variable",
            {
                name: block.copy(data=position[block.values])
                for name, block in blocks.items()
                if not name.startswith((PRICE, RESPONSE))
            },
        )


def _stand_ins(read: ReadModel, prefix: str, layout: Layout, width: int) -> SparseMatrix:
    columns, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for block in (name for name in read.variables if name.startswith(prefix)):
        columns.append(read.variables.positions(block))
        targets.append(layout.positions(block.removeprefix(prefix)))
    entries = (np.concatenate(columns), np.concatenate(targets))
    return sp.csr_array((np.ones(entries[0].size), entries), shape=(read.program.shape[1], width))


def coupling_arrays(
    amounts: Mapping[str, Iterable[linopy.LinearExpression]],
    follower: Follower,
    read: ReadModel,
    columns: LeaderColumns,
) -> tuple[SparseMatrix, FloatArray]:
    """The coupling matrix (negative: amounts stand on the right) and how far the constants shift the rows."""
    rows = follower.program.shape[0]
    shift = np.zeros(rows)
    coupling: SparseMatrix = sp.csr_array((rows, read.program.shape[1]))
    for constraint, expressions in amounts.items():
        for amount in expressions:
            target, labels, factors, constants = _aligned(constraint, follower, amount)
            np.add.at(shift, target, constants)
            there = (labels >= 0) & (factors != 0)
            entry_rows = np.broadcast_to(target[:, None], labels.shape)[there]
            entries = (-factors[there], (entry_rows, read.column_of_label(labels[there])))
            coupling = coupling + sp.csr_array(entries, shape=coupling.shape)
            if np.isin(coupling.indices, np.flatnonzero(~columns.own)).any():
                raise ModelError(
                    f"what raises '{constraint}' contains the follower's own answer or prices; expected the "
                    "leader's own variables only."
                )
    return coupling[:, columns.own], shift


def _check_index(constraint: str, positions: xr.DataArray, amount: linopy.LinearExpression) -> None:
    extra = set(amount.vars.dims) - set(positions.dims) - {"_term"}
    if extra:
        raise ModelError(
            f"what raises '{constraint}' has the dimension '{extra.pop()}', which the constraint lacks; "
            "sum over it first."
        )
    for dim in positions.dims:
        if dim in amount.vars.coords:
            strange = set(amount.vars.coords[dim].values) - set(positions.coords[dim].values)
            if strange:
                raise ModelError(
                    f"what raises '{constraint}' has the entry '{strange.pop()}' in '{dim}', which the "
                    "constraint lacks; use the constraint's own index."
                )


def _aligned(
    constraint: str, follower: Follower, amount: linopy.LinearExpression
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Rows, variable labels, coefficients and constants of an amount, entry by entry of its constraint."""
    positions = follower.constraints[constraint]
    _check_index(constraint, positions, amount)
    data = xr.Dataset({"vars": amount.vars, "coeffs": amount.coeffs, "const": amount.const})
    # Entries of the constraint that the amount does not mention get no term (label -1, coefficient 0).
    filled = data.reindex_like(positions, fill_value={"vars": -1, "coeffs": 0.0, "const": 0.0})
    terms = filled.sizes["_term"]

    def flat(values: xr.DataArray, width: int) -> FloatArray:
        shape = values.broadcast_like(positions)
        order = [*positions.dims, *(["_term"] if "_term" in shape.dims else [])]
        return np.asarray(shape.transpose(*order).values).reshape(-1, width)

    present = positions.values.ravel() >= 0
    return (
        positions.values.ravel()[present],
        flat(filled["vars"], terms)[present].astype(np.int64),
        np.nan_to_num(flat(filled["coeffs"], terms)[present]),
        flat(filled["const"], 1)[present].ravel(),
    )
