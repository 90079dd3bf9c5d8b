"""The followers of a game side by side, in the order in which they act, and what the leader adds to them.

They share one set of rows and columns; amounts raise right-hand sides and costs, entry by entry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.errors import InputError, ModelError
from ppsm.games.follower import Follower
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import ReadModel
from ppsm.program import BilevelProgram, LinearProgram

# What a follower is called where there is only one.
ONLY = "follower"

Kind = Literal["variable", "constraint"]


@dataclass(frozen=True, eq=False)
class Seat:
    """One follower: its turn, and where its rows and columns are among those of all."""

    name: str
    turn: int
    follower: Follower
    rows: slice
    columns: slice

    def layout(self, kind: Kind) -> Layout:
        """Its variables or its constraints."""
        return self.follower.variables if kind == "variable" else self.follower.constraints

    def first(self, kind: Kind) -> int:
        """Where they begin."""
        return int(self.columns.start if kind == "variable" else self.rows.start)


@dataclass(frozen=True, eq=False)
class Block:
    """A named block of one follower; ``label`` has the follower's name where others use the block's too."""

    label: str
    seat: Seat
    positions: xr.DataArray


class Followers:
    """Followers that act in turn, or one; ``game.price("balance", of="gas")`` finds its block here."""

    def __init__(self, given: Follower | Mapping[str, Follower]) -> None:
        named = dict(given) if isinstance(given, Mapping) else {ONLY: given}
        if not named:
            raise ModelError("the game has no follower; expected at least one.")
        for name, follower in named.items():
            who = f"the follower '{name}'" if isinstance(given, Mapping) else "the follower"
            if not isinstance(follower, Follower):
                raise ModelError(f"{who} is a {type(follower).__name__}; expected a ppsm.Follower.")
        rows, columns = np.cumsum([(0, 0), *(one.program.shape for one in named.values())], axis=0).T
        self.seats = tuple(
            Seat(
                str(name),
                turn,
                follower,
                slice(int(rows[turn]), int(rows[turn + 1])),
                slice(int(columns[turn]), int(columns[turn + 1])),
            )
            for turn, (name, follower) in enumerate(named.items())
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of all."""
        return int(self.seats[-1].rows.stop), int(self.seats[-1].columns.stop)

    @property
    def only(self) -> Follower:
        """The follower of a game that has one."""
        return self.seat(None).follower

    @property
    def sign(self) -> float:
        """The sense that all share: -1 where every one of them maximises."""
        return -1.0 if all(seat.follower.sign < 0 for seat in self.seats) else 1.0

    @cached_property
    def row_signs(self) -> FloatArray:
        """The sense of each row's follower."""
        return np.concatenate([np.full(s.follower.program.shape[0], s.follower.sign) for s in self.seats])

    @cached_property
    def column_signs(self) -> FloatArray:
        """The sense of each column's follower."""
        return np.concatenate([np.full(s.follower.program.shape[1], s.follower.sign) for s in self.seats])

    @cached_property
    def column_turns(self) -> IntArray:
        """The turn of each column's follower."""
        return np.concatenate([np.full(s.follower.program.shape[1], s.turn) for s in self.seats])

    @cached_property
    def curvature(self) -> SparseMatrix:
        """The curvature of all; no product joins two followers."""
        return sp.csr_array(sp.block_diag([seat.follower.curvature for seat in self.seats]))

    def seat(self, of: str | None) -> Seat:
        """A follower by its name, which may be left out where there is only one."""
        listed = ", ".join(f"'{seat.name}'" for seat in self.seats)
        if of is None:
            if len(self.seats) == 1:
                return self.seats[0]
            raise InputError(f"the game has the followers {listed}; expected one of them: say which by of=.")
        for seat in self.seats:
            if seat.name == of:
                return seat
        raise InputError(f"there is no follower named '{of}'; expected one of: {listed}.")

    def block(self, kind: Kind, name: str, of: str | None) -> Block:
        """A block of variables or constraints, by its name and, where several have it, its follower's."""
        owners = [seat for seat in self.seats if name in seat.layout(kind).blocks]
        if of is None and len(self.seats) > 1 and len(owners) != 1:
            raise InputError(self._whose(kind, name, owners))
        seat = owners[0] if of is None and len(owners) == 1 else self.seat(of)
        positions = seat.layout(kind)[name]
        moved = np.where(positions.values >= 0, positions.values + seat.first(kind), -1)
        label = f"{seat.name} {name}" if len(owners) > 1 else name
        return Block(label, seat, positions.copy(data=moved))

    def _whose(self, kind: Kind, name: str, owners: list[Seat]) -> str:
        if owners:
            listed = " and ".join(f"'{seat.name}'" for seat in owners)
            return f"'{name}' is a {kind} of {listed}; expected one of them: say whose by of=."
        known = [f"'{block}' of '{seat.name}'" for seat in self.seats for block in seat.layout(kind)]
        return f"no follower has a {kind} named '{name}'; expected one of: {', '.join(known[:12])}."

    def at(self, given: Mapping[str, ArrayLike]) -> LinearProgram:
        """All of them as one program; parameters by name, nominal where none is given."""
        first, *others = (seat.follower.at(given.get(seat.name)) for seat in self.seats)
        if not others:
            return first
        names = {kind: self._entry_names(kind) for kind in ("constraint", "variable")}
        return replace(first.stacked(*others), row_names=names["constraint"], column_names=names["variable"])

    def by_name(self, parameter: ArrayLike | Mapping[str, ArrayLike] | None) -> dict[str, FloatArray]:
        """Parameter vectors by follower, checked; one without a name is that of the only follower."""
        if parameter is None:
            return {}
        if not isinstance(parameter, Mapping):
            parameter = {self.seat(None).name: parameter}
        return {name: self.seat(name).follower.checked(vector) for name, vector in parameter.items()}

    def objectives(self, program: BilevelProgram, x: FloatArray, y: FloatArray) -> dict[str, float]:
        """What its answer is worth to each follower, in the sense of its own model."""
        each = (program.follower.cost + program.cost_coupling @ x + 0.5 * (program.curvature @ y)) * y
        return {
            seat.name: seat.follower.sign * float(each[seat.columns].sum() + seat.follower.program.offset)
            for seat in self.seats
        }

    def _entry_names(self, kind: Kind) -> tuple[str, ...]:
        """Names of all rows or columns, those of blocks that several have with their follower's."""
        names = []
        for seat in self.seats:
            program = seat.follower.program
            own = list(program.column_names if kind == "variable" else program.row_names)
            for name in seat.layout(kind):
                label = self.block(kind, name, seat.name).label
                for position in seat.layout(kind).positions(name):
                    own[position] = label + own[position].removeprefix(name)
            names.extend(own)
        return tuple(names)


@dataclass(frozen=True, eq=False)
class Amount:
    """An expression that raises a block: the right-hand sides of a constraint, the costs of a variable."""

    kind: Kind
    block: Block
    expression: linopy.LinearExpression

    @classmethod
    def of(cls, kind: Kind, block: Block, given: Any, leader: linopy.Model) -> Self:
        """Check that it is linear, of the leader's model, and that its index is the block's."""
        subject = _subject(kind, block)
        amount = 1 * given if isinstance(given, linopy.Variable) else given
        if not isinstance(amount, linopy.LinearExpression) or isinstance(amount, linopy.QuadraticExpression):
            raise ModelError(
                f"{subject} is a {type(amount).__name__}; expected a linear expression in variables of "
                "game.leader."
            )
        if amount.model is not leader:
            raise ModelError(f"{subject} belongs to another model; use variables of game.leader.")
        made = cls(kind, block, amount)
        made._check_index()
        return made

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
            known = ", ".join(f"'{dim}'" for dim in positions.dims) or "none"
            raise ModelError(
                f"{self.subject} has the dimension '{min(map(str, extra))}', which the {self.kind} lacks; "
                f"use its own (here: {known}), or sum over it first."
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
