"""Whether pressures leave the flows alone: what the gas areas assume, proven for a demand and a box of burn.

Pressures allow every flow below one that they allow (a pipe's drop grows with its flow, a station's ratio
does not depend on it). So if the largest flows that least-cost operation can have, each by itself, are
allowed together, then pressures bind at none of these burns, and the market is a plain transport at all of
them. The largest flows are found by linear programs over the network without pressures, in boxes of price
patterns: within one, most supplies and many arcs are decided.

Seldom can all flows be largest at once. Pressure that runs out does so along a **way**: from a junction at
its largest pressure through pipes and stations to one at its least. Where the largest flows are too large,
the most that all pipes of a way can lose together is asked for, way by way (a pipe's drop is convex in its
flow, so that its chord is above it). A box in which some way may run out is split. Of several pipes between
the same junctions each takes its share as far as its capacity goes, which changes nothing for the market.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ppsm.arrays import INFINITY, BoolArray, FloatArray, SparseMatrix
from ppsm.cases.entities import Compressor, Regulator, upstream_downstream
from ppsm.cases.schema import Case
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PriceSteps
from ppsm.markets.gauc.relaxation import PlaceMap
from ppsm.markets.model.gas import TANGENTS, GasMarket, largest_flow_mwh, tangent_points
from ppsm.markets.tuning import TUNING
from ppsm.program import LinearProgram
from ppsm.solvers.highs import PersistentLp
from ppsm.status import Status


class PressureCheck:
    """The network of a gas market with its flows by themselves, and its pressures by themselves."""

    def __init__(self, market: GasMarket, places: PlaceMap) -> None:
        case, program, variables = market.case, market.program, market.variables
        kinds = [
            (kind, rows)
            for kind, rows in (
                ("pipe", case.pipes),
                ("compressor", case.compressors),
                ("regulator", case.regulators),
            )
            if rows
        ]
        names = {row.junction: number for number, row in enumerate(case.junctions)}
        ends = [upstream_downstream(row) for _, rows in kinds for row in rows]
        self._up = np.array([names[up] for up, _ in ends], dtype=np.int64)
        self._down = np.array([names[down] for _, down in ends], dtype=np.int64)
        flows = np.concatenate([variables.positions(f"{kind}_flow_mwh") for kind, _ in kinds])
        supply = variables.positions("supply_mwh")
        balance = market.balance_rows
        others = np.setdiff1d(np.arange(program.shape[0]), balance)
        junctions, count = balance.size, places.junctions.size
        burn = sp.csr_array((-np.ones(count), (places.junctions, np.arange(count))), shape=(junctions, count))
        total = sp.csr_array(
            np.concatenate([np.zeros(supply.size + flows.size + junctions), np.ones(count)])[None]
        )
        matrix = program.matrix[balance]
        packed = -sp.eye_array(junctions)
        even, self._even_lower = _even_flows(case, (supply.size, flows.size, junctions + count))
        self._transport = sp.csr_array(
            sp.vstack([sp.hstack([matrix[:, supply], matrix[:, flows], packed, burn]), total, even])
        )
        self._ways = PressureWays(case)
        self._supplies, self._arcs = supply.size, flows.size
        self._capacity = program.column_upper[flows]
        self._pack = np.array([row.pack_mwh for row in case.junctions])
        pressure = variables.positions("squared_pressure_bar2")
        self._by_pressure, self._by_flow = (
            program.matrix[others][:, pressure],
            program.matrix[others][:, flows],
        )
        self._row_lower, self._row_upper = program.row_lower[others], program.row_upper[others]
        self._least, self._most = program.column_lower[pressure], program.column_upper[pressure]

    def holds(
        self,
        areas: GasAreas,
        steps: PriceSteps,
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        root: PatternBox,
        seconds_left: Callable[[], float],
    ) -> bool:
        """Whether pressures bind at no burn of the box; False also where that is not proven."""
        boxes, looked = [root], 0
        while boxes:
            box = boxes.pop()
            looked += 1
            if looked > TUNING.pressure_boxes or seconds_left() <= 0:
                return False
            live = self._transport_in(areas, steps, withdrawal_mwh, burn, box)
            flows = self._largest_flows(live, seconds_left)
            if flows is None or self._allows(flows) or self._has_room(live, flows):
                continue
            parts = _split(areas, steps, box)
            if not parts:
                return False
            boxes.extend(parts)
        return True

    def never_binds(
        self,
        areas: GasAreas,
        steps: PriceSteps,
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        seconds_left: Callable[[], float],
    ) -> bool:
        """Whether pressures bind at no burn of the box, whatever prices are; False where not proven."""
        every = PatternBox(np.zeros(areas.count, dtype=np.int64), np.full(areas.count, steps.count))
        live = self._transport_in(areas, steps, withdrawal_mwh, burn, every)
        flows = self._largest_flows(live, seconds_left)
        return flows is None or self._allows(flows)

    def _transport_in(
        self,
        areas: GasAreas,
        steps: PriceSteps,
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        box: PatternBox,
    ) -> PersistentLp:
        """The network without pressures at the burns and prices of boxes."""
        lower, upper = box.gas_bounds(areas, steps)
        # flows that go round in a circle serve nobody: no more flows anywhere than comes in
        comes_in = float(areas.supply_mwh.sum() - withdrawal_mwh[withdrawal_mwh < 0].sum())
        most = np.minimum(self._capacity, comes_in)
        up, down = areas.of_junction[self._up], areas.of_junction[self._down]
        inside = (up >= 0) & (down >= 0)
        most[inside & (box.lowest[up] > box.highest[down])] = 0.0
        supplies, even = self._supplies, np.zeros(self._even_lower.size)
        zero = np.zeros(self._arcs + self._pack.size)
        live = PersistentLp(
            LinearProgram.of(
                np.zeros(self._transport.shape[1]),
                self._transport,
                row_lower=np.concatenate([withdrawal_mwh, [burn.total_mwh[0]], self._even_lower]),
                row_upper=np.concatenate([withdrawal_mwh, [burn.total_mwh[1]], even]),
                column_lower=np.concatenate([lower[:supplies], zero, burn.lower_mwh]),
                column_upper=np.concatenate([upper[:supplies], most, self._pack, burn.upper_mwh]),
            )
        )
        live.use_primal_simplex()
        return live

    def _largest(self, live: PersistentLp, weights: FloatArray) -> float | None:
        """The most that ``weights' flows`` can be, inf where that failed; None where no burn is left."""
        cost = np.zeros(live.program.shape[1])
        cost[self._supplies : self._supplies + weights.size] = -weights
        live.set_cost(cost)
        solution = live.solve()
        if solution.status is Status.INFEASIBLE:
            return None
        return -solution.objective if solution.status is Status.PROVEN_OPTIMAL else np.inf

    def _largest_flows(self, live: PersistentLp, seconds_left: Callable[[], float]) -> FloatArray | None:
        """The most that flows through each arc; None where no burn of the box has such prices.

        Without time it is what fits through an arc, which proves less and nothing that is wrong.
        """
        upper = live.program.column_upper[self._supplies : self._supplies + self._arcs]
        found = np.zeros(self._arcs)
        for arc in range(self._arcs):
            most = self._largest(live, np.eye(1, self._arcs, arc)[0]) if seconds_left() > 0 else np.inf
            if most is None:
                return None
            found[arc] = min(most, upper[arc]) + TUNING.small_mwh
        return found

    def _has_room(self, live: PersistentLp, largest_mwh: FloatArray) -> bool:
        """Whether pressure runs out along no way, whatever flows together."""
        pipes = self._ways.count
        largest = largest_mwh[:pipes]
        slope = self._ways.drop(largest) / largest
        for way in self._ways.exhausted_at(largest):
            if way is None:
                return False
            lost = self._largest(live, way.weights * slope)
            if lost is not None and lost >= way.room * (1 - TUNING.widening):
                return False
        return True

    def _allows(self, flow_mwh: FloatArray) -> bool:
        """Whether some pressures allow these flows together."""
        shift = self._by_flow @ flow_mwh
        program = LinearProgram.of(
            np.zeros(self._least.size),
            self._by_pressure,
            row_lower=self._row_lower - shift,
            row_upper=self._row_upper - shift,
            column_lower=self._least,
            column_upper=self._most,
        )
        return PersistentLp(program).solve(is_bounded=True).status is Status.PROVEN_OPTIMAL


def _even_flows(case: Case, widths: tuple[int, int, int]) -> tuple[SparseMatrix, FloatArray]:
    """Rows that give pipes between the same junctions flows that need the same drop, and their lower sides.

    A pipe that is full at a smaller drop than another may need less than that one, never more.
    """
    supplies, arcs, others = widths
    beside: dict[tuple[str, str], list[int]] = {}
    for number, pipe in enumerate(case.pipes):
        beside.setdefault(upstream_downstream(pipe), []).append(number)
    strength = np.array([pipe.weymouth_mwh_per_bar for pipe in case.pipes])
    full_at = np.array([pipe.capacity_mwh for pipe in case.pipes]) / strength
    rows, lower = [], []
    for pipes in beside.values():
        for less, more in pairwise(sorted(pipes, key=lambda number: full_at[number])):
            row = np.zeros(supplies + arcs + others)
            row[supplies + less] = 1.0
            row[supplies + more] = -strength[less] / strength[more]
            rows.append(row)
            lower.append(0.0 if full_at[less] == full_at[more] else -INFINITY)
    return sp.csr_array(np.array(rows).reshape(len(rows), supplies + arcs + others)), np.array(lower)


@dataclass(frozen=True, eq=False)
class Way:
    """A way along which pressure runs out where ``weights' drops`` of the pipes reach the room (bar2)."""

    weights: FloatArray
    room: float


class PressureWays:
    """All ways of a network, and the drop of squared pressure along its pipes.

    One step from u to v says ``psi_v <= gain psi_u - drop``: along a pipe (gain 1), through a station (its
    largest ratio squared), and back through one (one over its least ratio squared, without a drop).
    """

    def __init__(self, case: Case) -> None:
        names = {row.junction: number for number, row in enumerate(case.junctions)}
        self.count = len(case.pipes)
        self._least = np.array([row.pressure_min_bar**2 for row in case.junctions])
        self._most = np.array([row.pressure_max_bar**2 for row in case.junctions])
        self._steps: list[list[tuple[int, int, float]]] = [[] for _ in names]  # to, pipe or -1, gain
        for number, pipe in enumerate(case.pipes):
            up, down = upstream_downstream(pipe)
            self._steps[names[up]].append((names[down], number, 1.0))
        stations: list[Compressor | Regulator] = [*case.compressors, *case.regulators]
        for station in stations:
            up, down = upstream_downstream(station)
            self._steps[names[up]].append((names[down], -1, station.ratio_max**2))
            if station.ratio_min > 0:
                self._steps[names[down]].append((names[up], -1, station.ratio_min**-2))
        largest = largest_flow_mwh(case)
        self._blocked = largest <= 0
        touched = tangent_points(np.where(self._blocked, 1.0, largest), TANGENTS)[:, 1:]
        factor = np.array([[pipe.weymouth_mwh_per_bar**2] for pipe in case.pipes]).reshape(self.count, 1)
        self._slope, self._half = factor / (2 * touched), touched / 2

    def drop(self, flow_mwh: FloatArray) -> FloatArray:
        """The least drop of squared pressure that the market's tangents allow for flows through the pipes."""
        needed = ((flow_mwh[:, None] - self._half) / self._slope).max(axis=1, initial=0.0)
        found: FloatArray = np.where(self._blocked & (flow_mwh > TUNING.small_mwh), np.inf, needed)
        return found

    def exhausted_at(self, flow_mwh: FloatArray) -> Iterator[Way | None]:
        """Ways along which pressure would run out at these flows; None once there are too many to tell."""
        drop = self.drop(flow_mwh)
        if not np.isfinite(drop).all() or self._goes_round():
            yield None
            return
        looked = 0
        for start in range(len(self._steps)):
            todo = [(start, self._most[start], 1.0, np.zeros(self.count), frozenset({start}))]
            while todo:
                at, pressure, gain, weights, seen = todo.pop()
                looked += 1
                if looked > TUNING.pressure_ways:
                    yield None
                    return
                for to, pipe, factor in self._steps[at]:
                    left = pressure * factor - (drop[pipe] if pipe >= 0 else 0.0)
                    if to in seen or left >= self._most[to]:  # then the way that begins there says more
                        continue
                    further = weights * factor
                    if pipe >= 0:
                        further[pipe] += 1.0
                    total = gain * factor
                    if left < self._least[to]:
                        yield Way(further, self._most[start] * total - self._least[to])
                    todo.append((to, left, total, further, seen | {to}))

    def _goes_round(self) -> bool:
        """Whether steps lead from the end of some pipe back to its beginning: ways then have no end."""
        count = len(self._steps)
        ends = [(at, to, pipe) for at, steps in enumerate(self._steps) for to, pipe, _ in steps]
        graph = sp.csr_array(
            (np.ones(len(ends)), ([end[0] for end in ends], [end[1] for end in ends])), shape=(count, count)
        )
        part = connected_components(graph, connection="strong")[1]
        return any(pipe >= 0 and part[at] == part[to] for at, to, pipe in ends)


def _split(areas: GasAreas, steps: PriceSteps, box: PatternBox) -> tuple[PatternBox, ...]:
    """Two halves of a box in the area whose classes leave most supply open; none where all is decided."""
    classes, at = steps.supply_class, areas.supply_area
    undecided: BoolArray = (classes >= box.lowest[at]) & (classes <= box.highest[at])
    amount = np.bincount(at[undecided], areas.supply_mwh[undecided], areas.count)
    amount[box.lowest == box.highest] = 0.0
    area = int(amount.argmax())
    if box.lowest[area] == box.highest[area]:
        return ()
    middle = int(box.lowest[area] + box.highest[area]) // 2
    parts = (box.with_highest(area, middle), box.with_lowest(area, middle + 1))
    narrowed = (part.narrowed(areas) for part in parts)
    return tuple(part for part in narrowed if part is not None)
