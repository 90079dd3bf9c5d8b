"""Taking the matrices of a linopy model once, with names and shapes kept."""

from dataclasses import dataclass

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import INFINITY, BoolArray, IntArray, SparseMatrix
from ppsm.errors import ModelError
from ppsm.games.layout import Layout
from ppsm.program import LinearProgram


@dataclass(frozen=True, eq=False)
class ReadModel:
    """A linopy model in arrays. The cost is minimised; ``sign`` is -1 where the model maximised.

    ``hessian`` is that of the minimised cost: a product of two variables stands at both of its places.
    """

    program: LinearProgram
    hessian: SparseMatrix
    is_integer: BoolArray
    sign: float
    variables: Layout
    constraints: Layout
    column_labels: IntArray

    def column_of_label(self, labels: IntArray) -> IntArray:
        """Columns of linopy's variable labels."""
        return np.searchsorted(self.column_labels, labels)


def read_linopy(model: linopy.Model, who: str, *, quadratic: bool = False) -> ReadModel:
    """Read a linopy model; ``who`` names it in errors, ``quadratic`` allows products in its objective."""
    if not isinstance(model, linopy.Model):
        raise ModelError(f"the {who} is a {type(model).__name__}; expected a linopy.Model.")
    if not len(model.variables):
        raise ModelError(f"the {who} has no variables; add at least one.")
    if model.is_quadratic and not quadratic:
        raise ModelError(
            f"the {who}'s objective multiplies variables with each other; expected a linear one."
        )
    if len(model.indicator_constraints) or any(
        "sos_type" in model.variables[v].attrs for v in model.variables
    ):
        raise ModelError(f"the {who} has indicator or SOS constraints; expected linear constraints only.")
    if len(model.semi_continuous):
        raise ModelError(f"the {who} has semi-continuous variables; expected continuous or integer ones.")
    matrices = model.matrices
    columns, sign = matrices.vlabels.size, -1.0 if model.objective.sense == "max" else 1.0
    variables = _layout("variable", {n: model.variables[n].labels for n in model.variables}, matrices.vlabels)
    clabels = np.empty(0, dtype=np.int64) if not len(model.constraints) else matrices.clabels
    constraints = _layout("constraint", {n: model.constraints[n].labels for n in model.constraints}, clabels)
    rows = clabels.size
    sense = matrices.sense if rows else np.empty(0, dtype=object)
    rhs = np.asarray(matrices.b if rows else [], dtype=np.float64)
    program = LinearProgram.from_arrays(
        cost=sign * np.asarray(matrices.c, dtype=np.float64),
        matrix=matrices.A if rows else sp.csr_array((0, columns)),
        row_lower=np.where(sense == "<", -INFINITY, rhs),
        row_upper=np.where(sense == ">", INFINITY, rhs),
        column_lower=matrices.lb,
        column_upper=matrices.ub,
        row_names=constraints.entry_names(rows),
        column_names=variables.entry_names(columns),
        offset=sign * float(model.objective.expression.const),
    )
    # linopy's Q is the Hessian: 3 x^2 stands there as 6.
    products = sp.csr_array((columns, columns)) if matrices.Q is None else sign * sp.csr_array(matrices.Q)
    products.eliminate_zeros()
    return ReadModel(
        program=program,
        hessian=products,
        is_integer=np.isin(matrices.vtypes, ["B", "I"]),
        sign=sign,
        variables=variables,
        constraints=constraints,
        column_labels=matrices.vlabels,
    )


def _layout(what: str, blocks: dict[str, xr.DataArray], labels: np.ndarray) -> Layout:
    """Turn linopy's labels, which may have gaps, into positions."""
    position = np.full(int(labels.max(initial=-1)) + 2, -1, dtype=np.int64)
    position[labels] = np.arange(labels.size)
    return Layout(
        what, {name: block.copy(data=position[block.values]).rename(name) for name, block in blocks.items()}
    )
