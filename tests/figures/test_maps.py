"""Maps: what they show is what the solution says, and files come out as asked."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from typer.testing import CliRunner

from ppsm.cases import load_case
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cli import app
from ppsm.errors import InputError
from ppsm.figures import case_map, price_panels, save_figure, solution_map
from ppsm.figures.state import GasState, gas_components, gas_ends, power_state
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.gauc.solver import GasAwareCommitment
from ppsm.markets.model.gas import build_gas_market


@cache
def solved(name: str) -> GaucSolution:
    case = load_case(name)
    return GasAwareCommitment(case).solve(0.0, case.demand_mwh(0.0))


def gas_state(name: str) -> GasState:
    columns = solved(name).gas_columns
    assert columns is not None
    return GasState.of(build_gas_market(load_case(name)), columns)


@pytest.mark.parametrize("name", ["two_node", "medium"])
def test_flows_balance_at_every_junction(name: str) -> None:
    case, solution, state = load_case(name), solved(name), gas_state(name)
    assert solution.burn_mwh is not None
    net = dict.fromkeys((row.junction for row in case.junctions), 0.0)
    for (up, down), flow in zip(gas_ends(case), state.flow_mwh, strict=True):
        net[up] -= flow
        net[down] += flow
    for row, amount in zip(case.deliveries, solution.demand_mwh, strict=True):
        net[row.junction] -= amount
    for link, burn in zip(case.links, solution.burn_mwh, strict=True):
        net[link.junction] -= burn
    # what is missing at a junction is what its suppliers give; nothing else may be missing
    supplied = {bid.junction for bid in case.supplies}
    assert all(abs(amount) < 1e-6 for junction, amount in net.items() if junction not in supplied)
    assert all(amount < 1e-6 for junction, amount in net.items() if junction in supplied)


def test_pressures_are_the_highest_that_drive_the_flow() -> None:
    state = gas_state("two_node")
    pipe = load_case("two_node").pipes[0]
    drop = (state.flow_mwh[0] / pipe.weymouth_mwh_per_bar) ** 2
    np.testing.assert_allclose(state.pressure_bar, [50.0, np.sqrt(2500.0 - drop)], rtol=1e-6)


def test_power_flow_by_hand() -> None:
    # coal in the west gives 60, 90, 90 and 45 MW; all of it crosses the tie of 100 MW
    case, output = load_case("two_node"), solved("two_node").output_mw
    assert output is not None
    flows = [power_state(case, 0.0, output, hour).flow_mw[0] for hour in range(4)]
    np.testing.assert_allclose(flows, [60, 90, 90, 45], atol=1e-6)
    tight = replace(case, lines=(replace(case.lines[0], rating_mw=90.0),))
    assert [bool(power_state(tight, 0.0, output, hour).full[0]) for hour in range(4)] == [
        False,
        True,
        True,
        False,
    ]


def test_power_flow_leaves_every_bus_balanced() -> None:
    case, output = load_case("medium"), solved("medium").output_mw
    assert output is not None
    flow = power_state(case, 0.0, output, 18).flow_mw
    for number, bus in enumerate(case.buses):
        leaving = sum(
            amount * ((line.from_bus == bus.bus) - (line.to_bus == bus.bus))
            for line, amount in zip(case.lines, flow, strict=True)
        )
        made = sum(output[i, 18] for i, fleet in enumerate(case.fleets) if fleet.bus == bus.bus)
        assert leaving == pytest.approx(made + bus.injection_mw - case.load_mw(0.0)[18, number], abs=1e-4)


def points(figure: Figure, panel: int) -> PathCollection:
    """The coloured junctions of a panel."""
    found = [
        item
        for item in figure.axes[panel].collections
        if isinstance(item, PathCollection) and item.get_array() is not None
    ]
    assert len(found) == 1
    return found[0]


def test_solution_map_shows_flows_prices_and_pressures() -> None:
    solution, state = solved("medium"), gas_state("medium")
    figure = solution_map(solution)
    assert solution.gas_prices_usd_per_mwh is not None
    shown = np.asarray(points(figure, 0).get_array())
    np.testing.assert_allclose(np.sort(shown), np.sort(solution.gas_prices_usd_per_mwh * MWH_PER_MMBTU))
    np.testing.assert_allclose(np.asarray(points(figure, 1).get_array()), state.pressure_bar)
    pipes = next(item for item in figure.axes[0].collections if isinstance(item, LineCollection))
    widths = np.asarray(pipes.get_linewidth())
    assert widths.size == len(gas_components(load_case("medium")))
    np.testing.assert_allclose(
        (widths - widths.min()) / np.ptp(widths),
        (state.flow_mwh - state.flow_mwh.min()) / np.ptp(state.flow_mwh),
        atol=1e-9,
    )
    titles = [axes.get_title(loc="left") for axes in figure.axes[:4]]
    assert titles[:2] == ["Gas prices and flows", "Pressures that fit the flows best"]
    assert "hour 18" in titles[2]


def test_no_answer_is_no_map() -> None:
    case = load_case("two_node")
    with pytest.raises(InputError, match="infeasible"):
        solution_map(GasAwareCommitment(case).solve(0.0, [2400.0]))


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    case = load_case("medium")
    for name in ("a.svg", "b.svg"):
        save_figure(case_map(case), tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert b"compressor" in first
    save_figure(case_map(case), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "reason"), [("map.bmp", "expected .svg"), ("no/such/map.svg", "no directory")]
)
def test_pictures_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        save_figure(case_map(load_case("two_node")), tmp_path / name)


def test_commands(tmp_path: Path) -> None:
    runner, file = CliRunner(), tmp_path / "map.svg"
    gauc = ["gauc", "--power-stress", "0", "--gas-stress", "0"]
    assert runner.invoke(app, ["case", "map", "northeast", "--out", str(file)]).exit_code == 0
    assert b"gas-fired plants burn here" in file.read_bytes()
    file.unlink()
    result = runner.invoke(app, [*gauc, "--case", "two_node", "--map", str(file), "--json"])
    assert result.exit_code == 0, result.output
    assert b"gas price" in file.read_bytes()
    # a bad path is refused before anything is solved
    result = runner.invoke(app, [*gauc, "--case", "no-such-case", "--map", "map.doc"])
    assert isinstance(result.exception, InputError)
    assert "map.doc" in str(result.exception)


def test_price_panels_are_one_figure_each_on_one_scale() -> None:
    case = load_case("medium")
    prices = np.linspace(10.0, 20.0, len(case.junctions))
    panels = price_panels(case, {"before": prices, "after": 2 * prices})
    assert list(panels) == ["before", "after"]
    scales = []
    for title, figure in panels.items():
        axes = figure.axes[0]
        assert axes.get_title(loc="left") == title
        points = next(
            each
            for each in axes.collections
            if isinstance(each, PathCollection) and each.get_array() is not None
        )
        shown = np.sort(np.asarray(points.get_array()))
        expected = (prices if title == "before" else 2 * prices) * MWH_PER_MMBTU
        np.testing.assert_allclose(shown, np.sort(expected))
        scales.append((points.norm.vmin, points.norm.vmax))
    assert scales[0] == scales[1]
    with pytest.raises(InputError, match="no prices to draw"):
        price_panels(case, {})
    with pytest.raises(InputError, match="prices 'before'"):
        price_panels(case, {"before": prices[:3]})
