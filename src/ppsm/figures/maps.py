"""Maps of a case: its two networks, a solution of the game on them, and prices beside other prices."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ppsm.arrays import FloatArray, frozen_vector
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case
from ppsm.errors import InputError
from ppsm.figures import layers
from ppsm.figures.colours import BLACK, BLUE, FUEL_COLOURS, GREEN, LIGHT_GREY, ORANGE, PURPLE, VERMILION
from ppsm.figures.geography import bus_places, junction_places, largest_loads
from ppsm.figures.state import GasState, power_state
from ppsm.figures.style import new_figure
from ppsm.markets.gauc.solver import GaucSolution
from ppsm.markets.model.gas import GasMarket, build_gas_market

_PRICE_LABEL = "gas price, \\$/MMBtu"
# A colour scale spans at least this much, in $/MMBtu and bar: it must not magnify rounding.
_NARROWEST_PRICE, _NARROWEST_PRESSURE = 0.1, 1.0
# It leaves out this share of junctions at either end: a dead end without gas has a price that says nothing.
_LEFT_OUT = 0.02
_LABELS = 9
_LABEL_DEG = 0.9


def case_map(case: Case) -> Figure:
    """Both networks of a case: what is where, before anything flows."""
    figure = new_figure(10.5, 6.6)
    axes = figure.add_subplot()
    layers.prepare(axes, case, case.title, power=True)
    layers.draw_lines(axes, case)
    layers.draw_pipes(axes, case)
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
        layers.prepare(axes, case, title, power=True)
        layers.draw_lines(axes, case)
        layers.draw_pipes(axes, case)
        points = layers.draw_prices(axes, case, prices, scale)
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
    layers.prepare(axes, case, "Gas prices and flows", power=False)
    layers.draw_gas_flows(axes, case, gas)
    points = layers.draw_prices(axes, case, prices, _scale(prices, _NARROWEST_PRICE))
    axes.legend(handles=_junction_handles(), fontsize=7, loc="lower right", framealpha=0.9)
    _add_colour_bar(figure, [axes], points, prices, _PRICE_LABEL)


def _pressure_panel(figure: Figure, axes: Axes, case: Case, gas: GasState) -> None:
    layers.prepare(axes, case, "Pressures that fit the flows best", power=False)
    scale = _scale(gas.pressure_bar, _NARROWEST_PRESSURE)
    layers.draw_gas_flows(axes, case, gas, by_pressure=scale)
    points = layers.draw_pressures(axes, case, gas.pressure_bar, scale)
    _add_colour_bar(figure, [axes], points, gas.pressure_bar, "pressure, bar")


def _power_panel(axes: Axes, solution: GaucSolution, output: FloatArray, hour: int) -> None:
    case = solution.case
    number = case.load_shape[hour].hour
    layers.prepare(axes, case, f"Generation and power flow in the peak hour (hour {number})", power=True)
    state = power_state(case, solution.power_stress, output, hour)
    layers.draw_lines(axes, case, state)
    layers.draw_generation(axes, case, output[:, hour])
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
