"""Whether pressures leave the flows alone: what the gas areas assume, proven for a demand and a box of burn.

Pressures allow every flow below one that they allow (a pipe's drop grows with its flow, a station's ratio
does not depend on it). So if the largest flows that least-cost operation can have, each by itself, are
allowed together, then pressures bind at none of these burns, and the market is a plain transport at all of
them. The largest flows are found by linear programs over the network without pressures, in boxes of price
patterns: within one, most supplies and many arcs are decided. A box whose largest flows are too large is
split.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ppsm.arrays import BoolArray, FloatArray
from ppsm.cases.entities import upstream_downstream
from ppsm.markets.gauc.areas import GasAreas
from ppsm.markets.gauc.patterns import BurnBox, PatternBox, PriceSteps
from ppsm.markets.gauc.relaxation import PlaceMap
from ppsm.markets.model.gas import GasMarket
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
        self._transport = sp.csr_array(
            sp.vstack([sp.hstack([matrix[:, supply], matrix[:, flows], packed, burn]), total])
        )
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
            flows = self._largest_flows(areas, steps, withdrawal_mwh, burn, box)
            if flows is None or self._allows(flows):
                continue
            parts = _split(areas, steps, box)
            if not parts:
                return False
            boxes.extend(parts)
        return True

    def _largest_flows(
        self,
        areas: GasAreas,
        steps: PriceSteps,
        withdrawal_mwh: FloatArray,
        burn: BurnBox,
        box: PatternBox,
    ) -> FloatArray | None:
        """The most that flows through each arc; None where no burn of the box has such prices."""
        lower, upper = box.gas_bounds(areas, steps)
        # flows that go round in a circle serve nobody: no more flows anywhere than comes in
        comes_in = float(areas.supply_mwh.sum() - withdrawal_mwh[withdrawal_mwh < 0].sum())
        most = np.minimum(self._capacity, comes_in)
        up, down = areas.of_junction[self._up], areas.of_junction[self._down]
        inside = (up >= 0) & (down >= 0)
        most[inside & (box.lowest[up] > box.highest[down])] = 0.0
        supplies = self._supplies
        zero = np.zeros(self._arcs + self._pack.size)
        program = LinearProgram.of(
            np.zeros(self._transport.shape[1]),
            self._transport,
            row_lower=np.append(withdrawal_mwh, burn.total_mwh[0]),
            row_upper=np.append(withdrawal_mwh, burn.total_mwh[1]),
            column_lower=np.concatenate([lower[:supplies], zero, burn.lower_mwh]),
            column_upper=np.concatenate([upper[:supplies], most, self._pack, burn.upper_mwh]),
        )
        live = PersistentLp(program)
        live.use_primal_simplex()
        found = np.zeros(self._arcs)
        for arc in range(self._arcs):
            cost = np.zeros(program.shape[1])
            cost[supplies + arc] = -1.0
            live.set_cost(cost)
            solution = live.solve()
            if solution.status is Status.INFEASIBLE:
                return None
            is_known = solution.status is Status.PROVEN_OPTIMAL
            found[arc] = (-solution.objective if is_known else comes_in) + TUNING.small_mwh
        return found

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
