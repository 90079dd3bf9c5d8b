"""A PyPSA network as a follower: its loads are the parameter, its nodal balances have the prices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import FloatArray, IntArray
from ppsm.errors import InputError, ModelError
from ppsm.games.front_ends import ReadFollower, refuse_integers, tool
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import read_linopy

BALANCE = "Bus-nodal_balance"


def read_network(network: Any, loads: Sequence[str] | None) -> ReadFollower:
    """Build the network's linopy model in a copy and find where each load enters."""
    pypsa = tool("pypsa", "pypsa")
    if not isinstance(network, pypsa.Network):
        raise ModelError(f"the follower is a {type(network).__name__}; expected a pypsa.Network.")
    chosen = _chosen_loads(network, loads)
    copy = network.copy()
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
    rows = _balance_rows(network, chosen, read.constraints[BALANCE])
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
