"""From a linopy model to a :class:`ppsm.program.LinearProgram`, with names for rows and columns."""

from typing import Any

import numpy as np

from ppsm.errors import ModelError
from ppsm.program import LinearProgram


def linear_program(model: Any) -> LinearProgram:
    """Return a linopy model that minimises over continuous variables as a linear program.

    Rows and columns are called ``name[coordinate]`` after the constraints and variables of the model.
    """
    matrices = model.matrices
    if set(matrices.vtypes) - {"C"}:
        raise ModelError("the model has integer variables; expected a linear program.")
    if model.objective.sense != "min":
        raise ModelError("the model maximises; expected a minimisation, change the sign of its objective.")
    row_names = _names(model.constraints)
    column_names = _names(model.variables)
    right, sense = np.asarray(matrices.b, dtype=np.float64), np.asarray(matrices.sense)
    return LinearProgram.from_arrays(
        cost=matrices.c,
        matrix=matrices.A,
        row_lower=np.where(sense == "<", -np.inf, right),
        row_upper=np.where(sense == ">", np.inf, right),
        column_lower=matrices.lb,
        column_upper=matrices.ub,
        row_names=[row_names[label] for label in matrices.clabels],
        column_names=[column_names[label] for label in matrices.vlabels],
    )


def _names(container: Any) -> dict[int, str]:
    """Return the name of every label in a model's variables or constraints."""
    names: dict[int, str] = {}
    for name, entry in container.items():
        for coordinate, label in entry.labels.to_series().items():
            parts = coordinate if isinstance(coordinate, tuple) else (coordinate,)
            names[int(label)] = f"{name}[{','.join(str(part) for part in parts)}]"
    return names
