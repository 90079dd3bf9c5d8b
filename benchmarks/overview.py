"""``python -m benchmarks.overview``: draw the maps of the documentation's first page, from the gallery."""

import runpy
from pathlib import Path

import altair as alt

DOCS = Path(__file__).parents[1] / "docs"
FILES = {
    "published": "prices-published.svg",
    "with noise": "prices-noisy.svg",
    "repaired": "prices-repaired.svg",
}


def main() -> None:
    """Draw each of the notebook's maps by itself, without its title."""
    price_map = runpy.run_path(str(DOCS / "gallery" / "network.py"))["price_map"]
    for kind, file in FILES.items():
        alone = price_map(kind).properties(title="").configure_view(stroke=None)
        assert isinstance(alone, alt.LayerChart)
        alone.save(DOCS / "assets" / file)


if __name__ == "__main__":
    main()
