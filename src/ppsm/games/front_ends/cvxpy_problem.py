"""A cvxpy problem as a follower: a ``cp.Parameter`` that stands on right-hand sides is the parameter.

cvxpy itself brings the problem to ``min q'x`` with ``A x + b`` zero or nonnegative, affinely in its
parameters; here it is only read which numbers the parameter moves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import INFINITY, FloatArray, SparseMatrix
from ppsm.errors import InputError, ModelError
from ppsm.games.front_ends import ReadFollower, refuse_integers, tool
from ppsm.games.layout import Layout
from ppsm.program import LinearProgram

_PLAIN = {"nonneg", "nonpos", "bounds", "boolean", "integer"}


def read_problem(problem: Any, parameter: Any, coords: Sequence[Any] | None) -> ReadFollower:
    """Canonicalise the problem as for HiGHS, which keeps variables and their bounds as they are."""
    cp = tool("cvxpy", "cvxpy")
    _refuse_other_problems(cp, problem, parameter)
    try:
        data, _, _ = problem.get_problem_data(cp.HIGHS)
    except cp.error.SolverError:
        raise ModelError(
            "the problem has constraints with curves; expected a linear program, which has prices: "
            "replace its curves by steps."
        ) from None
    stuffed = data["param_prob"]
    cost, offset, matrix, bounds = stuffed.apply_parameters()
    entries = _moved_right_hand_sides(stuffed, parameter)
    rows = _Rows(problem, stuffed, matrix.shape[0])
    shape = _labels(parameter.name(), parameter.shape, coords, "parameter")
    constraints = rows.layout(entries, shape)
    variables, column_names = _variables(problem, stuffed)
    names = constraints.entry_names(matrix.shape[0])
    flipped = rows.signs * np.asarray(bounds).ravel()
    program = LinearProgram.from_arrays(
        cost=np.asarray(cost).ravel(),
        matrix=-sp.diags_array(rows.signs) @ sp.csr_array(matrix),
        row_lower=np.where(rows.is_equality | (rows.signs < 0), flipped, -INFINITY),
        row_upper=np.where(rows.is_equality | (rows.signs > 0), flipped, INFINITY),
        column_lower=_bound(data["lower_bounds"], -INFINITY),
        column_upper=_bound(data["upper_bounds"], INFINITY),
        row_names=names,
        column_names=column_names,
        offset=float(offset),
    )
    return ReadFollower(
        program=program,
        parameter_map=sp.csr_array(sp.diags_array(rows.signs) @ entries),
        nominal=np.asarray(parameter.value, dtype=np.float64).ravel(order="F"),
        variables=variables,
        constraints=constraints,
        parameters=Layout("entry", {parameter.name(): shape}),
        sign=-1.0 if isinstance(problem.objective, cp.Maximize) else 1.0,
    )


def _refuse_other_problems(cp: Any, problem: Any, parameter: Any) -> None:
    if not isinstance(problem, cp.Problem):
        raise ModelError(f"the follower is a {type(problem).__name__}; expected a cvxpy.Problem.")
    if not isinstance(parameter, cp.Parameter):
        raise ModelError(f"the parameter is a {type(parameter).__name__}; expected a cvxpy.Parameter.")
    if all(each.id != parameter.id for each in problem.parameters()):
        raise InputError(f"the parameter '{parameter.name()}' does not occur in the problem; use it there.")
    for each in problem.parameters():
        if each.value is None:
            raise InputError(
                f"the parameter '{each.name()}' has no value; set one, which may be zeros where the true one "
                "is secret."
            )
    for variable in problem.variables():
        refuse_integers([variable.name()], [variable.attributes["boolean"] or variable.attributes["integer"]])
        other = [name for name, value in variable.attributes.items() if value and name not in _PLAIN]
        if other:
            raise ModelError(
                f"the variable '{variable.name()}' is declared {other[0]}; expected plain, nonneg, nonpos or "
                "bounded ones: write it as a constraint."
            )
    if not problem.is_dcp():
        raise ModelError("the problem is not convex by cvxpy's rules; expected a linear program.")
    if not problem.is_dpp():
        raise ModelError(
            f"the parameter '{parameter.name()}' (or another) is multiplied by a parameter or in a curve; "
            "expected it alone on right-hand sides: compute such products before."
        )
    if not problem.objective.args[0].is_pwl():
        raise ModelError("the objective is curved; expected a linear one: replace its curves by steps.")


def _moved_right_hand_sides(stuffed: Any, parameter: Any) -> SparseMatrix:
    """How the parameter moves ``b`` (rows x entries); it may move neither ``A`` nor the objective."""
    first = stuffed.param_id_to_col[parameter.id]
    columns = slice(first, first + parameter.size)
    if sp.csc_array(stuffed.q)[:, columns].nnz:
        raise ModelError(
            f"the parameter '{parameter.name()}' is in the objective; expected it on right-hand sides of "
            "constraints: put a public price there, or let the leader raise costs."
        )
    tensor = sp.csc_array(stuffed.A)[:, columns]
    height = stuffed.constr_size
    inside = tensor.shape[0] - height
    if tensor[:inside].nnz:
        raise ModelError(
            f"the parameter '{parameter.name()}' multiplies a variable; expected it on right-hand sides of "
            "constraints, where prices say what one more unit of it costs."
        )
    return sp.csr_array(tensor[inside:])


class _Rows:
    """Which canonical rows are whose constraint, and which way round the user wrote them."""

    def __init__(self, problem: Any, stuffed: Any, height: int) -> None:
        self.signs: FloatArray = np.ones(height)
        self.is_equality = np.zeros(height, dtype=np.bool_)
        # cvxpy keeps the id of a constraint through all its reductions.
        written = {each.id: each for each in problem.constraints}
        self.blocks: dict[str, tuple[int, tuple[int, ...]]] = {}
        first = 0
        for number, each in enumerate(stuffed.constraints):
            rows = slice(first, first + each.size)
            own = written.get(each.id)
            self.is_equality[rows] = type(each).__name__ == "Zero"
            if own is not None and not own.args[0].variables():
                self.signs[rows] = -1.0  # 5 <= x, which is also how cvxpy keeps x >= 5
            name = f"auxiliary{number}" if own is None else own.label or f"constraint{_place(problem, own)}"
            if name in self.blocks:
                raise InputError(f"two constraints have the label '{name}'; labels must differ.")
            self.blocks[name] = (first, tuple(each.shape) if own is None else tuple(own.shape))
            first += each.size

    def layout(self, entries: SparseMatrix, like: xr.DataArray) -> Layout:
        """Blocks of rows; one in which each row has one entry of the parameter has its labels."""
        blocks = {}
        for name, (first, shape) in self.blocks.items():
            size = int(np.prod(shape, dtype=np.int64))
            block = _labels(name, shape, None, "constraint").copy(
                data=first + np.arange(size).reshape(shape, order="F")
            )
            moved = entries[first : first + size]
            if shape == like.shape and shape and np.array_equal(moved.indices, np.arange(size)):
                block = like.copy(data=block.values).rename(name)
            blocks[name] = block
        return Layout("constraint", blocks)


def _place(problem: Any, constraint: Any) -> int:
    return next(place for place, each in enumerate(problem.constraints) if each.id == constraint.id)


def _labels(name: str, shape: tuple[int, ...], coords: Sequence[Any] | None, what: str) -> xr.DataArray:
    """Positions in a block of a shape, with labels where they are given, as linopy takes them."""
    size = int(np.prod(shape, dtype=np.int64))
    positions = np.arange(size).reshape(shape, order="F")
    axes = [range(length) for length in shape] if coords is None else list(coords)
    if [len(axis) for axis in axes] != list(shape):
        raise InputError(
            f"coords have lengths {[len(axis) for axis in axes]} for a {what} of shape {shape}; expected one "
            "list of labels for each axis."
        )
    dims = [str(getattr(axis, "name", None) or f"{name}_{number}") for number, axis in enumerate(axes)]
    return xr.DataArray(positions, coords=dict(zip(dims, map(list, axes), strict=True)), dims=dims, name=name)


def _variables(problem: Any, stuffed: Any) -> tuple[Layout, tuple[str, ...]]:
    blocks = {}
    own = {variable.id: variable for variable in problem.variables()}
    for number, (identity, first) in enumerate(stuffed.var_id_to_col.items()):
        variable = own.get(identity)
        name = f"auxiliary{number}" if variable is None else variable.name()
        shape = tuple((stuffed.id_to_var[identity] if variable is None else variable).shape)
        if name in blocks:
            raise InputError(f"two variables are named '{name}'; give each a name of its own.")
        block = _labels(name, shape, None, "variable")
        blocks[name] = block.copy(data=first + block.values)
    layout = Layout("variable", blocks)
    return layout, layout.entry_names(stuffed.x.size)


def _bound(given: Any, default: float) -> Any:
    return default if given is None else given
