"""EM, the electricity market: problem (4) of the paper's appendix, a least-cost dispatch of selected bids.

Commitment and selected bids fix what the running units offer and must give; the dispatch is a linear program
over the day under DC power flow (4b). It lives in one solver: commitments and loads change right-hand sides.

Leader and EM pay for the same dispatch, so EM never pays more than the leader's plan; but where the plan
holds burn back, EM burns what the selected blocks let it.
"""

from dataclasses import dataclass

import linopy
import numpy as np
import xarray as xr

from ppsm.arrays import FloatArray, IntArray
from ppsm.cases.schema import Case
from ppsm.games.linopy_reader import read_linopy
from ppsm.markets.model.power import PowerSystem, add_dispatch, add_network
from ppsm.markets.tuning import TUNING
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Dispatch:
    """A cleared electricity market: cost in $, output by fleet and hour in MW, daily gas burn by link.

    ``asked_usd`` is what the accepted blocks of each fleet ask for, whose sum is the cost.
    """

    cost_usd: float
    output_mw: FloatArray
    burn_mwh: FloatArray
    asked_usd: FloatArray


def build_electricity_market(system: PowerSystem) -> linopy.Model:
    """Build EM with nothing committed; right-hand sides take the commitment and the load."""
    model = linopy.Model()
    accepted, output = add_dispatch(model, system)
    zero = xr.DataArray(0.0, coords=[system.fleets, system.hours], dims=["fleet", "hour"])
    there = system.has_block.broadcast_like(zero * system.block_mw.fillna(0.0))
    # appendix (4c): what is selected: blocks of running units, and their least output
    offered = 1.0 * accepted.fillna(0)
    model.add_constraints(offered <= 0 * (zero + there), name="block_limit", mask=there)
    model.add_constraints(output >= zero, name="least_output")
    change = output - output.roll(hour=1)
    model.add_constraints(change <= zero, name="ramp_up")
    model.add_constraints(-1 * change <= zero, name="ramp_down")
    add_network(model, system, output)
    model.add_objective((system.block_usd_per_mwh.fillna(0.0) * accepted.fillna(0)).sum())
    return model


class ElectricityMarket:
    """EM of a case, alive in HiGHS."""

    def __init__(self, case: Case) -> None:
        self.system = PowerSystem.of(case)
        read = read_linopy(build_electricity_market(self.system), "electricity market")
        rows, columns = read.constraints, read.variables
        self._blocks = rows["block_limit"].transpose("fleet", "block", "hour").values
        self._least = rows["least_output"].transpose("fleet", "hour").values
        self._up = rows["ramp_up"].transpose("fleet", "hour").values
        self._down = rows["ramp_down"].transpose("fleet", "hour").values
        self._balance = rows["bus_balance"].transpose("hour", "bus").values
        self._accepted = columns["accepted_mw"].transpose("fleet", "block", "hour").values
        self._fleets = np.array([self.system.fleets.get_loc(link.fleet) for link in case.links], dtype=int)
        self._rates = np.array([link.burn_mwh_per_mwh for link in case.links])
        self._zero = read.program
        self._loads: dict[float, FloatArray] = {}
        self._live = PersistentLp(read.program, feasibility=TUNING.dispatch_feasibility)

    def clear(
        self, power_stress: float, on: IntArray, offers: IntArray, most_offers: IntArray | None = None
    ) -> Dispatch | None:
        """Dispatch a commitment (fleets x hours) and the plants' offers (links x blocks x hours).

        With ``most_offers``, all offers between the two at once: the cost bounds that of each of them. None
        where they cannot serve the load.
        """
        system = self.system
        before = np.roll(on, 1, axis=1)
        start, stop = np.maximum(on - before, 0), np.maximum(before - on, 0)
        each = np.nan_to_num(system.block_mw.values)[:, :, None]
        most, least = each * on[:, None, :], np.zeros((*each.shape[:2], on.shape[1]))
        most[self._fleets] = each[self._fleets] * (offers if most_offers is None else most_offers)
        least[self._fleets, :-1] = each[self._fleets, :-1] * offers[:, 1:]  # full where the next is offered
        ramp, full, usual = (x.values[:, None] for x in (system.ramp_mw, system.unit_mw, system.least_mw))
        # A fleet that can cross its range within an hour has no ramp.
        free = ramp >= full
        up = np.where(free, np.inf, ramp * (on - start) + full * start - usual * stop)
        down = np.where(free, np.inf, ramp * (on - start) + full * stop - usual * start)
        self._set(self._blocks, lower=least, upper=most)
        self._set(self._least, lower=usual * on)
        self._set(self._up, upper=up)
        self._set(self._down, upper=down)
        load = self._load(power_stress)
        self._set(self._balance, lower=load, upper=load)
        # Where bids tie, what the plants burn must not depend on what was dispatched before.
        self._live.forget()
        solution = self._live.solve()
        if solution.status is not Status.PROVEN_OPTIMAL:
            return None
        accepted = np.where(self._accepted >= 0, solution.columns[self._accepted], 0.0)
        output = np.maximum(accepted, 0.0).sum(axis=1)
        burn = output[self._fleets].sum(axis=1) * self._rates
        price = np.nan_to_num(system.block_usd_per_mwh.values)[:, :, None]
        return Dispatch(solution.objective, output, burn, (price * accepted).sum(axis=(1, 2)))

    def _load(self, power_stress: float) -> FloatArray:
        """Right-hand sides of the balances (hours x buses) at a stress; slower to build than to solve."""
        if power_stress not in self._loads:
            load = self.system.load_mw(power_stress).transpose("hour", "bus").values
            self._loads[power_stress] = self._zero.row_lower[self._balance] + load
        return self._loads[power_stress]

    def _set(self, rows: IntArray, lower: FloatArray | None = None, upper: FloatArray | None = None) -> None:
        there = rows >= 0
        flat = rows[there]
        none = np.full(flat.size, np.inf)
        self._live.set_row_bounds(
            flat,
            -none if lower is None else lower[there].astype(np.float64),
            none if upper is None else upper[there].astype(np.float64),
        )
