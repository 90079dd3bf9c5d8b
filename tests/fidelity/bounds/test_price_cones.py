"""How large a price can be at all."""

import numpy as np
import pytest

from ppsm.fidelity.bounds.price_boxes import largest_price
from ppsm.program import LinearProgram


def duals(least: float) -> LinearProgram:
    """Prices (y1, y2) from ``least`` on and a multiplier m = y1 + y2 - 1, not negative."""
    return LinearProgram.from_arrays(
        cost=[0.0, 0.0, 0.0],
        matrix=[[1.0, 1.0, -1.0]],
        row_lower=[1.0],
        row_upper=[1.0],
        column_lower=[least, least, 0.0],
    )


def test_the_largest_price_by_hand() -> None:
    # near points are (d1, d2) <= (2, 1); a dual is worth 2 y1 + y2 - 3 m = 3 - y1 - 2 y2, which is to be 0.5
    worth, corner = np.array([0.0, 0.0, -3.0]), (np.array([2.0, 1.0]), 0.0)
    assert largest_price(duals(0.0), worth, 0.5, [corner], signed=False) == pytest.approx(2.5)
    # y1 is at least 1 - y2 and no smaller than y2, so nothing is worth more than 2
    assert largest_price(duals(0.0), worth, 2.1, [corner], signed=False) == -np.inf
    # a line that grows with the largest price lifts it: 3 - y1 - 2 y2 + y1 / 2
    lifted = np.array([2.0, 1.0]), 0.5
    assert largest_price(duals(0.0), worth, 0.5, [lifted], signed=False) == pytest.approx(5.0)
    assert largest_price(duals(0.0), worth, 0.5, [lifted, corner], signed=False) == pytest.approx(2.5)


def test_prices_of_both_signs_by_hand() -> None:
    # with y2 = -y1 the multiplier would be -1; y2 = 1 - y1 costs nothing and is worth 2 y1 + 1 - y1 = 1 + y1
    worth, corner = np.array([0.0, 0.0, -3.0]), (np.array([2.0, 1.0]), 0.0)
    assert largest_price(duals(-np.inf), worth, 0.5, [corner], signed=True) == np.inf
    # (d1, d2) = (1, 1): 1 - 2 m, whatever the prices are
    level = np.array([1.0, 1.0]), 0.0
    assert largest_price(duals(-np.inf), worth, 0.5, [level], signed=True) == np.inf
    # below both (1, 2) and (2, 1), m = 0: 1 + y1 >= 0.5 and 1 + y2 >= 0.5, so y1 is between -0.5 and 1.5
    both = [corner, (np.array([1.0, 2.0]), 0.0)]
    assert largest_price(duals(-np.inf), worth, 0.5, both, signed=True) == pytest.approx(1.5)
