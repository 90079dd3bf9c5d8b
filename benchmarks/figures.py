"""``python -m benchmarks.figures``: solve stress cells of a case and draw the pictures of the documentation.

Four files: ``CASE-networks.svg``, ``CASE-day.svg`` (the most stressed cell, solved), ``CASE-stress.svg``
(prices and commitment as stress rises) and ``CASE-ahead.svg`` (what looking ahead is worth).
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ppsm.cases import Case, load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.errors import InputError
from ppsm.figures import case_map, save_figure, solution_map
from ppsm.figures.colours import BLUE, GREEN, LIGHT_GREY, ORANGE, PURPLE, SKY, VERMILION
from ppsm.figures.style import new_figure
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.gauc.unaware import UnawareSolution
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


@dataclass(frozen=True)
class AheadPoint:
    """A cell with and without looking ahead: the dearest gas at a plant in $/MMBtu, losses, gas burned."""

    power_stress: float
    gas_stress: float
    dearest: float
    dearest_unaware: float
    loss_usd: float
    burn_mwh: float
    burn_unaware_mwh: float

    @classmethod
    def of(cls, solution: GaucSolution, unaware: UnawareSolution, gas_stress: float) -> "AheadPoint":
        """Compare the two answers of a cell."""
        prices, burn = solution.gas_prices_usd_per_mwh, solution.burn_mwh
        if prices is None or burn is None or unaware.game is None:
            raise InputError(
                f"power +{solution.power_stress:.0%}, gas +{gas_stress:.0%} has no answer "
                f"({solution.status.value}, unaware {unaware.status.value}): leave the cell out."
            )
        names = [row.junction for row in solution.case.junctions]
        plants = [names.index(link.junction) for link in solution.case.links]
        return cls(
            power_stress=solution.power_stress,
            gas_stress=gas_stress,
            dearest=float(prices[plants].max() * MWH_PER_MMBTU),
            dearest_unaware=float(unaware.game.gas.prices_usd_per_mwh[plants].max() * MWH_PER_MMBTU),
            loss_usd=unaware.loss_usd,
            burn_mwh=float(burn.sum()),
            burn_unaware_mwh=float(unaware.game.power.dispatch.burn_mwh.sum()),
        )


def stress_figure(points: Sequence[StressPoint], title: str) -> Figure:
    """Gas price, level, units on and share of gas against gas stress, one line per power stress."""
    rows = _by_power_stress(points)
    figure, panels = _panels_figure(rows, (2, 3), _STRESS_PANELS, title)
    for row, colour in zip(rows, _LINES, strict=False):
        low, _, high = zip(*(point.gas_price for point in row), strict=True)
        panels[0].fill_between(_rise(row), low, high, alpha=0.2, color=colour, linewidth=0)
    return figure


def ahead_figure(points: Sequence[AheadPoint], title: str) -> Figure:
    """Prices without and with looking ahead, losses and gas held back, one line per power stress."""
    figure, panels = _panels_figure(_by_power_stress(points), (2, 2), _AHEAD_PANELS, title)
    highest = max(axes.get_ylim()[1] for axes in panels[:2])
    for axes in panels[:2]:  # to be compared
        axes.set_ylim(0.0, highest)
    return figure


class Point(Protocol):
    """A stress cell."""

    @property
    def power_stress(self) -> float: ...  # noqa: D102

    @property
    def gas_stress(self) -> float: ...  # noqa: D102


P = TypeVar("P", bound=Point)
# Heading and value of each panel; the value may compare a point with the mildest of its power stress.
Panels: TypeAlias = tuple[tuple[str, Callable[[P, P], float]], ...]


def _panels_figure(
    rows: Sequence[Sequence[P]], shape: tuple[int, int], panels: Panels[P], title: str
) -> tuple[Figure, list[Axes]]:
    """Panels over the rise of gas demand, with one legend for all."""
    figure = new_figure(4.0 * shape[1], 3.1 * shape[0])
    grid = figure.subplots(*shape, sharex=True)
    drawn = list(grid.ravel())
    for axes, (heading, value) in zip(drawn, panels, strict=True):
        _draw_lines(axes, rows, heading, value)
    for axes in grid[-1]:
        axes.set_xlabel("rise of gas demand, %", fontsize=8)
    handles, labels = drawn[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure, drawn


_AHEAD_PANELS: Panels[AheadPoint] = (
    (
        "Dearest gas at a plant without looking ahead, \\$/MMBtu",
        lambda point, _: point.dearest_unaware,
    ),
    ("Dearest gas at a plant of the aware operator, \\$/MMBtu", lambda point, _: point.dearest),
    ("Lost by plants whose bids fall short, unaware, M\\$", lambda point, _: point.loss_usd / 1e6),
    (
        "Gas burned more (+) or less (-) by looking ahead, %",
        lambda point, _: 100 * (point.burn_mwh / point.burn_unaware_mwh - 1),
    ),
)
_STRESS_PANELS: Panels[StressPoint] = (
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


def _rise(row: Sequence[Point]) -> list[float]:
    return [100 * point.gas_stress for point in row]


def _by_power_stress(points: Sequence[P]) -> list[list[P]]:
    """The points of each power stress, in the order of gas stress."""
    if not points:
        raise InputError("there are no stress cells to draw; give at least one.")
    stresses = sorted({point.power_stress for point in points})
    return [
        sorted(
            (point for point in points if point.power_stress == stress), key=lambda point: point.gas_stress
        )
        for stress in stresses
    ]


def _draw_lines(
    axes: Axes, rows: Sequence[Sequence[P]], heading: str, value: Callable[[P, P], float]
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
    ahead = [
        AheadPoint.of(solution, solver.solve_unaware(power, case.demand_mwh(gas), gap=GAP), gas)
        for gas, solution in cells
        for power in (solution.power_stress,)
    ]
    save_figure(ahead_figure(ahead, case.title), options.out / f"{case.name}-ahead.svg")


if __name__ == "__main__":
    main()
