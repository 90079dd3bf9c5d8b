"""Two- and three-node power markets whose prices are computed by hand, degenerate duals included."""

import linopy
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from tests.bilevel.no_turns import without_turns

from ppsm.bilevel.solution import Method
from ppsm.bilevel.solve import solve_bilevel
from ppsm.errors import NoValidBoundError
from ppsm.games.follower import Follower
from ppsm.games.stackelberg import StackelbergGame
from ppsm.program import BilevelProgram, LinearProgram
from ppsm.status import Status

NODES = pd.Index(["A", "B"], name="node")
METHODS = [Method.AUTO, Method.BIG_M, Method.SOS1, Method.INDICATOR]

# Two nodes. A: 100 MW at 10 $/MWh, no demand. B: 100 MW at 30 $/MWh, demand 50. A line A -> B of 1 + k MW.
#   k < 49: B runs its own plant for 49 - k, so the price at B is 30; at A it is 10.
#   k > 49: the line has room, so both prices are 10.
#   k = 49: B's plant stands at 0 and the line is full, so B's price may be anything in [10, 30]:
#           price_B = 10 - mu with mu the price of the line's row, -20 <= mu <= 0.
# The market costs 10 (1 + k) + 30 (49 - k) up to k = 49, then 500.


def two_nodes(line_mw: float = 1) -> Follower:
    market = linopy.Model()
    cost = xr.DataArray([10.0, 30.0], coords=[NODES])
    output = market.add_variables(lower=0, upper=100, coords=[NODES], name="output")
    flow = market.add_variables(lower=0, name="flow")
    arriving = flow * xr.DataArray([-1.0, 1.0], coords=[NODES])
    market.add_constraints(output + arriving == xr.DataArray([0.0, 50.0], coords=[NODES]), name="demand")
    market.add_constraints(flow <= line_mw, name="line")
    market.add_objective((cost * output).sum())
    return Follower.from_linopy(market, "demand")


def line_game(line_mw: float = 1) -> tuple[StackelbergGame, linopy.Variable, linopy.Variable]:
    game = StackelbergGame(two_nodes(line_mw))
    line = game.leader.add_variables(lower=0, upper=100, name="capacity")
    game.raise_right_hand_side("line", line)
    return game, line, game.price("demand").sel(node="B", drop=True)


@pytest.mark.parametrize("method", METHODS)
def test_price_cap_is_met_at_the_vertex(method: Method) -> None:
    """Cap 25 at B: k >= 49, as the optimistic leader may pick any price in [10, 30] at k = 49."""
    game, line, price = line_game()
    game.leader.add_constraints(price <= 25, name="cap")
    game.leader.add_objective(1 * line)
    solution = game.solve(method)
    assert solution.status is Status.PROVEN_OPTIMAL
    assert solution.verified
    assert solution.objective == pytest.approx(49)
    assert float(solution.variable("capacity")) == pytest.approx(49)
    assert solution.follower_objective == pytest.approx(500)
    assert float(solution.price("demand").sel(node="A")) == pytest.approx(10)
    assert 10 - 1e-6 <= float(solution.price("demand").sel(node="B")) <= 25 + 1e-6
    assert solution.response("output").values == pytest.approx([50, 0], abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_leader_may_demand_a_price_inside_the_degenerate_interval(method: Method) -> None:
    """A price of exactly 17 exists only at k = 49; the line's price is then 10 - 17 = -7."""
    game, line, price = line_game()
    game.leader.add_constraints(price == 17, name="exactly")
    game.leader.add_objective(-1 * line)
    solution = game.solve(method)
    assert solution.objective == pytest.approx(-49)
    assert float(solution.price("demand").sel(node="B")) == pytest.approx(17)
    assert float(solution.price("line")) == pytest.approx(-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("weight", "capacity", "objective"),
    [
        # min k + w price_B: k = 0 costs 30 w, k = 49 costs 49 + 10 w. They meet at w = 2.45.
        (1.0, 0.0, 30.0),
        (10.0, 49.0, 149.0),
    ],
)
def test_price_in_a_minimised_objective(
    method: Method, weight: float, capacity: float, objective: float
) -> None:
    game, line, price = line_game()
    game.leader.add_objective(line + weight * price)
    solution = game.solve(method)
    assert solution.objective == pytest.approx(objective)
    assert float(solution.variable("capacity")) == pytest.approx(capacity, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_price_in_a_maximised_objective(method: Method) -> None:
    """max k + 10 price_B: 300 + k up to k = 49 (where 30 is still allowed): 349; beyond, 100 + k <= 200."""
    game, line, price = line_game()
    game.leader.add_objective(line + 10 * price, sense="max")
    solution = game.solve(method)
    assert solution.objective == pytest.approx(349)
    assert solution.bound == pytest.approx(349, rel=1e-6)
    assert float(solution.variable("capacity")) == pytest.approx(49)
    assert float(solution.price("demand").sel(node="B")) == pytest.approx(30)


def test_a_price_that_no_capacity_brings_is_infeasible_and_named() -> None:
    """B's price is never below 10."""
    game, line, price = line_game()
    game.leader.add_constraints(price <= 9, name="too cheap")
    game.leader.add_constraints(line >= 1, name="harmless")
    game.leader.add_objective(1 * line)
    solution = game.solve()
    assert solution.status is Status.INFEASIBLE
    assert "too cheap" in solution.bilevel.explanation
    assert "harmless" not in solution.bilevel.explanation


def test_without_any_line_big_m_is_refused_and_auto_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """At k = 0 the flow is fixed by both its bounds, so the price of the line may be minus anything."""
    without_turns(monkeypatch)
    game, line, price = line_game(line_mw=0)
    game.leader.add_constraints(price <= 25, name="cap")
    game.leader.add_objective(1 * line)
    with pytest.raises(NoValidBoundError, match="'line <= 0'"):
        game.solve(Method.BIG_M)
    solution = game.solve()
    assert solution.bilevel.method is Method.SOS1
    assert "'line <= 0'" in solution.bilevel.method_reason
    assert solution.objective == pytest.approx(50)


def two_nodes_in_arrays(**leader: object) -> BilevelProgram:
    """The same market: columns output A, output B, flow; rows demand A, demand B, line."""
    follower = LinearProgram.from_arrays(
        cost=[10, 30, 0],
        matrix=[[1, 0, -1], [0, 1, 1], [0, 0, 1]],
        row_lower=[0, 50, -np.inf],
        row_upper=[0, 50, 1],
        column_upper=[100, 100, np.inf],
        row_names=["demand A", "demand B", "line"],
        column_names=["output A", "output B", "flow"],
    )
    return BilevelProgram.from_arrays(
        follower=follower,
        coupling=[[0], [0], [-1]],  # flow <= 1 + k  reads  flow - k <= 1
        variable_upper=[100],
        variable_names=["capacity"],
        **leader,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_same_market_in_arrays(method: Method) -> None:
    capped = two_nodes_in_arrays(
        leader_cost=[1], price_matrix=[[0, 1, 0]], leader_upper=[25], leader_row_names=["cap"]
    )
    solution = solve_bilevel(capped, method=method)
    assert solution.leader_objective == pytest.approx(49)
    assert solution.values()["capacity"] == pytest.approx(49)
    weighted = two_nodes_in_arrays(leader_cost=[-1], price_cost=[0, -10, 0], leader_sign=-1)
    solution = solve_bilevel(weighted, method=method)
    assert solution.leader_objective == pytest.approx(349)
    assert solution.prices[1] == pytest.approx(30)  # of the demand at B


def test_binary_line_by_strong_duality(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 60 MW costs 40: built exactly when the price must be below 30."""
    without_turns(monkeypatch)
    for cap, objective in ((29.0, 40.0), (30.0, 0.0)):
        game = StackelbergGame(two_nodes())
        built = game.leader.add_variables(binary=True, name="built")
        game.raise_right_hand_side("line", 60 * built)
        game.leader.add_constraints(game.price("demand").sel(node="B", drop=True) <= cap, name="cap")
        game.leader.add_objective(40 * built)
        solution = game.solve()
        assert solution.bilevel.method is Method.STRONG_DUALITY
        assert solution.objective == pytest.approx(objective)


# Three nodes in a row, A - B - C.
#   A: 60 MW at 10, demand 10.  B: 20 MW at 20, demand 20.  C: 100 MW at 50, demand 30.
#   Line A-B carries 30, line B-C 20 + z (the leader's z).
# z = 0: A exports 30 (limit), B receives 30, keeps 20, sends 20 (limit), so runs 10; C runs 10.
#   Prices 10, 20, 50 (each node's own plant is partly used); lines: 10 - 20 = -10 and 20 - 50 = -30.
#   Cost 40*10 + 10*20 + 10*50 = 1100.
# 0 <= z < 10: C still runs, price 50. Each MW of z saves 50 - 20 = 30.
# z = 10: C stops, B runs all of its 20. Price at B is at least 20 (its plant is full, A-B is full), at C it
#   is at least B's (line B-C) and at most 50 (C's plant stands): price_C in [20, 50].
# z > 10: B-C has room, so price_C = price_B, and B's plant and line A-B stay full: again [20, 50].
SITES = pd.Index(["A", "B", "C"], name="node")
LINES = pd.Index(["AB", "BC"], name="line")


def three_nodes() -> Follower:
    market = linopy.Model()
    most = xr.DataArray([60.0, 20.0, 100.0], coords=[SITES])
    output = market.add_variables(lower=0, upper=most, coords=[SITES], name="output")
    flow = market.add_variables(lower=0, coords=[LINES], name="flow")
    incidence = xr.DataArray([[-1.0, 0.0], [1.0, -1.0], [0.0, 1.0]], coords=[SITES, LINES])
    demand = xr.DataArray([10.0, 20.0, 30.0], coords=[SITES])
    market.add_constraints(output + (incidence * flow).sum("line") == demand, name="demand")
    market.add_constraints(flow <= xr.DataArray([30.0, 20.0], coords=[LINES]), name="limit")
    market.add_objective((xr.DataArray([10.0, 20.0, 50.0], coords=[SITES]) * output).sum())
    return Follower.from_linopy(market, "demand")


def test_three_nodes_alone() -> None:
    outcome = three_nodes().solve()
    assert outcome.value == pytest.approx(1100)
    assert outcome.price("demand").values == pytest.approx([10, 20, 50])
    assert outcome.price("limit").values == pytest.approx([-10, -30])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("sense", "weight", "objective", "z", "price"),
    [
        # min z + 2 price_C with price_C <= 45: z = 10 at the cheapest price 20: 10 + 40.
        ("min", 2.0, 50.0, 10.0, 20.0),
        # max price_C - z / 2 with price_C <= 45: z = 10 at the dearest allowed price: 45 - 5.
        ("max", 1.0, 40.0, 10.0, 45.0),
    ],
)
def test_three_nodes_with_price_cap(
    method: Method, sense: str, weight: float, objective: float, z: float, price: float
) -> None:
    game = StackelbergGame(three_nodes())
    more = game.leader.add_variables(lower=0, upper=20, name="z")
    raised = more * xr.DataArray([0.0, 1.0], coords=[LINES])
    game.raise_right_hand_side("limit", raised)
    at_c = game.price("demand").sel(node="C", drop=True)
    game.leader.add_constraints(at_c <= 45, name="cap at C")
    game.leader.add_objective(weight * at_c + (1.0 if sense == "min" else -0.5) * more, sense=sense)
    solution = game.solve(method)
    assert solution.verified
    assert solution.objective == pytest.approx(objective)
    assert float(solution.variable("z")) == pytest.approx(z)
    assert float(solution.price("demand").sel(node="C")) == pytest.approx(price)
    assert solution.follower_objective == pytest.approx(1100 - 30 * 10)


def test_follower_response_in_a_leader_constraint() -> None:
    """C's plant may run 4 at most: it runs 10 - z, so z = 6."""
    game = StackelbergGame(three_nodes())
    more = game.leader.add_variables(lower=0, upper=20, name="z")
    game.raise_right_hand_side("limit", more * xr.DataArray([0.0, 1.0], coords=[LINES]))
    game.leader.add_constraints(game.response("output").sel(node="C", drop=True) <= 4, name="clean")
    game.leader.add_objective(1 * more)
    solution = game.solve()
    assert solution.objective == pytest.approx(6)
    assert solution.response("output").values == pytest.approx([40, 16, 4])
    assert solution.price("demand").values == pytest.approx([10, 20, 50])
