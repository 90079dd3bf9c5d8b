"""Privacy against fidelity as a picture: a pure function of the rows of a trade-off."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ppsm.figures.style import BLUE, LIGHT_GREY, ORANGE, VERMILION, new_figure
from ppsm.mechanism.tradeoff import TradeoffRow

# Column of a row, heading, scale.
_PANELS = (
    ("feasible_percent", "Share feasible, %", "linear"),
    ("leader_error_percent", "Leader's error, % (absolute)", "symlog"),
    ("gas_error_percent", "Gas market's error, % (absolute)", "symlog"),
    ("l1_distance_mwh", "L1 distance to the true demand, MWh", "log"),
)
# Colour, marker, width of line. The last two often lie on each other: the one beneath is broad.
_STYLES = {
    "laplace": (VERMILION, "o", 1.5),
    "ppsm-p": (ORANGE, "s", 5.0),
    "ppsm": (BLUE, "D", 1.5),
}
# Errors below this, in per cent, are drawn on a straight scale down to zero.
_STRAIGHT_BELOW = 1e-3


def tradeoff_figure(rows: Sequence[TradeoffRow]) -> Figure:
    """Feasibility, errors and distance against alpha, one line for each mechanism."""
    figure = new_figure(10.0, 6.4)
    for axes, (column, heading, scale) in zip(figure.subplots(2, 2).ravel(), _PANELS, strict=True):
        for mechanism in _STYLES:
            _line(axes, rows, mechanism, column)
        axes.set_title(heading, fontsize=9, loc="left")
        axes.set_xlabel("alpha, MWh", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color=LIGHT_GREY, linewidth=0.4)
        axes.set_xscale("log")
        if scale == "symlog":
            axes.set_yscale("symlog", linthresh=_STRAIGHT_BELOW)
            # Zero is seen above the frame, the largest below it.
            known = [value for row in rows if (value := getattr(row, column)) is not None]
            axes.set_ylim(-_STRAIGHT_BELOW / 4, 2 * max([*known, _STRAIGHT_BELOW]))
        else:
            axes.set_yscale(scale)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), fontsize=9)
    return figure


def _line(axes: Axes, rows: Sequence[TradeoffRow], mechanism: str, column: str) -> None:
    """Alphas at which there is no figure are left out; a mechanism without any has no line."""
    colour, marker, width = _STYLES[mechanism]
    points = [(row.alpha_mwh, getattr(row, column)) for row in rows if row.mechanism == mechanism]
    known = [(alpha, value) for alpha, value in points if value is not None]
    if known:
        alphas, values = zip(*known, strict=True)
        axes.plot(
            alphas,
            values,
            color=colour,
            marker=marker,
            linewidth=width,
            markersize=4 + width,
            label=mechanism,
        )
