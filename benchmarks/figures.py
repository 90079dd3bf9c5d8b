"""``python -m benchmarks.figures``: solve stress cells of a case and draw the pictures of the documentation.

Three files: ``CASE-networks.svg``, ``CASE-day.svg`` (the most stressed cell, solved) and ``CASE-stress.svg``
(prices and commitment as stress rises).
"""

import argparse
import time
from pathlib import Path

from ppsm.cases import Case, load_case
from ppsm.figures import case_map, save_figure, solution_map
from ppsm.figures.stress import StressPoint, stress_figure
from ppsm.markets.gauc.solver import GasAwareCommitment, GaucSolution


def solved_cells(
    case: Case, solver: GasAwareCommitment, stresses: list[float], limit: float
) -> list[tuple[float, GaucSolution]]:
    """Gas stress and solution of every cell at some power stresses."""
    cells = []
    for power in stresses:
        for gas in case.gas_stress:
            started = time.process_time()
            solution = solver.solve(power, case.demand_mwh(gas), time_limit=limit)
            gap = "" if solution.gap is None else f"gap {solution.gap:.4%}, "
            print(
                f"+{power:.0%} +{gas:.0%}: {solution.status.value}, {gap}"
                f"{time.process_time() - started:.0f} s of processor time",
                flush=True,
            )
            cells.append((gas, solution))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="northeast")
    parser.add_argument("--power", type=float, nargs="*", help="power stresses (least, middle, most)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per cell")
    parser.add_argument("--cache", type=Path, default=None, help="directory of remembered commitments")
    parser.add_argument("--out", type=Path, default=Path("docs/assets"))
    options = parser.parse_args()
    case = load_case(options.case)
    grid = case.power_stress
    stresses = options.power or sorted({grid[0], grid[len(grid) // 2], grid[-1]})
    save_figure(case_map(case), options.out / f"{case.name}-networks.svg")
    solver = GasAwareCommitment(case, options.cache)
    cells = [
        cell for cell in solved_cells(case, solver, stresses, options.limit) if cell[1].status.has_answer
    ]
    market = solver.followers.gas.market
    save_figure(solution_map(cells[-1][1], market), options.out / f"{case.name}-day.svg")
    points = [StressPoint.of(solution, gas) for gas, solution in cells]
    save_figure(stress_figure(points, case.title), options.out / f"{case.name}-stress.svg")


if __name__ == "__main__":
    main()
