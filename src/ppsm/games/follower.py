"""The follower: a linear program whose right-hand side moves with a declared parameter vector.

Its cost may have a convex quadratic part, as the cost curves of power markets do; it has prices all the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike

from ppsm.arrays import (
    FloatArray,
    IntArray,
    SparseMatrix,
    as_numbers,
    frozen_matrix,
    frozen_vector,
    unique_names,
)
from ppsm.errors import InputError, ModelError
from ppsm.games.front_ends import ReadFollower, read_mps_program, refuse_integers
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import read_linopy, read_network
from ppsm.labels import VectorLike, aligned
from ppsm.program import LinearProgram
from ppsm.program.two_level import convex
from ppsm.solvers.conflict import Conflict, find_conflict
from ppsm.solvers.highs import HIGHS, PersistentLp
from ppsm.solvers.qp import solve_convex
from ppsm.solvers.tuning import TUNING
from ppsm.status import Status
from ppsm.views import View, Viewed


@dataclass(frozen=True, eq=False, repr=False)
class FollowerOutcome(Viewed):
    """What the follower does at one parameter vector; value and prices are in the sense of the user's model.

    Printed, it shows its prices, and nothing from which the parameter could be read. Vectors are empty unless
    the status is ``PROVEN_OPTIMAL``; :meth:`conflict` then says why.
    """

    follower: "Follower"
    parameter: FloatArray
    status: Status
    value: float
    responses: FloatArray
    prices: FloatArray
    reduced_costs: FloatArray
    solver: str = HIGHS

    def response(self, name: str) -> xr.DataArray:
        """Optimal values of a variable, in its shape."""
        return self.follower.variables.shaped(name, self._there(self.responses))

    def price(self, name: str) -> xr.DataArray:
        """Prices of a constraint, in its shape (signs: see :mod:`ppsm.program`)."""
        return self.follower.constraints.shaped(name, self._there(self.prices))

    def __repr__(self) -> str:
        return f"<FollowerOutcome: {self.status}, parameter hidden>"

    def _view(self) -> View:
        rows = self.follower.constraints.summary(self.prices) if self.status.has_answer else []
        return View(f"follower {self.status}", rows, ("constraint", "price") if rows else ())

    def conflict(self) -> Conflict | None:
        """Constraints that cannot hold together, where the follower is infeasible."""
        return find_conflict(self.follower.at(self.parameter))

    def _there(self, vector: FloatArray) -> FloatArray:
        if not self.status.has_answer:
            raise InputError(
                f"the follower is {self.status} at this parameter, so it has neither answer nor prices; "
                "look at status and conflict() first."
            )
        return vector


@dataclass(frozen=True, eq=False, repr=False)
class Follower:
    """``V(d) = min c'x + 1/2 x'Hx  s.t.  row_lower + F d <= A x <= row_upper + F d,  column bounds``.

    ``program`` holds the rows at ``d = 0`` and ``nominal`` the parameter that the model was written with.
    ``curvature`` is H, mostly zero. The matrices of a linear follower live in HiGHS after the first
    :meth:`solve`; later ones change right-hand sides and start warm.
    """

    program: LinearProgram
    parameter_map: SparseMatrix
    parameter_names: tuple[str, ...]
    nominal: FloatArray
    variables: Layout
    constraints: Layout
    parameters: Layout
    curvature: SparseMatrix
    sign: float = 1.0

    @classmethod
    def from_linopy(cls, model: linopy.Model, parameter: str | Sequence[str]) -> Self:
        """Take a follower from a linopy model; the right-hand side of ``parameter`` moves.

        A quadratic objective must be convex where the model minimises, concave where it maximises.
        """
        read = read_linopy(model, "follower", quadratic=True)
        refuse_integers(read.program.column_names, read.is_integer)
        curvature = convex(read.hessian, read.program.column_names, read.sign)
        return cls._by_names(read.program, parameter, read.variables, read.constraints, read.sign, curvature)

    @classmethod
    def from_program(
        cls,
        program: LinearProgram,
        parameter: Iterable[str] | None = None,
        *,
        parameter_map: Any = None,
        nominal: ArrayLike | None = None,
        parameter_names: Iterable[str] | None = None,
        curvature: Any = None,
    ) -> Self:
        """Take a follower from arrays.

        Either name the rows whose right-hand side is the parameter (its nominal value is what stands there),
        or pass ``parameter_map`` (F, rows x entries) with ``nominal``; then ``program`` holds the rows at 0.
        ``curvature`` is the Hessian of the cost, which is linear without it.
        """
        width = program.shape[1]
        given = sp.csr_array((width, width)) if curvature is None else curvature
        curved = convex(frozen_matrix(given, (width, width), "the curvature"), program.column_names)
        variables = Layout.of_names("variable", program.column_names)
        constraints = Layout.of_names("constraint", program.row_names)
        if parameter_map is None:
            return cls._by_names(program, list(parameter or ()), variables, constraints, 1.0, curved)
        if parameter is not None or nominal is None:
            raise InputError("a parameter_map needs nominal values and no row names; pass one or the other.")
        entries = as_numbers(nominal, "the parameter").size
        labels = unique_names(parameter_names, entries, "d", "parameter")
        return cls(
            program=program,
            parameter_map=frozen_matrix(parameter_map, (program.shape[0], entries), "the parameter map"),
            parameter_names=labels,
            nominal=frozen_vector(nominal, entries, "the parameter", names=labels),
            variables=variables,
            constraints=constraints,
            parameters=Layout.of_names("entry", labels),
            curvature=curved,
        )

    @classmethod
    def from_pypsa(cls, network: Any, *, loads: Sequence[str] | None = None) -> Self:
        """Take a follower from a PyPSA network, which is not changed; the parameter are its loads.

        ``loads`` names those that are meant, others stay as they are. Prices are those of the constraint
        ``Bus-nodal_balance``; they equal PyPSA's marginal prices where snapshots weigh 1.
        """
        return cls._of(read_network(network, loads))

    @classmethod
    def from_cvxpy(cls, problem: Any, parameter: Any, *, coords: Sequence[Any] | None = None) -> Self:
        """Take a follower from a cvxpy problem; ``parameter`` is a ``cp.Parameter`` on right-hand sides.

        ``coords`` label the parameter, one list for each of its axes. Prices are asked for by the labels of
        constraints: ``(x <= 5).set_label("line")``; signs are as for a row that was written so.
        """
        from ppsm.games.front_ends.cvxpy_problem import read_problem

        return cls._of(read_problem(problem, parameter, coords))

    @classmethod
    def from_pyomo(cls, model: Any, parameter: str | Sequence[str]) -> Self:
        """Take a follower from a Pyomo model; the right-hand side of the constraint ``parameter`` moves."""
        from ppsm.games.front_ends.pyomo_model import read_model

        program, variables, constraints, sign = read_model(model)
        return cls._by_names(program, parameter, variables, constraints, sign)

    @classmethod
    def from_mps(cls, path: str | Path, parameter: str | Sequence[str]) -> Self:
        """Take a follower from an MPS file; the right-hand sides of the rows ``parameter`` move."""
        program, sign = read_mps_program(path)
        variables = Layout.of_names("variable", program.column_names)
        constraints = Layout.of_names("constraint", program.row_names)
        return cls._by_names(program, parameter, variables, constraints, sign)

    @classmethod
    def _by_names(
        cls,
        program: LinearProgram,
        parameter: str | Sequence[str],
        variables: Layout,
        constraints: Layout,
        sign: float,
        curvature: SparseMatrix | None = None,
    ) -> Self:
        """A follower whose parameter is the right-hand side of the constraints of these names."""
        names = [parameter] if isinstance(parameter, str) else list(parameter)
        rows = _parameter_rows(names, constraints, variables)
        nominal = np.where(np.isfinite(program.row_lower), program.row_lower, program.row_upper)[rows]
        parameters = _parameter_layout(names, constraints)
        width = program.shape[1]
        curved = sp.csr_array((width, width)) if curvature is None else curvature
        return cls._with_rows(program, rows, nominal, variables, constraints, parameters, curved, sign)

    @classmethod
    def _of(cls, read: ReadFollower) -> Self:
        """A follower that a front end has read."""
        names = read.parameters.entry_names(read.nominal.size)
        nominal = frozen_vector(read.nominal, len(names), "the parameter", names=names)
        width = read.program.shape[1]
        return cls(
            program=read.program.shifted(-(read.parameter_map @ nominal)),
            parameter_map=frozen_matrix(read.parameter_map, read.parameter_map.shape, "the parameter map"),
            parameter_names=names,
            nominal=nominal,
            variables=read.variables,
            constraints=read.constraints,
            parameters=read.parameters,
            curvature=sp.csr_array((width, width)),
            sign=read.sign,
        )

    @classmethod
    def _with_rows(
        cls,
        program: LinearProgram,
        rows: IntArray,
        nominal: FloatArray,
        variables: Layout,
        constraints: Layout,
        parameters: Layout,
        curvature: SparseMatrix,
        sign: float,
    ) -> Self:
        """A follower whose parameter is the right-hand side of the given rows."""
        names = tuple(program.row_names[row] for row in rows)
        checked = frozen_vector(nominal, rows.size, "the parameter", names=names)
        shape = (program.shape[0], rows.size)
        parameter_map: SparseMatrix = sp.csr_array(
            (np.ones(rows.size), (rows, np.arange(rows.size))), shape=shape
        )
        return cls(
            program=program.shifted(-(parameter_map @ checked)),
            parameter_map=parameter_map,
            parameter_names=names,
            nominal=checked,
            variables=variables,
            constraints=constraints,
            parameters=parameters,
            curvature=curvature,
            sign=sign,
        )

    def __repr__(self) -> str:
        rows, columns = self.program.shape
        return (
            f"<Follower: {columns} variables, {rows} constraints, {len(self.parameter_names)} entries of the "
            "parameter, values hidden>"
        )

    def at(self, parameter: VectorLike | None = None) -> LinearProgram:
        """The linear program at a parameter vector (nominal if none is given), without any curvature."""
        return self.program.shifted(self.parameter_map @ self.checked(parameter))

    def solve(self, parameter: VectorLike | None = None) -> FollowerOutcome:
        """Solve at a parameter vector, warm from the last solve; infeasible is an answer, not an error."""
        vector = self.checked(parameter)
        return self._solve_curved(vector) if self.curvature.nnz else self._solve_linear(vector)

    def _solve_linear(self, vector: FloatArray) -> FollowerOutcome:
        rows = self._moving_rows
        shift = (self.parameter_map @ vector)[rows]
        self._live.set_row_bounds(
            rows, self.program.row_lower[rows] + shift, self.program.row_upper[rows] + shift
        )
        solution = self._live.solve()
        if solution.status is Status.INFEASIBLE:
            # On the edge of what can be served a vector that was made feasible may be off by its rounding.
            size = float(np.abs(shift).max(initial=1.0))
            solution = self._live.solve_within(TUNING.edge_feasibility * size)
        return FollowerOutcome(
            follower=self,
            parameter=vector,
            status=solution.status,
            value=self.sign * solution.objective,
            responses=solution.columns,
            prices=self.sign * solution.prices,
            reduced_costs=self.sign * solution.reduced_costs,
        )

    def _solve_curved(self, vector: FloatArray) -> FollowerOutcome:
        program = self.at(vector)
        solution = solve_convex(program, self.curvature)
        return FollowerOutcome(
            follower=self,
            parameter=vector,
            status=solution.status,
            value=self.sign * (solution.objective + program.offset),
            responses=solution.columns,
            prices=self.sign * solution.prices,
            reduced_costs=self.sign * solution.reduced_costs,
            solver=solution.solver,
        )

    def checked(self, parameter: VectorLike | None) -> FloatArray:
        """A parameter vector of the right length and finite; the nominal one if none is given.

        What has labels (a Series, a DataFrame, a DataArray, a mapping, a release) is aligned by them.
        """
        if parameter is None:
            return self.nominal
        names = self.parameter_names
        in_order = aligned(parameter, names, "the parameter", axes=self.parameters.axes)
        return frozen_vector(in_order, len(names), "the parameter", names=names)

    def labelled(self, parameter: VectorLike | None = None) -> xr.DataArray:
        """A parameter vector with its labels, in the shape that the model has it."""
        return self.parameters.labelled(self.checked(parameter), self.parameter_names)

    @cached_property
    def _moving_rows(self) -> IntArray:
        return np.flatnonzero(np.diff(self.parameter_map.indptr))

    @cached_property
    def _live(self) -> PersistentLp:
        return PersistentLp(self.program)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process builds its own live solver."""
        return {key: value for key, value in self.__dict__.items() if key != "_live"}


def _parameter_layout(names: list[str], constraints: Layout) -> Layout:
    """Where the entries of the named constraints sit in the parameter vector."""
    blocks, first = {}, 0
    for name in names:
        block = constraints[name]
        blocks[name] = block.copy(data=first + np.arange(block.size).reshape(block.shape))
        first += block.size
    return Layout("entry", blocks)


def _parameter_rows(names: list[str], constraints: Layout, variables: Layout) -> IntArray:
    """Flat positions of the rows that the parameter enters, in the order of the names."""
    if not names:
        raise InputError("no parameter was named; name the constraint(s) whose right-hand side it is.")
    for name in names:
        if name in variables.blocks and name not in constraints.blocks:
            raise ModelError(
                f"'{name}' is a variable of the follower; the parameter must be the right-hand side of "
                "constraints, it cannot multiply or replace a variable: name a constraint."
            )
        if (constraints[name] < 0).any():
            raise ModelError(
                f"the constraint '{name}' has absent rows (masked, or NaN in its data); every entry of the "
                "parameter needs a row: fill the data or drop the entries."
            )
    rows = np.concatenate([constraints.positions(name) for name in names])
    if np.unique(rows).size != rows.size:
        raise InputError(f"a constraint is named twice as parameter: {', '.join(names)}; name each once.")
    return rows
