"""The stress figure: what a cell contributes, and what the panels show."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.figures import AheadPoint, StressPoint, ahead_figure, stress_figure
from matplotlib.figure import Figure

from ppsm.cases import load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.errors import InputError
from ppsm.markets.gauc.solver import GasAwareCommitment


@cache
def points() -> tuple[StressPoint, ...]:
    case = load_case("two_node")
    solver = GasAwareCommitment(case)
    return tuple(
        StressPoint.of(solver.solve(power, case.demand_mwh(gas), gap=1e-6), gas)
        for power in (0.0, 0.2)
        for gas in (-0.7, 0.0, 0.2)
    )


def panel_lines(figure: Figure, panel: int) -> list[list[float]]:
    return [np.asarray(line.get_ydata()).tolist() for line in figure.axes[panel].lines]


def test_points_by_hand() -> None:
    # 240 MWh of demand leave room on the cheap wells (10 $/MWh); 800 MWh do not (20 $/MWh, tests of the game)
    mild, usual = points()[:2]
    np.testing.assert_allclose(mild.gas_price, [10 * MWH_PER_MMBTU] * 3)
    np.testing.assert_allclose(usual.gas_price, [20 * MWH_PER_MMBTU] * 3)
    assert (mild.level, usual.level) == (0.0, 1.0)
    assert usual.gas_units_on_at_peak == 1
    assert usual.gas_unit_hours == 4
    # four hours at 60 MW of 120 + 150 + 150 + 105 MW
    assert usual.gas_share == pytest.approx(240 / 525)


def test_panels_show_the_points() -> None:
    figure = stress_figure(points(), "two nodes")
    prices = panel_lines(figure, 0)
    assert len(prices) == 2
    np.testing.assert_allclose(prices[0], [point.gas_price[1] for point in points()[:3]])
    costs = panel_lines(figure, 2)
    assert [row[0] for row in costs] == [0.0, 0.0]
    np.testing.assert_allclose(
        costs[1], [100 * (point.cost_usd / points()[3].cost_usd - 1) for point in points()[3:]]
    )
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["power +0%", "power +20%"]


def test_cells_without_an_answer_are_refused() -> None:
    case = load_case("two_node")
    with pytest.raises(InputError, match="'infeasible'"):
        StressPoint.of(GasAwareCommitment(case).solve(0.0, [2400.0]), 2.0)
    with pytest.raises(InputError, match="no stress cells"):
        stress_figure([], "nothing")


def test_order_of_points_does_not_matter() -> None:
    shuffled = [replace(point) for point in reversed(points())]
    for panel in range(6):
        assert panel_lines(stress_figure(shuffled, ""), panel) == panel_lines(
            stress_figure(points(), ""), panel
        )


def test_looking_ahead_by_hand() -> None:
    """At the usual demand bids alone run the plant on gas that is dearer than its first block."""
    case = load_case("two_node")
    solver = GasAwareCommitment(case)
    demand = case.demand_mwh(0.0)
    unaware = solver.solve_unaware(0.0, demand)
    aware = solver.solve(0.0, demand, gap=1e-6)
    point = AheadPoint.of(aware, unaware, 0.0)
    assert point.dearest == pytest.approx(20 * MWH_PER_MMBTU)
    assert point.loss_usd == pytest.approx(unaware.loss_usd)
    assert aware.burn_mwh is not None
    assert unaware.power is not None
    figure = ahead_figure([point], "two nodes")
    change = 100 * (aware.burn_mwh.sum() / unaware.power.dispatch.burn_mwh.sum() - 1)
    shown = [panel_lines(figure, panel)[0][0] for panel in range(4)]
    assert shown == pytest.approx([point.dearest_unaware, point.dearest, point.loss_usd / 1e6, change])
    with pytest.raises(InputError, match="leave the cell out"):
        AheadPoint.of(solver.solve(0.0, [2400.0]), solver.solve_unaware(0.0, [2400.0]), 2.0)
