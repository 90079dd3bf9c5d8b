"""Maps of a case: its two networks, a solution of the game on them, and prices beside other prices."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case
from ppsm.errors import InputError
from ppsm.figures.colours import (
    BLACK,
    BLUE,
    FUEL_COLOURS,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PRESSURE_MAP,
    PRICE_MAP,
    PURPLE,
    VERMILION,
)
from ppsm.figures.geography import (
    bus_places,
    corners,
    gas_segments,
    junction_places,
    largest_loads,
    line_segments,
)
from ppsm.figures.state import GasState, PowerState, gas_ends, power_state
from ppsm.figures.style import new_figure
from ppsm.markets.gauc.gauc_solution import GaucSolution
from ppsm.markets.model.gas import GasMarket, build_gas_market

_PRICE_LABEL = "gas price, \\$/MMBtu"
# A colour scale spans at least this much, in $/MMBtu and bar: it must not magnify rounding.
_NARROWEST_PRICE, _NARROWEST_PRESSURE = 0.1, 1.0
# It leaves out this share of junctions at either end: a dead end without gas has a price that says nothing.
_LEFT_OUT = 0.02
_LABELS = 9
_LABEL_DEG = 0.9
_WIDEST_PT = 6.0
_THINNEST_PT = 0.5
_LARGEST_PIE_PT2 = 800.0
_ARC_STEPS = 24
# Shorter components and smaller flows (relative to the largest) have no room for an arrow.
_ARROW_DEG, _ARROW_SHARE = 0.25, 0.03


def case_map(case: Case) -> Figure:
    """Both networks of a case: what is where, before anything flows."""
    figure = new_figure(10.5, 6.6)
    axes = figure.add_subplot()
    _prepare(axes, case, case.title, power=True)
    _draw_lines(axes, case)
    _draw_pipes(axes, case)
    _draw_things(axes, case)
    _label_largest_loads(axes, case)
    return figure


def solution_map(solution: GaucSolution, market: GasMarket | None = None) -> Figure:
    """A solved game in four panels: gas prices, pressures, power flow at the peak, generation by hour.

    ``market`` saves building the gas market again where there is one already.
    """
    prices, columns, output = solution.gas_prices_usd_per_mwh, solution.gas_columns, solution.output_mw
    if prices is None or columns is None or output is None:
        raise InputError(f"the solution is '{solution.status.value}'; only an answer can be drawn on a map.")
    case = solution.case
    gas = GasState.of(market or build_gas_market(case), columns)
    figure = new_figure(15.0, 9.4)
    panels = figure.subplots(2, 2)
    _price_panel(figure, panels[0, 0], case, prices * MWH_PER_MMBTU, gas)
    _pressure_panel(figure, panels[0, 1], case, gas)
    peak = int(np.argmax(case.load_mw(solution.power_stress).sum(axis=1)))
    _power_panel(panels[1, 0], solution, output, peak)
    _hours_panel(panels[1, 1], solution, output)
    figure.suptitle(_headline(solution), fontsize=11, x=0.01, ha="left")
    return figure


def price_panels(case: Case, prices_usd_per_mwh: Mapping[str, FloatArray]) -> dict[str, Figure]:
    """Gas prices by junction on one colour scale, such as before and after a release, a small figure each.

    The keys are the titles; pages arrange the figures. Letters are large for the size of the figure, since a
    page on a phone shows it 5 cm wide.
    """
    vectors, every = _prices_to_draw(case, prices_usd_per_mwh)
    scale = _scale(every, _NARROWEST_PRICE)
    figures = {}
    for title, prices in vectors.items():
        figure = new_figure(4.7, 4.3)
        axes = figure.add_subplot()
        _prepare(axes, case, title, power=True)
        _draw_lines(axes, case)
        _draw_pipes(axes, case)
        points = _draw_prices(axes, case, prices, scale)
        bar = _add_colour_bar(figure, [axes], points, every, _PRICE_LABEL, location="bottom")
        bar.ax.tick_params(labelsize=8.5)
        axes.tick_params(labelsize=8.5)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        figures[title] = figure
    return figures


def _prices_to_draw(
    case: Case, prices_usd_per_mwh: Mapping[str, FloatArray]
) -> tuple[dict[str, FloatArray], FloatArray]:
    """The vectors in $/MMBtu by title, and all of their prices."""
    if not prices_usd_per_mwh:
        raise InputError("there are no prices to draw; give at least one vector.")
    vectors = {
        title: frozen_vector(prices, len(case.junctions), f"the prices '{title}'") * MWH_PER_MMBTU
        for title, prices in prices_usd_per_mwh.items()
    }
    return vectors, np.concatenate(list(vectors.values()))


def _scale(values: FloatArray, narrowest: float) -> Normalize:
    low, high = (float(end) for end in np.quantile(values, [_LEFT_OUT, 1 - _LEFT_OUT]))
    widen = max(narrowest - (high - low), 0.0) / 2
    return Normalize(low - widen, high + widen)


def _add_colour_bar(
    figure: Figure,
    panels: Sequence[Axes],
    points: PathCollection,
    values: FloatArray,
    label: str,
    location: Literal["right", "bottom"] = "right",
) -> Colorbar:
    """A scale beside the panels; its ends are pointed where values lie beyond it."""
    beyond = (bool(values.min() < points.norm.vmin), bool(values.max() > points.norm.vmax))
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    bar = figure.colorbar(points, ax=list(panels), shrink=0.8, extend=extend[beyond], location=location)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return bar


def _headline(solution: GaucSolution) -> str:
    burn = 0.0 if solution.burn_mwh is None else float(solution.burn_mwh.sum())
    gap = "unknown" if solution.gap is None else f"{solution.gap:.3%}"
    return (
        f"{solution.case.title}\npower {solution.power_stress:+.0%}, "
        f"gas demand {solution.demand_mwh.sum():,.0f} MWh/day, plants burn {burn:,.0f} MWh/day; "
        f"cost {solution.leader_cost_usd:,.0f} \\$, gap {gap} ({solution.status.value})"
    )


def _junction_handles() -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=size,
            markerfacecolor="white",
            markeredgecolor=BLACK,
            label=text,
        )
        for size, text in ((8, "junction with gas-fired plants"), (4, "other junction"))
    ]


def _price_panel(figure: Figure, axes: Axes, case: Case, prices: FloatArray, gas: GasState) -> None:
    _prepare(axes, case, "Gas prices and flows", power=False)
    _draw_gas_flows(axes, case, gas)
    points = _draw_prices(axes, case, prices, _scale(prices, _NARROWEST_PRICE))
    axes.legend(handles=_junction_handles(), fontsize=7, loc="lower right", framealpha=0.9)
    _add_colour_bar(figure, [axes], points, prices, _PRICE_LABEL)


def _pressure_panel(figure: Figure, axes: Axes, case: Case, gas: GasState) -> None:
    _prepare(axes, case, "Pressures that fit the flows best", power=False)
    scale = _scale(gas.pressure_bar, _NARROWEST_PRESSURE)
    _draw_gas_flows(axes, case, gas, by_pressure=scale)
    points = _draw_pressures(axes, case, gas.pressure_bar, scale)
    _add_colour_bar(figure, [axes], points, gas.pressure_bar, "pressure, bar")


def _power_panel(axes: Axes, solution: GaucSolution, output: FloatArray, hour: int) -> None:
    case = solution.case
    number = case.load_shape[hour].hour
    _prepare(axes, case, f"Generation and power flow in the peak hour (hour {number})", power=True)
    state = power_state(case, solution.power_stress, output, hour)
    _draw_lines(axes, case, state)
    _draw_generation(axes, case, output[:, hour])
    handles: list[Artist] = [*_fuel_handles(case)]
    if state.full.any():
        handles.append(Line2D([], [], color=VERMILION, linewidth=2, label="line at its rating"))
    axes.legend(handles=handles, fontsize=7, loc="lower right", framealpha=0.9)


def _fuel_handles(case: Case) -> list[Patch]:
    there = {fleet.fuel for fleet in case.fleets}
    return [Patch(color=colour, label=fuel) for fuel, colour in FUEL_COLOURS.items() if fuel in there]


def _hours_panel(axes: Axes, solution: GaucSolution, output: FloatArray) -> None:
    """Output by fuel, stacked, hour by hour, with the load that it serves."""
    case = solution.case
    hours = np.array([row.hour for row in case.load_shape])
    fuels = [fuel for fuel in FUEL_COLOURS if any(fleet.fuel == fuel for fleet in case.fleets)]
    below = np.zeros(hours.size)
    for fuel in fuels:
        mine = output[[fleet.fuel == fuel for fleet in case.fleets]].sum(axis=0) / 1000.0
        axes.bar(
            hours, mine, bottom=below, width=1.0, color=FUEL_COLOURS[fuel], edgecolor="white", linewidth=0.3
        )
        below += mine
    injected = sum(bus.injection_mw for bus in case.buses)
    load = (case.load_mw(solution.power_stress).sum(axis=1) - injected) / 1000.0
    edges = np.append(hours - 0.5, hours[-1] + 0.5)
    axes.stairs(load, edges, color=BLACK, linewidth=1.2, linestyle="--", label="load less imports")
    axes.set_title("Generation by fuel", fontsize=10, loc="left")
    axes.set_xlabel("hour of the day", fontsize=8)
    axes.set_ylabel("GW", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.25 * below.max())
    handles = [*_fuel_handles(case), *axes.get_legend_handles_labels()[0]]
    axes.legend(handles=handles, fontsize=7, loc="upper center", ncols=len(handles), framealpha=0.9)


def _draw_things(axes: Axes, case: Case) -> None:
    """Symbols for supplies, deliveries, plants, stations and loads, and the legend that explains them."""
    places = dict(zip([row.junction for row in case.junctions], junction_places(case), strict=True))
    load = np.array([row.load_mw for row in case.buses])
    buses = bus_places(case)
    axes.scatter(
        buses[:, 0], buses[:, 1], s=12 + 200 * load / max(load.max(), 1e-9), marker="s", color=LIGHT_GREY,
        edgecolor=BLACK, linewidth=0.6, zorder=3, label="bus, area by load",
    )  # fmt: skip
    demand = np.array([row.base_mwh for row in case.deliveries])
    for marker, colour, size, label, names in (
        ("D", "white", 16, "compressor", [row.from_junction for row in case.compressors]),
        ("o", PURPLE, 12 + 160 * demand / max(demand.max(initial=0.0), 1e-9), "delivery, area by demand",
         [row.junction for row in case.deliveries]),
        ("^", GREEN, 90, "supply", sorted({row.junction for row in case.supplies})),
        ("*", ORANGE, 90, "gas-fired plants burn here", sorted({row.junction for row in case.links})),
    ):  # fmt: skip
        if names:
            here = np.array([places[name] for name in names])
            axes.scatter(
                here[:, 0], here[:, 1], marker=marker, s=size, color=colour,
                edgecolor=BLACK, linewidth=0.6, zorder=5, label=label,
            )  # fmt: skip
    handles = [
        Line2D([], [], color=BLUE, linewidth=1.2, label="pipe"),
        Line2D([], [], color=LIGHT_GREY, linewidth=1.2, label="power line"),
        *axes.get_legend_handles_labels()[0],
    ]
    axes.legend(handles=handles, fontsize=7, loc="lower right", framealpha=0.9)


def _label_largest_loads(axes: Axes, case: Case) -> None:
    """Names of the largest loads, as many as do not crowd each other."""
    for row in largest_loads(case, _LABELS, _LABEL_DEG):
        place = row.longitude_deg, row.latitude_deg
        on_the_right = place[0] > np.mean(axes.get_xlim())
        axes.annotate(
            row.name, place, xytext=(-6 if on_the_right else 6, 6), textcoords="offset points",
            ha="right" if on_the_right else "left", fontsize=7, zorder=6,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip


# The layers of a map: each function draws one kind of thing on a panel of longitude and latitude.


def _prepare(axes: Axes, case: Case, title: str, *, power: bool) -> None:
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


def _draw_pipes(axes: Axes, case: Case, colour: str = BLUE) -> None:
    """The gas network as it is, without flows."""
    axes.add_collection(LineCollection(list(gas_segments(case)), colors=colour, linewidths=1.2, zorder=3))


def _draw_gas_flows(axes: Axes, case: Case, state: GasState, *, by_pressure: Normalize | None = None) -> None:
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


def _draw_prices(axes: Axes, case: Case, price_usd_per_mmbtu: FloatArray, scale: Normalize) -> PathCollection:
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


def _draw_pressures(axes: Axes, case: Case, pressure_bar: FloatArray, scale: Normalize) -> PathCollection:
    """Pressures as the colour of the junctions."""
    places = junction_places(case)
    return axes.scatter(
        places[:, 0], places[:, 1], c=pressure_bar, s=22, cmap=PRESSURE_MAP, norm=scale,
        edgecolor=BLACK, linewidth=0.5, zorder=5,
    )  # fmt: skip


def _draw_lines(axes: Axes, case: Case, state: PowerState | None = None) -> None:
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


def _draw_generation(axes: Axes, case: Case, output_mw: FloatArray) -> None:
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
