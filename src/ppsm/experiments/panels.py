"""All pictures of rows and their summaries: pure functions of them.

:func:`stress_heatmaps` and :func:`distributions` are for a report, :func:`tradeoff_figure` for a trade-off.
Those that a page shows interactively are in ``charts``.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch, Rectangle

from ppsm.experiments.row import Row
from ppsm.experiments.summaries import Summary, grouped, least_eta
from ppsm.experiments.variants import LEARNED, MEASURED, Variant
from ppsm.figures.colours import BLUE, GREEN, LIGHT_GREY, ORANGE, PURPLE, SKY, VERMILION
from ppsm.figures.style import new_figure
from ppsm.mechanism.mechanisms import MECHANISMS

# Colour and marker.
_STYLES = {
    "laplace": (VERMILION, "o"),
    "ppsm-p": (ORANGE, "s"),
    "ppsm": (BLUE, "D"),
    MEASURED: (PURPLE, "v"),
    LEARNED: (GREEN, "^"),
}
_COLOURS = (VERMILION, ORANGE, BLUE, GREEN, PURPLE, SKY)
# Errors below this, in per cent, are drawn on a straight scale down to zero; in heatmaps, below the power of
# ten under the least error where that is larger.
_STRAIGHT_BELOW = 1e-3
# A panel this wide has letters of about 10 px on a phone and 13 px in a column of a desktop page.
_PANEL_INCHES = 4.7
# Between mechanisms that stand side by side at an alpha.
_STEP = 0.2

Measure = Callable[[Row], float | None]


def _mechanisms(rows: Sequence[Row]) -> list[str]:
    return sorted({row.mechanism for row in rows}, key=lambda name: Variant.named(name).rank)


def _gas_stresses(rows: Sequence[Row]) -> list[float | None]:
    """In order, a demand of its own first."""
    return sorted({row.gas_stress for row in rows}, key=lambda gas: -1.0 if gas is None else gas)


def _scale_errors(axes: Axes, largest: float) -> None:
    """Zero is seen above the frame, the largest below it."""
    axes.set_yscale("symlog", linthresh=_STRAIGHT_BELOW)
    axes.set_ylim(-_STRAIGHT_BELOW / 4, 2 * max(largest, _STRAIGHT_BELOW))


# Whose cost a heatmap is about, by the name in the rows.
_WHOSE = {"leader": "the leader's cost", "gas": "the gas market's cost"}


def stress_heatmaps(rows: Sequence[Row], whose: str = "leader") -> Figure:
    """Figure 3 of the paper: the leader's error by stress cell, a panel for each mechanism and alpha.

    The same of the gas market's error with ``whose="gas"``.
    """
    # The paper's mechanisms; what they may be given on top is compared in the tables.
    plain = [row for row in rows if row.mechanism in MECHANISMS]
    shown = least_eta(plain or rows)
    mechanisms, alphas = _mechanisms(shown), sorted({row.alpha for row in shown})
    powers, gases = sorted({row.power_stress for row in shown}), _gas_stresses(shown)
    groups = {(mechanism, alpha): group for (mechanism, alpha, _), group in grouped(shown).items()}
    errors = {key: _cell_errors(group, powers, gases, whose) for key, group in groups.items()}
    norm = _error_scale(np.concatenate([grid.ravel() for grid in errors.values()]))
    # Wide enough for a number in each cell, and for the panel's title.
    width, height = max(2.4, 0.46 * len(gases)), max(1.0, 0.38 * len(powers))
    figure = new_figure(1.6 + width * len(alphas), 1.4 + height * len(mechanisms))
    panels = figure.subplots(len(mechanisms), len(alphas), squeeze=False, sharex=True, sharey=True)
    image = None
    for axes, key in zip(panels.ravel(), product(mechanisms, alphas), strict=True):
        axes.set_title(f"{key[0]}, alpha = {key[1] / 100:g} x 10$^2$ MWh", fontsize=9)
        if key in groups:
            image = _heatmap(axes, errors[key], norm)
            _blank_missing_cells(axes, groups[key], powers, gases)
    _label_stress(panels, powers, gases)
    figure.supylabel("rise of power demand, %", fontsize=8)
    if image is not None:
        bar = figure.colorbar(image, ax=panels, shrink=0.6, pad=0.01)
        bar.set_label(f"mean absolute error of {_WHOSE[whose]}, %", fontsize=9)
    figure.legend(
        handles=[Patch(color=LIGHT_GREY, label="no run could be cleared")],
        loc="outside lower right", fontsize=8, frameon=False,
    )  # fmt: skip
    return figure


def _error_scale(errors: np.ndarray[tuple[int], np.dtype[np.float64]]) -> SymLogNorm:
    """Colours for errors from zero to the largest, most of them for the range in which they are."""
    known = errors[np.isfinite(errors)]
    least, largest = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    straight = max(_STRAIGHT_BELOW, 10.0 ** np.floor(np.log10(least)) if least > 0 else 0.0)
    return SymLogNorm(straight, vmin=0.0, vmax=max(largest, 10 * straight))


def _cell_errors(
    rows: Sequence[Row], powers: Sequence[float], gases: Sequence[float | None], whose: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Mean absolute errors, power stress x gas stress; NaN where no run could be cleared."""
    grid = np.full((len(powers), len(gases)), np.nan)
    for i, power in enumerate(powers):
        for j, gas in enumerate(gases):
            found = [
                error
                for row in rows
                if row.cell == (power, gas)
                and row.feasible
                and (error := row.absolute_error(whose)) is not None
            ]
            if found:
                grid[i, j] = np.mean(found)
    return grid


def _heatmap(
    axes: Axes, grid: np.ndarray[tuple[int, int], np.dtype[np.float64]], norm: SymLogNorm
) -> AxesImage:
    colours = colormaps["viridis_r"].with_extremes(bad=LIGHT_GREY)
    image = axes.imshow(np.ma.masked_invalid(grid), origin="lower", aspect="auto", cmap=colours, norm=norm)
    for (i, j), value in np.ndenumerate(grid):
        if np.isfinite(value):
            dark = norm(value) > 0.5
            axes.text(
                j, i, _short(value), ha="center", va="center", fontsize=6, color="white" if dark else "black"
            )
    return image


def _blank_missing_cells(
    axes: Axes, rows: Sequence[Row], powers: Sequence[float], gases: Sequence[float | None]
) -> None:
    """Grey says that runs could not be cleared; a cell without runs says nothing and stays white."""
    ran = {row.cell for row in rows}
    for (i, power), (j, gas) in product(enumerate(powers), enumerate(gases)):
        if (power, gas) not in ran:
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color="white"))


def _short(value: float) -> str:
    return "0" if value < 5e-5 else f"{value:.2g}"


def _label_stress(
    panels: np.ndarray[tuple[int, int], np.dtype[np.object_]],
    powers: Sequence[float],
    gases: Sequence[float | None],
) -> None:
    for axes in panels.ravel():
        axes.set_xticks(
            range(len(gases)), ["own" if gas is None else f"{100 * gas:.0f}" for gas in gases], fontsize=7
        )
        axes.set_yticks(range(len(powers)), [f"{100 * power:.0f}" for power in powers], fontsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("rise of gas demand, %", fontsize=8)


def _error(whose: str) -> Measure:
    return lambda row: row.absolute_error(whose)


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


# Heading, value, and whether zero is a value that must be seen (else the scale is logarithmic).
_DISTRIBUTIONS: tuple[tuple[str, Measure, bool], ...] = (
    ("Leader's error, % (absolute)", _error("leader"), True),
    ("Gas market's error, % (absolute)", _error("gas"), True),
    ("L1 distance to the true demand, 10$^2$ MWh", lambda row: _times(0.01, row.l1_released), False),
    ("CPU time per instance, s", lambda row: row.cpu_seconds, False),
    ("Gap of the cleared game, %", lambda row: _times(100.0, row.released_gap), True),
    ("Gap of step 3b, %", lambda row: _times(100.0, row.fidelity_gap), True),
)


def distributions(rows: Sequence[Row]) -> Figure:
    """Errors, distance, time and gaps: a box for each mechanism at each alpha."""
    shown = least_eta(rows)
    mechanisms, alphas = _mechanisms(shown), sorted({row.alpha for row in shown})
    figure = new_figure(13.0, 7.0)
    for axes, (heading, value, has_zero) in zip(figure.subplots(2, 3).ravel(), _DISTRIBUTIONS, strict=True):
        for number, mechanism in enumerate(mechanisms):
            values = [_values(shown, mechanism, alpha, value) for alpha in alphas]
            _boxes(axes, values, number, len(mechanisms))
        axes.set_title(heading, fontsize=9, loc="left")
        axes.set_xticks(range(len(alphas)), [f"{alpha / 100:g}" for alpha in alphas], fontsize=8)
        axes.set_xlabel("alpha, 10$^2$ MWh", fontsize=8)
        axes.tick_params(axis="y", labelsize=7)
        axes.grid(axis="y", color=LIGHT_GREY, linewidth=0.4)
        if has_zero:
            _scale_errors(axes, axes.dataLim.ymax if axes.has_data() else 0.0)
        else:
            axes.set_yscale("log")
        axes.set_xlim(-0.5, len(alphas) - 0.5)
    handles = [
        Patch(facecolor=_COLOURS[number % len(_COLOURS)], edgecolor="black", label=mechanism)
        for number, mechanism in enumerate(mechanisms)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9)
    return figure


def _values(rows: Sequence[Row], mechanism: str, alpha: float, measure: Measure) -> list[float]:
    mine = [measure(row) for row in rows if row.mechanism == mechanism and row.alpha == alpha]
    return [number for number in mine if number is not None]


def _boxes(axes: Axes, values: list[list[float]], number: int, count: int) -> None:
    """Boxes of one mechanism beside those of the others; what has no values leaves its place free."""
    width = 0.8 / count
    places = [place + (number - (count - 1) / 2) * width for place in range(len(values))]
    filled = [(place, group) for place, group in zip(places, values, strict=True) if group]
    if not filled:
        return
    drawn = axes.boxplot(
        [group for _, group in filled],
        positions=[place for place, _ in filled],
        widths=0.85 * width,
        patch_artist=True,
        manage_ticks=False,
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.5},
        medianprops={"color": "black", "linewidth": 1.0},
    )
    colour = _COLOURS[number % len(_COLOURS)]
    for box, (_, group) in zip(drawn["boxes"], filled, strict=True):
        low, high = np.percentile(group, (25, 75))
        # The thick edge keeps the colour of a box that is a line.
        box.set(facecolor=colour, edgecolor=colour, linewidth=3.0 if np.isclose(low, high) else 1.0)


# Column of a summary, heading, scale.
_TRADEOFFS = (
    ("feasible_percent", "Share feasible, %", "linear"),
    ("leader_error_percent", "Leader's error, % (absolute)", "symlog"),
    ("gas_error_percent", "Gas market's error, % (absolute)", "symlog"),
    ("l1_distance_mwh", "L1 distance to the true demand, MWh", "log"),
)


def tradeoff_figure(summaries: Sequence[Summary]) -> Figure:
    """Feasibility, errors and distance against alpha, one line for each mechanism."""
    figure = new_figure(10.0, 6.4)
    for axes, (column, heading, scale) in zip(figure.subplots(2, 2).ravel(), _TRADEOFFS, strict=True):
        for mechanism in MECHANISMS:
            _line(axes, summaries, mechanism, column)
        axes.set_title(heading, fontsize=9, loc="left")
        axes.set_xlabel("alpha, MWh", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color=LIGHT_GREY, linewidth=0.4)
        axes.set_xscale("log")
        if scale == "symlog":
            known = [value for each in summaries if (value := getattr(each, column)) is not None]
            _scale_errors(axes, max(known, default=0.0))
        else:
            axes.set_yscale(scale)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), fontsize=9)
    return figure


def _line(axes: Axes, summaries: Sequence[Summary], mechanism: str, column: str) -> None:
    """Alphas at which there is nothing to show are left out; a mechanism without any has no line."""
    colour, marker = _STYLES[mechanism]
    # The last two often lie on each other: the one beneath is broad.
    width = 5.0 if mechanism == "ppsm-p" else 1.5
    points = [(each.alpha_mwh, getattr(each, column)) for each in summaries if each.mechanism == mechanism]
    known = [(alpha, value) for alpha, value in points if value is not None]
    if known:
        alphas, values = zip(*known, strict=True)
        axes.plot(
            alphas, values, color=colour, marker=marker, linewidth=width, markersize=4 + width,
            label=mechanism,
        )  # fmt: skip
