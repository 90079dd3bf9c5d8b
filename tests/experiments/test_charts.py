"""Charts of a report: whatever the figures are, an axis says how large they are."""

from typing import Any

import pytest

from ppsm.experiments.charts import error_charts
from tests.experiments.small import a_row


def _axis(*distances: float) -> dict[str, Any]:
    rows = [a_row(repetition=draw, l1_released=value) for draw, value in enumerate(distances)]
    spec = error_charts(rows)["distance"][1].to_dict()
    encoding: dict[str, Any] = spec["layer"][0]["encoding"]["y"]
    return encoding


@pytest.mark.parametrize(
    ("distances", "ticks"),
    [
        ((30.0, 4000.0), [100, 1000]),
        ((450.0, 4481.0), [500, 1000, 2000, 5000]),
        ((60.0, 150.0), [50, 100]),
        ((2366.0, 4481.0), [2000, 5000]),
    ],
)
def test_an_axis_of_distances_has_at_least_two_figures(
    distances: tuple[float, ...], ticks: list[int]
) -> None:
    axis = _axis(*distances)
    assert axis["scale"]["type"] == "log"
    assert axis["axis"]["values"] == ticks


@pytest.mark.parametrize("distances", [(2366.0, 3000.0), (300.0,), (0.0, 4000.0), (0.02, 0.03)])
def test_distances_of_one_size_stand_on_an_axis_from_zero(distances: tuple[float, ...]) -> None:
    axis = _axis(*distances)
    assert "type" not in axis["scale"]
    assert axis["scale"]["domain"][0] == 0.0
    assert "values" not in axis["axis"]
