"""Taking the matrices of a linopy model once, with names and shapes kept.

A PyPSA network is such a model: as a follower its loads are the parameter, and its nodal balances have the
prices.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import INFINITY, BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import InputError, ModelError
from ppsm.games.front_ends import ReadFollower, refuse_integers, tool
from ppsm.games.layout import Layout
from ppsm.program import LinearProgram

# What PyPSA calls the constraint of its nodal balances.
_BALANCE = "Bus-nodal_balance"


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


def read_network(network: Any, loads: Sequence[str] | None) -> ReadFollower:
    """Build the network's linopy model in a copy and find where each load enters."""
    pypsa = tool("pypsa", "pypsa")
    if not isinstance(network, pypsa.Network):
        raise ModelError(f"the follower is a {type(network).__name__}; expected a pypsa.Network.")
    chosen = _chosen_loads(network, loads)
    # Without the model of an earlier n.optimize(): its solver cannot be copied, and it is built anew here.
    copy = deepcopy(network, {id(getattr(network, "_model", None)): None})
    # One block of balances, whatever the number of branches at a bus; constants are no variables.
    model = copy.optimize.create_model(meshed_thresholds=[], include_objective_constant=False)
    read = read_linopy(model, "network", quadratic=True)
    if read.hessian.nnz:
        raise ModelError(
            "the network has quadratic marginal costs; expected linear ones: replace them by several "
            "generators, or use Follower.from_linopy."
        )
    refuse_integers(read.program.column_names, read.is_integer)
    snapshots = network.snapshots
    rows = _balance_rows(network, chosen, read.constraints[_BALANCE])
    signs = np.tile(-network.loads.sign[chosen].to_numpy(dtype=np.float64), len(snapshots))
    entries = sp.csr_array((signs, (rows, np.arange(rows.size))), shape=(read.program.shape[0], rows.size))
    return ReadFollower(
        program=read.program,
        parameter_map=entries,
        nominal=_load_values(network, chosen),
        variables=read.variables,
        constraints=read.constraints,
        parameters=_load_layout(snapshots, chosen),
        sign=read.sign,
    )


def _chosen_loads(network: Any, loads: Sequence[str] | None) -> list[str]:
    if network.has_investment_periods or network.has_scenarios:
        raise ModelError(
            "the network has investment periods or scenarios; expected plain snapshots: take one period or "
            "scenario of it."
        )
    known = list(network.loads.index[network.loads.active])
    if not known:
        raise ModelError("the network has no active loads; expected at least one, whose demand is secret.")
    chosen = known if loads is None else list(loads)
    for name in chosen:
        if name not in known:
            listed = ", ".join(f"'{each}'" for each in known[:12])
            raise InputError(f"there is no active load '{name}' in the network; expected some of: {listed}.")
    if len(set(chosen)) != len(chosen):
        raise InputError("a load is named twice; name each once.")
    return chosen


def _balance_rows(network: Any, loads: list[str], balance: xr.DataArray) -> IntArray:
    buses = network.loads.bus[loads].to_numpy()
    rows: IntArray = balance.transpose("snapshot", "name").sel(name=buses).values.ravel()
    if (rows < 0).any():
        load = loads[int(np.flatnonzero(rows < 0)[0]) % len(loads)]
        raise ModelError(f"nothing can serve the load '{load}' at its bus; connect a generator or a line.")
    return rows


def _load_values(network: Any, loads: list[str]) -> FloatArray:
    table = network.get_switchable_as_dense("Load", "p_set")[loads]
    return np.asarray(table.to_numpy(dtype=np.float64).ravel())


def _load_layout(snapshots: Any, loads: list[str]) -> Layout:
    """Labels as in PyPSA's tables; where there is only one snapshot, the loads alone."""
    positions = np.arange(len(snapshots) * len(loads)).reshape(len(snapshots), len(loads))
    table = xr.DataArray(positions, coords={"snapshot": snapshots, "name": loads}, dims=("snapshot", "name"))
    return Layout("load", {"load": table if len(snapshots) > 1 else table.isel(snapshot=0, drop=True)})
