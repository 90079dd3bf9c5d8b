"""Figures of an experiment: pure functions of its rows."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch, Rectangle

from ppsm.experiments.tables import grouped, least_eta
from ppsm.figures.style import BLUE, GREEN, LIGHT_GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure
from ppsm.mechanism.instance import Record
from ppsm.mechanism.mechanisms import MECHANISMS
from ppsm.mechanism.variants import Variant

_COLOURS = (VERMILION, ORANGE, BLUE, GREEN, PURPLE, SKY)
# Errors below this, in per cent, are drawn on a straight scale down to zero; in heatmaps, below the power of
# ten under the least error where that is larger.
_STRAIGHT_BELOW = 1e-3


def _mechanisms(rows: Sequence[Record]) -> list[str]:
    return sorted({row["mechanism"] for row in rows}, key=lambda name: Variant.named(name).rank)


# Whose cost a heatmap is about, by the name in the rows.
_WHOSE = {"leader": "the leader's cost", "gas": "the gas market's cost"}


def stress_heatmaps(rows: Sequence[Record], whose: str = "leader") -> Figure:
    """Figure 3 of the paper: the leader's error by stress cell, a panel for each mechanism and alpha.

    The same of the gas market's error with ``whose="gas"``.
    """
    # The paper's mechanisms; what they may be given on top is compared in the tables.
    plain = [row for row in rows if row["mechanism"] in MECHANISMS]
    shown = least_eta(plain or rows)
    mechanisms, alphas = _mechanisms(shown), sorted({row["alpha"] for row in shown})
    powers, gases = (sorted({row[f"{kind}_stress"] for row in shown}) for kind in ("power", "gas"))
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
            _blank_what_did_not_run(axes, groups[key], powers, gases)
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
    rows: Sequence[Record], powers: Sequence[float], gases: Sequence[float], whose: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Mean absolute errors, power stress x gas stress; NaN where no run could be cleared."""
    grid = np.full((len(powers), len(gases)), np.nan)
    for i, power in enumerate(powers):
        for j, gas in enumerate(gases):
            found = [
                abs(row[f"error_{whose}_percent"])
                for row in rows
                if (row["power_stress"], row["gas_stress"]) == (power, gas) and row["feasible"]
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


def _blank_what_did_not_run(
    axes: Axes, rows: Sequence[Record], powers: Sequence[float], gases: Sequence[float]
) -> None:
    """Grey says that runs could not be cleared; a cell without runs says nothing and stays white."""
    ran = {(row["power_stress"], row["gas_stress"]) for row in rows}
    for (i, power), (j, gas) in product(enumerate(powers), enumerate(gases)):
        if (power, gas) not in ran:
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color="white"))


def _short(value: float) -> str:
    return "0" if value < 5e-5 else f"{value:.2g}"


def _label_stress(
    panels: np.ndarray[tuple[int, int], np.dtype[np.object_]], powers: Sequence[float], gases: Sequence[float]
) -> None:
    for axes in panels.ravel():
        axes.set_xticks(range(len(gases)), [f"{100 * gas:.0f}" for gas in gases], fontsize=7)
        axes.set_yticks(range(len(powers)), [f"{100 * power:.0f}" for power in powers], fontsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("rise of gas demand, %", fontsize=8)


def _absolute(name: str) -> Callable[[Record], float | None]:
    return lambda row: None if row[name] is None else abs(row[name])


def _hundredfold(name: str, factor: float) -> Callable[[Record], float | None]:
    return lambda row: None if row[name] is None else factor * row[name]


def _cpu(row: Record) -> float | None:
    return None if row["cpu_release"] is None else row["cpu_release"] + row["cpu_clear"]


# Heading, value, and whether zero is a value that must be seen (else the scale is logarithmic).
_DISTRIBUTIONS: tuple[tuple[str, Callable[[Record], float | None], bool], ...] = (
    ("Leader's error, % (absolute)", _absolute("error_leader_percent"), True),
    ("Gas market's error, % (absolute)", _absolute("error_gas_percent"), True),
    ("L1 distance to the true demand, 10$^2$ MWh", _hundredfold("l1_released", 0.01), False),
    ("CPU time per instance, s", _cpu, False),
    ("Gap of the cleared game, %", _hundredfold("released_gap", 100.0), True),
    ("Gap of step 3b, %", _hundredfold("fidelity_gap", 100.0), True),
)


def distributions(rows: Sequence[Record]) -> Figure:
    """Errors, distance, time and gaps: a box for each mechanism at each alpha."""
    shown = least_eta(rows)
    mechanisms, alphas = _mechanisms(shown), sorted({row["alpha"] for row in shown})
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
            axes.set_yscale("symlog", linthresh=_STRAIGHT_BELOW)
            # Zero is seen above the frame, the largest below it.
            largest = axes.dataLim.ymax if axes.has_data() else 0.0
            axes.set_ylim(-_STRAIGHT_BELOW / 4, 2 * max(largest, _STRAIGHT_BELOW))
        else:
            axes.set_yscale("log")
        axes.set_xlim(-0.5, len(alphas) - 0.5)
    handles = [
        Patch(facecolor=_COLOURS[number % len(_COLOURS)], edgecolor="black", label=mechanism)
        for number, mechanism in enumerate(mechanisms)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9)
    return figure


def _values(
    rows: Sequence[Record], mechanism: str, alpha: float, value: Callable[[Record], float | None]
) -> list[float]:
    mine = [value(row) for row in rows if row["mechanism"] == mechanism and row["alpha"] == alpha]
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
