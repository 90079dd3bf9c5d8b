"""``python -m benchmarks.figures``: solve stress cells of a case and draw the pictures of the documentation.

Three files: ``CASE-networks.svg``, ``CASE-day.svg`` (the most stressed cell, solved) and ``CASE-stress.svg``
(prices and commitment as stress rises).
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ppsm.cases import Case, load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.errors import InputError
from ppsm.figures import case_map, save_figure, solution_map
from ppsm.figures.colours import BLUE, GREEN, LIGHT_GREY, ORANGE, PURPLE, SKY, VERMILION
from ppsm.figures.style import new_figure
from ppsm.markets.gauc.solver import GasAwareCommitment, GaucSolution
from ppsm.markets.model.validity import BidLevels

_LINES = (SKY, GREEN, ORANGE, PURPLE, BLUE, VERMILION)
_MARKERS = "osD^vP"
GAP = 1e-3


@dataclass(frozen=True)
class StressPoint:
    """What one solved stress cell says of prices and commitment; stresses are relative increases.

    ``gas_price`` is the mean over the plants with its least and largest, in $/MMBtu; ``level`` is the mean
    number of blocks that gas prices ask the gas-fired plants to fill.
    """

    power_stress: float
    gas_stress: float
    gas_price: tuple[float, float, float]
    level: float
    cost_usd: float
    gas_units_on_at_peak: int
    gas_unit_hours: int
    gas_share: float

    @classmethod
    def of(cls, solution: GaucSolution, gas_stress: float) -> "StressPoint":
        """Collect the figures of a solved cell."""
        prices, on, output = solution.gas_prices_usd_per_mwh, solution.on, solution.output_mw
        cost = solution.leader_cost_usd
        if prices is None or on is None or output is None or cost is None:
            raise InputError(
                f"power +{solution.power_stress:.0%}, gas +{gas_stress:.0%} is '{solution.status.value}'; "
                "only cells with an answer can be drawn, raise the time limit or leave the cell out."
            )
        case = solution.case
        names = [row.junction for row in case.junctions]
        at_plants = prices[[names.index(link.junction) for link in case.links]]
        gas = np.isin([fleet.fleet for fleet in case.fleets], [link.fleet for link in case.links])
        peak = int(np.argmax(case.load_mw(solution.power_stress).sum(axis=1)))
        shown = at_plants * MWH_PER_MMBTU
        return cls(
            power_stress=solution.power_stress,
            gas_stress=gas_stress,
            gas_price=(float(shown.min()), float(shown.mean()), float(shown.max())),
            level=float(BidLevels.of(case).needed(at_plants).mean()),
            cost_usd=cost,
            gas_units_on_at_peak=int(on[gas, peak].sum()),
            gas_unit_hours=int(on[gas].sum()),
            gas_share=float(output[gas].sum() / output.sum()),
        )


def stress_figure(points: Sequence[StressPoint], title: str) -> Figure:
    """Gas price, level, units on and share of gas against gas stress, one line per power stress."""
    if not points:
        raise InputError("there are no stress cells to draw; give at least one.")
    figure = new_figure(12.0, 6.2)
    panels = figure.subplots(2, 3, sharex=True)
    rows = _by_power_stress(points)
    for axes, (heading, value) in zip(panels.ravel(), _PANELS, strict=True):
        _draw_lines(axes, rows, heading, value)
    for row, colour in zip(rows, _LINES, strict=False):
        low, _, high = zip(*(point.gas_price for point in row), strict=True)
        panels[0, 0].fill_between(_rise(row), low, high, alpha=0.2, color=colour, linewidth=0)
    for axes in panels[1]:
        axes.set_xlabel("rise of gas demand, %", fontsize=8)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


# Heading and value of each panel; the value may compare a point with the mildest of its power stress.
_PANELS: tuple[tuple[str, Callable[[StressPoint, StressPoint], float]], ...] = (
    ("Gas price at the plants, \\$/MMBtu (band: all plants)", lambda point, _: point.gas_price[1]),
    ("Blocks that gas prices ask plants to fill (mean)", lambda point, _: point.level),
    ("Cost of the day, % above the mildest", lambda point, mild: 100 * (point.cost_usd / mild.cost_usd - 1)),
    ("Gas-fired units on in the peak hour", lambda point, _: point.gas_units_on_at_peak),
    (
        "Gas-fired unit-hours, % above the mildest",
        lambda point, mild: 100 * (point.gas_unit_hours / max(mild.gas_unit_hours, 1) - 1),
    ),
    ("Share of gas in generation, %", lambda point, _: 100 * point.gas_share),
)


def _rise(row: Sequence[StressPoint]) -> list[float]:
    return [100 * point.gas_stress for point in row]


def _by_power_stress(points: Sequence[StressPoint]) -> list[list[StressPoint]]:
    """The points of each power stress, in the order of gas stress."""
    stresses = sorted({point.power_stress for point in points})
    return [
        sorted(
            (point for point in points if point.power_stress == stress), key=lambda point: point.gas_stress
        )
        for stress in stresses
    ]


def _draw_lines(
    axes: Axes,
    rows: Sequence[Sequence[StressPoint]],
    heading: str,
    value: Callable[[StressPoint, StressPoint], float],
) -> None:
    for number, row in enumerate(rows):
        axes.plot(
            _rise(row), [value(point, row[0]) for point in row], color=_LINES[number % len(_LINES)],
            marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1.4,
            label=f"power +{row[0].power_stress:.0%}",
        )  # fmt: skip
    axes.set_title(heading, fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.grid(color=LIGHT_GREY, linewidth=0.4)
    axes.ticklabel_format(useOffset=False)


def solved_cells(
    case: Case, solver: GasAwareCommitment, stresses: list[float], limit: float
) -> list[tuple[float, GaucSolution]]:
    """Gas stress and solution of every cell at some power stresses."""
    cells = []
    for power in stresses:
        for gas in case.gas_stress:
            started = time.process_time()
            solution = solver.solve(power, case.demand_mwh(gas), time_limit=limit, gap=GAP)
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
