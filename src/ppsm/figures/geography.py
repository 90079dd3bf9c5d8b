"""Where things are, for every kind of map: places of a case, what lies between them, and outlines of states.

``data/SOURCE.md`` says whose the outlines of states and provinces are.
"""

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from ppsm.arrays import FloatArray
from ppsm.cases.entities import Bus
from ppsm.cases.schema import Case
from ppsm.figures.state import gas_ends

Place = tuple[float, float]
# What a map shows around its outermost places.
_MARGIN_DEG = 0.5


def junction_places(case: Case) -> FloatArray:
    """Longitude and latitude of every junction."""
    return np.array([[row.longitude_deg, row.latitude_deg] for row in case.junctions])


def bus_places(case: Case) -> FloatArray:
    """Longitude and latitude of every bus."""
    return np.array([[row.longitude_deg, row.latitude_deg] for row in case.buses])


def gas_segments(case: Case) -> FloatArray:
    """Both ends of everything that gas flows through."""
    places = dict(zip([row.junction for row in case.junctions], junction_places(case), strict=True))
    return np.array([[places[up], places[down]] for up, down in gas_ends(case)]).reshape(-1, 2, 2)


def line_segments(case: Case) -> FloatArray:
    """Both ends of every power line."""
    places = dict(zip([row.bus for row in case.buses], bus_places(case), strict=True))
    return np.array([[places[row.from_bus], places[row.to_bus]] for row in case.lines]).reshape(-1, 2, 2)


def corners(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """South-west and north-east of a map that shows these places."""
    return places.min(axis=0) - _MARGIN_DEG, places.max(axis=0) + _MARGIN_DEG


def largest_loads(case: Case, most: int, apart_deg: float) -> list[Bus]:
    """The buses with the largest loads, as many as do not crowd each other."""
    chosen: list[tuple[FloatArray, Bus]] = []
    for row in sorted(case.buses, key=lambda bus: -bus.load_mw):
        place = np.array([row.longitude_deg, row.latitude_deg])
        crowded = any(np.abs(place - other).max() < apart_deg for other, _ in chosen)
        if len(chosen) < most and not crowded:
            chosen.append((place, row))
    return [row for _, row in chosen]


@dataclass(frozen=True)
class Outline:
    """A state: the rings of its parts, the largest first."""

    name: str
    rings: tuple[tuple[Place, ...], ...]

    @property
    def middle(self) -> Place:
        """Where its name is written: the centre of its largest part."""
        return _centre(self.rings[0])

    def to_geojson(self) -> dict[str, Any]:
        """As a feature; rings run clockwise, as maps of a sphere want them."""
        polygons = [[_clockwise(ring)] for ring in self.rings]
        geometry = {"type": "MultiPolygon", "coordinates": polygons}
        return {"type": "Feature", "properties": {"name": self.name}, "geometry": geometry}


@lru_cache(maxsize=1)
def outlines() -> tuple[Outline, ...]:
    """All outlines that there are."""
    text = resources.files("ppsm.figures").joinpath("data/outlines.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    found = []
    for name, corners in groupby(rows, key=lambda row: row["name"]):
        parts = groupby(corners, key=lambda row: row["part"])
        rings = [
            tuple((float(row["longitude_deg"]), float(row["latitude_deg"])) for row in ring)
            for _, ring in parts
        ]
        found.append(Outline(name, tuple(sorted(rings, key=lambda ring: -abs(_area(ring))))))
    return tuple(found)


def _area(ring: tuple[Place, ...]) -> float:
    """Signed: positive where the ring runs counterclockwise."""
    return sum(x * b - a * y for (x, y), (a, b) in pairwise(ring)) / 2


def _clockwise(ring: tuple[Place, ...]) -> list[Place]:
    return list(ring if _area(ring) < 0 else reversed(ring))


def _centre(ring: tuple[Place, ...]) -> Place:
    weights = [(x * b - a * y, x + a, y + b) for (x, y), (a, b) in pairwise(ring)]
    total = sum(weight for weight, _, _ in weights)
    longitude = sum(weight * x for weight, x, _ in weights) / (3 * total)
    latitude = sum(weight * y for weight, _, y in weights) / (3 * total)
    return longitude, latitude
