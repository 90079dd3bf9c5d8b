"""The interactive map: land without gaps, one scale around zero, and equal prices that differ by nothing."""

import numpy as np
import pytest

from ppsm.cases import load_case
from ppsm.figures.embed import embedded
from ppsm.figures.geography import outlines
from ppsm.figures.price_map import difference_map


def test_outlines_are_closed_and_where_they_should_be() -> None:
    found = {each.name: each for each in outlines()}
    for each in found.values():
        assert all(ring[0] == ring[-1] and len(ring) > 3 for ring in each.rings), each.name
    longitude, latitude = found["Vermont"].middle
    assert longitude == pytest.approx(-72.7, abs=0.3)
    assert latitude == pytest.approx(44.0, abs=0.3)


def test_differences_share_a_scale_that_ends_at_a_round_number() -> None:
    case = load_case("northeast")
    before = np.full(len(case.junctions), 10.0)
    after = {"repaired": before, "plain": before + np.linspace(0.0, 5.0, len(before))}  # up to 1.47 $/MMBtu
    spec = difference_map(case, before, after, kept_usd_per_mmbtu=0.05).to_dict()
    (dots,) = (layer for layer in spec["layer"] if layer["mark"].get("style") == "dot")
    assert dots["encoding"]["color"]["scale"]["domain"] == [-2.0, 2.0]
    opacity = dots["encoding"]["opacity"]  # who keeps its price is pale
    (moved,) = opacity["condition"]
    assert moved["test"] == "abs(datum.value) > 0.05"
    assert moved["value"] > opacity["value"]
    (rows,) = (
        (rows for rows in spec["datasets"].values() if "shown" in rows[0])
        if "datasets" in spec
        else ([dots["data"]["values"]])
    )
    assert {row["value"] for row in rows if row["shown"] == "repaired"} == {0.0}
    assert max(row["value"] for row in rows) == pytest.approx(1.465, abs=0.01)


def test_a_script_inside_a_name_ends_nothing() -> None:
    case = load_case("northeast")
    prices = np.full(len(case.junctions), 10.0)
    chart = difference_map(case, prices, {"</script><b>": prices}, kept_usd_per_mmbtu=0.05)
    text = embedded(chart, "map", 'a "map"')
    assert text.count("</script>") == 1
    assert "a &#34;map&#34;" in text
