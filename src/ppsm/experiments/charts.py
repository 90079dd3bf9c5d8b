"""Interactive charts of rows and demands, for pages: pure functions, values on hover.

``panels`` draws the pictures that go into files and papers.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import altair as alt
import numpy as np

from ppsm.arrays import FloatArray
from ppsm.experiments.row import Row
from ppsm.experiments.summaries import MECHANISM_TITLES, grouped, least_eta
from ppsm.experiments.variants import LEARNED, MEASURED, Variant
from ppsm.figures.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from ppsm.mechanism.mechanisms import MECHANISMS

Measure = Callable[[Row], float | None]
_STYLES = {
    "laplace": (VERMILION, "triangle-up"),
    "ppsm-p": (SKY, "square"),
    "ppsm": (BLUE, "circle"),
    MEASURED: (PURPLE, "triangle-down"),
    LEARNED: (GREEN, "diamond"),
}
# Lighter than any green of the scale, which colour-blind readers see as grey.
_NOT_CLEARED = "#dcdcdc"
# On axes of errors, which go from a thousandth of a per cent to all of it.
_TICKS = [0.0, 0.01, 0.1, 1.0, 10.0, 100.0]
_DAY_MS = 24 * 3600 * 1000
# A tall thin mark, which shows above and below one that lies on it.
_TICK = "M-0.15,-1.6H0.15V1.6H-0.15Z"
_OTHERS = ((ORANGE, "cross"), (GREY, "stroke"))
_MEASURES: dict[str, tuple[str, str, Measure]] = {
    "leader": ("Power operator's cost", "off by, %", lambda row: row.absolute_error("leader")),
    "gas": ("Gas market's cost", "off by, %", lambda row: row.absolute_error("gas")),
    "distance": ("Distance to the true demand", "L1, MWh", lambda row: row.l1_released),
}


def error_charts(rows: Sequence[Row]) -> dict[str, tuple[str, alt.LayerChart]]:
    """Means over the draws with the range from least to largest, by alpha and mechanism; with titles."""
    return {
        name: (title, _means(rows, unit, measure, log=name == "distance").properties(title=title, height=230))
        for name, (title, unit, measure) in _MEASURES.items()
    }


def _means(rows: Sequence[Row], unit: str, measure: Measure, *, log: bool) -> alt.LayerChart:
    names = _mechanisms(rows)
    points = []
    for (mechanism, alpha, _), group in grouped(rows).items():
        values = [value for row in group if (value := measure(row)) is not None]
        if values:
            spread = {"mean": float(np.mean(values)), "least": min(values), "largest": max(values)}
            of = f"{sum(row.feasible for row in group)} of {len(group)}"
            points.append({"mechanism": _title(mechanism), "alpha": f"{alpha:g}", "cleared": of, **spread})
    alphas = [f"{alpha:g}" for alpha in sorted({row.alpha for row in rows})]
    titles, colours, shapes = _appearance(names)
    scale, ticks = _scale(points, log=log)
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("alpha:N", title="alpha, MWh", scale=alt.Scale(domain=alphas)).axis(labelAngle=0),
        xOffset=alt.XOffset("mechanism:N", scale=alt.Scale(domain=titles, paddingOuter=0.6)),
        color=alt.Color("mechanism:N", scale=alt.Scale(domain=titles, range=colours)).legend(
            title=None, orient="bottom", columns=2
        ),
        tooltip=[
            *(alt.Tooltip(f"{name}:N") for name in ("mechanism", "alpha", "cleared")),
            *(alt.Tooltip(f"{name}:Q", format=",.3~r") for name in ("mean", "least", "largest")),
        ],
    )
    bars = base.mark_rule(strokeWidth=2.5).encode(
        y=alt.Y("least:Q", title=unit, scale=scale, axis=ticks), y2="largest:Q"
    )
    marks = base.mark_point(filled=True, size=80, opacity=1).encode(
        y=alt.Y("mean:Q", title=unit, scale=scale, axis=ticks),
        shape=alt.Shape("mechanism:N", scale=alt.Scale(domain=titles, range=shapes)),
    )
    return alt.layer(bars, marks)


def _scale(points: Sequence[dict[str, Any]], *, log: bool) -> tuple[alt.Scale, alt.Axis]:
    """An axis with room for marks at its ends, which would be cut off else, and with at least two figures."""
    least = min((point["least"] for point in points), default=1.0)
    largest = max((point["largest"] for point in points), default=1.0)
    low, high = least / 1.3, 1.3 * largest
    for steps in ((1,), (1, 2, 5)) if log and least > 0 else ():
        ticks = [tick for power in range(9) for step in steps if low <= (tick := step * 10**power) <= high]
        if len(ticks) > 1:
            return alt.Scale(type="log", domain=[low, high], nice=False), alt.Axis(values=ticks, format=",")
    return alt.Scale(domain=[0.0, 1.08 * largest or 1.0], nice=False), alt.Axis(tickCount=6)


def _mechanisms(rows: Sequence[Row]) -> list[str]:
    return sorted({row.mechanism for row in rows}, key=lambda name: Variant.named(name).rank)


def _title(mechanism: str) -> str:
    return MECHANISM_TITLES.get(mechanism, mechanism)


def _appearance(mechanisms: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Titles, colours and shapes, in order: those of the paper's mechanisms are always the same."""
    others = [name for name in mechanisms if name not in _STYLES]
    styles = _STYLES | {name: _OTHERS[number % len(_OTHERS)] for number, name in enumerate(others)}
    chosen = [styles[name] for name in mechanisms]
    return [_title(name) for name in mechanisms], [c for c, _ in chosen], [s for _, s in chosen]


def demand_chart(
    names: Sequence[str], true: FloatArray, noisy: FloatArray, released: FloatArray
) -> alt.Chart:
    """True, noisy and released demand of every delivery: for the owner's page only."""
    kinds = {"noisy": noisy, "released": released, "true": true}
    points = [
        {"delivery": name, "demand": kind, "mwh": round(float(value), 3)}
        for kind, vector in kinds.items()
        for name, value in zip(names, vector, strict=True)
    ]
    return (
        alt.Chart(alt.Data(values=points), height=alt.Step(15))
        .mark_point(filled=True, size=60, opacity=0.9)
        .encode(
            x=alt.X("mwh:Q", title="MWh a day"),
            y=alt.Y("delivery:N", title=None, sort=list(names)).axis(grid=True),
            color=alt.Color(
                "demand:N", scale=alt.Scale(domain=list(kinds), range=[GREY, BLUE, VERMILION])
            ).legend(title=None, orient="top"),
            shape=alt.Shape(
                "demand:N", scale=alt.Scale(domain=list(kinds), range=["circle", "diamond", _TICK])
            ),
            tooltip=["delivery:N", "demand:N", alt.Tooltip("mwh:Q", title="MWh", format=",.1f")],
        )
    )


def daily_chart(
    dates: Sequence[str],
    series: Mapping[str, Sequence[float]],
    unit: str,
    *,
    marked: Set[str] = frozenset(),
    limit: float | None = None,
) -> alt.LayerChart:
    """Lines over days; with dots on the marked days, or up to a limit that is drawn too."""
    points = [
        {"day": day, "what": name, "value": round(value, 4), "marked": day in marked}
        for name, values in series.items()
        for day, value in zip(dates, values, strict=True)
    ]
    colours = [BLUE, VERMILION][: len(series)]
    base = alt.Chart(alt.Data(values=points), height=220).encode(
        x=alt.X("day:T", title=None, scale=alt.Scale(type="utc")).axis(
            format="%-d %b", labelFlush=False, labelOverlap=True, tickMinStep=_DAY_MS
        ),
        y=alt.Y("value:Q", title=unit),
        color=alt.Color("what:N", scale=alt.Scale(domain=list(series), range=colours)).legend(
            title=None, orient="top"
        ),
        strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=list(series), range=[[1, 0], [5, 3]])),
        tooltip=[
            alt.Tooltip("utcyearmonthdate(day):T", title="day"),
            "what:N",
            alt.Tooltip("value:Q", title=unit, format=",.4~r"),
        ],
    )
    layers = [
        base.mark_line(strokeWidth=2, interpolate="linear" if limit is None else "step-after"),
        base.mark_point(filled=True, size=45).transform_filter("datum.marked"),
    ]
    if limit is not None:
        layers.append(
            alt.Chart(alt.Data(values=[{"value": limit}])).mark_rule(style="limit").encode(y="value:Q")
        )
    return alt.layer(*layers)


def stress_chart(rows: Sequence[Row], whose: str = "leader") -> alt.VConcatChart:
    """Figure 3 of the paper as cells to click, and below it all runs of the chosen cell."""
    plain = [row for row in rows if row.mechanism in MECHANISMS]
    shown = least_eta(plain or rows)
    columns = len({row.alpha for row in shown})
    chosen = alt.selection_point(
        name="cell", fields=["power", "gas"], empty=False, value=[_first_cell(shown, whose)]
    )
    return (
        alt.vconcat(_cells(shown, whose, chosen), _runs(shown, whose, chosen))
        .resolve_scale(color="independent")
        .properties(usermeta={"columns": columns})
    )


def _first_cell(rows: Sequence[Row], whose: str) -> dict[str, Any]:
    """That of the largest error: there is something to see."""
    row = max(rows, key=lambda row: row.absolute_error(whose) or 0.0)
    return {"power": _stress(row.power_stress), "gas": _stress(row.gas_stress)}


def _stress(value: float | None) -> str:
    return "own" if value is None else f"+{100 * value:.0f} %"


def _cells(rows: Sequence[Row], whose: str, chosen: alt.Parameter) -> alt.FacetChart:
    points, largest = [], 0.0
    for (mechanism, alpha, _), group in grouped(rows).items():
        for cell in sorted({row.cell for row in group}, key=lambda cell: (cell[0], cell[1] or 0.0)):
            mine = [row for row in group if row.cell == cell]
            errors = [e for row in mine if row.feasible and (e := row.absolute_error(whose)) is not None]
            largest = max(largest, float(np.mean(errors)) if errors else 0.0)
            points.append(
                {
                    "mechanism": _title(mechanism),
                    "alpha": f"{alpha:g} MWh",
                    "power": _stress(cell[0]),
                    "gas": _stress(cell[1]),
                    "error": round(float(np.mean(errors)), 5) if errors else 0.0,
                    "known": bool(errors),
                    "said": f"{np.mean(errors):.4g} %" if errors else "not cleared",
                    "cleared": f"{sum(row.feasible for row in mine)} of {len(mine)}",
                }
            )
    titles = [_title(name) for name in _mechanisms(rows)]
    alphas = [f"{alpha:g} MWh" for alpha in sorted({row.alpha for row in rows})]
    powers = [_stress(power) for power in sorted({row.power_stress for row in rows}, reverse=True)]
    gases = [_stress(gas) for gas in sorted({row.gas_stress for row in rows}, key=lambda gas: gas or -1.0)]
    kind, ticks = _error_scale(largest)
    scale = alt.Scale(**kind, scheme="viridis", reverse=True)
    colour = alt.Color("error:Q", scale=scale).legend(
        title="mean error, %",
        orient="top",
        direction="horizontal",
        gradientLength=240,
        values=ticks,
        labelExpr="datum.value",
    )
    cells = (
        alt.Chart(height=18 * max(len(powers), 3))
        .mark_rect(cursor="pointer")
        .encode(
            x=alt.X("gas:N", title="gas", sort=gases).axis(labelAngle=-90),
            y=alt.Y("power:N", title="power", sort=powers),
            color=alt.when("datum.known").then(colour).otherwise(alt.value(_NOT_CLEARED)),
            stroke=alt.when(chosen).then(alt.value(VERMILION)).otherwise(alt.value("transparent")),
            strokeWidth=alt.when(chosen).then(alt.value(2.5)).otherwise(alt.value(0)),
            tooltip=[
                *("mechanism:N", "alpha:N", "power:N", "gas:N", "cleared:N"),
                alt.Tooltip("said:N", title="mean error"),
            ],
        )
        .add_params(chosen)
    )
    return cells.facet(
        row=alt.Row("mechanism:N", sort=titles, title=None).header(labelOrient="top", labelAnchor="start"),
        column=alt.Column("alpha:N", sort=alphas, title=None),
        data=alt.Data(values=points),
        spacing=10,
    )


def _error_scale(largest: float) -> tuple[dict[str, Any], list[float]]:
    """A scale from zero to the largest error, and its ticks: others would stand beside it."""
    most = max(largest, _TICKS[1])
    return {"type": "symlog", "constant": 0.001, "domain": [0.0, most]}, [t for t in _TICKS if t <= most]


def _runs(rows: Sequence[Row], whose: str, chosen: alt.Parameter) -> alt.Chart:
    """Every run as one line of CSV: a grid of twenty thousand must fit into a page."""
    lines = ["mechanism,alpha,power,gas,draw,status,error,l1"]
    for row in rows:
        error, distance = row.absolute_error(whose), row.l1_released
        lines.append(
            f"{_title(row.mechanism)},{row.alpha:g},{_stress(row.power_stress)},{_stress(row.gas_stress)},"
            f"{row.repetition},{row.status},{'' if error is None else f'{error:.4g}'},"
            f"{'' if distance is None else f'{distance:.0f}'}"
        )
    titles, colours, _ = _appearance(_mechanisms(rows))
    largest = max((row.absolute_error(whose) or 0.0 for row in rows), default=0.0)
    kind, ticks = _error_scale(largest)
    alphas = sorted({row.alpha for row in rows})
    places = [f"{title}, {alpha:g} MWh" for alpha in alphas for title in titles]
    kinds = {"alpha": "string", "error": "number", "l1": "number"}
    data = alt.Data(values="\n".join(lines), format=alt.CsvDataFormat(type="csv", parse=kinds))
    return (
        alt.Chart(
            data,
            height=alt.Step(16),
            title="Runs of the chosen cell",
        )
        .transform_calculate(place="datum.mechanism + ', ' + datum.alpha + ' MWh'")
        .transform_filter(chosen)
        .mark_point(filled=True, size=55, opacity=0.75)
        .encode(
            x=alt.X("error:Q", title="error of the run, %", scale=alt.Scale(**kind)).axis(
                values=ticks, labelExpr="datum.value"
            ),
            y=alt.Y("place:N", title=None, scale=alt.Scale(domain=places)),
            color=alt.Color("mechanism:N", scale=alt.Scale(domain=titles, range=colours)).legend(
                title=None, orient="top"
            ),
            tooltip=[*("mechanism:N", "alpha:N", "draw:N", "status:N"), "error:Q", "l1:Q"],
        )
    )
