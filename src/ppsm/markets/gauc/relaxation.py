"""UC's relaxation beside the gas areas: bounds of price patterns, and cuts that hold for every gas demand.

The program has UC's columns with continuous units, the supplies and flows of the areas, and rows that raise
the least output of a plant to a level where that level is asked for. Solved for a set of levels and limits on
the gas columns it bounds all answers with such prices. Its dual says more: with the burn q by place and
levels z (one where a plant must be at a level, zero where not)

    cost  >=  constant - price' q + weight' z                                     (a cut)

is true of every commitment, whatever the gas demand, because demand enters through q and z alone.

Relaxing the integers of UC loses little: 0.02 to 0.05 % on the Northeast case.
"""

import math
import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray, IntArray, SparseMatrix
from ppsm.errors import SolverError
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.model.followers import Followers
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import Basis, PersistentLp
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class Cut:
    """``cost >= constant_usd - price' burn by place + weight' asked levels``, for every commitment."""

    constant_usd: float
    price_usd_per_mwh: FloatArray
    weight_usd: FloatArray


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The cheapest point of the relaxation: a bound, its burn by place, its columns and the cut it proves.

    ``withdrawal_usd_per_mwh`` is what one more MWh withdrawn from each area costs.
    """

    bound_usd: float
    burn_mwh: FloatArray
    columns: FloatArray
    cut: Cut
    is_served: bool
    withdrawal_usd_per_mwh: FloatArray


@dataclass(frozen=True, eq=False)
class AskedLevels:
    """Every plant and level that a price can ask for, one after another: link, level, threshold in $/MWh."""

    link: IntArray
    level: IntArray
    cap_usd_per_mwh: FloatArray

    @classmethod
    def of(cls, followers: Followers) -> "AskedLevels":
        """All of a case."""
        pairs = [
            (link, level)
            for link, blocks in enumerate(followers.levels.blocks)
            for level in range(1, int(blocks) + 1)
        ]
        link = np.array([pair[0] for pair in pairs], dtype=np.int64)
        level = np.array([pair[1] for pair in pairs], dtype=np.int64)
        return cls(link, level, followers.levels.cap_usd_per_mwh[link, level - 1])

    def by_link(self, asked: BoolArray, links: int) -> IntArray:
        """Levels of the plants where these are asked for."""
        return np.bincount(self.link[asked], minlength=links).astype(np.int64)


class PlaceMap:
    """Places are the junctions with plants: their numbers, the place of each link, and burn by place."""

    def __init__(self, followers: Followers) -> None:
        self.junctions, self.of_link = np.unique(followers.gas.plants, return_inverse=True)
        links = self.of_link.size
        self.gather: SparseMatrix = sp.csr_array(
            (np.ones(links), (self.of_link, np.arange(links))), shape=(self.junctions.size, links)
        )
        self.burn: SparseMatrix = sp.csr_array(self.gather @ followers.commitment.burn_map)


@dataclass(frozen=True, eq=False)
class _Solved:
    """Levels asked for and bounds of the gas columns of a solve, one after another, and its basis."""

    limits: FloatArray
    basis: Basis


class PowerRelaxation:
    """UC's relaxation of a power stress beside the areas of a gas network, alive in HiGHS.

    Where it is only ``of_missing`` gas and levels, nothing else has a cost. What costs more than nothing is
    then no answer, and its cut says for which burns and levels there is none.
    """

    def __init__(
        self, followers: Followers, power_stress: float, areas: GasAreas, *, of_missing: bool = False
    ) -> None:
        self.areas, self.asked = areas, AskedLevels.of(followers)
        self.places = PlaceMap(followers)
        plain = followers.commitment.loaded(power_stress)
        if of_missing:
            plain = replace(plain, cost=np.zeros(plain.shape[1]), offset=0.0)
        self.power_width = plain.shape[1]
        rows, self._room = _level_rows(followers, self.asked)
        self._first_level = plain.shape[0]
        self._hours = rows.shape[0] // max(self.asked.link.size, 1)
        self._first_balance = self._first_level + rows.shape[0]
        self.gas_columns = self.power_width + np.arange(areas.width)
        self.balance_rows = self._first_balance + np.arange(areas.count)
        area_of_place = areas.of_junction[self.places.junctions]
        shape = (areas.count, area_of_place.size)
        at = sp.csr_array((np.ones(shape[1]), (area_of_place, np.arange(shape[1]))), shape=shape)
        self.area_of_place = area_of_place
        self.program: LinearProgram = (
            plain.with_columns(np.zeros(areas.width), areas.upper_mwh())
            .with_rows(rows, lower=-np.repeat(self._room, self._hours))
            .with_rows(sp.hstack([-(at @ self.places.burn), areas.balance()], format="csr"))
        )
        self._missed_gas_usd, missed_level_usd = _too_dear(followers)
        whole = _with_missed_levels(
            self.with_missed_gas(self.program),
            self._first_level,
            (self.asked.link.size, self._hours),
            missed_level_usd,
        )
        self._lp = PersistentLp(whole, feasibility=TUNING.commitment_feasibility)
        self._lp.stop_after(TUNING.relaxation_iterations)
        self._solved: list[_Solved] = []

    @property
    def missed_gas_usd_per_mwh(self) -> float:
        """What gas from or to nowhere costs."""
        return self._missed_gas_usd

    def with_missed_gas(self, program: LinearProgram) -> LinearProgram:
        """A program of these columns and more rows with gas from and to nowhere as its last columns."""
        return _with_missed_gas(program, self.balance_rows, self._missed_gas_usd)

    def solve(
        self,
        withdrawal_mwh: FloatArray,
        asked: BoolArray,
        gas: tuple[FloatArray, FloatArray],
        seconds: float = math.inf,
    ) -> Relaxed | None:
        """The cheapest point with these levels asked for and the gas columns within bounds.

        None if there is none, or none was found in time: mostly iterations end a long solve, so that a busy
        machine finds the same, but no single one may outlast the caller's ``seconds``.
        """
        level_rows, least = self._level_bounds(asked)
        self._lp.set_row_bounds(level_rows, least, np.full(least.size, np.inf))
        balance = self.balance_rows
        self._lp.set_row_bounds(balance, withdrawal_mwh, withdrawal_mwh)
        self._lp.set_column_bounds(self.gas_columns, *gas)
        limits = np.concatenate([asked, *gas])
        self._start_near(limits)
        self._lp.stop_at(time.perf_counter() + seconds)
        try:
            solution = self._lp.solve(is_bounded=True)
        except SolverError:
            return None
        if solution.status is not Status.PROVEN_OPTIMAL:
            return None
        self._solved = [_Solved(limits, self._lp.basis()), *self._solved][: TUNING.bases_kept]
        burn = np.asarray(self.places.burn @ solution.columns[: self.power_width])
        price = solution.prices[balance][self.area_of_place]
        paid = np.maximum(solution.prices[level_rows], 0.0).reshape(asked.size, self._hours)
        weight = self._room * paid.sum(axis=1)
        beyond = solution.columns[self.power_width + self.areas.width :]
        missed_gas_usd = self._missed_gas_usd * float(beyond[: 2 * self.areas.count].sum())
        bound = solution.objective - TUNING.value_rounding * abs(solution.objective)
        # what the power side alone costs at this burn and these levels
        power_usd = bound - missed_gas_usd
        cut = Cut(power_usd + float(price @ burn) - float(weight @ asked), price, weight)
        is_served = bool(beyond.sum() <= TUNING.missed)
        columns = solution.columns[: self.power_width]
        return Relaxed(bound, burn, columns, cut, is_served, solution.prices[balance])

    def _start_near(self, limits: FloatArray) -> None:
        """Start from the basis of the solve whose levels and gas bounds differ least, the latest of them.

        The search jumps between patterns, so that the last one is often far away.
        """
        if self._solved and self._nearest(limits) is not self._solved[0]:
            self._lp.start_from(self._nearest(limits).basis)

    def _nearest(self, limits: FloatArray) -> _Solved:
        return min(self._solved, key=lambda each: int((limits != each.limits).sum()))

    def live_at(
        self, program: LinearProgram, asked: BoolArray, gas: tuple[FloatArray, FloatArray]
    ) -> PersistentLp:
        """A program of these columns and more rows, at levels and gas bounds, to be solved from near by."""
        live = PersistentLp(program, feasibility=TUNING.commitment_feasibility)
        if self._solved:
            basis = self._nearest(np.concatenate([asked, *gas])).basis
            live.start_from(Basis(basis.columns[: program.shape[1]], basis.rows))
        return live

    def _level_bounds(self, asked: BoolArray) -> tuple[IntArray, FloatArray]:
        rows = np.arange(self._first_level, self._first_balance)
        return rows, np.repeat(-self._room * ~asked, self._hours)

    def program_at(
        self, withdrawal_mwh: FloatArray, asked: BoolArray, gas: tuple[FloatArray, FloatArray]
    ) -> LinearProgram:
        """The same program by itself, for a search over its integers."""
        lower, upper = self.program.row_lower.copy(), self.program.row_upper.copy()
        rows, least = self._level_bounds(asked)
        lower[rows] = least
        lower[self._first_balance :] = upper[self._first_balance :] = withdrawal_mwh
        column_lower, column_upper = self.program.column_lower.copy(), self.program.column_upper.copy()
        column_lower[self.gas_columns], column_upper[self.gas_columns] = gas
        return replace(
            self.program,
            row_lower=lower,
            row_upper=upper,
            column_lower=column_lower,
            column_upper=column_upper,
        )


def _too_dear(followers: Followers) -> tuple[float, float]:
    """Prices of a missed MWh of gas and of a unit that misses its level: more than a plan saves by them.

    They are of the size of the case: a day on which everything runs at its dearest costs the most there is,
    and what a unit gives at its level can be given by the dearest bid instead.
    """
    case = followers.case
    hours = len(case.load_shape)
    dearest = {fleet.fleet: 0.0 for fleet in case.fleets}
    for bid in case.bids:
        dearest[bid.fleet] = max(dearest[bid.fleet], abs(bid.price_usd_per_mwh))
    most_usd = sum(
        hours * fleet.unit_count * (fleet.unit_size_mw * dearest[fleet.fleet] + fleet.no_load_usd_per_h)
        + fleet.unit_count * fleet.start_usd
        for fleet in case.fleets
    )
    units = [case.fleets[fleet] for fleet in followers.commitment.link_fleets]
    most_mwh = sum(
        hours * fleet.unit_count * fleet.unit_size_mw * link.burn_mwh_per_mwh
        for fleet, link in zip(units, case.links, strict=True)
    )
    unit_usd = hours * max(fleet.unit_size_mw for fleet in units) * max(dearest.values())
    return TUNING.missed_gas * most_usd / max(most_mwh, 1.0), TUNING.missed_level * unit_usd


def _with_missed_gas(program: LinearProgram, balance_rows: IntArray, usd_per_mwh: float) -> LinearProgram:
    """The program with gas from nowhere and to nowhere, far too dear.

    It has a point where gas is short, and HiGHS is slow where there is none.
    """
    areas = balance_rows.size
    unit = sp.csr_array((np.ones(areas), (balance_rows, np.arange(areas))), shape=(program.shape[0], areas))
    return program.with_columns(
        np.zeros(2 * areas),
        np.full(2 * areas, np.inf),
        cost=np.full(2 * areas, usd_per_mwh),
        matrix=sp.csr_array(sp.hstack([unit, -unit])),
    )


def _with_missed_levels(
    program: LinearProgram, first_row: int, levels_hours: tuple[int, int], usd: float
) -> LinearProgram:
    """The same for levels: each may be missed, in all hours at once."""
    levels, hours = levels_hours
    rows = first_row + np.arange(levels * hours)
    missed = sp.csr_array(
        (np.ones(levels * hours), (rows, np.repeat(np.arange(levels), hours))),
        shape=(program.shape[0], levels),
    )
    return program.with_columns(
        np.zeros(levels), np.full(levels, np.inf), cost=np.full(levels, usd), matrix=missed
    )


def _level_rows(followers: Followers, asked: AskedLevels) -> tuple[SparseMatrix, FloatArray]:
    """Rows (asked levels x hours) that hold a running unit to a level's least output, in parts of a unit.

    ``row >= 0`` where the level is asked for, ``row >= -room`` (no more than UC says anyway) where not.
    """
    commitment, levels = followers.commitment, followers.levels
    units = np.array([fleet.unit_count for fleet in followers.case.fleets], dtype=float)
    rows, columns, values, room = [], [], [], []
    number = 0
    for link, level in zip(asked.link, asked.level, strict=True):
        fleet = commitment.link_fleets[link]
        is_off = level == levels.blocks[link]
        size = levels.size_mw[link].sum()
        least = 1.0 if is_off else levels.least_mw[link, level] / size
        usual = 0.0 if is_off else levels.least_mw[link, 0] / size
        room.append((least - usual) * units[fleet])
        for hour in range(commitment.on_columns.shape[1]):
            rows.append(number)
            columns.append(int(commitment.on_columns[fleet, hour]))
            values.append(-least)
            if not is_off:
                accepted = commitment.accepted_columns(fleet, hour)
                rows += [number] * accepted.size
                columns += accepted.tolist()
                values += [1.0 / size] * accepted.size
            number += 1
    matrix = sp.csr_array((values, (rows, columns)), shape=(number, commitment.program.shape[1]))
    return matrix, np.array(room)
