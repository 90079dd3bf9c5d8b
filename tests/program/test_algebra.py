"""The algebra of linear programs: what is appended, stacked and made elastic, by hand and against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from ppsm.program import LinearProgram
from ppsm.solvers.highs import solve_lp


def market() -> LinearProgram:
    """Ten units from a source at 2 (at most 6) and one at 5."""
    return LinearProgram.from_arrays(
        cost=[2, 5], matrix=[[1, 1]], row_lower=[10], row_upper=[10], column_upper=[6, 20], offset=1
    )


def test_rows_are_appended_and_padded() -> None:
    wider = market().with_columns(np.zeros(1), np.ones(1), names=["z"])
    limited = wider.with_rows(sp.csr_array(np.array([[1.0, 0.0]])), upper=np.array([4.0]), names=["limit"])
    assert limited.shape == (2, 3)
    assert limited.row_names == ("row0", "limit")
    assert limited.row_lower.tolist() == [10, -np.inf]
    # Four units at 2, six at 5, and the constant.
    assert solve_lp(limited).objective == pytest.approx(39)
    assert market().shape == (1, 2)


def test_columns_bring_costs_and_entries() -> None:
    third = market().with_columns(
        np.zeros(1), np.full(1, 3.0), cost=np.array([1.0]), matrix=sp.csr_array(np.array([[1.0]]))
    )
    # Three at 1, six at 2, one at 5, and the constant.
    assert solve_lp(third).objective == pytest.approx(3 + 12 + 5 + 1)


def test_a_part_keeps_its_rows_and_columns_with_their_names() -> None:
    pair = market().stacked(market().shifted(np.array([1.0])))
    second = pair.part(np.array([1]), np.array([2, 3]))
    assert (second.row_names, second.column_names) == (pair.row_names[1:], pair.column_names[2:])
    # Six at 2, five at 5, and no constant.
    assert solve_lp(second).objective == pytest.approx(37)
    # Without its row the first market serves nothing.
    assert solve_lp(pair.part(np.array([1]))).objective == pytest.approx(37)


def test_stacked_programs_do_not_touch_each_other() -> None:
    pair = market().stacked(market().shifted(np.array([1.0])), market())
    assert pair.shape == (3, 6)
    single, raised = solve_lp(market()).objective, solve_lp(market().shifted(np.array([1.0]))).objective
    assert raised == pytest.approx(single + 5)
    assert solve_lp(pair).objective == pytest.approx(2 * single + raised)


def test_fixed_columns_keep_their_values() -> None:
    held = market().with_fixed(np.array([0]), np.array([1.5]))
    assert solve_lp(held).columns.tolist() == pytest.approx([1.5, 8.5])
    assert market().column_upper.tolist() == [6, 20]


def test_elastic_is_what_rows_miss_at_least() -> None:
    short = market().with_rows(
        sp.csr_array(np.array([[1.0, 1.0]])), upper=np.array([7.0]), names=["seven at most"]
    )
    assert solve_lp(short.elastic()).objective == pytest.approx(3)
    assert solve_lp(market().elastic()).objective == pytest.approx(0)
    only = short.elastic(np.array([1]))
    assert only.column_names[2:] == ("raise seven at most", "lower seven at most")
    assert solve_lp(only).columns.tolist()[2:] == pytest.approx([0, 3])


def test_programs_of_the_engine_are_unbounded_unless_told() -> None:
    plain = LinearProgram.of(np.array([1.0]), sp.csr_array(np.array([[1.0]])), row_lower=np.array([-4.0]))
    assert plain.column_lower.tolist() == [-np.inf]
    assert solve_lp(plain).objective == pytest.approx(-4)
