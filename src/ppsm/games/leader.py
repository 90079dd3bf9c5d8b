"""The leader's side of a linopy game: which columns are its own, and how its decisions enter the follower."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.games.follower import Follower
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import ReadModel


@dataclass(frozen=True)
class StandIn:
    """A variable of the leader's model that stands for a price or an answer of the follower."""

    target: str
    is_price: bool


@dataclass(frozen=True, eq=False)
class LeaderColumns:
    """Which columns of the leader's model are its own, and which stand in for the follower's.

    ``responses`` and ``prices`` map the model's columns to the follower's columns and rows.
    """

    own: BoolArray
    responses: SparseMatrix
    prices: SparseMatrix

    @classmethod
    def of(cls, read: ReadModel, follower: Follower, stand_ins: Mapping[str, StandIn]) -> "LeaderColumns":
        """Tell them apart; ``stand_ins`` are those that the game has handed out, by their names."""
        rows, columns = follower.program.shape
        prices = {name: one.target for name, one in stand_ins.items() if one.is_price}
        answers = {name: one.target for name, one in stand_ins.items() if not one.is_price}
        to_prices = _stand_in_map(read, prices, follower.constraints, rows)
        to_responses = _stand_in_map(read, answers, follower.variables, columns)
        taken = np.diff(to_responses.indptr) + np.diff(to_prices.indptr) > 0
        _refuse_bounds(read, taken)
        return cls(~taken, to_responses, to_prices)

    @property
    def own_position(self) -> IntArray:
        """Position of each column among the leader's own, -1 for a stand-in."""
        return np.where(self.own, np.cumsum(self.own) - 1, -1)

    def own_layout(self, read: ReadModel, stand_ins: Mapping[str, StandIn]) -> Layout:
        """Where the leader's own variables sit in the vector of its decisions."""
        position = np.append(self.own_position, -1)
        blocks = {name: read.variables[name] for name in read.variables}
        return Layout(
            "leader variable",
            {
                name: block.copy(data=position[block.values])
                for name, block in blocks.items()
                if name not in stand_ins
            },
        )


def _refuse_bounds(read: ReadModel, taken: BoolArray) -> None:
    """Bounds set on a stand-in would be lost, as it is no variable of the leader's."""
    program = read.program
    bounded = taken & (np.isfinite(program.column_lower) | np.isfinite(program.column_upper))
    for column in np.flatnonzero(bounded)[:1]:
        raise ModelError(
            f"'{program.column_names[column]}' has bounds; expected none, as the follower decides it: write "
            "them as constraints of game.leader."
        )


def _stand_in_map(read: ReadModel, targets_of: Mapping[str, str], layout: Layout, width: int) -> SparseMatrix:
    columns, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for name, target in targets_of.items():
        columns.append(read.variables.positions(name))
        targets.append(layout.positions(target))
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
    labels = flat(filled["vars"], terms)[present].astype(np.int64)
    # Terms without a variable (label -1) are padding, whatever their coefficient says.
    factors = np.where(labels >= 0, flat(filled["coeffs"], terms)[present], 0.0)
    constants = flat(filled["const"], 1)[present].ravel()
    if not (np.isfinite(factors).all() and np.isfinite(constants).all()):
        raise ModelError(f"what raises '{constraint}' holds NaN or infinite numbers; mend the data.")
    return positions.values.ravel()[present], labels, factors, constants
