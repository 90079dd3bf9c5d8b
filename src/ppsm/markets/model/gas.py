"""GM, the gas market: one least-cost clearing of a gas day, (5a) to (5c) of the paper's appendix.

Not problem (5) of the paper itself, which is the fidelity problem (:mod:`ppsm.fidelity`).

With known flow directions and squared pressures ``psi`` the flow equation of a pipe (Weymouth) becomes the
convex ``flow**2 <= k**2 (psi_up - psi_down)``, whose tangents make the market a linear program::

    (5a)  min   sum of bid price x accepted gas
    (5b)  s.t.  0 <= accepted <= size of the bid block,   least <= pressure <= largest
                flow <= tangents of k sqrt(psi_up - psi_down)        each pipe
                ratio_min^2 psi_up <= psi_down <= ratio_max^2 psi_up each compressor and regulator
                0 <= packed <= line pack of the junction
    (5c)        accepted + inflow - outflow - packed = demand + burn of power plants    each junction

There is no shedding: a demand that cannot be served makes the market infeasible. A negative demand (noise can
make one) is an injection, feasible as far as the flow directions and the line pack can take the gas away.
The price of gas at a junction is the dual of its balance (5c); signs are those of :mod:`ppsm.program`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import pandas as pd
import scipy.sparse as sp
import xarray as xr
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, IntArray, SparseMatrix, frozen_vector
from ppsm.cases.entities import upstream_downstream
from ppsm.cases.schema import Case
from ppsm.errors import InputError
from ppsm.games.follower import Follower
from ppsm.games.layout import Layout
from ppsm.games.linopy_reader import read_linopy
from ppsm.program import LinearProgram

# Tangents per pipe; eight keep every flow within 1.03 % of the pipe's largest (see tangent_points).
TANGENTS = 8


@dataclass(frozen=True, eq=False)
class GasMarket:
    """The market of a case at zero demand, and the maps by which demand and burn enter its balances.

    ``balance_rows[j]`` is the row of junction j in ``program``; ``demand_to_balance`` (junctions x
    deliveries) and ``burn_to_balance`` (junctions x links) say what each entry adds to the right-hand side
    of (5c).
    """

    case: Case
    model: Any
    program: LinearProgram
    variables: Layout
    constraints: Layout
    balance_rows: IntArray
    demand_to_balance: SparseMatrix
    burn_to_balance: SparseMatrix

    def withdrawal_mwh(self, demand_mwh: ArrayLike, burn_mwh: ArrayLike = 0.0) -> FloatArray:
        """Return the right-hand side of the balances (5c), in the order of the case's junctions.

        ``burn_mwh`` has one entry per link of the case; a single number stands for all of them.
        """
        demand = frozen_vector(
            demand_mwh, len(self.case.deliveries), "the gas demand", names=self.case.delivery_ids
        )
        links = len(self.case.links)
        every = np.full(links, burn_mwh) if np.ndim(burn_mwh) == 0 else burn_mwh
        burn = frozen_vector(every, links, "the burn")
        total: FloatArray = self.demand_to_balance @ demand + self.burn_to_balance @ burn
        return total

    def follower(self, demand_mwh: ArrayLike, burn_mwh: ArrayLike = 0.0) -> Follower:
        """The market as a follower at a given burn; its parameter is the sensitive demand."""
        shift = np.zeros(self.program.shape[0])
        shift[self.balance_rows] = self.withdrawal_mwh(np.zeros(len(self.case.deliveries)), burn_mwh)
        return Follower(
            program=self.program.shifted(shift),
            parameter_map=_rows_of(self.demand_to_balance, self.balance_rows, self.program.shape[0]),
            parameter_names=self.case.delivery_ids,
            parameters=Layout.of_names("entry", self.case.delivery_ids),
            nominal=frozen_vector(
                demand_mwh, len(self.case.deliveries), "the gas demand", names=self.case.delivery_ids
            ),
            variables=self.variables,
            constraints=self.constraints,
            curvature=sp.csr_array((self.program.shape[1],) * 2),
        )


def build_gas_market(case: Case, *, tangents: int = TANGENTS) -> GasMarket:
    """Build the gas market of a case; ``tangents`` per pipe replace the Weymouth equation."""
    if tangents < 2:
        raise InputError(f"{tangents} tangents were asked for; expected at least 2.")
    model = linopy.Model()
    junctions = pd.Index([row.junction for row in case.junctions], name="junction")
    squared_pressure = _add_pressures(model, case, junctions)
    accepted, supply_at = _add_supply(model, case, junctions)
    net_inflow = _at_junction(accepted, supply_at, "bid")
    for kind, rows in (
        ("pipe", case.pipes),
        ("compressor", case.compressors),
        ("regulator", case.regulators),
    ):
        if rows:
            flow, incidence = _add_flows(model, kind, rows, junctions)
            net_inflow = net_inflow + _at_junction(flow, incidence, kind)
    if case.pipes:
        _add_weymouth(model, case, squared_pressure, tangents)
    _add_stations(model, "compressor", case.compressors, squared_pressure)
    _add_stations(model, "regulator", case.regulators, squared_pressure)
    net_inflow = _with_line_pack(model, case, junctions, net_inflow)
    # (5c); demand and burn enter as the right-hand side, row by row
    model.add_constraints(net_inflow == 0, name="balance")
    return _finished(case, model, junctions)


def _add_pressures(model: Any, case: Case, junctions: pd.Index) -> Any:
    lower = xr.DataArray([row.pressure_min_bar**2 for row in case.junctions], coords=[junctions])
    upper = xr.DataArray([row.pressure_max_bar**2 for row in case.junctions], coords=[junctions])
    return model.add_variables(lower, upper, name="squared_pressure_bar2")


def _add_supply(model: Any, case: Case, junctions: pd.Index) -> tuple[Any, xr.DataArray]:
    """Add the accepted part of each bid block and the objective (5a)."""
    names = pd.Index([f"{bid.supply}/{bid.block}" for bid in case.supplies], name="bid")
    size = xr.DataArray([bid.size_mwh for bid in case.supplies], coords=[names])
    price = xr.DataArray([bid.price_usd_per_mwh for bid in case.supplies], coords=[names])
    accepted = model.add_variables(0, size, name="supply_mwh")
    model.add_objective((price * accepted).sum())
    return accepted, _incidence(names, junctions, [bid.junction for bid in case.supplies])


def _add_flows(model: Any, kind: str, rows: Sequence[Any], junctions: pd.Index) -> tuple[Any, xr.DataArray]:
    """Add the flow through each component, at least 0 in its known direction, and say where it enters."""
    names = pd.Index([getattr(row, kind) for row in rows], name=kind)
    capacity = xr.DataArray([row.capacity_mwh for row in rows], coords=[names])
    flow = model.add_variables(0, capacity, name=f"{kind}_flow_mwh")
    ends = [upstream_downstream(row) for row in rows]
    entering = _incidence(names, junctions, [down for _, down in ends])
    return flow, entering - _incidence(names, junctions, [up for up, _ in ends])


def _incidence(names: pd.Index, junctions: pd.Index, places: Sequence[str]) -> xr.DataArray:
    """Return the matrix (names x junctions) with a one where each name has its place."""
    matrix = np.zeros((len(names), len(junctions)))
    matrix[np.arange(len(names)), junctions.get_indexer(pd.Index(places))] = 1.0
    return xr.DataArray(matrix, coords=[names, junctions])


def _at_junction(variable: Any, incidence: xr.DataArray, dimension: str) -> Any:
    return (variable * incidence).sum(dimension)


def largest_flow_mwh(case: Case) -> FloatArray:
    """Return the flow of each pipe at the largest pressure difference its ends allow."""
    bounds = {row.junction: (row.pressure_min_bar, row.pressure_max_bar) for row in case.junctions}
    flows = []
    for pipe in case.pipes:
        up, down = upstream_downstream(pipe)
        drop_bar2 = max(bounds[up][1] ** 2 - bounds[down][0] ** 2, 0.0)
        flows.append(pipe.weymouth_mwh_per_bar * np.sqrt(drop_bar2))
    return np.array(flows)


def tangent_points(largest_mwh: FloatArray, tangents: int) -> FloatArray:
    """Return the flows where a pipe's parabola is touched (pipes x tangents), from 0 to the largest.

    Tangents at a < b meet at the flow (a + b)/2, where the true equation allows only sqrt(a b): too much by
    (sqrt(b) - sqrt(a))**2 / 2. Points evenly spaced in the square root make that the same between all
    neighbours, the least possible: ``1 / (2 (tangents - 1)**2)`` of the largest flow.
    """
    return np.outer(largest_mwh, np.linspace(0.0, 1.0, tangents) ** 2)


def _add_weymouth(model: Any, case: Case, psi: Any, tangents: int) -> None:
    """Add the tangents ``2 f_k flow - f_k**2 <= k**2 (psi_up - psi_down)`` of each pipe, at flows f_k.

    Each is divided by ``2 f_k`` so that the row is in MWh and coefficients stay near 1.
    """
    names = pd.Index([pipe.pipe for pipe in case.pipes], name="pipe")
    drop = _drop(psi, case.pipes, names)
    flow = model.variables["pipe_flow_mwh"]
    largest = largest_flow_mwh(case)
    usable = xr.DataArray(largest > 0, coords=[names])
    touched: list[Any] = [names, pd.Index(range(1, tangents), name="tangent")]
    at = np.where(largest[:, None] > 0, tangent_points(largest, tangents)[:, 1:], 1.0)
    factor = np.array([[pipe.weymouth_mwh_per_bar**2] for pipe in case.pipes])
    slope = xr.DataArray(factor / (2 * at), coords=touched)
    half = xr.DataArray(at / 2, coords=touched)
    model.add_constraints(drop >= 0, name="pressure_falls")  # the tangent at zero flow
    model.add_constraints(flow - slope * drop <= half, name="weymouth", mask=usable)
    if not usable.all():  # pressures that allow no drop allow no flow
        model.add_constraints(1.0 * flow <= 0, name="weymouth_none", mask=~usable)


def _drop(psi: Any, rows: Sequence[Any], names: pd.Index) -> Any:
    """Return ``psi_up - psi_down`` of each component as an expression over its names."""
    up, down = _ends(psi, rows, names)
    return up - down


def _ends(psi: Any, rows: Sequence[Any], names: pd.Index) -> tuple[Any, Any]:
    """Return the squared pressures before and after each component, as expressions over its names."""
    ends = [upstream_downstream(row) for row in rows]

    def at(places: list[str]) -> Any:
        return (1.0 * psi.sel(junction=xr.DataArray(places, coords=[names]))).drop_vars("junction")

    return at([start for start, _ in ends]), at([end for _, end in ends])


def _add_stations(model: Any, kind: str, rows: Sequence[Any], psi: Any) -> None:
    """Add the pressure ratios of compressors or regulators, squared because ``psi`` is."""
    if not rows:
        return
    names = pd.Index([getattr(row, kind) for row in rows], name=kind)
    up, down = _ends(psi, rows, names)
    least = xr.DataArray([row.ratio_min**2 for row in rows], coords=[names])
    most = xr.DataArray([row.ratio_max**2 for row in rows], coords=[names])
    model.add_constraints(down - most * up <= 0, name=f"{kind}_ratio_max")
    # a least ratio of zero says nothing; leaving the row out keeps the program small
    if (least > 0).any():
        model.add_constraints(down - least * up >= 0, name=f"{kind}_ratio_min", mask=least > 0)


def _with_line_pack(model: Any, case: Case, junctions: pd.Index, net_inflow: Any) -> Any:
    """Let junctions take up some gas that nobody withdraws, as line pack; it earns nothing."""
    packing = [row for row in case.junctions if row.pack_mwh > 0]
    if not packing:
        return net_inflow
    names = pd.Index([row.junction for row in packing], name="packing")
    packed = model.add_variables(
        0, xr.DataArray([row.pack_mwh for row in packing], coords=[names]), name="packed_mwh"
    )
    place = _incidence(names, junctions, [row.junction for row in packing])
    return net_inflow - _at_junction(packed, place, "packing")


def _finished(case: Case, model: Any, junctions: pd.Index) -> GasMarket:
    read = read_linopy(model, "gas market")
    rows = read.constraints.positions("balance")
    rows.setflags(write=False)
    return GasMarket(
        case=case,
        model=model,
        program=read.program,
        variables=read.variables,
        constraints=read.constraints,
        balance_rows=rows,
        demand_to_balance=_selection([row.junction for row in case.deliveries], junctions),
        burn_to_balance=_selection([row.junction for row in case.links], junctions),
    )


def _selection(places: Sequence[str], junctions: pd.Index) -> SparseMatrix:
    rows = junctions.get_indexer(pd.Index(places, dtype=object))
    shape = (len(junctions), len(places))
    return sp.csr_array((np.ones(len(places)), (rows, np.arange(len(places)))), shape=shape)


def _rows_of(selection: SparseMatrix, rows: IntArray, height: int) -> SparseMatrix:
    """A map into the balances as a map into all rows of the program."""
    entries = selection.tocoo()
    shape = (height, selection.shape[1])
    return sp.csr_array((entries.data, (rows[entries.row], entries.col)), shape=shape)
