"""An interactive map of gas prices: what changed from before to after, by junction, with values on hover."""

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.entities import MWH_PER_MMBTU
from ppsm.cases.schema import Case
from ppsm.figures.geography import (
    bus_places,
    corners,
    gas_segments,
    junction_places,
    largest_loads,
    line_segments,
    outlines,
)

_LABELS = 7
_LABEL_DEG = 1.3
# On a phone only names this far apart have room.
_NARROW_LABEL_DEG = 3.0
# Names in the outer part of the frame are written towards its middle.
_EDGE = 0.1
# A scale of differences ends at one of these, in $/MMBtu: pages of several days can be compared.
_SCALES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# Half the least range of a scale, in $/MMBtu: where all prices are one, it still has its numbers.
_LEAST_HALF = 0.5
_PRICE = "gas price, $/MMBtu"
_PALE = 0.5


def difference_map(
    case: Case,
    before_usd_per_mwh: FloatArray,
    after_usd_per_mwh: Mapping[str, FloatArray],
    *,
    kept_usd_per_mmbtu: float,
) -> alt.LayerChart:
    """After minus before for each title, of which the reader chooses one; all on one scale around zero.

    Junctions that keep their price are pale: one that does not would be lost among a hundred, on a dark page
    most of all, where no change is what shines.
    """
    before = _rounded(before_usd_per_mwh)
    vectors = {title: _rounded(prices) for title, prices in after_usd_per_mwh.items()}
    largest = max(float(np.abs(after - before).max()) for after in vectors.values())
    limit = next((scale for scale in _SCALES if scale >= largest), _SCALES[-1])
    rows = [
        {
            **point,
            "shown": title,
            "before": round(old, 3),
            "after": round(new, 3),
            "value": round(new - old, 3),
        }
        for title, after in vectors.items()
        for point, old, new in zip(_junctions(case), before.tolist(), after.tolist(), strict=True)
    ]
    colour = alt.Color("value:Q").scale(scheme="blueorange", domain=[-limit, limit], clamp=True)
    tips = [
        alt.Tooltip("junction:N"),
        alt.Tooltip("before:Q", title="before, $/MMBtu", format=".3f"),
        alt.Tooltip("after:Q", title="after, $/MMBtu", format=".3f"),
        alt.Tooltip("value:Q", title="difference", format="+.3f"),
    ]
    dots = _dots(rows, colour.legend(**_legend("after minus before, $/MMBtu")), tips).encode(
        opacity=alt.when(f"abs(datum.value) > {kept_usd_per_mmbtu}")
        .then(alt.value(1))
        .otherwise(alt.value(_PALE))
    )
    titles = list(vectors)
    if len(titles) > 1:
        choice = alt.param(
            name="shown", value=titles[0], bind=alt.binding_radio(options=titles, name="Cleared with ")
        )
        dots = dots.add_params(choice).transform_filter("datum.shown == shown")
    return _layered(case, dots)


def price_map(
    case: Case, prices_usd_per_mwh: FloatArray, *, beside: Iterable[FloatArray] = ()
) -> alt.LayerChart:
    """The prices of one day, on a scale that does for maps ``beside`` it too."""
    prices = _rounded(prices_usd_per_mwh)
    every = np.concatenate([prices, *map(_rounded, beside)])
    middle, half = (every.max() + every.min()) / 2, max((every.max() - every.min()) / 2, _LEAST_HALF)
    span = [float(middle - half), float(middle + half)]
    rows = [{**point, "value": price} for point, price in zip(_junctions(case), prices.tolist(), strict=True)]
    colour = alt.Color("value:Q").scale(scheme="viridis", domain=span, nice=True)
    colour = colour.legend(**_legend(_PRICE))
    tips = [alt.Tooltip("junction:N"), alt.Tooltip("value:Q", title=_PRICE, format=".3f")]
    return _layered(case, _dots(rows, colour, tips))


def _rounded(prices_usd_per_mwh: FloatArray) -> FloatArray:
    """In $/MMBtu, to what is shown: rounding errors of solvers are no change of a price."""
    return np.round(prices_usd_per_mwh * MWH_PER_MMBTU, 3)


def _legend(title: str) -> dict[str, Any]:
    return {"title": title, "orient": "bottom", "direction": "horizontal", "gradientLength": 220}


def _junctions(case: Case) -> list[dict[str, Any]]:
    plants = {link.junction for link in case.links}
    return [
        {
            "junction": row.junction,
            "longitude": row.longitude_deg,
            "latitude": row.latitude_deg,
            "plant": row.junction in plants,
        }
        for row in case.junctions
    ]


def _dots(rows: list[dict[str, Any]], colour: alt.Color, tips: list[alt.Tooltip]) -> alt.Chart:
    # Where several junctions share a place the largest change lies on top.
    ordered = sorted(rows, key=lambda row: abs(row["value"]))
    return (
        alt.Chart(alt.Data(values=ordered))
        .mark_circle(style="dot")
        .encode(
            longitude="longitude:Q",
            latitude="latitude:Q",
            color=colour,
            size=alt.when("datum.plant")
            .then(alt.value(alt.expr("width / 7")))
            .otherwise(alt.value(alt.expr("width / 22"))),
            tooltip=tips,
        )
    )


def _layered(case: Case, dots: alt.Chart) -> alt.LayerChart:
    """The dots over land, names and both networks; the frame is that of the networks."""
    (west, south), (east, north) = corners(np.vstack([junction_places(case), bus_places(case)]))
    ends = {"type": "MultiPoint", "coordinates": [[west, south], [east, north]]}
    fit = {"type": "Feature", "properties": {}, "geometry": ends}
    layers = [
        _land(),
        _state_names(west, east, south, north),
        _lines(line_segments(case), "power-line"),
        _lines(gas_segments(case), "pipe"),
        dots,
        *_bus_names(case, west, east),
    ]
    size = alt.expr("[width, height]")
    chart: alt.LayerChart = alt.layer(*layers).project(type="mercator", fit=fit, size=size)
    flat = np.cos(np.deg2rad((south + north) / 2))
    return chart.properties(usermeta={"aspect": float((east - west) * flat / (north - south))})


def _land() -> alt.Chart:
    features = [each.to_geojson() for each in outlines()]
    return alt.Chart(alt.Data(values=features)).mark_geoshape(style="land", clip=True)


def _state_names(west: float, east: float, south: float, north: float) -> alt.Chart:
    names = []
    for each in outlines():
        longitude, latitude = each.middle
        if west < longitude < east and south < latitude < north:
            names.append({"name": each.name, "longitude": longitude, "latitude": latitude})
    return _texts(names, "state-name")


def _texts(rows: list[dict[str, Any]], style: str, **mark: Any) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_text(style=style, **mark)
        .encode(longitude="longitude:Q", latitude="latitude:Q", text="name:N")
    )


def _lines(segments: FloatArray, style: str) -> alt.Chart:
    rows = [dict(zip(("x", "y", "x2", "y2"), ends, strict=True)) for ends in segments.reshape(-1, 4).tolist()]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rule(style=style, tooltip=None)
        .encode(longitude="x:Q", latitude="y:Q", longitude2="x2", latitude2="y2")
    )


def _bus_names(case: Case, west: float, east: float) -> list[alt.Chart]:
    """The largest loads, as many as do not crowd each other, as squares with their name and load."""
    everywhere = {row.bus for row in largest_loads(case, _LABELS, _NARROW_LABEL_DEG)}
    chosen = [
        {"name": row.name, "load": row.load_mw, "longitude": row.longitude_deg, "latitude": row.latitude_deg}
        | {"style": "name" if row.bus in everywhere else "minor-name"}
        | {"align": _alignment((row.longitude_deg - west) / (east - west))}
        for row in largest_loads(case, _LABELS, _LABEL_DEG)
    ]
    squares = (
        alt.Chart(alt.Data(values=chosen))
        .mark_square(style="bus")
        .encode(
            longitude="longitude:Q",
            latitude="latitude:Q",
            tooltip=[
                alt.Tooltip("name:N", title="bus"),
                alt.Tooltip("load:Q", title="load, MW", format=",.0f"),
            ],
        )
    )
    names = [
        _texts([row for row in chosen if (row["style"], row["align"]) == kind], style, dy=-10, align=kind[1])
        for kind in sorted({(row["style"], row["align"]) for row in chosen})
        for style in (f"halo-{kind[0]}", f"bus-{kind[0]}")
    ]
    return [squares, *names]


def _alignment(share: float) -> str:
    if share < _EDGE:
        return "left"
    return "right" if share > 1 - _EDGE else "center"
