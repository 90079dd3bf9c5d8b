"""Stackelberg games with price feedback (problem (1) of the paper), written with linopy.

The leader's model is an ordinary linopy model in which the follower's answer and prices are variables too::

    game = StackelbergGame(follower)
    build = game.leader.add_variables(binary=True, name="build")
    game.raise_right_hand_side("balance", -40 * build)     # the leader's decision enters the follower
    game.leader.add_constraints(game.price("balance") <= 30)
    game.leader.add_objective(25 * build)
    solution = game.solve()
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.bilevel.solution import BilevelSolution, Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.bilevel.verify import Finding
from ppsm.errors import InputError, ModelError
from ppsm.games.follower import Follower
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import ReadModel, read_linopy
from ppsm.program import BilevelProgram
from ppsm.status import Status


@dataclass(frozen=True)
class StandIn:
    """A variable of the leader's model that stands for a price or an answer of the follower."""

    target: str
    is_price: bool


class StackelbergGame:
    """A leader (a linopy MILP) who anticipates a follower (an LP) and its prices.

    Parameters
    ----------
    follower
        The follower; its parameter is fixed for the game.
    parameter
        The parameter vector the follower plays with, its nominal one if not given.
    units
        Units by variable or constraint name, used when the verifier reports a finding.
    """

    def __init__(
        self,
        follower: Follower,
        parameter: ArrayLike | None = None,
        *,
        units: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(follower, Follower):
            raise ModelError(f"the follower is a {type(follower).__name__}; expected a ppsm.Follower.")
        self.follower = follower
        self.leader = linopy.Model()
        self._program = follower.at(parameter)
        self._units = dict(units or {})
        self._stand_ins: dict[str, StandIn] = {}
        self._coupling: dict[str, list[linopy.LinearExpression]] = {}

    def price(self, constraint: str) -> linopy.Variable:
        """The follower's prices of a constraint, as variables of the leader's model (optimistic choice)."""
        positions = self.follower.constraints[constraint]
        return self._stand_in(f"price of {constraint}", StandIn(constraint, is_price=True), positions)

    def response(self, variable: str) -> linopy.Variable:
        """The follower's answer in a variable, as variables of the leader's model."""
        positions = self.follower.variables[variable]
        return self._stand_in(f"response {variable}", StandIn(variable, is_price=False), positions)

    def raise_right_hand_side(self, constraint: str, amount: Any) -> None:
        """Let the leader's decision raise the right-hand side of a follower constraint by ``amount``.

        ``amount`` is a linear expression in the leader's own variables, shaped like the constraint (or a
        scalar for a constraint of one row). Several calls add up.
        """
        self.follower.constraints[constraint]
        if isinstance(amount, linopy.Variable):
            amount = 1 * amount
        if not isinstance(amount, linopy.LinearExpression) or isinstance(amount, linopy.QuadraticExpression):
            raise ModelError(
                f"what raises '{constraint}' is a {type(amount).__name__}; expected a linear expression in "
                "variables of game.leader."
            )
        if amount.model is not self.leader:
            raise ModelError(
                f"what raises '{constraint}' belongs to another model; use variables of game.leader."
            )
        self._coupling.setdefault(constraint, []).append(amount)

    def program(self, parameter: ArrayLike | None = None) -> BilevelProgram:
        """The game in arrays, as it stands now; at another parameter vector if one is given."""
        return self._arrays(parameter)[0]

    def _arrays(self, parameter: ArrayLike | None = None) -> tuple[BilevelProgram, Layout]:
        read = read_linopy(self.leader, "leader")
        columns = LeaderColumns.of(read, self.follower, self._stand_ins)
        coupling, shift = coupling_arrays(self._coupling, self.follower, read, columns)
        own, sign = columns.own, self.follower.sign
        linear = read.program
        program = BilevelProgram.from_arrays(
            follower=(self._program if parameter is None else self.follower.at(parameter)).shifted(shift),
            leader_cost=linear.cost[own],
            response_cost=columns.responses.T @ linear.cost,
            price_cost=sign * (columns.prices.T @ linear.cost),
            offset=linear.offset,
            variable_lower=linear.column_lower[own],
            variable_upper=linear.column_upper[own],
            is_integer=read.is_integer[own],
            variable_names=[linear.column_names[i] for i in np.flatnonzero(own)],
            leader_matrix=linear.matrix[:, own],
            response_matrix=linear.matrix @ columns.responses,
            price_matrix=sign * (linear.matrix @ columns.prices),
            leader_lower=linear.row_lower,
            leader_upper=linear.row_upper,
            leader_row_names=linear.row_names,
            coupling=coupling,
            leader_sign=read.sign,
            follower_sign=sign,
        )
        return program, columns.own_layout(read, self._stand_ins)

    def solve(
        self,
        method: Method | str = Method.AUTO,
        *,
        gap: float = 1e-9,
        time_limit: float = math.inf,
        threads: int = 1,
    ) -> "GameSolution":
        """Solve the game exactly and verify the answer; see :func:`ppsm.solve_bilevel` for the options."""
        program, layout = self._arrays()
        found = solve_bilevel(
            program, method=method, gap=gap, time_limit=time_limit, threads=threads, units=self._units
        )
        return GameSolution(found, layout, self.follower)

    def _stand_in(self, name: str, stand_in: StandIn, positions: xr.DataArray) -> linopy.Variable:
        if name not in self._stand_ins:
            if name in self.leader.variables:
                raise ModelError(
                    f"the leader has a variable named '{name}', which is what the game calls a variable of "
                    "the follower: rename yours."
                )
            self._stand_ins[name] = stand_in
            coords = [positions.indexes.get(dim, range(size)) for dim, size in positions.sizes.items()]
            dims = list(positions.dims)
            mask = None if bool((positions >= 0).all()) else positions >= 0
            self.leader.add_variables(coords=coords, dims=dims, name=name, mask=mask)
        return self.leader.variables[name]


@dataclass(frozen=True, eq=False)
class GameSolution:
    """A verified answer of a game in the shapes of the user's models; ``bilevel`` has the flat vectors."""

    bilevel: BilevelSolution
    _leader: Layout
    _follower: Follower

    @property
    def status(self) -> Status:
        """How much the answer is worth."""
        return self.bilevel.status

    @property
    def objective(self) -> float | None:
        """The leader's objective."""
        return self.bilevel.leader_objective

    @property
    def bound(self) -> float | None:
        """The proven bound on the leader's objective."""
        return self.bilevel.leader_bound

    @property
    def gap(self) -> float | None:
        """Relative distance between the two."""
        return self.bilevel.gap

    @property
    def follower_objective(self) -> float | None:
        """The follower's optimal value at the leader's decision."""
        return self.bilevel.follower_objective

    @property
    def verified(self) -> bool:
        """The independent verifier's verdict."""
        return self.bilevel.verified

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the verifier found, empty for an answer."""
        return self.bilevel.findings

    def variable(self, name: str) -> xr.DataArray:
        """Values of a leader variable."""
        return self._leader.shaped(name, self._there(self.bilevel.variables))

    def response(self, name: str) -> xr.DataArray:
        """Values of a follower variable."""
        return self._follower.variables.shaped(name, self._there(self.bilevel.responses))

    def price(self, name: str) -> xr.DataArray:
        """Prices of a follower constraint, in the sense of the follower's model."""
        return self._follower.constraints.shaped(name, self._follower.sign * self._there(self.bilevel.prices))

    def _there(self, vector: FloatArray) -> FloatArray:
        if not self.status.has_answer:
            why = self.bilevel.explanation or "look at status first"
            raise InputError(f"the game has no answer to read (status '{self.status}'): {why}.")
        return vector


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
