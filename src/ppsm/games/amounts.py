"""What a leader adds to right-hand sides and costs of its followers: linear expressions, entry by entry."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.games.followers import Block, Kind
from ppsm.games.linopy_reader import ReadModel


@dataclass(frozen=True, eq=False)
class Amount:
    """An expression that raises a block: the right-hand sides of a constraint, the costs of a variable."""

    kind: Kind
    block: Block
    expression: linopy.LinearExpression

    @classmethod
    def of(cls, kind: Kind, block: Block, given: Any, leader: linopy.Model) -> Self:
        """Check that it is linear and of the leader's model; its index is checked when the game is solved."""
        subject = _subject(kind, block)
        amount = 1 * given if isinstance(given, linopy.Variable) else given
        if not isinstance(amount, linopy.LinearExpression) or isinstance(amount, linopy.QuadraticExpression):
            raise ModelError(
                f"{subject} is a {type(amount).__name__}; expected a linear expression in variables of "
                "game.leader."
            )
        if amount.model is not leader:
            raise ModelError(f"{subject} belongs to another model; use variables of game.leader.")
        return cls(kind, block, amount)

    @property
    def subject(self) -> str:
        """How errors begin."""
        return _subject(self.kind, self.block)

    def arrays(self, read: ReadModel, height: int) -> tuple[SparseMatrix, FloatArray]:
        """Factors of the leader's columns in each row (or column) of the followers, and constants."""
        targets, labels, factors, constants = self._aligned()
        shift = np.zeros(height)
        np.add.at(shift, targets, constants)
        there = (labels >= 0) & (factors != 0)
        entry_rows = np.broadcast_to(targets[:, None], labels.shape)[there]
        entries = (factors[there], (entry_rows, read.column_of_label(labels[there])))
        return sp.csr_array(entries, shape=(height, read.program.shape[1])), shift

    def _check_index(self) -> None:
        positions, terms = self.block.positions, self.expression.vars
        extra = set(terms.dims) - set(positions.dims) - {"_term"}
        if extra:
            raise ModelError(
                f"{self.subject} has the dimension '{extra.pop()}', which the {self.kind} lacks; "
                "sum over it first."
            )
        for dim in positions.dims:
            if dim in terms.coords:
                strange = set(terms.coords[dim].values) - set(positions.coords[dim].values)
                if strange:
                    raise ModelError(
                        f"{self.subject} has the entry '{strange.pop()}' in '{dim}', which the {self.kind} "
                        f"lacks; use the {self.kind}'s own index."
                    )

    def _aligned(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Positions, variable labels, coefficients and constants, entry by entry of the block."""
        self._check_index()
        positions, amount = self.block.positions, self.expression
        data = xr.Dataset({"vars": amount.vars, "coeffs": amount.coeffs, "const": amount.const})
        # Entries of the block that the amount does not mention get no term (label -1, coefficient 0).
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
            raise ModelError(f"{self.subject} holds NaN or infinite numbers; mend the data.")
        return positions.values.ravel()[present], labels, factors, constants


def _subject(kind: Kind, block: Block) -> str:
    return f"what raises {'the cost of ' if kind == 'variable' else ''}'{block.label}'"


def total(
    amounts: Iterable[tuple[SparseMatrix, FloatArray]], height: int, width: int
) -> tuple[SparseMatrix, FloatArray]:
    """The sum of amounts in arrays."""
    matrix: SparseMatrix = sp.csr_array((height, width))
    shift = np.zeros(height)
    for factors, constants in amounts:
        matrix, shift = sp.csr_array(matrix + factors), shift + constants
    return matrix, shift
