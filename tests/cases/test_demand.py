from pathlib import Path

import numpy as np
import pytest

from ppsm.cases import load_case, read_demand
from ppsm.cases.demand import write_demand
from ppsm.errors import FileFormatError

CASE = load_case("medium")


def test_a_written_vector_is_read_back_in_the_order_of_the_case(tmp_path: Path) -> None:
    demand = CASE.demand_mwh(0.7)
    write_demand(tmp_path / "d.csv", CASE, demand)
    lines = (tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "d.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")
    np.testing.assert_array_equal(read_demand(tmp_path / "d.csv", CASE), demand)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("d4,", "d99,", "row 2: its node is no delivery of the case 'medium'"),
        ("d5,", "d4,", "row 3: node 'd4' occurs twice"),
        ("d11,240\n", "", "row 8: node 'd11' of the case 'medium' has no row"),
        ("d4,180", "d4,-3", "row 2: the demand of 'd4' is below zero; expected at least 0"),
        ("d4,180", "d4,nan", "row 2: demand_mwh is something else (withheld"),
        ("d4,180", "d4,1e12", "row 2: demand_mwh is something else (withheld"),
        ("demand_mwh", "demand_gj", "has other columns (withheld"),
    ],
)
def test_wrong_vectors_are_named(tmp_path: Path, old: str, new: str, part: str) -> None:
    path = tmp_path / "d.csv"
    write_demand(path, CASE, CASE.demand_mwh(0.0))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        read_demand(path, CASE)
    assert part in str(caught.value)


def test_noise_may_be_negative_where_that_is_asked_for(tmp_path: Path) -> None:
    noisy = CASE.demand_mwh(0.0) - 100
    write_demand(tmp_path / "d.csv", CASE, noisy)
    np.testing.assert_allclose(read_demand(tmp_path / "d.csv", CASE, allow_negative=True), noisy)
