"""Pictures of summaries: what is drawn, and in which colours."""

from pathlib import Path

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from ppsm.experiments.panels import tradeoff_figure
from ppsm.experiments.summaries import Summary
from ppsm.figures.colours import BLUE, ORANGE, VERMILION
from ppsm.figures.style import save_figure


def summary(mechanism: str, alpha: float, error: float | None) -> Summary:
    """One in which errors and distance are the same number; None where nothing could be cleared."""
    return Summary(
        mechanism=mechanism,
        alpha_mwh=alpha,
        runs=5,
        feasible_percent=0.0 if error is None else 100.0,
        l1_distance_mwh=100.0 * alpha,
        leader_error_percent=error,
        electricity_error_percent=error,
        gas_error_percent=error,
        gap_percent=None if error is None else 0.05,
        widened_percent=None,
    )


def points(line: Line2D) -> list[list[float]]:
    """What a line goes through: alpha and value."""
    return [[float(x), float(y)] for x, y in np.asarray(line.get_xydata())]


SUMMARIES = [
    summary("laplace", 10.0, 0.5),
    summary("ppsm-p", 10.0, 0.25),
    summary("ppsm", 10.0, 0.125),
    summary("laplace", 100.0, None),
    summary("ppsm-p", 100.0, 0.375),
    summary("ppsm", 100.0, 0.0),
]


def test_lines_show_the_summaries_in_colours_that_colour_blind_readers_can_tell_apart() -> None:
    figure = tradeoff_figure(SUMMARIES)
    feasible, leader, gas, distance = figure.axes
    for axes in (leader, gas):
        drawn = {str(line.get_label()): line for line in axes.get_lines()}
        assert {name: to_hex(line.get_color()).upper() for name, line in drawn.items()} == {
            "laplace": VERMILION,
            "ppsm-p": ORANGE,
            "ppsm": BLUE,
        }
        # Laplace could not be cleared at 100 MWh: there is no point, rather than one at zero.
        assert points(drawn["laplace"]) == [[10.0, 0.5]]
        assert points(drawn["ppsm"]) == [[10.0, 0.125], [100.0, 0.0]]
        assert axes.get_yscale() == "symlog"  # an error of zero is seen, and so is the largest
        low, high = axes.get_ylim()
        assert -1e-3 < low < 0.0
        assert high == 1.0
    assert points(feasible.get_lines()[0]) == [[10.0, 100.0], [100.0, 0.0]]
    assert points(distance.get_lines()[0]) == [[10.0, 1000.0], [100.0, 10_000.0]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["laplace", "ppsm-p", "ppsm"]


def test_equal_summaries_give_equal_files_and_none_an_empty_picture(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        save_figure(tradeoff_figure(SUMMARIES), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert not tradeoff_figure([]).legends
    save_figure(tradeoff_figure([]), tmp_path / "empty.svg")
