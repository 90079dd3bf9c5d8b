"""Games at the edge of the form: empty parts, degenerate parts, odd magnitudes, small clocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ppsm.arrays import INFINITY
from ppsm.bilevel import methods
from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import InputError, ModelError, NoValidBoundError
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.solvers import scip
from ppsm.status import Status

METHODS = [Method.AUTO, Method.BIG_M, Method.SOS1, Method.INDICATOR]


def follower(**changes: Any) -> LinearProgram:
    """Serve y >= 2 - x at cost y, y in [0, 10]."""
    return LinearProgram.from_arrays(
        **{"cost": [1], "matrix": [[1]], "row_lower": [2], "column_upper": [10], **changes}
    )


def game(**changes: Any) -> BilevelProgram:
    """min x + y over x in [0, 5] (any x <= 2 gives 2), with parts replaced."""
    parts: dict[str, Any] = {
        "follower": follower(),
        "leader_cost": [1],
        "coupling": [[1]],
        "response_cost": [1],
        "variable_upper": [5],
    }
    return BilevelProgram.from_arrays(**{**parts, **changes})


EDGES: dict[str, tuple[Callable[[], BilevelProgram], float]] = {
    "no leader rows": (game, 2.0),
    "no leader variables": (lambda: game(leader_cost=[], coupling=np.zeros((1, 0)), variable_upper=[]), 2.0),
    # max y over [0, 3], whatever the leader does.
    "no follower rows": (
        lambda: game(
            follower=follower(cost=[-1], matrix=np.zeros((0, 1)), row_lower=[], column_upper=[3]),
            coupling=np.zeros((0, 1)),
        ),
        3.0,
    ),
    # y = 2 - x may be negative: x = 5 gives y = -3.
    "free column": (lambda: game(follower=follower(column_lower=-INFINITY), leader_cost=[0.5]), -0.5),
    # y1 = 1 is fixed, so x + y0 = 1: x at half price.
    "fixed column": (
        lambda: game(
            follower=follower(cost=[1, 1], matrix=[[1, 1]], column_lower=[0, 1], column_upper=[5, 1]),
            response_cost=[1, 1],
            leader_cost=[0.5],
        ),
        1.5,
    ),
    # x <= 1.5 and whole: 1, hence y = 1: -1 + 3.
    "integer without bounds": (
        lambda: game(
            leader_cost=[-1],
            response_cost=[3],
            is_integer=True,
            variable_lower=-INFINITY,
            variable_upper=INFINITY,
            leader_matrix=[[1]],
            leader_upper=[1.5],
        ),
        2.0,
    ),
    # The second row is twice the first: y0 = 4 - x.
    "dependent equalities": (
        lambda: game(
            follower=follower(
                cost=[1, 2],
                matrix=[[1, 1], [2, 2]],
                row_lower=[4, 8],
                row_upper=[4, 8],
                column_upper=INFINITY,
            ),
            coupling=[[1], [2]],
            response_cost=[1, 1],
            variable_upper=[3],
        ),
        4.0,
    ),
    "costs of a billion": (lambda: game(follower=follower(cost=[1e9], column_upper=[1e6])), 2.0),
    "bounds beyond infinity": (
        lambda: game(follower=follower(column_upper=[1e25]), variable_upper=[1e30]),
        2.0,
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edge", EDGES)
def test_edge(edge: str, method: Method) -> None:
    build, objective = EDGES[edge]
    solution = solve_bilevel(build(), method=method)
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.verified
    assert solution.leader_objective == pytest.approx(objective)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", [1e-3, 1e-7, 1e-10, 1e-13])
def test_leader_gains_nothing_from_a_follower_that_is_nearly_indifferent(cost: float, method: Method) -> None:
    """The follower pays next to nothing for y, which the leader would love at 10; it still chooses 0."""
    program = game(
        follower=follower(cost=[cost], row_lower=[0]), coupling=[[0]], leader_cost=[0], response_cost=[-1]
    )
    solution = solve_bilevel(program, method=method)
    assert solution.leader_objective == pytest.approx(0, abs=1e-6)
    assert solution.responses == pytest.approx([0], abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_small_prices_are_in_the_users_unit(method: Method) -> None:
    """Serving one more costs 2e-6; the leader pays 1e6 times that price, and 1 for each unit of x up to 2."""
    program = game(follower=follower(cost=[2e-6]), price_cost=[1e6], response_cost=[0])
    solution = solve_bilevel(program, method=method)
    # x < 2: the price is 2e-6. x = 2: it may be 0 (y = 0, row tight). 0 + 2 against 2 + 0: both 2.
    assert solution.leader_objective == pytest.approx(2)
    half = game(follower=follower(cost=[2e-6]), price_cost=[1e6], response_cost=[0], leader_cost=[0.5])
    solution = solve_bilevel(half, method=method)
    assert solution.leader_objective == pytest.approx(1)
    assert solution.prices == pytest.approx([0], abs=1e-12)


def test_names_used_by_both_levels_are_told_apart() -> None:
    program = game(
        follower=follower(column_names=["x"], row_names=["cap"]),
        variable_names=["x"],
        leader_matrix=[[1]],
        leader_upper=[1],
        leader_row_names=["cap"],
    )
    values = solve_bilevel(program).values()
    assert set(values) == {"leader x", "follower x"}
    assert values["leader x"] + values["follower x"] == pytest.approx(2)
    assert program.row_labels == ("leader cap", "follower cap")


def test_unbounded_follower_is_explained() -> None:
    solution = solve_bilevel(game(follower=follower(cost=[-1], column_upper=INFINITY, row_lower=[0])))
    assert solution.status is Status.INFEASIBLE
    assert "falls without limit along x0" in solution.explanation


@pytest.mark.parametrize("method", METHODS)
def test_prices_without_limit_make_a_game_unbounded(method: Method) -> None:
    """Of two dependent equalities one price may be anything; the leader is paid for it."""
    program = game(
        follower=follower(
            cost=[1, 2], matrix=[[1, 1], [2, 2]], row_lower=[4, 8], row_upper=[4, 8], column_upper=INFINITY
        ),
        coupling=[[1], [2]],
        response_cost=[1, 1],
        price_cost=[1, 1],
        variable_upper=[3],
    )
    assert solve_bilevel(program, method=method).status is Status.UNBOUNDED


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_integer": [True, False]}, "is_integer has shape (2,)"),
        ({"leader_cost": "abc"}, "the leader's cost must be numbers"),
        ({"leader_cost": [[1]]}, "the cost has 2 dimensions"),
        ({"leader_cost": [np.inf]}, "the cost of 'u0' is inf"),
        ({"coupling": [[1, 2]]}, "the coupling matrix has shape (1, 2), expected (1, 1)"),
        ({"coupling": "x"}, "expected a numeric matrix"),
        ({"coupling": [[np.nan]]}, "the coupling matrix holds nan in row 0, column 0"),
        ({"coupling": [[1e16]]}, "choose other units"),
        ({"coupling": [[1e-10]]}, "choose other units"),
        ({"leader_matrix": 3}, "expected a matrix"),
        ({"leader_matrix": [[1, 2], [3]]}, "rows of one length"),
        ({"leader_lower": [1]}, "has shape (1,), expected (0,)"),
        ({"offset": np.nan}, "the objective's constant is nan"),
        ({"offset": "much"}, "the objective's constant must be numbers"),
        ({"variable_upper": [np.nan]}, "the upper bound of 'u0' is nan"),
        ({"variable_lower": [6]}, "'u0' has lower bound 6.0 and upper bound 5.0"),
        ({"variable_names": ["a", "b"]}, "found 2 names for 1 entries"),
        ({"leader_sign": 2}, "expected 1 (minimise) or -1 (maximise)"),
        ({"response_cost": [1, 2]}, "the leader's cost of responses has shape (2,)"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_unusable_arrays_are_refused_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        game(**changes)
    assert words in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_rounding_noise_is_not_a_coefficient() -> None:
    program = game(coupling=[[0.1 + 0.2 - 0.3]])
    assert program.coupling.nnz == 0


def test_follower_without_columns_is_refused() -> None:
    with pytest.raises(ModelError, match="no columns"):
        game(follower=LinearProgram.from_arrays(cost=[], matrix=np.zeros((1, 0)), row_lower=[1]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"method": "guess"},
            "expected one of: auto, branching, enumeration, ",
        ),
        ({"gap": -1.0}, "the gap is -1.0"),
        ({"gap": float("nan")}, "the gap is nan"),
        ({"time_limit": 0.0}, "expected seconds above 0"),
        ({"time_limit": float("nan")}, "expected seconds above 0"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_unusable_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        solve_bilevel(game(), **options)


def without_scip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scip, "scip_is_installed", lambda: False)
    monkeypatch.setattr(methods, "scip_is_installed", lambda: False)


def test_without_scip_auto_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slack of y >= 2 - x has no bound when x has none, so big-M is out."""
    without_scip(monkeypatch)
    program = game(variable_upper=INFINITY, leader_cost=[-1], price_cost=[5])
    with pytest.raises(NoValidBoundError) as refusal:
        solve_bilevel(program)
    assert "pip install 'ppsm[scip]'" in str(refusal.value)
    assert "row0 >= 2" in str(refusal.value)
    for method in (Method.SOS1, Method.INDICATOR):
        with pytest.raises(InputError, match=r"method='.*' needs SCIP.*pip install 'ppsm\[scip\]'"):
            solve_bilevel(program, method=method)


def test_without_scip_games_with_bounds_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    without_scip(monkeypatch)
    solution = solve_bilevel(game())
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.solver.startswith("HiGHS")
