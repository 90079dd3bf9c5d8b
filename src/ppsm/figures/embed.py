"""Charts inside a page that loads nothing from elsewhere: the library's scripts travel with the page."""

import json
from functools import lru_cache
from importlib import resources

import altair as alt
from markupsafe import Markup


@lru_cache(maxsize=1)
def chart_scripts() -> Markup:
    """Vega, Vega-Lite and our drawing, once for a page: 0.9 MB."""
    import vl_convert

    ours = resources.files("ppsm.figures").joinpath("data/charts.js").read_text(encoding="utf-8")
    library = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its types forget the default
    scripts = (library, ours)
    return Markup("\n").join(_script(text) for text in scripts)


def embedded(chart: alt.TopLevelMixin, name: str, description: str) -> Markup:
    """A chart's place in the page and the data that are drawn there; ``name`` occurs once in a page."""
    spec = chart.to_dict()
    del spec["config"], spec["$schema"]  # the page has colours of its own and needs no address
    call = f"ppsmChart({json.dumps(name)}, {json.dumps(spec, separators=(',', ':'))});"
    place = Markup('<div class="chart" id="{}" role="img" aria-label="{}"></div>').format(name, description)
    return place + _script(call)


def _script(text: str) -> Markup:
    # A script ends where it says so, even inside a string.
    return Markup("<script>{}</script>").format(Markup(text.replace("</script", "<\\/script")))  # noqa: S704 - our own text
