"""Stackelberg games with price feedback (problem (1) of the paper), written with linopy.

The leader's model is an ordinary linopy model in which the follower's answer and prices are variables too::

    game = StackelbergGame(follower)
    build = game.leader.add_variables(binary=True, name="build")
    game.raise_right_hand_side("balance", -40 * build)     # the leader's decision enters the follower
    game.leader.add_constraints(game.price("balance") <= 30)
    game.leader.add_objective(25 * build)
    solution = game.solve()

Several followers act in turn: ``StackelbergGame({"power": power, "gas": gas})``, ``game.price("balance",
of="gas")``; what raises a right-hand side of a later one may contain answers of earlier ones.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import ModelError
from ppsm.games.follower import Follower
from ppsm.games.game_solution import GameSolution
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import ReadModel, read_linopy
from ppsm.games.several_followers import Amount, Block, Followers, Kind, total
from ppsm.program import BilevelProgram, Products


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


class StackelbergGame:
    """A leader (a linopy MILP) who anticipates one or more followers and their prices.

    Parameters
    ----------
    follower
        The follower; or a mapping of names to followers, in the order in which they act. Their parameters
        are fixed for the game.
    parameter
        The parameter vector the follower plays with, its nominal one if not given; with several followers a
        mapping of their names to vectors.
    units
        Units by variable or constraint name, used when the verifier reports a finding. A name that several
        followers use has its follower's before it, as in ``"gas balance"``.
    """

    def __init__(
        self,
        follower: Follower | Mapping[str, Follower],
        parameter: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.followers = Followers(follower)
        self.leader = linopy.Model()
        self._parameters = self.followers.by_name(parameter)
        self._units = dict(units or {})
        self._stand_ins: dict[str, StandIn] = {}
        self._raised: dict[Kind, list[Amount]] = {"constraint": [], "variable": []}

    def __repr__(self) -> str:
        own = [name for name in self.leader.variables if name not in self._stand_ins]
        names = ", ".join(f"'{name}'" for name in own) or "nothing yet"
        answering = ", ".join(seat.name for seat in self.followers.seats)
        return f"<StackelbergGame: the leader decides {names}; then {answering}>"

    @property
    def follower(self) -> Follower:
        """The follower of a game that has only one."""
        return self.followers.only

    def price(self, constraint: str, *, of: str | None = None) -> linopy.Variable:
        """The prices of a follower's constraint, as variables of the leader's model (optimistic choice).

        ``of`` is the follower's name, needed where several have a constraint of that name.
        """
        block = self.followers.block("constraint", constraint, of)
        return self._stand_in(f"price of {block.label}", StandIn(block, is_price=True))

    def response(self, variable: str, *, of: str | None = None) -> linopy.Variable:
        """A follower's answer in a variable, as variables of the leader's model."""
        block = self.followers.block("variable", variable, of)
        return self._stand_in(f"response {block.label}", StandIn(block, is_price=False))

    def raise_right_hand_side(self, constraint: str, amount: Any, *, of: str | None = None) -> None:
        """Let the leader's decision raise the right-hand side of a follower's constraint by ``amount``.

        ``amount`` is a linear expression in the leader's own variables, and in answers of followers that act
        before this one, with the constraint's dimensions or some of them: one without dimensions raises every
        row. Several calls add up.
        """
        self._raise("constraint", self.followers.block("constraint", constraint, of), amount)

    def raise_cost(self, variable: str, amount: Any, *, of: str | None = None) -> None:
        """Let the leader's decision raise the cost of a follower's variable by ``amount``.

        That is its coefficient in the objective of the follower's own model: where the follower maximises,
        more of it makes the variable more attractive. ``amount`` is a linear expression in the leader's own
        variables, with the variable's dimensions or some of them. Several calls add up.
        """
        self._raise("variable", self.followers.block("variable", variable, of), amount)

    def _raise(self, kind: Kind, block: Block, amount: Any) -> None:
        self._raised[kind].append(Amount.of(kind, block, amount, self.leader))

    def program(self, parameter: ArrayLike | Mapping[str, ArrayLike] | None = None) -> BilevelProgram:
        """The game in arrays, as it stands now; at other parameter vectors where they are given."""
        return self._arrays(parameter)[0]

    def _arrays(
        self, parameter: ArrayLike | Mapping[str, ArrayLike] | None = None
    ) -> tuple[BilevelProgram, Layout]:
        read = read_linopy(self.leader, "leader", quadratic=True)
        columns = LeaderColumns.of(read, self.followers, self._stand_ins)
        rows_raised, shift = self._raised_rows(columns)
        costs_raised, more = self._raised_costs(columns)
        given = {**self._parameters, **self.followers.by_name(parameter)}
        market = self.followers.at(given).shifted(shift)
        linear, own, signs = read.program, columns.own, self.followers.row_signs
        program = BilevelProgram.from_arrays(
            follower=replace(market, cost=market.cost + more),
            leader_cost=linear.cost[own],
            response_cost=columns.responses.T @ linear.cost,
            price_cost=signs * (columns.prices.T @ linear.cost),
            products=columns.products(signs),
            offset=linear.offset,
            variable_lower=linear.column_lower[own],
            variable_upper=linear.column_upper[own],
            is_integer=read.is_integer[own],
            variable_names=[linear.column_names[i] for i in np.flatnonzero(own)],
            leader_matrix=linear.matrix[:, own],
            response_matrix=linear.matrix @ columns.responses,
            price_matrix=linear.matrix @ columns.prices @ sp.diags_array(signs),
            leader_lower=linear.row_lower,
            leader_upper=linear.row_upper,
            leader_row_names=linear.row_names,
            # Amounts stand on the right of the follower's rows.
            coupling=-rows_raised[:, own],
            handed_on=-(rows_raised @ columns.responses),
            cost_coupling=costs_raised[:, own],
            curvature=self.followers.curvature,
            leader_sign=read.sign,
            follower_sign=self.followers.sign,
        )
        return program, columns.own_layout(self._stand_ins)

    def _raised_rows(self, columns: LeaderColumns) -> tuple[SparseMatrix, FloatArray]:
        height, turns = self.followers.shape[0], self.followers.column_turns
        parts = (
            columns.arrays(amount, height, turns < amount.block.seat.turn)
            for amount in self._raised["constraint"]
        )
        return total(parts, height, columns.own.size)

    def _raised_costs(self, columns: LeaderColumns) -> tuple[SparseMatrix, FloatArray]:
        """In the sense of the minimisation: a follower that maximises has the negative of what was said."""
        height, signs = self.followers.shape[1], self.followers.column_signs
        parts = (columns.arrays(amount, height, None) for amount in self._raised["variable"])
        matrix, constants = total(parts, height, columns.own.size)
        return sp.csr_array(sp.diags_array(signs) @ matrix), signs * constants

    def solve(
        self,
        method: Method | str = Method.AUTO,
        *,
        gap: float = 1e-9,
        time_limit: float = math.inf,
        threads: int = 1,
        confirm: bool = False,
    ) -> "GameSolution":
        """Solve the game exactly and verify the answer; see :func:`ppsm.solve_bilevel` for the options."""
        program, layout = self._arrays()
        found = solve_bilevel(
            program,
            method=method,
            gap=gap,
            time_limit=time_limit,
            threads=threads,
            confirm=confirm,
            units=self._units,
        )
        return GameSolution(found, layout, self.followers)

    def _stand_in(self, name: str, stand_in: StandIn) -> linopy.Variable:
        if name not in self._stand_ins:
            if name in self.leader.variables:
                raise ModelError(
                    f"the leader has a variable named '{name}', which is what the game calls a variable of "
                    "the follower: rename yours."
                )
            self._stand_ins[name] = stand_in
            positions = stand_in.block.positions
            coords = [positions.indexes.get(dim, range(size)) for dim, size in positions.sizes.items()]
            dims = list(positions.dims)
            mask = None if bool((positions >= 0).all()) else positions >= 0
            self.leader.add_variables(coords=coords, dims=dims, name=name, mask=mask)
        return self.leader.variables[name]
