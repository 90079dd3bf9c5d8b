"""Columns of the leader's model: its own variables, and stand-ins for answers and prices of its followers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.games.amounts import Amount
from ppsm.games.followers import Block, Followers
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import ReadModel
from ppsm.program import Products


@dataclass(frozen=True)
class StandIn:
    """A variable of the leader's model that stands for a price or an answer of a follower."""

    block: Block
    is_price: bool


@dataclass(frozen=True, eq=False)
class LeaderColumns:
    """Which columns of the leader's model are its own, and which stand in for the followers'.

    ``responses`` and ``prices`` map the model's columns to the followers' columns and rows.
    """

    read: ReadModel
    own: BoolArray
    responses: SparseMatrix
    prices: SparseMatrix

    @classmethod
    def of(cls, read: ReadModel, followers: Followers, stand_ins: Mapping[str, StandIn]) -> "LeaderColumns":
        """Tell them apart; ``stand_ins`` are those that the game has handed out, by their names."""
        rows, columns = followers.shape
        prices = {name: one.block for name, one in stand_ins.items() if one.is_price}
        answers = {name: one.block for name, one in stand_ins.items() if not one.is_price}
        to_prices = _stand_in_map(read, prices, rows)
        to_responses = _stand_in_map(read, answers, columns)
        taken = np.diff(to_responses.indptr) + np.diff(to_prices.indptr) > 0
        _refuse_bounds(read, taken)
        return cls(read, ~taken, to_responses, to_prices)

    @property
    def own_position(self) -> IntArray:
        """Position of each column among the leader's own, -1 for a stand-in."""
        return np.where(self.own, np.cumsum(self.own) - 1, -1)

    def own_layout(self, stand_ins: Mapping[str, StandIn]) -> Layout:
        """Where the leader's own variables sit in the vector of its decisions."""
        position = np.append(self.own_position, -1)
        blocks = {name: self.read.variables[name] for name in self.read.variables}
        return Layout(
            "leader variable",
            {
                name: block.copy(data=position[block.values])
                for name, block in blocks.items()
                if name not in stand_ins
            },
        )

    def arrays(
        self, amount: Amount, height: int, earlier: BoolArray | None
    ) -> tuple[SparseMatrix, FloatArray]:
        """An amount in arrays; answers in it must be among the earlier ones, if any are allowed at all."""
        matrix, constants = amount.arrays(self.read, height)
        allowed = self.own if earlier is None else self.own | (self.responses @ earlier > 0)
        for column in matrix.indices[~allowed[matrix.indices]][:1]:
            name = self.read.program.column_names[column]
            if earlier is None or not earlier.any():
                raise ModelError(
                    f"{amount.subject} contains '{name}', which a follower decides; expected the leader's "
                    "own variables only."
                )
            raise ModelError(
                f"{amount.subject} contains '{name}'; expected the leader's own variables, and answers of "
                f"followers that act before '{amount.block.seat.name}', only."
            )
        return matrix, constants

    def products(self, row_signs: FloatArray) -> Products:
        """The products in the leader's objective, sorted by what they multiply."""
        hessian, own = self.read.hessian, self.own
        signed_prices = self.prices @ sp.diags_array(row_signs)
        for kind, mask in (
            ("the leader's own", own),
            ("answers", np.diff(self.responses.indptr) > 0),
            ("prices", np.diff(self.prices.indptr) > 0),
        ):
            self._refuse_pairs(kind, np.flatnonzero(mask))
        return Products(
            price_response=signed_prices.T @ hessian @ self.responses,
            price_variable=(signed_prices.T @ hessian)[:, own],
            variable_response=(hessian @ self.responses)[own, :],
        )

    def _refuse_pairs(self, kind: str, columns: IntArray) -> None:
        first, second = self.read.hessian[columns, :][:, columns].nonzero()
        for one, other in zip(columns[first][:1], columns[second][:1], strict=True):
            names = self.read.program.column_names
            raise ModelError(
                f"the leader's objective multiplies '{names[one]}' by '{names[other]}', both {kind}; "
                "expected a price times an answer, a price times an own variable or an own variable times an "
                "answer: leave it out."
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


def _stand_in_map(read: ReadModel, blocks: Mapping[str, Block], width: int) -> SparseMatrix:
    columns, targets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for name, block in blocks.items():
        flat = block.positions.values.ravel()
        columns.append(read.variables.positions(name))
        targets.append(flat[flat >= 0])
    entries = (np.concatenate(columns), np.concatenate(targets))
    return sp.csr_array((np.ones(entries[0].size), entries), shape=(read.program.shape[1], width))
