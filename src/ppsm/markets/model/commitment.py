"""UC, the leader's unit commitment: problem (3) of the paper's appendix.

Fleets are clusters of identical units: ``on`` counts the units that run, so a single unit is a cluster of
one. The day is cyclic: hour 0 follows the last hour, which leaves no free start at its edges. Studies of a
single day, as in most published instances, say instead what was before hour 0 (:class:`Before`).

Gas prices enter through **levels** only (see :mod:`ppsm.markets.model.validity`): a plant at level k must
give at least its first k blocks from every running unit. :class:`UnitCommitment` therefore takes the matrices
once and changes coefficients of ``least_output`` for a level.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from ppsm.arrays import FloatArray, IntArray, SparseMatrix
from ppsm.cases.schema import Case
from ppsm.errors import InputError, SolverError
from ppsm.games.linopy_reader import read_linopy
from ppsm.markets.model.power import PowerSystem, add_dispatch, add_network
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import Basis, LpSolution, PersistentLp, solve_mip_with_highs
from ppsm.solvers.mip import MixedIntegerProgram, SolveLimits
from ppsm.status import Status, relative_gap


@dataclass(frozen=True)
class Before:
    """What the units of a fleet did before hour 0, for a day that is not cyclic.

    ``on`` units were running since ``on_h`` hours, the others off since ``off_h`` hours; ``output_mw`` of the
    fleet limits ramps into hour 0, None does not. A fleet of which nothing is said was off for long.
    """

    on: int = 0
    on_h: int = 10_000
    off_h: int = 10_000
    output_mw: float | None = None


Past = Mapping[str, Before]


def build_commitment(system: PowerSystem, past: Past | None = None) -> linopy.Model:
    """Build UC at zero load; the right-hand side of ``bus_balance`` takes the load of a stress.

    Without a ``past`` the day is cyclic.
    """
    model = linopy.Model()
    shape = [system.fleets, system.hours]
    must_run = xr.DataArray([bool(f.must_run) for f in system.case.fleets], coords=[system.fleets])
    hours = xr.DataArray(1.0, coords=[system.hours], dims=["hour"])
    most = system.units * hours
    on = model.add_variables(
        lower=most.where(must_run, 0.0), upper=most, coords=shape, integer=True, name="on"
    )
    start = model.add_variables(lower=0, upper=most, coords=shape, name="start")
    stop = model.add_variables(lower=0, upper=most, coords=shape, name="stop")
    # appendix (3b): logic of on, start and stop
    model.add_constraints(
        on - _earlier(on, 1, past) - start + stop == _units_before(system, past), name="logic"
    )
    _add_minimum_times(model, system, on, start, stop, past)
    accepted, output = add_dispatch(model, system)
    # selected blocks: no more than the running units offer
    offered = system.block_mw.fillna(0.0) * on
    model.add_constraints(
        accepted.fillna(0) - offered <= 0, name="block_limit", mask=system.has_block * hours > 0
    )
    model.add_constraints(output - system.least_mw * on >= 0, name="least_output")
    _add_ramps(model, system, on, start, stop, output, past)
    if system.case.reserve_fraction > 0:
        spare = (system.unit_mw * on - output).sum("fleet")
        model.add_constraints(spare >= 0 * hours, name="reserve")
    add_network(model, system, output)
    # appendix (3a): no-load, start-up and dispatch
    model.add_objective(
        (system.no_load_usd * on).sum()
        + (system.start_usd * start).sum()
        + (system.block_usd_per_mwh.fillna(0.0) * accepted.fillna(0)).sum()
    )
    return model


def _earlier(values: Any, hours: int, past: Past | None) -> Any:
    """What was so many hours ago: around the cyclic day, or nothing before hour 0 of a day with a past."""
    terms = 1.0 * values
    return terms.roll(hour=hours) if past is None else terms.shift(hour=hours).fillna(0)


def _before(system: PowerSystem, past: Past) -> list[Before]:
    unknown = sorted(set(past) - set(system.fleets))
    if unknown:
        raise InputError(f"the past names the fleet '{unknown[0]}', which the case does not have.")
    return [past.get(fleet, Before()) for fleet in system.fleets]


def _units_before(system: PowerSystem, past: Past | None) -> xr.DataArray:
    """Units on before hour 0, at hour 0; zero in all other hours and in a cyclic day."""
    units = np.zeros((len(system.fleets), len(system.hours)))
    if past is not None:
        units[:, 0] = [before.on for before in _before(system, past)]
    return xr.DataArray(units, coords=[system.fleets, system.hours])


def _held(system: PowerSystem, past: Past | None, event: str) -> xr.DataArray:
    """Units that still may not stop (start) because they started (stopped) shortly before hour 0."""
    units = np.zeros((len(system.fleets), len(system.hours)))
    if past is not None:
        for row, (fleet, before) in enumerate(zip(system.case.fleets, _before(system, past), strict=True)):
            if event == "min_up":
                units[row, : max(fleet.min_up_h - before.on_h, 0)] = before.on
            else:
                units[row, : max(fleet.min_down_h - before.off_h, 0)] = fleet.unit_count - before.on
    return xr.DataArray(units, coords=[system.fleets, system.hours])


def _add_minimum_times(
    model: linopy.Model, system: PowerSystem, on: Any, start: Any, stop: Any, past: Past | None
) -> None:
    """Units started in the last ``min_up_h`` hours are on, units stopped in ``min_down_h`` are off.

    Slow fleets have times of at least an hour: no unit escapes its ramp by stopping and starting at once.
    """
    hours = len(system.hours)
    fleets = system.case.fleets
    least = [int(fleet.ramp_mw_per_h < fleet.unit_size_mw) for fleet in fleets]
    for name, event, limits in (
        ("min_up", start, [max(f.min_up_h, slow) for f, slow in zip(fleets, least, strict=True)]),
        ("min_down", stop, [max(f.min_down_h, slow) for f, slow in zip(fleets, least, strict=True)]),
    ):
        held = _held(system, past, name)
        # a time of one hour says nothing more than the logic where there is no ramp
        lengths = [
            min(limit, hours) if limit > 1 or slow else 0 for limit, slow in zip(limits, least, strict=True)
        ]
        for length in sorted(set(lengths) - {0}):
            chosen = system.fleets[[mine == length for mine in lengths]]
            part = event.sel(fleet=chosen)
            recent = sum((_earlier(part, k, past) for k in range(1, length)), 1.0 * part)
            state = on.sel(fleet=chosen)
            still = held.sel(fleet=chosen)
            if name == "min_up":
                model.add_constraints(recent - state <= -still, name=f"{name}_{length}h")
            else:
                free = system.units.sel(fleet=chosen) - still
                model.add_constraints(recent + state <= free, name=f"{name}_{length}h")


def _add_ramps(
    model: linopy.Model,
    system: PowerSystem,
    on: Any,
    start: Any,
    stop: Any,
    output: Any,
    past: Past | None,
) -> None:
    """Running units move by at most their ramp; a unit may start to and stop from any output it can have."""
    slow = np.flatnonzero((system.ramp_mw < system.unit_mw).values)
    if not slow.size:
        return
    fleets = system.fleets[slow]
    ramp, full, least = (x.sel(fleet=fleets) for x in (system.ramp_mw, system.unit_mw, system.least_mw))
    now = output.sel(fleet=fleets)
    change = now - _earlier(now, 1, past)
    on, start, stop = (x.sel(fleet=fleets) for x in (on, start, stop))
    stay = on - start  # on before and now
    was = xr.DataArray(np.zeros((slow.size, len(system.hours))), coords=[fleets, system.hours])
    known = xr.ones_like(was, dtype=bool)
    if past is not None:
        outputs = [_before(system, past)[row].output_mw for row in slow]
        was[:, 0] = [output or 0.0 for output in outputs]
        known[:, 0] = [output is not None for output in outputs]
    up = change - ramp * stay - full * start + least * stop
    down = -1 * change - ramp * stay - full * stop + least * start
    model.add_constraints(up <= was, name="ramp_up", mask=known)
    model.add_constraints(down <= -was, name="ramp_down", mask=known)


@dataclass(frozen=True, eq=False)
class CommitmentOutcome:
    """A solved UC: units on by fleet and hour, dispatch, cost and proven bound (both in $).

    Arrays are None where the status has no answer; ``bound`` is None where nothing is proven.
    """

    status: Status
    objective_usd: float | None = None
    bound_usd: float | None = None
    on: IntArray | None = None
    columns: FloatArray | None = None
    seconds: float = 0.0


class UnitCommitment:
    """UC of a case with its matrices taken once; loads, levels and burn limits are changes to them.

    The day is cyclic unless a ``past`` says what the fleets did before hour 0.
    """

    def __init__(self, case: Case, past: Past | None = None) -> None:
        self.system = PowerSystem.of(case)
        self._past = past
        read = read_linopy(build_commitment(self.system, past), "unit commitment")
        self.program, self.is_integer = read.program, read.is_integer
        self.on_columns: IntArray = read.variables["on"].transpose("fleet", "hour").values
        self._accepted = read.variables["accepted_mw"].transpose("fleet", "block", "hour").values
        self._least_rows = read.constraints["least_output"].transpose("fleet", "hour").values
        self.balance_rows: IntArray = read.constraints["bus_balance"].transpose("hour", "bus").values
        has_reserve = case.reserve_fraction > 0
        self._reserve = read.constraints["reserve"].values if has_reserve else np.empty(0, dtype=np.int64)
        self.link_fleets = np.array(
            [self.system.fleets.get_loc(link.fleet) for link in case.links], dtype=int
        )
        self.burn_map = self._burn_map()
        self._relaxations: dict[float, tuple[Basis, float]] = {}

    def _burn_map(self) -> SparseMatrix:
        """Daily burn by link as a linear function of the columns (MWh of gas per MW accepted for an hour)."""
        case = self.system.case
        rows, columns, rates = [], [], []
        for number, (link, fleet) in enumerate(zip(case.links, self.link_fleets, strict=True)):
            mine = self._accepted[fleet].ravel()
            mine = mine[mine >= 0]
            rows += [number] * mine.size
            columns += mine.tolist()
            rates += [link.burn_mwh_per_mwh] * mine.size
        return sp.csr_array((rates, (rows, columns)), shape=(len(case.links), self.program.shape[1]))

    def output_mw(self, columns: FloatArray) -> FloatArray:
        """Output by fleet and hour."""
        output: FloatArray = np.where(self._accepted >= 0, columns[self._accepted], 0.0).sum(axis=1)
        return output

    def accepted_columns(self, fleet: int, hour: int) -> IntArray:
        """The columns of what is accepted of a fleet's blocks in an hour."""
        columns: IntArray = self._accepted[fleet, :, hour]
        return columns[columns >= 0]

    def at(self, power_stress: float, least_mw: FloatArray | None = None) -> LinearProgram | None:
        """The program at a stress; ``least_mw`` by link is the least output of a running unit, inf for off.

        None where a plant that must run may not.
        """
        program = self.loaded(power_stress)
        return program if least_mw is None else self._with_least(program, least_mw)

    def loaded(self, power_stress: float) -> LinearProgram:
        """The program at a stress, at level 0."""
        shift = np.zeros(self.program.shape[0])
        load = self.system.load_mw(power_stress).transpose("hour", "bus").values
        shift[self.balance_rows] = load
        if self._reserve.size:
            demand = self.system.case.load_mw(power_stress).sum(axis=1)
            shift[self._reserve] = self.system.case.reserve_fraction * demand
        return self.program.shifted(shift)

    def _with_least(self, program: LinearProgram, least_mw: FloatArray) -> LinearProgram | None:
        usual = self.system.least_mw.values[self.link_fleets]
        off = np.isinf(least_mw)
        raised = np.where(off, 0.0, np.maximum(least_mw, usual) - usual)
        on = self.on_columns[self.link_fleets]
        rows = self._least_rows[self.link_fleets]
        amount = np.repeat(-raised[:, None], on.shape[1], axis=1)
        change = sp.csr_array((amount.ravel(), (rows.ravel(), on.ravel())), shape=program.shape)
        upper = program.column_upper.copy()
        upper[on[off].ravel()] = 0.0
        if (program.column_lower > upper).any():
            return None
        matrix: SparseMatrix = sp.csr_array(program.matrix + change)
        return replace(program, matrix=matrix, column_upper=upper)

    def solve(self, program: LinearProgram | None, limits: SolveLimits) -> CommitmentOutcome:
        """Solve UC as a MILP; columns that a program has beyond those of UC are continuous."""
        if program is None:
            return CommitmentOutcome(Status.INFEASIBLE)
        whole = np.zeros(program.shape[1], dtype=bool)
        whole[: self.is_integer.size] = self.is_integer
        result = solve_mip_with_highs(MixedIntegerProgram(program, whole), limits)
        if result.interrupted:  # HiGHS stopped in good order; whoever searches must stop too
            raise KeyboardInterrupt
        if result.columns is None:
            return CommitmentOutcome(result.status, bound_usd=result.bound, seconds=result.seconds)
        on = np.rint(result.columns[self.on_columns]).astype(np.int64)
        return CommitmentOutcome(
            result.status, result.objective, result.bound, on, result.columns, result.seconds
        )

    def basis_of_relaxation(self, power_stress: float) -> Basis:
        """The optimal basis of the relaxation without levels: near those of all others at the stress.

        From nothing, so that what starts here does not depend on what was solved before.
        """
        return self._relaxation_of(power_stress)[0]

    def bound_of_relaxation_usd(self, power_stress: float) -> float:
        """What every commitment costs at least, whatever gas costs; minus infinity if that is not known."""
        return self._relaxation_of(power_stress)[1]

    def _relaxation_of(self, power_stress: float) -> tuple[Basis, float]:
        if power_stress not in self._relaxations:
            relaxation = PersistentLp(self.loaded(power_stress), feasibility=TUNING.commitment_feasibility)
            solution = relaxation.solve()
            bound = -math.inf
            if solution.status is Status.PROVEN_OPTIMAL:
                bound = solution.objective - TUNING.value_rounding * abs(solution.objective)
            self._relaxations[power_stress] = relaxation.basis(), bound
        return self._relaxations[power_stress]

    def solve_near_relaxation(
        self, power_stress: float, program: LinearProgram | None, limits: SolveLimits
    ) -> CommitmentOutcome:
        """Solve UC with every integer next to the relaxation's; the whole of it where that misses the gap.

        Most integers of the relaxation are whole, so that little is left to search.
        """
        relaxed = None if program is None else self._relaxed(power_stress, program)
        if program is None or relaxed is None or relaxed.status is not Status.PROVEN_OPTIMAL:
            return self.solve(program, limits)
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        whole = np.flatnonzero(self.is_integer)
        lower[whole] = np.maximum(lower[whole], np.floor(relaxed.columns[whole] + TUNING.whole))
        upper[whole] = np.minimum(upper[whole], np.ceil(relaxed.columns[whole] - TUNING.whole))
        near = replace(program, column_lower=lower, column_upper=upper)
        with suppress(SolverError):
            found = self.solve(near, limits)
            cost = found.objective_usd
            if cost is not None and relative_gap(cost, relaxed.objective) <= limits.gap:
                return replace(found, bound_usd=relaxed.objective)
        return self.solve(program, limits)

    def _relaxed(self, power_stress: float, program: LinearProgram) -> LpSolution | None:
        relaxation = PersistentLp(program, feasibility=TUNING.commitment_feasibility)
        try:
            relaxation.start_from(self.basis_of_relaxation(power_stress))
            return relaxation.solve()
        except SolverError:
            return None

    def commitment_cost_usd(self, on: IntArray) -> float:
        """No-load and start-up cost of a commitment (units on by fleet and hour)."""
        system = self.system
        before = np.roll(on, 1, axis=1)
        if self._past is not None:
            before[:, 0] = [each.on for each in _before(system, self._past)]
        started = np.maximum(on - before, 0)
        return float((system.no_load_usd.values @ on + system.start_usd.values @ started).sum())
