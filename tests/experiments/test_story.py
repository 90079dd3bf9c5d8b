"""Figures as people write them."""

import pytest

from ppsm.experiments.story import money, percent


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
