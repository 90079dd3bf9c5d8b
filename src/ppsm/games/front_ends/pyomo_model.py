"""A Pyomo model as a follower: the right-hand sides of the named constraints are the parameter."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import INFINITY
from ppsm.errors import ModelError
from ppsm.games.front_ends import refuse_integers, tool
from ppsm.games.layout import Layout
from ppsm.labels import entry_name
from ppsm.program import LinearProgram


def read_model(model: Any) -> tuple[LinearProgram, Layout, Layout, float]:
    """The active parts of a model: the program, minimised, its variables and constraints, and its sense."""
    pyo = tool("pyomo.environ", "pyomo")
    if not isinstance(model, pyo.ConcreteModel):
        raise ModelError(f"the follower is a {type(model).__name__}; expected a pyomo ConcreteModel.")
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise ModelError(f"the model has {len(objectives)} active objectives; expected exactly one.")
    columns = list(model.component_data_objects(pyo.Var))
    column_of = {id(variable): index for index, variable in enumerate(columns)}
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    variables = _layout("variable", model.component_objects(pyo.Var), columns)
    constraints = _layout("constraint", model.component_objects(pyo.Constraint, active=True), rows)
    sign = -1.0 if objectives[0].sense == pyo.maximize else 1.0
    refuse_integers([each.name for each in columns], [not each.is_continuous() for each in columns])
    cost, offset = _linear(objectives[0].expr, "the objective", column_of)
    bodies = [_linear(row.body, f"the constraint '{row.name}'", column_of) for row in rows]
    matrix = sp.lil_array((len(rows), len(columns)))
    for index, (factors, _) in enumerate(bodies):
        for column, factor in factors.items():
            matrix[index, column] = factor
    constants = np.array([constant for _, constant in bodies])
    costs = np.zeros(len(columns))
    costs[list(cost)] = list(cost.values())
    program = LinearProgram.from_arrays(
        cost=sign * costs,
        matrix=matrix.tocsr(),
        row_lower=np.array([_number(row.lower, -INFINITY) for row in rows]) - constants,
        row_upper=np.array([_number(row.upper, INFINITY) for row in rows]) - constants,
        column_lower=[_fixed_or(each, each.lb, -INFINITY) for each in columns],
        column_upper=[_fixed_or(each, each.ub, INFINITY) for each in columns],
        row_names=constraints.entry_names(len(rows)),
        column_names=variables.entry_names(len(columns)),
        offset=sign * offset,
    )
    return program, variables, constraints, sign


def _linear(expression: Any, what: str, column_of: dict[int, int]) -> tuple[dict[int, float], float]:
    """Factors by column, and the constant."""
    from pyomo.repn import generate_standard_repn

    # Fixed variables keep their column, with both bounds at their value.
    found = generate_standard_repn(expression, compute_values=True)
    if not found.is_linear():
        raise ModelError(f"{what} is not linear; expected a linear program: replace its curves by steps.")
    factors: dict[int, float] = {}
    for factor, variable in zip(found.linear_coefs, found.linear_vars, strict=True):
        column = column_of[id(variable)]
        factors[column] = factors.get(column, 0.0) + float(factor)
    return factors, float(found.constant)


def _number(value: Any, default: float) -> float:
    return default if value is None else float(value() if callable(value) else value)


def _fixed_or(variable: Any, bound: Any, default: float) -> float:
    return float(variable.value) if variable.fixed else _number(bound, default)


def _layout(what: str, components: Iterable[Any], data: list[Any]) -> Layout:
    """Blocks as the model has them: a table where the index is a full product, else one block for each."""
    position = {id(each): index for index, each in enumerate(data)}
    blocks: dict[str, xr.DataArray] = {}
    for component in components:
        found = {key: position[id(component[key])] for key in component if id(component[key]) in position}
        blocks |= _blocks(component.name, component.is_indexed(), found)
    return Layout(what, blocks)


def _blocks(name: str, indexed: bool, found: dict[Any, int]) -> dict[str, xr.DataArray]:
    if not indexed:
        return {name: xr.DataArray(next(iter(found.values())))} if found else {}
    keys = [key if isinstance(key, tuple) else (key,) for key in found]
    widths = set(map(len, keys))
    axes = [list(dict.fromkeys(parts)) for parts in zip(*keys, strict=True)] if len(widths) == 1 else []
    if not axes or np.prod([len(axis) for axis in axes]) != len(keys):
        return {
            entry_name(name, key): xr.DataArray(place)
            for key, place in zip(keys, found.values(), strict=True)
        }
    table = np.full([len(axis) for axis in axes], -1)
    for key, place in zip(keys, found.values(), strict=True):
        table[tuple(axis.index(part) for axis, part in zip(axes, key, strict=True))] = place
    dims = [f"{name}_{number}" for number in range(len(axes))]
    return {name: xr.DataArray(table, coords=dict(zip(dims, axes, strict=True)), dims=dims)}
