"""A gas network that follows the burn: affine recourse, and how much room it needs in every row.

A **recourse** serves the burn ``q`` by ``x(q) = x0 + G (q - q0)``: one more MWh at a place comes from a
marginal supply along a path, raising flows that run along the path and lowering those that run against it. If
``x0`` leaves every row and bound the room that ``G (q - q0)`` can take over a region of burns, then ``x(q)``
is feasible on all of it, and ``cost' x(q)`` is an upper bound on GM's value there, affine in q.
"""

import heapq
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import INFINITY, FloatArray, IntArray
from ppsm.errors import SolverError
from ppsm.markets.gauc.region import BurnRegion
from ppsm.markets.model.gas import GasMarket
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import LpSolution, PersistentLp, solve_lp_inside
from ppsm.status import Status


@dataclass(frozen=True, eq=False)
class AffineRecourse:
    """Cost at the base, cost of one more MWh at each place ($/MWh), and the gains (G, columns x places)."""

    base_cost_usd: float
    slope_usd_per_mwh: FloatArray
    gains: FloatArray


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Gains that ask for too much room, and how much less of it (in their unit) is worth asking for."""

    gains: FloatArray
    worth: FloatArray


@dataclass(frozen=True, eq=False)
class _Base:
    """The cost of ``x0`` (None: none exists), the room that is wanted, columns without it."""

    cost_usd: float | None
    wanted: _Wanted
    lacking: list[int]


class _Room:
    """How far columns and rows move when the burn goes anywhere in the region and one place burns less."""

    def __init__(self, region: BurnRegion, base_mwh: FloatArray, lowered_mwh: FloatArray) -> None:
        self._region, self._base, self._lowered = region, base_mwh, lowered_mwh

    def needed(self, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Largest rise and fall of what moves with each row of gains (rows x places)."""
        rise, fall = np.zeros(gains.shape[0]), np.zeros(gains.shape[0])
        moving = np.abs(gains).max(axis=1) > 0
        weights, which = np.unique(gains[moving], axis=0, return_inverse=True)
        rise[moving], fall[moving] = self._most(weights)[which], self._most(-weights)[which]
        return rise, fall

    def _most(self, weights: FloatArray) -> FloatArray:
        lowered = np.max(-weights * self._lowered, axis=1, initial=0.0)
        most: FloatArray = np.maximum(self._region.largest(weights) - weights @ self._base, 0.0) + lowered
        return most

    def sharpen(self, wanted: _Wanted) -> bool:
        """Learn more of how far they move, where that may pay; False where nothing new was learned."""
        new = False
        for weights, worth in zip(wanted.gains, wanted.worth, strict=True):
            for sign in (1.0, -1.0):
                new |= self._region.sharpen(sign * weights, worth)
        return new


class RecourseFinder:
    """Finds affine recourse for the gas market of a case."""

    def __init__(self, market: GasMarket, places: IntArray) -> None:
        self.market, self.places = market, places
        program = market.program
        self._is_balance = np.zeros(program.shape[0], dtype=bool)
        self._is_balance[market.balance_rows] = True
        self._junction_of_row = np.full(program.shape[0], -1)
        self._junction_of_row[market.balance_rows] = np.arange(market.balance_rows.size)
        self._own_rows = np.flatnonzero(~self._is_balance)
        self._arcs = self._find_arcs()
        self._pressures = market.variables.positions("squared_pressure_bar2")
        self._supply = market.variables.positions("supply_mwh")
        self._supply_at = self._junction_of_column(self._supply)

    def _find_arcs(self) -> list[tuple[int, int, int]]:
        """(column, junction it leaves, junction it enters) of every flow."""
        columns = self.market.program.matrix.tocsc()
        arcs = []
        for kind in ("pipe", "compressor", "regulator"):
            if f"{kind}_flow_mwh" not in self.market.variables.blocks:
                continue
            for column in self.market.variables.positions(f"{kind}_flow_mwh").tolist():
                mine = slice(columns.indptr[column], columns.indptr[column + 1])
                ends = {
                    float(value): int(self._junction_of_row[row])
                    for row, value in zip(columns.indices[mine], columns.data[mine], strict=True)
                    if self._is_balance[row]
                }
                arcs.append((column, ends[-1.0], ends[1.0]))
        return arcs

    def _junction_of_column(self, chosen: IntArray) -> IntArray:
        columns = self.market.program.matrix.tocsc()
        return np.array([self._junction_of_row[columns.indices[columns.indptr[c]]] for c in chosen])

    def find(
        self,
        withdrawal_mwh: FloatArray,
        base_mwh: FloatArray,
        region: BurnRegion,
        lowered_mwh: FloatArray,
        seconds_left: Callable[[], float],
    ) -> AffineRecourse | None:
        """A recourse that is feasible on the region, near GM's solution at the base burn; None if none found.

        It stays feasible when any one place burns ``lowered_mwh`` less.
        """
        room = _Room(region, base_mwh, lowered_mwh)
        guide = self._guide(withdrawal_mwh)
        if guide is None:
            return None
        tried = (self._search(withdrawal_mwh, room, guide, share, seconds_left) for share in TUNING.pressed)
        return next((found for found in tried if found is not None), None)

    def recall(
        self,
        gains: FloatArray,
        withdrawal_mwh: FloatArray,
        base_mwh: FloatArray,
        region: BurnRegion,
        lowered_mwh: FloatArray,
    ) -> AffineRecourse | None:
        """The recourse with gains that served elsewhere, if they are feasible here."""
        room = _Room(region, base_mwh, lowered_mwh)
        return self._recourse(self._base(withdrawal_mwh, room, gains, name_lacking=False), gains)

    def _recourse(self, base: _Base, gains: FloatArray) -> AffineRecourse | None:
        if base.cost_usd is None:
            return None
        return AffineRecourse(base.cost_usd, self.market.program.cost @ gains, gains)

    def _guide(self, withdrawal_mwh: FloatArray) -> LpSolution | None:
        """A solution of GM for paths to follow, inside the optimal face: flows keep off their limits."""
        with suppress(SolverError):
            guide = solve_lp_inside(self._gas_market_at(withdrawal_mwh))
            if guide.status is Status.PROVEN_OPTIMAL:
                return guide
        return None

    def _search(
        self,
        withdrawal_mwh: FloatArray,
        room: _Room,
        guide: LpSolution,
        pressed: float,
        seconds_left: Callable[[], float],
    ) -> AffineRecourse | None:
        """Choose paths, then ask for the room they need; other paths where there is none.

        Pressures follow the flows in part: all the way they may leave their limits.
        """
        penalty: dict[int, float] = {}
        prices = guide.prices[self.market.balance_rows]
        for _ in range(TUNING.path_retries):
            gains = self._gains(guide.columns, prices, penalty)
            if gains is None:
                return None
            gains[self._pressures] *= pressed
            base = self._base(withdrawal_mwh, room, gains)
            # Bounds by place overstate what places can do together: ask UC before giving a path up or paying.
            while seconds_left() > 0 and room.sharpen(base.wanted):
                base = self._base(withdrawal_mwh, room, gains)
            if base.cost_usd is not None:
                return self._recourse(base, gains)
            if not base.lacking or seconds_left() <= 0:
                return None
            for column in base.lacking:
                penalty[column] = penalty.get(column, 1.0) * TUNING.path_penalty
        return None

    def _gains(self, columns: FloatArray, prices: FloatArray, penalty: dict[int, float]) -> FloatArray | None:
        """G: for each place the path from a marginal supply (columns x places)."""
        cost = self.market.program.cost
        upper = self.market.program.column_upper
        inner = np.minimum(columns, upper - columns)[self._supply]
        near = np.abs(cost[self._supply] - prices[self._supply_at])
        result = np.zeros((columns.size, self.places.size))
        trees: dict[int, tuple[FloatArray, list[tuple[int, int, float] | None]]] = {}
        for number, place in enumerate(self.places.tolist()):
            # A supply inside its block sets the price; without one, the block whose price is nearest.
            off = np.abs(cost[self._supply] - prices[place])
            order = np.lexsort((-inner, off + near * (inner <= TUNING.inside_block_mwh)))
            for source in order[: TUNING.sources].tolist():
                root = int(self._supply_at[source])
                if root not in trees:
                    trees[root] = self._paths(root, columns, penalty)
                distance, step = trees[root]
                if np.isfinite(distance[place]):
                    result[self._supply[source], number] = 1.0
                    self._walk(result, number, place, step)
                    break
            else:
                return None
        result[self._pressures] = self._pressure_gains(columns, result)
        return result

    def _pressure_gains(self, columns: FloatArray, gains: FloatArray) -> FloatArray:
        """How squared pressures follow the flows: each pipe's drop as its equation's tangent says.

        Pressures are anchored where they are highest in each part of the network that only pipes connect, and
        passed on along a tree of pipes; a pipe that closes a loop takes the room it needs.
        """
        case = self.market.case
        found = np.zeros((self._pressures.size, self.places.size))
        if not case.pipes:
            return found
        flows = self.market.variables.positions("pipe_flow_mwh")
        steep = 2 * columns[flows] / np.array([pipe.weymouth_mwh_per_bar for pipe in case.pipes]) ** 2
        drop = steep[:, None] * gains[flows]
        arcs = {column: (start, end) for column, start, end in self._arcs}
        neighbours: list[list[tuple[int, int, float]]] = [[] for _ in range(self._pressures.size)]
        for number, column in enumerate(flows.tolist()):
            start, end = arcs[column]
            neighbours[start].append((end, number, -1.0))
            neighbours[end].append((start, number, 1.0))
        seen = np.zeros(self._pressures.size, dtype=bool)
        for anchor in np.argsort(-columns[self._pressures]).tolist():
            queue = [] if seen[anchor] else [anchor]
            seen[anchor] = True
            for here in queue:
                for there, number, sign in neighbours[here]:
                    if not seen[there]:
                        seen[there] = True
                        found[there] = found[here] + sign * drop[number]
                        queue.append(there)
        return found

    @staticmethod
    def _walk(result: FloatArray, number: int, place: int, step: list[tuple[int, int, float] | None]) -> None:
        here = step[place]
        while here is not None:
            column, before, sign = here
            result[column, number] += sign
            here = step[before]

    def _paths(
        self, root: int, columns: FloatArray, penalty: dict[int, float]
    ) -> tuple[FloatArray, list[tuple[int, int, float] | None]]:
        """Shortest paths from a junction (Dijkstra); going against a flow is possible as far as it flows."""
        count = self.market.balance_rows.size
        neighbours: list[list[tuple[int, int, float, float]]] = [[] for _ in range(count)]
        for column, start, end in self._arcs:
            flow = columns[column]
            weight = penalty.get(column, 1.0)
            along = TUNING.along_mwh / (TUNING.along_mwh + flow)
            neighbours[start].append((end, column, 1.0, weight * (1.0 + along)))
            if flow > TUNING.least_against_mwh:
                neighbours[end].append((start, column, -1.0, weight * (1.0 + TUNING.against_mwh / flow)))
        distance = np.full(count, np.inf)
        step: list[tuple[int, int, float] | None] = [None] * count
        distance[root] = 0.0
        queue = [(0.0, root)]
        while queue:
            length, here = heapq.heappop(queue)
            if length > distance[here]:
                continue
            for there, column, sign, weight in neighbours[here]:
                if length + weight < distance[there]:
                    distance[there] = length + weight
                    step[there] = (column, here, sign)
                    heapq.heappush(queue, (length + weight, there))
        return distance, step

    def _gas_market_at(self, withdrawal_mwh: FloatArray) -> LinearProgram:
        """GM with the withdrawals on the right of its balances."""
        shift = np.zeros(self._is_balance.size)
        shift[self.market.balance_rows] = withdrawal_mwh
        return self.market.program.shifted(shift)

    def _base(
        self, withdrawal_mwh: FloatArray, room: _Room, gains: FloatArray, name_lacking: bool = True
    ) -> _Base:
        """Cheapest ``x0`` that leaves the room the gains need; else (if asked) what lacks it."""
        program = self.market.program
        moving = np.flatnonzero(np.abs(gains).max(axis=1) > 0)
        column_up, column_down = room.needed(gains)
        row_gains = program.matrix @ gains
        row_gains[self._is_balance] = 0.0  # met exactly by construction
        row_up, row_down = room.needed(row_gains)
        served = self._gas_market_at(withdrawal_mwh)
        tighter = replace(
            served,
            row_lower=served.row_lower + row_down,
            row_upper=served.row_upper - row_up,
            column_lower=program.column_lower + column_down,
            column_upper=program.column_upper - column_up,
        )
        crossed = np.flatnonzero(tighter.column_lower > tighter.column_upper)
        if crossed.size:
            # Two extents make the room: one of them has to give back half of what is missing.
            missing = (tighter.column_lower - tighter.column_upper)[crossed]
            worth = TUNING.worth_asking_of_missing * missing
            return _Base(None, _Wanted(gains[crossed], worth), crossed.tolist())
        if (tighter.row_lower > tighter.row_upper).any():
            return _Base(None, _Wanted(gains[:0], np.empty(0)), [])
        solution = PersistentLp(tighter).solve(is_bounded=True)
        if solution.status is not Status.PROVEN_OPTIMAL:
            lacking = self._lacking(tighter, moving) if name_lacking else []
            room_taken = (column_up + column_down)[lacking]
            return _Base(None, _Wanted(gains[lacking], TUNING.worth_asking * room_taken), lacking)
        # What the room costs is told by the prices of the limits that it moved.
        prices = np.abs(np.concatenate([solution.reduced_costs, solution.prices]))
        room_taken = np.concatenate([column_up + column_down, row_up + row_down])
        paid = np.flatnonzero(prices * room_taken > TUNING.worth_asking_usd)
        dear = np.vstack([gains, row_gains])[paid]
        return _Base(solution.objective, _Wanted(dear, TUNING.worth_asking_usd / prices[paid]), [])

    def _lacking(self, program: LinearProgram, moving: IntArray) -> list[int]:
        """Moving columns whose bounds or flow rows are violated in the least-violated solution."""
        width, own = program.shape[1], self._own_rows
        solution = PersistentLp(self._with_slacks(program, moving)).solve(is_bounded=True)
        if solution.status is not Status.PROVEN_OPTIMAL:
            return []
        missed_rows = own[solution.columns[width : width + own.size] > TUNING.missed]
        touched = abs(program.matrix[missed_rows][:, moving]).sum(axis=0) > 0
        missed = solution.columns[width + own.size :] > TUNING.missed
        return [int(column) for column in moving[np.asarray(touched).ravel() | missed]]

    def _with_slacks(self, program: LinearProgram, moving: IntArray) -> LinearProgram:
        """Least sum by which rows that are no balance exceed, and moving columns miss, their bounds."""
        own, count = self._own_rows, moving.size
        unit = (-np.ones(own.size), (own, np.arange(own.size)))
        lower = program.column_lower.copy()
        lower[moving] = -INFINITY
        free = replace(program, column_lower=lower).with_cost(np.zeros(lower.size))
        slack = free.with_columns(
            np.zeros(own.size + count),
            np.full(own.size + count, INFINITY),
            cost=np.ones(own.size + count),
            matrix=sp.csr_array(unit, shape=(program.shape[0], own.size + count)),
        )
        # x_k + slack >= lower for each moving column k
        each = np.arange(count)
        places = (np.tile(each, 2), np.concatenate([moving, lower.size + own.size + each]))
        rows = sp.csr_array((np.ones(2 * count), places), shape=(count, slack.shape[1]))
        return slack.with_rows(rows, program.column_lower[moving])
