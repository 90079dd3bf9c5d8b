"""The pictures of a report as inline SVG: small single panels, which a page arranges to fit its width."""

import io
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ppsm.arrays import FloatArray
from ppsm.cases.schema import Case
from ppsm.comparison.conclusion import LEARNED
from ppsm.comparison.content import MECHANISM_TITLES
from ppsm.figures.maps import price_panels
from ppsm.figures.style import BLACK, BLUE, GREEN, GREY, LIGHT_GREY, ORANGE, VERMILION, new_figure
from ppsm.mechanism.instance import Record

# A panel this wide has letters of about 10 px on a phone and 13 px in a column of a desktop page.
_WIDTH_IN = 4.7
_STYLES = {"laplace": (VERMILION, "o"), "ppsm-p": (ORANGE, "s"), "ppsm": (BLUE, "D"), LEARNED: (GREEN, "^")}
_STEP = 0.2
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """A figure as SVG for the inside of a page: no prologue, names of its own, letters as text."""
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "ppsm", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.03)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _REFERENCE.sub(rf"\g<1>{name}-", text)
    width, height = (float(number) for number in re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2])
    opening = (
        f'<svg role="img" aria-label="{description}" viewBox="0 0 {width:g} {height:g}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return opening + text[text.index(">") + 1 :]


def price_pictures(case: Case, prices_usd_per_mwh: Mapping[str, FloatArray]) -> list[str]:
    """Maps of both networks with gas prices on one scale, one picture for each title."""
    return [
        inline_svg(figure, f"map{index}", f"Map of gas prices: {title}")
        for index, (title, figure) in enumerate(price_panels(case, prices_usd_per_mwh).items())
    ]


def error_pictures(records: Sequence[Record]) -> list[str]:
    """Means over the draws with the range from least to largest, by alpha and mechanism."""
    panels: list[tuple[str, str, Callable[[Record], float | None]]] = [
        ("feasible", "Cleared, % of the draws", lambda record: 100.0 * record["feasible"]),
        ("leader", "Error of the power operator's cost, %", _absolute("error_leader_percent")),
        ("gas", "Error of the gas market's cost, %", _absolute("error_gas_percent")),
        ("distance", "L1 distance to the true demand, MWh", _absolute("l1_released")),
    ]
    pictures = []
    for name, title, measure in panels:
        figure = new_figure(_WIDTH_IN, 3.3)
        axes = figure.add_subplot()
        _draw_measure(axes, records, measure, has_range=name != "feasible")
        axes.set_title(title, fontsize=10, loc="left")
        if name == "distance":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0.0)
        pictures.append(inline_svg(figure, name, title))
    return pictures


def _absolute(name: str) -> Callable[[Record], float | None]:
    return lambda record: None if record[name] is None else abs(float(record[name]))


def _draw_measure(
    axes: Axes, records: Sequence[Record], measure: Callable[[Record], float | None], *, has_range: bool
) -> None:
    alphas = sorted({record["alpha"] for record in records})
    ran = {record["mechanism"] for record in records}
    styles = {mechanism: style for mechanism, style in _STYLES.items() if mechanism in ran}
    for number, (mechanism, (colour, marker)) in enumerate(styles.items()):
        offset = _STEP * (number - (len(styles) - 1) / 2)
        for place, alpha in enumerate(alphas):
            group = [each for each in records if each["mechanism"] == mechanism and each["alpha"] == alpha]
            values = [value for record in group if (value := measure(record)) is not None]
            if not group:
                continue
            if not values:
                axes.annotate(
                    "none\ncleared", (place + offset, 0.05), xycoords=("data", "axes fraction"),
                    ha="center", va="bottom", fontsize=7.5, color=colour,
                )  # fmt: skip
                continue
            mean = float(np.mean(values))
            if has_range:
                axes.vlines(place + offset, min(values), max(values), color=colour, linewidth=2.5)
            axes.plot(
                place + offset, mean, marker, color=colour, markersize=7, markeredgecolor=BLACK,
                clip_on=False, zorder=3,
            )  # fmt: skip
    handles = [
        axes.plot([], [], marker, color=colour, markeredgecolor=BLACK, label=MECHANISM_TITLES[mechanism])[0]
        for mechanism, (colour, marker) in styles.items()
    ]
    axes.figure.legend(
        handles=handles, loc="outside lower center", ncols=4, fontsize=8.5, frameon=False, columnspacing=1.2
    )
    axes.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas], fontsize=8.5)
    axes.set_xlim(-0.5, len(alphas) - 0.5)
    # Mechanisms stand side by side: what is between two lines has one alpha.
    for place in range(1, len(alphas)):
        axes.axvline(place - 0.5, color=LIGHT_GREY, linewidth=0.8)
    axes.set_xlabel("alpha, MWh", fontsize=8.5)
    axes.tick_params(axis="y", labelsize=8.5)
    axes.grid(axis="y", color=LIGHT_GREY, linewidth=0.4)


def demand_picture(names: Sequence[str], true: FloatArray, noisy: FloatArray, released: FloatArray) -> str:
    """True, noisy and released demand of every delivery: for the owner's page only."""
    figure = new_figure(_WIDTH_IN, 1.1 + 0.2 * len(names))
    axes = figure.add_subplot()
    places = np.arange(len(names))[::-1]
    axes.hlines(places, np.minimum(true, noisy), np.maximum(true, noisy), color=LIGHT_GREY, linewidth=1.5)
    for values, colour, marker, size, label in (
        (true, BLACK, "|", 11, "true"),
        (noisy, GREY, "o", 4, "noisy"),
        (released, BLUE, "D", 4.5, "released"),
    ):
        axes.plot(values, places, marker, color=colour, markersize=size, markeredgewidth=1.6, label=label)
    axes.set_yticks(places, list(names), fontsize=7.5)
    axes.set_ylim(-0.8, len(names) - 0.2)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel("MWh a day", fontsize=8.5)
    axes.grid(axis="x", color=LIGHT_GREY, linewidth=0.4)
    figure.legend(loc="outside upper center", ncols=3, fontsize=8.5, frameon=False)
    return inline_svg(figure, "demand", "True, noisy and released demand of every delivery")
