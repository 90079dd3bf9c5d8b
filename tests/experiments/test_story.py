"""Figures as people write them."""

from typing import Any

import pytest

from ppsm.experiments.conclusion import Comparison
from ppsm.experiments.story import compared, money, percent
from tests.experiments.small import a_row


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (133_084_000.0, "$ 133.1 million"),
        (2.5e9, "$ 2.5 billion"),
        (900.4, "$ 900"),
        (-1.2e6, "$ -1.2 million"),
    ],
)
def test_money(amount: float, text: str) -> None:
    assert money(amount) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.081, "3.1 %"), (0.063, "0.063 %"), (0.0004, "less than 0.001 %"), (12.4, "12 %"), (0.0, "0 %")],
)
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        ({"feasible": False}, "the markets clear in 0 of 1 draws; repaired by PPSM, in 1 of 1."),
        (
            {"error_leader_percent": 1.5},
            "the power operator's cost is off by 1.5 %; repaired by PPSM, by 0.02 %.",
        ),
        (
            {"error_leader_percent": 0.02, "error_gas_percent": 20.0},
            "the gas market's cost is off by 20 %; repaired by PPSM, by 0.06 %.",
        ),
        ({}, "the markets clear in 1 of 1 draws; repaired by PPSM, in 1 of 1."),
    ],
    ids=["cleared", "leader", "gas", "the same"],
)
def test_the_headline_says_what_the_repair_changed(plain: dict[str, Any], says: str) -> None:
    rows = (a_row(mechanism="laplace", **plain), a_row())
    assert (
        compared(Comparison(rows, 2), 10.0).headline == f"With noise of 10 MWh to hide every delivery {says}"
    )
