"""The layers of a map: each function draws one kind of thing on a panel of longitude and latitude."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.figures.colours import (
    BLACK,
    BLUE,
    FUEL_COLOURS,
    GREY,
    LIGHT_GREY,
    PRESSURE_MAP,
    PRICE_MAP,
    VERMILION,
)
from ppsm.figures.geography import bus_places, corners, gas_segments, junction_places, line_segments
from ppsm.figures.state import GasState, PowerState, gas_ends

_WIDEST_PT = 6.0
_THINNEST_PT = 0.5
_LARGEST_PIE_PT2 = 800.0
_ARC_STEPS = 24
# Shorter components and smaller flows (relative to the largest) have no room for an arrow.
_ARROW_DEG, _ARROW_SHARE = 0.25, 0.03


def prepare(axes: Axes, case: Case, title: str, *, power: bool) -> None:
    """Set a panel up: limits around what it shows, true shape at its latitude, degrees at its edges."""
    places = np.vstack([junction_places(case), bus_places(case)]) if power else junction_places(case)
    low, high = corners(places)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect(1.0 / np.cos(np.deg2rad((low[1] + high[1]) / 2)))
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(color=LIGHT_GREY, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7, length=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}° {'W' if value < 0 else 'E'}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}° {'N' if value >= 0 else 'S'}")


def _widths(amounts: FloatArray, largest: float) -> FloatArray:
    return _THINNEST_PT + (_WIDEST_PT - _THINNEST_PT) * np.abs(amounts) / max(largest, 1e-9)


def draw_pipes(axes: Axes, case: Case, colour: str = BLUE) -> None:
    """The gas network as it is, without flows."""
    axes.add_collection(LineCollection(list(gas_segments(case)), colors=colour, linewidths=1.2, zorder=3))


def draw_gas_flows(axes: Axes, case: Case, state: GasState, *, by_pressure: Normalize | None = None) -> None:
    """Flows as widths, arrows along the flow; grey, or coloured by the mean pressure of both ends."""
    ends = gas_ends(case)
    segments = gas_segments(case)
    largest = float(state.flow_mwh.max(initial=0.0))
    lines = LineCollection(list(segments), linewidths=_widths(state.flow_mwh, largest), zorder=3)
    lines.set_capstyle("round")
    if by_pressure is None:
        lines.set_color(GREY)
    else:
        index = {row.junction: position for position, row in enumerate(case.junctions)}
        lines.set_array(
            np.array(
                [(state.pressure_bar[index[up]] + state.pressure_bar[index[down]]) / 2 for up, down in ends]
            )
        )
        lines.set_cmap(PRESSURE_MAP)
        lines.set_norm(by_pressure)
    axes.add_collection(lines)
    _draw_arrows(axes, segments, state.flow_mwh, largest)
    _width_legend(axes, largest, GREY if by_pressure is None else BLACK, "gas flow, MWh/day")


def _draw_arrows(axes: Axes, segments: FloatArray, flow: FloatArray, largest: float) -> None:
    step = segments[:, 1] - segments[:, 0]
    shown = (np.hypot(step[:, 0], step[:, 1]) > _ARROW_DEG) & (flow > _ARROW_SHARE * largest)
    stretch = float(axes.get_aspect())
    for (x, y), (dx, dy) in zip(segments[shown].mean(axis=1), step[shown], strict=True):
        angle = np.rad2deg(np.arctan2(dy * stretch, dx))
        # a triangle whose tip points up when it is not turned
        marker = MarkerStyle((3, 0, angle - 90.0))
        axes.scatter(x, y, marker=marker, s=22, color="white", edgecolor=BLACK, linewidth=0.6, zorder=4)


def _width_legend(axes: Axes, largest: float, colour: str, title: str) -> None:
    if largest <= 0:
        return
    round_to = 10.0 ** np.floor(np.log10(largest))
    amounts = sorted({round_to * np.floor(largest / round_to) * share for share in (1.0, 0.5, 0.1)})
    handles = [
        Line2D([], [], color=colour, linewidth=width, label=f"{amount:,.4g}")
        for amount, width in zip(amounts, _widths(np.array(amounts), largest).tolist(), strict=True)
    ]
    legend = axes.legend(
        handles=handles, title=title, loc="upper left", fontsize=7, title_fontsize=7, framealpha=0.9
    )
    axes.add_artist(legend)


def draw_prices(axes: Axes, case: Case, price_usd_per_mmbtu: FloatArray, scale: Normalize) -> PathCollection:
    """Gas prices as the colour of the junctions; junctions of plants are larger."""
    plants = {link.junction for link in case.links}
    is_plant = np.array([row.junction in plants for row in case.junctions])
    # dear junctions last: where several share a place the highest price shows
    order = np.argsort(price_usd_per_mmbtu, kind="stable")
    places = junction_places(case)[order]
    return axes.scatter(
        places[:, 0], places[:, 1], c=price_usd_per_mmbtu[order], s=np.where(is_plant, 70.0, 22.0)[order],
        cmap=PRICE_MAP, norm=scale, edgecolor=BLACK, linewidth=0.6, zorder=5,
    )  # fmt: skip


def draw_pressures(axes: Axes, case: Case, pressure_bar: FloatArray, scale: Normalize) -> PathCollection:
    """Pressures as the colour of the junctions."""
    places = junction_places(case)
    return axes.scatter(
        places[:, 0], places[:, 1], c=pressure_bar, s=22, cmap=PRESSURE_MAP, norm=scale,
        edgecolor=BLACK, linewidth=0.5, zorder=5,
    )  # fmt: skip


def draw_lines(axes: Axes, case: Case, state: PowerState | None = None) -> None:
    """The power lines; with flows as widths, and lines at their rating in another colour."""
    segments = list(line_segments(case))
    if state is None:
        axes.add_collection(LineCollection(segments, colors=LIGHT_GREY, linewidths=0.8, zorder=2))
        return
    largest = float(np.abs(state.flow_mw).max(initial=0.0))
    colours = [VERMILION if full else GREY for full in state.full]
    axes.add_collection(
        LineCollection(
            segments, colors=colours, linewidths=_widths(state.flow_mw, largest), alpha=0.8, zorder=2
        )
    )
    _width_legend(axes, largest, GREY, "power flow, MW")


def draw_generation(axes: Axes, case: Case, output_mw: FloatArray) -> None:
    """One pie per bus: its area is the output of one hour, its slices are the fuels."""
    fuels = list(FUEL_COLOURS)
    index = {row.bus: position for position, row in enumerate(case.buses)}
    totals = np.zeros((len(index), len(fuels)))
    for fleet, output in zip(case.fleets, output_mw, strict=True):
        totals[index[fleet.bus], fuels.index(fleet.fuel)] += output
    largest = max(float(totals.sum(axis=1).max()), 1e-9)
    for place, mine in zip(bus_places(case), totals, strict=True):
        axes.scatter(place[0], place[1], s=4, color=BLACK, zorder=4)
        size = _LARGEST_PIE_PT2 * mine.sum() / largest
        turns = np.concatenate([[0.0], np.cumsum(mine) / max(mine.sum(), 1e-9)])
        for fuel, start, end in zip(fuels, turns[:-1], turns[1:], strict=True):
            if end > start:
                _draw_slice(axes, place, size, start, end, FUEL_COLOURS[fuel])


def _draw_slice(axes: Axes, place: FloatArray, size: float, start: float, end: float, colour: str) -> None:
    around = 2 * np.pi * np.linspace(start, end, _ARC_STEPS)
    arc = np.column_stack([np.sin(around), np.cos(around)])
    outline = arc if end - start > 1 - 1e-9 else np.vstack([[0.0, 0.0], arc])
    # matplotlib scales a marker by its largest coordinate; undo that, or thin slices would be too long
    scaled = size * float(np.abs(outline).max()) ** 2
    axes.scatter(
        place[0], place[1], marker=MarkerStyle(Path(outline)), s=scaled, color=colour, edgecolor="white",
        linewidth=0.3, zorder=5,
    )  # fmt: skip
