"""``python -m benchmarks.northeast``: the gas market of the Northeast case in every stress cell.

For each cell: burn from the approximate dispatch with gas-price feedback, feasibility, prices at the plants,
the error of the tangents; then how often raw Laplace noise on the demand leaves the market feasible.
"""

import argparse
import time
from dataclasses import dataclass, replace

import highspy
import numpy as np
from numpy.typing import ArrayLike

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.cases import Case, load_case
from ppsm.cases.calibration.directions import approximate_dispatch
from ppsm.cases.entities import MWH_PER_MMBTU, upstream_downstream
from ppsm.figures.state import fitted_pressures
from ppsm.markets.model.gas import GasMarket, build_gas_market, largest_flow_mwh

PAPER_FEASIBLE = {10.0: 71.49, 100.0: 18.13, 1000.0: 4.47}
FEEDBACK_ROUNDS = 4
THROTTLED_BAR2 = 1.0


class Clearing:
    """The market in a persistent HiGHS: only the right-hand side of the balances changes."""

    def __init__(self, market: GasMarket) -> None:
        program = market.program
        columns = program.matrix.tocsc()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = program.shape
        model.col_cost_ = program.cost
        model.col_lower_, model.col_upper_ = program.column_lower, program.column_upper
        model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
        model.a_matrix_.value_ = columns.data
        self._rows = market.balance_rows.astype(np.int32)
        self._solver = highspy.Highs()
        self._solver.silent()
        self._solver.passModel(model)

    def feasible(self, withdrawal_mwh: FloatArray) -> bool:
        """Clear the market at these withdrawals and say whether that was possible."""
        self._solver.changeRowsBounds(self._rows.size, self._rows, withdrawal_mwh, withdrawal_mwh)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible):
            raise RuntimeError(f"HiGHS stopped with {self._solver.modelStatusToString(status)}")
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def solution(self) -> FloatArray:
        """Return the columns of the last clearing."""
        return np.array(self._solver.getSolution().col_value)

    def prices_usd_per_mmbtu(self) -> FloatArray:
        """Return the price at each junction in the last clearing."""
        return np.array(self._solver.getSolution().row_dual)[self._rows] * MWH_PER_MMBTU


@dataclass(frozen=True, eq=False)
class WeymouthError:
    """Flows of a solution beside the flows of the true equation at the solution's pressures, pipe by pipe.

    ``missing_bar`` is how much lower the pressure behind the pipe would truly be than the solution has it.
    """

    pipes: tuple[str, ...]
    flow_mwh: FloatArray
    true_mwh: FloatArray
    largest_mwh: FloatArray
    missing_bar: FloatArray

    @property
    def overshoot(self) -> FloatArray:
        """Flow above the true equation, relative to the pipe's largest flow: the error of the tangents."""
        excess = np.maximum(self.flow_mwh - self.true_mwh, 0.0)
        return np.divide(excess, self.largest_mwh, out=np.zeros_like(excess), where=self.largest_mwh > 0)


def weymouth_error(market: GasMarket, solution: ArrayLike) -> WeymouthError:
    """Compare a solution of the market's program with the true Weymouth equation at its pressures.

    The market's tangents let a little more gas through than the equation.
    """
    values = frozen_vector(solution, market.program.shape[1], "the solution of the gas market")
    by_name = dict(zip(market.program.column_names, values, strict=True))
    pipes = market.case.pipes
    ends = [upstream_downstream(pipe) for pipe in pipes]
    up, down = (np.array([by_name[f"squared_pressure_bar2[{end[side]}]"] for end in ends]) for side in (0, 1))
    flow = np.array([by_name[f"pipe_flow_mwh[{pipe.pipe}]"] for pipe in pipes])
    constant = np.array([pipe.weymouth_mwh_per_bar for pipe in pipes])
    true_down = np.maximum(up - (flow / constant) ** 2, 0.0)
    return WeymouthError(
        pipes=tuple(pipe.pipe for pipe in pipes),
        flow_mwh=flow,
        true_mwh=constant * np.sqrt(np.maximum(up - down, 0.0)),
        largest_mwh=largest_flow_mwh(market.case),
        missing_bar=np.maximum(np.sqrt(np.maximum(down, 0.0)) - np.sqrt(true_down), 0.0),
    )


@dataclass(frozen=True)
class Cell:
    """One stress cell after the feedback between gas price and burn."""

    power_stress: float
    gas_stress: float
    feasible: bool
    burn_mwh: FloatArray
    plant_price: FloatArray
    unserved_mwh: float
    overshoot: float = np.nan
    missing_bar: float = np.nan
    throttled_pipes: int = 0


def solve_cell(case: Case, market: GasMarket, clearing: Clearing, power: float, gas: float) -> Cell:
    place = {row.junction: index for index, row in enumerate(case.junctions)}
    plants = [place[link.junction] for link in case.links]
    price = np.full(len(plants), 5.0)
    for _ in range(FEEDBACK_ROUNDS):
        dispatch = approximate_dispatch(case, power, price)
        feasible = clearing.feasible(market.withdrawal_mwh(case.demand_mwh(gas), dispatch.burn_mwh))
        if not feasible:
            return Cell(power, gas, False, dispatch.burn_mwh, price, dispatch.unserved_mwh)
        cleared = clearing.prices_usd_per_mmbtu()[plants]
        price = (price + cleared) / 2
    error = weymouth_error(market, clearing.solution())
    fitted = fitted_pressures(case, error.flow_mwh)
    return Cell(
        power,
        gas,
        True,
        dispatch.burn_mwh,
        cleared,
        dispatch.unserved_mwh,
        overshoot=float(error.overshoot.max()),
        missing_bar=float(error.missing_bar.max()),
        throttled_pipes=int((fitted.throttled_bar2 > THROTTLED_BAR2).sum()),
    )


def print_cells(case: Case, cells: list[Cell]) -> None:
    print("gas price at the plants, $/MMBtu, lowest-highest; rows: power stress, columns: gas stress")
    print("power  " + "".join(f"{f'+{gas:.0%}':>11}" for gas in case.gas_stress))
    for power in case.power_stress:
        texts = [
            f"{cell.plant_price.min():.2f}-{cell.plant_price.max():.2f}" if cell.feasible else "infeasible"
            for cell in cells
            if cell.power_stress == power
        ]
        print(f"+{power:.0%}   " + "".join(f"{text:>11}" for text in texts))
    burn = [cell.burn_mwh.sum() for cell in cells]
    print(f"feasible cells: {sum(cell.feasible for cell in cells)} of {len(cells)}")
    print(f"burn of all plants: {min(burn):.0f} to {max(burn):.0f} MWh")
    print(f"load not served by the approximate dispatch: {max(cell.unserved_mwh for cell in cells):.1f} MWh")
    overshoot = max(cell.overshoot for cell in cells)
    missing = max(cell.missing_bar for cell in cells)
    throttled = [cell.throttled_pipes for cell in cells]
    print(f"error of the tangents: at most {overshoot:.2%} of a pipe's largest flow, {missing:.2f} bar")
    print(
        f"pipes that the true Weymouth equation would have throttled: {min(throttled)} to {max(throttled)} "
        f"of {len(case.pipes)}"
    )


def with_free_plants(case: Case) -> Case:
    """Return the case in which plants may burn anything up to their capacity, whatever the power side needs.

    Gas that a plant may or may not burn is, for feasibility, the same as line pack at its junction.
    """
    fleets = {fleet.fleet: fleet.unit_count * fleet.unit_size_mw for fleet in case.fleets}
    burn: dict[str, float] = {}
    for link in case.links:
        daily_mwh = fleets[link.fleet] * len(case.load_shape) * link.burn_mwh_per_mwh
        burn[link.junction] = burn.get(link.junction, 0.0) + daily_mwh
    junctions = tuple(
        replace(row, pack_mwh=row.pack_mwh + burn.get(row.junction, 0.0)) for row in case.junctions
    )
    return replace(case, junctions=junctions)


def print_laplace(case: Case, cells: list[Cell], draws: int) -> None:
    """Print how often noise leaves the market feasible: burn as dispatched, and burn at will.

    A leader that commits anew under the noisy demand lies between the two.
    """
    fixed = build_gas_market(case)
    free = build_gas_market(with_free_plants(case))
    clearings = Clearing(fixed), Clearing(free)
    print(f"\nraw Laplace noise, {draws} draws per cell: share of feasible markets")
    print("  alpha MWh   burn as dispatched   burn at will   paper   negative entries")
    for alpha, published in PAPER_FEASIBLE.items():
        generator = np.random.default_rng([2020, int(alpha)])
        feasible, possible, negative, count = 0, 0, 0, 0
        for cell in cells:
            demand = case.demand_mwh(cell.gas_stress)
            for _ in range(draws):
                noisy = demand + generator.laplace(0.0, alpha, demand.size)
                feasible += clearings[0].feasible(fixed.withdrawal_mwh(noisy, cell.burn_mwh))
                possible += clearings[1].feasible(free.withdrawal_mwh(noisy))
                negative += int((noisy < 0).sum())
                count += 1
        shares = [hits / count for hits in (feasible, possible, negative / len(case.deliveries))]
        dispatched, at_will, below_zero = (f"{share:.1%}" for share in shares)
        print(f"  {alpha:9.0f}   {dispatched:>18}   {at_will:>12}   {published:4.1f}%   {below_zero:>16}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--draws", type=int, default=30)
    arguments = parser.parse_args()
    started = time.perf_counter()
    case = load_case(arguments.case)
    market = build_gas_market(case)
    clearing = Clearing(market)
    demand = case.demand_mwh(max(case.gas_stress))
    # the paper's vector has five entries more, all zero; they move the median only
    median = np.median(np.concatenate([demand, np.zeros(5)]))
    rows, columns = market.program.shape
    print(
        f"case {case.name}: program with {rows} rows and {columns} columns, {demand.size} sensitive demands"
    )
    stress = max(case.gas_stress)
    print(f"demand at +{stress:.0%}: largest {demand.max():.1f}, median with five zeros {median:.1f} MWh")
    cells = [
        solve_cell(case, market, clearing, power, gas)
        for power in case.power_stress
        for gas in case.gas_stress
    ]
    print_cells(case, cells)
    print_laplace(case, cells, arguments.draws)
    print(f"\n{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
