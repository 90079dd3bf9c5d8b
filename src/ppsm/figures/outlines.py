"""Outlines of states and provinces, as a background for maps; ``data/SOURCE.md`` says whose they are."""

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import groupby, pairwise
from typing import Any

Place = tuple[float, float]


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
