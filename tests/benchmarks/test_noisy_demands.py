"""Further demands of a cell: fresh draws by number, and what is said of how they were cleared."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.noisy_demands import MECHANISMS, Cleared, clear_further, demands

from ppsm.cases import load_case
from ppsm.experiments.instance import Workspace
from ppsm.experiments.tuning import Limits


def test_draws_are_told_apart_by_their_number_and_mechanisms_share_the_noise() -> None:
    workspace = Workspace(load_case("two_node"), limits=Limits())
    cell = (0.0, 0.0)
    first = list(demands(workspace, cell, 10.0, [7]))
    assert [(mechanism, draw) for mechanism, draw, _ in first] == [(each, 7) for each in MECHANISMS]
    again, other = list(demands(workspace, cell, 10.0, [7])), list(demands(workspace, cell, 10.0, [8]))
    for (_, _, here), (_, _, same), (_, _, there) in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(here, same)
        assert not np.array_equal(here, there)


def test_all_draws_of_all_kinds_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace(load_case("two_node"), limits=Limits())
    clear_further(workspace, [(0.0, 0.0)], [10.0, 3000.0], [7, 8], 60.0)
    said = capsys.readouterr().out.splitlines()
    assert sum(", draw " in line for line in said) == 12
    assert any(line.startswith("all: ") and " of 12 can be served" in line for line in said)
    assert any(line.startswith("all releases: 8 of 8 can be served") for line in said)


def test_what_cannot_be_served_is_not_timed() -> None:
    kind = Cleared([0.1, 0.3], Counter(optimal=1, incumbent=1, infeasible=2), ["a draw (0.2 %)"])
    line = kind.line("raw")
    assert "2 of 4 can be served, median 0.20 s" in line
    assert line.endswith("undecided: a draw (0.2 %)")
    assert Cleared(statuses=Counter(infeasible=3)).line("raw") == "raw: none can be served of 3"
